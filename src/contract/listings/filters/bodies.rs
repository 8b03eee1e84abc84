//! Bodies with a filter of listings (searches, counts, analytics, alerts), and bodies with identifiers of properties.
//!
//! The whole body is validated first; the cursor is verified last, because it is bound to the query.

use serde_json::Value;
use uuid::Uuid;

use super::model::{Model, Part};
use super::parse::{model, value_of};
use super::tables::{FILTER_ADVERT, FILTER_PROPERTY};
use crate::cursor::{CursorKey, QuestionDigest, text_question_digest};
use crate::enums::{
    EnumSearchRequestOrderBy, EnumSearchRequestSortBy, EnumStudiedData,
    SimilarPropertiesRequestSimilarityStrategyEnum as Strategy, WireEnum,
};
use crate::fault::Fault;
use crate::filter::Filter;
use crate::listings::codes::FlxId;
use crate::position::Position;
use crate::read::read;
use crate::walk::{At, list, number_between, object, text};

/// Maximum properties per page of a search.
pub const SEARCH_SIZE_MAX: usize = 100;
/// Maximum properties per page of a lite search.
pub const LITE_SIZE_MAX: usize = 25;
/// Maximum similar properties per response.
pub const SIMILARS_SIZE_MAX: usize = 100;
/// Maximum keywords, and maximum full texts, of a search.
pub const TEXTS_MAX: usize = 20;
/// Maximum length of a keyword or full text, in characters.
pub const TEXT_CHARS_MAX: usize = 200;
/// Maximum words in all full texts of a search; each is compared with every word of the text index.
pub const FULL_TEXT_WORDS_MAX: usize = 64;
/// Maximum identifiers in a `_many` call.
pub const MANY_MAX: usize = 100;

/// Keys of a search body.
pub const SEARCH_BODY_KEYS: [&str; 5] = ["size", "sortBy", "orderBy", "search", "searchAfterHash"];

/// The two kinds of listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// One asset.
    Property,
    /// One posting on one portal.
    Advert,
}

impl Listing {
    /// Name of the table.
    pub fn table(self) -> &'static str {
        match self {
            Listing::Property => "properties",
            Listing::Advert => "adverts",
        }
    }

    /// Key of the filter in a search.
    pub fn filter_key(self) -> &'static str {
        match self {
            Listing::Property => "filterProperty",
            Listing::Advert => "filterAd",
        }
    }

    /// Model of the filter.
    pub fn filter_model(self) -> &'static Model {
        match self {
            Listing::Property => &FILTER_PROPERTY,
            Listing::Advert => &FILTER_ADVERT,
        }
    }

    /// Column that a list is sorted by. For relevance, the column used when the search has no text.
    pub fn sort_column(self, sort_by: EnumSearchRequestSortBy) -> &'static str {
        use EnumSearchRequestSortBy::{FirstSeenAt, LastSeenAt, LastUpdatedAt, Price, Relevance};
        match (sort_by, self) {
            (FirstSeenAt, _) => "meta_first_seen_at",
            (LastSeenAt | Relevance, _) => "meta_last_seen_at",
            (LastUpdatedAt, _) => "meta_last_updated_at",
            (Price, Listing::Property) => "price_latest_value",
            (Price, Listing::Advert) => "current_price_value",
        }
    }
}

/// A search of listings: a filter and texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Search {
    /// Filter.
    pub filter: Filter,
    /// Keywords, each of which must occur.
    pub keywords: Vec<String>,
    /// Texts of which any may occur, with tolerance for spelling.
    pub full_texts: Vec<String>,
}

/// A request for one page of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchRequest {
    /// Filter and texts.
    pub search: Search,
    /// Sort criterion.
    pub sort_by: EnumSearchRequestSortBy,
    /// Whether the greatest value comes first.
    pub descending: bool,
    /// Page size.
    pub size: usize,
    /// Position at which the previous page ended; `None` for the first page.
    pub after: Option<Position>,
}

impl SearchRequest {
    /// Digest of the query, to which cursors are bound; independent of the page size.
    pub fn digest(&self, listing: Listing) -> QuestionDigest {
        text_question_digest(
            listing.table(),
            &self.search.filter,
            self.sort_by.as_str(),
            self.descending,
            [&self.search.keywords, &self.search.full_texts],
        )
    }
}

/// A request for properties similar to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimilarsRequest {
    /// Identifier of the property.
    pub flx_id: Uuid,
    /// Maximum number of properties to return.
    pub size: usize,
}

