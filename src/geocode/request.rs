//! Parameters of searches and reverse searches, parsed in one way for the query string, batches and files.
//!
//! As in the public service, unknown parameters are ignored. An empty parameter counts as absent, but an empty filter
//! is refused: otherwise the search would silently cover all of France.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::given::GivenParts;
use crate::places::{self, NAME_WORDS_MAX};
use crate::search::{ResultKind, SearchRequest};
use crate::text::fold;
use toise_contract::Fault;
use toise_geo::communes::{city_of_postal_code, codes_within};

/// Allowed number of characters in `q`.
pub const TEXT_CHARS: std::ops::RangeInclusive<usize> = 3..=200;
/// Allowed number of results.
pub const LIMITS: std::ops::RangeInclusive<usize> = 1..=50;
/// Default number of results.
pub const LIMIT_DEFAULT: usize = 10;
/// Default number of results of a reverse search.
pub const REVERSE_LIMIT_DEFAULT: usize = 1;
/// Maximum `maxdistance`, metres.
pub const MAX_DISTANCE_MAX: f64 = 10_000.0;

toise_base::named! {
    /// The direction of a query.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Operation {
        /// Addresses to positions.
        #[default]
        Search = "search",
        /// Positions to addresses.
        Reverse = "reverse",
    }
}

impl Operation {
    /// Reads the `operation` of a body.
    ///
    /// # Errors
    /// It is missing or unknown.
    pub fn read(value: Option<&Value>) -> Result<Self, Fault> {
        let found = value.and_then(Value::as_str).and_then(Self::parse);
        found.ok_or_else(|| Fault::new("operation", "must be one of: search, reverse"))
    }
}

/// Parameters by name, in order.
pub type Parameters = [(String, String)];

/// Optional data added to each address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// The IRIS that contains it.
    pub iris: bool,
    /// Its cadastral parcels.
    pub parcel: bool,
}

/// A parsed search request.
#[derive(Clone, Debug)]
pub struct SearchCall {
    /// The search.
    pub request: SearchRequest,
    /// Parts of the address that were given separately.
    pub given: GivenParts,
    /// Whether to explain how the result was found.
    pub explain: bool,
    /// Optional data to add to each address.
    pub with: Additions,
}

/// A parsed reverse search request.
#[derive(Clone, Debug)]
pub struct ReverseCall {
    /// Latitude in degrees.
    pub lat: f64,
    /// Longitude in degrees.
    pub lon: f64,
    /// Conditions on results.
    pub filter: AddressFilter,
    /// Maximum results.
    pub limit: usize,
    /// Maximum distance, metres; `None` for the default.
    pub metres_max: Option<f64>,
    /// Optional data to add to each address.
    pub with: Additions,
}

/// Conditions that results must meet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressFilter {
    /// Postal code.
    pub postal_code: Option<String>,
    /// INSEE code: of a commune, a former commune, or Paris, Lyon or Marseille as a whole.
    pub insee_code: Option<String>,
    /// Kind.
    pub kind: Option<ResultKind>,
}

impl AddressFilter {
    /// Parses `postcode`, `citycode` and `type`.
    ///
    /// # Errors
    /// A value is not a postal code, INSEE code or kind.
    pub fn parse(parameters: &Parameters) -> Result<Self, Fault> {
        Ok(Self::as_given(parameters)?.of_whole_city())
    }

    fn as_given(parameters: &Parameters) -> Result<Self, Fault> {
        Ok(Self {
            postal_code: postal_code(parameters)?,
            insee_code: insee_code(parameters)?,
            kind: kind(parameters)?,
        })
    }

    /// Replaces the postal code of Paris, Lyon or Marseille as a whole, which no address has, by the INSEE code of the
    /// city.
    fn of_whole_city(mut self) -> Self {
        if let Some(city) = self.postal_code.as_deref().and_then(city_of_postal_code) {
            let code = self.insee_code.get_or_insert_with(|| city.to_owned());
            if codes_within(city).contains(code) {
                self.postal_code = None;
            }
        }
        self
    }
}

