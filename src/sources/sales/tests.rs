//! Tests of where sales are fetched from, with a local publisher that has a catalogue and both layouts, fails, moves
//! files and sends malformed ones.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use chrono::Utc;
use serde_json::{Value, json};

use super::{GEO_DATASET, RAW_DATASET, SalesPlaces, fetch, fetch_good, published};
use crate::test_server::{Reply, Server, answer, client, client_with, file_answer, gzip, path};
use crate::{Downloads, Error, FetchedSources};
use toise_base::progress::Progress;
use toise_net::Client;

const CHANGED: &str = "2026-10-12T09:30:00+00:00";
const HEADERS: &str = "etag: \"v1\"\r\nlast-modified: Tue, 07 Apr 2026 10:00:00 GMT\r\n";

/// A change of what the publisher has.
type Change = fn(&mut World);

/// The files of the publisher, and its simulated failures.
#[derive(Default)]
struct World {
    /// Resources by dataset.
    datasets: BTreeMap<&'static str, Vec<Value>>,
    /// Files by path.
    files: BTreeMap<String, Vec<u8>>,
    /// Status lines that paths starting with the key give instead.
    failing: BTreeMap<String, &'static str>,
    /// Files that are cut at half their length the first times.
    cut: BTreeMap<String, usize>,
    /// Files whose answers stall.
    stalling: Vec<String>,
    /// Changes to make after a path was asked for.
    then: Vec<(String, Change)>,
}

impl World {
    fn answer(&mut self, head: &str) -> Reply {
        let asked = path(head).to_owned();
        let reply = self.reply(head, &asked);
        let due = self.then.iter().position(|(path, _)| *path == asked);
        if let Some(at) = due {
            let (_, change) = self.then.remove(at);
            change(self);
        }
        reply
    }

    fn reply(&mut self, head: &str, asked: &str) -> Reply {
        let mut failing = self.failing.iter();
        if let Some((_, status)) = failing.find(|(start, _)| asked.starts_with(start.as_str())) {
            return answer(status, "", 0, b"").into();
        }
        let dataset = asked
            .strip_prefix("/api/1/datasets/")
            .map(|name| name.trim_end_matches('/'));
        if let Some(resources) = dataset.and_then(|dataset| self.datasets.get(dataset)) {
            let mut lines = head.lines();
            let host = lines.find_map(|line| line.strip_prefix("host: ")).unwrap();
            let body = json!({"id": dataset, "resources": resources}).to_string();
            let body = body.replace("HOST", &format!("http://{}", host.trim()));
            return answer("200 OK", "", body.len(), body.as_bytes()).into();
        }
        let Some(file) = self.files.get(asked) else {
            return answer("404 Not Found", "", 0, b"").into();
        };
        if self.stalling.iter().any(|path| path == asked) {
            return Reply::stalling(answer("200 OK", HEADERS, file.len(), &file[..1]));
        }
        if let Some(left) = self.cut.get_mut(asked).filter(|left| **left > 0) {
            *left -= 1;
            return answer("200 OK", HEADERS, file.len(), &file[..file.len() / 2]).into();
        }
        file_answer(head, HEADERS, file).into()
    }

    /// Publishes a file through the catalogue, with its checksum.
    fn list(&mut self, dataset: &'static str, title: &str, path: &str, file: Vec<u8>) {
        let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, &file);
        let digits: String = digest
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let resource = json!({
            "title": title, "url": format!("HOST{path}"), "format": "csv.gz", "type": "main", "filetype": "file",
            "filesize": file.len(), "checksum": {"type": "sha1", "value": digits}, "last_modified": CHANGED,
        });
        self.datasets.entry(dataset).or_default().push(resource);
        self.files.insert(path.to_owned(), file);
    }

    /// Publishes yearly files through the catalogue.
    fn list_years(&mut self, years: std::ops::RangeInclusive<i32>) {
        for year in years {
            let path = format!("/static/20261012/full-{year}.csv.gz");
            let title = format!("DVF {year}");
            self.list(GEO_DATASET, &title, &path, sales(year, "catalogue"));
        }
    }

    /// Publishes the folder tree.
    fn plant(&mut self, root: &str, code: &str, years: std::ops::RangeInclusive<i32>) {
        for year in years {
            let path = format!("{root}/latest/csv/{year}/departements/{code}.csv.gz");
            self.files.insert(path, sales(year, "tree"));
        }
    }
}

