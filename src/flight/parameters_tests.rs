//! Tests with parameters as clients send them, and with malicious messages.

use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Int64Array, ListArray, NullArray, StringArray};
use arrow::datatypes::Int32Type;
use arrow::ipc::writer::IpcWriteOptions;
use arrow::ipc::{
    CompressionType, FieldBuilder, MessageBuilder, MetadataVersion, NullBuilder, SchemaBuilder,
    Type,
};
use arrow_flight::encode::{DictionaryHandling, FlightDataEncoderBuilder};
use flatbuffers::FlatBufferBuilder;
use futures::TryStreamExt;

use super::*;

fn column(values: impl arrow::array::Array + 'static) -> ArrayRef {
    Arc::new(values)
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let columns = columns
        .into_iter()
        .map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Returns the messages of batches, as a client with these options writes them.
fn messages(batches: Vec<RecordBatch>, options: IpcWriteOptions) -> Vec<FlightData> {
    let batches = stream::iter(batches.into_iter().map(Ok));
    let encoder = FlightDataEncoderBuilder::new().with_options(options);
    let encoded = encoder.build(batches).try_collect();
    encoded.now_or_never().unwrap().unwrap()
}

fn plain(batches: Vec<RecordBatch>) -> Vec<FlightData> {
    messages(batches, IpcWriteOptions::default())
}

fn read_all(messages: Vec<FlightData>) -> Result<ParamValues, String> {
    let read = read(stream::iter(messages.into_iter().map(Ok)));
    let read = read.now_or_never().unwrap();
    read.map_err(|status| status.message().to_owned())
}

fn text(text: &str) -> RecordBatch {
    batch(vec![("1", column(StringArray::from(vec![text])))])
}

/// Returns the messages of a text that the codec compresses well.
fn compressed(codec: CompressionType) -> Vec<FlightData> {
    let options = IpcWriteOptions::default();
    let options = options.try_with_compression(Some(codec)).unwrap();
    messages(vec![text(&"x".repeat(100_000))], options)
}

#[test]
fn one_row_of_plain_values_or_lists_of_them_is_read() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None])]);
    let row = batch(vec![
        ("1", column(Int64Array::from(vec![7]))),
        ("2", column(StringArray::from(vec![Some("é")]))),
        ("3", column(NullArray::new(1))),
        ("4", column(list)),
    ]);
    let ParamValues::List(values) = read_all(plain(vec![row])).unwrap() else {
        panic!("parameters have no names");
    };
    assert_eq!(values[0].value(), &ScalarValue::from(7_i64));
    assert_eq!(values[1].value(), &ScalarValue::from("é"));
    assert_eq!(values.len(), 4);
}

#[test]
fn none_and_several_rows_are_refused() {
    let two = batch(vec![("1", column(Int64Array::from(vec![1, 2])))]);
    for messages in [
        Vec::new(),
        plain(vec![two]),
        plain(vec![text("a"), text("b")]),
        plain(vec![text("a"); MESSAGES_MAX + 1]),
    ] {
        assert!(read_all(messages).unwrap_err().contains("one row"));
    }
}

#[test]
fn compressed_rows_are_refused_whatever_length_they_announce() {
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let honest = compressed(codec);
        assert!(
            read_all(honest.clone())
                .unwrap_err()
                .contains("without compression")
        );
        // The length of the text, which comes before it.
        let mut lying = honest;
        let body = lying[1].data_body.to_vec();
        let announced = 100_000_u64.to_le_bytes();
        let at = body
            .windows(8)
            .position(|bytes| bytes == announced)
            .unwrap();
        let mut body = body;
        body[at..at + 8].copy_from_slice(&(1_u64 << 46).to_le_bytes());
        lying[1].data_body = body.into();
        assert!(read_all(lying).unwrap_err().contains("without compression"));
    }
}

#[test]
fn long_parameters_and_other_types_are_refused() {
    let long = text(&"x".repeat(PARAMETERS_BYTES_MAX));
    assert!(
        read_all(plain(vec![long]))
            .unwrap_err()
            .contains("bytes together")
    );
    let longer = text(&"x".repeat(2 * MESSAGES_BYTES_MAX));
    assert!(
        read_all(plain(vec![longer]))
            .unwrap_err()
            .contains("bytes together")
    );
    let many = vec![("p", column(NullArray::new(1))); PARAMETERS_MAX + 1];
    assert!(read_all(plain(vec![batch(many)])).is_err());
    let dictionary: DictionaryArray<Int32Type> = ["a"].into_iter().collect();
    let row = batch(vec![("1", column(dictionary))]);
    let encoder = FlightDataEncoderBuilder::new();
    let encoder = encoder.with_dictionary_handling(DictionaryHandling::Resend);
    let encoded = encoder.build(stream::iter([Ok(row)])).try_collect();
    let messages: Vec<FlightData> = encoded.now_or_never().unwrap().unwrap();
    assert!(read_all(messages).unwrap_err().contains("dictionaries"));
}

/// Returns a message with columns that all share one name, which the message contains once.
fn sharing_a_name(columns: usize, name_bytes: usize) -> FlightData {
    let mut written = FlatBufferBuilder::new();
    let name = written.create_string(&"n".repeat(name_bytes));
    let null = NullBuilder::new(&mut written).finish();
    let field = |_| {
        let mut field = FieldBuilder::new(&mut written);
        field.add_name(name);
        field.add_nullable(true);
        field.add_type_type(Type::Null);
        field.add_type_(null.as_union_value());
        field.finish()
    };
    let fields: Vec<_> = (0..columns).map(field).collect();
    let fields = written.create_vector(&fields);
    let mut schema = SchemaBuilder::new(&mut written);
    schema.add_fields(fields);
    let schema = schema.finish();
    let mut message = MessageBuilder::new(&mut written);
    message.add_version(MetadataVersion::V5);
    message.add_header_type(MessageHeader::Schema);
    message.add_header(schema.as_union_value());
    let message = message.finish();
    written.finish(message, None);
    FlightData::new().with_data_header(written.finished_data().to_vec())
}

#[test]
fn a_header_that_names_a_long_text_many_times_is_refused() {
    let few = read_all(vec![sharing_a_name(3, 10)]).unwrap_err();
    assert!(few.contains("one row"), "{few}");
    // 0.3 MB that would become 0.5 GB.
    let many = read_all(vec![sharing_a_name(5_000, 100_000)]).unwrap_err();
    assert!(many.contains("cannot be read"), "{many}");
}

#[test]
fn changed_bytes_are_refused_or_read() {
    let honest = plain(vec![text("abc")]);
    for message in 0..honest.len() {
        for place in 0..honest[message].data_header.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = honest.clone();
                let mut header = changed[message].data_header.to_vec();
                header[place] = value;
                changed[message].data_header = header.into();
                let _ = read_all(changed);
            }
        }
    }
}
