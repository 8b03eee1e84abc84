//! Draws addresses from the index, and builds geocoders from which some of them are withheld.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use toise_base::splitmix::{SplitMix64, mix, mix_into, to_unit};
use toise_geocode::Geocoder;
use toise_geocode::index::builder::{AddressRow, SegmentBuilder};
use toise_geocode::index::segment::{HouseNumber, Segment};
use toise_geocode::text::{fold, lexicon};

use super::Error;

/// Maximum house numbers drawn from one street, so that long streets do not dominate.
const PER_STREET_MAX: usize = 2;

/// An address of the index, as it is officially written.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// Seeds the random choices for the address. Depends only on the seed, the street and the number of the draw in
    /// that street.
    pub key: u64,
    /// Department code.
    pub department: String,
    /// House number without its suffix.
    pub number: u32,
    /// Its suffix (`bis`, `b`); empty without one.
    pub suffix: &'static str,
    /// Street.
    pub street: String,
    /// Postal code, five digits.
    pub postal_code: String,
    /// INSEE code of the commune.
    pub insee_code: String,
    /// Commune.
    pub commune: String,
    /// Former commune; empty if there is none.
    pub former_commune: String,
    /// Latitude, degrees.
    pub lat: f64,
    /// Longitude, degrees.
    pub lon: f64,
}

impl Address {
    /// House number as it is written before a street: `12`, `12 bis`.
    pub fn house_number(&self) -> String {
        match self.suffix {
            "" => self.number.to_string(),
            suffix => format!("{} {suffix}", self.number),
        }
    }

    /// Returns the key that all streets of one name in one commune share.
    fn street_key(&self) -> StreetKey {
        (self.insee_code.clone(), fold::folded(&self.street))
    }
}

/// INSEE code of the commune and folded name of a street.
type StreetKey = (String, String);

/// Draws at most `count` addresses from the departments that `is_wanted` accepts, at most two per street. Equal seeds
/// draw equal addresses from the same index, and a larger draw contains every smaller one.
pub fn draw(
    segments: &[Arc<Segment>],
    is_wanted: impl Fn(&str) -> bool,
    count: usize,
    seed: u64,
) -> Vec<Address> {
    let mut places: Vec<(u64, usize, u32)> = Vec::new();
    for (number, segment) in segments.iter().enumerate() {
        if !is_wanted(segment.department()) {
            continue;
        }
        for street in 0..segment.streets() as u32 {
            let houses = segment.street_numbers(street) as usize;
            let key = street_key(segment, street, seed);
            for slot in 0..houses.min(PER_STREET_MAX) {
                places.push((mix_into(key, slot as u64), number, street));
            }
        }
    }
    places.sort_unstable();
    places.truncate(count);
    let mut addresses: Vec<Address> = Vec::with_capacity(places.len());
    for (key, number, street) in places {
        let segment = &segments[number];
        let houses = segment.numbers(street);
        let mut stream = SplitMix64::new(key);
        if let Some(house) = houses.get(stream.below(houses.len())) {
            addresses.push(address(segment, street, house, key));
        }
    }
    addresses
}

fn street_key(segment: &Segment, street: u32, seed: u64) -> u64 {
    let parts = [
        segment.street_id(street).as_bytes(),
        segment.street_name(street).as_bytes(),
    ];
    let bytes = parts.into_iter().flatten();
    bytes.fold(mix(seed), |key, byte| mix_into(key, u64::from(*byte)))
}

fn address(segment: &Segment, street: u32, house: &HouseNumber, key: u64) -> Address {
    let area = segment.area(segment.area_of(street));
    Address {
        key,
        department: segment.department().to_owned(),
        number: house.number,
        suffix: lexicon::suffix_text(house.suffix),
        street: segment.street_name(street).to_owned(),
        postal_code: format!("{:05}", segment.street_postal_code(street)),
        insee_code: area.insee_code.to_owned(),
        commune: area.commune.to_owned(),
        former_commune: area.former_name.to_owned(),
        lat: house.lat,
        lon: house.lon,
    }
}

