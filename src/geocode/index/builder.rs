//! Builds the segment of a department from its addresses.
//!
//! Addresses are grouped into streets by the street part of their identifier (`48002_0210` of `48002_0210_00012_bis`).
//! Streets that two bases identify in two ways are merged (`copies`). Streets are ordered by area (commune and former
//! commune) and name. The house numbers of a street are split into blocks of at most [`BLOCK_NUMBERS`] neighbours along
//! the street. All house numbers of a block have the same postal code.
//!
//! A block is a sequence of varints. The first is twice the count, plus one if the postal code is not the street's; in
//! that case the postal code follows. Then, for each house number:
//!
//! - the difference of the number (zigzag);
//! - twice the suffix code, plus one if the identifier is not the usual one;
//! - the differences of latitude and longitude in millionths of a degree (zigzag; for the first, from the street);
//! - for the code [`lexicon::OTHER_SUFFIX`], the length and text of the suffix;
//! - for an unusual identifier, its length and text.

mod copies;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use geo_index::rtree::RTreeBuilder;
use geo_index::rtree::sort::HilbertSort;

use super::area_key::AreaKey;
use super::layout::{STREET_ITEM, Section, Sections};
use super::word_kind::WordKind;
use crate::text::{fold, lexicon, likeness, numerals, sound};
use toise_geo::varint;

/// Maximum number of house numbers in a block.
pub const BLOCK_NUMBERS: usize = 12;
/// Stored units per degree of a position.
pub const DEGREE_PARTS: f64 = 1e6;
/// House number that the base uses for a place without house numbers.
const NO_NUMBER: u32 = 99_999;

/// One row of the address base.
#[derive(Clone, Debug, Default)]
pub struct AddressRow {
    /// Identifier.
    pub id: String,
    /// House number; `None` for a named place.
    pub number: Option<u32>,
    /// Suffix of the number, folded; empty without one.
    pub suffix: String,
    /// Name of the street or place.
    pub name: String,
    /// Postal code.
    pub postal_code: String,
    /// INSEE code of the commune.
    pub insee_code: String,
    /// Name of the commune.
    pub commune: String,
    /// INSEE code of the former commune, if any.
    pub former_code: String,
    /// Name of the former commune, if any.
    pub former_name: String,
    /// Latitude, degrees.
    pub lat: f64,
    /// Longitude, degrees.
    pub lon: f64,
}

#[derive(Default)]
struct Street {
    area: AreaKey,
    id: String,
    name: String,
    postal_codes: HashMap<u32, u32>,
    is_place: bool,
    numbers: Vec<HouseNumber>,
    /// Position given for the street or place itself.
    position: Option<(i32, i32)>,
}

struct HouseNumber {
    number: u32,
    suffix: u8,
    /// The suffix, if it has no code.
    other_suffix: String,
    /// 0 where unknown.
    postal_code: u32,
    lat: i32,
    lon: i32,
    /// Identifier, if it is not the usual one.
    id: Option<String>,
}

impl HouseNumber {
    /// Returns number and suffix, by which house numbers are sorted.
    fn rank(&self) -> (u32, u8, String) {
        (self.number, self.suffix, self.other_suffix.clone())
    }
}

/// Builder of a department's segment.
#[derive(Default)]
pub struct SegmentBuilder {
    streets: HashMap<String, Street>,
}

/// Returns the code of a suffix, if decoding it gives the same suffix.
fn suffix_code(suffix: &str) -> Option<u8> {
    lexicon::suffix_code(suffix).filter(|code| lexicon::suffix_text(*code) == suffix)
}

/// The street part of an address's identifier.
struct StreetId {
    text: String,
    /// Number and suffix follow it in the usual way.
    is_usual: bool,
    /// Addresses of one street share it. Identifiers of other bases may be different for each address.
    is_shared: bool,
}

/// Splits the street part from an identifier.
fn street_id(row: &AddressRow) -> StreetId {
    let Some(number) = row.number else {
        return StreetId {
            text: row.id.strip_suffix("_99999").unwrap_or(&row.id).to_owned(),
            is_usual: true,
            is_shared: true,
        };
    };
    let tail = if row.suffix.is_empty() {
        format!("_{number:05}")
    } else {
        format!("_{number:05}_{}", row.suffix)
    };
    match row.id.strip_suffix(&tail) {
        Some(street) => StreetId {
            text: street.to_owned(),
            is_usual: suffix_code(&row.suffix).is_some() || row.suffix.is_empty(),
            is_shared: true,
        },
        None => {
            let mut parts = row.id.splitn(3, '_');
            let (code, street, number) = (parts.next(), parts.next(), parts.next());
            let usual = code.zip(street).filter(|_| number.is_some());
            StreetId {
                text: usual.map_or_else(
                    || row.id.clone(),
                    |(code, street)| format!("{code}_{street}"),
                ),
                is_usual: false,
                is_shared: usual.is_some(),
            }
        }
    }
}

