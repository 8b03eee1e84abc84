//! Tests that every layout gives the same sales: fetched from a local publisher, imported, and compared record by
//! record. Uses real rows if `TOISE_REAL_DATA` names a folder.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, BinaryArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
};
use chrono::Utc;
use serde_json::{Value, json};

use super::{GEO_DATASET, SalesPlaces, fetch};
use crate::Downloads;
use crate::test_server::{Server, answer, client, file_answer, gzip, path};
use toise_base::progress::Progress;
use toise_lake::{Error, RowSink};
use toise_opendata::Dataset;
use toise_opendata::import::{ImportOptions, import_files};
use toise_opendata::report::ImportReport;
use toise_opendata::source::cell;

/// A sink that collects the records.
#[derive(Default)]
struct Records(Vec<Value>);

impl RowSink for Records {
    fn push(&mut self, batch: RecordBatch) -> Result<(), Error> {
        let texts = batch.column_by_name("record").unwrap().as_string::<i32>();
        let records = texts.iter().map(|text| serde_json::from_str(text.unwrap()));
        self.0.extend(records.map(Result::unwrap));
        Ok(())
    }
}

/// Rows of a geo-dvf file.
struct Rows {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Rows {
    fn read(text: &str) -> Self {
        let mut rows = csv::Reader::from_reader(text.as_bytes());
        let cells = |row: &csv::StringRecord| row.iter().map(str::to_owned).collect();
        let names = cells(rows.headers().unwrap());
        let rows = rows.records().map(|row| cells(&row.unwrap())).collect();
        Self { names, rows }
    }

    /// The rows as CSV, with different mutation numbers.
    fn renumbered(&self) -> String {
        let mut out = csv::Writer::from_writer(Vec::new());
        out.write_record(&self.names).unwrap();
        for row in &self.rows {
            let (number, rest) = row.split_first().unwrap();
            let number = format!("new-{number}");
            out.write_record(std::iter::once(&number).chain(rest))
                .unwrap();
        }
        String::from_utf8(out.into_inner().unwrap()).unwrap()
    }

    fn column(&self, name: &str) -> impl Iterator<Item = Option<&str>> {
        let at = self.names.iter().position(|known| known == name).unwrap();
        let cells = self.rows.iter().map(move |row| row[at].as_str());
        cells.map(|cell| Some(cell).filter(|cell| !cell.is_empty()))
    }

    fn numbers(&self, name: &str) -> impl Iterator<Item = Option<f64>> {
        self.column(name)
            .map(|cell| cell.map(|cell| cell.parse().unwrap()))
    }

