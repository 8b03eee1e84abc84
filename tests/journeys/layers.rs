//! Layers as users have them: every format imported on the command line, asked in SQL there and over HTTP, replaced and
//! removed while a server runs, checked, backed up and restored.

use std::fs::File;
use std::path::{Path, PathBuf};

use flatgeobuf::geozero::{ColumnValue, GeomProcessor, GeozeroGeometry, PropertyProcessor};
use flatgeobuf::{ColumnType, FgbCrs, FgbWriter, FgbWriterOptions, GeometryType};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::assertions::{assert_has, assert_refused, pick};
use crate::support::client::Client;
use crate::support::process::{errors, new_key, run, try_run, write_file};

/// A zone: its name, its level, and its rings.
type Zone = (&'static str, i64, &'static [&'static [(f64, f64)]]);

/// Two zones: a square of a degree with a hole, and one further east.
const ZONES: [Zone; 2] = [
    (
        "à Nîmes",
        3,
        &[
            &[
                (4.0, 43.0),
                (5.0, 43.0),
                (5.0, 44.0),
                (4.0, 44.0),
                (4.0, 43.0),
            ],
            &[
                (4.4, 43.4),
                (4.4, 43.6),
                (4.6, 43.6),
                (4.6, 43.4),
                (4.4, 43.4),
            ],
        ],
    ),
    (
        "à Toulon",
        1,
        &[&[
            (5.5, 43.0),
            (6.0, 43.0),
            (6.0, 43.5),
            (5.5, 43.5),
            (5.5, 43.0),
        ]],
    ),
];

/// Positions as SQL, each with whether it is in a zone: inside, in the hole, on a border, outside.
const POSITIONS: &str = "(values (4.2, 43.2), (4.5, 43.5), (4.4, 43.5), (5.0, 43.7), (5.2, 43.2), (5.75, 43.25)) \
                         as t(lon, lat)";

fn expected() -> Value {
    json!([true, false, true, true, false, true])
}

/// Asks where the positions are.
fn inside(data: &Path, layer: &str) -> Value {
    let query = format!("select within(lon, lat, '{layer}') as inside from {POSITIONS}");
    let rows = run(data, &["sql", &query]);
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| row["inside"].clone()).collect()
}

fn import(data: &Path, layer: &str, file: &str) -> Value {
    run(data, &["import", "layer", layer, file])
}

fn geojson() -> Value {
    let feature = |(name, level, rings): &Zone| {
        json!({
            "type": "Feature",
            "properties": {"Nom": name, "niveau": level, "arrete": "2019-05-02"},
            "geometry": {"type": "Polygon", "coordinates": rings},
        })
    };
    let features: Vec<Value> = ZONES.iter().map(feature).collect();
    json!({"type": "FeatureCollection", "features": features})
}

fn wkt(rings: &[&[(f64, f64)]]) -> String {
    let ring = |ring: &&[(f64, f64)]| {
        let positions = ring.iter().map(|(x, y)| format!("{x} {y}"));
        format!("({})", positions.collect::<Vec<_>>().join(", "))
    };
    let rings: Vec<String> = rings.iter().map(ring).collect();
    format!("POLYGON ({})", rings.join(", "))
}

/// A polygon in the form that the crate takes.
struct Rings<'r>(&'r [&'r [(f64, f64)]]);

impl GeozeroGeometry for Rings<'_> {
    fn process_geom<P: GeomProcessor>(
        &self,
        out: &mut P,
    ) -> flatgeobuf::geozero::error::Result<()> {
        out.polygon_begin(true, self.0.len(), 0)?;
        for (nth, ring) in self.0.iter().enumerate() {
            out.linestring_begin(false, ring.len(), nth)?;
            for (index, (x, y)) in ring.iter().enumerate() {
                out.xy(*x, *y, index)?;
            }
            out.linestring_end(false, nth)?;
        }
        out.polygon_end(true, 0)
    }
}

fn flatgeobuf(path: &Path) {
    let options = FgbWriterOptions {
        crs: FgbCrs {
            code: 4326,
            ..FgbCrs::default()
        },
        promote_to_multi: false,
        ..FgbWriterOptions::default()
    };
    let writer = FgbWriter::create_with_options("zones", GeometryType::Polygon, options);
    let mut writer = writer.unwrap();
    writer.add_column("Nom", ColumnType::String, |_, _| {});
    writer.add_column("niveau", ColumnType::Long, |_, _| {});
    for (name, level, rings) in &ZONES {
        let added = writer.add_feature_geom(Rings(rings), |feature| {
            feature
                .property(0, "Nom", &ColumnValue::String(name))
                .unwrap();
            feature
                .property(1, "niveau", &ColumnValue::Long(*level))
                .unwrap();
        });
        added.unwrap();
    }
    writer.write(&mut File::create(path).unwrap()).unwrap();
}

/// The data file of a layer, which is GeoParquet.
fn data_file(data: &Path, layer: &str) -> PathBuf {
    let folder = data.join("layers").join(layer);
    let files = std::fs::read_dir(&folder).unwrap();
    let mut files = files.map(|entry| entry.unwrap().path());
    files
        .find(|path| path.extension().is_some_and(|ending| ending == "parquet"))
        .unwrap()
}

#[test]
fn every_format_gives_the_same_layer() {
    let folder = tempfile::tempdir().unwrap();
    let (data, files) = (folder.path().join("data"), folder.path());
    let data = data.as_path();
    let mut table = "\u{feff}Nom;niveau;hauteur;wkt\n".to_owned();
    let mut shapes = "Nom,niveau,Geo Shape\n".to_owned();
    for (name, level, rings) in &ZONES {
        table += &format!("{name};{level};1,5;\"{}\"\n", wkt(rings));
        let shape = json!({"type": "Polygon", "coordinates": rings}).to_string();
        shapes += &format!("{name},{level},\"{}\"\n", shape.replace('"', "\"\""));
    }
    let fgb = files.join("zones.fgb");
    flatgeobuf(&fgb);
    let imported = run(
        data,
        &[
            "import",
            "layer",
            "json",
            &write_file(files, "zones.geojson", geojson().to_string()),
            "--licence",
            "Licence Ouverte 2.0",
            "--source",
            "https://example.org/zones",
        ],
    );
    assert_eq!(imported["features"], 2);
    assert_eq!(imported["provenance"]["licence"], "Licence Ouverte 2.0");
    import(data, "csv", &write_file(files, "zones.csv", table));
    import(data, "shapes", &write_file(files, "shapes.csv", shapes));
    import(data, "fgb", fgb.to_str().unwrap());
    let parquet = data_file(data, "json");
    import(data, "parquet", parquet.to_str().unwrap());
    for layer in ["json", "csv", "shapes", "fgb", "parquet"] {
        assert_eq!(inside(data, layer), expected(), "{layer}");
        // FlatGeobuf has an order of its own.
        let query = format!("select nom, niveau from layer_{layer} order by nom");
        let rows = run(data, &["sql", &query]);
        let wanted = json!([
            {"nom": "à Nîmes", "niveau": 3},
            {"nom": "à Toulon", "niveau": 1},
        ]);
        assert_eq!(rows, wanted, "{layer}");
    }
    let sum = run(data, &["sql", "select sum(hauteur) as sum from layer_csv"]);
    assert_eq!(sum[0]["sum"], 3.0, "decimal commas are numbers");

    // The attributes of the zone around each position, as a report would show them.
    let joined = format!(
        "select nom from {POSITIONS} join layer_json on within(lon, lat, 'json') \
         and feature = nearest(lon, lat, 'json')['feature'] order by lon"
    );
    let joined = run(data, &["sql", &joined]);
    let names = joined
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["nom"].clone());
    assert_eq!(
        names.collect::<Value>(),
        json!(["à Nîmes", "à Nîmes", "à Nîmes", "à Toulon"])
    );

    let listed = run(data, &["layers", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 5);
    assert_eq!(listed[2]["name"], "json");
    assert_eq!(
        run(data, &["layers", "remove", "csv"]),
        json!({"removed": "csv"})
    );
    let gone = try_run(data, &["sql", "select within(4, 43, 'csv')"]);
    assert_has(
        &errors(&gone),
        "no layer \"csv\"; layers: fgb, json, parquet, shapes",
    );
}

#[test]
fn points_are_read_in_degrees_and_in_lambert_93() {
    let folder = tempfile::tempdir().unwrap();
    let (data, files) = (folder.path().join("data"), folder.path());
    let data = data.as_path();
    let degrees = "identifiant;nom;latitude;longitude\n0750001A;Lycée Buffon;48,8434;2,3132\n\
                   0830002B;Collège Peiresc;43,1268;5,9302\n0830003C;sans position;;\n";
    let imported = import(data, "schools", &write_file(files, "schools.csv", degrees));
    assert_eq!(
        pick(&imported, ["features", "without_geometry"]),
        json!([2, 1])
    );
    // The same two places in Lambert-93, in the encoding of a spreadsheet.
    let lambert = "nom;x;y\nLyc\u{e9}e Buffon;649 591,5;6 860 601,3\nColl\u{e8}ge Peiresc;938 407,7;6 230 230,6\n";
    let (lambert, ..) = encoding_rs::WINDOWS_1252.encode(lambert);
    let imported = import(data, "lambert", &write_file(files, "lambert.csv", lambert));
    assert_eq!(
        imported["reference_system"],
        "Lambert-93, converted to degrees"
    );

    let query = "select s.nom, nearest(s.longitude, s.latitude, 'lambert') as found, \
                 distance_to(2.3132, 48.85, 'schools') as metres from layer_schools s order by s.feature";
    let rows = run(data, &["sql", query]);
    for (nth, row) in rows.as_array().unwrap().iter().enumerate() {
        assert_eq!(row["found"]["feature"], nth + 1, "{row}");
        assert!(
            row["found"]["distance_m"].as_f64().unwrap() < 2_000.0,
            "{row}"
        );
        let metres = row["metres"].as_f64().unwrap();
        assert!((metres - 733.9).abs() < 1.0, "{metres}");
    }
    let nulls = run(
        data,
        &[
            "sql",
            "select within(null, 48, 'schools') as w, nearest(2, null, 'schools') as n",
        ],
    );
    assert_eq!(nulls[0], json!({"w": null, "n": null}));
}

#[test]
fn a_file_that_is_not_geodata_is_refused_with_the_feature_and_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (data, files) = (folder.path().join("data"), folder.path());
    let data = data.as_path();
    let crossing = json!({"type": "FeatureCollection", "features": [
        geojson()["features"][0],
        {"type": "Feature", "properties": {}, "geometry":
            {"type": "Polygon", "coordinates": [[[2, 48], [3, 49], [3, 48], [2, 49], [2, 48]]]}},
    ]});
    let mercator = json!({"type": "FeatureCollection",
        "crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3857"}}, "features": []});
    let crossing = write_file(files, "crossing.geojson", crossing.to_string());
    for (file, expected) in [
        (
            crossing.clone(),
            "feature 2: coordinates[0][2]: the border crosses itself after this vertex",
        ),
        (
            write_file(files, "mercator.geojson", mercator.to_string()),
            "the reference system EPSG:3857 is not read; convert it",
        ),
        (
            write_file(files, "swapped.csv", "lon,lat\n48.85,2.35\n"),
            "latitude and longitude seem to be swapped",
        ),
        (
            write_file(files, "far.csv", "x,y\n5,9000000\n"),
            "are neither degrees nor Lambert-93",
        ),
        (
            write_file(files, "homes.csv", "nom,prix\na,1\n"),
            "no column with a geometry among: nom, prix",
        ),
        (
            write_file(files, "bad.csv", "nom,wkt\na,POINT(2 48)\nb,POINT(2)\n"),
            "feature 2, column \"wkt\": WKT: expected two numbers",
        ),
        (
            write_file(files, "cut.fgb", b"fgb\x03fgb\x00\x10\x00\x00\x00xx"),
            "not readable as FlatGeobuf",
        ),
        (
            write_file(
                files,
                "empty.geojson",
                r#"{"type":"FeatureCollection","features":[]}"#,
            ),
            "it has no features",
        ),
    ] {
        let output = try_run(data, &["import", "layer", "zones", &file]);
        assert!(
            !output.status.success() && errors(&output).contains(expected),
            "{file}: {}",
            errors(&output)
        );
    }
    let kept = run(data, &["import", "layer", "zones", &crossing, "--mend"]);
    assert_eq!(pick(&kept, ["features", "mended"]), json!([2, 1]));
    let output = try_run(data, &["import", "layer", "Zones", &crossing]);
    assert_has(&errors(&output), "cannot name a layer");
}

