//! Damaged files of a data folder: files that a backup would copy are refused by name, and derived ones are rebuilt
//! while the server runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::client::Client;
use crate::support::draw::Draw;
use crate::support::files::{copy_folder, files_in};
use crate::support::homes;
use crate::support::process::{Server, errors, new_key, run, toise, try_run, variable, write_file};

/// Maximum wait for the rebuild of an index.
const REBUILT_WITHIN: Duration = Duration::from_secs(60);

const ADDRESSES: &str = "\
id;id_fantoir;numero;rep;nom_voie;code_postal;code_insee;nom_commune;code_insee_ancienne_commune;\
nom_ancienne_commune;x;y;lon;lat;type_position;alias;nom_ld;libelle_acheminement;nom_afnor;source_position;\
source_nom_voie;certification_commune;cad_parcelles
48095_0100_00012;;12;;Rue de la République;48000;48095;Mende;;;;;3.5;44.52;entrée;;;;;commune;commune;1;
48140_0100_00003;;3;;Place de l'Église;48200;48140;Saint-Chély-d'Apcher;;;;;3.27;44.8;entrée;;;;;commune;commune;1;
05061_0100_00003;;3;;Rue Carnot;05000;05061;Gap;;;;;6.08;44.56;entrée;;;;;commune;commune;1;
";

/// How a file is damaged.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Damage {
    FlippedBit,
    HalfMissing,
    Deleted,
}

const DAMAGES: [Damage; 3] = [Damage::FlippedBit, Damage::HalfMissing, Damage::Deleted];

impl Damage {
    /// Damages a file in its middle.
    fn apply(self, path: &Path) {
        let middle = fs::metadata(path).unwrap().len() / 2;
        self.apply_at(path, middle as usize, 4);
    }

    /// Damages a file at a byte; `bits` are flipped.
    fn apply_at(self, path: &Path, at: usize, bits: u8) {
        let mut bytes = fs::read(path).unwrap();
        match self {
            Damage::FlippedBit => {
                bytes[at] ^= bits;
                fs::write(path, bytes).unwrap();
            }
            Damage::HalfMissing => fs::write(path, &bytes[..at]).unwrap(),
            Damage::Deleted => fs::remove_file(path).unwrap(),
        }
    }

    /// Whether the damage of a file of a data folder can be seen. A bit of a database may not belong to any row, and its
    /// log may have the data that the file lacks. Without the file that names it, there is no model.
    fn shows(self, name: &str) -> bool {
        let is_database = name.ends_with(".sqlite") && self != Damage::Deleted;
        !is_database && (name != "models/current.json" || self != Damage::Deleted)
    }
}

/// Whether something says what a file of a backup held.
fn has_checksum(name: &str) -> bool {
    !name.starts_with("reports/") && !["backup.json", "toise.toml"].contains(&name)
}

/// A data folder with sales, a model, addresses, adverts and a text index.
fn data_folder(outer: &Path) -> PathBuf {
    let data = outer.join("data");
    copy_folder(homes::trained().path(), &data);
    let made = outer.join("made");
    let folder = made.to_str().unwrap();
    run(&data, &["synth", "--adverts", "60", "--output", folder]);
    let adverts = made.join("adverts-synth.ndjson");
    run(&data, &["ingest", adverts.to_str().unwrap()]);
    let addresses = write_file(&made, "adresses.csv", ADDRESSES);
    run(&data, &["import", "ban", &addresses]);
    run(&data, &["compact"]);
    // The text index is filled by a server.
    assert_eq!(Server::start(&data, "serve").terminate(), Some(0));
    data
}

/// The files under a folder, relative to it, sorted.
fn files(folder: &Path) -> Vec<String> {
    let inside = |path: &PathBuf| path.strip_prefix(folder).unwrap().display().to_string();
    let mut found: Vec<String> = files_in(folder).iter().map(inside).collect();
    found.sort();
    found
}