/// Parses the parameters of a search.
///
/// # Errors
/// The first value that is not allowed.
pub fn parse_search(parameters: &Parameters) -> Result<SearchCall, Fault> {
    check_index(parameters)?;
    let filter = AddressFilter::as_given(parameters)?;
    let has_city_code = filter.insee_code.is_some();
    let street = last_text(parameters, "street");
    let number = last_text(parameters, "housenumber");
    let city = last_text(parameters, "city");
    let is_structured = last_text(parameters, "q").is_none();
    let mut request = SearchRequest {
        limit: limit(parameters, LIMIT_DEFAULT)?,
        autocomplete: flag(parameters, "autocomplete", !is_structured)?,
        near: position(parameters)?,
        kind: filter.kind,
        ..SearchRequest::default()
    };
    if let Some(text) = last_text(parameters, "q") {
        if let Some(other) = ["street", "housenumber"]
            .into_iter()
            .find(|name| last_text(parameters, name).is_some())
        {
            return Err(Fault::new(
                other,
                "cannot be combined with q; give either q or street, housenumber, postcode and city",
            ));
        }
        request.text = checked_text("q", text)?;
        request.within = city.map(communes_named).transpose()?;
        let filter = filter.of_whole_city();
        (request.postal_code, request.insee_code) = (filter.postal_code, filter.insee_code);
    } else {
        // Parts are evidence, not conditions: a wrong postal code lowers the score but does not exclude the street.
        let postal_code = filter.postal_code.as_deref();
        request.text = structured_text([number, street, postal_code, city])?;
        request.insee_code = filter.insee_code;
    }
    if city.is_some() && has_city_code {
        return Err(Fault::new(
            "city",
            "must not be given together with citycode",
        ));
    }
    let of_structure = |part: Option<&str>| part.filter(|_| is_structured).map(str::to_owned);
    Ok(SearchCall {
        request,
        given: GivenParts {
            house_number: of_structure(number),
            city: of_structure(city),
        },
        explain: flag(parameters, "explain", false)?,
        with: additions(parameters)?,
    })
}

/// Parses the parameters of a reverse search.
///
/// # Errors
/// The first value that is not allowed.
pub fn parse_reverse(parameters: &Parameters) -> Result<ReverseCall, Fault> {
    check_index(parameters)?;
    let Some((lat, lon)) = position(parameters)? else {
        return Err(Fault::new("lat", "is required, with lon"));
    };
    let metres_max = last(parameters, "maxdistance")
        .map(|text| {
            let allowed = |metres: &f64| *metres > 0.0 && *metres <= MAX_DISTANCE_MAX;
            text.parse().ok().filter(allowed).ok_or_else(|| {
                Fault::new(
                    "maxdistance",
                    format!("must be metres, more than 0 and at most {MAX_DISTANCE_MAX}"),
                )
            })
        })
        .transpose()?;
    Ok(ReverseCall {
        lat,
        lon,
        filter: AddressFilter::parse(parameters)?,
        limit: limit(parameters, REVERSE_LIMIT_DEFAULT)?,
        metres_max,
        with: additions(parameters)?,
    })
}

/// Joins an address given in parts into one text: house number, street, postal code, city.
///
/// # Errors
/// Street, city and postal code are all missing, or the text is too long.
pub fn structured_text(parts: [Option<&str>; 4]) -> Result<String, Fault> {
    let [_, street, postal_code, city] = parts;
    if street.is_none() && postal_code.is_none() && city.is_none() {
        return Err(Fault::new("q", "is required, or street, postcode or city"));
    }
    let given: Vec<&str> = parts.into_iter().flatten().collect();
    let text = given.join(" ");
    // Parts need not begin with a letter: only their length is bounded.
    if text.chars().count() <= *TEXT_CHARS.end() {
        Ok(text)
    } else {
        Err(Fault::new(
            "street",
            format!(
                "must be at most {} characters together with the other parts",
                TEXT_CHARS.end()
            ),
        ))
    }
}

/// Checks a search text and returns it trimmed.
///
/// # Errors
/// It is too short or too long, or does not begin with a letter or digit.
pub fn checked_text(name: &str, text: &str) -> Result<String, Fault> {
    let text = text.trim();
    let is_begun = text.chars().next().is_some_and(char::is_alphanumeric);
    if is_begun && TEXT_CHARS.contains(&text.chars().count()) {
        return Ok(text.to_owned());
    }
    Err(Fault::new(
        name,
        format!(
            "must have {} to {} characters and begin with a letter or a digit",
            TEXT_CHARS.start(),
            TEXT_CHARS.end()
        ),
    ))
}

