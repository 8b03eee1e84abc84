//! Readers of files: GeoJSON, GeoParquet, FlatGeobuf, and tables with coordinates, WKT or GeoJSON in their columns.
//!
//! Every reader returns a [`RawLayer`], which is entirely in memory, with the geometries as they are in the file.

mod attributes;
mod columns;
mod flatgeobuf;
mod geojson;
mod tabular;

use std::fs::File;
use std::io::{BufRead, Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow::array::RecordBatch;
use geo::Geometry;
use toise_input::TextConversion;

use crate::error::{Error, Result};
use toise_geo::reference_system::ReferenceSystem;

/// Maximum features of a layer.
pub(crate) const FEATURES_MAX: usize = 5_000_000;
/// First bytes of FlatGeobuf.
const FLATGEOBUF: &[u8] = b"fgb\x03";

/// The content of a file.
#[derive(Debug)]
pub(crate) struct RawLayer {
    /// Name of the format.
    pub format: &'static str,
    /// The reference system that the file names.
    pub system: Option<ReferenceSystem>,
    /// The geometry of each feature; `None` if it has none.
    pub geometries: Vec<Option<Geometry>>,
    /// The attributes, one row per feature.
    pub attributes: RecordBatch,
}

/// Reads a file. Blocks.
///
/// # Errors
/// The file cannot be read, has another format, or is damaged; the message names the feature.
pub(crate) fn read(path: &Path) -> Result<RawLayer> {
    let refused = |reason: String| Error::File {
        path: path.to_owned(),
        reason,
    };
    let mut file = File::open(path).map_err(Error::io(path))?;
    let mut start = [0; FLATGEOBUF.len()];
    let is_flatgeobuf = file.read_exact(&mut start).is_ok() && start == *FLATGEOBUF;
    file.rewind().map_err(Error::io(path))?;
    let layer = if is_flatgeobuf {
        // The library panics on some damaged files.
        let read = AssertUnwindSafe(|| flatgeobuf::read(file));
        catch_unwind(read).unwrap_or_else(|_| Err("damaged FlatGeobuf".to_owned()))
    } else {
        read_other(path, file)
    };
    let layer = layer.map_err(refused)?;
    if layer.geometries.iter().all(Option::is_none) {
        let reason = match layer.geometries.len() {
            0 => "it has no features".to_owned(),
            count => format!("none of its {count} features has a geometry"),
        };
        return Err(refused(reason));
    }
    Ok(layer)
}

fn read_other(path: &Path, file: File) -> Result<RawLayer, String> {
    let open = |file: File| {
        toise_input::open(file, TextConversion::Utf8).map_err(|error| error.to_string())
    };
    let mut input = open(file)?;
    if input.is_parquet {
        let content = input.into_file().map_err(|error| error.to_string())?;
        return tabular::read_parquet(content);
    }
    let start = input.reader.fill_buf().map_err(|error| error.to_string())?;
    if start.trim_ascii_start().starts_with(b"{") {
        return geojson::read(input.reader);
    }
    let form = input.form.clone();
    let again = || {
        let file = File::open(path).map_err(|error| error.to_string())?;
        Ok(open(file)?.reader)
    };
    tabular::read_text(again, &form)
}

/// Refuses more features than the maximum.
fn check_count(count: usize) -> Result<(), String> {
    if count > FEATURES_MAX {
        return Err(format!("more than {FEATURES_MAX} features; split the file"));
    }
    Ok(())
}
