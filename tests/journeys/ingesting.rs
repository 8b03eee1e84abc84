//! Ingestion at the command line: files and standard input while the server is running, and a wrong merge undone.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::support::process::{Server, errors, run, toise};

/// A flat in Mende as a portal shows it.
fn flat(portal: &str) -> Value {
    json!({
        "url": format!("https://www.{portal}.example/annonce/1?utm_source=flux"), "source": format!("{portal}.example"),
        "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 98_000},
        "title": "T3 au centre", "description": "Au coeur de la ville haute, trois pieces traversant refait a neuf, \
            cuisine ouverte, deux chambres sur jardin, cave voutee et grenier. Reference AB1234.",
        "location": {"postalCode": "48000", "city": "Mende", "locationCoordinate": {"location": [3.49871, 44.51823]}},
        "habitation": {"roomCount": 3, "bedroomCount": 2, "floor": 2, "surface": {"total": 67.4}},
        "seller": {"name": "Agence de la Tour", "siren": "123456780"}, "lastSeenAt": "2026-03-01T08:00:00Z",
    })
}

/// Feeds a command's standard input.
fn feed(data: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut command = toise(data, arguments);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[tokio::test]
async fn a_running_server_returns_what_a_command_ingested_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let key = run(data, &["keys", "create"]);
    let server = Server::start(data, "serve");
    let file = data.join("adverts.ndjson");
    std::fs::write(
        &file,
        format!("{}\n{}\nnot json\n{{}}\n", flat("un"), flat("deux")),
    )
    .unwrap();
    let report = run(data, &["ingest", file.to_str().unwrap()]);
    assert_eq!(
        (&report["created"], &report["rejected"], &report["adverts"]),
        (&json!(2), &json!(2), &json!(4))
    );
    assert_eq!(
        report["rejections"]["url: is required"]["examples"][0]["line"],
        4
    );

    let ids = toise::store::Store::open(data).unwrap().read(|connection| {
        let sql = "SELECT lower(hex(advert_id)) FROM adverts ORDER BY advert";
        connection
            .prepare(sql)?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<Vec<String>>>()
    });
    let id = |hex: &String| uuid::Uuid::try_parse(hex).unwrap().to_string();
    let ids: Vec<String> = ids.unwrap().iter().map(id).collect();
    let url = format!("{}/v2/protected/properties/{}", server.address, ids[0]);
    let read = || async {
        let request = crate::support::http_client()
            .get(&url)
            .header("x-api-key", key["key"].as_str().unwrap());
        request.send().await.unwrap().json::<Value>().await.unwrap()["data"].take()
    };
    let property = read().await;
    // Both were first seen at the same instant, so either may come first.
    let mut urls: Vec<&str> = property["adverts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|advert| advert["url"].as_str().unwrap())
        .collect();
    urls.sort_unstable();
    assert_eq!(
        urls,
        [
            "https://www.deux.example/annonce/1",
            "https://www.un.example/annonce/1"
        ],
        "one asset on two portals"
    );
    assert_eq!(property["location"]["inseeCode"], "48095");

    let explained = run(
        data,
        &["explain", &ids[0], "http://deux.example/annonce/1/"],
    );
    assert_eq!(
        (&explained["together"], &explained["comparison"]["verdict"]),
        (&json!(true), &json!("same"))
    );
    let parted = run(data, &["properties", "split", &ids[0], &ids[1]]);
    assert_eq!(parted["propertyFlxId"], json!(ids[1]));
    assert_eq!(read().await["adverts"].as_array().unwrap().len(), 1);
    let shown = run(data, &["properties", "show", &ids[1]]);
    assert_eq!(shown["adverts"][0]["flxId"], json!(ids[1]));

    let sighting = "link;prix;vu\nhttp://un.example/annonce/1;95 500;2026-03-02\n";
    let maps = [
        "--map",
        "url=link",
        "--map",
        "currentPrice.value=prix",
        "--map",
        "lastSeenAt=vu",
    ];
    let arguments = [&["ingest", "-", "--format", "csv"], &maps[..]].concat();
    let output = feed(data, &arguments, sighting.as_bytes());
    assert!(output.status.success(), "{}", errors(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["updated"], &report["events"]),
        (&json!(1), &json!({"PRICE": 1}))
    );
    assert_eq!(read().await["price"]["latest"]["value"], 95_500);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn errors_say_what_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let nobody = "019bb126-cee2-7a45-a98c-3cba58e89b2d";
    for (arguments, message) in [
        (&["ingest", "none.ndjson"][..], "no such file"),
        (
            &["ingest", "-", "--map", "prix=price"],
            "--map: prix: unknown field; must be one of: currency,",
        ),
        (
            &["ingest", "-", "--format", "csv"],
            "no column is mapped to url; map one with --map url=COLUMN",
        ),
        (&["explain", nobody, nobody], "no advert 019bb126"),
        (
            &["explain", "x", nobody],
            "must be the identifier or the URL of an advert",
        ),
        (&["properties", "show", nobody], "no property 019bb126"),
        (
            &["properties", "split", nobody, nobody],
            "no property 019bb126",
        ),
    ] {
        let output = feed(data, arguments, b"a;b\n");
        assert!(!output.status.success(), "{arguments:?}");
        let said = errors(&output);
        assert!(
            said.starts_with("error: ") && said.contains(message),
            "{arguments:?}: {said}"
        );
    }
}