/// Builds a geocoder over all segments except those of some departments.
pub fn without_departments(segments: &[Arc<Segment>], left_out: &[String]) -> Geocoder {
    let kept = segments.iter().filter(|one| {
        let department = one.department();
        !left_out.iter().any(|code| code == department)
    });
    Geocoder::new(kept.cloned().collect())
}

/// Builds a geocoder without the streets of some addresses: the segments of their departments are rebuilt in a
/// temporary folder, without any street of these names in these communes.
///
/// # Errors
/// The temporary folder cannot be written, or a rebuilt segment cannot be read.
pub fn without_streets(
    segments: &[Arc<Segment>],
    addresses: &[Address],
) -> Result<Geocoder, Error> {
    let departments: HashSet<&str> = addresses
        .iter()
        .map(|one| one.department.as_str())
        .collect();
    let withheld: HashSet<StreetKey> = addresses.iter().map(Address::street_key).collect();
    // Mapped segments survive the deletion of their files.
    let folder = tempfile::tempdir().map_err(Error::Temporary)?;
    let mut kept = Vec::with_capacity(segments.len());
    for segment in segments {
        kept.push(if departments.contains(segment.department()) {
            rebuilt(segment, &withheld, folder.path())?
        } else {
            Arc::clone(segment)
        });
    }
    Ok(Geocoder::new(kept))
}

fn rebuilt(
    segment: &Segment,
    withheld: &HashSet<StreetKey>,
    folder: &Path,
) -> Result<Arc<Segment>, Error> {
    let mut builder = SegmentBuilder::default();
    for street in 0..segment.streets() as u32 {
        let row = street_row(segment, street);
        let key = (row.insee_code.clone(), fold::folded(&row.name));
        if !withheld.contains(&key) {
            push_street(&mut builder, segment, street, &row);
        }
    }
    let path = folder.join(segment.department());
    let mut bytes = Vec::new();
    builder
        .write(segment.department(), &mut bytes)
        .map_err(Error::Temporary)?;
    std::fs::write(&path, bytes).map_err(Error::Temporary)?;
    Ok(Arc::new(Segment::open(&path)?))
}

fn street_row(segment: &Segment, street: u32) -> AddressRow {
    let area = segment.area(segment.area_of(street));
    let (lat, lon) = segment.street_position(street);
    AddressRow {
        id: segment.street_id(street).to_owned(),
        name: segment.street_name(street).to_owned(),
        postal_code: format!("{:05}", segment.street_postal_code(street)),
        insee_code: area.insee_code.to_owned(),
        commune: area.commune.to_owned(),
        former_code: area.former_code.to_owned(),
        former_name: area.former_name.to_owned(),
        lat,
        lon,
        ..AddressRow::default()
    }
}

fn push_street(builder: &mut SegmentBuilder, segment: &Segment, street: u32, row: &AddressRow) {
    let houses = segment.numbers(street);
    if houses.is_empty() {
        builder.push(row);
    }
    for house in houses {
        let suffix = lexicon::suffix_text(house.suffix);
        let tail = match suffix {
            "" => String::new(),
            suffix => format!("_{suffix}"),
        };
        let id = house.id.clone();
        builder.push(&AddressRow {
            id: id.unwrap_or_else(|| format!("{}_{:05}{tail}", row.id, house.number)),
            number: Some(house.number),
            suffix: suffix.to_owned(),
            lat: house.lat,
            lon: house.lon,
            ..row.clone()
        });
    }
}

/// Returns a position near an address, at most about 33 m off in latitude and in longitude.
pub fn position_next_to(address: &Address) -> (f64, f64) {
    /// Half the side of the square, degrees.
    const REACH: f64 = 3e-4;
    let shift = |salt| REACH * (2.0 * to_unit(mix_into(address.key, salt)) - 1.0);
    (address.lat + shift(1), address.lon + shift(2))
}
