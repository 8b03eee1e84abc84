//! Finds positions for records that give an address instead: homes to value, records to match, adverts, sales and
//! diagnostics.
//!
//! All code outside geocoding uses this module, so that an address means the same place everywhere and is refused by
//! the same rule: a result of low confidence is never used. [`Geocoder::resolve`] returns the most probable place,
//! [`Geocoder::locate`] returns it only if it is sure enough, otherwise the reason. A call costs one search, and a
//! second one for the town if the street is not sure; it does no I/O.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use serde::Serialize;

use crate::address::Confidence;
use crate::folder;
use crate::request::{TEXT_CHARS, structured_text};
use crate::search::{Geocoder, PartMatch, ResultKind, SearchRequest};
use crate::text::fold;
use toise_geo::communes::{find_by_code, fits_restored_code};
use toise_geo::places::{DIVIDED_CITIES, Places};

const POSTAL_CODE_DIGITS: usize = 5;

/// Precision of the position of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Precision {
    /// The centre of a commune: kilometres.
    Town,
    /// A street or a named place: hundreds of metres.
    Street,
    /// A house number: tens of metres.
    Address,
}

impl Precision {
    /// All precisions, the most precise first.
    pub const ALL: [Self; 3] = [Precision::Address, Precision::Street, Precision::Town];

    /// Returns its name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Address => "ADDRESS",
            Precision::Street => "STREET",
            Precision::Town => "TOWN",
        }
    }

    /// Returns the precision of a kind of result.
    pub fn of_kind(kind: ResultKind) -> Self {
        match kind {
            ResultKind::HouseNumber => Precision::Address,
            ResultKind::Street | ResultKind::Locality => Precision::Street,
            ResultKind::Municipality => Precision::Town,
        }
    }
}

/// An address as given, in parts; an empty part counts as absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PostalAddress<'a> {
    /// House number and street, or the whole address in one line.
    pub address: &'a str,
    /// Postal code.
    pub postal_code: &'a str,
    /// Commune.
    pub city: &'a str,
    /// INSEE code of the commune that the result must be in. Without any other part, it gives the commune.
    pub insee_code: &'a str,
}

impl<'a> PostalAddress<'a> {
    /// Creates an address in one line.
    pub fn line(address: &'a str) -> Self {
        Self {
            address,
            ..Self::default()
        }
    }

    /// Returns whether postal code, commune or INSEE code are given separately.
    fn has_town(&self) -> bool {
        let parts = [self.postal_code, self.city, self.insee_code];
        parts.iter().any(|part| !part.trim().is_empty())
    }

    /// Returns whether no part names a place.
    pub fn is_empty(&self) -> bool {
        let parts = [self.address, self.postal_code, self.city, self.insee_code];
        parts.iter().all(|part| part.trim().is_empty())
    }

    /// Returns the text to search. Parts that the address line already contains are not repeated: repeated words would
    /// count as words that match nothing.
    fn text(&self) -> Result<String, Unlocated> {
        let given = |text: &'a str| Some(text.trim()).filter(|text| !text.is_empty());
        let address = given(self.address);
        let (mut postal_code, mut city) =
            (postal_code(self.postal_code, self.city), given(self.city));
        if let (Some(line), Some(code)) = (address, postal_code.as_deref())
            && let Some(after_code) = fold::words_after(line, code)
        {
            if fold::begin_with(&after_code, city.unwrap_or_default()) {
                city = None;
            }
            postal_code = None;
        }
        if address.is_none() && postal_code.is_none() && city.is_none() {
            // With its postal code, the name is not mistaken for a street name. The postal code of Paris, Lyon or
            // Marseille would be that of one arrondissement.
            let place = find_by_code(self.insee_code).ok_or(Unlocated::NotFound)?;
            let is_divided = DIVIDED_CITIES.contains(&place.code);
            let postal_code = place.postal_codes.first().copied();
            let postal_code = postal_code.filter(|_| !is_divided);
            return structured_text([None, None, postal_code, Some(place.name)])
                .map_err(|_| Unlocated::TooLong);
        }
        structured_text([None, address, postal_code.as_deref(), city])
            .map_err(|_| Unlocated::TooLong)
    }
}

/// Returns a postal code with the leading zero that a spreadsheet removes, unless the town shows that the code is not
/// French; `None` if it is empty.
fn postal_code<'a>(given: &'a str, town: &str) -> Option<Cow<'a, str>> {
    let code = given.trim();
    let is_short = code.len() + 1 == POSTAL_CODE_DIGITS;
    if code.is_empty() {
        None
    } else if is_short && code.bytes().all(|byte| byte.is_ascii_digit()) {
        let restored = format!("0{code}");
        let is_french = fits_restored_code(&restored, town);
        Some(if is_french {
            Cow::Owned(restored)
        } else {
            Cow::Borrowed(code)
        })
    } else {
        Some(Cow::Borrowed(code))
    }
}