fn parts(degrees: f64) -> i32 {
    (degrees * DEGREE_PARTS).round() as i32
}

impl SegmentBuilder {
    /// Adds an address. Skips a row without a name, a finite position or a five-character INSEE code.
    pub fn push(&mut self, row: &AddressRow) {
        if row.name.is_empty()
            || !row.lat.is_finite()
            || !row.lon.is_finite()
            || row.insee_code.len() != 5
        {
            return;
        }
        let id = street_id(row);
        // The base may give two streets the same identifier. Without one, streets of one name in two former communes
        // stay apart.
        let street = if id.is_shared {
            id.text.clone()
        } else {
            format!("{}|{}", row.former_code, row.postal_code)
        };
        let key = format!("{}|{street}|{}", row.insee_code, fold::folded(&row.name));
        let street = self.streets.entry(key).or_insert_with(|| Street {
            area: AreaKey::of(row),
            id: id.text,
            name: row.name.clone(),
            is_place: true,
            ..Street::default()
        });
        let postal_code = row.postal_code.parse().unwrap_or(0);
        if postal_code != 0 {
            *street.postal_codes.entry(postal_code).or_default() += 1;
        }
        let (lat, lon) = (parts(row.lat), parts(row.lon));
        match row.number {
            Some(number) if number != NO_NUMBER && number != 0 => {
                street.is_place = false;
                let code = suffix_code(&row.suffix);
                let is_other = code.is_none() && !row.suffix.is_empty();
                street.numbers.push(HouseNumber {
                    number,
                    suffix: code.unwrap_or(if is_other { lexicon::OTHER_SUFFIX } else { 0 }),
                    other_suffix: if is_other {
                        row.suffix.clone()
                    } else {
                        String::new()
                    },
                    postal_code,
                    lat,
                    lon,
                    id: (!id.is_usual).then(|| row.id.clone()),
                });
            }
            _ => street.position = Some((lat, lon)),
        }
    }

    /// Returns the number of streets and places so far.
    pub fn streets(&self) -> usize {
        self.streets.len()
    }

    /// Returns the number of house numbers so far.
    pub fn numbers(&self) -> u64 {
        let numbers = self
            .streets
            .values()
            .map(|street| street.numbers.len() as u64);
        numbers.sum()
    }

    /// Writes the segment of a department.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write(self, department: &str, out: &mut impl io::Write) -> io::Result<()> {
        let mut streets: Vec<Street> = self.streets.into_values().collect();
        streets.sort_by(|one, other| {
            (&one.area, &one.name, &one.id).cmp(&(&other.area, &other.name, &other.id))
        });
        let mut sections = Sections::default();
        sections.set(Section::Department, department.as_bytes().to_vec());
        let mut text = Text::default();
        write_words(&streets, &mut text, &mut sections);
        write_areas(&streets, &mut text, &mut sections);
        write_streets(&mut streets, &mut text, &mut sections);
        sections.set(Section::Text, text.bytes);
        sections.write(out)
    }
}

/// The text section while it is being built.
#[derive(Default)]
struct Text {
    bytes: Vec<u8>,
}

impl Text {
    /// Appends items; returns where each begins, and where the last ends.
    fn append<'i>(&mut self, items: impl Iterator<Item = &'i str>) -> Vec<u32> {
        let mut at = vec![self.bytes.len() as u32];
        for item in items {
            self.bytes.extend_from_slice(item.as_bytes());
            at.push(self.bytes.len() as u32);
        }
        at
    }
}

/// Returns the start of each list in the concatenated lists, and the end of the last.
fn starts(lengths: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut at = vec![0];
    let mut end = 0;
    for length in lengths {
        end += length as u32;
        at.push(end);
    }
    at
}

fn write_words(streets: &[Street], text: &mut Text, sections: &mut Sections) {
    let mut streets_of: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut words_of = Vec::with_capacity(streets.len());
    for (street, about) in streets.iter().enumerate() {
        let mut tokens = fold::tokens(&about.name);
        lexicon::join_letters(&about.name, &mut tokens);
        numerals::join(&mut tokens);
        for token in &tokens {
            let list = streets_of.entry(token.text.clone()).or_default();
            if list.last() != Some(&(street as u32)) {
                list.push(street as u32);
            }
        }
        words_of.push(tokens);
    }
    let ids: HashMap<&str, u32> = streets_of.keys().map(String::as_str).zip(0..).collect();
    let words = || streets_of.keys().map(String::as_str);
    sections.set_u32(Section::WordAt, text.append(words()));
    sections.set_u64(Section::WordSignature, words().map(likeness::signature));
    sections.set_u32(Section::WordSound, words().map(sound::key));
    let kinds = streets_of
        .iter()
        .map(|(word, with)| WordKind::new(word, with.len(), streets.len()).to_bits());
    sections.set_u32(Section::WordKind, kinds);
    sections.set_u32(
        Section::PostingAt,
        starts(streets_of.values().map(Vec::len)),
    );
    sections.set_u32(Section::Postings, streets_of.values().flatten().copied());
    sections.set_u32(Section::StreetWordAt, starts(words_of.iter().map(Vec::len)));
    let all = words_of
        .iter()
        .flatten()
        .filter_map(|token| ids.get(token.text.as_str()).copied());
    sections.set_u32(Section::StreetWords, all);
}

