//! Compares bulk answers with those of the endpoint, over a small lake of synthetic records.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use toise::base::formula::Formulas;
use toise::base::progress::Progress;
use toise::opendata::bulk::{BulkOptions, BulkReport, run};
use toise::opendata::request::parse_match;
use toise::opendata::{Dataset, OpenData, functions};
use toise::sql::plan::plan;
use toise::synth::{SynthRequest, lake::generate_into_lake};

use crate::support::files::json_lines;
use crate::support::sql::session_over;

/// Records of the synthetic lake: it needs several communes, but not several row groups.
const RECORDS: u64 = 6_000;

fn lake(dataset: Dataset) -> (tempfile::TempDir, OpenData) {
    let folder = tempfile::tempdir().unwrap();
    let request = SynthRequest {
        dataset,
        items: RECORDS,
        seed: 5,
        full_width: false,
    };
    generate_into_lake(folder.path(), request, Progress::silent()).unwrap();
    let open_data = OpenData::open(folder.path(), toise::engine::Budget::default()).unwrap();
    (folder, open_data)
}

fn options(dataset: Dataset, input: &Path, output: &Path) -> BulkOptions {
    BulkOptions {
        dataset,
        input: input.to_owned(),
        output: output.to_owned(),
        formulas: Formulas::Kept,
        renames: Vec::new(),
        keys: Vec::new(),
        size: None,
        columns: None,
        geocoder: toise::geocode::resolve::LazyGeocoder::default(),
        progress: Progress::silent(),
    }
}

fn matched(
    open_data: &OpenData,
    folder: &Path,
    name: &str,
    portfolio: &str,
    change: impl FnOnce(&mut BulkOptions),
) -> (Vec<Map<String, Value>>, BulkReport) {
    let (input, output) = (folder.join(name), folder.join("out.ndjson"));
    fs::write(&input, portfolio).unwrap();
    let mut options = options(Dataset::Dpe, &input, &output);
    change(&mut options);
    let report = run(open_data, &options).unwrap();
    (json_lines(&fs::read_to_string(&output).unwrap()), report)
}

/// The answers of the endpoint, as rows of a bulk answer.
fn expected(open_data: &OpenData, dataset: Dataset, key: &str, body: &Value) -> Vec<Value> {
    let request = match parse_match(dataset, body) {
        Ok(request) => request,
        Err(fault) => {
            return vec![json!({"key": key, "error": fault.to_string(), "status": "error"})];
        }
    };
    if let Err(fault) = request.check_place() {
        let error = format!("filters.location: {fault}");
        return vec![json!({"key": key, "error": error, "status": fault.name()})];
    }
    let answer = open_data.find_matches(dataset, &request).unwrap();
    if answer.candidates.is_empty() {
        return vec![json!({"key": key, "ambiguous": false, "total": 0, "status": "ok"})];
    }
    let ranked = answer.candidates.iter().enumerate();
    ranked
        .map(|(rank, candidate)| {
            let mut row = json!({
                "key": key, "rank": rank + 1, "score": candidate.score,
                "confidence": candidate.confidence.as_str(), "ambiguous": answer.ambiguous,
                "total": answer.total, "status": "ok",
            });
            row[dataset.schema().id] = json!(candidate.id);
            row["record"] = json!(String::from_utf8(candidate.record.to_vec()).unwrap());
            row
        })
        .collect()
}

#[derive(Clone, Debug)]
struct BulkFixture {
    commune: Option<&'static str>,
    kind: Option<&'static str>,
    surface: Option<(f64, f64)>,
    energy: Option<f64>,
    class: Option<&'static str>,
    place: Option<(f64, f64)>,
    size: Option<i64>,
}

impl BulkFixture {
    fn body(&self) -> Value {
        let mut body = json!({"filters": {}, "scoring_targets": {}});
        let filters = &mut body["filters"];
        if let Some(commune) = self.commune {
            filters["code_departement_ban"] = json!(commune);
        }
        if let Some(kind) = self.kind {
            filters["type_batiment"] = json!(kind);
        }
        if let Some((min, max)) = self.surface {
            filters["surface_habitable_logement"] = json!({"min": min, "max": max});
        }
        if let Some((lat, lon)) = self.place {
            filters["location"] = json!({"lat": lat, "lon": lon, "distance": "30km"});
        }
        if let Some(energy) = self.energy {
            body["scoring_targets"]["conso_5_usages_par_m2_ep"] = json!(energy);
        }
        if let Some(class) = self.class {
            body["scoring_targets"]["etiquette_dpe"] = json!(class);
        }
        if let Some(size) = self.size {
            body["size"] = json!(size as f64);
        }
        body
    }

