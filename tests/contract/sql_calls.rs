//! What the process of a query makes the server hold and compute: arguments of functions that the server computes,
//! long rows, long messages and files.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arrow::array::{Array, AsArray, BooleanArray, StringArray};
use arrow::datatypes::DataType;
use datafusion::error::Result as EngineResult;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};
use toise::sql::SqlError;
use toise::sql::encode::RowFormat;
use toise::sql::process::SPILL_PREFIX;
use toise::sql::request::{Output, SqlRequest};
use toise::sql::running::Piece;
use toise::sql::service::SqlService;
use toise::sql::settings::SqlSettings;
use uuid::Uuid;

use crate::support::sql::{caller, small_service};

const CSV: Output = Output::Encoded(RowFormat::Csv, false);
/// Maximum bytes of texts in one call.
const CALL_BYTES_MAX: usize = 4 << 20;
/// How long a slow function takes, beyond the time limit of its query.
const SLOW: Duration = Duration::from_secs(8);

/// The function `within` as the server computes it here: true, unless `seen`, which sees the names first, fails.
fn within(seen: impl Fn(&StringArray) -> EngineResult<()> + Send + Sync + 'static) -> ScalarUDF {
    let computed = move |arguments: &[ColumnarValue]| -> EngineResult<ColumnarValue> {
        let names = arguments[2].to_array(1)?;
        let names = names.as_string::<i32>();
        seen(names)?;
        let inside = BooleanArray::from(vec![true; names.len()]);
        Ok(ColumnarValue::Array(Arc::new(inside)))
    };
    let arguments = vec![DataType::Float64, DataType::Float64, DataType::Utf8];
    let computed = Arc::new(computed);
    create_udf(
        "within",
        arguments,
        DataType::Boolean,
        Volatility::Stable,
        computed,
    )
}

async fn answer(sql: &SqlService, query: &str, output: Output) -> Result<Vec<Piece>, SqlError> {
    let request = SqlRequest {
        sql: query.to_owned(),
        parameters: None,
        key_limits: Default::default(),
        limits: Default::default(),
        output,
        caller: caller(),
    };
    let mut running = sql.run(request).await?;
    let mut pieces = Vec::new();
    while let Some(piece) = running.next().await {
        pieces.push(piece?);
    }
    Ok(pieces)
}

async fn text(sql: &SqlService, query: &str) -> String {
    let pieces = answer(sql, query, CSV).await.unwrap();
    let bytes = pieces.iter().map(|piece| match piece {
        Piece::Bytes(bytes) => std::str::from_utf8(bytes).unwrap(),
        Piece::Batch(_) => panic!("rows, not bytes"),
    });
    bytes.collect()
}

fn message(refused: Result<Vec<Piece>, SqlError>) -> String {
    match refused {
        Err(SqlError::Invalid { message, .. }) => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_arguments_reach_the_server_in_parts_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let largest = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&largest);
    let functions = vec![within(move |names| {
        let bytes = names.iter().flatten().map(str::len).sum();
        seen.fetch_max(bytes, Ordering::Relaxed);
        Ok(())
    })];
    let sql = small_service(folder.path(), functions, &SqlSettings::default());
    let rows =
        "select count(*) as n from range(0, 4000) where within(value, 0, repeat('x', 10000))";
    assert_eq!(text(&sql, rows).await, "n\n4000\n");
    let largest = largest.load(Ordering::Relaxed);
    assert!((10_000..CALL_BYTES_MAX).contains(&largest), "{largest}");
    let long = "select within(0, 0, repeat('x', 20000000)) as a";
    let refused = message(answer(&sql, long, CSV).await);
    assert!(refused.contains("too long"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_of_the_server_is_not_a_fault_of_the_query() {
    let folder = tempfile::tempdir().unwrap();
    let functions = vec![within(|_| Err(io::Error::other("/data/lost").into()))];
    let sql = small_service(folder.path(), functions, &SqlSettings::default());
    let failed = answer(&sql, "select within(0, 0, 'a') as a", CSV).await;
    match failed {
        Err(error @ SqlError::Internal(_)) => {
            assert!(!error.to_string().contains("lost"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_server_spilled_is_deleted() {
    let left = std::env::temp_dir().join(format!("{SPILL_PREFIX}{}", Uuid::now_v7()));
    fs::write(&left, "spilled").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let sql = small_service(folder.path(), Vec::new(), &SqlSettings::default());
    assert_eq!(text(&sql, "select 1 as n").await, "n\n1\n");
    assert!(!left.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn long_rows_and_names_are_refused_with_short_messages() {
    let folder = tempfile::tempdir().unwrap();
    let settings = SqlSettings {
        // The engine copies the long value several times, which takes long in an unoptimised build.
        memory_mib: 1_024,
        time_s: 240,
        ..SqlSettings::default()
    };
    let sql = small_service(folder.path(), Vec::new(), &settings);
    let long = "select repeat('x', 70000000) as a";
    let refused = message(answer(&sql, long, Output::Batches).await);
    assert!(refused.contains("row"), "{refused}");
    let name = "x".repeat(4_000);
    for query in [
        format!("select \"{name}\" from dvf"),
        format!("select * from \"{name}\""),
        format!("select {name}(1)"),
    ] {
        let refused = message(answer(&sql, &query, CSV).await);
        assert!(refused.len() < 1_000, "{} bytes", refused.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_query_keeps_its_slot_until_its_last_call_is_computed() {
    let folder = tempfile::tempdir().unwrap();
    let settings = SqlSettings {
        time_s: 3,
        concurrent_max: 1,
        ..SqlSettings::default()
    };
    let functions = vec![within(|_| {
        std::thread::sleep(SLOW);
        Ok(())
    })];
    let sql = small_service(folder.path(), functions, &settings);
    assert_eq!(text(&sql, "select 1 as n").await, "n\n1\n");
    let started = Instant::now();
    let stopped = answer(&sql, "select within(0, 0, 'a') as a", CSV).await;
    assert!(matches!(stopped, Err(SqlError::Limit(_))), "{stopped:?}");
    assert!(started.elapsed() < SLOW);
    assert_eq!(text(&sql, "select 1 as n").await, "n\n1\n");
    assert!(started.elapsed() >= SLOW);
}
