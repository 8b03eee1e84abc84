//! Ingestion of adverts.
//!
//! A call waits for the store on a blocking thread and computes on all cores, so only a few run at once.

use std::borrow::Cow;
use std::time::Duration;

use super::operator;
use crate::endpoint::call::{Call, read_json};
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{BodyRule, Endpoint, endpoints};
use crate::openapi::admin::data_list_of;
use crate::openapi::{Operation, reference};
use toise_collect::mapping::MappedAdvert;
use toise_collect::request::{INGESTION, parse_mapping};
use toise_contract::Fault;
use toise_contract::fields::schema;
use toise_contract::query::pairs;
use toise_listings::adverts::left_out::with_left_out_value;
use toise_listings::load::ingest::{IngestOutcome, answer};
use toise_listings::load::request::parse_adverts;
use toise_service::error::ApiError;

/// Maximum concurrent calls that ingest adverts.
pub const INGESTING_MAX: usize = 4;
/// Maximum wait of such a call for its permit.
const INGEST_WAIT: Duration = Duration::from_secs(10);
/// Maximum body length of such a call, in bytes.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Description of the operation.
const ABOUT: &str = "Each advert is one sighting of the listing at its url; lastSeenAt is when it was seen, by \
                     default now. A listing that is not known yet needs source, type, offer.type, a price (null if \
                     it is given only on request) and a place (postalCode, inseeCode or locationCoordinate). In a \
                     later sighting, an absent field means unchanged and null means that the value is now unknown; \
                     lists are replaced as a whole. A sighting older than the latest one known changes no content. A \
                     sighting older than all others sets firstSeenAt and the initial price, and adds the events that \
                     it reveals. Identifiers, meta and other derived fields are ignored, so a record read here may \
                     be sent back. With a mapping, rows may have any shape: its rules say which column or JSON path \
                     fills which field. A value that an optional field does not accept is then left out, with a \
                     warning. The answer is sent once every accepted advert is on disk; sending the same adverts \
                     again does no harm.";

/// The endpoint that ingests adverts.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    POST "/v2/protected/admin/adverts", operator("admin.adverts"), Writes, take(call)
        .with_body(BodyRule::Json {
        bytes_max: BODY_BYTES_MAX,
    })
    .with_operation(|| {
        Operation::new("advertsTake", "Ingest adverts")
            .with_description(ABOUT)
            .with_query(schema::parameters(&INGESTION))
            .with_request(reference("AdvertsRequest"))
            .with_response(data_list_of("AdvertOutcome"))
    });
};

/// `POST /v2/protected/admin/adverts`: ingests adverts and returns the outcome of each, in order, once all are on
/// disk.
async fn take(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let permit = call.app.capacity.ingesting.clone().acquire_owned();
    let permit = tokio::time::timeout(INGEST_WAIT, permit)
        .await
        .map_err(|_| ApiError::Overloaded)?;
    let permit = permit.map_err(ApiError::internal)?;
    let mapping = parse_mapping(&pairs(call.query)?)?;
    let body = call.body.clone();
    call.blocking(move |app| {
        // Released when the adverts are ingested, even if the caller has gone away.
        let _permit = permit;
        let mapping = mapping.map(|name| app.data.collector.mappings().get(&name));
        let mapping = mapping.transpose()?;
        let rows = parse_adverts(read_json(&body)?)?;
        drop(body);
        let rows = rows.into_iter().map(|row| match mapping {
            Some(mapping) => mapping.convert(row, app.data.collector.portals()),
            None => Ok(MappedAdvert {
                advert: row,
                left_out: Vec::new(),
                warnings: Vec::new(),
                unread_class: None,
            }),
        });
        let rows: Vec<Result<MappedAdvert, Fault>> = rows.collect();
        let adverts = rows.iter().flatten().map(|row| row.advert.clone());
        let mut outcomes = app
            .data
            .properties
            .listings()
            .ingest(adverts.collect())?
            .into_iter();
        let items = rows.into_iter().enumerate().map(|(place, row)| {
            let outcome = row.and_then(|row| outcome_with_warnings(outcomes.next(), &row));
            let at = format!("adverts[{place}]");
            answer(&outcome.map_err(|fault| fault.within(&at)))
        });
        Ok(ApiResponse::data(items.collect()))
    })
    .await
}

/// Returns the outcome of an advert, with warnings about the values that were left out or corrected.
fn outcome_with_warnings(outcome: Option<IngestOutcome>, row: &MappedAdvert) -> IngestOutcome {
    // Not reached: every advert has an outcome.
    let outcome = outcome.unwrap_or_else(|| Err(Fault::new("", "has no outcome")));
    let mut receipt = outcome.map_err(|fault| with_left_out_value(fault, &row.left_out))?;
    let warnings = row.left_out.iter().map(|one| one.warning().into());
    receipt.warnings.extend(warnings);
    let corrected = row.warnings.iter().copied().map(Cow::Borrowed);
    receipt.warnings.extend(corrected);
    Ok(receipt)
}
