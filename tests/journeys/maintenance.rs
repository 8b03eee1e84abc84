//! Lake maintenance by an operator: compaction and checks, through the executable.

use std::fs;
use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::assertions::pick;
use crate::support::client::Client;
use crate::support::process::{Server, errors, import_sales, new_key, run, sql_number, try_run};

/// A lake whose sales form several sorted runs: smaller and smaller imports are not merged with the larger ones
/// before them.
fn several_runs(outer: &Path) -> std::path::PathBuf {
    let data = outer.join("data");
    for (seed, rows) in [("1", "3000"), ("2", "700"), ("3", "150")] {
        import_sales(&data, rows, seed);
    }
    data
}

fn parquet_files(table: &Path) -> usize {
    let names = fs::read_dir(table).unwrap();
    names
        .filter(|entry| {
            entry
                .as_ref()
                .unwrap()
                .path()
                .extension()
                .is_some_and(|end| end == "parquet")
        })
        .count()
}

#[tokio::test]
async fn a_table_is_compacted_while_the_server_runs_and_responses_stay_the_same() {
    let outer = tempfile::tempdir().unwrap();
    let data = several_runs(outer.path());
    let server = Server::start(&data, "serve");
    let client = Client::new(&server, &new_key(&data, &[]));
    let search = json!({"size": 50, "sortBy": "price_eur", "filters": {"surface_m2": {"min": 20}}});
    let ask = async || {
        client
            .ask(Method::POST, "opendata/dvf/search", &search)
            .await
    };
    let before = (
        ask().await,
        sql_number(&data, "select sum(octet_length(record)) from dvf"),
    );

    let report = run(&data, &["compact"]);
    let dvf = &report["tables"][0];
    assert_eq!(
        (&dvf["table"], &report["tables"][1]["table"]),
        (&"dvf".into(), &"dpe".into())
    );
    assert!(dvf["before"]["runs"].as_u64().unwrap() > 1, "{dvf}");
    assert_eq!(pick(&dvf["after"], ["runs", "files"]), json!([1, 1]));
    assert_eq!(dvf["rows"], dvf["rows_written"]);
    assert_eq!(parquet_files(&data.join("lake/dvf")), 1);

    assert_eq!(ask().await["data"], before.0["data"]);
    // By now the server uses the new files.
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(ask().await["data"], before.0["data"]);
    assert_eq!(
        sql_number(&data, "select sum(octet_length(record)) from dvf"),
        before.1
    );
    // A second compaction has nothing to do.
    let again = run(&data, &["compact", "dvf"]);
    assert_eq!(again["tables"].as_array().unwrap().len(), 1);
    assert_eq!(again["tables"][0]["rows_written"], 0);
    assert_eq!(run(&data, &["check"])["damaged"], 0);
}

