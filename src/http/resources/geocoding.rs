//! Geocoding: addresses to positions and back, one at a time or up to a hundred. Files are in
//! [`super::geocoding_files`].
//!
//! Most searches take a fraction of a millisecond and are answered on the thread of the connection. A search over all
//! of France, a batch, and an answer with further data are jobs on the query pool. The upstream service, if one is set,
//! is asked between two jobs.

use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde::Serialize;
use serde_json::{Number, Value, json};
use tokio::time::Instant;

use crate::endpoint::call::{Call, read_json};
use crate::endpoint::limits::BATCH_MAX;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Endpoint, JSON_BODY, endpoints};
use crate::openapi::geocoding::{
    batch_request, reverse_parameters, search_parameters, with_collection,
};
use crate::openapi::{Operation as Documented, enveloped, reference};
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_contract::Fault;
use toise_contract::query::pairs;
use toise_engine::pool::Load;
use toise_geocode::address::Address;
use toise_geocode::request::Operation;
use toise_geocode::search::explain::Explanation;
use toise_geocode::service::GeocodingCall;
use toise_geocode::upstream;
use toise_service::App;
use toise_service::error::ApiError;

/// Maximum wait of a single call until the upstream service can be asked.
const SINGLE_WAIT_MAX: Duration = Duration::from_secs(2);
/// Maximum wait of a batch until the upstream service can be asked for its last request.
const BATCH_WAIT_MAX: Duration = Duration::from_secs(12);
/// Whole numbers below this are exact in a double.
const WHOLE_MAX: f64 = 9e15;
/// Attribution of the data in the answers, as its licence requires.
const ATTRIBUTION: &str = "Base Adresse Nationale, DINUM, IGN, communes";
/// The licence of the address base.
const LICENCE: &str = "etalab-2.0";

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/geocoding/search", Access::scoped(Scope::Geocoding, "geocoding.search"), Reads, search(call)
        .counted_as(Consumption::GeocodingSearch).with_operation(search_operation);
    GET "/geocoding/reverse", Access::scoped(Scope::Geocoding, "geocoding.reverse"), Reads, reverse(call)
        .counted_as(Consumption::GeocodingReverse).with_operation(reverse_operation);
    POST "/geocoding/batch", Access::scoped(Scope::Geocoding, "geocoding.batch"), Reads, batch(call)
        .counted_as(Consumption::GeocodingSearch).with_body(JSON_BODY).with_operation(batch_operation);
};

fn search_operation() -> Documented {
    with_collection(
        Documented::new("geocodingSearch", "Position of an address")
            .with_description(
                "The places that an address may mean, most probable first. The search finds the commune first, then the \
                 street in the possible communes, then the house number: a wrong town is never accepted silently. \
                 `properties.score` is the probability that a result is the intended address, `matched` says how well \
                 each part agrees, and `confidence` how far to trust the result",
            )
            .with_query(search_parameters()),
    )
}

fn reverse_operation() -> Documented {
    with_collection(
        Documented::new("geocodingReverse", "Addresses at a position")
            .with_description(
                "The nearest addresses, nearest first. Inside France the answer is never empty unless it is \
                 filtered: if no address is within reach, it is the commune around the position",
            )
            .with_query(reverse_parameters()),
    )
}

fn batch_operation() -> Documented {
    Documented::new(
        "geocodingBatch",
        "Many searches and reverse searches in one call",
    )
    .with_description("An invalid request gets an error in its place and costs nothing")
    .with_request(batch_request())
    .with_response(enveloped(json!({
        "type": "array",
        "items": {"anyOf": [reference("AddressCollection"), reference("Error")]},
        "description": "One answer per item, in the order of the request",
    })))
}

/// A GeoJSON feature collection of addresses.
#[derive(Serialize)]
struct Collection<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    features: &'a [Address<'a>],
    attribution: &'static str,
    licence: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<&'a str>,
    limit: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<Explanation>,
}

impl<'a> Collection<'a> {
    fn new(features: &'a [Address<'a>], query: Option<&'a str>, limit: usize) -> Self {
        Self {
            kind: "FeatureCollection",
            features,
            attribution: ATTRIBUTION,
            licence: LICENCE,
            query,
            limit,
            explain: None,
        }
    }

    fn text(&self) -> Result<Vec<u8>, ApiError> {
        serde_json::to_vec(self).map_err(ApiError::internal)
    }
}

/// `GET /geocoding/search`.
async fn search(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    single(call, Operation::Search).await
}

