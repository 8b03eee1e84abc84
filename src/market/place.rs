//! Packs places (departments, communes, IRIS and square cells) into numbers that sort like their codes.

use serde::{Deserialize, Serialize};

use toise_geo::departments;
use toise_geo::places::Places;
use toise_geo::projection::from_degrees;

/// Side of a cell, metres.
pub const CELL_M: f64 = 1_000.0;
/// Length of the longest code (an IRIS), characters.
const CODE_CHARS: usize = 9;
/// Number of symbols in codes: digits, capital letters, and a filler after the end of a shorter code.
const SYMBOLS: u64 = 37;
/// Bits of one coordinate of a cell; coordinates count cells.
const COORDINATE_BITS: u32 = 16;
/// EPSG codes of the projections of cells: Lambert-93, then those of the overseas departments.
const PROJECTIONS: [(&str, u32); 6] = [
    ("", 2154),
    ("971", 5490),
    ("972", 5490),
    ("973", 2972),
    ("974", 2975),
    ("976", 4471),
];

toise_base::named! {
    /// Kind of place of a row in the report.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Level {
        /// A department.
        Department = "department",
        /// A commune; Paris, Lyon and Marseille by arrondissement.
        Commune = "commune",
        /// An IRIS.
        Iris = "iris",
        /// A square of one kilometre.
        Cell = "cell",
    }
}

/// The code of a place, packed into a number. Keys of one level sort like the codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaceKey(u64);

impl PlaceKey {
    /// Packs a code of at most nine digits and capital letters; `None` for any other text.
    pub fn from_code(code: &str) -> Option<Self> {
        if code.is_empty() || code.len() > CODE_CHARS {
            return None;
        }
        let mut packed = 0;
        for index in 0..CODE_CHARS {
            let symbol = match code.as_bytes().get(index) {
                None => 0,
                Some(digit @ b'0'..=b'9') => u64::from(digit - b'0') + 1,
                Some(letter @ b'A'..=b'Z') => u64::from(letter - b'A') + 11,
                Some(_) => return None,
            };
            packed = packed * SYMBOLS + symbol;
        }
        Some(Self(packed))
    }

    /// Returns the cell that contains a position (degrees in WGS 84), in the official projection of its department.
    pub fn from_position(department: &str, lat: f64, lon: f64) -> Option<Self> {
        let overseas = PROJECTIONS.iter().position(|(code, _)| *code == department);
        let projection = overseas.unwrap_or_default() as u64;
        let (x, y) = from_degrees(department, lat, lon)?;
        let cell = |metres: f64| {
            let cell = (metres / CELL_M).floor();
            (0.0..f64::from(1 << COORDINATE_BITS))
                .contains(&cell)
                .then_some(cell as u64)
        };
        let (east, north) = (cell(x)?, cell(y)?);
        let packed = (projection << COORDINATE_BITS | north) << COORDINATE_BITS | east;
        Some(Self(packed))
    }

    /// Returns the code. The code of a cell names the projection, the side in metres and the south-west corner, as in
    /// INSEE's gridded data: `CRS2154RES1000mN6380000E739000`.
    pub fn code(self, level: Level) -> String {
        if level == Level::Cell {
            let coordinate = |packed: u64| (packed & ((1 << COORDINATE_BITS) - 1)) * CELL_M as u64;
            let (east, north) = (coordinate(self.0), coordinate(self.0 >> COORDINATE_BITS));
            let projection = (self.0 >> (2 * COORDINATE_BITS)) as usize;
            let epsg = PROJECTIONS.get(projection).map_or(0, |(_, epsg)| *epsg);
            return format!("CRS{epsg}RES{CELL_M}mN{north}E{east}");
        }
        let mut symbols = Vec::with_capacity(CODE_CHARS);
        let mut rest = self.0;
        for _ in 0..CODE_CHARS {
            symbols.push((rest % SYMBOLS) as u8);
            rest /= SYMBOLS;
        }
        let characters = symbols.iter().rev().filter(|symbol| **symbol > 0);
        characters
            .map(|symbol| match symbol {
                1..=10 => char::from(b'0' + symbol - 1),
                _ => char::from(b'A' + symbol - 11),
            })
            .collect()
    }

    /// Returns the name of a department or commune, if it is known; `None` for IRIS and cells.
    pub fn name(self, level: Level) -> Option<String> {
        let code = self.code(level);
        match level {
            Level::Department => departments::name(&code).map(str::to_owned),
            Level::Commune => {
                let places = Places::get();
                let place = places.place(places.find(&code)?)?;
                Some(place.name.to_string())
            }
            Level::Iris | Level::Cell => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_unpacked_as_it_was_packed_and_sorts_like_it() {
        let codes = ["01", "2A", "2A004", "48", "48095", "751010101", "974"];
        let keys: Vec<PlaceKey> = codes
            .iter()
            .map(|code| PlaceKey::from_code(code).unwrap())
            .collect();
        assert!(keys.is_sorted());
        for (key, code) in keys.into_iter().zip(codes) {
            assert_eq!(key.code(Level::Commune), code);
        }
        for wrong in ["", "48095-1", "0123456789", "é"] {
            assert_eq!(PlaceKey::from_code(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_cell_names_its_projection_and_its_corner() {
        // The cathedral of Mende, and the cathedral of Saint-Denis de La Réunion.
        let cell = |department, lat, lon| {
            let cell = PlaceKey::from_position(department, lat, lon).unwrap();
            cell.code(Level::Cell)
        };
        assert_eq!(
            cell("48", 44.5181, 3.4989),
            "CRS2154RES1000mN6380000E739000"
        );
        assert!(cell("974", -20.8789, 55.4481).starts_with("CRS2975RES1000mN"));
    }
}
