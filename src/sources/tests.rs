//! Tests of downloads from a local server that simulates failures of the official ones.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::Utc;

use super::diagnostics::DiagnosticRange;
use super::sales::SalesPlaces;
use super::test_server::{Reply, Server, answer, client, client_with, gzip};
use super::{Downloads, Error, FetchedSources, addresses, diagnostics, sales};
use toise_base::progress::Progress;
use toise_net::{Client, RetryPolicy};

fn file() -> Vec<u8> {
    let rows = (0..2_000).map(|row| format!("{row},{}\n", row * 7_919 % 10_007));
    gzip(rows.collect::<String>().as_bytes())
}

fn downloads<'a>(client: &'a Client, data: &'a Path) -> Downloads<'a> {
    Downloads {
        client,
        data,
        progress: Progress::silent(),
        now: Utc::now(),
    }
}

const VERSION: &str = "etag: \"v1\"\r\nlast-modified: Tue, 07 Apr 2026 10:00:00 GMT\r\n";

/// Fetches from a folder tree alone.
async fn fetch_dvf(server: &Server, codes: &[&str], data: &Path) -> Result<FetchedSources, Error> {
    let codes: Vec<String> = codes.iter().map(|code| (*code).to_owned()).collect();
    let places = SalesPlaces {
        catalogue: None,
        tree: server.base.clone(),
        mirror: None,
    };
    let client = client();
    sales::fetch(downloads(&client, data), &places, &codes, 2024..=2024).await
}

#[tokio::test]
async fn a_busy_server_is_retried_and_a_cut_download_resumes() {
    let whole = file();
    let sent = whole.clone();
    let server = Server::start(move |head, number| {
        let half = sent.len() / 2;
        match number {
            0 => answer("429 Too Many Requests", "retry-after: 1\r\n", 0, b""),
            1 => answer("503 Service Unavailable", "", 0, b""),
            2 => answer("200 OK", VERSION, sent.len(), &sent[..half]),
            _ if head.contains("if-none-match: \"v1\"") => {
                answer("304 Not Modified", VERSION, 0, b"")
            }
            _ => {
                assert!(head.contains(&format!("range: bytes={half}-")), "{head}");
                assert!(head.contains("if-range: \"v1\""), "{head}");
                let (last, length) = (sent.len() - 1, sent.len());
                let range = format!("{VERSION}content-range: bytes {half}-{last}/{length}\r\n");
                answer("206 Partial Content", &range, length - half, &sent[half..])
            }
        }
    })
    .await;
    let data = tempfile::tempdir().unwrap();
    let started = std::time::Instant::now();
    let fetched = fetch_dvf(&server, &["57", "48"], data.path())
        .await
        .unwrap();
    // The server asked for a second.
    assert!(started.elapsed() >= Duration::from_secs(1));
    let input = &fetched.inputs[0];
    assert_eq!(std::fs::read(&input.path).unwrap(), whole);
    assert_eq!(input.edition.as_deref(), Some("2026-04"));
    let slice = &input.slices.as_ref().unwrap()[0];
    assert_eq!((&*slice.place, slice.year), ("48", Some(2024)));
    assert!(fetched.notes[0].contains("57"), "{:?}", fetched.notes);
    assert!(server.heads()[0].starts_with("GET /latest/csv/2024/departements/48.csv.gz "));

    let again = fetch_dvf(&server, &["48"], data.path()).await.unwrap();
    assert_eq!(again.inputs, fetched.inputs);
    assert_eq!(server.heads().len(), 5);
}

#[tokio::test]
async fn a_download_restarts_if_the_file_has_changed() {
    let (old, new) = (file(), file().repeat(2));
    let sent = new.clone();
    let server = Server::start(move |_, number| match number {
        0 => answer("200 OK", VERSION, old.len(), &old[..100]),
        // A server that no longer knows the tag of If-Range sends the whole new file.
        _ => answer("200 OK", "etag: \"v2\"\r\n", sent.len(), &sent),
    })
    .await;
    let data = tempfile::tempdir().unwrap();
    let fetched = fetch_dvf(&server, &["48"], data.path()).await.unwrap();
    assert_eq!(std::fs::read(&fetched.inputs[0].path).unwrap(), new);
}

