//! Tests of rows without a position: those that are placed by their address, and those that are not.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::Float64Type;
use serde_json::{Value, json};

use super::Dataset;
use super::collecting_sink::CollectingSink;
use super::import::{ImportOptions, import_reader};
use super::report::ImportReport;
use super::source::SourceFormat;
use toise_geocode::Geocoder;
use toise_geocode::index::builder::{AddressRow, SegmentBuilder};
use toise_geocode::index::segment::Segment;
use toise_geocode::resolve::LazyGeocoder;
use toise_lake::Lake;

/// Builds a geocoder that knows one street of Mende.
fn geocoder() -> LazyGeocoder {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("48.segment");
    let mut builder = SegmentBuilder::default();
    for number in [1, 12] {
        builder.push(&AddressRow {
            id: format!("48095_0100_{number:05}"),
            name: "Rue de la République".into(),
            number: Some(number),
            postal_code: "48000".into(),
            insee_code: "48095".into(),
            commune: "Mende".into(),
            lat: 44.52,
            lon: 3.5 + f64::from(number) / 1_000.0,
            ..AddressRow::default()
        });
    }
    let mut file = BufWriter::new(File::create(&path).unwrap());
    builder.write("48", &mut file).unwrap();
    drop(file);
    let segment = Arc::new(Segment::open(&path).unwrap());
    LazyGeocoder::open(Arc::new(Geocoder::new(vec![segment])))
}

fn import(dataset: Dataset, text: &str, geocoder: LazyGeocoder) -> (Vec<Value>, ImportReport) {
    let options = ImportOptions {
        geocoder,
        ..ImportOptions::default()
    };
    let (mut kept, mut report) = (CollectingSink::default(), ImportReport::default());
    let (text, format) = (text.as_bytes(), SourceFormat::Detect);
    import_reader(dataset, text, "f", format, &mut kept, &options, &mut report).unwrap();
    (kept.0.iter().flat_map(records).collect(), report)
}

/// Returns the records of a batch, after checking that their latitudes equal those of its column.
fn records(batch: &arrow::array::RecordBatch) -> Vec<Value> {
    let texts = batch.column_by_name("record").unwrap().as_string::<i32>();
    let lats = batch.column_by_name("lat").unwrap();
    let lats = lats.as_primitive::<Float64Type>().iter();
    let records = texts.iter().zip(lats).map(|(text, lat)| {
        let record: Value = serde_json::from_str(text.unwrap()).unwrap();
        assert_eq!(record["location"]["lat"].as_f64(), lat);
        record
    });
    records.collect()
}

const SALES: &str = "id_mutation,date_mutation,nature_mutation,valeur_fonciere,adresse_numero,adresse_nom_voie,\
code_postal,code_commune,nom_commune,id_parcelle,type_local,surface_reelle_bati,longitude,latitude\n\
1,2024-01-01,Vente,100000,12,RUE DE LA REPUBLIQUE,48000,48095,Mende,480950000A0001,Maison,90,,\n\
2,2024-01-01,Vente,100000,,RUE DE LA REPUBLIQUE,48000,48095,Mende,480950000A0002,Maison,90,,\n\
3,2024-01-01,Vente,100000,5,CHEMIN DU LOUP,48000,48095,Mende,480950000A0003,Maison,90,,\n\
4,2024-01-01,Vente,100000,12,RUE DE LA REPUBLIQUE,48000,48095,Mende,480950000A0004,Maison,90,3.4,44.4\n\
5,2024-01-01,Vente,100000,,,48000,48095,Mende,480950000A0005,Maison,90,,\n";

#[test]
fn sales_without_a_position_are_placed_by_their_address() {
    let (placed, report) = import(Dataset::Dvf, SALES, geocoder());
    let of = |row: usize| (&placed[row]["location"], &placed[row]["location_precision"]);
    assert_eq!(
        of(0),
        (&json!({"lat": 44.52, "lon": 3.512}), &json!("ADDRESS"))
    );
    assert_eq!(of(1).1, "STREET");
    assert_eq!(
        of(3),
        (&json!({"lat": 44.4, "lon": 3.4}), &Value::Null),
        "what the source says stays"
    );
    for row in [2, 4] {
        assert_eq!(of(row), (&Value::Null, &Value::Null), "row {row}");
    }
    assert_eq!(report.placed, 2);
    assert!(report.to_text().contains("placed by their address"));

    // Without addresses nothing is placed, and sales have the same identifiers.
    let (plain, report) = import(Dataset::Dvf, SALES, LazyGeocoder::default());
    assert_eq!(report.placed, 0);
    assert!(plain[0].get("location").is_none());
    for (one, other) in placed.iter().zip(&plain) {
        assert_eq!(one["id"], other["id"]);
    }
}

