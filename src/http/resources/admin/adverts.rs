//! Ingestion of adverts.
//!
//! A call waits for the store on a blocking thread and computes on all cores, so only a few run at once.

use std::time::Duration;

use futures::FutureExt;
use serde_json::Value;
use warp::http::Method;

use super::operator;
use crate::call::{Call, read_json};
use crate::endpoint::{BodyRule, Counting, Endpoint, Time};
use crate::error::ApiError;
use crate::openapi::admin::data_list_of;
use crate::openapi::{Operation, reference};
use crate::response::ApiResponse;
use toise_listings::load::ingest::answer;
use toise_listings::load::request::parse_adverts;

/// Maximum concurrent calls that ingest adverts.
pub const INGESTING_MAX: usize = 4;
/// Maximum wait of such a call for its permit.
const INGEST_WAIT: Duration = Duration::from_secs(10);
/// Maximum body length of such a call, in bytes.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Description of the operation.
const ABOUT: &str = "Each advert is one sighting of a listing, which its url names; lastSeenAt is when it was seen, \
by default now. A listing that is not known yet needs source, type, offer.type, a price (null when it is given on \
request only) and a place (postalCode, inseeCode or locationCoordinate). In a later sighting an absent field means \
unchanged and null means unknown now; lists are replaced whole. A sighting older than the one known changes nothing \
but an earlier firstSeenAt. Identifiers, meta and other derived fields are ignored, so a record read here may be sent \
back. The answer comes once every advert taken is on disk; sending the same again does no harm.";

/// The endpoint that ingests adverts.
pub const ENDPOINTS: &[Endpoint] = &[Endpoint {
    method: Method::POST,
    path: "/v2/protected/admin/adverts",
    access: operator("admin.adverts"),
    counting: Counting::Free,
    body: BodyRule::Json {
        bytes_max: BODY_BYTES_MAX,
    },
    time: Time::Request,
    handler: |call| take(call).boxed(),
    operation: Some(|| {
        Operation::new("advertsTake", "Take adverts")
            .with_description(ABOUT)
            .with_request(reference("AdvertsRequest"))
            .with_answer(data_list_of("AdvertOutcome"))
    }),
}];

/// `POST /v2/protected/admin/adverts`: ingests adverts and returns the outcome of each, in order, once all are on
/// disk.
async fn take(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let permit = call.app.ingesting.clone().acquire_owned();
    let permit = tokio::time::timeout(INGEST_WAIT, permit)
        .await
        .map_err(|_| ApiError::Overloaded)?;
    let permit = permit.map_err(ApiError::internal)?;
    let body = call.body.clone();
    call.blocking(move |app| {
        // Released when the adverts are ingested, even if the caller has gone away.
        let _permit = permit;
        let adverts = parse_adverts(read_json(&body)?)?;
        drop(body);
        let outcomes = app.properties.listings().ingest(adverts)?;
        let items: Vec<Value> = outcomes
            .into_iter()
            .enumerate()
            .map(|(place, outcome)| {
                let at = format!("adverts[{place}]");
                answer(&outcome.map_err(|fault| fault.within(&at)))
            })
            .collect();
        Ok(ApiResponse::data(items.into()))
    })
    .await
}