#[test]
fn a_backup_refuses_every_damaged_file_by_name() {
    let outer = tempfile::tempdir().unwrap();
    let outer = outer.path();
    let data = data_folder(outer);
    let copied = outer.join("copied");
    run(&data, &["backup", copied.to_str().unwrap()]);
    let kept = files(&copied);
    let mut tried = 0;
    for name in kept.iter().filter(|name| has_checksum(name)) {
        for damage in DAMAGES.into_iter().filter(|damage| damage.shows(name)) {
            let damaged = outer.join("damaged");
            copy_folder(&data, &damaged);
            damage.apply(&damaged.join(name));
            let to = outer.join("refused");
            let output = try_run(&damaged, &["backup", to.to_str().unwrap()]);
            let said = errors(&output);
            assert_eq!(output.status.code(), Some(1), "{name} {damage:?}: {said}");
            let file = Path::new(name).file_name().unwrap().to_str().unwrap();
            let stem = file.split('.').next().unwrap();
            // An error of the ledger's database names the store, which the ledger is part of, and a digest that differs
            // may be wrong in either of two files of a model.
            let is_named = said.contains(stem)
                || file.ends_with(".sqlite") && said.contains("store")
                || name.starts_with("models/") && said.contains("models/");
            assert!(is_named, "{name} {damage:?}: {said}");
            assert!(!to.exists(), "{name} {damage:?}");
            fs::remove_dir_all(&damaged).unwrap();
            tried += 1;
        }
    }
    assert!(tried > 30, "{tried}");
    let left = files(outer)
        .into_iter()
        .filter(|name| name.contains(".toise-"));
    assert_eq!(left.collect::<Vec<_>>(), [""; 0]);
}

/// `TOISE_DAMAGES` is the number of damages, `TOISE_DAMAGES_SEED` repeats those of a run.
#[test]
fn drawn_damages_are_refused_by_backups_and_keep_no_server_from_starting() {
    let outer = tempfile::tempdir().unwrap();
    let outer = outer.path();
    let data = data_folder(outer);
    let copied = outer.join("copied");
    run(&data, &["backup", copied.to_str().unwrap()]);
    // Without its database there is nothing to serve.
    let is_drawn = |name: &String| has_checksum(name) && !name.ends_with(".sqlite");
    let kept: Vec<String> = files(&copied).into_iter().filter(is_drawn).collect();
    let seed = variable("TOISE_DAMAGES_SEED", 36);
    let mut draw = Draw::new(seed);
    for number in 0..variable("TOISE_DAMAGES", 6) {
        let (name, damage, length) = loop {
            let (name, damage) = (draw.one_of(&kept), *draw.one_of(&DAMAGES));
            let length = fs::metadata(data.join(name)).map_or(0, |file| file.len());
            if damage.shows(name) && length > 0 {
                break (name, damage, length as usize);
            }
        };
        let (at, bits) = (draw.below(length), 1 << draw.below(8));
        let what =
            format!("seed {seed}, damage {number}: {damage:?} of {name} at {at} of {length}");
        let damaged = outer.join("damaged");
        copy_folder(&data, &damaged);
        damage.apply_at(&damaged.join(name), at, bits);
        let to = outer.join("refused");
        let output = toise(&damaged, &["backup", to.to_str().unwrap()]).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(1), "{what}: {}", errors(&output));
        assert!(!to.exists(), "{what}");
        println!("{what}");
        let server = Server::start(&damaged, "serve");
        assert_eq!(server.terminate(), Some(0), "{what}");
        fs::remove_dir_all(&damaged).unwrap();
    }
}

