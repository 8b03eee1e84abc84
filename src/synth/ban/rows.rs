//! Writes the rows of the two kinds of file: addresses, and named places without house numbers.

use super::afnor;
use super::communes::{BanCommune, Part};
use super::houses::{House, lay_out};
use super::streets::{BanHamlet, BanStreet, CommuneRows};
use crate::random::Stream;
use crate::text::{push_digits, push_number};
use toise_geo::projection;

/// Columns of a file of addresses.
pub const ADDRESS_COLUMNS: &str = "id;id_fantoir;numero;rep;nom_voie;code_postal;code_insee;nom_commune;\
     code_insee_ancienne_commune;nom_ancienne_commune;x;y;lon;lat;type_position;alias;nom_ld;libelle_acheminement;\
     nom_afnor;source_position;source_nom_voie;certification_commune;cad_parcelles\n";
/// Columns of a file of named places.
pub const PLACE_COLUMNS: &str = "id;nom_lieu_dit;code_postal;code_insee;nom_commune;code_insee_ancienne_commune;\
     nom_ancienne_commune;x;y;lon;lat;source_position;source_nom_voie\n";

/// Types of position, with their shares in per cent.
const POSITIONS: [(&str, f64); 7] = [
    ("entrée", 67.0),
    ("", 12.5),
    ("segment", 10.5),
    ("parcelle", 3.5),
    ("bâtiment", 2.5),
    ("délivrance postale", 2.0),
    ("logement", 2.0),
];
/// Share of the positions of a street that are of its usual type.
const USUAL_POSITION: f64 = 0.85;
/// Sources of addresses that no commune maintains.
const OTHER_SOURCES: [&str; 3] = ["inconnue", "cadastre", "arcep"];

/// Appends the addresses of a street.
pub fn street(commune: &BanCommune, rows: &CommuneRows, street: &BanStreet, out: &mut Vec<u8>) {
    let part = &commune.parts[street.part];
    let mut about = Vec::with_capacity(128);
    about.extend_from_slice(b";");
    about.extend_from_slice(street.name.as_bytes());
    push_town(&mut about, street.postal_code, commune, part);
    let delivery = afnor::town(commune.place.name);
    let named = format!(";;{};{delivery};{}", street.hamlet, street.afnor);
    let mut usual = None;
    lay_out(street, |house, stream| {
        let usual = *usual.get_or_insert_with(|| position_type(stream));
        push_key(out, street, &house);
        out.extend_from_slice(&about);
        push_position(out, commune, house.position);
        out.push(b';');
        let own = if stream.chance(USUAL_POSITION) {
            usual
        } else {
            position_type(stream)
        };
        out.extend_from_slice(own.as_bytes());
        out.extend_from_slice(named.as_bytes());
        push_sources(out, rows, stream);
        if rows.has_parcels && stream.chance(0.87) {
            push_parcels(out, commune, part, street, &house, stream);
        }
        out.push(b'\n');
    });
}

/// Appends a named place.
pub fn hamlet(commune: &BanCommune, rows: &CommuneRows, hamlet: &BanHamlet, out: &mut Vec<u8>) {
    out.extend_from_slice(hamlet.id.as_bytes());
    out.push(b';');
    out.extend_from_slice(hamlet.name.as_bytes());
    push_town(
        out,
        hamlet.postal_code,
        commune,
        &commune.parts[hamlet.part],
    );
    push_position(out, commune, hamlet.position);
    let source = if rows.is_maintained {
        "commune"
    } else {
        "cadastre"
    };
    out.extend_from_slice(format!(";{source};{source}\n").as_bytes());
}

fn position_type(stream: &mut Stream) -> &'static str {
    POSITIONS[stream.weighted(&POSITIONS.map(|(_, share)| share))].0
}

/// Appends identifier, code of the tax office, number and suffix.
fn push_key(out: &mut Vec<u8>, street: &BanStreet, house: &House) {
    out.extend_from_slice(street.id.as_bytes());
    out.push(b'_');
    push_digits(out, u64::from(house.number), 5);
    if !house.suffix.is_empty() {
        out.push(b'_');
        out.extend_from_slice(house.suffix.as_bytes());
    }
    out.push(b';');
    if street.has_fantoir {
        out.extend_from_slice(street.id.as_bytes());
    }
    out.push(b';');
    push_digits(out, u64::from(house.number), 1);
    out.push(b';');
    out.extend_from_slice(house.suffix.as_bytes());
}

/// Appends postal code, commune and former commune.
fn push_town(out: &mut Vec<u8>, postal_code: &str, commune: &BanCommune, part: &Part) {
    let place = commune.place;
    for cell in [postal_code, place.code, place.name, part.code, part.name] {
        out.push(b';');
        out.extend_from_slice(cell.as_bytes());
    }
}

/// Appends the projected coordinates of the rounded degrees, then the degrees.
fn push_position(out: &mut Vec<u8>, commune: &BanCommune, (lat, lon): (f64, f64)) {
    let rounded = |degrees: f64| (degrees * 1e6).round() / 1e6;
    let (lat, lon) = (rounded(lat), rounded(lon));
    let projected = projection::from_degrees(commune.place.department, lat, lon);
    let cells = [projected.map(|(x, _)| x), projected.map(|(_, y)| y)];
    for cell in cells {
        out.push(b';');
        if let Some(metres) = cell {
            push_number(out, metres, 2);
        }
    }
    for degrees in [lon, lat] {
        out.push(b';');
        push_number(out, degrees, 6);
    }
}

/// Appends the sources of position and name, and whether the commune certifies the address.
fn push_sources(out: &mut Vec<u8>, rows: &CommuneRows, stream: &mut Stream) {
    let (source, certified) = if rows.is_maintained {
        ("commune", stream.chance(0.96))
    } else {
        let other = stream.weighted(&[84.0, 8.0, 8.0]);
        (OTHER_SOURCES[other], false)
    };
    for cell in [source, source, if certified { "1" } else { "0" }, ""] {
        out.push(b';');
        out.extend_from_slice(cell.as_bytes());
    }
}

/// Appends one parcel, or two for a few addresses.
fn push_parcels(
    out: &mut Vec<u8>,
    commune: &BanCommune,
    part: &Part,
    street: &BanStreet,
    house: &House,
    stream: &mut Stream,
) {
    let own = part
        .code
        .get(2..5)
        .filter(|_| part.code != commune.place.code);
    let section = street.seed % 700;
    let letter = |rank: u64| b'A' + (rank % 26) as u8;
    let first = 1 + (street.seed >> 16) % 8_000 + u64::from(house.number) % 1_900;
    for parcel in 0..if stream.chance(0.06) { 2 } else { 1 } {
        if parcel > 0 {
            out.push(b'|');
        }
        out.extend_from_slice(commune.place.code.as_bytes());
        out.extend_from_slice(own.unwrap_or("000").as_bytes());
        if section < 26 {
            out.extend_from_slice(&[b'0', letter(section)])
        } else {
            out.extend_from_slice(&[letter(section / 26), letter(section)])
        }
        push_digits(out, first + parcel, 4);
    }
}
