//! Selects the local files to import, and groups those that are imported together.
//!
//! A folder may hold files of other kinds, which are reported and skipped. A file that the user names must hold what
//! the command imports. Files of diagnostics with different columns are imported one after the other, those with the
//! most columns first. The rows of a file with fewer columns then also complete the diagnostics that the earlier files
//! stored.

use std::path::{Path, PathBuf};

use super::ImportInput;
use crate::dataset::{Dataset, ImportTable};
use crate::report::SkippedFile;
use crate::source::files::expand;
use crate::source::filiation::is_header;
use crate::source::{Error, Header, SourceFormat, SourceLocation, read_header};
use crate::{ban, dpe, dvf, rnb};

/// Maximum columns named in the reason for skipping a file.
const COLUMNS_SHOWN: usize = 4;

/// Local files to import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalFiles {
    /// Files to import.
    pub inputs: Vec<ImportInput>,
    /// Files of the folders that hold something else.
    pub skipped: Vec<SkippedFile>,
}

/// Returns the files that arguments (files, globs, folders) name for a table. Reads the first rows of every file of a
/// folder.
///
/// # Errors
/// An argument matches no file; a file of a folder cannot be read; or the folders hold nothing for the table.
pub fn local_files(table: ImportTable, arguments: &[PathBuf]) -> Result<LocalFiles, Error> {
    let mut found = LocalFiles::default();
    for argument in arguments {
        for path in expand(std::slice::from_ref(argument))? {
            if found.inputs.iter().any(|input| input.path == path) {
                continue;
            }
            let foreign = if argument.is_dir() {
                foreign(table, &path)?
            } else {
                None
            };
            match foreign {
                Some(skipped) => found.skipped.push(skipped),
                None => found.inputs.push(ImportInput::local(path)),
            }
        }
    }
    if let (true, Some(first)) = (found.inputs.is_empty(), found.skipped.first()) {
        let reason = format!(
            "nothing to import: none of {} files is a file of {}; {}",
            found.skipped.len(),
            content(table),
            first.reason
        );
        return Err(Error::malformed(SourceLocation::file(&first.name), reason));
    }
    Ok(found)
}

/// Returns why a file of a folder does not belong to a table; `None` if it does.
fn foreign(table: ImportTable, path: &Path) -> Result<Option<SkippedFile>, Error> {
    let name = path.display().to_string();
    let skipped = |reason| {
        let name = name.clone();
        Ok(Some(SkippedFile { name, reason }))
    };
    if path.metadata().is_ok_and(|about| about.len() == 0) {
        return skipped("the file is empty".to_owned());
    }
    let header = match read_header(path, &name) {
        Ok((format, header)) if is_page_without_rows(format, &header) => {
            return skipped("the file has no rows".to_owned());
        }
        Ok((_, header)) => header,
        // A JSON document that is not a list of rows, such as metadata or a map.
        Err(Error::Malformed { reason, .. }) if is_json(path) => return skipped(reason),
        Err(error) => return Err(error),
    };
    match kind_of(&header) {
        Some(kind) if kind == table => Ok(None),
        Some(kind) => skipped(format!("it holds {}", content(kind))),
        None => {
            let mut shown: Vec<&str> = header.names.iter().map(String::as_str).collect();
            if shown.len() > COLUMNS_SHOWN {
                shown.truncate(COLUMNS_SHOWN);
                shown.push("…");
            }
            let shown = shown.join(", ");
            skipped(format!("its columns are of no known kind: {shown}"))
        }
    }
}

fn is_json(path: &Path) -> bool {
    let name = path.to_string_lossy().to_lowercase();
    name.ends_with(".json") || name.ends_with(".json.gz")
}

/// Returns the table that a file with these columns is imported into; `None` if its columns are of no known kind.
fn kind_of(header: &Header) -> Option<ImportTable> {
    if is_header(header) {
        return Some(ImportTable::Dfi);
    }
    // Tested in this order because sales have the fewest columns in common with other kinds, addresses the most.
    if dvf::columns::DvfColumns::find(header, "").is_ok() {
        return Some(Dataset::Dvf.into());
    }
    if dpe::source::DpeColumns::find(header, "").is_ok() {
        return Some(Dataset::Dpe.into());
    }
    if rnb::columns::RnbColumns::find(header, "").is_ok() {
        return Some(ImportTable::Rnb);
    }
    let is_ban = ban::columns::BanColumns::find(header, "").is_ok();
    is_ban.then_some(ImportTable::Ban)
}

