//! Whole tables of official rows, queried over HTTP.

use serde_json::{Value, json};

use super::open_data::{folder, text};
use crate::support::http_client;
use crate::support::process::{Server, new_key, run};

#[tokio::test(flavor = "multi_thread")]
async fn every_column_of_every_row_is_answered_in_every_format() {
    let Some(real) = folder() else { return };
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    run(
        data,
        &["import", "dvf", text(&real.join("dvf/geodvf_*.gz"))],
    );
    run(
        data,
        &["import", "dpe", text(&real.join("dpe/*v1names*.gz"))],
    );
    let key = new_key(data, &["--scopes", "sql"]);
    let server = Server::start(data, "serve");
    // The minimum memory of a query, and the default.
    for memory_mib in [16, 256] {
        for (table, format) in [
            ("dvf", "arrow"),
            ("dvf", "parquet"),
            ("dvf", "csv"),
            ("dpe", "json"),
            ("dpe", "ndjson"),
            ("dpe", "parquet"),
        ] {
            let query = format!("select * from {table}");
            let asked = http_client()
                .post(format!("{}/v2/protected/sql", server.address))
                .header("x-api-key", &key)
                .json(&json!({"query": query, "format": format, "limits": {"memory_mib": memory_mib}}));
            let response = asked.send().await.unwrap();
            let status = response.status();
            let body = response.bytes().await.unwrap();
            let start = String::from_utf8_lossy(&body[..body.len().min(300)]);
            assert_eq!(
                status, 200,
                "{table} as {format} in {memory_mib} MiB: {start}"
            );
            if format == "json" {
                let rows: Value = serde_json::from_slice(&body).unwrap();
                let rows = rows["data"].as_array().unwrap().len() as i64;
                let counted = format!("select count(*) from {table}");
                assert_eq!(rows, crate::support::process::sql_number(data, &counted));
            }
        }
    }
}