fn last<'p>(parameters: &'p Parameters, name: &str) -> Option<&'p str> {
    let found = parameters.iter().rfind(|(key, _)| key == name);
    found.map(|(_, value)| value.trim())
}

fn last_text<'p>(parameters: &'p Parameters, name: &str) -> Option<&'p str> {
    last(parameters, name).filter(|text| !text.is_empty())
}

fn limit(parameters: &Parameters, default: usize) -> Result<usize, Fault> {
    let Some(text) = last(parameters, "limit") else {
        return Ok(default);
    };
    let limit = text.parse().ok().filter(|limit| LIMITS.contains(limit));
    limit.ok_or_else(|| {
        Fault::new(
            "limit",
            format!(
                "must be a whole number from {} to {}",
                LIMITS.start(),
                LIMITS.end()
            ),
        )
    })
}

fn flag(parameters: &Parameters, name: &str, default: bool) -> Result<bool, Fault> {
    match last(parameters, name) {
        None => Ok(default),
        Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(_) => Err(Fault::new(name, "must be 0 or 1")),
    }
}

fn position(parameters: &Parameters) -> Result<Option<(f64, f64)>, Fault> {
    // The public service also takes `lng` and `long`.
    let longitude = ["lon", "lng", "long"]
        .into_iter()
        .find_map(|name| last(parameters, name));
    let degrees = |name: &str, text: &str, most: f64| {
        let value = text.parse().ok().filter(|value: &f64| value.abs() <= most);
        value.ok_or_else(|| Fault::new(name, format!("must be degrees from -{most} to {most}")))
    };
    match (last(parameters, "lat"), longitude) {
        (None, None) => Ok(None),
        (Some(_), None) => Err(Fault::new("lon", "is required, with lat")),
        (None, Some(_)) => Err(Fault::new("lat", "is required, with lon")),
        (Some(lat), Some(lon)) => Ok(Some((
            degrees("lat", lat, 90.0)?,
            degrees("lon", lon, 180.0)?,
        ))),
    }
}

