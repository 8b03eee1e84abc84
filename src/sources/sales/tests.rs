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

/// What the publisher has, and how it fails.
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
        let failing = self
            .failing
            .iter()
            .find(|(start, _)| asked.starts_with(start.as_str()));
        if let Some((_, status)) = failing {
            return answer(status, "", 0, b"").into();
        }
        let dataset = asked
            .strip_prefix("/api/1/datasets/")
            .map(|name| name.trim_end_matches('/'));
        if let Some(resources) = dataset.and_then(|dataset| self.datasets.get(dataset)) {
            let host = head
                .lines()
                .find_map(|line| line.strip_prefix("host: "))
                .unwrap();
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
            self.list(
                GEO_DATASET,
                &format!("DVF {year}"),
                &path,
                sales(year, "catalogue"),
            );
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
fn summary(fetched: &FetchedSources) -> Vec<(String, String, String)> {
    let inputs = fetched.inputs.iter().map(|input| {
        let path = input.name.split('/').skip(3).collect::<Vec<_>>().join("/");
        let slices = input.slices.as_ref().map(|slices| {
            let slices = slices
                .iter()
                .map(|slice| format!("{} {}", slice.place, slice.year.unwrap()));
            slices.collect::<Vec<_>>().join(", ")
        });
        (
            path,
            input.edition.clone().unwrap(),
            slices.unwrap_or_default(),
        )
    });
    inputs.collect()
}

fn row(path: &str, edition: &str, slices: &str) -> (String, String, String) {
    (path.to_owned(), edition.to_owned(), slices.to_owned())
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
    assert_eq!(
        summary(&fetched),
        [
            row(
                "static/20261012/full-2023.csv.gz",
                "2026-10",
                "48 2023, 83 2023"
            ),
            row(
                "static/20261012/full-2024.csv.gz",
                "2026-10",
                "48 2024, 83 2024"
            ),
        ]
    );
    assert_eq!(
        std::fs::read(&fetched.inputs[0].path).unwrap(),
        sales(2023, "catalogue")
    );
    let heads = publisher.server.heads();
    assert!(heads[2].contains("range: bytes="), "{}", heads[2]);
    let [alsace, source, lozere, var] = &fetched.notes[..] else {
        panic!("{:?}", fetched.notes);
    };
    assert!(alsace.contains("57"));
    assert!(
        source.starts_with("sales from the catalogue http://127.0.0.1"),
        "{source}"
    );
    assert!(source.ends_with(": 2 files (edition 2026-10)"), "{source}");
    assert_eq!(lozere, "no sales published for department 48 in 2025");
    assert_eq!(var, "no sales published for department 83 in 2025");

    let requests = publisher.server.heads().len();
    let again = publisher.fetch(&["48", "83"], 2023..=2024).await.unwrap();
    assert_eq!(again.inputs, fetched.inputs);
    let further = publisher.server.paths().split_off(requests);
    assert_eq!(
        further,
        [format!("/api/1/datasets/{GEO_DATASET}/")],
        "checksums agree"
    );
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
    let message = error.to_string();
    assert!(message.contains(damaged), "{message}");
    assert!(message.contains("the SHA-1 checksum"), "{message}");
    assert!(
        !publisher
            .data
            .path()
            .join("downloads/dvf")
            .join(GEO_DATASET)
            .join("2024.csv.gz")
            .exists()
    );
    // The publisher repairs the file: the next attempt downloads it again.
    publisher
        .world()
        .files
        .insert(damaged.into(), sales(2024, "catalogue"));
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
            world.list(
                GEO_DATASET,
                "DVF 2024",
                "/static/20261013/full-2024.csv.gz",
                sales(2024, "new"),
            );
        }));
    let publisher = Publisher::start(world).await;
    let fetched = publisher.fetch(&["48"], 2024..=2024).await.unwrap();
    assert_eq!(
        summary(&fetched),
        [row(
            "static/20261013/full-2024.csv.gz",
            "2026-10",
            "48 2024"
        )]
    );
}

#[tokio::test]
async fn a_failing_catalogue_leads_to_the_folder_tree_and_the_note_says_why() {
    type Setup = fn(&mut World);
    let cases: [(&str, Setup); 4] = [
        ("500 Internal Server Error", |world| {
            world
                .failing
                .insert("/api/".into(), "500 Internal Server Error");
        }),
        ("404 Not Found", |_| {}),
        ("it lists no file of sales", |world| {
            let folder =
                json!({"title": "Dossier", "url": "HOST/geo-dvf/latest/csv/", "format": "html"});
            world.datasets.insert(GEO_DATASET, vec![folder]);
        }),
        ("not the description of a dataset", |world| {
            world.files.insert(
                format!("/api/1/datasets/{GEO_DATASET}/"),
                b"<html>".to_vec(),
            );
        }),
    ];
    for (reason, setup) in cases {
        let mut world = World::default();
        world.plant("/geo-dvf", "48", 2023..=2024);
        setup(&mut world);
        let publisher = Publisher::start(world).await;
        let fetched = publisher.fetch(&["48"], 2023..=2025).await.unwrap();
        let tree = "geo-dvf/latest/csv";
        assert_eq!(
            summary(&fetched),
            [
                row(
                    &format!("{tree}/2023/departements/48.csv.gz"),
                    "2026-04",
                    "48 2023"
                ),
                row(
                    &format!("{tree}/2024/departements/48.csv.gz"),
                    "2026-04",
                    "48 2024"
                ),
            ]
        );
        let [source, unpublished] = &fetched.notes[..] else {
            panic!("{reason}: {:?}", fetched.notes);
        };
        assert!(
            source.starts_with("sales from the folder tree http://"),
            "{source}"
        );
        assert!(source.contains("because the catalogue"), "{source}");
        assert!(source.contains(reason), "{source}");
        assert_eq!(unpublished, "no sales published for department 48 in 2025");
    }
}

