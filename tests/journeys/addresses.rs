//! Addresses from a file to the index, with the executable: imported, rejected, replaced and found.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use toise::geocode::folder;
use toise::geocode::search::{Match, NumberMatch, SearchRequest};

use crate::support::assertions::{assert_refused, pick};
use crate::support::process::{errors, run, try_run};

const HEADER: &str = "id;id_fantoir;numero;rep;nom_voie;code_postal;code_insee;nom_commune;\
                      code_insee_ancienne_commune;nom_ancienne_commune;x;y;lon;lat;type_position;alias;nom_ld;\
                      libelle_acheminement;nom_afnor;source_position;source_nom_voie;certification_commune;cad_parcelles";

fn row(
    id: &str,
    number: &str,
    suffix: &str,
    street: &str,
    place: [&str; 3],
    position: [&str; 2],
) -> String {
    let [postal_code, code, city] = place;
    let [lon, lat] = position;
    format!(
        "{id};;{number};{suffix};{street};{postal_code};{code};{city};;;;;{lon};{lat};entrée;;;;;commune;commune;1;{code}000AB0001|{code}000AB0002"
    )
}

const MENDE: [&str; 3] = ["48000", "48095", "Mende"];

fn write(folder: &Path, name: &str, header: &str, rows: &[String]) -> String {
    let path = folder.join(name);
    fs::write(&path, format!("{header}\n{}\n", rows.join("\n"))).unwrap();
    path.display().to_string()
}

/// The best result in the current index: `12bis Rue …`.
fn best(data: &Path, text: &str) -> Option<String> {
    let geocoder = folder::open(data).unwrap();
    let request = SearchRequest {
        text: text.into(),
        limit: 1,
        ..SearchRequest::default()
    };
    let found: Vec<Match> = geocoder.search(&request);
    let (segment, street) = found.first()?.street?;
    let name = geocoder.segments()[segment].street_name(street);
    Some(match &found[0].number {
        NumberMatch::Found(house) => format!("{} {name}", house.number),
        _ => name.to_owned(),
    })
}