/// Returns whether a text has the form of a postal code.
pub(crate) fn is_postal_code(text: &str) -> bool {
    text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn postal_code(parameters: &Parameters) -> Result<Option<String>, Fault> {
    let code = last(parameters, "postcode");
    match code {
        Some(code) if !is_postal_code(code) => Err(Fault::new("postcode", "must be five digits")),
        code => Ok(code.map(str::to_owned)),
    }
}

/// Returns whether a text has the form of a commune's INSEE code.
pub(crate) fn is_insee_code(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes[at].is_ascii_digit();
    bytes.len() == 5
        && is_digit(0)
        && (is_digit(1) || matches!(bytes[1], b'A' | b'B'))
        && (2..5).all(is_digit)
}

fn insee_code(parameters: &Parameters) -> Result<Option<String>, Fault> {
    let code = last(parameters, "citycode").map(str::to_ascii_uppercase);
    match code {
        Some(code) if !is_insee_code(&code) => Err(Fault::new(
            "citycode",
            "must be an INSEE code of five characters, such as 48095",
        )),
        code => Ok(code),
    }
}

/// Parses the kind of result from its name in the contract.
///
/// # Errors
/// The name is unknown.
pub fn parse_kind(text: &str) -> Result<ResultKind, Fault> {
    ResultKind::parse(text).ok_or_else(|| {
        let names = ResultKind::NAMES.join(", ");
        Fault::new("type", format!("must be one of: {names}"))
    })
}

fn kind(parameters: &Parameters) -> Result<Option<ResultKind>, Fault> {
    last(parameters, "type").map(parse_kind).transpose()
}

/// Refuses the other indexes of the public service: points of interest and parcels.
fn check_index(parameters: &Parameters) -> Result<(), Fault> {
    match last(parameters, "index") {
        None | Some("address") => Ok(()),
        Some(_) => Err(Fault::new("index", "must be address")),
    }
}

fn additions(parameters: &Parameters) -> Result<Additions, Fault> {
    let mut with = Additions::default();
    for name in last_text(parameters, "with").unwrap_or_default().split(',') {
        match name.trim() {
            "" => {}
            "iris" => with.iris = true,
            "parcel" => with.parcel = true,
            _ => return Err(Fault::new("with", "must be iris, parcel or iris,parcel")),
        }
    }
    Ok(with)
}

/// Returns the communes with a name, as indexes into the table of places.
fn communes_named(name: &str) -> Result<Vec<u32>, Fault> {
    let tokens = fold::tokens(name);
    let words = tokens.iter().map(|token| token.text.as_str());
    let key = places::key(words.take(NAME_WORDS_MAX));
    let mut found = places::named(&key).to_vec();
    if found.is_empty() {
        found = places::nearly_named(&key, places::FUZZY_MIN);
    }
    if found.is_empty() {
        return Err(Fault::new("city", "no commune has this name"));
    }
    Ok(found.into_iter().map(|one| one.place).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(pair).collect()
    }

    fn search(pairs: &[(&str, &str)]) -> Result<SearchCall, String> {
        parse_search(&parameters(pairs)).map_err(|fault| fault.to_string())
    }

    #[test]
    fn the_last_value_counts_and_an_empty_text_is_absent() {
        let call = search(&[
            ("q", "rue"),
            ("q", " 12 rue de Mende "),
            ("street", ""),
            ("_", "x"),
        ])
        .unwrap();
        assert_eq!(call.request.text, "12 rue de Mende");
        assert_eq!((call.request.limit, call.request.autocomplete), (10, true));
    }

    #[test]
    fn parts_are_one_text_and_a_postal_code_beside_them_is_evidence() {
        let call = search(&[
            ("housenumber", "3 bis"),
            ("street", "rue Droite"),
            ("postcode", "48000"),
            ("city", "Mende"),
        ])
        .unwrap();
        assert_eq!(call.request.text, "3 bis rue Droite 48000 Mende");
        assert_eq!(call.request.postal_code, None);
        assert!(!call.request.autocomplete);
        let refused = search(&[("q", "rue Droite"), ("street", "rue Droite")]).unwrap_err();
        assert!(refused.starts_with("street: cannot be combined with q"));
    }

    #[test]
    fn values_that_are_not_allowed_are_named() {
        for (name, value) in [
            ("q", "ab"),
            ("q", "?rue de Mende"),
            ("limit", "51"),
            ("limit", "0"),
            ("limit", ""),
            ("citycode", ""),
            ("autocomplete", "yes"),
            ("lat", "91"),
            ("postcode", "4800"),
            ("citycode", "Mende"),
            ("type", "poi"),
            ("index", "poi"),
            ("with", "price"),
            ("city", "Nowhereville"),
            ("explain", "2"),
        ] {
            let refused = search(&[("q", "rue de Mende"), ("lon", "3"), ("lat", "44")]);
            assert!(refused.is_ok());
            let refused = search(&[
                ("q", "rue de Mende"),
                ("lon", "3"),
                ("lat", "44"),
                (name, value),
            ]);
            let message = refused.unwrap_err();
            assert!(message.starts_with(&format!("{name}: ")), "{message}");
        }
        let long = "x".repeat(10_000);
        assert!(search(&[("q", &long)]).is_err() && search(&[("street", &long)]).is_err());
        assert_eq!(
            search(&[]).unwrap_err(),
            "q: is required, or street, postcode or city"
        );
    }

    #[test]
    fn a_reverse_search_needs_a_position() {
        let reverse = |pairs: &[(&str, &str)]| {
            parse_reverse(&parameters(pairs)).map_err(|fault| fault.to_string())
        };
        assert!(reverse(&[]).unwrap_err().starts_with("lat: "));
        assert!(reverse(&[("lat", "44")]).unwrap_err().starts_with("lon: "));
        assert!(reverse(&[("lat", "44"), ("lng", "3")]).is_ok());
        let far = reverse(&[("lat", "44"), ("lon", "3"), ("maxdistance", "1e9")]).unwrap_err();
        assert!(far.starts_with("maxdistance: "));
    }
}
