//! Opens the one table in a zip archive.
//!
//! Publishers and portals often pack a table together with a notice or pictures. A member is the table if its name has
//! the ending of one. If there are several, the user must unpack the archive, because it is unclear which one is
//! wanted.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use flate2::read::DeflateDecoder;
use toise_base::bounded::expand;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use crate::error::Error;

/// Endings of members that are tables.
const TABLES: [&str; 15] = [
    ".csv", ".tsv", ".txt", ".json", ".ndjson", ".jsonl", ".geojson", ".xml", ".parquet", ".xlsx",
    ".xlsm", ".xls", ".ods", ".gz", ".zst",
];
/// Words in the names of members that accompany a table.
const NOTICES: [&str; 5] = ["readme", "lisez", "licen", "notice", "config.txt"];
/// Endings of geodata that is not read from an archive, and what to do with it.
const GEODATA: [(&str, &str); 4] = [
    (
        ".shp",
        "; unpack it and convert the Shapefile: ogr2ogr -t_srs EPSG:4326 zones.geojson zones.shp",
    ),
    (
        ".gpkg",
        "; unpack it and convert the GeoPackage: ogr2ogr -t_srs EPSG:4326 zones.geojson zones.gpkg",
    ),
    (
        ".kml",
        "; unpack it and convert the KML: ogr2ogr -t_srs EPSG:4326 zones.geojson zones.kml",
    ),
    (".fgb", "; unpack the FlatGeobuf"),
];
/// Maximum members that an error message names.
const NAMES_SHOWN: usize = 5;
/// Maximum members of an archive; a portal's archive may hold a picture of each home.
const MEMBERS_MAX: usize = 1_000_000;
/// Size of read buffers, bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// Format of a workbook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workbook {
    Xlsx,
    Xlsb,
    Ods,
    /// The format before XLSX, which is not a zip archive.
    Xls,
}

