//! A table of sales from before it had the columns of mutations: it stays readable, and an import of the same file
//! completes it.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use arrow::array::{AsArray, RecordBatch, StringArray};
use serde_json::{Value, json};
use toise::lake::schema::{RECORD, TableSchema};
use toise::lake::{Lake, RowSink};
use toise::opendata::Dataset;
use toise::opendata::import::{ImportInput, ImportOptions, import_file};
use toise::opendata::report::ImportReport;

use crate::support::assertions::pick;
use crate::support::process::{run, sql_number};

/// Columns that were added to the table later.
const LATER: [&str; 4] = [
    "mutation_id",
    "mutation_records",
    "mutation_share",
    "is_sold_together",
];

/// The table as it was.
static FORMER: LazyLock<TableSchema> = LazyLock::new(|| {
    let today = Dataset::Dvf.schema();
    let mut columns = today.columns.clone();
    columns.retain(|column| !LATER.contains(&&*column.name) && column.name != RECORD);
    TableSchema::new(
        today.name, columns, today.id, today.version, today.department, today.commune, today.class,
        today.date, today.supersedes,
    )
});

/// Passes rows on without the columns that were added later.
struct FormerTable<'s>(&'s mut dyn RowSink);

impl RowSink for FormerTable<'_> {
    fn push(&mut self, batch: RecordBatch) -> Result<(), toise::lake::Error> {
        let fields = FORMER.arrow().fields().iter();
        let columns = fields.map(|field| {
            let column = batch.column_by_name(field.name()).unwrap();
            if field.name() == RECORD {
                Arc::new(
                    column
                        .as_string::<i32>()
                        .iter()
                        .map(former)
                        .collect::<StringArray>(),
                )
            } else {
                column.clone()
            }
        });
        let columns = columns.collect();
        self.0
            .push(RecordBatch::try_new(FORMER.arrow().clone(), columns).unwrap())
    }
}

/// A record without the fields that it did not have.
fn former(record: Option<&str>) -> Option<String> {
    let mut record: Value = serde_json::from_str(record?).unwrap();
    let fields = record.as_object_mut().unwrap();
    fields.retain(|name, _| !LATER.contains(&name.as_str()));
    Some(record.to_string())
}

const SALES: &str = "id_mutation,date_mutation,nature_mutation,valeur_fonciere,code_commune,id_parcelle,type_local,\
    surface_reelle_bati,longitude,latitude\n\
    m1,2023-01-05,Vente,300000,01053,01053000AB0001,Appartement,40,5.2,46.2\n\
    m1,2023-01-05,Vente,300000,01053,01053000AB0001,Maison,60,5.2,46.2\n\
    m2,2023-01-06,Vente,200000,01053,01053000AB0002,Maison,80,5.2,46.2\n";

fn import_as_it_was(data: &Path, file: &Path) {
    let lake = Lake::open(data).unwrap();
    let mut import = lake.import(&FORMER).unwrap();
    let input = ImportInput::local(file.to_owned());
    let options = ImportOptions::default();
    let mut report = ImportReport::default();
    let mut former = FormerTable(&mut import);
    import_file(Dataset::Dvf, &input, &mut former, &options, &mut report).unwrap();
    import.publish(Vec::new(), Vec::new()).unwrap();
}

#[test]
fn a_table_of_an_earlier_version_is_read_and_completed() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path(), folder.path().join("sales.csv"));
    std::fs::write(&file, SALES).unwrap();
    import_as_it_was(data, &file);
    let count =
        |condition: &str| sql_number(data, &format!("select count(*) from dvf where {condition}"));
    assert_eq!(count("price_eur = 300000"), 2);
    assert_eq!(count("mutation_id is null and mutation_share is null"), 3);
    assert_eq!(count("is_sold_together"), 0);
    let volume = "select cast(sum(price_eur * mutation_share) as bigint) from dvf";

    // A further sale: its file has the columns, the former one does not.
    let more = folder.path().join("more.csv");
    let header = SALES.lines().next().unwrap();
    std::fs::write(
        &more,
        format!("{header}\nm3,2023-01-07,Vente,100000,01053,01053000AB0003,Maison,50,5.2,46.2\n"),
    )
    .unwrap();
    let report = run(data, &["import", "dvf", more.to_str().unwrap()]);
    assert_eq!(report["outcome"]["added"], 1);
    assert_eq!(count("mutation_id is null"), 3);
    assert_eq!(count("mutation_id = 'm3'"), 1);
    assert_eq!(sql_number(data, volume), 100_000);

    // Importing the first file again adds the columns of its sales.
    let report = run(data, &["import", "dvf", file.to_str().unwrap()]);
    assert_eq!(
        pick(&report["outcome"], ["replaced", "added"]),
        json!([3, 0])
    );
    assert_eq!(count("mutation_id is null"), 0);
    assert_eq!(sql_number(data, volume), 600_000);
    assert_eq!(count("mutation_records = 2 and is_sold_together"), 2);
}
