//! Queries: their text, which is planned or refused, and the values of their placeholders, in JSON and in Arrow's messages.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray};
use arrow::datatypes::Int32Type;
use arrow_flight::FlightData;
use arrow_flight::encode::FlightDataEncoderBuilder;
use futures::{FutureExt, TryStreamExt, stream};
use proptest::prelude::*;
use serde_json::Value;
use toise::flight::parameters as flight_parameters;
use toise::sql::SqlError;
use toise::sql::parameters::{self, PARAMETERS_BYTES_MAX, from_json};
use toise::sql::request::{Output, SqlRequest};
use toise::sql::service::SqlService;
use toise::sql::settings::SqlSettings;
use toise::sql::text;
use tokio::runtime::Runtime;

use super::mutation::{mutated, samples};
use super::quick;
use crate::support::sql::{caller, small_service};

/// A service over tables without rows.
struct Asked {
    sql: SqlService,
    runtime: Runtime,
    _folder: tempfile::TempDir,
}

static ASKED: LazyLock<Asked> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let settings = SqlSettings {
        time_s: 5,
        rows_max: 1_000,
        threads: 2,
        ..SqlSettings::default()
    };
    let sql = small_service(folder.path(), Vec::new(), &settings);
    Asked {
        sql,
        runtime: Runtime::new().unwrap(),
        _folder: folder,
    }
});

/// The queries of the corpus, one per line, and texts with several statements.
fn queries() -> Vec<Vec<u8>> {
    let text = samples("tests/fuzz/corpus", "queries.sql").remove(0);
    let lines = text.split(|byte| *byte == b'\n');
    lines.map(<[u8]>::to_vec).collect()
}

/// Messages of one row, as clients write them.
fn messages() -> Vec<FlightData> {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None])]);
    let columns: [(&str, ArrayRef, bool); 3] = [
        ("1", Arc::new(Int64Array::from(vec![1])), true),
        ("2", Arc::new(StringArray::from(vec!["é"])), true),
        ("3", Arc::new(list), true),
    ];
    let row = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let encoded = FlightDataEncoderBuilder::new().build(stream::iter([Ok(row)]));
    let messages = encoded.try_collect::<Vec<_>>().now_or_never();
    messages.unwrap().unwrap()
}

fn headers() -> Vec<Vec<u8>> {
    let headers = messages().into_iter();
    headers
        .map(|message| message.data_header.to_vec())
        .collect()
}

fn body() -> Vec<u8> {
    messages().remove(1).data_body.to_vec()
}

proptest! {
    #![proptest_config(quick())]

    #[test]
    fn texts_are_planned_or_refused(bytes in mutated(queries())) {
        let sql = String::from_utf8_lossy(&bytes);
        let _ = text::check(&sql);
        let _ = text::is_complete(&sql);
        if let Ok(statements) = text::statements(&sql) {
            prop_assert!(statements.iter().all(|statement| sql.contains(statement.as_str())));
        }
        let Asked { sql: service, runtime, .. } = &*ASKED;
        let planned = runtime.block_on(service.describe(&sql, caller()));
        if let Err(error) = planned {
            prop_assert!(!error.to_string().is_empty(), "{sql}");
        }
    }

    #[test]
    fn parameters_are_bound_or_refused(
        bytes in mutated(vec![br#"[1, "a", null, 1.5, true, "\u00e9"]"#.to_vec(), br#"{"a": 1, "name": "x"}"#.to_vec()]),
    ) {
        let Ok(given) = serde_json::from_slice::<Value>(&bytes) else {
            return Ok(());
        };
        let Ok(values) = from_json(&given) else {
            return Ok(());
        };
        prop_assert!(parameters::bytes(&values) <= PARAMETERS_BYTES_MAX);
        let request = SqlRequest {
            sql: "select $1 as a, $2 || $1 as b where $3 is null".to_owned(),
            parameters: Some(values),
            key_limits: Default::default(),
            limits: Default::default(),
            output: Output::Batches,
            caller: caller(),
        };
        let Asked { sql: service, runtime, .. } = &*ASKED;
        let answered = runtime.block_on(async {
            let mut running = service.run(request).await?;
            while let Some(piece) = running.next().await {
                piece?;
            }
            Ok::<(), SqlError>(())
        });
        if let Err(error) = answered {
            prop_assert!(!error.to_string().is_empty(), "{given}");
        }
    }

    #[test]
    fn rows_of_parameters_are_read_or_refused(
        columns in mutated(vec![headers().remove(0)]),
        row in mutated(headers()),
        body in mutated(vec![body()]),
        changes in any::<bool>(),
    ) {
        let mut sent = messages();
        if changes {
            sent[0].data_header = columns.into();
        }
        sent[1].data_header = row.into();
        sent[1].data_body = body.into();
        let sent = stream::iter(sent.into_iter().map(Ok));
        let read = flight_parameters::read(sent).now_or_never().unwrap();
        match read {
            Ok(values) => prop_assert!(parameters::bytes(&values) <= PARAMETERS_BYTES_MAX),
            Err(status) => prop_assert!(!status.message().is_empty()),
        }
    }
}