/// A file of many lines that says where it was.
fn sales(year: i32, place: &str) -> Vec<u8> {
    let lines = (0..500).map(|line| format!("{year},{place},{}\n", line * 7_919 % 10_007));
    gzip(lines.collect::<String>().as_bytes())
}

/// The publisher, and a data folder.
struct Publisher {
    world: Arc<Mutex<World>>,
    server: Server,
    data: tempfile::TempDir,
}

impl Publisher {
    async fn start(world: World) -> Self {
        let world = Arc::new(Mutex::new(world));
        let answering = world.clone();
        Self {
            server: Server::start(move |head, _| answering.lock().unwrap().answer(head)).await,
            world,
            data: tempfile::tempdir().unwrap(),
        }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    fn places(&self) -> SalesPlaces {
        SalesPlaces {
            catalogue: Some(format!("{}/api/1", self.server.base)),
            tree: format!("{}/geo-dvf", self.server.base),
            mirror: Some(format!("{}/mirror", self.server.base)),
        }
    }

    async fn fetch_with(
        &self,
        client: &Client,
        codes: &[&str],
        years: std::ops::RangeInclusive<i32>,
    ) -> Result<FetchedSources, Error> {
        let codes: Vec<String> = codes.iter().map(|code| (*code).to_owned()).collect();
        let downloads = Downloads {
            client,
            data: self.data.path(),
            progress: Progress::silent(),
            now: Utc::now(),
        };
        fetch(downloads, &self.places(), &codes, years).await
    }

    async fn fetch(
        &self,
        codes: &[&str],
        years: std::ops::RangeInclusive<i32>,
    ) -> Result<FetchedSources, Error> {
        self.fetch_with(&client(), codes, years).await
    }
}

/// Address without host, edition and slices of each file.
fn summary(fetched: &FetchedSources) -> Vec<String> {
    let inputs = fetched.inputs.iter().map(|input| {
        let path = input.name.split('/').skip(3).collect::<Vec<_>>().join("/");
        let edition = input.edition.as_deref().unwrap();
        let slices = input.slices.iter().flatten();
        let slices = slices.map(|slice| format!("{} {}", slice.place, slice.year.unwrap()));
        format!(
            "{path} {edition}: {}",
            slices.collect::<Vec<_>>().join(", ")
        )
    });
    inputs.collect()
}

/// Asserts that a text has these parts.
fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} in {text}");
    }
}

fn files_in(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, |entries| {
        let entries = entries.map(|entry| entry.unwrap().path());
        entries
            .map(|path| if path.is_dir() { files_in(&path) } else { 1 })
            .sum()
    })
}