    fn cells(&self, key: usize) -> String {
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        [
            format!("k{key}"),
            self.commune.unwrap_or_default().to_owned(),
            self.kind.unwrap_or_default().to_owned(),
            number(self.surface.map(|range| range.0)),
            number(self.surface.map(|range| range.1)),
            number(self.place.map(|pin| pin.0)),
            number(self.place.map(|pin| pin.1)),
            "30km".to_owned(),
            number(self.energy),
            self.class.unwrap_or_default().to_owned(),
            self.size.map_or_else(String::new, |size| size.to_string()),
        ]
        .join(",")
    }
}

const HEADER: &str = "key,code_departement_ban,type_batiment,surface_habitable_logement_min,\
surface_habitable_logement_max,lat,lon,distance,conso_5_usages_par_m2_ep,etiquette_dpe,size";

fn asked() -> impl Strategy<Value = BulkFixture> {
    let maybe = proptest::option::of::<proptest::sample::Select<&'static str>>;
    (
        maybe(proptest::sample::select(vec!["75", "13", "69", "48", "xx"])),
        maybe(proptest::sample::select(vec![
            "maison", "appartement", "yourte",
        ])),
        proptest::option::of((10.0..90.0f64, 40.0..200.0f64)),
        proptest::option::of(20.0..500.0f64),
        maybe(proptest::sample::select(vec!["A", "D", "G", "HH"])),
        proptest::option::of((43.0..49.0f64, 0.0..6.0f64)),
        proptest::option::of(-1..22i64),
    )
        .prop_map(
            |(commune, kind, surface, energy, class, place, size)| BulkFixture {
                commune,
                kind,
                surface,
                energy,
                class,
                place,
                size,
            },
        )
}

