//! Bodies with a filter of listings (searches, counts, analytics, alerts), and bodies with identifiers of properties.
//!
//! The whole body is validated first; the cursor is verified last, because it is bound to the query.

use serde_json::Value;
use uuid::Uuid;

use super::model::{FieldSubset, FilterModel};
use super::parse::model;
use super::tables::{FILTER_ADVERT, FILTER_PROPERTY};
use crate::cursor::{CursorKey, QueryDigest, text_query_digest};
use crate::enums::{
    EnumSearchRequestOrderBy, EnumSearchRequestSortBy, EnumStudiedData,
    SimilarPropertiesRequestSimilarityStrategyEnum as Strategy, WireEnum,
};
use crate::fault::Fault;
use crate::fields::schema::reference;
use crate::fields::{self, Field, FieldKind, FromTaken, ListOf, Own, Taken, Values};
use crate::filter::Filter;
use crate::listings::codes::FlxId;
use crate::position::CursorPosition;
use crate::read::read;
use crate::walk::{JsonPath, object};

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

/// The two kinds of listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListingKind {
    /// One asset.
    Property,
    /// One posting on one portal.
    Advert,
}

impl ListingKind {
    /// Name of the table.
    pub fn table(self) -> &'static str {
        match self {
            ListingKind::Property => "properties",
            ListingKind::Advert => "adverts",
        }
    }

    /// Key of the filter in a search.
    pub fn filter_key(self) -> &'static str {
        match self {
            ListingKind::Property => "filterProperty",
            ListingKind::Advert => "filterAd",
        }
    }

    /// Model of the filter.
    pub fn filter_model(self) -> &'static FilterModel {
        match self {
            ListingKind::Property => &FILTER_PROPERTY,
            ListingKind::Advert => &FILTER_ADVERT,
        }
    }

    /// Column that a list is sorted by. For relevance, the column used when the search has no text.
    pub fn sort_column(self, sort_by: EnumSearchRequestSortBy) -> &'static str {
        use EnumSearchRequestSortBy::{FirstSeenAt, LastSeenAt, LastUpdatedAt, Price, Relevance};
        match (sort_by, self) {
            (FirstSeenAt, _) => "meta_first_seen_at",
            (LastSeenAt | Relevance, _) => "meta_last_seen_at",
            (LastUpdatedAt, _) => "meta_last_updated_at",
            (Price, ListingKind::Property) => "price_latest_value",
            (Price, ListingKind::Advert) => "current_price_value",
        }
    }
}

/// A search of listings: a filter and texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListingSearch {
    /// Filter.
    pub filter: Filter,
    /// Keywords; all must occur.
    pub keywords: Vec<String>,
    /// Texts; at least one must occur. Spelling errors are tolerated.
    pub full_texts: Vec<String>,
}

/// A request for one page of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct PropertySearchRequest {
    /// Filter and texts.
    pub search: ListingSearch,
    /// Sort criterion.
    pub sort_by: EnumSearchRequestSortBy,
    /// Whether the greatest value comes first.
    pub descending: bool,
    /// Page size.
    pub size: usize,
    /// Position at which the previous page ended; `None` for the first page.
    pub after: Option<CursorPosition>,
}

impl PropertySearchRequest {
    /// Digest of the query, to which cursors are bound; independent of the page size.
    pub fn digest(&self, listing: ListingKind) -> QueryDigest {
        text_query_digest(
            listing.table(),
            &self.search.filter,
            self.sort_by.as_str(),
            self.descending,
            [&self.search.keywords, &self.search.full_texts],
        )
    }
}

/// A request for properties similar to one.
#[derive(Clone, Debug, PartialEq)]
pub struct SimilarsRequest {
    /// Identifier of the property.
    pub flx_id: Uuid,
    /// Conditions that they must meet; none by default.
    pub filter: Filter,
    /// Maximum number of properties to return.
    pub size: usize,
}

/// A request for statistics over the results of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalyticsRequest {
    /// Filter and texts.
    pub search: ListingSearch,
    /// The quantity studied.
    pub studied_data: EnumStudiedData,
}