#[tokio::test]
async fn yearly_files_of_the_catalogue_are_resumed_verified_and_kept() {
    let mut world = World::default();
    world.list_years(2023..=2024);
    world
        .cut
        .insert("/static/20261012/full-2023.csv.gz".into(), 1);
    let publisher = Publisher::start(world).await;
    let fetched = publisher
        .fetch(&["48", "83", "57"], 2023..=2025)
        .await
        .unwrap();
    let expected = [
        "static/20261012/full-2023.csv.gz 2026-10: 48 2023, 83 2023",
        "static/20261012/full-2024.csv.gz 2026-10: 48 2024, 83 2024",
    ];
    assert_eq!(summary(&fetched), expected);
    let file = std::fs::read(&fetched.inputs[0].path).unwrap();
    assert_eq!(file, sales(2023, "catalogue"));
    let heads = publisher.server.heads();
    assert!(heads[2].contains("range: bytes="), "{}", heads[2]);
    let [alsace, source, lozere, var] = &fetched.notes[..] else {
        panic!("{:?}", fetched.notes);
    };
    assert!(alsace.contains("57"));
    let start = "sales from the catalogue http://127.0.0.1";
    assert!(source.starts_with(start), "{source}");
    assert!(source.ends_with(": 2 files (edition 2026-10)"), "{source}");
    assert_eq!(lozere, "no sales published for department 48 in 2025");
    assert_eq!(var, "no sales published for department 83 in 2025");

    let requests = publisher.server.heads().len();
    let again = publisher.fetch(&["48", "83"], 2023..=2024).await.unwrap();
    assert_eq!(again.inputs, fetched.inputs);
    // The checksums agree, so no file is downloaded.
    let further = publisher.server.paths().split_off(requests);
    assert_eq!(further, [format!("/api/1/datasets/{GEO_DATASET}/")]);
}

#[tokio::test]
async fn a_wrong_checksum_is_an_error_that_names_the_file() {
    let mut world = World::default();
    world.list_years(2023..=2024);
    world.plant("/geo-dvf", "48", 2023..=2024);
    let damaged = "/static/20261012/full-2024.csv.gz";
    world.files.insert(damaged.into(), sales(2024, "damaged"));
    let publisher = Publisher::start(world).await;
    let error = publisher.fetch(&["48"], 2023..=2024).await.unwrap_err();
    assert_says(&error.to_string(), &[damaged, "the SHA-1 checksum"]);
    let folder = publisher
        .data
        .path()
        .join("downloads/dvf")
        .join(GEO_DATASET);
    assert!(!folder.join("2024.csv.gz").exists());
    // The publisher repairs the file: the next attempt downloads it again.
    let repaired = sales(2024, "catalogue");
    publisher.world().files.insert(damaged.into(), repaired);
    let fetched = publisher.fetch(&["48"], 2023..=2024).await.unwrap();
    assert_eq!(fetched.inputs.len(), 2);
}

#[tokio::test]
async fn a_file_that_was_replaced_since_the_listing_is_listed_again() {
    let mut world = World::default();
    world.list_years(2024..=2024);
    world
        .then
        .push((format!("/api/1/datasets/{GEO_DATASET}/"), |world| {
            world.datasets.clear();
            world.files.clear();
            let path = "/static/20261013/full-2024.csv.gz";
            world.list(GEO_DATASET, "DVF 2024", path, sales(2024, "new"));
        }));
    let publisher = Publisher::start(world).await;
    let fetched = publisher.fetch(&["48"], 2024..=2024).await.unwrap();
    let expected = ["static/20261013/full-2024.csv.gz 2026-10: 48 2024"];
    assert_eq!(summary(&fetched), expected);
}

#[tokio::test]
async fn a_failing_catalogue_leads_to_the_folder_tree_and_the_note_says_why() {
    type Setup = fn(&mut World);
    let cases: [(&str, Setup); 4] = [
        ("500 Internal Server Error", |world| {
            let status = "500 Internal Server Error";
            world.failing.insert("/api/".into(), status);
        }),
        ("404 Not Found", |_| {}),
        ("it lists no file of sales", |world| {
            let folder =
                json!({"title": "Dossier", "url": "HOST/geo-dvf/latest/csv/", "format": "html"});
            world.datasets.insert(GEO_DATASET, vec![folder]);
        }),
        ("not the description of a dataset", |world| {
            let path = format!("/api/1/datasets/{GEO_DATASET}/");
            world.files.insert(path, b"<html>".to_vec());
        }),
    ];
    for (reason, setup) in cases {
        let mut world = World::default();
        world.plant("/geo-dvf", "48", 2023..=2024);
        setup(&mut world);
        let publisher = Publisher::start(world).await;
        let fetched = publisher.fetch(&["48"], 2023..=2025).await.unwrap();
        let expected = [
            "geo-dvf/latest/csv/2023/departements/48.csv.gz 2026-04: 48 2023",
            "geo-dvf/latest/csv/2024/departements/48.csv.gz 2026-04: 48 2024",
        ];
        assert_eq!(summary(&fetched), expected);
        let [source, unpublished] = &fetched.notes[..] else {
            panic!("{reason}: {:?}", fetched.notes);
        };
        let start = "sales from the folder tree http://";
        assert!(source.starts_with(start), "{source}");
        assert_says(source, &["because the catalogue", reason]);
        assert_eq!(unpublished, "no sales published for department 48 in 2025");
    }
}

