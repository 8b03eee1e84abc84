//! SQL over HTTP: formats, streaming, limits, scope, price and audit log.

use std::time::{Duration, Instant};

use arrow::ipc::reader::StreamReader;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use toise::accounts::DEFAULT_ACCOUNT;
use toise::accounts::key::{KeyChange, KeyKind};
use toise::accounts::keys;
use toise::accounts::sql_limits::SqlLimitsChange;
use toise::sql::audit::{AuditEntry, latest};
use toise::sql::settings::SqlSettings;

use crate::support::assertions::assert_has;
use crate::support::sql::set_sql;
use crate::support::{Service, data_of, error_of, http_client};

/// Limits low enough for a test to reach them.
pub fn low() -> SqlSettings {
    SqlSettings {
        rows_max: 3_000_000,
        answer_mib: 64,
        memory_mib: 32,
        spill_mib: 64,
        time_s: 3,
        concurrent_max: 1,
        threads: 2,
        audit_days: 1,
    }
}

/// A service with these settings of SQL, and a key with the scope.
pub async fn service(settings: SqlSettings) -> (Service, String) {
    if settings == SqlSettings::default() {
        let service = Service::start().await;
        let key = service.key_with("sql");
        return (service, key);
    }
    let service = Service::start_changed(|app| {
        set_sql(app, &settings);
    });
    let service = service.await;
    let key = service.key_with("sql");
    (service, key)
}

pub async fn ask(service: &Service, key: &str, body: Value) -> Response {
    let request = service
        .keyed(Method::POST, "/v2/protected/sql", key)
        .json(&body);
    request.send().await.unwrap()
}

pub async fn rows(service: &Service, key: &str, query: &str) -> Value {
    data_of(ask(service, key, json!({"query": query})).await).await
}

/// The newest row of the audit log, once the query has ended.
async fn audited(service: &Service) -> AuditEntry {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let entry = latest(&service.store, 1).unwrap().remove(0);
        if entry.ending.is_some() {
            return entry;
        }
        assert!(Instant::now() < deadline, "{entry:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_is_answered_in_every_format_and_charged_once() {
    let (service, key) = service(SqlSettings::default()).await;
    let query = "select 1 as n, 'a,b' as t, [1, null] as l";
    let response = ask(&service, &key, json!({"query": query})).await;
    assert_eq!(response.headers()["x-credits"], "1");
    let snapshots = response.headers()["x-toise-snapshots"].to_str().unwrap();
    assert!(snapshots.contains("properties="), "{snapshots}");
    let body: Value = response.json().await.unwrap();
    assert_eq!(
        body,
        json!({"data": [{"n": 1, "t": "a,b", "l": [1, null]}]})
    );
    let text = |format: &'static str| {
        let (service, key) = (&service, &key);
        async move {
            let body = json!({"query": query, "format": format});
            ask(service, key, body).await.text().await.unwrap()
        }
    };
    assert_eq!(text("csv").await, "n,t,l\n1,\"a,b\",\"[1,null]\"\n");
    assert_eq!(
        text("ndjson").await,
        "{\"n\":1,\"t\":\"a,b\",\"l\":[1,null]}\n"
    );
    for compression in ["none", "zstd"] {
        let body = json!({"query": "select * from range(1, 100001)", "compression": compression});
        let request = service
            .keyed(Method::POST, "/v2/protected/sql", &key)
            .header("accept", "application/vnd.apache.arrow.stream, */*")
            .json(&body);
        let bytes = request.send().await.unwrap().bytes().await.unwrap();
        let reader = StreamReader::try_new(&bytes[..], None).unwrap();
        let counted: usize = reader.map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(counted, 100_000);
    }
    let charged =
        service.charged("select count(*), sum(credits) from ledger where type = 'API_SQL'");
    assert_eq!(charged, [5, 5]);
}