    /// The rows as one GeoParquet file: dates, whole numbers and doubles, and points instead of longitude and latitude.
    fn geoparquet(&self) -> Vec<u8> {
        let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
        for name in &self.names {
            let array: ArrayRef = match name.as_str() {
                "longitude" | "latitude" => continue,
                "id_mutation" => {
                    let numbers = self
                        .column(name)
                        .map(|cell| cell.map(|cell| format!("new-{cell}")));
                    Arc::new(numbers.collect::<StringArray>())
                }
                "date_mutation" => {
                    let days = self.column(name).map(|day| cell::day(day?));
                    Arc::new(days.collect::<Date32Array>())
                }
                "numero_disposition" | "nombre_lots" | "nombre_pieces_principales" => {
                    let numbers = self.numbers(name).map(|number| Some(number? as i64));
                    Arc::new(numbers.collect::<Int64Array>())
                }
                "adresse_numero" | "code_type_local" => {
                    Arc::new(self.numbers(name).collect::<Float64Array>())
                }
                name if name.contains("surface") || name == "valeur_fonciere" => {
                    Arc::new(self.numbers(name).collect::<Float64Array>())
                }
                name => Arc::new(self.column(name).collect::<StringArray>()),
            };
            columns.push((name, array));
        }
        let points = self.numbers("longitude").zip(self.numbers("latitude"));
        let points = points.map(|(lon, lat)| {
            let mut wkb = vec![1, 1, 0, 0, 0];
            wkb.extend(lon?.to_le_bytes());
            wkb.extend(lat?.to_le_bytes());
            Some(wkb)
        });
        let points: Vec<Option<Vec<u8>>> = points.collect();
        let points: BinaryArray = points.iter().map(Option::as_deref).collect();
        columns.push(("geometry", Arc::new(points)));
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut file = Vec::new();
        let mut writer =
            parquet::arrow::ArrowWriter::try_new(&mut file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        file
    }
}

/// Fetches the sales of department 83 in 2023 from a publisher that has one file, and imports them. Returns the records
/// by id, without their mutation numbers.
async fn import(title: &str, file_path: &str, file: Vec<u8>, is_listed: bool) -> Vec<Value> {
    let listed = file_path.to_owned();
    let title = title.to_owned();
    let server = Server::start(move |head, _| match path(head) {
        asked if asked == listed => file_answer(head, "etag: \"v1\"\r\n", &file),
        asked if is_listed && asked == format!("/datasets/{GEO_DATASET}/") => {
            let host = head.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
            let resource = json!({"title": title, "url": format!("http://{}{listed}", host.trim()), "type": "main",
                "filesize": file.len(), "filetype": "file", "last_modified": "2026-10-12T09:30:00+00:00"});
            let body = json!({"resources": [resource]}).to_string();
            answer("200 OK", "", body.len(), body.as_bytes())
        }
        _ => answer("404 Not Found", "", 0, b""),
    })
    .await;
    let (data, client) = (tempfile::tempdir().unwrap(), client());
    let downloads = Downloads {
        client: &client,
        data: data.path(),
        progress: Progress::silent(),
        now: Utc::now(),
    };
    let places = SalesPlaces {
        catalogue: Some(server.base.clone()),
        tree: server.base.clone(),
        mirror: None,
    };
    let departments = vec!["83".to_owned()];
    let fetched = fetch(downloads, &places, &departments, 2023..=2023)
        .await
        .unwrap();
    assert_eq!(fetched.inputs.len(), 1, "{file_path}: {:?}", fetched.notes);
    let options = ImportOptions {
        departments,
        years: Some(2023..=2023),
        ..ImportOptions::default()
    };
    let (begin, mut report) = (|| Ok(Records::default()), ImportReport::default());
    let (records, imported) =
        import_files(Dataset::Dvf, &fetched.inputs, begin, &options, &mut report).unwrap();
    let covered: Vec<_> = imported.iter().flat_map(|source| &source.slices).collect();
    assert!(
        covered.iter().all(|slice| slice.year == Some(2023)),
        "{covered:?}"
    );
    assert_eq!(
        report.files[0].read.reading.columns_unused,
        Vec::<String>::new(),
        "{file_path}"
    );
    let mut records = records.0;
    for record in &mut records {
        record.as_object_mut().unwrap().remove("mutation_id");
    }
    records.sort_by_key(|record| record["id"].to_string());
    records
}

#[tokio::test]
async fn every_layout_gives_the_same_sales() {
    let text = match std::env::var_os("TOISE_REAL_DATA") {
        Some(root) => {
            let file = Path::new(&root).join("dvf/geodvf_toulon_2023.csv.gz");
            let mut text = String::new();
            let file = std::fs::File::open(file).unwrap();
            flate2::read::GzDecoder::new(file)
                .read_to_string(&mut text)
                .unwrap();
            text
        }
        None => FEW.to_owned(),
    };
    let rows = Rows::read(&text);
    let tree = "/latest/csv/2023/departements/83.csv.gz";
    let known = import("", tree, gzip(text.as_bytes()), false).await;
    assert!(known.len() >= 2);
    let renumbered = gzip(rows.renumbered().as_bytes());
    for (title, path, file) in [
        ("DVF 2023", "/static/full-2023.csv.gz", renumbered),
        ("DVF", "/static/dvf.parquet", rows.geoparquet()),
    ] {
        let found = import(title, path, file, true).await;
        assert_eq!(found.len(), known.len(), "{path}");
        let differing = known.iter().zip(&found).find(|(one, other)| one != other);
        assert_eq!(differing, None, "{path}");
    }
    println!("{} sales in each layout", known.len());
}

/// Invented rows, used without `TOISE_REAL_DATA`.
const FEW: &str = "id_mutation,date_mutation,numero_disposition,nature_mutation,valeur_fonciere,adresse_numero,\
adresse_nom_voie,code_postal,code_commune,nom_commune,code_departement,id_parcelle,lot1_numero,lot1_surface_carrez,\
nombre_lots,code_type_local,type_local,surface_reelle_bati,nombre_pieces_principales,code_nature_culture,\
surface_terrain,longitude,latitude\n\
2023-1,2023-09-08,1,Vente,154000,2,RUE A,83000,83137,Toulon,83,83137000DE0059,,,0,1,Maison,67,4,S,210,5.928,43.124\n\
2023-1,2023-09-08,1,Vente,154000,2,RUE A,83000,83137,Toulon,83,83137000DE0059,,,0,3,Dépendance,,0,S,210,5.928,43.124\n\
2023-2,2023-10-08,1,Vente,200000.5,11,RUE C,83000,83137,Toulon,83,83137000CM0777,3,44.7,1,2,Appartement,45,2,,,,\n";