#[tokio::test]
async fn unpublished_slices_are_noted_and_persistent_failures_are_errors() {
    let server = Server::start(|head, _| {
        if head.contains("/48.csv.gz") {
            answer("404 Not Found", "", 0, b"")
        } else if head.contains("/49.csv.gz") {
            answer("429 Too Many Requests", "retry-after: 86400\r\n", 0, b"")
        } else {
            answer("500 Internal Server Error", "", 0, b"")
        }
    })
    .await;
    let data = tempfile::tempdir().unwrap();
    let fetched = fetch_dvf(&server, &["48"], data.path()).await.unwrap();
    assert_eq!((fetched.inputs.len(), fetched.notes.len()), (0, 2));
    let note = fetched.notes.last().unwrap();
    assert_eq!(note, "no sales published for department 48 in 2024");
    for (code, parts) in [
        ("49", ["requires a wait of 86400 s", ""]),
        ("50", ["gave up after 6 attempts", server.base.as_str()]),
    ] {
        let failed = fetch_dvf(&server, &[code], data.path()).await.unwrap_err();
        let message = failed.to_string();
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
}

#[tokio::test]
async fn both_files_of_a_department_are_one_edition_of_its_addresses() {
    let server = Server::start(|head, _| {
        if head.contains("/lieux-dits-") {
            answer("404 Not Found", "", 0, b"")
        } else {
            let rows = gzip(b"row");
            answer("200 OK", VERSION, rows.len(), &rows)
        }
    })
    .await;
    let data = tempfile::tempdir().unwrap();
    let codes = ["48".to_owned()];
    let client = client();
    let downloads = downloads(&client, data.path());
    let fetched = addresses::fetch(downloads, &server.base, &codes)
        .await
        .unwrap();
    let [input] = &fetched.inputs[..] else {
        panic!("{:?}", fetched.inputs);
    };
    let name = &input.name;
    assert!(name.ends_with("/adresses-48.csv.gz"), "{name}");
    assert_eq!(input.edition.as_deref(), Some("2026-04"));
    // The slice is the whole department in all years.
    let slice = &input.slices.as_ref().unwrap()[0];
    assert_eq!((&*slice.place, slice.year), ("48", None));
    let note = "lieux-dits-48-beta.csv.gz is not published";
    assert_eq!(fetched.notes, [note]);
}

#[tokio::test]
async fn a_held_file_of_addresses_that_is_gone_keeps_its_department_as_it_is() {
    let sent = file();
    let server = Server::start(move |head, _| {
        if head.contains("/adresses-48") {
            answer("200 OK", VERSION, sent.len(), &sent)
        } else {
            answer("404 Not Found", "", 0, b"")
        }
    })
    .await;
    let (data, client) = (tempfile::tempdir().unwrap(), client());
    let downloads = downloads(&client, data.path());
    let codes = ["48".to_owned()];
    let mut held = BTreeMap::new();
    let first = addresses::fetch_good(downloads, &server.base, &codes, &held).await;
    let first = first.unwrap();
    assert_eq!((first.inputs.len(), first.failures.len()), (1, 0));
    let [_, places] = addresses::files("48");
    held.insert(places, first.versions.values().next().unwrap().clone());
    let later = addresses::fetch_good(downloads, &server.base, &codes, &held).await;
    let later = later.unwrap();
    assert!(later.inputs.is_empty() && later.versions.is_empty());
    assert!(later.failures[0].contains("404"), "{:?}", later.failures);
}

#[tokio::test]
async fn an_interrupted_paged_download_resumes_at_its_page() {
    let broken = Arc::new(Mutex::new(true));
    let switch = broken.clone();
    let server = Server::start(move |head, _| {
        let page = |next: &str, number: &str| {
            let body = format!(r#"{{"total":2,{next}"results":[{{"numero_dpe":"{number}"}}]}}"#);
            let headers = "content-type: application/json\r\n";
            answer("200 OK", headers, body.len(), body.as_bytes())
        };
        if head.contains("after=7") && *switch.lock().unwrap() {
            answer("400 Bad Request", "", 0, b"")
        } else if head.contains("after=7") {
            page("", "B")
        } else {
            let next = r#""next":"https://official.example/lines?size=10000&after=7","#;
            page(next, "A")
        }
    })
    .await;
    let data = tempfile::tempdir().unwrap();
    let codes = ["48".to_owned()];
    let client = client();
    let downloads = downloads(&client, data.path());
    let since = &DiagnosticRange::Established("2026-01-01".to_owned());
    let first = diagnostics::fetch(downloads, &server.base, &codes, since).await;
    assert!(first.unwrap_err().to_string().contains("400"));
    *broken.lock().unwrap() = false;
    let fetched = diagnostics::fetch(downloads, &server.base, &codes, since)
        .await
        .unwrap();
    let names: Vec<&str> = fetched.inputs.iter().map(|one| one.name.as_str()).collect();
    let expected = [1, 2].map(|page| format!("{} page {page}", server.base));
    assert_eq!(names, expected);
    let heads = server.heads();
    // The first page is requested only once.
    assert_eq!(heads.len(), 3, "{heads:?}");
    let start = "GET /lines?size=10000&qs=code_departement_ban%3A%2848%29+AND+\
        date_etablissement_dpe%3A%5B2026-01-01+TO+*%5D ";
    assert!(heads[0].starts_with(start), "{heads:?}");
}

#[tokio::test]
async fn pages_of_diagnostics_that_end_early_or_never_are_refused_and_asked_for_again() {
    let server = Server::start(|head, number| {
        let next = r#""next":"https://official.example/lines?size=10000&after=7","#;
        let (next, results) = match (head.contains("after=7"), number) {
            (false, 0) => ("", ""),
            (true, 2) => (next, ""),
            (false, _) => (next, r#"{"numero_dpe":"A"}"#),
            (true, _) => ("", r#"{"numero_dpe":"B"}"#),
        };
        let body = format!(r#"{{"total":2,{next}"results":[{results}]}}"#);
        let headers = "content-type: application/json\r\n";
        answer("200 OK", headers, body.len(), body.as_bytes())
    })
    .await;
    let (data, client) = (tempfile::tempdir().unwrap(), client());
    let downloads = downloads(&client, data.path());
    let codes = ["48".to_owned()];
    let since = &DiagnosticRange::Beginning;
    let fetch = async || diagnostics::fetch(downloads, &server.base, &codes, since).await;
    for reason in ["they have 0 of 2", "its next page is itself"] {
        let refused = fetch().await.unwrap_err().to_string();
        assert!(refused.contains(reason), "{refused}");
    }
    assert_eq!(fetch().await.unwrap().inputs.len(), 2);
}

#[tokio::test]
async fn a_list_of_diagnostics_that_ends_early_is_refused() {
    let server = Server::start(|head, _| {
        let total = if head.contains("%2848%29") { 2 } else { 1 };
        let body = format!(r#"{{"total":{total},"results":[{{"numero_dpe":"A"}}]}}"#);
        let headers = "content-type: application/json\r\n";
        answer("200 OK", headers, body.len(), body.as_bytes())
    })
    .await;
    let client = client();
    let numbers = async |code: &str| diagnostics::numbers(&client, &server.base, code).await;
    assert_eq!(numbers("75").await.unwrap().len(), 1);
    let refused = numbers("48").await.unwrap_err().to_string();
    assert!(refused.contains("1 of 2"), "{refused}");
}

#[tokio::test]
async fn a_source_that_accepts_and_never_answers_is_given_up_and_not_asked_for_the_next_file() {
    let server = Server::start(|_, _| Reply::stalling(Vec::new())).await;
    let client = client_with(Duration::from_millis(20));
    let codes = ["48", "83"].map(str::to_owned);
    let published = addresses::published(&client, &server.base, &codes).await;
    let published = published.unwrap();
    assert!(published.versions.is_empty());
    let [failure] = &published.failures[..] else {
        panic!("{:?}", published.failures);
    };
    let attempts = RetryPolicy::default().attempts_max;
    assert!(
        failure.contains(&format!("gave up after {attempts} attempts")),
        "{failure}"
    );
}

#[tokio::test]
async fn a_download_keeps_to_its_maximum_rate() {
    let whole = file();
    let sent = whole.clone();
    let server = Server::start(move |_, _| answer("200 OK", VERSION, sent.len(), &sent)).await;
    let data = tempfile::tempdir().unwrap();
    let client = Client::new(RetryPolicy {
        bytes_per_s_max: Some(whole.len() as u64 * 4),
        ..RetryPolicy::default()
    });
    let (client, path) = (client.unwrap(), data.path().join("file"));
    let url = format!("{}/file", server.base);
    let bar = Progress::silent().bytes("", None);
    let started = std::time::Instant::now();
    let downloaded = client.download(&url, &path, 1 << 20, &bar).await.unwrap();
    assert!(started.elapsed() >= Duration::from_millis(250));
    assert_eq!(downloaded.tag.as_deref(), Some("\"v1\""));
    assert_eq!(std::fs::read(&path).unwrap(), whole);
}