static TEXTS: ListOf = ListOf {
    item: FieldKind::Words(TEXT_CHARS_MAX),
    least: 0,
    most: Some(TEXTS_MAX),
};
static FULL_TEXTS: Own = Own {
    read: full_texts,
    schema: |found| fields::schema::kind(FieldKind::List(&TEXTS), found),
};
static FLX_ID: Own = Own {
    read: |value, at| {
        let id = read::<FlxId>(value).map_err(|fault| at.fault(fault.message))?;
        Ok(Taken::Uuid(id.0))
    },
    schema: |_| reference("FlxId"),
};
static FLX_IDS: ListOf = ListOf {
    item: FieldKind::Own(&FLX_ID),
    least: 1,
    most: Some(MANY_MAX),
};
static WHOLE_FILTER: Own = Own {
    read: |value, at| model(value, &FILTER_PROPERTY, FieldSubset::Whole, "", at).map(Taken::Filter),
    schema: |_| reference("FilterProperty"),
};
static LITE_FILTER: Own = Own {
    read: |value, at| model(value, &FILTER_PROPERTY, FieldSubset::Lite, "", at).map(Taken::Filter),
    schema: |_| reference("LiteFilterProperty"),
};
static WHOLE_CONDITIONS: [Field; 3] = search_conditions(&WHOLE_FILTER);
static LITE_CONDITIONS: [Field; 3] = search_conditions(&LITE_FILTER);
static WHOLE_SEARCH: [Field; 5] = search(&WHOLE_CONDITIONS, SEARCH_SIZE_MAX);
static LITE_SEARCH: [Field; 5] = search(&LITE_CONDITIONS, LITE_SIZE_MAX);
const SEARCH: Field = Field::required("search", FieldKind::Object(&WHOLE_CONDITIONS), SEARCH_ABOUT);
const SEARCH_ABOUT: &str = "The search; all its conditions must hold";

/// Returns the fields of the body of a property search.
pub fn search_table(part: FieldSubset) -> &'static [Field] {
    match part {
        FieldSubset::Whole => &WHOLE_SEARCH,
        FieldSubset::Lite => &LITE_SEARCH,
    }
}

/// The body of a count.
pub static COUNT: [Field; 1] = [SEARCH];

/// The body of an analysis.
pub static ANALYTICS: [Field; 2] = [
    SEARCH,
    Field::required("studiedData", FieldKind::Enum(EnumStudiedData::TABLE), ""),
];

/// The body of a request for similar properties.
pub static SIMILARS: [Field; 4] = [
    Field::required("flxId", FieldKind::Own(&FLX_ID), ""),
    Field::required("similarityStrategy", FieldKind::Enum(Strategy::TABLE), ""),
    Field::required(
        "size",
        FieldKind::Integer(1, SIMILARS_SIZE_MAX as i64),
        "Maximum number of properties",
    ),
    Field::optional(
        "filterProperty",
        FieldKind::Own(&WHOLE_FILTER),
        "Conditions that they must meet, such as an area",
    ),
];

/// The body of `_many`; its one field may also be sent bare, as the whole body.
pub static MANY: [Field; 1] = [Field::required(
    "flxIds",
    FieldKind::List(&FLX_IDS),
    "Identifiers of properties; the answer keeps their order and leaves out unknown identifiers",
)];

const KEYWORDS: Field = Field::optional(
    "keywords",
    FieldKind::List(&TEXTS),
    "Terms that must all occur in title, description or tags; case and accents are ignored",
);
const FULL_TEXTS_FIELD: Field = Field::optional("fullTexts", FieldKind::Own(&FULL_TEXTS), "").about(
    || {
        format!(
            "Texts of which at least one must occur in title, description or tags, with tolerance for typing errors; \
             at most {FULL_TEXT_WORDS_MAX} words in total"
        )
    },
);

/// The texts of a search.
pub static SEARCH_TEXTS: [Field; 2] = [KEYWORDS, FULL_TEXTS_FIELD];