#[test]
fn random_rows_are_answered_as_the_endpoint_answers_them() {
    let (folder, open_data) = lake(Dataset::Dpe);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(8));
    runner
        .run(&proptest::collection::vec(asked(), 1..80), |portfolio| {
            let mut text = HEADER.to_owned();
            for (key, row) in portfolio.iter().enumerate() {
                text.push('\n');
                text.push_str(&row.cells(key));
            }
            let (rows, report) = matched(&open_data, folder.path(), "p.csv", &text, |options| {
                options.columns = Some(vec!["record".into()]);
            });
            prop_assert_eq!(report.rows, portfolio.len() as u64);
            let mut expected_rows = Vec::new();
            for (key, row) in portfolio.iter().enumerate() {
                let key = format!("k{key}");
                expected_rows.extend(expected(&open_data, Dataset::Dpe, &key, &row.body()));
            }
            prop_assert_eq!(rows.len(), expected_rows.len());
            for (row, expected) in rows.into_iter().zip(expected_rows) {
                prop_assert_eq!(Value::Object(row), expected);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_row_that_selects_no_records_is_reported() {
    let (folder, open_data) = lake(Dataset::Dpe);
    let left_out = |text: &str| {
        let (_, report) = matched(&open_data, folder.path(), "p.csv", text, |_| {});
        let left_out = &report.files[0].reading.left_out.0;
        let found = left_out.get("no cell selects records, so all records are candidates");
        found.map(|found| (found.count, found.examples[0].line))
    };
    let energy = "conso_5_usages_par_m2_ep";
    let text = format!("key,lat,lon,{energy}\na,48.8,2.3,100\nb,,,100\n");
    assert_eq!(left_out(&text), Some((1, 3)));
    assert_eq!(left_out(&format!("key,{energy}\na,100\n")), None);
}

#[test]
fn a_bad_row_has_an_error_and_the_others_their_candidates() {
    let (folder, open_data) = lake(Dataset::Dpe);
    let text = "key,type_batiment,etiquette_dpe\na,maison,C\nb,maison\nc,palais,C\nd,appartement,Z\ne,maison,\n";
    let (rows, report) = matched(&open_data, folder.path(), "p.csv", text, |options| {
        options.size = Some(1);
    });
    // A letter that no class has is left out.
    assert_eq!((report.rows, report.matched, report.errors), (5, 3, 2));
    let errors: Vec<Option<&str>> = rows
        .iter()
        .map(|row| row.get("error").and_then(Value::as_str))
        .collect();
    assert_eq!(
        errors,
        [
            None,
            Some("line 3: the row has 2 cells where the header has 3"),
            Some("filters.type_batiment: must be one of: appartement, maison, immeuble"),
            None,
            None,
        ]
    );
    let keys: Vec<&str> = rows
        .iter()
        .map(|row| row["key"].as_str().unwrap())
        .collect();
    assert_eq!(keys, ["a", "b", "c", "d", "e"]);
}

#[test]
fn every_container_gives_the_same_answer() {
    let (folder, open_data) = lake(Dataset::Dpe);
    let csv = "id;kind;class\n1;maison;C\n2;;\n3;appartement;E\n";
    let ndjson = concat!(
        "{\"id\": 1, \"kind\": \"maison\", \"class\": \"C\"}\n\n",
        "{\"id\": \"2\", \"kind\": null}\n",
        "{\"class\": \"E\", \"id\": 3, \"kind\": \"appartement\", \"more\": [1]}\n"
    );
    let renames = |options: &mut BulkOptions| {
        options.renames = vec![
            ("kind".into(), "type_batiment".into()),
            ("class".into(), "etiquette_dpe".into()),
        ];
    };
    let (from_csv, _) = matched(&open_data, folder.path(), "p.csv", csv, renames);
    let (from_json, _) = matched(&open_data, folder.path(), "p.ndjson", ndjson, renames);
    assert_eq!(from_csv.len(), 15);
    assert_eq!(from_csv, from_json);
}

#[test]
fn columns_that_mean_nothing_are_named() {
    let (folder, open_data) = lake(Dataset::Dpe);
    let input = folder.path().join("p.csv");
    fs::write(&input, "reference,typo_batiment\n1,maison\n").unwrap();
    let error = run(
        &open_data,
        &options(Dataset::Dpe, &input, &folder.path().join("o.csv")),
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .contains(": no column of the portfolio is a field")
    );
    fs::write(
        &input,
        "reference,typo_batiment,etiquette_dpe\n1,maison,A\n",
    )
    .unwrap();
    let report = run(
        &open_data,
        &options(Dataset::Dpe, &input, &folder.path().join("o.csv")),
    )
    .unwrap();
    assert_eq!(
        report.files[0].reading.columns_unused,
        ["reference", "typo_batiment"]
    );
}

/// Scores of all records of a department in SQL, and those of the endpoint.
fn scores_agree(dataset: Dataset, place: &str, body: &Value, arguments: &str) {
    use arrow::array::AsArray;
    use arrow::datatypes::Float64Type;
    let (_folder, open_data) = lake(dataset);
    let functions = functions::scalar_functions();
    let session = session_over(open_data.engine(), Vec::new(), functions).unwrap();
    let (name, id) = (dataset.name(), dataset.schema().id);
    let sql =
        format!("select {id}, {name}_match_score('{body}', {arguments}) from {name} where {place}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let batches = runtime
        .block_on(async { plan(&session, &sql, None).await.unwrap().collect().await })
        .unwrap();
    let request = parse_match(dataset, body).unwrap();
    let answer = open_data.find_matches(dataset, &request).unwrap();
    assert!(answer.candidates.len() > 3);
    let mut seen = 0;
    for batch in &batches {
        let ids = arrow::compute::cast(batch.column(0), &arrow::datatypes::DataType::Utf8).unwrap();
        let scores = batch.column(1).as_primitive::<Float64Type>();
        for (id, score) in ids.as_string::<i32>().iter().zip(scores) {
            let same = answer
                .candidates
                .iter()
                .find(|found| Some(&*found.id) == id);
            if let Some(found) = same {
                assert_eq!(score.unwrap().to_bits(), found.score.to_bits());
                seen += 1;
            }
        }
    }
    assert_eq!(seen, answer.candidates.len());
}

#[test]
fn sql_scores_diagnostics_to_the_last_bit() {
    let body = json!({"filters": {"code_departement_ban": "75",
        "surface_habitable_logement": {"min": 20, "max": 90},
        "location": {"lat": 48.86, "lon": 2.34, "distance": "9km"}},
        "scoring_targets": {"conso_5_usages_par_m2_ep": 210, "emission_ges_5_usages_par_m2": 20,
        "etiquette_dpe": "D", "periode_construction": "avant 1948", "numero_etage_appartement": 2},
        "size": 20});
    scores_agree(
        Dataset::Dpe,
        "code_departement_ban = '75'",
        &body,
        "conso_5_usages_par_m2_ep, emission_ges_5_usages_par_m2, etiquette_dpe, etiquette_ges, \
         nombre_niveau_immeuble, numero_etage_appartement, periode_construction, \
         nombre_niveau_logement, surface_habitable_logement, lat, lon",
    );
}

#[test]
fn sql_scores_sales_to_the_last_bit() {
    let body = json!({"filters": {"departement_code": "75", "surface_m2": {"min": 20, "max": 90}},
        "scoring_targets": {"price_eur": 400000, "main_rooms": 2, "is_new_build": false,
        "transaction_type": "Vente"}, "size": 20});
    scores_agree(
        Dataset::Dvf,
        "departement_code = '75'",
        &body,
        "price_eur, main_rooms, is_new_build, transaction_type, surface_m2, lat, lon",
    );
}