#[tokio::test]
async fn the_mirror_and_then_the_raw_files_are_asked_last() {
    let mut world = World::default();
    let catalogue = format!("/api/1/datasets/{GEO_DATASET}");
    world.failing.insert(catalogue, "503 Service Unavailable");
    world.plant("/mirror", "48", 2024..=2024);
    let (title, raw) = (
        "Valeurs foncières 2024",
        "/static/valeursfoncieres-2024.txt.zip",
    );
    world.list(RAW_DATASET, title, raw, sales(2024, "raw"));
    let publisher = Publisher::start(world).await;
    let fetched = publisher.fetch(&["48"], 2024..=2024).await.unwrap();
    let mirror = "mirror/latest/csv/2024/departements/48.csv.gz 2026-04: 48 2024";
    assert_eq!(summary(&fetched), [mirror]);
    assert_says(
        &fetched.notes[0],
        &["the folder tree", "none of the files (404)"],
    );

    let is_kept = |path: &String, _: &mut Vec<u8>| !path.starts_with("/mirror");
    publisher.world().files.retain(is_kept);
    let fetched = publisher.fetch(&["48"], 2024..=2024).await.unwrap();
    let raw = "static/valeursfoncieres-2024.txt.zip 2026-10: 48 2024";
    assert_eq!(summary(&fetched), [raw]);
    let note = &fetched.notes[0];
    let start = "sales from the tax office's raw files";
    assert!(note.starts_with(start), "{note}");
    assert!(note.ends_with("raw files have no positions"), "{note}");
}

#[tokio::test]
async fn a_publisher_that_moves_during_the_run_is_followed() {
    // From the tree to the catalogue: the tree disappears after its first file.
    let mut world = World::default();
    world.plant("/geo-dvf", "48", 2022..=2024);
    world.then.push((
        "/geo-dvf/latest/csv/2022/departements/48.csv.gz".into(),
        |world| {
            world.files.clear();
            world.list_years(2022..=2024);
        },
    ));
    let publisher = Publisher::start(world).await;
    let fetched = publisher.fetch(&["48"], 2022..=2024).await.unwrap();
    let expected = [
        "geo-dvf/latest/csv/2022/departements/48.csv.gz 2026-04: 48 2022",
        "static/20261012/full-2023.csv.gz 2026-10: 48 2023",
        "static/20261012/full-2024.csv.gz 2026-10: 48 2024",
    ];
    assert_eq!(summary(&fetched), expected);
    assert_says(&fetched.notes[1], &["its files went away during the run"]);

    // From the catalogue to the tree: the yearly files disappear after the first one.
    let mut world = World::default();
    world.list_years(2022..=2024);
    world
        .then
        .push(("/static/20261012/full-2022.csv.gz".into(), |world| {
            world.files.clear();
            world.plant("/geo-dvf", "48", 2022..=2024);
        }));
    let publisher = Publisher::start(world).await;
    let fetched = publisher.fetch(&["48"], 2022..=2024).await.unwrap();
    let files = summary(&fetched);
    let [first, _, last] = &files[..] else {
        panic!("{fetched:?}");
    };
    assert_says(first, &["static/20261012/full-2022.csv.gz ", ": 48 2022"]);
    assert_says(
        last,
        &[
            "geo-dvf/latest/csv/2024/departements/48.csv.gz ",
            ": 48 2024",
        ],
    );
    assert_says(&fetched.notes[1], &["it lists a file that is gone"]);
}