#[test]
fn addresses_are_imported_indexed_replaced_and_verified() {
    let folders = tempfile::tempdir().unwrap();
    let (data, files) = (&folders.path().join("data"), folders.path());
    let addresses = write(
        files,
        "adresses-48.csv",
        HEADER,
        &[
            row(
                "48095_0100_00012",
                "12",
                "",
                "Rue de la République",
                MENDE,
                ["3.5", "44.52"],
            ),
            row(
                "48095_0100_00012_bis",
                "12",
                "BIS",
                "Rue de la République",
                MENDE,
                ["3.5001", "44.52"],
            ),
            row(
                "48095_0200_00003",
                "3",
                "",
                "Place Urbain V",
                MENDE,
                ["3.51", "44.52"],
            ),
            row("48095_0300_00001", "1", "", "", MENDE, ["3.51", "44.52"]),
            row(
                "48095_0400_00001",
                "1",
                "",
                "Rue en mer",
                MENDE,
                ["-30", "44.52"],
            ),
            row(
                "99095_0400_00001",
                "1",
                "",
                "Rue ailleurs",
                ["48000", "99095", "Nulle part"],
                ["3.5", "44.5"],
            ),
        ],
    );
    let places = write(
        files,
        "lieux-dits-48-beta.csv",
        "id;nom_lieu_dit;code_postal;code_insee;nom_commune;lon;lat",
        &["48095_B050;La Vabre;48000;48095;Mende;3.48;44.51".to_owned()],
    );
    let report = run(data, &["import", "ban", &addresses, &places]);
    assert_eq!(pick(&report, ["table", "rows_kept"]), json!(["ban", 4]));
    let rejected = &report["rejected"];
    for reason in [
        "name of the street missing",
        "position missing or outside France",
        "commune missing or unknown",
    ] {
        assert_eq!(rejected[reason]["count"], 1, "{reason}: {report}");
    }
    assert_eq!(
        best(data, "12 bis rue de la republique 48000 mende").as_deref(),
        Some("12 Rue de la République")
    );
    assert_eq!(best(data, "la vabre mende").as_deref(), Some("La Vabre"));

    // SQL sees the same rows.
    let sql = "SELECT number, suffix, parcel_ids[2] AS parcel FROM ban WHERE suffix IS NOT NULL";
    let rows = try_run(data, &["sql", sql]);
    let rows: Value =
        serde_json::from_slice(&rows.stdout).unwrap_or_else(|_| panic!("{}", errors(&rows)));
    assert_eq!(
        rows,
        json!([{"number": 12, "suffix": "bis", "parcel": "48095000AB0002"}])
    );

    // A new edition of a commune removes addresses that it no longer contains; a local base has other column names.
    let local = write(
        files,
        "bal.csv",
        "cle_interop;commune_insee;commune_nom;voie_nom;numero;suffixe;long;lat;source;certification_commune",
        &["48095_0100_00014;48095;Mende;Rue de la République;14;;3.5;44.52;Mairie;1".to_owned()],
    );
    let report = run(data, &["import", "ban", &local, "--edition", "2026-11"]);
    assert_eq!(
        pick(&report["outcome"], ["added", "removed"]),
        json!([1, 4])
    );
    assert_eq!(
        best(data, "14 rue de la republique mende").as_deref(),
        Some("14 Rue de la République")
    );
    assert_eq!(best(data, "la vabre mende"), None);

    run(data, &["check"]);
    let segment = fs::read_dir(folder::folder(data)).unwrap().flatten();
    let segments: Vec<_> = segment
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|end| end == "segment"))
        .collect();
    assert_eq!(segments.len(), 1, "segments of former editions are deleted");
    let mut bytes = fs::read(&segments[0]).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&segments[0], bytes).unwrap();
    let checked = try_run(data, &["check"]);
    assert_refused(&checked, "index of addresses is damaged");
}

#[test]
fn a_file_that_is_no_list_of_addresses_is_one_clear_error() {
    let folders = tempfile::tempdir().unwrap();
    let (data, files) = (&folders.path().join("data"), folders.path());
    let file = write(
        files,
        "sales.csv",
        "id_mutation,date_mutation",
        &["1,2024-01-01".to_owned()],
    );
    let output = try_run(data, &["import", "ban", &file]);
    assert!(!output.status.success());
    let error = errors(&output);
    assert!(
        error.contains("sales.csv") && error.contains("\"id\""),
        "{error}"
    );
}

#[test]
fn a_made_up_base_is_imported_without_a_rejected_row_and_found() {
    let folders = tempfile::tempdir().unwrap();
    let (data, files) = (&folders.path().join("data"), folders.path());
    let made = files.join("made-up");
    let folder = made.display().to_string();
    let report = run(
        data,
        &[
            "synth", "--ban", "3000", "--departments", "48,974", "--output", &folder,
        ],
    );
    assert_eq!(report["made"][0]["rows"], 3_000);
    assert_eq!(report["made"][0]["files"], 2);
    let places = report["made"][1]["rows"].as_u64().unwrap();
    let report = run(data, &["import", "ban", &folder]);
    assert_eq!(report["rows_read"], 3_000 + places);
    assert_eq!(report["rows_kept"], report["rows_read"]);
    assert_eq!(report["files"][0]["columns_unused"], json!([]));
    assert_eq!(report["rejected"], json!({}));

    let packed = fs::File::open(made.join("adresses-48.csv.gz")).unwrap();
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(b';')
        .from_reader(flate2::read::GzDecoder::new(packed));
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let row = &rows[rows.len() / 2];
    let query = format!(
        "{} {} {} {} {}",
        &row[2], &row[3], &row[4], &row[5], &row[7]
    );
    assert_eq!(
        best(data, &query),
        Some(format!("{} {}", &row[2], &row[4])),
        "{query}"
    );
}
