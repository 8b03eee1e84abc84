//! Imports a file as a layer.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;

use toise_base::clock::{Clock, iso};
use toise_lake::Provenance;

use crate::error::{Error, Result};
use crate::folder;
use crate::geometry::type_name;
use crate::metadata::{Attribute, AttributeKind, LayerMetadata, LayerName};
pub use crate::prepare::InvalidFeatures;
use crate::prepare::prepare;
use crate::read::read;
use crate::write::{OWN_COLUMNS, write};

/// Licence of a layer if none was given.
pub const UNKNOWN_LICENCE: &str = "not stated";

/// Options of an import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Licence of the file.
    pub licence: Option<String>,
    /// Address where the file was published.
    pub source: Option<String>,
    /// The treatment of features whose geometry is not valid.
    pub invalid: InvalidFeatures,
}

/// Reads a file and stores it as a layer, replacing any of the same name. Running queries keep the layer they started
/// with. Returns once the layer is durable. Blocks, and uses all cores.
///
/// # Errors
/// The file cannot be read or has a geometry that is not valid, or the layer cannot be written. A layer of the same
/// name then stays unchanged.
pub fn import(
    data: &Path,
    name: &LayerName,
    file: &Path,
    options: &ImportOptions,
    clock: &Clock,
) -> Result<LayerMetadata> {
    let raw = read(file)?;
    let refused = |reason: String| Error::File {
        path: file.to_owned(),
        reason,
    };
    let prepared = prepare(raw.geometries, raw.system, options.invalid).map_err(refused)?;
    let columns = columns(raw.attributes.schema().fields().iter().map(|field| {
        let kind = AttributeKind::of(field.data_type()).unwrap_or(AttributeKind::Text);
        (field.name().as_str(), kind)
    }));
    let types: BTreeSet<&str> = prepared
        .features
        .iter()
        .map(|feature| type_name(&feature.geometry))
        .collect();
    let types: Vec<String> = types.into_iter().map(str::to_owned).collect();
    let (draft, _lock) = folder::draft(data, name)?;
    write(
        draft.as_file(),
        &prepared,
        &raw.attributes,
        &columns,
        &types,
    )
    .map_err(|error| Error::io(draft.path())(io::Error::other(error)))?;
    let (checksum, bytes) = digest(draft.path())?;
    let (source_checksum, source_bytes) = digest(file)?;
    let file_name = file.file_name().unwrap_or(file.as_os_str());
    let source = options.source.clone();
    let licence = options.licence.clone();
    let layer = LayerMetadata {
        name: name.clone(),
        provenance: Provenance {
            name: source.unwrap_or_else(|| file_name.to_string_lossy().into_owned()),
            edition: None,
            checksum: source_checksum,
            licence: licence.unwrap_or_else(|| UNKNOWN_LICENCE.to_owned()),
            read_at: iso(clock.now()),
            bytes: source_bytes,
        },
        format: raw.format.to_owned(),
        reference_system: prepared.system.name(),
        features: prepared.features.len() as u64,
        without_geometry: prepared.without_geometry,
        mended: prepared.mended,
        invalid: prepared.invalid,
        vertices: prepared.vertices,
        geometry_types: types,
        bbox: prepared.bbox,
        columns,
        data: String::new(),
        checksum,
        bytes,
    };
    folder::store(data, draft, layer)
}

/// Returns the attributes. Names are in lower case, so that they need no quotation marks in SQL. A name that is taken
/// or is one of the layer's own columns gets the number of its column as suffix, or the next number that makes it
/// distinct. An empty name becomes `column_` and that number.
fn columns<'n>(fields: impl Iterator<Item = (&'n str, AttributeKind)>) -> Vec<Attribute> {
    let mut columns: Vec<Attribute> = Vec::new();
    for (place, (name, kind)) in fields.enumerate() {
        let given = name.trim().to_lowercase();
        let base = if given.is_empty() {
            "column"
        } else {
            given.as_str()
        };
        let is_free = |name: &str| {
            let is_taken = columns.iter().any(|column| column.name == name);
            !name.is_empty() && !OWN_COLUMNS.contains(&name) && !is_taken
        };
        let (mut name, mut number) = (given.clone(), place + 1);
        while !is_free(&name) {
            name = format!("{base}_{number}");
            number += 1;
        }
        columns.push(Attribute { name, kind });
    }
    columns
}

/// Returns the BLAKE3 of a file, hexadecimal, and its length.
fn digest(path: &Path) -> Result<(String, u64)> {
    let file = File::open(path).map_err(Error::io(path))?;
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file).map_err(Error::io(path))?;
    Ok((hasher.finalize().to_hex().to_string(), hasher.count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_distinct_names_in_lower_case() {
        let given = ["Code INSEE", "geometry", "Nom", "nom", ""];
        let named = columns(given.map(|name| (name, AttributeKind::Text)).into_iter());
        let named: Vec<&str> = named.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(
            named,
            ["code insee", "geometry_2", "nom", "nom_4", "column_5"]
        );
        // A suffix may be the name of another column.
        let given = ["nom_3", "Nom", "nom"].map(|name| (name, AttributeKind::Text));
        let named = columns(given.into_iter());
        let named: Vec<&str> = named.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(named, ["nom_3", "nom", "nom_4"]);
    }
}