/// `GET /geocoding/reverse`.
async fn reverse(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    single(call, Operation::Reverse).await
}

async fn single(call: &Call<'_>, operation: Operation) -> Result<ApiResponse, ApiError> {
    let asked = GeocodingCall::parse(operation, &pairs(call.query)?)?;
    if let Some(text) = text_at_once(call.app, &asked)? {
        return Ok(ApiResponse::json(text));
    }
    let app = call.app.clone();
    let client = call.key()?.key_id;
    let job = move || answer_from_index(&app, asked);
    let own = call.app.capacity.pool.run_short(client, job).await??;
    let reply = with_upstream(call.app, own, Instant::now() + SINGLE_WAIT_MAX).await?;
    let text = match reply {
        Reply::Text(text) => text,
        Reply::Upstream(asked, addresses) => {
            let app = call.app.clone();
            let job = move || upstream_text(&app, &asked, addresses);
            call.app.capacity.pool.run_short(client, job).await??
        }
    };
    Ok(ApiResponse::json(text))
}

/// Answers on the caller's thread if the search is cheap; otherwise returns `None`.
fn text_at_once(app: &App, asked: &GeocodingCall) -> Result<Option<Vec<u8>>, ApiError> {
    let geocoder = app.data.geocoding.geocoder();
    let found = app.data.geocoding.answer_at_once(&geocoder, asked);
    found
        .map(|addresses| collection_text(asked, &addresses, None))
        .transpose()
}

/// `POST /geocoding/batch`: requests in order; a fault of one affects only that one.
async fn batch(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let body = call.body.clone();
    let own: Vec<Result<OwnAnswer, ApiError>> = call
        .compute(Load::Batch, move |app, _| {
            let requests = batch_requests(&read_json(&body)?)?;
            let requests = requests.into_par_iter();
            let answers = requests.map(|request| {
                let (operation, parameters) = request?;
                answer_from_index(app, GeocodingCall::parse(operation, &parameters)?)
            });
            Ok(answers.collect())
        })
        .await?;
    let deadline = Instant::now() + BATCH_WAIT_MAX;
    let ask = |own: Result<OwnAnswer, ApiError>| async move {
        with_upstream(call.app, own?, deadline).await
    };
    let replies: Vec<Result<Reply, ApiError>> = stream::iter(own.into_iter().map(ask))
        .buffered(upstream::AT_ONCE_MAX)
        .collect()
        .await;
    let is_to_write = |reply: &Result<Reply, _>| matches!(reply, Ok(Reply::Upstream(..)));
    let (text, answered) = if replies.iter().any(is_to_write) {
        call.compute(Load::Batch, move |app, _| batch_text(app, replies))
            .await?
    } else {
        // Only joins texts that are already written.
        batch_text(call.app, replies)?
    };
    Ok(ApiResponse::json(text).with_units(answered))
}

/// Parameters by name, in order.
type OwnedParameters = Vec<(String, String)>;

/// The answer of the index to a call.
struct OwnAnswer {
    asked: GeocodingCall,
    /// `None` where the upstream service is the only source.
    text: Option<Vec<u8>>,
    /// Whether the answer contains an address.
    has_addresses: bool,
    asks_upstream: bool,
}

