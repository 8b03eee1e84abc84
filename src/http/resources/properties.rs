//! Searches of properties. Parsing, the query, reading the records of the page and writing the response are one job
//! on the query pool.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::endpoint::call::{Call, read_json};
use crate::endpoint::response::{ApiResponse, list};
use crate::endpoint::{Access, Endpoint, JSON_BODY, endpoints};
use crate::input::layers;
use crate::openapi::admin::data_list_of;
use crate::openapi::{Failure, Operation, enveloped, reference};
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_contract::cursor::CursorKey;
use toise_contract::fields::schema::{self, record, text};
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::{
    FieldSubset, ListingKind, PropertySearchRequest, parse_count, parse_search, parse_similars,
};
use toise_contract::listings::{LiteProperty, Property};
use toise_engine::cancellation::Interrupt;
use toise_engine::pool::Load;
use toise_listings::properties::record_key::RecordKey;
use toise_listings::search::similars;
use toise_service::App;
use toise_service::error::ApiError;

/// Approximate length of a record, bytes; the buffer of a page is allocated at once.
const RECORD_BYTES: usize = 8 << 10;

/// The endpoints for searches, counts and similar properties.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    POST "/v2/protected/properties/search",
        Access::scoped(Scope::Search, "properties.search"), Reads, search(call, FieldSubset::Whole)
        .counted_as(Consumption::PropertiesSearch)
        .with_body(JSON_BODY)
        .with_operation(|| {
            search_operation(
                "propertiesSearch",
                "Filtered, sorted list of properties",
                "SearchPropertiesPayload",
                "Property",
            )
        });
    POST "/v2/protected/properties/search/lite",
        Access::scoped(Scope::Search, "properties.search.lite"), Reads, search(call, FieldSubset::Lite)
        .counted_as(Consumption::PropertiesSearchLite)
        .with_body(JSON_BODY)
        .with_operation(|| {
            search_operation(
                "propertiesSearchLite",
                "Filtered, sorted list of properties in short form",
                "SearchPropertiesLitePayload",
                "LiteProperty",
            )
        });
    POST "/v2/protected/properties/search/count",
        Access::scoped(Scope::Search, "properties.count"), Reads, count(call)
        .counted_as(Consumption::PropertiesSearch)
        .with_body(JSON_BODY)
        .with_operation(|| {
            Operation::new(
                "propertiesCount",
                "Number of properties that match a search",
            )
            .with_request(reference("CountPropertiesPayload"))
            .with_response(enveloped(record(
                json!({"count": schema::count("Properties that match")}),
            )))
        });
    POST "/v2/protected/properties/similars",
        Access::scoped(Scope::Search, "properties.similars"), Reads, similars(call)
        .counted_as(Consumption::PropertiesSearch)
        .with_body(JSON_BODY)
        .with_operation(|| {
            Operation::new("propertiesSimilars", "Properties similar to a given one")
                .with_description(similars_description())
                .with_request(reference("SimilarPropertiesPayload"))
                .with_response(data_list_of("Property"))
                .failing(Failure::NoRecord)
        });
};

fn similars_description() -> String {
    format!(
        "Properties of the same class and offer, within {} km of its position, or else in its commune, postal code \
         or department. The most similar come first: a difference of {} % in surface or price counts as much as one \
         room or {} km, and as much as a value that only one of the two has",
        similars::RADIUS_M / 1_000.0,
        100.0 * similars::SHARE_UNIT,
        similars::DISTANCE_UNIT_M / 1_000.0,
    )
}

fn search_operation(id: &str, about: &str, payload: &str, record: &str) -> Operation {
    Operation::new(id, about)
        .with_description(
            "A change is visible within a second of its acknowledgement. Every keyword must occur as written, except \
             for case and accents, in title, description or tags. At least one of the full texts must match: all its \
             words must occur, compared by French stem and with tolerance for typing errors. Without keywords and \
             full texts, sorting by relevance sorts by last sighting",
        )
        .with_request(reference(payload))
        .with_response(enveloped(page_schema(record)))
        .failing(Failure::ExpiredCursor)
}

