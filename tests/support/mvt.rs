//! Reads vector tiles.

use std::collections::BTreeSet;

use fast_mvt::{MvtReaderRef, MvtValueRef};

/// The values of a field of a layer, as text.
pub fn values(tile: &[u8], layer: &str, field: &str) -> Vec<String> {
    let reader = MvtReaderRef::new(tile).unwrap();
    let layers = reader.layers().filter(|found| found.name() == layer);
    let features = layers.flat_map(|layer| layer.features().collect::<Vec<_>>());
    let read = features.filter_map(|feature| {
        let found = feature
            .properties()
            .map(Result::unwrap)
            .find(|(name, _)| *name == field);
        found.map(|(_, value)| match value {
            MvtValueRef::String(text) => text.to_owned(),
            MvtValueRef::UInt(number) => number.to_string(),
            other => format!("{other:?}"),
        })
    });
    read.collect()
}

/// The identifiers of the points of a tile.
pub fn point_ids(tile: &[u8]) -> BTreeSet<String> {
    values(tile, "points", "id").into_iter().collect()
}

/// The number of rows in all hexagons of a tile.
pub fn gathered(tile: &[u8]) -> usize {
    let counts = values(tile, "hexagons", "count").into_iter();
    counts.map(|count| count.parse::<usize>().unwrap()).sum()
}