/// Explains why a file with this header lacks columns of a table: it may hold what another command imports.
pub(super) fn explain_missing(error: Error, table: ImportTable, header: &Header) -> Error {
    let kind = kind_of(header).filter(|kind| *kind != table);
    match (error, kind) {
        (Error::MissingColumn { place, .. }, Some(kind)) => Error::malformed(
            SourceLocation::file(&place.file),
            format!(
                "it holds {}; import it with `toise import {}`",
                content(kind),
                kind.name()
            ),
        ),
        (error, _) => error,
    }
}

/// Returns what a table holds, for messages.
fn content(table: ImportTable) -> &'static str {
    match table {
        ImportTable::Dataset(Dataset::Dvf) => "recorded sales (DVF)",
        ImportTable::Dataset(Dataset::Dpe) => "energy diagnostics (DPE)",
        ImportTable::Ban => "addresses (BAN)",
        ImportTable::Rnb => "buildings (RNB)",
        ImportTable::Dfi => "changes of parcels (DFI)",
    }
}

/// Returns whether a file is a page of JSON without rows, as the last one of a source often is. It has no columns.
fn is_page_without_rows(format: SourceFormat, header: &Header) -> bool {
    format == SourceFormat::JsonPage && header.names.is_empty()
}

/// Divides files into groups that are imported one after the other, each as one publication. Files of diagnostics are
/// grouped by their columns, those with the most columns first. JSON omits columns without a value, so all JSON files
/// of diagnostics form one group. Files of other tables form one group.
///
/// # Errors
/// A file cannot be read, or lacks the number of the diagnostic.
pub fn group_by_columns(
    table: ImportTable,
    inputs: Vec<ImportInput>,
) -> Result<Vec<Vec<ImportInput>>, Error> {
    let has_columns_of_its_own = |input: &ImportInput| !input.has_all_columns;
    let is_partial = table == Dataset::Dpe.into() && inputs.iter().any(has_columns_of_its_own);
    if !is_partial || inputs.len() < 2 {
        return Ok(vec![inputs]);
    }
    // Positions of the published columns present; `None` for JSON.
    type Columns = Option<Vec<usize>>;
    let mut groups: Vec<(Columns, usize, Vec<ImportInput>)> = Vec::new();
    for input in inputs {
        let (format, header) = read_header(&input.path, &input.name)?;
        let (columns, count) = if is_page_without_rows(format, &header) {
            (None, 0)
        } else {
            let found = dpe::source::DpeColumns::find(&header, &input.name)
                .map_err(|error| explain_missing(error, table, &header))?;
            let present = found.positions.iter().enumerate();
            let present = present.filter(|(_, position)| position.is_some());
            let columns = match format {
                SourceFormat::NdJson | SourceFormat::JsonPage => None,
                _ => Some(present.map(|(index, _)| index).collect()),
            };
            (columns, found.count())
        };
        match groups.iter_mut().find(|(known, ..)| *known == columns) {
            Some((_, most, group)) => {
                *most = count.max(*most);
                group.push(input);
            }
            None => groups.push((columns, count, vec![input])),
        }
    }
    groups.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
    Ok(groups.into_iter().map(|(_, _, group)| group).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DVF: &str =
        "id_mutation,date_mutation,nature_mutation,valeur_fonciere,code_commune,type_local\n";
    const DPE: &str = "numero_dpe;etiquette_dpe\n1;A\n";
    const BAN: &str = "id;nom_voie;code_insee\n";
    const DFI: &str = "140;001;000;0000299;1;19900305;X;00001;1;A0120;\n140;001;000;0000299;1;19900305;X;00001;2;A0297;A0298;\n";
    const RNB: &str = "rnb_id;point;shape;status;ext_ids;addresses;plots\n";

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn name(path: &Path) -> String {
        path.file_name().unwrap().to_string_lossy().into_owned()
    }

    #[test]
    fn foreign_files_of_a_folder_are_named_and_skipped() {
        let folder = folder(&[
            ("a.csv", DVF),
            ("b.csv", DPE),
            ("c.csv", BAN),
            ("d.txt", "Read me first\n"),
            ("e.json", "{\n  \"type\": \"FeatureCollection\"\n}"),
            ("f.csv", ""),
            ("g.csv", RNB),
            ("h.txt", DFI),
        ]);
        let argument = [folder.path().to_owned()];
        for (table, own) in [
            (Dataset::Dvf.into(), "a.csv"),
            (Dataset::Dpe.into(), "b.csv"),
            (ImportTable::Ban, "c.csv"),
            (ImportTable::Rnb, "g.csv"),
            (ImportTable::Dfi, "h.txt"),
        ] {
            let found = local_files(table, &argument).unwrap();
            let inputs: Vec<String> = found.inputs.iter().map(|input| name(&input.path)).collect();
            assert_eq!(inputs, [own]);
            assert_eq!(found.skipped.len(), 7, "{:?}", found.skipped);
        }
        let found = local_files(Dataset::Dvf.into(), &argument).unwrap();
        let reason = |file: &str| {
            let mut skipped = found.skipped.iter();
            let skipped = skipped.find(|skipped| skipped.name.ends_with(file));
            skipped.unwrap().reason.clone()
        };
        assert_eq!(reason("b.csv"), "it holds energy diagnostics (DPE)");
        assert_eq!(reason("c.csv"), "it holds addresses (BAN)");
        assert_eq!(
            reason("d.txt"),
            "its columns are of no known kind: Read me first"
        );
        assert_eq!(reason("f.csv"), "the file is empty");
    }

    #[test]
    fn a_file_that_is_named_is_never_skipped() {
        let folder = folder(&[("a.csv", DPE)]);
        let named = [folder.path().join("a.csv")];
        let found = local_files(Dataset::Dvf.into(), &named).unwrap();
        assert_eq!((found.inputs.len(), found.skipped.len()), (1, 0));
        let error = local_files(Dataset::Dvf.into(), &[folder.path().to_owned()]).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("none of 1 files"), "{message}");
        assert!(message.contains("energy diagnostics"), "{message}");
    }

    #[test]
    fn a_page_without_rows_stops_no_import() {
        let folder = folder(&[
            ("1.json", r#"{"total":1,"results":[{"numero_dpe":"1"}]}"#),
            ("2.json", r#"{"total":1,"results":[]}"#),
            ("3.json", "[]"),
        ]);
        let table = Dataset::Dpe.into();
        let found = local_files(table, &[folder.path().join("*.json")]).unwrap();
        let groups = group_by_columns(table, found.inputs.clone()).unwrap();
        assert_eq!(groups, std::slice::from_ref(&found.inputs));
        let found = local_files(table, &[folder.path().to_owned()]).unwrap();
        assert_eq!((found.inputs.len(), found.skipped.len()), (1, 2));
        assert_eq!(found.skipped[0].reason, "the file has no rows");
        // The import of these alone says that there are no rows.
        let pages = ["2.json", "3.json"].map(|name| folder.path().join(name));
        let found = local_files(table, &pages).unwrap();
        assert_eq!(group_by_columns(table, found.inputs).unwrap().len(), 1);
    }

    #[test]
    fn files_of_diagnostics_are_grouped_by_their_columns() {
        let folder = folder(&[
            ("a.csv", "numero_dpe;etiquette_dpe\n"),
            ("b.csv", "etiquette_dpe;numero_dpe;etiquette_ges;what\n"),
            ("c.csv", "Etiquette_DPE,N°DPE\n"),
            ("d.ndjson", "{\"numero_dpe\":\"1\"}\n"),
            (
                "e.ndjson",
                "{\"numero_dpe\":\"1\",\"etiquette_ges\":\"A\"}\n",
            ),
        ]);
        let found = local_files(Dataset::Dpe.into(), &[folder.path().to_owned()]).unwrap();
        let groups = group_by_columns(Dataset::Dpe.into(), found.inputs).unwrap();
        let names: Vec<Vec<String>> = groups
            .iter()
            .map(|group| group.iter().map(|input| name(&input.path)).collect())
            .collect();
        assert_eq!(
            names,
            [
                vec!["b.csv"],
                vec!["a.csv", "c.csv"],
                vec!["d.ndjson", "e.ndjson"]
            ]
        );
    }
}