/// The place that an address most probably means.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// Latitude in WGS 84 degrees.
    pub lat: f64,
    /// Longitude in WGS 84 degrees.
    pub lon: f64,
    /// The address in one line, as written in the address base.
    pub label: String,
    /// Probability that this is the intended address, 0 to 1.
    pub probability: f64,
    /// Level of trust in the result.
    pub confidence: Confidence,
    /// Precision of the position.
    pub precision: Precision,
    /// INSEE code of the current commune, or of the arrondissement.
    pub insee_code: String,
    /// Whether the street or named place is written exactly, abbreviations aside.
    pub is_street_exact: bool,
    /// Whether the address has no town next to its street, nor separately. The name of a town alone does not count: it
    /// may be that of a building.
    pub is_without_town: bool,
}

impl Resolved {
    /// Returns latitude and longitude in degrees.
    pub fn position(&self) -> (f64, f64) {
        (self.lat, self.lon)
    }

    /// Returns the INSEE codes under which records of its commune are kept; for Paris, Lyon and Marseille, those of the
    /// arrondissements.
    pub fn insee_codes(&self) -> Vec<String> {
        let places = Places::get();
        let found = places.find(&self.insee_code);
        let mut codes: Vec<String> = found
            .map(|place| places.address_codes(place))
            .unwrap_or_default()
            .into_iter()
            .map(str::to_owned)
            .collect();
        if codes.is_empty() {
            codes.push(self.insee_code.clone());
        }
        codes
    }

    /// Returns its summary for an answer: label, score, confidence, precision.
    pub fn summary(&self) -> AddressSummary<'_> {
        AddressSummary {
            label: &self.label,
            score: self.probability,
            confidence: self.confidence,
            precision: self.precision,
        }
    }
}

/// Summary in an answer of how an address was understood.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AddressSummary<'r> {
    /// The address in one line, as written in the address base.
    pub label: &'r str,
    /// Probability that it is the intended address, 0 to 1.
    pub score: f64,
    /// Level of trust in the result.
    pub confidence: Confidence,
    /// Precision of its position.
    pub precision: Precision,
}

/// Reason that an address gives no position. The message is to be read after the name of the field.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unlocated {
    /// It is longer than any address.
    #[error("must be at most {} characters", TEXT_CHARS.end())]
    TooLong,
    /// No similar address is known.
    #[error("not found; give street, postal code and city")]
    NotFound,
    /// No similar address is known, and no addresses are imported, only communes.
    #[error("not found: no addresses are imported (see toise import ban)")]
    NoAddresses,
    /// The best result is not sure enough to be used.
    #[error(
        "not sure enough: the best result is \"{}\" with a probability of {:.2}; give street, postal code and city",
        .0.label, .0.probability
    )]
    Unsure(Box<Resolved>),
}

impl Unlocated {
    /// Returns the result that is not sure enough, if that is the reason.
    pub fn best(&self) -> Option<&Resolved> {
        match self {
            Unlocated::Unsure(best) => Some(best),
            _ => None,
        }
    }
}

impl Geocoder {
    /// Returns the place that an address most probably means, however unsure; `None` if nothing is found.
    pub fn resolve(&self, asked: PostalAddress<'_>) -> Option<Resolved> {
        self.resolve_text(asked.text().ok()?, asked)
    }

    /// Returns the position of an address. If the street is not sure but the town or its code was given separately,
    /// returns the position of the town.
    ///
    /// # Errors
    /// It is too long or not found, or the best result is of low confidence.
    pub fn locate(&self, asked: PostalAddress<'_>) -> Result<Resolved, Unlocated> {
        let found = self.resolve_text(asked.text()?, asked);
        let is_sure = |found: &Resolved| found.confidence != Confidence::Low;
        let town_alone = PostalAddress {
            address: "",
            ..asked
        };
        let is_town_given = !asked.city.is_empty() || !asked.insee_code.is_empty();
        let has_town = !asked.address.is_empty() && is_town_given;
        let town = || self.resolve_text(town_alone.text().ok()?, town_alone);
        match found {
            Some(found) if is_sure(&found) => Ok(found),
            other if has_town => match (town().filter(is_sure), other) {
                (Some(town), _) => Ok(town),
                (None, Some(found)) => Err(Unlocated::Unsure(Box::new(found))),
                (None, None) => Err(Unlocated::NotFound),
            },
            // Without imported addresses only towns can be found, so the error says that none are imported.
            _ if self.segments().is_empty() => Err(Unlocated::NoAddresses),
            Some(found) => Err(Unlocated::Unsure(Box::new(found))),
            None => Err(Unlocated::NotFound),
        }
    }

