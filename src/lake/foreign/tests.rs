//! Tests with Parquet files whose announced or decompressed size is far larger than the file.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, DictionaryArray, Int64Array, LargeStringArray, ListArray,
    RecordBatch, StringArray, StructArray,
};
use arrow::datatypes::{DataType, Field, Int32Type};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};

use super::{BATCH_TEXT_BYTES_MAX, ForeignParquet};

const BATCH_ROWS: usize = 1_000;

fn written(columns: Vec<(&str, ArrayRef)>, properties: WriterPropertiesBuilder) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut file = Vec::new();
    let properties = Some(properties.build());
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), properties).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    file
}

fn texts(texts: impl IntoIterator<Item = String>) -> ArrayRef {
    Arc::new(texts.into_iter().map(Some).collect::<StringArray>())
}

fn open(file: Vec<u8>) -> Result<ForeignParquet, String> {
    ForeignParquet::open(Bytes::from(file), BATCH_ROWS).map_err(|error| error.to_string())
}

fn refused(file: Vec<u8>) -> String {
    open(file).err().unwrap()
}

fn plain() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_dictionary_enabled(false)
}

#[test]
fn rows_come_back_with_the_types_of_the_file() {
    let words: DictionaryArray<Int32Type> = ["rue", "rue", "place"].into_iter().collect();
    let inner: ArrayRef = Arc::new(LargeStringArray::from(vec!["a", "b", "c"]));
    let field = Arc::new(Field::new("inner", DataType::LargeUtf8, false));
    let rooms =
        ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)]), None, Some([Some(2)])]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "text",
            texts(["1 rue", "2 rue", "3 rue"].map(str::to_owned)),
        ),
        ("word", Arc::new(words)),
        ("rooms", Arc::new(rooms)),
        ("part", Arc::new(StructArray::from(vec![(field, inner)]))),
        ("number", Arc::new(Int64Array::from(vec![1, 2, 3]))),
    ];
    let batch = RecordBatch::try_from_iter(columns.clone()).unwrap();
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for compression in [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(GzipLevel::default()),
            Compression::ZSTD(ZstdLevel::default()),
            Compression::LZ4_RAW,
        ] {
            let properties = WriterProperties::builder()
                .set_compression(compression)
                .set_writer_version(version);
            let mut read = open(written(columns.clone(), properties)).unwrap();
            assert_eq!((read.rows(), read.names().len()), (3, 5));
            let found = read.next().unwrap().unwrap();
            assert_eq!(found.column(0).data_type(), &DataType::Utf8View);
            let restored = ForeignParquet::restored(read.schema(), &found).unwrap();
            assert_eq!(restored, batch);
            assert!(read.next().is_none());
        }
    }
}

#[test]
fn pages_that_become_a_thousand_times_as_long_are_refused_by_place() {
    let one_long = || texts(["x".repeat(40 << 20)]);
    // Snappy compresses to a twentieth at best, which open data files do as well.
    for compression in [
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4_RAW,
    ] {
        let number: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let columns = vec![("number", number), ("text", one_long())];
        let message = refused(written(columns, plain().set_compression(compression)));
        assert!(
            message.starts_with("row group 1, column \"text\": ")
                && message.contains("times the size"),
            "{message}"
        );
    }
}

#[test]
fn a_page_that_is_longer_than_its_header_says_is_refused() {
    let properties = plain().set_compression(Compression::GZIP(GzipLevel::default()));
    let file = written(vec![("text", texts(["x".repeat(3_000)]))], properties);
    // The header says the decompressed length: 3,004 bytes plus those of the levels.
    let header = file
        .windows(4)
        .position(|bytes| bytes[..2] == [0x15, 0x00])
        .unwrap();
    let length = header + 3;
    let (low, high) = (file[length], file[length + 1]);
    assert!(low >= 0x80 && high < 0x80, "the length takes two bytes");
    let mut shorter = file;
    shorter[length + 1] = high - 1;
    let message = refused(shorter);
    assert!(message.contains("longer than its header says"), "{message}");
}

#[test]
fn a_text_that_a_dictionary_repeats_is_held_once_and_counted_in_each_row() {
    let text = "x".repeat(1 << 20);
    let rows = BATCH_TEXT_BYTES_MAX as usize / text.len();
    let repeated = |rows: usize| {
        let keys = std::iter::repeat_n(0, rows).collect::<Vec<i32>>();
        let values = Arc::new(StringArray::from(vec![&*text]));
        let column = DictionaryArray::<Int32Type>::try_new(keys.into(), values).unwrap();
        let columns: Vec<(&str, ArrayRef)> = vec![("text", Arc::new(column))];
        written(
            columns,
            WriterProperties::builder().set_dictionary_page_size_limit(8 << 20),
        )
    };
    let few = open(repeated(rows)).unwrap().next().unwrap().unwrap();
    let few = few.column(0).as_string_view();
    assert_eq!(few.len(), rows);
    let held: usize = few.data_buffers().iter().map(|buffer| buffer.len()).sum();
    assert!(held < 2 * text.len(), "{held}");
    let many = open(repeated(rows + 1)).unwrap().next().unwrap();
    let message = many.unwrap_err().to_string();
    assert!(
        message.starts_with("after row 0: ") && message.contains("column \"text\""),
        "{message}"
    );
}

#[test]
fn texts_written_as_differences_come_in_small_batches_where_their_pages_are_long() {
    let begin = "x".repeat(4 << 20);
    let column = texts((0..70).map(|row| format!("{begin}{row:03}")));
    let properties = plain()
        .set_encoding(Encoding::DELTA_BYTE_ARRAY)
        .set_data_page_size_limit(64 << 20)
        .set_compression(Compression::UNCOMPRESSED);
    let file = written(vec![("text", column)], properties);
    assert!(file.len() < 8 << 20);
    let message = open(file).unwrap().next().unwrap().unwrap_err().to_string();
    assert!(message.contains("bytes of text in 63 rows"), "{message}");
}

#[test]
fn a_file_of_too_many_columns_is_refused() {
    let names: Vec<String> = (0..2_001).map(|at| format!("c{at}")).collect();
    let columns = names.iter().map(|name| {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        (&**name, column)
    });
    let message = refused(written(columns.collect(), plain()));
    assert!(message.contains("has 2001 columns"), "{message}");
}