/// A request for statistics over the results of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalyticsRequest {
    /// Filter and texts.
    pub search: Search,
    /// The quantity studied.
    pub studied_data: EnumStudiedData,
}

/// Parses the body of a property search; `part` limits a lite search. `cursors` verifies the cursor.
///
/// # Errors
/// The first fault in document order, then missing keys, then a cursor that is invalid for the query.
pub fn parse_search(part: Part, body: &Value, cursors: &CursorKey) -> Result<SearchRequest, Fault> {
    let at = At::Body;
    let size_max = match part {
        Part::Whole => SEARCH_SIZE_MAX,
        Part::Lite => LITE_SIZE_MAX,
    };
    let (mut size, mut sort_by, mut descending, mut asked) = (None, None, None, None);
    let mut cursor = None;
    for (key, value) in object(body, at)? {
        let here = At::Key(&at, key);
        match key.as_str() {
            "size" => size = Some(size_up_to(size_max, value, here)?),
            "sortBy" => sort_by = Some(one::<EnumSearchRequestSortBy>(value, here)?),
            "orderBy" => {
                let order = one::<EnumSearchRequestOrderBy>(value, here)?;
                descending = Some(order == EnumSearchRequestOrderBy::Desc);
            }
            "search" => asked = Some(search(Listing::Property, part, value, here)?),
            "searchAfterHash" => cursor = Some(text(value, here)?),
            _ => return Err(at.unknown_key(key, SEARCH_BODY_KEYS)),
        }
    }
    let mut request = SearchRequest {
        size: required(size, "size", at)?,
        sort_by: required(sort_by, "sortBy", at)?,
        descending: required(descending, "orderBy", at)?,
        search: required(asked, "search", at)?,
        after: None,
    };
    if let Some(cursor) = cursor {
        let position = cursors
            .decode(cursor, &request.digest(Listing::Property))
            .map_err(|fault| At::Key(&at, "searchAfterHash").fault(fault))?;
        request.after = Some(position);
    }
    Ok(request)
}

/// Parses the body of a count: `{search}`.
///
/// # Errors
/// The first fault in document order.
pub fn parse_count(body: &Value) -> Result<Search, Fault> {
    let at = At::Body;
    let mut asked = None;
    for (key, value) in object(body, at)? {
        match key.as_str() {
            "search" => {
                let here = At::Key(&at, key);
                asked = Some(search(Listing::Property, Part::Whole, value, here)?);
            }
            _ => return Err(at.unknown_key(key, ["search"])),
        }
    }
    required(asked, "search", at)
}

/// Parses the body of an analysis: `{search, studiedData}`.
///
/// # Errors
/// The first fault in document order.
pub fn parse_analytics(body: &Value) -> Result<AnalyticsRequest, Fault> {
    let at = At::Body;
    let (mut asked, mut studied_data) = (None, None);
    for (key, value) in object(body, at)? {
        let here = At::Key(&at, key);
        match key.as_str() {
            "search" => asked = Some(search(Listing::Property, Part::Whole, value, here)?),
            "studiedData" => studied_data = Some(one::<EnumStudiedData>(value, here)?),
            _ => return Err(at.unknown_key(key, ["search", "studiedData"])),
        }
    }
    Ok(AnalyticsRequest {
        search: required(asked, "search", at)?,
        studied_data: required(studied_data, "studiedData", at)?,
    })
}

/// Parses the body of a request for similar properties: `{flxId, similarityStrategy, size}`.
///
/// # Errors
/// The first fault in document order.
pub fn parse_similars(body: &Value) -> Result<SimilarsRequest, Fault> {
    let at = At::Body;
    let (mut flx_id, mut strategy, mut size) = (None, None, None);
    for (key, value) in object(body, at)? {
        let here = At::Key(&at, key);
        match key.as_str() {
            "flxId" => flx_id = Some(id(value, here)?),
            "similarityStrategy" => strategy = Some(one::<Strategy>(value, here)?),
            "size" => size = Some(size_up_to(SIMILARS_SIZE_MAX, value, here)?),
            _ => return Err(at.unknown_key(key, ["flxId", "similarityStrategy", "size"])),
        }
    }
    let flx_id = required(flx_id, "flxId", at)?;
    required(strategy, "similarityStrategy", at)?;
    Ok(SimilarsRequest {
        flx_id,
        size: required(size, "size", at)?,
    })
}

