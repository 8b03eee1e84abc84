//! Parses the requests with which operators decide which adverts are one home.

use serde_json::Value;
use uuid::Uuid;

use super::cluster::MEMBERS_MAX;
use toise_contract::fault::Fault;
use toise_contract::fields::{Field, FieldKind, ListOf, read, read_query};
use toise_contract::listings::codes::FlxId;
use toise_contract::walk::JsonPath;

/// Maximum pairs per call.
pub const PAIRS_MAX: usize = 100;
/// Pairs returned if a call gives no limit.
const PAIRS_DEFAULT: usize = 20;
/// The field that names the other property.
pub const OTHER_KEY: &str = "propertyFlxId";
/// The field that names the adverts to move out.
pub const ADVERTS_KEY: &str = "advertFlxIds";

/// The query of the list of pairs.
pub static CANDIDATES: [Field; 1] = [Field::optional(
    "limit",
    FieldKind::Integer(1, PAIRS_MAX as i64),
    "Maximum number of pairs, likeliest first; 20 by default",
)];

/// The body that names the other of two properties.
pub static OTHER: [Field; 1] = [Field::required(
    OTHER_KEY,
    FieldKind::Uuid,
    "Identifier of the other property",
)];

static MOVED: ListOf = ListOf {
    item: FieldKind::Uuid,
    least: 1,
    most: Some(MEMBERS_MAX),
};

/// The body that names adverts of a property.
pub static SPLIT: [Field; 1] = [Field::required(
    ADVERTS_KEY,
    FieldKind::List(&MOVED),
    "Identifiers of the adverts to move out; at least one advert must remain",
)];

/// Reads the maximum number of pairs.
///
/// # Errors
/// The first fault in the order of the query.
pub fn parse_candidates(query: &[(String, String)]) -> Result<usize, Fault> {
    let limit: Option<usize> = read_query(query, &CANDIDATES)?.take("limit");
    Ok(limit.unwrap_or(PAIRS_DEFAULT))
}

/// Reads the identifier of the other property.
///
/// # Errors
/// The first fault in document order.
pub fn parse_other(body: &Value) -> Result<FlxId, Fault> {
    let other: Uuid = read(body, &OTHER, JsonPath::Body)?.require(OTHER_KEY)?;
    Ok(FlxId(other))
}

/// Reads the identifiers of the adverts to move out.
///
/// # Errors
/// The first fault in document order.
pub fn parse_split(body: &Value) -> Result<Vec<FlxId>, Fault> {
    let adverts: Vec<Uuid> = read(body, &SPLIT, JsonPath::Body)?.require(ADVERTS_KEY)?;
    Ok(adverts.into_iter().map(FlxId).collect())
}