/// Returns the fields of `search`, with a filter of this kind.
const fn search_conditions(filter: &'static Own) -> [Field; 3] {
    [
        Field::required("filterProperty", FieldKind::Own(filter), ""),
        KEYWORDS,
        FULL_TEXTS_FIELD,
    ]
}

const fn search(asked: &'static [Field], size_max: usize) -> [Field; 5] {
    let size = FieldKind::Integer(1, size_max as i64);
    [
        Field::required("size", size, "Number of properties per page"),
        Field::required(
            "sortBy",
            FieldKind::Enum(EnumSearchRequestSortBy::TABLE),
            "Records without the value come last in both orders; ties are sorted by identifier. RELEVANCE sorts by \
             how well the texts match, using coarse statistics of all texts; without texts it is the same as \
             LAST_SEEN_AT",
        ),
        Field::required(
            "orderBy",
            FieldKind::Enum(EnumSearchRequestOrderBy::TABLE),
            "",
        ),
        Field::required("search", FieldKind::Object(asked), SEARCH_ABOUT),
        Field::optional(
            "searchAfterHash",
            FieldKind::Text,
            "The cursor from a previous answer to the same search and order; the size may differ. The page is taken \
             from the same state of the properties as the previous page, so that changes in between neither skip nor \
             repeat a property. That state is kept for five minutes after the last page, or until the server \
             restarts. If it is gone and properties have changed, the answer is 422 with the code 10009",
        ),
    ]
}

/// Reads the body of a property search with all fields, or with those of lite searches. `cursors` verifies its cursor.
///
/// # Errors
/// The first fault in document order, then missing keys, then a cursor that is invalid for the query.
pub fn parse_search(
    part: FieldSubset,
    body: &Value,
    cursors: &CursorKey,
) -> Result<PropertySearchRequest, Fault> {
    let at = JsonPath::Body;
    let mut values = fields::read(body, search_table(part), at)?;
    let mut request = PropertySearchRequest {
        size: values.require("size")?,
        sort_by: values.one("sortBy")?,
        descending: values.one::<EnumSearchRequestOrderBy>("orderBy")?
            == EnumSearchRequestOrderBy::Desc,
        search: search_of(&mut values)?,
        after: None,
    };
    if let Some(cursor) = values.take::<&str>("searchAfterHash") {
        let position = cursors
            .decode(cursor, &request.digest(ListingKind::Property))
            .map_err(|fault| JsonPath::Key(&at, "searchAfterHash").fault(fault))?;
        request.after = Some(position);
    }
    Ok(request)
}

/// Parses the body of a count: `{search}`.
///
/// # Errors
/// The first fault in document order.
pub fn parse_count(body: &Value) -> Result<ListingSearch, Fault> {
    search_of(&mut fields::read(body, &COUNT, JsonPath::Body)?)
}

/// Parses the body of an analysis: `{search, studiedData}`.
///
/// # Errors
/// The first fault in document order.
pub fn parse_analytics(body: &Value) -> Result<AnalyticsRequest, Fault> {
    let mut values = fields::read(body, &ANALYTICS, JsonPath::Body)?;
    Ok(AnalyticsRequest {
        search: search_of(&mut values)?,
        studied_data: values.one("studiedData")?,
    })
}

/// Parses the body of a request for similar properties: `{flxId, similarityStrategy, size, filterProperty?}`.
///
/// # Errors
/// The first fault in document order.
pub fn parse_similars(body: &Value) -> Result<SimilarsRequest, Fault> {
    let mut values = fields::read(body, &SIMILARS, JsonPath::Body)?;
    Ok(SimilarsRequest {
        flx_id: values.require("flxId")?,
        filter: values.take("filterProperty").unwrap_or_default(),
        size: values.require("size")?,
    })
}

/// Parses the body of `_many`: `{flxIds: […]}`, or the bare list. Identifiers stay in the order of the request.
///
/// # Errors
/// The first fault in document order.
pub fn parse_many(body: &Value) -> Result<Vec<Uuid>, Fault> {
    let at = JsonPath::Body;
    if body.is_array() {
        let ids = fields::read_value(body, MANY[0].kind, at)?;
        return Ok(Vec::from_taken(ids).unwrap_or_default());
    }
    object(body, at).map_err(|_| at.fault("must be an object or an array"))?;
    fields::read(body, &MANY, at)?.require("flxIds")
}

