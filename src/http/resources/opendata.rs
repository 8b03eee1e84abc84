//! Open data: searches and matches of sales and diagnostics. Parsing, the query and writing the response are one
//! job on the query pool.
//!
//! Records are copied into responses as the JSON texts that the tables store; they are never parsed.

use bytes::{BufMut, Bytes, BytesMut};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde_json::{Value, json};

use crate::endpoint::call::{Call, read_json};
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Endpoint, JSON_BODY, MANY_JSON_BODY};
use crate::input::layers;
use crate::openapi::schemas::match_many_request;
use crate::openapi::{Failure, Operation, enveloped, reference, type_name};
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_contract::Fault;
use toise_contract::cursor::{CursorKey, query_digest};
use toise_engine::pool::Load;
use toise_geocode::Geocoder;
use toise_geocode::resolve::Resolved;
use toise_opendata::request::address::{ADDRESS_PATH, PLACE_PATH};
use toise_opendata::request::{parse_match, parse_match_many, parse_search};
use toise_opendata::{
    Dataset, DatasetSearchRequest, MatchAnswer, MatchRequest, SearchAnswer, score,
};
use toise_service::error::ApiError;
pub use toise_service::open_data::{AnswerError, OpenDataBackend};

macro_rules! endpoints {
    ($name:literal, $dataset:expr, $search:ident, $matching:ident) => {
        crate::endpoint::endpoints! {
            POST concat!("/v2/protected/opendata/", $name, "/search"),
                Access::scoped(Scope::Search, concat!("opendata.", $name, ".search")), Reads, search(call, $dataset)
                .counted_as(Consumption::$search).with_body(JSON_BODY).with_operation(|| search_operation($dataset));
            POST concat!("/v2/protected/opendata/", $name, "/match"),
                Access::scoped(Scope::Search, concat!("opendata.", $name, ".match")), Reads,
                find_matches(call, $dataset)
                .counted_as(Consumption::$matching).with_body(JSON_BODY).with_operation(|| match_operation($dataset));
            POST concat!("/v2/protected/opendata/", $name, "/match/_many"),
                Access::scoped(Scope::Search, concat!("opendata.", $name, ".match_many")), Reads,
                find_matches_many(call, $dataset)
                .counted_as(Consumption::$matching)
                .with_body(MANY_JSON_BODY)
                .with_operation(|| match_many_operation($dataset));
        }
    };
}

/// Endpoints for diagnostics.
pub const OF_DIAGNOSTICS: &[Endpoint] =
    endpoints!("dpe", Dataset::Dpe, OpendataDpeSearch, OpendataDpeMatch);
/// Endpoints for sales.
pub const OF_SALES: &[Endpoint] =
    endpoints!("dvf", Dataset::Dvf, OpendataDvfSearch, OpendataDvfMatch);

fn search_operation(dataset: Dataset) -> Operation {
    Operation::new(
        id(dataset, "Search"),
        format!("Filtered, sorted list of {}", plural(dataset)),
    )
    .with_request(schema(dataset, "SearchRequest"))
    .with_response(schema(dataset, "SearchAnswer"))
    .failing(Failure::ExpiredCursor)
}

fn match_operation(dataset: Dataset) -> Operation {
    Operation::new(
        id(dataset, "Match"),
        format!("Ranked candidates among {}", plural(dataset)),
    )
    .with_description(score::reference(dataset))
    .with_request(schema(dataset, "MatchRequest"))
    .with_response(schema(dataset, "MatchAnswer"))
}

fn match_many_operation(dataset: Dataset) -> Operation {
    Operation::new(
        id(dataset, "MatchMany"),
        format!(
            "Ranked candidates among {} for many requests",
            plural(dataset)
        ),
    )
    .with_request(match_many_request(dataset))
    .with_response(enveloped(json!({
        "type": "array",
        "items": schema(dataset, "MatchAnswer"),
        "description": "One answer per item, in the order of the request",
    })))
}

fn plural(dataset: Dataset) -> &'static str {
    match dataset {
        Dataset::Dpe => "energy performance diagnostics",
        Dataset::Dvf => "recorded sales",
    }
}

fn id(dataset: Dataset, action: &str) -> String {
    format!("{}{action}", dataset.name())
}

fn schema(dataset: Dataset, part: &str) -> Value {
    reference(&format!("{}{part}", type_name(dataset)))
}

/// Bytes of a response in addition to its records.
const ENVELOPE_BYTES: usize = 256;
/// Bytes of a candidate in addition to its record.
const CANDIDATE_BYTES: usize = 64;

/// Handles a search.
async fn search(call: &Call<'_>, dataset: Dataset) -> Result<ApiResponse, ApiError> {
    let cursors = call.cursors()?;
    call.on_pool(Load::Single, move |app, body, interrupt| {
        let mut request = parse_search(dataset, &read_json(body)?, &cursors)?;
        layers::resolve(app, &mut request.filter)?;
        let answer = app.data.open_data.search(dataset, &request, interrupt)?;
        Ok(page(dataset, &request, &answer, &cursors))
    })
    .await
}