#[tokio::test(flavor = "multi_thread")]
async fn safe_csv_has_no_formula_for_a_spreadsheet() {
    let (service, key) = service(SqlSettings::default()).await;
    let query = "select '=1+1' as t, -1 as n";
    for (format, expected) in [("csv", "t,n\n=1+1,-1\n"), ("safe-csv", "t,n\n'=1+1,-1\n")] {
        let body = json!({"query": query, "format": format});
        let text = ask(&service, &key, body).await.text().await.unwrap();
        assert_eq!(text, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_with_a_position_are_geodata() {
    let (service, key) = service(SqlSettings::default()).await;
    let query =
        "select 1 as n, 2.35 as lon, 48.85 as lat union all select 2, null, null order by 1";
    let body = json!({"query": query, "format": "geojson"});
    let response = ask(&service, &key, body).await;
    assert_eq!(response.headers()["content-type"], "application/geo+json");
    let found: Value = response.json().await.unwrap();
    assert_eq!(found["type"], "FeatureCollection");
    assert_eq!(
        found["features"][0]["geometry"],
        json!({"type": "Point", "coordinates": [2.35, 48.85]})
    );
    assert_eq!(found["features"][1]["geometry"], Value::Null);

    let body = json!({"query": query, "format": "geoparquet"});
    let bytes = ask(&service, &key, body).await.bytes().await.unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    let metadata = reader.metadata().file_metadata().key_value_metadata();
    let geo = metadata.unwrap().iter().find(|entry| entry.key == "geo");
    let geo: Value = serde_json::from_str(geo.unwrap().value.as_ref().unwrap()).unwrap();
    assert_eq!(
        geo["columns"]["geometry"]["bbox"],
        json!([2.35, 48.85, 2.35, 48.85])
    );
    let rows: usize = reader
        .build()
        .unwrap()
        .map(|batch| batch.unwrap().num_rows())
        .sum();
    assert_eq!(rows, 2);

    let body = json!({"query": "select 1 as n", "format": "geojson"});
    let (status, _, message) = error_of(ask(&service, &key, body).await).await;
    assert_eq!(status, 422, "{message}");
    assert_has(&message, "no position among the columns n");
}

#[tokio::test(flavor = "multi_thread")]
async fn placeholders_take_values_and_the_catalogue_answers() {
    let (service, key) = service(SqlSettings::default()).await;
    let body = json!({"query": "select $1 + 1 as n, $2 as t", "parameters": [41, "x"]});
    let answer: Value = ask(&service, &key, body).await.json().await.unwrap();
    assert_eq!(answer["data"], json!([{"n": 42, "t": "x"}]));
    let body = json!({"query": "select ? || ? as t", "parameters": ["a", "b"]});
    let answer: Value = ask(&service, &key, body).await.json().await.unwrap();
    assert_eq!(answer["data"], json!([{"t": "ab"}]));
    let body = json!({"query": "select $a as a", "parameters": {"a": null}});
    assert_eq!(ask(&service, &key, body).await.status(), 200);
    let body = json!({"query": "select 1 as n", "parameters": null, "format": null, "compression": null, "limits": null});
    assert_eq!(ask(&service, &key, body).await.status(), 200);
    let tables =
        "select table_name from information_schema.tables where table_schema = 'public' order by 1";
    assert_eq!(
        rows(&service, &key, tables).await,
        json!([{"table_name": "adverts"}, {"table_name": "dpe"}, {"table_name": "dvf"}, {"table_name": "market"},
            {"table_name": "properties"}])
    );
    let body = json!({"query": "select $1", "parameters": [[1]]});
    let (status, _, message) = error_of(ask(&service, &key, body).await).await;
    assert_eq!(
        (status, message.split(':').next()),
        (422, Some("parameters"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_has_its_line_and_column_and_what_exists_instead() {
    let (service, key) = service(SqlSettings::default()).await;
    let cases = [
        ("select 1\nfrom", "query: line 2, column 5:", ""),
        (
            "select title,\n  pricelatest_value from properties",
            "query: line 2, column 3:",
            "price_latest_value",
        ),
        (
            "select *\nfrom propertys",
            "query: line 2, column 6:",
            "adverts, dpe, dvf, market, properties",
        ),
        ("select 1,\n medan(2)", "query: line 2, column 2:", "median"),
        ("select sha512('a')", "query: line 1, column 8:", "sha512"),
        ("select 1; select 2", "query: one statement", ""),
        ("", "query: ", "empty"),
        // The engine reports these as internal errors.
        (
            "select true between 0 and 1",
            "query: ",
            "coerce types Boolean and Int64",
        ),
        ("select [1] between 1 and 2", "query: ", "coerce types List"),
        ("select regexp_like('a', '(')", "query: ", "unclosed group"),
        (
            "select 1 from (values ('a')) as t(x) where x ~ '['",
            "query: ",
            "unclosed character class",
        ),
        (
            "select regexp_replace(x, '(', '') from (values ('a')) as t(x)",
            "query: ",
            "unclosed group",
        ),
    ];
    for (query, place, suggested) in cases {
        let response = ask(&service, &key, json!({"query": query})).await;
        let (status, code, message) = error_of(response).await;
        assert_eq!((status, code), (422, 10002), "{query}: {message}");
        assert!(message.starts_with(place), "{query}: {message}");
        assert!(message.contains(suggested), "{query}: {message}");
        assert!(!message.contains("DataFusion"), "{query}: {message}");
        assert!(!message.ends_with("there is "), "{query}: {message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_keys_with_the_scope_ask_and_every_query_is_in_the_audit_log() {
    let (service, key) = service(SqlSettings::default()).await;
    let refused = ask(&service, &service.key, json!({"query": "select 1"})).await;
    assert_eq!(error_of(refused).await.0, 403);
    assert_eq!(latest(&service.store, 10).unwrap(), []);
    let answered = ask(&service, &key, json!({"query": "select 7 as seven"})).await;
    let request_id = answered.headers()["x-request-id"]
        .to_str()
        .unwrap()
        .to_owned();
    assert_eq!(answered.status(), 200);
    let entry = audited(&service).await;
    assert_eq!(entry.request_id.to_string(), request_id);
    let ending = entry.ending.unwrap();
    assert_eq!(
        (entry.protocol.as_str(), entry.query.as_str()),
        ("http", "select 7 as seven")
    );
    assert_eq!((ending.outcome.as_str(), ending.rows), ("finished", 1));
    assert!(entry.snapshots.contains("properties="));
    ask(&service, &key, json!({"query": "drop table properties"})).await;
    let ending = audited(&service).await.ending.unwrap();
    assert_eq!(ending.outcome, "refused");
    let metrics = service.ask(Method::GET, "/metrics").send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    let counted = r#"toise_sql_queries_total{protocol="http",outcome="finished"} 1"#;
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_hangs_up_stops_its_query_and_one_that_reads_slowly_holds_it() {
    let (service, key) = service(SqlSettings {
        concurrent_max: 1,
        ..SqlSettings::default()
    })
    .await;
    let endless = json!({"query": "select * from range(1, 1000000000000)", "format": "arrow"});
    let mut response = ask(&service, &key, endless).await;
    assert_eq!(response.status(), 200);
    assert!(response.chunk().await.unwrap().is_some());
    // Nobody reads, so the buffers limit the rows written so far.
    tokio::time::sleep(Duration::from_millis(500)).await;
    drop(response);
    let ending = audited(&service).await.ending.unwrap();
    assert_eq!(ending.outcome, "cancelled");
    assert!(ending.bytes < 64 << 20, "{ending:?}");
    // The key has a free slot again.
    assert_eq!(
        rows(&service, &key, "select 1 as n").await,
        json!([{"n": 1}])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_keys_have_turns_of_their_own() {
    let (service, key) = service(low()).await;
    let other = service
        .new_key(KeyKind::Production, "sql", DEFAULT_ACCOUNT)
        .key;
    let slow = json!({"query": "select count(*) from range(1, 1000000000000)"});
    let running = {
        let request = http_client()
            .post(format!("http://{}/v2/protected/sql", service.address))
            .header("x-api-key", &key)
            .json(&slow);
        tokio::spawn(async move { request.send().await.unwrap().status().as_u16() })
    };
    tokio::time::sleep(Duration::from_millis(300)).await;
    let started = Instant::now();
    assert_eq!(
        rows(&service, &other, "select 1 as n").await,
        json!([{"n": 1}])
    );
    assert!(started.elapsed() < Duration::from_secs(2));
    // Stopped by its time limit.
    assert_eq!(running.await.unwrap(), 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_can_lower_its_limits() {
    let (service, key) = service(SqlSettings::default()).await;
    let limited = |limits: Value, query: &str| {
        let body = json!({"query": query, "limits": limits, "format": "csv"});
        ask(&service, &key, body)
    };
    let many = "select * from range(1, 100000)";
    for (limits, told) in [
        (json!({"rows": 10}), "more than 10 rows"),
        (json!({"bytes": 1000}), "more than 1000 bytes"),
        (json!({"time_s": 1}), "more than 1 s"),
    ] {
        let query = if limits["time_s"].is_null() {
            many
        } else {
            "select count(*) from range(1, 1000000000000)"
        };
        let (status, _, message) = error_of(limited(limits, query).await).await;
        assert_eq!(status, 422);
        assert!(message.contains(told), "{message}");
    }
    let (status, _, message) = error_of(limited(json!({"rows": 0}), many).await).await;
    assert_eq!(status, 422);
    assert!(message.starts_with("limits.rows"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_keys_have_limits_of_their_own() {
    let (service, key) = service(SqlSettings::default()).await;
    let change = KeyChange {
        sql: SqlLimitsChange {
            rows: Some(Some(10)),
            time_s: Some(Some(1)),
            ..SqlLimitsChange::default()
        },
        ..KeyChange::default()
    };
    let limited = service.key_with("sql");
    keys::change(&service.store, &limited, change).unwrap();
    let answer = async |key: &str, query: &str, limits: Value| {
        let body = json!({"query": query, "limits": limits, "format": "csv"});
        ask(&service, key, body).await
    };
    let eleven = "select * from range(0, 11)";
    assert_eq!(answer(&key, eleven, json!({})).await.status(), 200);
    // A request can only lower them.
    for limits in [json!({}), json!({"rows": 11})] {
        let (status, _, message) = error_of(answer(&limited, eleven, limits).await).await;
        assert_eq!(status, 422);
        assert!(message.contains("more than 10 rows"), "{message}");
    }
    let endless = "select count(*) from range(1, 1000000000000)";
    let (_, _, message) = error_of(answer(&limited, endless, json!({})).await).await;
    assert!(message.contains("more than 1 s"), "{message}");
    let lowered = json!({"rows": 3});
    let (_, _, message) = error_of(answer(&limited, eleven, lowered).await).await;
    assert!(message.contains("more than 3 rows"), "{message}");
}