/// The kind of an archive.
pub(crate) enum Archive {
    /// A workbook.
    Spreadsheet(Workbook),
    /// A document that is not a table; the text names its kind.
    Other(&'static str),
    /// Files, the table among them.
    Files,
}

fn failed(error: ZipError) -> Error {
    Error::Refused(format!("damaged zip archive: {error}"))
}

/// Returns the names of the members, in order.
fn names(archive: &ZipArchive<BufReader<File>>) -> Result<Vec<String>, Error> {
    if archive.len() > MEMBERS_MAX {
        return Err(Error::Refused(format!(
            "the archive has more than {MEMBERS_MAX} members"
        )));
    }
    let index = |name: Result<_, _>| -> Result<String, Error> {
        let name: std::borrow::Cow<'_, str> = name.map_err(failed)?;
        Ok(name.into_owned())
    };
    archive.file_names().map(index).collect()
}

/// Opens an archive and determines what it is.
pub(crate) fn examine(file: &File) -> Result<(ZipArchive<BufReader<File>>, Archive), Error> {
    let file = BufReader::with_capacity(BUFFER_BYTES, file.try_clone()?);
    // The list of members is at the end.
    let archive = ZipArchive::new(file).map_err(|error| match error {
        ZipError::InvalidArchive(reason) => {
            Error::Refused(format!("damaged zip archive, perhaps cut off: {reason}"))
        }
        error => failed(error),
    })?;
    let names = names(&archive)?;
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    let kind = if has("xl/workbook.xml") {
        Archive::Spreadsheet(Workbook::Xlsx)
    } else if has("xl/workbook.bin") {
        Archive::Spreadsheet(Workbook::Xlsb)
    } else if has("content.xml") && has("META-INF/manifest.xml") {
        Archive::Spreadsheet(Workbook::Ods)
    } else if has("word/document.xml") {
        Archive::Other("a text document: save the table as CSV or XLSX")
    } else if has("ppt/presentation.xml") {
        Archive::Other("a presentation")
    } else {
        Archive::Files
    };
    Ok((archive, kind))
}

/// Opens the table of an archive; returns its name and a reader of its content, which bounds how far it expands.
///
/// # Errors
/// Not exactly one member is a table, or that member is encrypted or packed in an unsupported way.
pub(crate) fn table(
    mut archive: ZipArchive<BufReader<File>>,
) -> Result<(String, Box<dyn Read + Send>), Error> {
    let names = names(&archive)?;
    let is_table = |name: &&String| {
        let lower = name.to_lowercase();
        let file = lower.rsplit('/').next().unwrap_or(&lower);
        !lower.starts_with("__macosx/")
            && !file.starts_with('.')
            && TABLES.iter().any(|ending| file.ends_with(ending))
    };
    let tables: Vec<&String> = names.iter().filter(is_table).collect();
    let is_notice = |name: &&&String| {
        let lower = name.to_lowercase();
        NOTICES.iter().any(|word| lower.contains(word))
    };
    let wanted: Vec<&&String> = tables.iter().filter(|name| !is_notice(name)).collect();
    let name = match (wanted.as_slice(), tables.as_slice()) {
        ([one], _) => (**one).clone(),
        ([], [one]) => (*one).clone(),
        ([], []) => {
            let shown: Vec<&str> = names.iter().take(NAMES_SHOWN).map(String::as_str).collect();
            let has = |ending: &str| {
                names
                    .iter()
                    .any(|name| name.to_lowercase().ends_with(ending))
            };
            let found = GEODATA.iter().find(|(ending, _)| has(ending));
            return Err(Error::Refused(format!(
                "the zip archive holds no table, only {}{}",
                shown.join(", "),
                found.map_or("", |(_, advice)| *advice)
            )));
        }
        (several, _) => {
            let count = several.len().max(tables.len());
            let shown: Vec<&str> = tables
                .iter()
                .take(NAMES_SHOWN)
                .map(|name| name.as_str())
                .collect();
            return Err(Error::Refused(format!(
                "the zip archive holds {count} tables ({}): unpack it",
                shown.join(", ")
            )));
        }
    };
    let (start, length, method) = {
        let index = names
            .iter()
            .position(|known| *known == name)
            .unwrap_or_default();
        let member = archive.by_index_raw(index).map_err(failed)?;
        if member.encrypted() {
            return Err(Error::Refused(format!(
                "{name} in the zip archive is encrypted"
            )));
        }
        let start = member
            .data_start()
            .ok_or_else(|| Error::Refused("damaged zip archive".into()))?;
        (start, member.compressed_size(), member.compression())
    };
    let mut file = archive.into_inner();
    file.seek(SeekFrom::Start(start))?;
    let packed = file.take(length);
    let content: Box<dyn Read + Send> = match method {
        CompressionMethod::Stored => Box::new(packed),
        CompressionMethod::Deflated => {
            Box::new(expand(packed, |packed| Ok(DeflateDecoder::new(packed)))?)
        }
        other => {
            return Err(Error::Refused(format!(
                "{name} in the zip archive is packed with {other}, which is not read: unpack it"
            )));
        }
    };
    Ok((name, content))
}

/// Returns the total size of those members of an archive that `counts` accepts, up to just above `bytes_max`. It is
/// counted by expanding them, because the sizes in an archive may be wrong.
pub(crate) fn expanded_bytes(
    archive: &mut ZipArchive<BufReader<File>>,
    counts: impl Fn(&str) -> bool,
    bytes_max: u64,
) -> Result<u64, Error> {
    let names = names(archive)?;
    let mut bytes = 0;
    for (index, _) in names.iter().enumerate().filter(|(_, name)| counts(name)) {
        let member = archive.by_index(index).map_err(failed)?;
        let left = bytes_max.saturating_sub(bytes) + 1;
        bytes += std::io::copy(&mut member.take(left), &mut std::io::sink())?;
        if bytes > bytes_max {
            break;
        }
    }
    Ok(bytes)
}