/// Handles a match.
async fn find_matches(call: &Call<'_>, dataset: Dataset) -> Result<ApiResponse, ApiError> {
    call.on_pool(Load::Single, move |app, body, interrupt| {
        let mut request = parse_match(dataset, &read_json(body)?)?;
        layers::resolve(app, &mut request.filter)?;
        let address = locate(&mut request, dataset, &app.data.geocoding.geocoder())?;
        let answer = app
            .data
            .open_data
            .find_matches(dataset, &request, interrupt)
            .map_err(ApiError::internal)?;
        let mut bytes = BytesMut::with_capacity(match_bytes(&answer));
        write_match(&mut bytes, dataset, &answer, address.as_ref());
        Ok(bytes.freeze())
    })
    .await
}

/// Handles many matches, in order; the items are distributed over the pool's threads.
async fn find_matches_many(call: &Call<'_>, dataset: Dataset) -> Result<ApiResponse, ApiError> {
    call.on_pool(Load::Batch, move |app, body, interrupt| {
        let mut requests = parse_match_many(dataset, &read_json(body)?)?;
        for request in &mut requests {
            layers::resolve(app, &mut request.filter)?;
        }
        let geocoder = app.data.geocoding.geocoder();
        let located: Result<Vec<Option<Resolved>>, ApiError> = requests
            .iter_mut()
            .enumerate()
            .map(|(index, request)| {
                locate(request, dataset, &geocoder)
                    .map_err(|fault| fault.within(&format!("items[{index}]")).into())
            })
            .collect();
        let located = located?;
        let answers: Result<Vec<MatchAnswer>, AnswerError> = requests
            .par_iter()
            .map(|request| app.data.open_data.find_matches(dataset, request, interrupt))
            .collect();
        let answers = answers.map_err(ApiError::internal)?;
        let length: usize = answers.iter().map(match_bytes).sum();
        let mut bytes = BytesMut::with_capacity(length + ENVELOPE_BYTES);
        bytes.put_slice(br#"{"data":["#);
        for (index, (answer, address)) in answers.iter().zip(&located).enumerate() {
            if index > 0 {
                bytes.put_u8(b',');
            }
            write_match(&mut bytes, dataset, answer, address.as_ref());
        }
        bytes.put_slice(b"]}");
        Ok(bytes.freeze())
    })
    .await
}

/// Checks the place of a request, and replaces its address with the condition it stands for.
fn locate(
    request: &mut MatchRequest,
    dataset: Dataset,
    geocoder: &Geocoder,
) -> Result<Option<Resolved>, Fault> {
    request
        .check_place()
        .map_err(|reason| Fault::new(PLACE_PATH, reason.to_string()))?;
    let located = request.locate(dataset, geocoder);
    located.map_err(|reason| Fault::new(ADDRESS_PATH, reason.to_string()))
}

fn page(
    dataset: Dataset,
    request: &DatasetSearchRequest,
    answer: &SearchAnswer,
    cursors: &CursorKey,
) -> Bytes {
    let records: usize = answer.records.iter().map(|record| record.len() + 1).sum();
    let mut bytes = BytesMut::with_capacity(records + ENVELOPE_BYTES);
    bytes.put_slice(br#"{"data":["#);
    for (index, record) in answer.records.iter().enumerate() {
        if index > 0 {
            bytes.put_u8(b',');
        }
        bytes.put_slice(record);
    }
    let rest = format!(
        r#"],"total":{},"size":{},"hasMore":{}"#,
        answer.total,
        request.size,
        answer.next.is_some()
    );
    bytes.put_slice(rest.as_bytes());
    if let Some(next) = &answer.next {
        let digest = query_digest(
            dataset.name(),
            &request.filter,
            request.sort_by,
            request.descending,
        );
        // Base64url needs no escaping.
        let cursor = format!(r#","cursor":"{}""#, cursors.encode(next, &digest));
        bytes.put_slice(cursor.as_bytes());
    }
    bytes.put_u8(b'}');
    bytes.freeze()
}

fn match_bytes(answer: &MatchAnswer) -> usize {
    let candidates: usize = answer
        .candidates
        .iter()
        .map(|candidate| candidate.record.len() + CANDIDATE_BYTES)
        .sum();
    candidates + ENVELOPE_BYTES
}

fn write_match(
    bytes: &mut BytesMut,
    dataset: Dataset,
    answer: &MatchAnswer,
    address: Option<&Resolved>,
) {
    bytes.put_slice(br#"{"data":["#);
    for (index, candidate) in answer.candidates.iter().enumerate() {
        if index > 0 {
            bytes.put_u8(b',');
        }
        let head = format!(
            r#"{{"score":{},"confidence":"{}","{}":"#,
            candidate.score,
            candidate.confidence.as_str(),
            dataset.name()
        );
        bytes.put_slice(head.as_bytes());
        bytes.put_slice(&candidate.record);
        bytes.put_u8(b'}');
    }
    let meta = format!(
        r#"],"meta":{{"ambiguous":{},"total":{}"#,
        answer.ambiguous, answer.total
    );
    bytes.put_slice(meta.as_bytes());
    if let Some(found) = address {
        let address = json!(found.summary());
        bytes.put_slice(format!(r#","address":{address}"#).as_bytes());
    }
    bytes.put_slice(b"}}");
}
