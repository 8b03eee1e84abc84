//! Tests of imports of diagnostics from files with few columns.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Dataset;
use super::import::{ImportInput, ImportOptions, import_files};
use super::report::ImportReport;
use super::skip::skipped;
use toise_lake::{ImportOutcome, Lake, RowSink};

/// Two diagnostics with enough columns to be added.
const FULL: &str = "numero_dpe,date_etablissement_dpe,date_derniere_modification_dpe,etiquette_dpe,etiquette_ges,\
    type_batiment,code_insee_ban,code_departement_ban,adresse_ban,_geopoint,surface_habitable_logement,besoin_ecs,\
    annee_construction\n\
    A,2024-08-29,2024-09-01,D,C,maison,48095,48,\"4 rue \"\"B\"\", Mende\",\"44.518,3.501\",81.50,848.1,1975\n\
    B,2024-08-30,2024-09-01,E,B,appartement,48095,48,5 rue C,\"44.519,3.502\",40,500,\n";

struct Table {
    folder: tempfile::TempDir,
    lake: Lake,
}

impl Table {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::open(folder.path()).unwrap();
        Self { folder, lake }
    }

    fn import(&self, text: &str, allow_partial: bool) -> (ImportOutcome, ImportReport) {
        let path = self.folder.path().join("f.csv");
        std::fs::write(&path, text).unwrap();
        self.import_file(path, allow_partial)
    }

    fn import_file(&self, path: PathBuf, allow_partial: bool) -> (ImportOutcome, ImportReport) {
        let options = ImportOptions {
            allow_partial,
            ..ImportOptions::default()
        };
        let mut report = ImportReport::default();
        let begin = || self.lake.import(Dataset::Dpe.schema());
        let inputs = [ImportInput::local(path)];
        let (filled, _) =
            import_files(Dataset::Dpe, &inputs, begin, &options, &mut report).unwrap();
        (filled.publish(Vec::new(), Vec::new()).unwrap(), report)
    }

    fn text(&self, id: &str) -> Option<String> {
        let import = self.lake.import(Dataset::Dpe.schema()).unwrap();
        let stored = import.stored_rows().unwrap().unwrap();
        let record = stored.records(&[id]).unwrap().pop().flatten()?;
        Some(String::from_utf8(record.to_vec()).unwrap())
    }

    fn record(&self, id: &str) -> Value {
        serde_json::from_str(&self.text(id).unwrap()).unwrap()
    }
}

#[test]
fn columns_that_a_file_lacks_stay_as_they_are_stored() {
    let table = Table::new();
    assert_eq!(table.import(FULL, false).0.added, 2);
    let (before, other) = (table.record("A"), table.text("B"));
    let few = "numero_dpe,etiquette_dpe\nA,F\n";
    let (outcome, report) = table.import(few, false);
    assert_eq!((outcome.replaced, outcome.added, outcome.total), (1, 0, 2));
    assert_eq!(report.rows_rejected(), 0);
    let mut expected = before;
    expected["etiquette_dpe"] = "F".into();
    assert_eq!(table.record("A"), expected);
    assert_eq!(table.text("B"), other);
    let (again, _) = table.import(few, false);
    assert_eq!((again.replaced, again.unchanged), (0, 1));
    // Importing the whole file again restores the published label.
    assert_eq!(table.import(FULL, false).0.replaced, 1);
    assert_eq!(table.record("A")["etiquette_dpe"], "D");
}

#[test]
fn a_merged_record_is_the_one_a_whole_file_would_give() {
    let table = Table::new();
    table.import(FULL, false);
    table.import("numero_dpe,etiquette_dpe,besoin_ecs\nA,F,850.5\n", false);
    let whole = Table::new();
    whole.import(
        &FULL.replacen(",D,", ",F,", 1).replacen("848.1", "850.5", 1),
        false,
    );
    assert_eq!(table.text("A"), whole.text("A"));
}