/// The answer to a call: text that is already written, or addresses of the upstream service that are not written yet.
enum Reply {
    Text(Vec<u8>),
    Upstream(GeocodingCall, Vec<Address<'static>>),
}

/// Answers from the index, on the query pool.
fn answer_from_index(app: &App, asked: GeocodingCall) -> Result<OwnAnswer, ApiError> {
    if app.data.geocoding.is_upstream_only() {
        return Ok(OwnAnswer {
            asked,
            text: None,
            has_addresses: false,
            asks_upstream: true,
        });
    }
    let geocoder = app.data.geocoding.geocoder();
    let (addresses, explanation) = app.data.geocoding.answer(&geocoder, &asked)?;
    Ok(OwnAnswer {
        text: Some(collection_text(&asked, &addresses, explanation)?),
        has_addresses: !addresses.is_empty(),
        asks_upstream: app.data.geocoding.asks_upstream(&addresses),
        asked,
    })
}

/// Asks the upstream service if the index's answer is not enough. If it does not answer, the index's answer is used.
async fn with_upstream(app: &App, own: OwnAnswer, deadline: Instant) -> Result<Reply, ApiError> {
    let OwnAnswer { asked, text, .. } = own;
    let Some(text) = text else {
        let found = app
            .data
            .geocoding
            .ask_upstream(&asked, false, deadline)
            .await?;
        return Ok(Reply::Upstream(asked, found.unwrap_or_default()));
    };
    if !own.asks_upstream {
        return Ok(Reply::Text(text));
    }
    let asking = app
        .data
        .geocoding
        .ask_upstream(&asked, own.has_addresses, deadline);
    Ok(match asking.await {
        Ok(Some(found)) => Reply::Upstream(asked, found),
        Ok(None) | Err(_) => Reply::Text(text),
    })
}

/// Writes the addresses that the upstream service found, on the query pool.
fn upstream_text(
    app: &App,
    asked: &GeocodingCall,
    mut addresses: Vec<Address<'static>>,
) -> Result<Vec<u8>, ApiError> {
    app.data.geocoding.complete(asked, &mut addresses)?;
    // The index's explanation does not apply to these addresses.
    collection_text(asked, &addresses, None)
}

fn collection_text(
    asked: &GeocodingCall,
    addresses: &[Address<'_>],
    explanation: Option<Explanation>,
) -> Result<Vec<u8>, ApiError> {
    let mut collection = match asked {
        GeocodingCall::Search(call) => {
            let request = &call.request;
            Collection::new(addresses, Some(&request.text), request.limit)
        }
        GeocodingCall::Reverse(call) => Collection::new(addresses, None, call.limit),
    };
    collection.explain = explanation;
    collection.text()
}

/// Returns the answers of a batch as one text, and how many are not errors.
fn batch_text(app: &App, replies: Vec<Result<Reply, ApiError>>) -> Result<(Bytes, u64), ApiError> {
    let mut answered = 0;
    let mut text = br#"{"data":["#.to_vec();
    for (index, reply) in replies.into_iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        let written = reply.and_then(|reply| match reply {
            Reply::Text(text) => Ok(text),
            Reply::Upstream(asked, addresses) => upstream_text(app, &asked, addresses),
        });
        match written {
            Ok(collection) => {
                answered += 1;
                text.extend(collection);
            }
            Err(ApiError::Invalid(fault)) => {
                let fault = fault.within(&format!("requests[{index}]"));
                text.extend(error_text(&ApiError::Invalid(fault)));
            }
            Err(error @ ApiError::UpstreamUnavailable { .. }) => text.extend(error_text(&error)),
            Err(ours) => return Err(ours),
        }
    }
    text.extend(b"]}");
    Ok((text.into(), answered))
}

/// Returns the text of an error in the place of an answer.
fn error_text(error: &ApiError) -> Vec<u8> {
    let (_, code) = error.status_and_code();
    let error = json!({"error": {"message": error.to_string(), "code": code}});
    error.to_string().into_bytes()
}

/// Operation and parameters of a request of a batch, or its fault.
type BatchRequest = Result<(Operation, OwnedParameters), Fault>;

/// Returns the requests of a batch.
fn batch_requests(body: &Value) -> Result<Vec<BatchRequest>, Fault> {
    let Some(requests) = body.get("requests").and_then(Value::as_array) else {
        return Err(Fault::new("requests", "is required and must be a list"));
    };
    if let Some(unknown) = body
        .as_object()
        .and_then(|body| body.keys().find(|key| *key != "requests"))
    {
        return Err(Fault::new(unknown, "is not known; must be: requests"));
    }
    if !(1..=BATCH_MAX).contains(&requests.len()) {
        let message = format!("must have 1 to {BATCH_MAX} items");
        return Err(Fault::new("requests", message));
    }
    Ok(requests.iter().map(batch_parameters).collect())
}

/// Returns a number as the text of a parameter. A whole number has no fraction in it, however it is written: 3.0 is 3.
fn parameter_text(number: &Number) -> String {
    let whole = number.as_f64().filter(|value| value.fract() == 0.0);
    match whole.filter(|value| value.abs() < WHOLE_MAX) {
        Some(whole) => (whole as i64).to_string(),
        None => number.to_string(),
    }
}

fn batch_parameters(request: &Value) -> BatchRequest {
    let Some(fields) = request.as_object() else {
        return Err(Fault::new("", "must be an object"));
    };
    let operation = Operation::read(fields.get("operation"))?;
    let mut parameters = Vec::with_capacity(fields.len());
    for (name, value) in fields {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => parameter_text(number),
            Value::Bool(flag) => u8::from(*flag).to_string(),
            Value::Null => continue,
            _ => return Err(Fault::new(name, "must be a string, a number or a boolean")),
        };
        if name != "operation" {
            parameters.push((name.clone(), text));
        }
    }
    Ok((operation, parameters))
}