#[tokio::test]
async fn stalling_and_cut_answers_lead_on_and_a_file_without_a_place_is_an_error() {
    let mut world = World::default();
    world.list_years(2024..=2024);
    world
        .stalling
        .push("/static/20261012/full-2024.csv.gz".into());
    world.plant("/geo-dvf", "48", 2024..=2024);
    let publisher = Publisher::start(world).await;
    let impatient = client_with(Duration::from_millis(200));
    let fetched = publisher
        .fetch_with(&impatient, &["48"], 2024..=2024)
        .await
        .unwrap();
    assert_eq!(fetched.inputs.len(), 1);
    assert_says(&fetched.notes[0], &["gave up after 6 attempts"]);

    // A server that ignores ranges and always cuts the file.
    let mut world = World::default();
    world.plant("/geo-dvf", "48", 2024..=2024);
    let file = "/geo-dvf/latest/csv/2024/departements/48.csv.gz";
    world.cut.insert(file.into(), usize::MAX);
    let status = "500 Internal Server Error";
    world.failing.insert("/mirror".into(), status);
    let publisher = Publisher::start(world).await;
    let error = publisher.fetch(&["48"], 2024..=2024).await.unwrap_err();
    let places = [
        "the catalogue ",
        "the folder tree ",
        "the mirror ",
        "the tax office's raw files",
    ];
    assert_says(&error.to_string(), &places);
    let whole = publisher.data.path().join("downloads/dvf/2024-48.csv.gz");
    assert!(!whole.exists(), "half a file is never a file");
    // What was received is kept for the next attempt.
    assert!(files_in(publisher.data.path()) > 0);
}

#[tokio::test]
async fn a_refresh_takes_the_good_files_and_names_the_damaged_ones() {
    let mut world = World::default();
    world.plant("/geo-dvf", "48", 2022..=2024);
    let damaged = "/geo-dvf/latest/csv/2023/departements/48.csv.gz";
    world.files.insert(damaged.into(), b"<html>".to_vec());
    let publisher = Publisher::start(world).await;
    let (client, places) = (client(), publisher.places());
    let downloads = Downloads {
        client: &client,
        data: publisher.data.path(),
        progress: Progress::silent(),
        now: Utc::now(),
    };
    let codes = ["48".to_owned(), "57".to_owned()];
    let listed = published(downloads, &places, &codes, 2021..=2024).await;
    let listed = listed.unwrap();
    let keys: Vec<&String> = listed.versions.keys().collect();
    assert_eq!(keys, ["48 2022", "48 2023", "48 2024"]);
    assert_eq!(listed.failures, Vec::<String>::new());
    assert_eq!(files_in(publisher.data.path()), 0, "nothing is downloaded");

    let wanted = (2022..=2024).map(|year| ("48".to_owned(), year)).collect();
    let fetched = fetch_good(downloads, &places, wanted).await.unwrap();
    let files = summary(&fetched);
    let [first, second] = &files[..] else {
        panic!("{fetched:?}");
    };
    assert!(first.ends_with(": 48 2022") && second.ends_with(": 48 2024"));
    let [failure] = &fetched.failures[..] else {
        panic!("{:?}", fetched.failures);
    };
    assert_says(failure, &[damaged, "is damaged"]);
    for (key, version) in &fetched.versions {
        assert!(!listed.versions[key].replaces(version), "{key}");
    }

    // A mirror that has the file is asked for this file alone.
    publisher.world().plant("/mirror", "48", 2022..=2024);
    let wanted = [("48".to_owned(), 2023)].into();
    let fetched = fetch_good(downloads, &places, wanted).await.unwrap();
    let mirror = "mirror/latest/csv/2023/departements/48.csv.gz 2026-04: 48 2023";
    assert_eq!(summary(&fetched), [mirror]);
    assert_eq!(fetched.failures, Vec::<String>::new());
}