fn write_areas(streets: &[Street], text: &mut Text, sections: &mut Sections) {
    let mut areas: Vec<&AreaKey> = Vec::new();
    let mut first = Vec::new();
    for (street, about) in streets.iter().enumerate() {
        if areas.last() != Some(&&about.area) {
            areas.push(&about.area);
            first.push(street as u32);
        }
    }
    first.push(streets.len() as u32);
    let mut codes = Vec::new();
    for area in &areas {
        codes.extend(area.insee_code.bytes().take(5));
        codes.extend(area.former_code.bytes().chain([0; 5]).take(5));
    }
    let names = areas
        .iter()
        .flat_map(|area| [area.commune.as_str(), area.former_name.as_str()]);
    sections.set_u32(Section::AreaNameAt, text.append(names));
    sections.set(Section::Areas, codes);
    let postal_codes: Vec<BTreeSet<u32>> = first
        .windows(2)
        .map(|ends| {
            let of_area = streets[ends[0] as usize..ends[1] as usize].iter();
            of_area
                .flat_map(|street| street.postal_codes.keys().copied())
                .collect()
        })
        .collect();
    sections.set_u32(
        Section::AreaPostalCodeAt,
        starts(postal_codes.iter().map(BTreeSet::len)),
    );
    sections.set_u32(
        Section::AreaPostalCodes,
        postal_codes.iter().flatten().copied(),
    );
    sections.set_u32(Section::AreaStreetAt, first);
}

fn write_streets(streets: &mut [Street], text: &mut Text, sections: &mut Sections) {
    let mut blocks = Blocks::default();
    let mut block_at = vec![0];
    let (mut postal_codes, mut kinds, mut positions, mut counts) = (vec![], vec![], vec![], vec![]);
    for (index, street) in streets.iter_mut().enumerate() {
        let position = street.middle();
        let most = street
            .postal_codes
            .iter()
            .max_by_key(|(code, count)| (**count, u32::MAX - **code));
        let own_code = most.map_or(0, |(code, _)| *code);
        postal_codes.push(own_code);
        kinds.push(u32::from(street.is_place));
        positions.extend([position.0, position.1]);
        counts.push(street.numbers.len() as u32);
        street.numbers.sort_by_cached_key(HouseNumber::rank);
        street
            .numbers
            .dedup_by(|one, other| one.rank() == other.rank() && one.id == other.id);
        let is_one_code =
            |one: &HouseNumber, other: &HouseNumber| one.postal_code == other.postal_code;
        for of_code in street.numbers.chunk_by(is_one_code) {
            for chunk in of_code.chunks(BLOCK_NUMBERS) {
                blocks.push(chunk, position, own_code);
            }
        }
        if street.numbers.is_empty() {
            blocks.push_street(index as u32, position);
        }
        block_at.push(blocks.first.len() as u32);
    }
    blocks.at.push(blocks.bytes.len() as u32);
    sections.set_u32(
        Section::StreetNameAt,
        text.append(streets.iter().map(|street| street.name.as_str())),
    );
    sections.set_u32(
        Section::StreetIdAt,
        text.append(streets.iter().map(|street| street.id.as_str())),
    );
    sections.set_u32(Section::StreetPostalCode, postal_codes);
    sections.set_u32(Section::StreetKind, kinds);
    sections.set_i32(Section::StreetPosition, positions);
    sections.set_u32(Section::StreetNumbers, counts);
    sections.set_u32(Section::StreetBlockAt, block_at);
    sections.set(Section::Tree, blocks.tree());
    sections.set_u32(Section::BlockFirst, blocks.first);
    sections.set_u32(Section::BlockAt, blocks.at);
    sections.set_u32(Section::TreeItems, blocks.items);
    sections.set(Section::BlockBytes, blocks.bytes);
}