#[test]
fn a_check_names_every_damaged_file_and_fails() {
    let outer = tempfile::tempdir().unwrap();
    let data = several_runs(outer.path());
    let whole = run(&data, &["check"]);
    assert_eq!(
        (&whole["damaged"], &whole["tables"][0]["damaged"]),
        (&0.into(), &json!([]))
    );
    assert_eq!(
        whole["tables"][0]["rows"],
        sql_number(&data, "select count(*) from dvf")
    );
    let files = whole["tables"][0]["files"].as_u64().unwrap();
    assert!(files > 1 && whole["tables"][0]["bytes"].as_u64().unwrap() > 10_000);

    let mut damaged: Vec<String> = Vec::new();
    // The folder for other programs shows which files are current.
    for entry in fs::read_dir(data.join("lake/dvf")).unwrap() {
        let parquet = data.join("lake/_dvf").join(entry.unwrap().file_name());
        if parquet.extension().is_none_or(|end| end != "parquet") {
            continue;
        }
        for path in [parquet.with_extension("ids"), parquet] {
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x40;
            fs::write(&path, bytes).unwrap();
            damaged.push(path.display().to_string());
        }
    }
    assert_eq!(damaged.len() as u64, 2 * files);
    let output = try_run(&data, &["check", "dvf"]);
    assert_eq!(output.status.code(), Some(1));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["damaged"], damaged.len());
    let found = told["tables"][0]["damaged"].as_array().unwrap();
    for file in &damaged {
        assert!(
            found.iter().any(|it| it["file"] == file.as_str()),
            "{file} in {told}"
        );
        assert!(
            errors(&output).contains(file),
            "{file} in {}",
            errors(&output)
        );
    }
    // The other table is intact; a missing folder is an error too.
    assert_eq!(run(&data, &["check", "dpe"])["damaged"], 0);
    let nowhere = try_run(&outer.path().join("nowhere"), &["check"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(errors(&nowhere).contains("nowhere"), "{}", errors(&nowhere));
    // A damaged table is not compacted either.
    let refused = try_run(&data, &["compact", "dvf"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(errors(&refused).contains("damaged"), "{}", errors(&refused));
}

/// Replaces a document by another one, like a disk that returns other bytes than were written.
fn flip(store: &rusqlite::Connection, table: &str, number: &str, row: i64, document: &[u8]) {
    let sql = format!("DROP TRIGGER row_digest_{table}_update");
    store.execute_batch(&sql).unwrap();
    let sql = format!("UPDATE {table} SET document = ?2 WHERE {number} = ?1");
    store.execute(&sql, (row, document)).unwrap();
}

#[tokio::test]
async fn a_damaged_record_keeps_no_other_from_being_found() {
    let outer = tempfile::tempdir().unwrap();
    let data = outer.path().join("data");
    run(&data, &["synth", "--adverts", "30", "--lake"]);
    let key = &new_key(&data, &[]);
    let store = rusqlite::Connection::open(data.join("store.sqlite")).unwrap();
    let sql = "SELECT record, hex(property_id), document, (SELECT count(*) FROM records)
        FROM properties JOIN records USING (record) ORDER BY sequence DESC LIMIT 1";
    let (record, id, mut document, properties) = store
        .query_row(sql, [], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, Vec<u8>>(2)?,
                row.get::<_, i64>(3)?,
            ))
        })
        .unwrap();
    let middle = document.len() / 2;
    document[middle] ^= 0x10;
    flip(&store, "records", "record", record, &document);
    // It has changed since the table was written.
    let sql = "DROP TRIGGER row_digest_properties_update;
        UPDATE properties SET sequence = 1000000 WHERE record = ";
    store.execute_batch(&format!("{sql}{record}")).unwrap();
    drop(store);
    let id = uuid::Uuid::try_parse(&id).unwrap().to_string();

    let (server, client) = Client::start(&data, key);
    let all =
        json!({"search": {"filterProperty": {}}, "size": 50, "sortBy": "PRICE", "orderBy": "ASC"});
    let (_, searched) = client.post("properties/search", all).await;
    assert_eq!(searched["data"]["count"], properties - 1, "{searched}");
    let read = client.request(Method::GET, &format!("properties/{id}"));
    assert_eq!(read.send().await.unwrap().status(), 500);
    assert_eq!(server.terminate(), Some(0));

    // SQL and compactions leave it out too, and name it.
    const COUNT: &str = "select count(*) from properties";
    assert_eq!(sql_number(&data, COUNT), properties - 1);
    let compacted = try_run(&data, &["compact"]);
    assert!(compacted.status.success(), "{}", errors(&compacted));
    assert!(errors(&compacted).contains(&id), "{}", errors(&compacted));
    assert_eq!(sql_number(&data, COUNT), properties - 1);
    let again = try_run(&data, &["compact"]);
    assert!(
        again.status.success() && !errors(&again).contains(&id),
        "the damaged change is behind"
    );
}

#[tokio::test]
async fn a_flipped_bit_in_a_document_is_named_by_check_refused_by_reads_and_not_backed_up() {
    let outer = tempfile::tempdir().unwrap();
    let data = outer.path().join("data");
    run(&data, &["synth", "--adverts", "30", "--lake"]);
    const COUNT: &str = "select count(*) from adverts";
    run(&data, &["compact"]);
    let whole = sql_number(&data, COUNT);
    let key = new_key(&data, &[]);
    assert!(try_run(&data, &["check"]).status.success());
    let store = rusqlite::Connection::open(data.join("store.sqlite")).unwrap();
    let sql = "SELECT advert, hex(advert_id), document FROM adverts ORDER BY advert LIMIT 1";
    let (advert, id, mut document) = store
        .query_row(sql, [], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, Vec<u8>>(2)?,
            ))
        })
        .unwrap();
    let middle = document.len() / 2;
    document[middle] ^= 0x10;
    flip(&store, "adverts", "advert", advert, &document);
    drop(store);
    let id = uuid::Uuid::try_parse(&id).unwrap().to_string();

    let check = try_run(&data, &["check"]);
    assert_eq!(check.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&check.stdout).unwrap();
    assert_eq!(report["store"]["damaged_count"], 2, "{report}");
    let named = report["store"]["damaged"][0].as_str().unwrap();
    assert!(named.starts_with(&format!("advert {id}: ")), "{named}");
    let of_table = "table adverts: a value is not the one that was written";
    assert_eq!(report["store"]["damaged"][1], of_table);

    let target = outer.path().join("backup");
    let backup = try_run(&data, &["backup", target.to_str().unwrap()]);
    assert!(!backup.status.success() && !target.exists());
    assert!(errors(&backup).contains(&id), "{}", errors(&backup));

    // The tables are not rebuilt without it.
    let rebuilt = try_run(&data, &["compact", "--rebuild"]);
    assert_eq!(rebuilt.status.code(), Some(1));
    assert!(errors(&rebuilt).contains(&id), "{}", errors(&rebuilt));
    assert_eq!(sql_number(&data, COUNT), whole);

    let (server, client) = Client::start(&data, &key);
    let read = client.request(Method::GET, &format!("adverts/{id}"));
    assert_eq!(read.send().await.unwrap().status(), 500);
    assert_eq!(server.terminate(), Some(0));
}