#[test]
fn sales_with_a_position_outside_france_or_far_away_are_placed_by_their_address() {
    let row = "48000,48095,Mende,480950000A0001,Maison,90,,\n";
    let outside = |position: &str| SALES.replace(row, &row.replace(",,\n", position));
    let left_out = |position: &str| {
        let (placed, report) = import(Dataset::Dvf, &outside(position), geocoder());
        assert_eq!(placed[0]["location"], json!({"lat": 44.52, "lon": 3.512}));
        assert_eq!(placed[0]["location_precision"], "ADDRESS", "{position}");
        let left_out = &report.files[0].read.reading.left_out.0;
        let counts = left_out
            .iter()
            .map(|(reason, found)| format!("{} {reason}", found.count));
        counts.collect::<Vec<String>>()
    };
    assert_eq!(left_out(",0,0\n"), ["1 position outside France"]);
    // In Toulon.
    let far = ["1 position far from its commune"];
    assert_eq!(left_out(",5.93,43.12\n"), far);
    let swapped = "position outside France: latitude and longitude swapped?";
    assert_eq!(left_out(",44.52,3.5\n"), [format!("1 {swapped}")]);
    // The same in columns `x` and `y`.
    let text = outside(",44.52,3.5\n").replace("longitude,latitude", "x,y");
    let (_, report) = import(Dataset::Dvf, &text, geocoder());
    assert_eq!(report.files[0].read.reading.left_out.0[swapped].count, 1);
}

#[test]
fn diagnostics_are_placed_and_stay_as_published() {
    let text = "numero_dpe,_geopoint,adresse_ban,code_postal_ban,nom_commune_ban,adresse_brut,code_postal_brut,nom_commune_brut\n\
        A,,12 Rue de la République 48000 Mende,48000,Mende,,,\n\
        B,,,,,12 RUE DE LA REPUBLIQUE,48000,MENDE\n\
        C,\"44.4,3.4\",12 Rue de la République 48000 Mende,48000,Mende,,,\n\
        D,,,,,,48000,MENDE\n";
    let (placed, report) = import(Dataset::Dpe, text, geocoder());
    let (plain, _) = import(Dataset::Dpe, text, LazyGeocoder::default());
    assert_eq!(report.placed, 2);
    for row in [0, 1] {
        let mut record = placed[row].clone();
        let record = record.as_object_mut().unwrap();
        assert_eq!(
            record.remove("location"),
            Some(json!({"lat": 44.52, "lon": 3.512}))
        );
        assert_eq!(record.remove("location_precision"), Some(json!("ADDRESS")));
        assert_eq!(Some(&*record), plain[row].as_object());
    }
    assert_eq!(placed[2..], plain[2..]);
}

/// Sales imported before the addresses end up as sales imported after them.
#[test]
fn stored_sales_are_placed_when_addresses_arrive() {
    use super::dvf::record::PlaceSources;
    use super::dvf::stored::place_stored;
    use super::placing::PlacedCounts;

    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    let table = Dataset::Dvf.schema();
    let fill = |geocoder| {
        let options = ImportOptions {
            geocoder,
            ..ImportOptions::default()
        };
        let (mut sales, mut report) = (lake.import(table).unwrap(), ImportReport::default());
        let (text, dataset) = (SALES.as_bytes(), Dataset::Dvf);
        let (format, sink) = (SourceFormat::Detect, &mut sales);
        import_reader(dataset, text, "f", format, sink, &options, &mut report).unwrap();
        sales.publish(Vec::new(), Vec::new()).unwrap()
    };
    assert_eq!(fill(LazyGeocoder::default()).added, 5);
    let place = |departments: &[&str]| {
        let departments: Vec<String> = departments.iter().map(|code| (*code).to_owned()).collect();
        let geocoder = geocoder();
        let sources = PlaceSources {
            iris: None,
            geocoder: &geocoder,
        };
        let mut sales = lake.import(table).unwrap();
        let counts = place_stored(&mut sales, &departments, sources).unwrap();
        (counts, sales.publish(Vec::new(), Vec::new()).unwrap())
    };
    assert_eq!(place(&["83"]).0, PlacedCounts::default());
    let (counts, outcome) = place(&["48"]);
    let expected = PlacedCounts {
        without_position: 4,
        placed: 2,
    };
    assert_eq!(counts, expected);
    assert_eq!(
        (outcome.replaced, outcome.added, outcome.removed),
        (2, 0, 0)
    );
    // A second time there is nothing to do, and importing the file again changes nothing.
    assert_eq!(place(&["48"]).0.placed, 0);
    let again = fill(geocoder());
    assert_eq!((again.unchanged, again.replaced, again.added), (5, 0, 0));
}
