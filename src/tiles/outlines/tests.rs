//! Tests of outlines in tiles.

use super::*;
use fast_mvt::{MvtReaderRef, MvtValueRef};

fn tile_at(z: u8, lat: f64, lon: f64) -> TileId {
    let (x, y) = TileId { z, x: 0, y: 0 }.world(lat, lon);
    TileId {
        z,
        x: x as u32,
        y: y as u32,
    }
}

/// Returns the texts of a field of a layer.
fn texts(tile: &[u8], layer: &str, field: &str) -> Vec<String> {
    let reader = MvtReaderRef::new(tile).unwrap();
    let layers = reader.layers().filter(|found| found.name() == layer);
    let features = layers.flat_map(|layer| layer.features().collect::<Vec<_>>());
    let read = features.filter_map(|feature| {
        let mut properties = feature.properties().map(Result::unwrap);
        properties.find_map(|(name, value)| match value {
            MvtValueRef::String(text) if name == field => Some(text.to_owned()),
            _ => None,
        })
    });
    read.collect()
}

/// Returns the areas that cover a position, by the rings that a tile shows.
fn covering(areas: &[Area], id: TileId, lat: f64, lon: f64) -> Vec<&'static str> {
    let (x, y) = id.place(lat, lon);
    let crosses = |ring: &[(f64, f64)]| {
        let next = ring.iter().cycle().skip(1);
        let sides = ring.iter().zip(next);
        let crossed = sides.filter(|(a, b)| {
            (a.1 > y) != (b.1 > y) && x < (b.0 - a.0) * (y - a.1) / (b.1 - a.1) + a.0
        });
        crossed.count()
    };
    let covers = |area: &&Area| {
        area.parts(id)
            .iter()
            .map(|(ring, _)| crosses(ring))
            .sum::<usize>()
            % 2
            == 1
    };
    areas.iter().filter(covers).map(|area| area.code).collect()
}

#[test]
fn every_department_and_commune_has_an_outline() {
    assert_eq!(OUTLINES.departments.len(), 101);
    assert!(
        OUTLINES.communes.len() > 34_500,
        "{}",
        OUTLINES.communes.len()
    );
    for area in OUTLINES.departments.iter().chain(&OUTLINES.communes) {
        assert!(
            !area.rings.is_empty() && !area.rings[0].is_hole,
            "{}",
            area.code
        );
        assert!(!area.name.is_empty(), "{}", area.code);
    }
    // Lozère is in both files of contours; no sliver is left of the border between them.
    let lozere = OUTLINES
        .departments
        .iter()
        .find(|area| area.code == "48")
        .unwrap();
    assert_eq!(lozere.rings.len(), 1);
}

#[test]
fn a_town_lies_in_its_department_and_commune_at_every_zoom() {
    for (code, lat, lon) in [
        ("48095", 44.518, 3.501),
        ("75056", 48.8566, 2.3522),
        ("13055", 43.2965, 5.3698),
        ("2A004", 41.927, 8.735),
        ("97411", -20.895, 55.45),
    ] {
        for z in 5..=14 {
            let id = tile_at(z, lat, lon);
            let department = departments::for_commune(code).unwrap();
            // A simplified border may run past the middle of Paris.
            if z >= 6 {
                assert_eq!(
                    covering(&OUTLINES.departments, id, lat, lon),
                    [department],
                    "{z}"
                );
            }
            if z >= COMMUNES_ZOOM {
                assert_eq!(covering(&OUTLINES.communes, id, lat, lon), [code], "{z}");
            }
        }
    }
}

#[test]
fn tiles_hold_layers_by_zoom_and_stay_small() {
    let france = tile(tile_at(4, 46.5, 2.5)).unwrap();
    assert!(texts(&france, "departments", "name").len() > 50);
    assert!(texts(&france, "communes", "code").is_empty());
    let region = tile(tile_at(8, 44.5, 3.5)).unwrap();
    assert!(texts(&region, "communes", "name").contains(&"Mende".to_owned()));
    assert!(texts(&region, "labels", "name").contains(&"Lozère".to_owned()));
    let street = tile(tile_at(14, 44.518, 3.501)).unwrap();
    assert_eq!(texts(&street, "communes", "code"), ["48095"]);
    // The sea has no department.
    assert!(
        texts(
            &tile(tile_at(10, 46.0, -8.0)).unwrap(),
            "departments",
            "code"
        )
        .is_empty()
    );
    let mut most = 0;
    for z in 0..=ZOOM_MAX {
        for (lat, lon) in [(46.5, 2.5), (48.8, 2.4), (50.4, 3.0), (43.6, 1.4)] {
            most = most.max(tile(tile_at(z, lat, lon)).unwrap().len());
        }
    }
    assert!(most < 500 << 10, "{most}");
}