/// Returns the schema of a page of records with the total count.
fn page_schema(name: &str) -> Value {
    record(json!({
        "items": {"type": "array", "items": reference(name), "description": "Records of the page, in sort order"},
        "count": schema::count("Number of all records that match"),
        "searchAfterHash?": text("Cursor of the next page; absent on the last page"),
    }))
}

/// `POST /v2/protected/properties/search` and `…/search/lite`: a page of properties, complete or lite.
async fn search(call: &Call<'_>, part: FieldSubset) -> Result<ApiResponse, ApiError> {
    let cursors = call.cursors()?;
    call.on_pool(Load::Single, move |app, body, interrupt| {
        let mut request = parse_search(part, &read_json(body)?, &cursors)?;
        layers::resolve(app, &mut request.search.filter)?;
        page(app, part, &request, &cursors, interrupt)
    })
    .await
}

/// `POST /v2/protected/properties/search/count`: the number of properties that match a search.
async fn count(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    call.on_pool(Load::Single, move |app, body, interrupt| {
        let mut search = parse_count(&read_json(body)?)?;
        layers::resolve(app, &mut search.filter)?;
        let count = app.data.properties.count(&search, interrupt)?;
        Ok(format!(r#"{{"data":{{"count":{count}}}}}"#).into())
    })
    .await
}

/// `POST /v2/protected/properties/similars`: the properties most similar to a given one.
async fn similars(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    call.on_pool(Load::Single, move |app, body, interrupt| {
        let mut request = parse_similars(&read_json(body)?)?;
        layers::resolve(app, &mut request.filter)?;
        let listings = app.data.properties.listings();
        let record = listings
            .property(FlxId(request.flx_id))?
            .ok_or(ApiError::NotFound("property"))?;
        let property: Property = serde_json::from_slice(&record).map_err(ApiError::internal)?;
        let (filter, size) = (request.filter, request.size);
        let found = app
            .data
            .properties
            .similar(&property, filter, size, interrupt)?;
        Ok(list(&listings.properties_by_key(&found)?))
    })
    .await
}

fn page(
    app: &App,
    part: FieldSubset,
    request: &PropertySearchRequest,
    cursors: &CursorKey,
    interrupt: &Interrupt,
) -> Result<Bytes, ApiError> {
    let page = app.data.properties.search(request, interrupt)?;
    let listings = app.data.properties.listings();
    let mut bytes = Vec::from(br#"{"data":{"items":["#);
    let keys: Vec<RecordKey> = page.items.iter().map(|found| found.key).collect();
    // A property merged into another since the search is left out; the surviving property is found separately.
    match part {
        FieldSubset::Whole => {
            bytes.reserve(page.items.len() * RECORD_BYTES);
            listings.write_properties(&keys, &mut bytes)?;
        }
        FieldSubset::Lite => {
            let records = listings.properties_by_key(&keys)?;
            for (place, record) in records.into_iter().enumerate() {
                if place > 0 {
                    bytes.push(b',');
                }
                write_lite(&record, &mut bytes)?;
            }
        }
    }
    bytes.extend_from_slice(format!(r#"],"count":{}"#, page.count).as_bytes());
    if let Some(next) = &page.next {
        // Base64url needs no escaping.
        let cursor = cursors.encode(next, &request.digest(ListingKind::Property));
        bytes.extend_from_slice(format!(r#","searchAfterHash":"{cursor}""#).as_bytes());
    }
    bytes.extend_from_slice(b"}}");
    Ok(bytes.into())
}

/// Writes a property in short form.
fn write_lite(record: &[u8], to: &mut Vec<u8>) -> Result<(), ApiError> {
    let property: Property = serde_json::from_slice(record).map_err(ApiError::internal)?;
    serde_json::to_writer(to, &LiteProperty::from(&property)).map_err(ApiError::internal)
}
