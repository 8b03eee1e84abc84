//! One portfolio in the formats of nine programs: `estimate`, `match`, `geocode`, `ingest` and `sql` give the same
//! results.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::files::json_lines;
use crate::support::homes;
use crate::support::process::run;
use crate::support::workbooks;

const HEADER: [&str; 12] = [
    "ref", "url", "Type", "Surface", "pièces", "Prix", "longitude", "latitude", "distance",
    "adresse", "cp", "ville",
];
/// The homes. The second one has no price, and the postal code of the third begins with a zero.
const HOMES: [[&str; 12]; 3] = [
    [
        "A1",
        "https://a.example/1",
        "Appartement",
        "65.5",
        "3",
        "245000",
        "2.3795",
        "48.8631",
        "5km",
        "12 rue de l'Église",
        "75011",
        "Paris",
    ],
    [
        "A2",
        "https://a.example/2",
        "Maison",
        "110",
        "5",
        "",
        "2.3801",
        "48.8622",
        "5km",
        "5 rue Oberkampf",
        "75011",
        "Paris",
    ],
    [
        "A3",
        "https://a.example/3",
        "Appartement",
        "40.25",
        "2",
        "150000.5",
        "2.38",
        "48.864",
        "5km",
        "3 place des Fêtes",
        "01000",
        "Bourg-en-Bresse",
    ],
];
/// Positions of the numbers in a row.
const NUMBERS: [usize; 5] = [3, 4, 5, 6, 7];

fn text(delimiter: &str, line_end: &str, cell: impl Fn(&str) -> String) -> String {
    let mut text = HEADER.join(delimiter) + line_end;
    for home in HOMES {
        let cells: Vec<String> = home.iter().map(|one| cell(one)).collect();
        text += &(cells.join(delimiter) + line_end);
    }
    text
}

/// A workbook with one sheet, in which numbers are stored as numbers.
fn workbook() -> Vec<u8> {
    let rows: Vec<&[&str]> = std::iter::once(&HEADER[..])
        .chain(HOMES.iter().map(|home| &home[..]))
        .collect();
    workbooks::xlsx(&rows, |place| NUMBERS.contains(&place))
}

/// Writes the portfolio in nine forms; the columnar ones are written by `toise sql`.
fn forms(folder: &Path) -> Vec<PathBuf> {
    let plain = text(",", "\n", str::to_owned);
    let french = text(";", "\r\n", |cell| match cell.parse::<f64>() {
        Ok(_) => cell.replace('.', ","),
        Err(_) => cell.to_owned(),
    });
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(plain.as_bytes()).unwrap();
    let tabbed = text("\t", "\r\n", str::to_owned);
    let utf16 = tabbed.encode_utf16().flat_map(u16::to_le_bytes);
    let written = [
        ("plain.csv", plain.clone().into_bytes()),
        (
            "french.csv",
            encoding_rs::WINDOWS_1252.encode(&french).0.into_owned(),
        ),
        (
            "unicode.txt",
            [b"\xff\xfe".to_vec(), utf16.collect()].concat(),
        ),
        ("mac.csv", text(",", "\r", str::to_owned).into_bytes()),
        ("packed.csv.gz", packed.finish().unwrap()),
        ("workbook.xlsx", workbook()),
    ];
    let mut paths: Vec<PathBuf> = Vec::new();
    for (name, bytes) in written {
        let path = folder.join(name);
        fs::write(&path, bytes).unwrap();
        paths.push(path);
    }
    let named = format!("p={}", paths[0].display());
    for name in ["lines.ndjson", "columns.parquet", "columns.arrow"] {
        let path = folder.join(name);
        let output = path.to_str().unwrap();
        run(
            folder,
            &[
                "sql",
                "--file",
                &named,
                "--output",
                output,
                "select * from p",
            ],
        );
        paths.push(path);
    }
    paths
}

/// The lines of a file that a command wrote.
fn rows(path: &Path) -> Vec<Value> {
    json_lines(&fs::read_to_string(path).unwrap())
}

#[test]
fn a_portfolio_gives_the_same_results_in_every_form() {
    let (outer, trained) = (tempfile::tempdir().unwrap(), homes::trained());
    let folder = outer.path();
    let output = folder.join("output.ndjson");
    let written = output.to_str().unwrap();
    let mut expected: Option<[Vec<Value>; 5]> = None;
    for path in forms(folder) {
        let input = path.to_str().unwrap();
        let command = |arguments: &[&str]| {
            let report = run(trained.path(), arguments);
            (rows(&output), report)
        };
        let (valued, report) = command(&["estimate", "--input", input, "--output", written]);
        assert_eq!(report["valued"], 3, "{input}: {report}");
        let matching = [
            "match", "dvf", "--input", input, "--output", written, "--size", "2",
        ];
        let renames = ["lon=longitude", "lat=latitude", "price_eur=Prix"];
        let renames = renames.map(|rename| ["--map", rename]).concat();
        let (matched, report) = command(&[&matching[..], &renames].concat());
        assert_eq!(report["errors"], 0, "{input}: {report}");
        let geocoded = folder.join("geocoded.parquet");
        let geocoding = ["geocode", input, "--columns", "adresse,cp,ville"];
        let placed = match input.rsplit('.').next() {
            Some("parquet" | "arrow") => geocoded.clone(),
            Some("ndjson") => folder.join("geocoded.ndjson"),
            _ => folder.join("geocoded.csv"),
        };
        let to = ["--output", placed.to_str().unwrap()];
        run(trained.path(), &[&geocoding[..], &to].concat());
        let found = format!("g={}", placed.display());
        let query =
            "select ref, round(result_score, 6) as score, result_citycode from g order by ref";
        let geocoded = run(folder, &["sql", "--file", &found, query]);
        let data = folder.join("data");
        let report = run(
            &data,
            &[
                "ingest",
                input,
                "--mapping",
                "french-csv",
                "--set",
                "offer.type=OFFER_BUY",
            ],
        );
        assert_eq!(report["created"], 3, "{input}: {report}");
        let query = "select url, location_city, location_postal_code, current_price_value, habitation_surface_total,
                     habitation_room_count from adverts order by url";
        let ingested = run(&data, &["sql", query]);
        fs::remove_dir_all(&data).unwrap();
        let named = format!("p={input}");
        let query = "select ref, cp, ville, \"Surface\" + 0.5 as surface, \"Prix\" / 2 as half from p order by ref";
        let queried = run(folder, &["sql", "--file", &named, query]);
        let list = |value: Value| value.as_array().unwrap().clone();
        let results = [
            valued,
            matched,
            list(geocoded),
            list(ingested),
            list(queried),
        ];
        match &expected {
            None => expected = Some(results),
            Some(expected) => assert_eq!(&results, expected, "{input}"),
        }
    }
    let [valued, matched, geocoded, ingested, queried] = expected.unwrap();
    assert_eq!((valued.len(), matched.len(), geocoded.len()), (3, 6, 3));
    assert_eq!(geocoded[2]["result_citycode"], "01053");
    assert_eq!(ingested[2]["location_postal_code"], "01000");
    assert_eq!(queried[2]["surface"], 40.75);
    assert_eq!(queried[2]["cp"], "01000");
}