#[tokio::test]
async fn a_server_answers_from_the_layer_as_it_is_now() {
    let folder = tempfile::tempdir().unwrap();
    let (data, files) = (folder.path().join("data"), folder.path());
    let data = data.as_path();
    run(data, &["synth", "--lake", "--dvf", "200"]);
    let zones = write_file(files, "zones.geojson", geojson().to_string());
    run(
        data,
        &["import", "layer", "zones", &zones, "--licence", "LO 2.0"],
    );
    let key = new_key(data, &["--scopes", "search,sql"]);
    let (server, client) = Client::start(data, &key);
    let ask = async |query: &str| {
        let body = json!({"query": query});
        client.ask(Method::POST, "sql", body).await
    };
    let listed = client.get("layers").await;
    let layer = &listed["data"][0];
    assert_eq!(
        pick(layer, ["name", "licence", "count"]),
        json!(["zones", "LO 2.0", 2])
    );
    assert_eq!(layer["bbox"], json!([4.0, 43.0, 6.0, 44.0]));
    assert_eq!(layer["columns"][0], json!({"name": "nom", "type": "text"}));

    let inside = format!("select within(lon, lat, 'zones') as inside from {POSITIONS}");
    let flags = |rows: &Value| -> Value {
        let rows = rows["data"]
            .as_array()
            .unwrap_or_else(|| panic!("{rows}"))
            .iter();
        rows.map(|row| row["inside"].clone()).collect()
    };
    assert_eq!(flags(&ask(&inside).await), expected());
    let both =
        "select count(*) as n from dvf, layer_zones where distance_to(lon, lat, 'zones') >= 0";
    let both = ask(both).await;
    assert!(both["data"][0]["n"].as_i64().unwrap() > 0, "{both}");

    // Only the second zone is left.
    let mut second = geojson();
    second["features"].as_array_mut().unwrap().remove(0);
    import(
        data,
        "zones",
        &write_file(files, "second.geojson", second.to_string()),
    );
    assert_eq!(
        flags(&ask(&inside).await),
        json!([false, false, false, false, false, true])
    );
    let names = ask("select nom as inside from layer_zones").await;
    assert_eq!(flags(&names), json!(["à Toulon"]));
    drop(server);

    // A backup has the layer; a damaged one is found.
    let backup = files.join("backup");
    run(data, &["backup", backup.to_str().unwrap()]);
    let restored = files.join("restored");
    run(&restored, &["restore", backup.to_str().unwrap()]);
    let query = "select nom from layer_zones";
    assert_eq!(
        run(&restored, &["sql", query]),
        json!([{"nom": "à Toulon"}])
    );
    // A plan shows no path of this machine.
    let plan = run(&restored, &["sql", &format!("explain {query}")]).to_string();
    let folder = files.file_name().unwrap().to_str().unwrap();
    assert!(
        plan.contains(".parquet") && !plan.contains(folder),
        "{plan}"
    );
    assert_eq!(run(data, &["check"])["layers"]["damaged"], json!([]));
    let path = data_file(&restored, "zones");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let check = try_run(&restored, &["check"]);
    assert_refused(&check, "a layer is damaged");
    let query = try_run(&restored, &["sql", query]);
    assert_has(&errors(&query), "its checksum does not match");
}
