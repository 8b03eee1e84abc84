//! Stores recorded sales in columns, for training and comparables, with about fifty bytes per sale, so that three
//! million fit in a server's memory.
//!
//! They are sorted by class, then along a Morton curve of their position, then by day and id. A square cell of any
//! power-of-two size is therefore one range of rows, and neighbours in space are neighbours in memory.

use std::ops::Range;

use super::grid::GridPosition;
use super::home::{Extras, Grade, Home, HomeClass};

/// Returns the date that is `days` after 1970-01-01, or the last valid date if it is out of range.
pub fn date(days: i32) -> chrono::NaiveDate {
    chrono::NaiveDate::default()
        .checked_add_signed(chrono::TimeDelta::days(i64::from(days)))
        .unwrap_or(chrono::NaiveDate::MAX)
}

/// A recorded sale of one dwelling, as read.
#[derive(Clone, Debug, PartialEq)]
pub struct HomeSale {
    /// Identifier in the lake: 20 hexadecimal characters, stored as 10 bytes.
    pub id: [u8; ID_BYTES],
    /// Day of the sale, days since 1970-01-01.
    pub day: i32,
    /// Flat or house.
    pub class: HomeClass,
    /// Price in EUR.
    pub price: f64,
    /// Built surface, square metres.
    pub surface_m2: f32,
    /// Main rooms; NaN where unknown.
    pub rooms: f32,
    /// Land sold with it, square metres; NaN where unknown.
    pub land_m2: f32,
    /// Position.
    pub position: GridPosition,
    /// Rank of the department, from 1; 0 where unknown.
    pub department: u8,
    /// Energy class from a diagnostic, 0 for A to 6 for G; NaN where unknown.
    pub energy: f32,
    /// Year of construction, as the middle of a period; NaN where unknown.
    pub construction_year: f32,
}

/// A sale with its commune, which only the evaluation needs.
#[derive(Clone, Debug, PartialEq)]
pub struct SaleWithCommune {
    /// The sale.
    pub sale: HomeSale,
    /// INSEE code of its commune.
    pub commune: [u8; 5],
}

/// Length of an identifier, bytes.
pub const ID_BYTES: usize = 10;

/// Sales in columns, sorted by class, Morton code, day and id.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "columns named after the fields of `Sale`")]
pub struct SaleColumns {
    pub id: Vec<[u8; ID_BYTES]>,
    pub day: Vec<i32>,
    pub price: Vec<f64>,
    pub surface_m2: Vec<f32>,
    pub rooms: Vec<f32>,
    pub land_m2: Vec<f32>,
    pub position: Vec<GridPosition>,
    pub department: Vec<u8>,
    pub energy: Vec<f32>,
    pub construction_year: Vec<f32>,
    /// Number of flats, whose rows come first.
    flats: usize,
}

impl SaleColumns {
    /// Sorts sales into columns; the result does not depend on the input order.
    pub fn new(mut sales: Vec<HomeSale>) -> Self {
        sales.sort_by_cached_key(|sale| (sale.class, sale.position.morton(), sale.day, sale.id));
        let mut columns = Self {
            flats: sales.partition_point(|sale| sale.class == HomeClass::Flat),
            ..Self::default()
        };
        columns.reserve(sales.len());
        for sale in sales {
            columns.id.push(sale.id);
            columns.day.push(sale.day);
            columns.price.push(sale.price);
            columns.surface_m2.push(sale.surface_m2);
            columns.rooms.push(sale.rooms);
            columns.land_m2.push(sale.land_m2);
            columns.position.push(sale.position);
            columns.department.push(sale.department);
            columns.energy.push(sale.energy);
            columns.construction_year.push(sale.construction_year);
        }
        columns
    }

    fn reserve(&mut self, rows: usize) {
        self.id.reserve_exact(rows);
        self.day.reserve_exact(rows);
        self.price.reserve_exact(rows);
        self.surface_m2.reserve_exact(rows);
        self.rooms.reserve_exact(rows);
        self.land_m2.reserve_exact(rows);
        self.position.reserve_exact(rows);
        self.department.reserve_exact(rows);
        self.energy.reserve_exact(rows);
        self.construction_year.reserve_exact(rows);
    }

    /// Number of sales.
    pub fn len(&self) -> usize {
        self.day.len()
    }

    /// Whether there are no sales.
    pub fn is_empty(&self) -> bool {
        self.day.is_empty()
    }

    /// Rows of a class.
    pub fn rows(&self, class: HomeClass) -> Range<usize> {
        match class {
            HomeClass::Flat => 0..self.flats,
            HomeClass::House => self.flats..self.len(),
        }
    }

    /// Class of a row.
    pub fn class(&self, row: usize) -> HomeClass {
        if row < self.flats {
            HomeClass::Flat
        } else {
            HomeClass::House
        }
    }

    /// A row as a sale.
    pub fn sale(&self, row: usize) -> HomeSale {
        HomeSale {
            id: self.id[row],
            day: self.day[row],
            class: self.class(row),
            price: self.price[row],
            surface_m2: self.surface_m2[row],
            rooms: self.rooms[row],
            land_m2: self.land_m2[row],
            position: self.position[row],
            department: self.department[row],
            energy: self.energy[row],
            construction_year: self.construction_year[row],
        }
    }
}

/// Parses an identifier of the lake; `None` if the text is not 20 hexadecimal characters.
pub fn id_of(text: &str) -> Option<[u8; ID_BYTES]> {
    let mut id = [0; ID_BYTES];
    if text.len() != 2 * ID_BYTES {
        return None;
    }
    for (byte, index) in id.iter_mut().zip(0..) {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(id)
}

/// Formats an identifier as the lake does.
pub fn id_text(id: &[u8; ID_BYTES]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl From<&HomeSale> for Home {
    /// Converts a sale to a home without a known price.
    fn from(sale: &HomeSale) -> Self {
        let known = |value: f32| (!value.is_nan()).then(|| f64::from(value));
        Home {
            longitude: sale.position.longitude(),
            latitude: sale.position.latitude(),
            class: sale.class,
            surface_m2: f64::from(sale.surface_m2),
            rooms: known(sale.rooms),
            bedrooms: None,
            land_m2: known(sale.land_m2),
            construction_year: known(sale.construction_year).map(|year| year as i32),
            energy: known(sale.energy).and_then(|grade| Grade::ALL.get(grade as usize).copied()),
            climate: None,
            floor: None,
            floors: None,
            extras: Extras::default(),
            date: date(sale.day),
        }
    }
}
