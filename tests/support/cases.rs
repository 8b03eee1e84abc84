//! Files of public bug reports, in `tests/cases/`: one folder per report, with the bytes that were reported.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use super::process::{errors, run, try_run, write_file};

/// Header of an address file of the national address base.
const ADDRESS_HEADER: &str = "id;id_fantoir;numero;rep;nom_voie;code_postal;code_insee;nom_commune;\
code_insee_ancienne_commune;nom_ancienne_commune;x;y;lon;lat;type_position;alias;nom_ld;libelle_acheminement;nom_afnor;\
source_position;source_nom_voie;certification_commune;cad_parcelles";

/// Addresses in the department 48: number, street, postal code, INSEE code, commune, longitude and latitude.
const ADDRESSES: [[&str; 7]; 5] = [
    [
        "12", "Avenue Foch", "48000", "48095", "Mende", "3.501", "44.518",
    ],
    [
        "3", "Rue du Torrent", "48000", "48095", "Mende", "3.503", "44.519",
    ],
    [
        "3",
        "Place du Foirail",
        "48000",
        "48095",
        "Mende",
        "3.495",
        "44.517",
    ],
    [
        "4",
        "Allée des Soupirs",
        "48000",
        "48095",
        "Mende",
        "3.497",
        "44.515",
    ],
    [
        "7",
        "Rue des Tilleuls",
        "48130",
        "48009",
        "Peyre en Aubrac",
        "3.25",
        "44.72",
    ],
];

/// The path of a file of `tests/cases/`, such as `02-csv-cr-only/dvf-cr.csv`.
pub fn case(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let path = folder.join(name);
    assert!(path.exists(), "{}", path.display());
    path.to_str().unwrap().to_owned()
}

/// Imports five addresses of the department 48 into a data folder.
pub fn import_addresses(data: &Path) {
    let mut text = format!("{ADDRESS_HEADER}\n");
    for (street, [number, name, postal, insee, commune, lon, lat]) in ADDRESSES.iter().enumerate() {
        text += &format!(
            "{insee}_{street:04}_{number:0>5};;{number};;{name};{postal};{insee};{commune};;;;;{lon};{lat};entrée;;;;;\
             commune;commune;1;\n"
        );
    }
    fs::create_dir_all(data).unwrap();
    let path = write_file(data, "addresses.csv", text);
    run(data, &["import", "ban", &path]);
}

/// Imports a file of `tests/cases/` and returns the report.
pub fn import(data: &Path, table: &str, name: &str) -> Value {
    run(data, &["import", table, &case(name)])
}

/// Imports a file of `tests/cases/` and returns how many records were added, replaced and unchanged.
pub fn import_counts(data: &Path, table: &str, name: &str) -> [i64; 3] {
    let report = import(data, table, name);
    ["added", "replaced", "unchanged"].map(|count| report["outcome"][count].as_i64().unwrap())
}

/// Runs a command that must fail with exit code 1; returns its output.
pub fn fails(data: &Path, arguments: &[&str]) -> Output {
    let output = try_run(data, arguments);
    let code = output.status.code();
    assert_eq!(code, Some(1), "{arguments:?}: {}", errors(&output));
    output
}

/// The rows of a CSV file, the header first, whose line ends may be of any kind.
pub fn csv_rows(path: &Path, delimiter: u8) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader
        .delimiter(delimiter)
        .has_headers(false)
        .from_path(path)
        .unwrap();
    let rows = reader.records().map(|row| row.unwrap());
    rows.map(|row| row.iter().map(str::to_owned).collect())
        .collect()
}

/// The cells of one column of such rows, without the header.
pub fn column(rows: &[Vec<String>], name: &str) -> Vec<String> {
    let (header, rows) = rows.split_first().unwrap();
    let at = header.iter().position(|column| column == name);
    let at = at.unwrap_or_else(|| panic!("no column {name}: {header:?}"));
    rows.iter().map(|row| row[at].clone()).collect()
}
