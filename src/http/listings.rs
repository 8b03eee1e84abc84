//! Adverts in, and records by identifier out. What the store holds is spliced into answers unparsed.
//!
//! Each handler waits for the store on a blocking thread; adverts that come in also compute on all cores, so only a few
//! such calls run at once.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Value, json};

use super::answer::Answer;
use super::error::ApiError;
use super::opendata::read_json;
use super::pipeline::Call;
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::parse_many;
use toise_listings::load::ingest::answer;
use toise_listings::load::request::parse_adverts;
use toise_listings::{self as listings, Listings};

/// Calls that bring adverts and run at once.
pub const INGESTING_MAX: usize = 4;
/// How long another such call waits for its turn.
const INGEST_WAIT: Duration = Duration::from_secs(10);
/// Bytes of an answer beside its records.
const ENVELOPE_BYTES: usize = 16;

/// `POST /v2/protected/admin/adverts`: takes adverts, and tells of each in order once all are on disk.
pub async fn adverts_take(call: &Call<'_>) -> Result<Answer, ApiError> {
    let turn = call.app.ingesting.clone().acquire_owned();
    let turn = tokio::time::timeout(INGEST_WAIT, turn)
        .await
        .map_err(|_| ApiError::Overloaded)?;
    let turn = turn.map_err(ApiError::internal)?;
    let body = call.body.clone();
    on_store(call, move |listings| {
        // Given back when the adverts are taken, though nobody may wait for that any more.
        let _turn = turn;
        let adverts = parse_adverts(read_json(&body)?)?;
        drop(body);
        let outcomes = listings.ingest(adverts)?;
        let items: Vec<Value> = outcomes
            .into_iter()
            .enumerate()
            .map(|(place, outcome)| {
                let at = format!("adverts[{place}]");
                answer(&outcome.map_err(|fault| fault.within(&at)))
            })
            .collect();
        Ok(Answer::json(json!({"data": items}).to_string()))
    })
    .await
}

/// `GET /v2/protected/properties/{flxId}`: a property.
pub async fn property(call: &Call<'_>) -> Result<Answer, ApiError> {
    let id = path_id(call, "property")?;
    on_store(call, move |listings| {
        one(listings.property(id)?, "property")
    })
    .await
}

/// `GET /v2/protected/properties/advert/{flxId}`: the property an advert belongs to.
pub async fn property_of_advert(call: &Call<'_>) -> Result<Answer, ApiError> {
    let id = path_id(call, "advert")?;
    on_store(call, move |listings| {
        one(listings.property_of_advert(id)?, "advert")
    })
    .await
}

/// `GET /v2/protected/adverts/{flxId}`: an advert.
pub async fn advert(call: &Call<'_>) -> Result<Answer, ApiError> {
    let id = path_id(call, "advert")?;
    on_store(call, move |listings| one(listings.advert(id)?, "advert")).await
}

/// `POST /v2/protected/properties/_many`: properties in the order asked for; one unit for each there is.
pub async fn properties_many(call: &Call<'_>) -> Result<Answer, ApiError> {
    let body = call.body.clone();
    on_store(call, move |listings| {
        let ids: Vec<FlxId> = parse_many(&read_json(&body)?)?
            .into_iter()
            .map(FlxId)
            .collect();
        let records: Vec<Vec<u8>> = listings.properties(&ids)?.into_iter().flatten().collect();
        let units = records.len() as u64;
        Ok(Answer::json(list(&records)).with_units(units))
    })
    .await
}

pub(super) fn path_id(call: &Call<'_>, what: &'static str) -> Result<FlxId, ApiError> {
    FlxId::parse(call.param(0)).ok_or(ApiError::NotFound(what))
}

pub(super) fn one(record: Option<Vec<u8>>, what: &'static str) -> Result<Answer, ApiError> {
    let record = record.ok_or(ApiError::NotFound(what))?;
    let mut bytes = BytesMut::with_capacity(record.len() + ENVELOPE_BYTES);
    bytes.put_slice(br#"{"data":"#);
    bytes.put_slice(&record);
    bytes.put_u8(b'}');
    Ok(Answer::json(bytes))
}

/// `{"data": […]}` of records.
pub(super) fn list(records: &[Vec<u8>]) -> Bytes {
    let length: usize = records.iter().map(|record| record.len() + 1).sum();
    let mut bytes = BytesMut::with_capacity(length + ENVELOPE_BYTES);
    bytes.put_slice(br#"{"data":["#);
    for (place, record) in records.iter().enumerate() {
        if place > 0 {
            bytes.put_u8(b',');
        }
        bytes.put_slice(record);
    }
    bytes.put_slice(b"]}");
    bytes.freeze()
}

pub(super) async fn on_store(
    call: &Call<'_>,
    job: impl FnOnce(&Listings) -> Result<Answer, ApiError> + Send + 'static,
) -> Result<Answer, ApiError> {
    let listings = call.app.properties.listings().clone();
    tokio::task::spawn_blocking(move || job(&listings))
        .await
        .map_err(ApiError::internal)?
}

impl From<listings::Error> for ApiError {
    fn from(error: listings::Error) -> Self {
        ApiError::internal(error)
    }
}