#[test]
fn rows_that_would_be_nearly_empty_are_refused_unless_allowed() {
    let table = Table::new();
    let few = "numero_dpe,etiquette_dpe\nA,F\nC,G\n";
    let (outcome, report) = table.import(few, false);
    assert_eq!((outcome.added, report.rows_rejected()), (0, 2));
    let (reason, tally) = report.rejected.first_key_value().unwrap();
    assert!(reason.contains("--allow-partial"), "{reason}");
    assert_eq!(tally.examples[1].value, "C");
    assert!(
        report.notes[0].contains("2 of 230 columns"),
        "{:?}",
        report.notes
    );
    table.import(FULL, false);
    let (outcome, report) = table.import(few, false);
    assert_eq!((outcome.replaced, report.rows_rejected()), (1, 1));
    let (outcome, report) = table.import(few, true);
    assert_eq!((outcome.added, report.rows_rejected()), (1, 0));
    assert_eq!(table.record("C")["etiquette_dpe"], "G");
}

#[test]
fn an_older_version_changes_nothing_however_few_its_columns() {
    let table = Table::new();
    table.import(FULL, false);
    let before = table.text("A");
    let older = "numero_dpe,date_derniere_modification_dpe,etiquette_dpe\nA,2024-08-30,G\n";
    assert_eq!(table.import(older, false).0.unchanged, 1);
    assert_eq!(table.text("A"), before);
    let newer = older.replace("2024-08-30", "2025-01-02");
    assert_eq!(table.import(&newer, false).0.replaced, 1);
    assert_eq!(
        table.record("A")["date_derniere_modification_dpe"],
        "2025-01-02"
    );
    assert_eq!(table.record("A")["surface_habitable_logement"], 81.5);
}

#[test]
fn a_new_position_moves_a_stored_diagnostic_and_an_absent_one_leaves_it() {
    let table = Table::new();
    table.import(FULL, false);
    table.import("numero_dpe,type_batiment\nA,appartement\n", false);
    assert_eq!(table.record("A")["location"]["lat"], 44.518);
    table.import("numero_dpe,_geopoint\nA,\"44.6,3.6\"\n", false);
    assert_eq!(table.record("A")["location"]["lat"], 44.6);
    assert_eq!(table.record("A")["type_batiment"], "appartement");
}

#[test]
fn values_outside_official_lists_are_counted_and_kept() {
    let table = Table::new();
    let odd = FULL.replacen(",D,C,maison,", ",D ou E,C,chateau,", 1);
    let (outcome, report) = table.import(&odd, false);
    assert_eq!(outcome.added, 2);
    assert_eq!(table.record("A")["etiquette_dpe"], "D ou E");
    assert_eq!(report.unlisted_values["etiquette_dpe"]["D ou E"], 1);
    assert_eq!(report.unlisted_values["type_batiment"]["chateau"], 1);
    assert_eq!(report.unlisted_values.len(), 2);
    assert!(
        report
            .to_text()
            .contains("kept as published: etiquette_dpe: \"D ou E\" 1"),
        "{}",
        report.to_text()
    );
    assert!(
        serde_json::to_value(&report).unwrap()["unlisted_values"]["etiquette_dpe"]["D ou E"] == 1
    );
}

#[test]
fn values_of_official_lists_get_their_official_spelling() {
    let table = Table::new();
    table.import(FULL, false);
    let before = table.text("A");
    let spelled =
        FULL.replacen("A,2024", " A ,2024", 1)
            .replacen(",D,C,maison,", ", d ,c, Maison,", 1);
    let (outcome, report) = table.import(&spelled, false);
    assert_eq!(
        (outcome.replaced, outcome.unchanged, outcome.total),
        (0, 2, 2)
    );
    assert_eq!(table.text("A"), before);
    assert!(report.unlisted_values.is_empty());
    let scored = FULL.replacen(",D,C,maison,", ",D (180),C,maison,", 1);
    assert_eq!(table.import(&scored, false).0.unchanged, 2);
}