#[tokio::test]
async fn a_server_starts_on_damaged_indexes_and_tables_of_listings_and_rebuilds_them() {
    let outer = tempfile::tempdir().unwrap();
    let outer = outer.path();
    let data = data_folder(outer);
    let key = new_key(&data, &[]);
    let plain = json!({"search": {"filterProperty": {}}});
    let words = json!({"search": {"filterProperty": {}, "keywords": ["cave"]}});
    let (server, client) = Client::start(&data, &key);
    let (_, expected) = client.post("properties/search/count", &words).await;
    assert!(
        expected["data"]["count"].as_u64().unwrap() > 3,
        "{expected}"
    );
    assert_eq!(server.terminate(), Some(0));

    let is_derived = |name: &String| {
        let folders = ["index/", "lake/_properties/", "lake/_adverts/"];
        let is_inside = folders.iter().any(|folder| name.starts_with(folder));
        is_inside && !name.ends_with("lock") && !name.contains("/damaged/")
    };
    let derived: Vec<String> = files(&data).into_iter().filter(is_derived).collect();
    assert!(derived.len() > 10, "{derived:?}");
    for (number, name) in derived.iter().enumerate() {
        let damage = DAMAGES[number % DAMAGES.len()];
        let damaged = outer.join("damaged");
        copy_folder(&data, &damaged);
        damage.apply(&damaged.join(name));
        let is_intact = || {
            let checked = toise(&damaged, &["check", "ban", "properties", "adverts"]).output();
            checked.unwrap().status.success()
        };
        // The index library can do without its list of the files that it may delete.
        if name.starts_with("index/") && !name.ends_with(".managed.json") {
            assert!(!is_intact(), "{name} {damage:?}");
        }
        let (server, client) = Client::start(&damaged, &key);
        let asked = Instant::now();
        let (status, answer) = client.post("properties/search/count", &plain).await;
        assert_eq!(status, 200, "{name} {damage:?}: {answer}");
        loop {
            let (status, answer) = client.post("properties/search/count", &words).await;
            if status == 200 && is_intact() {
                assert_eq!(answer, expected, "{name} {damage:?}");
                break;
            }
            let text = answer.to_string();
            let says_why = text.contains("the text index is being built");
            assert!(
                status == 200 || status == 503 && says_why,
                "{name} {damage:?}: {answer}"
            );
            assert!(
                asked.elapsed() < REBUILT_WITHIN,
                "{name} {damage:?}: {answer}"
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        assert_eq!(server.terminate(), Some(0), "{name} {damage:?}");
        let found = run(
            &damaged,
            &["sql", "select geocode('3 rue carnot 05000 gap')"],
        );
        let found = found.to_string();
        assert!(found.contains("Rue Carnot"), "{name} {damage:?}: {found}");
        fs::remove_dir_all(&damaged).unwrap();
    }
}

#[tokio::test]
async fn a_server_starts_on_damaged_imported_tables_and_answers_again_once_they_are_mended() {
    let outer = tempfile::tempdir().unwrap();
    let outer = outer.path();
    let data = data_folder(outer);
    let key = new_key(&data, &["--scopes", "search,sql"]);
    let of_listings = json!({"search": {"filterProperty": {}}});
    let sales = json!({"size": 3});
    let of_sales = json!({"query": "select count(*) as sales from dvf"});
    let (server, client) = Client::start(&data, &key);
    let (status, expected) = client.post("opendata/dvf/search", &sales).await;
    assert_eq!(status, 200, "{expected}");
    assert_eq!(server.terminate(), Some(0));

    let is_imported = |name: &String| {
        let folders = ["lake/_dvf/", "lake/_ban/"];
        folders.iter().any(|folder| name.starts_with(folder)) && !name.ends_with("lock")
    };
    let imported: Vec<String> = files(&data).into_iter().filter(is_imported).collect();
    assert!(imported.len() >= 8, "{imported:?}");
    for (number, name) in imported.iter().enumerate() {
        // A flipped bit is noticed when its page is read.
        let damage = [Damage::HalfMissing, Damage::Deleted][number % 2];
        let damaged = outer.join("damaged");
        copy_folder(&data, &damaged);
        damage.apply(&damaged.join(name));
        let is_of_sales = name.contains("_dvf");
        let (server, client) = Client::start(&damaged, &key);
        let (status, answer) = client.post("properties/search/count", &of_listings).await;
        assert_eq!(status, 200, "{name} {damage:?}: {answer}");
        let one = json!({"query": "select 1 as one"});
        let (status, answer) = client.post("sql", &one).await;
        assert_eq!(status, 200, "{name} {damage:?}: {answer}");
        for (path, body) in [("opendata/dvf/search", &sales), ("sql", &of_sales)] {
            let (status, answer) = client.post(path, body).await;
            let expected = if is_of_sales { 503 } else { 200 };
            assert_eq!(status, expected, "{name} {damage:?} {path}: {answer}");
            let text = answer.to_string();
            assert!(
                !is_of_sales || text.contains("table dvf is damaged"),
                "{text}"
            );
        }
        fs::copy(data.join(name), damaged.join(name)).unwrap();
        let mended = Instant::now();
        loop {
            let (status, answer) = client.post("opendata/dvf/search", &sales).await;
            if status == 200 {
                assert_eq!(answer["data"], expected["data"], "{name} {damage:?}");
                break;
            }
            assert!(
                mended.elapsed() < REBUILT_WITHIN,
                "{name} {damage:?}: {answer}"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let (status, answer) = client.post("sql", &of_sales).await;
        assert_eq!(status, 200, "{name} {damage:?}: {answer}");
        assert_eq!(server.terminate(), Some(0), "{name} {damage:?}");
        fs::remove_dir_all(&damaged).unwrap();
    }
}