impl Street {
    /// Returns the street's own position, or that of the house number nearest to the mean of all.
    fn middle(&self) -> (i32, i32) {
        if let Some(position) = self.position {
            return position;
        }
        let count = self.numbers.len().max(1) as i64;
        let sum = self.numbers.iter().fold((0_i64, 0_i64), |sum, number| {
            (sum.0 + i64::from(number.lat), sum.1 + i64::from(number.lon))
        });
        let mean = (sum.0 / count, sum.1 / count);
        let distance = |number: &&HouseNumber| {
            let (lat, lon) = (
                i64::from(number.lat) - mean.0,
                i64::from(number.lon) - mean.1,
            );
            lat * lat + lon * lon / 2
        };
        self.numbers
            .iter()
            .min_by_key(distance)
            .map_or((0, 0), |number| (number.lat, number.lon))
    }
}

#[derive(Default)]
struct Blocks {
    first: Vec<u32>,
    at: Vec<u32>,
    bytes: Vec<u8>,
    items: Vec<u32>,
    boxes: Vec<[i32; 4]>,
}

impl Blocks {
    fn push(&mut self, numbers: &[HouseNumber], street: (i32, i32), street_code: u32) {
        self.items.push(self.first.len() as u32);
        self.first
            .push(numbers.first().map_or(0, |first| first.number));
        self.at.push(self.bytes.len() as u32);
        let code = numbers.first().map_or(0, |first| first.postal_code);
        let differs = code != street_code && code != 0;
        varint::push(
            numbers.len() as u32 * 2 + u32::from(differs),
            &mut self.bytes,
        );
        if differs {
            varint::push(code, &mut self.bytes);
        }
        let (mut number, mut lat, mut lon) = (0, street.0, street.1);
        let mut area = [i32::MAX, i32::MAX, i32::MIN, i32::MIN];
        for house in numbers {
            varint::push(
                varint::zigzag(house.number as i32 - number),
                &mut self.bytes,
            );
            varint::push(
                u32::from(house.suffix) * 2 + u32::from(house.id.is_some()),
                &mut self.bytes,
            );
            varint::push(varint::zigzag(house.lat - lat), &mut self.bytes);
            varint::push(varint::zigzag(house.lon - lon), &mut self.bytes);
            if house.suffix == lexicon::OTHER_SUFFIX {
                self.push_text(&house.other_suffix);
            }
            if let Some(id) = &house.id {
                self.push_text(id);
            }
            (number, lat, lon) = (house.number as i32, house.lat, house.lon);
            area = [
                area[0].min(lon),
                area[1].min(lat),
                area[2].max(lon),
                area[3].max(lat),
            ];
        }
        self.boxes.push(area);
    }

    fn push_text(&mut self, text: &str) {
        varint::push(text.len() as u32, &mut self.bytes);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn push_street(&mut self, street: u32, position: (i32, i32)) {
        let (lat, lon) = position;
        self.items.push(street | STREET_ITEM);
        self.boxes.push([lon, lat, lon, lat]);
    }

    fn tree(&self) -> Vec<u8> {
        let mut tree = RTreeBuilder::<i32>::new(self.boxes.len() as u32);
        for [west, south, east, north] in &self.boxes {
            tree.add(*west, *south, *east, *north);
        }
        tree.finish::<HilbertSort>().into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, number: u32, postal_code: &str) -> AddressRow {
        AddressRow {
            id: id.to_owned(),
            number: Some(number),
            name: "Rue d'Aubette".to_owned(),
            postal_code: postal_code.to_owned(),
            insee_code: "04112".to_owned(),
            commune: "Manosque".to_owned(),
            lat: 43.83,
            lon: 5.79,
            ..AddressRow::default()
        }
    }

    #[test]
    fn numbers_of_one_street_are_together_whatever_their_identifiers() {
        for ids in [
            ["04112_0040_00011", "04112_0040_00013"],
            ["04112_0040_11", "04112_0040_13"],
            ["041120040F-11", "041120040F-13"],
            ["1", "2"],
            ["a_1", "a_2"],
        ] {
            let mut builder = SegmentBuilder::default();
            builder.push(&row(ids[0], 11, "04100"));
            builder.push(&row(ids[1], 13, "04100"));
            assert_eq!((builder.streets(), builder.numbers()), (1, 2), "{ids:?}");
        }
    }

    #[test]
    fn streets_of_one_name_and_two_postal_codes_stay_apart() {
        let mut builder = SegmentBuilder::default();
        builder.push(&row("1", 11, "04100"));
        builder.push(&row("2", 11, "04130"));
        assert_eq!(builder.streets(), 2);
    }

    #[test]
    fn streets_of_one_name_in_two_former_communes_stay_apart() {
        let mut builder = SegmentBuilder::default();
        for (id, former_code) in [("1", "04112"), ("2", "04230"), ("3", "04230")] {
            builder.push(&AddressRow {
                former_code: former_code.to_owned(),
                ..row(id, 11, "04100")
            });
        }
        assert_eq!(builder.streets(), 2);
    }
}