/// Parses the body of `_many`: `{flxIds: […]}`, or the bare list. Identifiers stay in the order of the request.
///
/// # Errors
/// The first fault in document order.
pub fn parse_many(body: &Value) -> Result<Vec<Uuid>, Fault> {
    let at = At::Body;
    if body.is_array() {
        return ids(body, at);
    }
    let mut found = None;
    for (key, value) in object(body, at).map_err(|_| at.fault("must be an object or an array"))? {
        match key.as_str() {
            "flxIds" => found = Some(ids(value, At::Key(&at, key))?),
            _ => return Err(at.unknown_key(key, ["flxIds"])),
        }
    }
    required(found, "flxIds", at)
}

/// Parses the `search_query` of an alert, `{filterProperty}` or `{filterAd}`; paths of faults start with
/// `search_query`.
///
/// # Errors
/// The first fault in document order.
pub fn parse_search_query(listing: Listing, value: &Value) -> Result<Filter, Fault> {
    let body = At::Body;
    let at = At::Key(&body, "search_query");
    let mut filter = None;
    for (key, value) in object(value, at)? {
        if key != listing.filter_key() {
            return Err(at.unknown_key(key, [listing.filter_key()]));
        }
        let here = At::Key(&at, key);
        filter = Some(model(value, listing.filter_model(), Part::Whole, "", here)?);
    }
    required(filter, listing.filter_key(), at)
}

/// Parses the `search` of a body.
fn search(listing: Listing, part: Part, value: &Value, at: At<'_>) -> Result<Search, Fault> {
    let mut filter = None;
    let (mut keywords, mut full_texts) = (Vec::new(), Vec::new());
    for (key, value) in object(value, at)? {
        let here = At::Key(&at, key);
        match key.as_str() {
            "keywords" => keywords = texts(value, here)?,
            "fullTexts" => full_texts = few_words(texts(value, here)?, here)?,
            key if key == listing.filter_key() => {
                filter = Some(model(value, listing.filter_model(), part, "", here)?);
            }
            _ => {
                let known = [listing.filter_key(), "keywords", "fullTexts"];
                return Err(at.unknown_key(key, known));
            }
        }
    }
    Ok(Search {
        filter: required(filter, listing.filter_key(), at)?,
        keywords,
        full_texts,
    })
}

fn texts(value: &Value, at: At<'_>) -> Result<Vec<String>, Fault> {
    let items = list(value, at)?;
    if items.len() > TEXTS_MAX {
        return Err(at.fault(format!("must hold at most {TEXTS_MAX} items")));
    }
    let items = items.iter().enumerate();
    items
        .map(|(index, item)| {
            let here = At::Index(&at, index);
            let text = text(item, here)?;
            if text.trim().is_empty() || text.chars().count() > TEXT_CHARS_MAX {
                let rule = format!("must hold 1 to {TEXT_CHARS_MAX} characters, not only blanks");
                return Err(here.fault(rule));
            }
            Ok(text.to_owned())
        })
        .collect()
}

/// Checks the total number of words, tokenised like the text index.
fn few_words(texts: Vec<String>, at: At<'_>) -> Result<Vec<String>, Fault> {
    let words = texts.iter().flat_map(|text| {
        let words = text.split(|letter: char| !letter.is_alphanumeric());
        words.filter(|word| !word.is_empty())
    });
    match words.count() {
        count if count > FULL_TEXT_WORDS_MAX => Err(at.fault(format!(
            "must hold at most {FULL_TEXT_WORDS_MAX} words in all; these are {count}"
        ))),
        _ => Ok(texts),
    }
}

fn ids(value: &Value, at: At<'_>) -> Result<Vec<Uuid>, Fault> {
    let items = list(value, at)?;
    if items.is_empty() || items.len() > MANY_MAX {
        return Err(at.fault(format!("must hold 1 to {MANY_MAX} items")));
    }
    let items = items.iter().enumerate();
    items
        .map(|(index, item)| id(item, At::Index(&at, index)))
        .collect()
}

fn id(value: &Value, at: At<'_>) -> Result<Uuid, Fault> {
    let id = read::<FlxId>(value).map_err(|fault| at.fault(fault.message))?;
    Ok(id.0)
}

fn one<E: WireEnum>(value: &Value, at: At<'_>) -> Result<E, Fault> {
    let written = value_of(value, E::TABLE, at)?;
    E::parse(written).ok_or_else(|| at.fault("is not known"))
}

fn size_up_to(size_max: usize, value: &Value, at: At<'_>) -> Result<usize, Fault> {
    number_between(value, 1.0, size_max as f64, true, at).map(|size| size as usize)
}

fn required<T>(value: Option<T>, key: &str, at: At<'_>) -> Result<T, Fault> {
    value.ok_or_else(|| At::Key(&at, key).fault("is required"))
}