    /// Searches the text of an address.
    fn resolve_text(&self, text: String, asked: PostalAddress<'_>) -> Option<Resolved> {
        let insee_code = Some(asked.insee_code).filter(|code| !code.is_empty());
        let request = SearchRequest {
            text,
            limit: 1,
            insee_code: insee_code.map(str::to_owned),
            ..SearchRequest::default()
        };
        let found = self.search(&request);
        let best = found.first()?;
        let address = self.address(best);
        let precision = Precision::of_kind(best.kind);
        let is_town_missing =
            best.matched.city == PartMatch::Missing || precision == Precision::Town;
        Some(Resolved {
            lat: address.lat,
            lon: address.lon,
            probability: address.properties.score,
            confidence: address.properties.confidence,
            precision,
            is_street_exact: best.matched.street == PartMatch::Exact,
            is_without_town: !asked.has_town()
                && best.matched.postal_code == PartMatch::Missing
                && is_town_missing,
            insee_code: address.properties.insee_code.into_owned(),
            label: address.properties.label,
        })
    }
}

/// Locator for the addresses of a block of rows; addresses that repeat are searched once.
pub struct RepeatedAddresses<'g, 'a> {
    geocoder: &'g Geocoder,
    known: HashMap<PostalAddress<'a>, Result<Resolved, Unlocated>>,
}

impl<'g, 'a> RepeatedAddresses<'g, 'a> {
    /// Creates a locator for one block.
    pub fn new(geocoder: &'g Geocoder) -> Self {
        Self {
            geocoder,
            known: HashMap::new(),
        }
    }

    /// Returns the position of an address; see [`Geocoder::locate`]. A town that is the whole address of a row has at
    /// most medium confidence, because many streets and places have the name of a town.
    pub fn locate(&mut self, asked: PostalAddress<'a>) -> &Result<Resolved, Unlocated> {
        let geocoder = self.geocoder;
        self.known
            .entry(asked)
            .or_insert_with(|| geocoder.locate(asked).map(with_doubtful_town))
    }
}

fn with_doubtful_town(found: Resolved) -> Resolved {
    let is_doubtful = found.is_without_town && found.precision == Precision::Town;
    let confidence = match found.confidence {
        Confidence::High if is_doubtful => Confidence::Medium,
        confidence => confidence,
    };
    Resolved {
        confidence,
        ..found
    }
}

/// The index of a data folder, opened when the first address is looked up, because most files need none. Cheap to
/// clone.
#[derive(Clone, Debug, Default)]
pub struct LazyGeocoder {
    shared: Arc<LazyGeocoderInner>,
}

#[derive(Default)]
struct LazyGeocoderInner {
    data: Option<PathBuf>,
    opened: OnceLock<Result<Arc<Geocoder>, String>>,
}

impl std::fmt::Debug for LazyGeocoderInner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("LazyGeocoder")
            .field("data", &self.data)
            .finish_non_exhaustive()
    }
}

impl LazyGeocoder {
    /// Creates a lazy index of a data folder. The default value knows only the communes.
    pub fn new(data: PathBuf) -> Self {
        Self {
            shared: Arc::new(LazyGeocoderInner {
                data: Some(data),
                opened: OnceLock::new(),
            }),
        }
    }

    /// Wraps an index that is already open.
    pub fn open(geocoder: Arc<Geocoder>) -> Self {
        Self {
            shared: Arc::new(LazyGeocoderInner {
                data: None,
                opened: OnceLock::from(Ok(geocoder)),
            }),
        }
    }

    /// Returns why the index could not be opened, if opening it was tried and failed.
    pub fn failure(&self) -> Option<&str> {
        let opened = self.shared.opened.get()?;
        opened.as_ref().err().map(String::as_str)
    }

    /// Returns the index. The first call opens it, which takes milliseconds per department. Without imported addresses
    /// it knows only the communes.
    ///
    /// # Errors
    /// The index cannot be read; the message says why.
    pub fn get(&self) -> Result<&Arc<Geocoder>, String> {
        let opened = self.shared.opened.get_or_init(|| match &self.shared.data {
            Some(data) => match folder::open(data) {
                Ok(geocoder) => Ok(Arc::new(geocoder)),
                Err(error) => Err(format!("index of addresses: {error}")),
            },
            None => Ok(Arc::new(Geocoder::new(Vec::new()))),
        });
        opened.as_ref().map_err(Clone::clone)
    }
}

#[cfg(test)]
mod tests;