#[test]
fn a_diagnostic_without_a_class_is_kept_and_counted() {
    let table = Table::new();
    for (cell, class) in [("Vierge", "NC"), ("N", "")] {
        let blank = FULL.replacen(",D,C,maison,", &format!(",{cell},{class},maison,"), 1);
        let (outcome, report) = table.import(&blank, false);
        assert_eq!((outcome.total, report.rows_rejected()), (2, 0));
        let record = table.record("A");
        assert!(record.get("etiquette_dpe").is_none() && record.get("etiquette_ges").is_none());
        assert!(report.unlisted_values.is_empty());
        let left_out = &report.files[0].read.reading.left_out.0["diagnostic without a class"];
        assert_eq!(left_out.examples[0].value, cell);
    }
}

/// Imports the real diagnostics of Lozère, then a file with three of their columns and other labels: only these labels
/// change.
#[test]
fn a_real_department_keeps_what_a_small_file_lacks() {
    let Some(root) = std::env::var_os("TOISE_REAL_DATA") else {
        skipped("TOISE_REAL_DATA is not set");
        return;
    };
    let table = Table::new();
    let file = Path::new(&root).join("dpe/dpe48_lozere_v1names_5224.csv.gz");
    let (outcome, report) = table.import_file(file, false);
    assert_eq!((outcome.added, report.rows_rejected()), (5_224, 0));
    assert_eq!(
        report.unlisted_values.len(),
        0,
        "{:?}",
        report.unlisted_values
    );
    let import = table.lake.import(Dataset::Dpe.schema()).unwrap();
    drop(import);
    let numbers: Vec<String> = all_numbers(&table);
    let before: Vec<Value> = numbers
        .iter()
        .map(|number| table.record(number))
        .take(50)
        .collect();
    let few: String = numbers
        .iter()
        .map(|number| format!("{number},G,D ou E\n"))
        .collect();
    let few = format!("numero_dpe,etiquette_dpe,etiquette_ges\n{few}");
    let started = std::time::Instant::now();
    let (outcome, report) = table.import(&few, false);
    println!(
        "5,224 rows completed in {:.2} s",
        started.elapsed().as_secs_f64()
    );
    // A few already have the label G; none has `D ou E`.
    assert_eq!((outcome.replaced, outcome.total), (5_224, 5_224));
    assert_eq!(report.unlisted_values["etiquette_ges"]["D ou E"], 5_224);
    for mut record in before {
        record["etiquette_dpe"] = "G".into();
        record["etiquette_ges"] = "D ou E".into();
        assert_eq!(table.record(record["numero_dpe"].as_str().unwrap()), record);
    }
    let (again, _) = table.import(&few, false);
    assert_eq!((again.replaced, again.unchanged), (0, 5_224));
}

fn all_numbers(table: &Table) -> Vec<String> {
    use arrow::array::AsArray;
    use toise_lake::data_file::DataFile;
    let schema = Dataset::Dpe.schema();
    let snapshot = table.lake.snapshot(schema).unwrap();
    let mut numbers = Vec::new();
    for entry in &snapshot.parts {
        let file = DataFile::open(&table.lake.folder(schema), entry, schema).unwrap();
        for group in 0..file.metadata().num_row_groups() {
            let ids = file.read_column(group, 0).unwrap();
            numbers.extend(ids.as_string::<i32>().iter().flatten().map(str::to_owned));
        }
    }
    numbers
}

#[test]
fn of_two_published_names_of_one_value_the_second_counts_where_the_first_is_empty() {
    let table = Table::new();
    let text =
        "N°DPE,Conso_5_usages_énergie_n°1,Conso_5_usages_é_finale_énergie_n°1\nA,,2053.5\nB,7,8\n";
    assert_eq!(table.import(text, true).0.added, 2);
    for (id, value) in [("A", 2053.5), ("B", 7.0)] {
        assert_eq!(
            table.record(id)["conso_5_usages_ef_energie_n1"].as_f64(),
            Some(value)
        );
    }
}
