//! The source rows of a mutation, and how they are written as geo-dvf CSV lines.

use super::super::text::{CsvLine, push_digits, push_integer, push_number};
use super::sale::{NATURES, SynthSale};

/// Land uses: code, name, and code and name of the special use.
const LANDS: [(&str, &str, &str, &str); 8] = [
    ("S", "sols", "", ""),
    ("AG", "terrains d'agrément", "", ""),
    ("J", "jardins", "POTAG", "Jardin potager"),
    ("T", "terres", "", ""),
    ("P", "prés", "", ""),
    ("BT", "taillis simples", "", ""),
    ("L", "landes", "", ""),
    ("AB", "terrains a bâtir", "", ""),
];

/// Type of building in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Premises {
    /// `Maison`.
    House,
    /// `Appartement`.
    Flat,
    /// `Dépendance`.
    Outbuilding,
    /// `Local industriel. commercial ou assimilé`.
    Business,
}

/// Land use of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Land {
    /// Index into the table of land uses.
    pub nature: usize,
    /// Area, square metres.
    pub surface_m2: u32,
}

/// One source row of a mutation.
#[derive(Clone, Copy, Debug)]
pub struct MutationRow {
    /// Type of building; `None` for bare land and for flats not yet built.
    pub premises: Option<Premises>,
    /// Built surface, square metres; 0 is written as an empty cell.
    pub surface_m2: u32,
    /// Number of main rooms.
    pub rooms: u32,
    /// Numbers of up to two lots; 0 for none.
    pub lots: [u32; 2],
    /// Carrez surface of the first lot, square metres, if given.
    pub carrez_m2: Option<f64>,
    /// Land in the row, if any.
    pub land: Option<Land>,
    /// Distinguishes the parcels of one address.
    pub plot: u64,
}

/// A row without any values.
pub const NOTHING: MutationRow = MutationRow {
    premises: None,
    surface_m2: 0,
    rooms: 0,
    lots: [0, 0],
    carrez_m2: None,
    land: None,
    plot: 0,
};

/// Appends the rows of a sale.
pub fn write(sale: &SynthSale, out: &mut Vec<u8>) {
    for row in &sale.rows {
        write_row(sale, row, out);
    }
}

fn write_row(sale: &SynthSale, row: &MutationRow, out: &mut Vec<u8>) {
    let address = &sale.address;
    let place = address.place;
    let mut cells = CsvLine::new(out);
    let id = cells.cell();
    push_integer(id, i64::from(sale.year));
    id.push(b'-');
    push_integer(id, sale.number as i64);
    sale.day.push(cells.cell());
    cells.text("000001");
    cells.text(NATURES[sale.nature]);
    let price = cells.cell();
    if let Some(price_eur) = sale.price_eur {
        push_number(price, price_eur, 2);
    }
    write_address(sale, row, &mut cells);
    cells.text(address.postal_code());
    cells.text(place.insee);
    cells.text(place.name);
    cells.text(place.department);
    cells.empty();
    cells.empty();
    address.push_parcel(cells.cell(), row.plot);
    cells.empty();
    let is_volume = row.plot == 9 && row.premises.is_none() && row.land.is_none();
    cells.text(if is_volume { "1" } else { "" });
    for (rank, lot) in row.lots.iter().enumerate() {
        let number = cells.cell();
        if *lot > 0 {
            push_integer(number, i64::from(*lot));
        }
        let carrez = cells.cell();
        if let (0, Some(carrez_m2)) = (rank, row.carrez_m2) {
            push_number(carrez, carrez_m2, 2);
        }
    }
    for _ in 0..6 {
        cells.empty();
    }
    cells.integer(row.lots.iter().filter(|lot| **lot > 0).count() as i64);
    write_premises(row, &mut cells);
    match row.land {
        Some(land) => {
            let (code, nature, special_code, special) = LANDS[land.nature];
            cells.text(code);
            cells.text(nature);
            cells.text(special_code);
            cells.text(special);
            cells.integer(i64::from(land.surface_m2));
        }
        None => (0..5).for_each(|_| cells.empty()),
    }
    if sale.placed {
        // The source locates parcels, so the plots of one sale are a few metres apart.
        let (lat, lon) = address.position();
        let shift = row.plot as f64 * 0.000_18;
        cells.number(lon + shift, 6);
        cells.number(lat - shift, 6);
    } else {
        cells.empty();
        cells.empty();
    }
    cells.end();
}

fn write_address(sale: &SynthSale, row: &MutationRow, cells: &mut CsvLine<'_>) {
    let address = &sale.address;
    let numbered = sale.numbered && row.plot == 0;
    cells.integer_or_empty(numbered.then_some(i64::from(address.number)));
    cells.text(match address.suffix() {
        Some(suffix) if numbered => suffix,
        _ => "",
    });
    let (kind, name) = address.street_name_in_capitals();
    let street = cells.cell();
    street.extend_from_slice(kind.as_bytes());
    street.push(b' ');
    street.extend_from_slice(name.as_bytes());
    push_digits(cells.cell(), address.street_code(), 4);
}

fn write_premises(row: &MutationRow, cells: &mut CsvLine<'_>) {
    let (code, name) = match row.premises {
        Some(Premises::House) => ("1", "Maison"),
        Some(Premises::Flat) => ("2", "Appartement"),
        Some(Premises::Outbuilding) => ("3", "Dépendance"),
        Some(Premises::Business) => ("4", "Local industriel. commercial ou assimilé"),
        None => {
            (0..4).for_each(|_| cells.empty());
            return;
        }
    };
    cells.text(code);
    cells.text(name);
    let surface = (row.surface_m2 > 0).then_some(i64::from(row.surface_m2));
    cells.integer_or_empty(surface);
    cells.integer(i64::from(row.rooms));
}