/// Parses the `search_query` of an alert, `{filterProperty}` or `{filterAd}` with optional `keywords` and `fullTexts`;
/// paths of faults start with `search_query`. A null means no texts.
///
/// # Errors
/// The first fault in document order.
pub fn parse_saved_search(listing: ListingKind, value: &Value) -> Result<ListingSearch, Fault> {
    let body = JsonPath::Body;
    let at = JsonPath::Key(&body, "search_query");
    let [keywords, full_texts] = &SEARCH_TEXTS;
    let known = [listing.filter_key(), keywords.name, full_texts.name];
    let (mut filter, mut search) = (None, ListingSearch::default());
    for field in fields::given(value, &known, at)? {
        let (key, value) = field?;
        let here = JsonPath::Key(&at, key);
        let texts = |field: &Field| {
            let texts = Vec::from_taken(fields::read_value(value, field.kind, here)?);
            Ok::<Vec<String>, Fault>(texts.unwrap_or_default())
        };
        if key == keywords.name {
            search.keywords = texts(keywords)?;
        } else if key == full_texts.name {
            search.full_texts = texts(full_texts)?;
        } else {
            let model = model(value, listing.filter_model(), FieldSubset::Whole, "", here);
            filter = Some(model?);
        }
    }
    let filter =
        filter.ok_or_else(|| JsonPath::Key(&at, listing.filter_key()).fault("is required"));
    Ok(ListingSearch {
        filter: filter?,
        ..search
    })
}

/// Parses the `search_query` of a request that takes no texts, `{filterProperty}` or `{filterAd}`; paths of faults
/// start with `search_query`. Empty lists of texts are accepted, because clients may send the whole search of a page.
///
/// # Errors
/// The first fault in document order, then a list of texts that is not empty.
pub fn parse_search_query(listing: ListingKind, value: &Value) -> Result<Filter, Fault> {
    let search = parse_saved_search(listing, value)?;
    let [keywords, full_texts] = &SEARCH_TEXTS;
    let body = JsonPath::Body;
    let at = JsonPath::Key(&body, "search_query");
    for (field, texts) in [
        (keywords, &search.keywords),
        (full_texts, &search.full_texts),
    ] {
        if !texts.is_empty() {
            return Err(
                JsonPath::Key(&at, field.name).fault("must be empty: texts are not searched here")
            );
        }
    }
    Ok(search.filter)
}

/// Returns the `search_query` of a preview as a kind of field.
pub const fn search_query(listing: ListingKind) -> &'static Own {
    static PROPERTY: Own = Own {
        read: |value, _| {
            let search = parse_saved_search(ListingKind::Property, value)?;
            Ok(Taken::Filter(search.filter))
        },
        schema: |_| reference("FilterPropertyQuery"),
    };
    static ADVERT: Own = Own {
        read: |value, _| {
            let search = parse_saved_search(ListingKind::Advert, value)?;
            Ok(Taken::Filter(search.filter))
        },
        schema: |_| reference("FilterAdvertQuery"),
    };
    match listing {
        ListingKind::Property => &PROPERTY,
        ListingKind::Advert => &ADVERT,
    }
}

/// Removes the `search` of a body from its values and returns it.
fn search_of(values: &mut Values<'_>) -> Result<ListingSearch, Fault> {
    let mut asked: Values<'_> = values.require("search")?;
    Ok(ListingSearch {
        filter: asked.require("filterProperty")?,
        keywords: asked.take("keywords").unwrap_or_default(),
        full_texts: asked.take("fullTexts").unwrap_or_default(),
    })
}

/// Reads full texts and limits their number of words, split as in the text index.
fn full_texts<'v>(value: &'v Value, at: JsonPath<'_>) -> Result<Taken<'v>, Fault> {
    let texts = fields::read_value(value, FieldKind::List(&TEXTS), at)?;
    let items = value.as_array().into_iter().flatten();
    let words = items.filter_map(Value::as_str).flat_map(|text| {
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
