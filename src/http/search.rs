//! Searches of properties: parsing, the question, the records of the page and the writing of the answer are one job on
//! the query pool.

use bytes::Bytes;
use serde_json::json;

use super::App;
use super::answer::Answer;
use super::error::ApiError;
use super::listings::list;
use super::opendata::{on_pool, read_json};
use super::pipeline::Call;
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::{
    Listing, Part, SearchRequest, parse_analytics, parse_count, parse_search, parse_similars,
};
use toise_contract::listings::{LiteProperty, Property};
use toise_engine::interrupt::Interrupt;
use toise_engine::pool::Load;
use toise_listings::properties::record_key::RecordKey;
use toise_listings::search::projection;

/// Bytes of a record, about: room for a page of them is made at once.
const RECORD_BYTES: usize = 8 << 10;

/// `POST /v2/protected/properties/search` and `…/search/lite`: a page of properties, whole or in short.
pub async fn properties_search(call: &Call<'_>, part: Part) -> Result<Answer, ApiError> {
    on_pool(call, Load::Single, move |app, body, interrupt| {
        let request = parse_search(part, &read_json(body)?, &app.cursors)?;
        page(app, part, &request, interrupt)
    })
    .await
}

/// `POST /v2/protected/properties/search/count`: how many properties a search finds.
pub async fn properties_count(call: &Call<'_>) -> Result<Answer, ApiError> {
    on_pool(call, Load::Single, move |app, body, interrupt| {
        let search = parse_count(&read_json(body)?)?;
        let count = app.properties.count(&search, interrupt)?;
        Ok(format!(r#"{{"data":{{"count":{count}}}}}"#).into())
    })
    .await
}

/// `POST /v2/protected/properties/similars`: the properties most similar to one.
pub async fn properties_similars(call: &Call<'_>) -> Result<Answer, ApiError> {
    on_pool(call, Load::Single, move |app, body, interrupt| {
        let request = parse_similars(&read_json(body)?)?;
        let listings = app.properties.listings();
        let record = listings
            .property(FlxId(request.flx_id))?
            .ok_or(ApiError::NotFound("property"))?;
        let property: Property = serde_json::from_slice(&record).map_err(ApiError::internal)?;
        let found = app.properties.similar(&property, request.size, interrupt)?;
        Ok(list(&listings.properties_by_key(&found)?))
    })
    .await
}

/// `POST /v2/protected/analytics/property/search`: figures over the properties a search finds.
pub async fn analytics(call: &Call<'_>) -> Result<Answer, ApiError> {
    on_pool(call, Load::Single, move |app, body, interrupt| {
        let request = parse_analytics(&read_json(body)?)?;
        let figures = app.properties.analyse(&request, interrupt)?;
        Ok(json!({ "data": figures }).to_string().into())
    })
    .await
}

fn page(
    app: &App,
    part: Part,
    request: &SearchRequest,
    interrupt: &Interrupt,
) -> Result<Bytes, ApiError> {
    let page = app.properties.search(request, interrupt)?;
    let listings = app.properties.listings();
    let mut bytes = Vec::from(br#"{"data":{"items":["#);
    let keys: Vec<RecordKey> = page.items.iter().map(|found| found.key).collect();
    // A property joined to another since the search is left out; the other is there by itself.
    match part {
        Part::Whole => {
            bytes.reserve(page.items.len() * RECORD_BYTES);
            listings.write_properties(&keys, &mut bytes)?;
        }
        Part::Lite => {
            let records = listings.properties_by_key(&keys)?;
            for (place, record) in records.into_iter().enumerate() {
                if place > 0 {
                    bytes.push(b',');
                }
                write_in_short(&record, &mut bytes)?;
            }
        }
    }
    bytes.extend_from_slice(format!(r#"],"count":{}"#, page.count).as_bytes());
    if let Some(next) = &page.next {
        // Base64url needs no escaping.
        let cursor = app.cursors.encode(next, &request.digest(Listing::Property));
        bytes.extend_from_slice(format!(r#","searchAfterHash":"{cursor}""#).as_bytes());
    }
    bytes.extend_from_slice(b"}}");
    Ok(bytes.into())
}

fn write_in_short(record: &[u8], to: &mut Vec<u8>) -> Result<(), ApiError> {
    let property: Property = serde_json::from_slice(record).map_err(ApiError::internal)?;
    serde_json::to_writer(to, &LiteProperty::from(&property)).map_err(ApiError::internal)
}

impl From<projection::Error> for ApiError {
    fn from(error: projection::Error) -> Self {
        match error {
            projection::Error::Behind | projection::Error::NoWords => ApiError::Overloaded,
            error => ApiError::internal(error),
        }
    }
}
