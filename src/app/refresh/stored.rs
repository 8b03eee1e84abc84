//! Reads which rows of each department the tables of open data hold, from two of their columns.

use std::collections::{BTreeMap, BTreeSet};

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::Int32Type;

use toise_lake::data_file::DataFile;
use toise_lake::schema::TableSchema;
use toise_lake::{Error, Lake};

/// Counts the rows of a table by department. Rows without a department are not counted.
pub(super) fn rows_by_department(
    lake: &Lake,
    schema: &TableSchema,
) -> Result<BTreeMap<String, u64>, Error> {
    let mut rows = BTreeMap::new();
    each_group(lake, schema, None, &mut |file, group| {
        let departments = column(file, group, schema, schema.department)?;
        let departments = departments.as_dictionary::<Int32Type>();
        let names = departments.values().as_string::<i32>();
        let mut counts = vec![0; names.len()];
        for code in departments.keys().iter().flatten() {
            counts[code as usize] += 1;
        }
        for (name, count) in names.iter().flatten().zip(counts) {
            if count > 0 {
                *rows.entry(name.to_owned()).or_default() += count;
            }
        }
        Ok(())
    })?;
    Ok(rows)
}

/// Returns the ids of the rows of a department.
pub(super) fn ids_of(
    lake: &Lake,
    schema: &TableSchema,
    department: &str,
) -> Result<BTreeSet<String>, Error> {
    let mut found = BTreeSet::new();
    let only = [department.to_owned()];
    each_group(lake, schema, Some(&only), &mut |file, group| {
        let departments = column(file, group, schema, schema.department)?;
        let departments = departments.as_dictionary::<Int32Type>();
        let names = departments.values().as_string::<i32>();
        let ids = column(file, group, schema, schema.id)?;
        let ids = ids.as_string::<i32>();
        for row in 0..departments.len() {
            let code = departments.key(row);
            if code.is_some_and(|code| names.value(code) == department) {
                found.insert(ids.value(row).to_owned());
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// Calls `take` with each row group of a table. If departments are named, skips files that have no rows of them.
fn each_group(
    lake: &Lake,
    schema: &TableSchema,
    departments: Option<&[String]>,
    take: &mut dyn FnMut(&DataFile, usize) -> Result<(), Error>,
) -> Result<(), Error> {
    for entry in &lake.snapshot(schema)?.parts {
        if departments.is_some_and(|departments| !entry.may_have_rows_of(departments)) {
            continue;
        }
        let file = DataFile::open(&lake.folder(schema), entry, schema)?;
        for group in 0..file.metadata().num_row_groups() {
            take(&file, group)?;
        }
    }
    Ok(())
}

fn column(
    file: &DataFile,
    group: usize,
    schema: &TableSchema,
    name: &str,
) -> Result<ArrayRef, Error> {
    let found = schema.column(name);
    let (index, _) = found.ok_or_else(|| Error::UnknownColumn {
        table: schema.name,
        column: name.to_owned(),
    })?;
    file.read_column(group, index)
}