#[tokio::test]
async fn the_mirror_and_then_the_raw_files_are_asked_last() {
    let mut world = World::default();
    world.failing.insert(
        format!("/api/1/datasets/{GEO_DATASET}"),
        "503 Service Unavailable",
    );
    world.plant("/mirror", "48", 2024..=2024);
    world.list(
        RAW_DATASET,
        "Valeurs foncières 2024",
        "/static/valeursfoncieres-2024.txt.zip",
        sales(2024, "raw"),
    );
    let publisher = Publisher::start(world).await;
    let fetched = publisher.fetch(&["48"], 2024..=2024).await.unwrap();
    let mirror = "mirror/latest/csv/2024/departements/48.csv.gz";
    assert_eq!(summary(&fetched), [row(mirror, "2026-04", "48 2024")]);
    let note = &fetched.notes[0];
    assert!(
        note.contains("the folder tree") && note.contains("none of the files (404)"),
        "{note}"
    );

    publisher
        .world()
        .files
        .retain(|path, _| !path.starts_with("/mirror"));
    let fetched = publisher.fetch(&["48"], 2024..=2024).await.unwrap();
    assert_eq!(
        summary(&fetched),
        [row(
            "static/valeursfoncieres-2024.txt.zip",
            "2026-10",
            "48 2024"
        )]
    );
    let note = &fetched.notes[0];
    assert!(
        note.starts_with("sales from the tax office's raw files"),
        "{note}"
    );
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
    assert_eq!(
        summary(&fetched),
        [
            row(
                "geo-dvf/latest/csv/2022/departements/48.csv.gz",
                "2026-04",
                "48 2022"
            ),
            row("static/20261012/full-2023.csv.gz", "2026-10", "48 2023"),
            row("static/20261012/full-2024.csv.gz", "2026-10", "48 2024"),
        ]
    );
    let moved = &fetched.notes[1];
    assert!(
        moved.contains("its files went away during the run"),
        "{moved}"
    );

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
    let slices: Vec<_> = summary(&fetched)
        .into_iter()
        .map(|(path, _, slices)| (path, slices))
        .collect();
    assert_eq!(
        slices[0],
        ("static/20261012/full-2022.csv.gz".into(), "48 2022".into())
    );
    assert_eq!(
        slices[2],
        (
            "geo-dvf/latest/csv/2024/departements/48.csv.gz".into(),
            "48 2024".into()
        )
    );
    assert_eq!(slices.len(), 3);
    assert!(
        fetched.notes[1].contains("it lists a file that is gone"),
        "{:?}",
        fetched.notes
    );
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
    assert!(
        fetched.notes[0].contains("gave up after 6 attempts"),
        "{:?}",
        fetched.notes
    );

    // A server that ignores ranges and always cuts the file.
    let mut world = World::default();
    world.plant("/geo-dvf", "48", 2024..=2024);
    world.cut.insert(
        "/geo-dvf/latest/csv/2024/departements/48.csv.gz".into(),
        usize::MAX,
    );
    world
        .failing
        .insert("/mirror".into(), "500 Internal Server Error");
    let publisher = Publisher::start(world).await;
    let message = publisher
        .fetch(&["48"], 2024..=2024)
        .await
        .unwrap_err()
        .to_string();
    for place in [
        "the catalogue ",
        "the folder tree ",
        "the mirror ",
        "the tax office's raw files",
    ] {
        assert!(message.contains(place), "{message}");
    }
    let whole = publisher.data.path().join("downloads/dvf/2024-48.csv.gz");
    assert!(!whole.exists(), "half a file is never a file");
    assert!(
        files_in(publisher.data.path()) > 0,
        "what was received is kept for the next attempt"
    );
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
    let years: Vec<_> = summary(&fetched)
        .into_iter()
        .map(|(_, _, slices)| slices)
        .collect();
    assert_eq!(years, ["48 2022", "48 2024"]);
    let [failure] = &fetched.failures[..] else {
        panic!("{:?}", fetched.failures);
    };
    assert!(
        failure.contains(damaged) && failure.contains("is damaged"),
        "{failure}"
    );
    for (key, version) in &fetched.versions {
        assert!(!listed.versions[key].replaces(version), "{key}");
    }

    // A mirror that has the file is asked for this file alone.
    publisher.world().plant("/mirror", "48", 2022..=2024);
    let wanted = [("48".to_owned(), 2023)].into();
    let fetched = fetch_good(downloads, &places, wanted).await.unwrap();
    let mirror = "mirror/latest/csv/2023/departements/48.csv.gz";
    assert_eq!(summary(&fetched), [row(mirror, "2026-04", "48 2023")]);
    assert_eq!(fetched.failures, Vec::<String>::new());
}
