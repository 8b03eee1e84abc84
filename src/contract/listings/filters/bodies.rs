//! The bodies that carry a filter of listings: searches, counts, analytics, alerts; and those that name properties.
//!
//! Shape comes first: a cursor is only opened once the whole body is known, because it is bound to the question asked.

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

/// Properties a page of a search may hold.
pub const SEARCH_SIZE_MAX: usize = 100;
/// Properties a page of a lite search may hold.
pub const LITE_SIZE_MAX: usize = 25;
/// Similar properties one answer may hold.
pub const SIMILARS_SIZE_MAX: usize = 100;
/// Keywords, and full texts, of a search.
pub const TEXTS_MAX: usize = 20;
/// Longest keyword or full text, characters.
pub const TEXT_CHARS_MAX: usize = 200;
/// Words of all full texts of a search: each is compared with every word there is.
pub const FULL_TEXT_WORDS_MAX: usize = 64;
/// Identifiers of one `_many` call.
pub const MANY_MAX: usize = 100;

/// Keys of a search body.
pub const SEARCH_BODY_KEYS: [&str; 5] = ["size", "sortBy", "orderBy", "search", "searchAfterHash"];

/// The two kinds of listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// One asset.
    Property,
    /// One listing on one portal.
    Advert,
}

impl Listing {
    /// Name of its table.
    pub fn table(self) -> &'static str {
        match self {
            Listing::Property => "properties",
            Listing::Advert => "adverts",
        }
    }

    /// Key of its filter in a search.
    pub fn filter_key(self) -> &'static str {
        match self {
            Listing::Property => "filterProperty",
            Listing::Advert => "filterAd",
        }
    }

    /// Its filter.
    pub fn filter_model(self) -> &'static Model {
        match self {
            Listing::Property => &FILTER_PROPERTY,
            Listing::Advert => &FILTER_ADVERT,
        }
    }

    /// The column a list is sorted by; of relevance, the one it falls back to where no text is asked for.
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

/// What is asked of listings: a filter, and texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Search {
    /// What they must be like.
    pub filter: Filter,
    /// Terms each of which must occur.
    pub keywords: Vec<String>,
    /// Texts any of which may occur, with tolerance.
    pub full_texts: Vec<String>,
}

/// A page of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchRequest {
    /// What is asked.
    pub search: Search,
    /// What the list is sorted by.
    pub sort_by: EnumSearchRequestSortBy,
    /// Greatest first.
    pub descending: bool,
    /// Records of a page.
    pub size: usize,
    /// Where the page before ended.
    pub after: Option<Position>,
}

impl SearchRequest {
    /// What cursors of this question are bound to; the page size does not count.
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

/// Properties similar to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimilarsRequest {
    /// The property.
    pub flx_id: Uuid,
    /// Most properties to answer.
    pub size: usize,
}

/// Figures over what a search finds.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalyticsRequest {
    /// What is asked.
    pub search: Search,
    /// What is studied.
    pub studied_data: EnumStudiedData,
}

/// Reads the body of a property search: all of it, or what lite searches take. `cursors` opens its cursor.
///
/// # Errors
/// The first fault in document order; missing keys come last, and a cursor of another question after them.
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

/// Reads the body of a count: `{search}`.
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

/// Reads the body of an analysis: `{search, studiedData}`.
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

/// Reads the body of similars: `{flxId, similarityStrategy, size}`.
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

/// Reads the body of `_many`: `{flxIds: […]}`, or the bare list. Identifiers stay in the order of the request.
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

/// Reads the `search_query` of an alert, `{filterProperty}` or `{filterAd}`; paths start with `search_query`.
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

/// Reads the `search` of a body.
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

/// Texts that have few words, taken apart as the index of words does.
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
