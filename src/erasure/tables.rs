//! Searches the data files of the tables of properties and adverts, all kept versions included, and rewrites them.
//!
//! The tables and the text index are derived from the store, from which the contacts are already gone: compacting the
//! cleared records replaces the rows that hold a contact. Previous versions, which still have these rows, are deleted
//! immediately, not only after later publications.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::datatypes::{DataType, Int32Type};

use super::Result;
use super::context::{Folder, Search, file_text};
use super::findings::Place;
use toise_adverts::contacts::{Contact, ErasedContacts};
use toise_contract::listings::filters::ListingKind;
use toise_lake::data_file::DataFile;
use toise_lake::schema::TableSchema;
use toise_listings::columns::table_of;
use toise_listings::search::projection::compaction;
use toise_listings::search::texts;

/// Rows that are read together.
const BATCH_ROWS: usize = 8_192;
/// Ends of the names of columns that identify a listing or a page: numbers in them are not telephone numbers.
const IDENTIFYING: [&str; 3] = ["url", "flx_id", "website"];

/// Searches the tables, and rewrites them and the text index unless this is a dry run.
pub(crate) fn run(folder: &Folder, search: &mut Search<'_>) -> Result<()> {
    let mut has_any = search.is_resumed;
    for listing in [ListingKind::Property, ListingKind::Advert] {
        let schema = table_of(listing);
        let found = files_with(folder, schema, &search.contacts)?;
        has_any |= !found.is_empty();
        search.note(&folder.store, Place::DataFiles, found)?;
    }
    let Some(erasure) = search.erasure else {
        return Ok(());
    };
    let found = erasure.found(&folder.store)?;
    has_any |= found.count(Place::Adverts) > 0 || found.count(Place::DataFiles) > 0;
    if !has_any {
        return Ok(());
    }
    let lake = folder.lake.clone().keeping(1);
    for listing in [ListingKind::Property, ListingKind::Advert] {
        let schema = table_of(listing);
        if lake.snapshot(schema)?.sequence == 0 {
            continue;
        }
        compaction::retry_while_locked(|| {
            compaction::compact(&folder.listings, &lake, listing, &|_| {})
        })?;
        if !current_files_with(folder, schema, &search.contacts)?.is_empty() {
            // A record that is damaged in the store was skipped, so its previous row is still there.
            compaction::retry_while_locked(|| {
                compaction::rebuild(&folder.listings, &lake, listing, &|_| {})
            })?;
        }
        compaction::retry_while_locked(|| Ok(lake.forget_versions(schema)?))?;
    }
    if folder.data.join(texts::FOLDER).exists() {
        let listings = &folder.listings;
        let properties = listings.count_since(ListingKind::Property, 0, usize::MAX)?;
        let bar = folder.progress.rows("text index", properties as u64);
        texts::replace(&folder.data, listings, &|indexed| bar.inc(indexed))?;
        bar.finish_and_clear();
    }
    Ok(())
}

/// Returns the data files, of all kept versions of a table, that hold a contact.
fn files_with(
    folder: &Folder,
    schema: &'static TableSchema,
    contacts: &ErasedContacts,
) -> Result<Vec<String>> {
    let mut files = BTreeMap::new();
    for version in folder.lake.versions(schema)? {
        files.extend(
            version
                .parts
                .into_iter()
                .map(|entry| (entry.file.clone(), entry)),
        );
    }
    searched(folder, schema, contacts, files.into_values().collect())
}

fn current_files_with(
    folder: &Folder,
    schema: &'static TableSchema,
    contacts: &ErasedContacts,
) -> Result<Vec<String>> {
    let current = folder.lake.snapshot(schema)?;
    searched(folder, schema, contacts, current.parts)
}

fn searched(
    folder: &Folder,
    schema: &'static TableSchema,
    contacts: &ErasedContacts,
    entries: Vec<toise_lake::snapshot::DataFileEntry>,
) -> Result<Vec<String>> {
    let own = folder.lake.folder(schema);
    let rows = entries.iter().map(|entry| entry.rows).sum();
    let bar = folder.progress.rows(schema.name, rows);
    let mut found = Vec::new();
    for entry in entries {
        bar.inc(entry.rows);
        let path = own.join(&entry.file);
        // A publication of another process may have deleted the file of a previous version.
        if !path.exists() {
            continue;
        }
        let file = DataFile::open(&own, &entry, schema)?;
        for batch in file.batches(BATCH_ROWS)? {
            let batch = batch?;
            let names = batch.schema_ref().fields().iter().map(|field| field.name());
            let has = |(name, column): (&String, &ArrayRef)| is_in_column(name, column, contacts);
            if names.zip(batch.columns()).any(has) {
                found.push(file_text(&folder.data, &path));
                break;
            }
        }
    }
    bar.finish_and_clear();
    Ok(found)
}

/// Returns whether a column, or a field of its items, has a contact.
fn is_in_column(name: &str, column: &ArrayRef, contacts: &ErasedContacts) -> bool {
    match column.data_type() {
        DataType::Utf8 => {
            let is_identifying = IDENTIFYING.iter().any(|end| name.ends_with(end));
            !is_identifying && is_in_texts(column.as_string::<i32>(), contacts)
        }
        DataType::Dictionary(..) => {
            let values = column
                .as_dictionary_opt::<Int32Type>()
                .map(|column| Arc::clone(column.values()));
            values.is_some_and(|values| is_in_column(name, &values, contacts))
        }
        DataType::List(_) => is_in_column(name, column.as_list::<i32>().values(), contacts),
        DataType::Struct(fields) => {
            let parts = fields.iter().zip(column.as_struct().columns());
            parts
                .into_iter()
                .any(|(field, part)| is_in_column(field.name(), part, contacts))
        }
        _ => false,
    }
}

fn is_in_texts(texts: &StringArray, contacts: &ErasedContacts) -> bool {
    texts.iter().flatten().any(|text| {
        let is_name = || Contact::name(text).is_some_and(|name| contacts.contains(&name));
        contacts.without_contacts(text).is_some() || is_name()
    })
}
