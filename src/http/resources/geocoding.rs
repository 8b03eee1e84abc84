//! Geocoding: addresses to positions and back, one at a time or a hundred. Files are in [`super::geocoding_files`].
//!
//! A search takes a fraction of a millisecond; parsing, searching and writing are one job on the query pool.

use bytes::Bytes;
use futures::FutureExt;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;
use serde_json::{Value, json};
use warp::http::Method;

use crate::App;
use crate::call::{Call, read_json};
use crate::endpoint::{Access, BodyRule, Counting, Endpoint, JSON_BODY, Time};
use crate::error::ApiError;
use crate::limits::BATCH_MAX;
use crate::openapi::geocoding::{
    batch_request, reverse_parameters, search_parameters, with_collection,
};
use crate::openapi::{Operation, enveloped, reference};
use crate::response::ApiResponse;
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_contract::Fault;
use toise_contract::query::pairs;
use toise_engine::pool::Load;
use toise_geocode::address::Address;
use toise_geocode::request::{Parameters, parse_reverse, parse_search};
use toise_geocode::search::explain::Explanation;
use toise_geocode::service;

/// Whose data the answers are made of, as its licence asks for.
const ATTRIBUTION: &str = "Base Adresse Nationale, DINUM, IGN, communes";
/// The licence of the address base.
const LICENCE: &str = "etalab-2.0";

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        method: Method::GET,
        path: "/geocoding/search",
        access: Access::scoped(Scope::Geocoding, "geocoding.search"),
        counting: Counting::As(Consumption::GeocodingSearch),
        body: BodyRule::None,
        time: Time::Request,
        handler: |call| search(call).boxed(),
        operation: Some(search_operation),
    },
    Endpoint {
        method: Method::GET,
        path: "/geocoding/reverse",
        access: Access::scoped(Scope::Geocoding, "geocoding.reverse"),
        counting: Counting::As(Consumption::GeocodingReverse),
        body: BodyRule::None,
        time: Time::Request,
        handler: |call| reverse(call).boxed(),
        operation: Some(reverse_operation),
    },
    Endpoint {
        method: Method::POST,
        path: "/geocoding/batch",
        access: Access::scoped(Scope::Geocoding, "geocoding.batch"),
        counting: Counting::As(Consumption::GeocodingSearch),
        body: JSON_BODY,
        time: Time::Request,
        handler: |call| batch(call).boxed(),
        operation: Some(batch_operation),
    },
];

fn search_operation() -> Operation {
    with_collection(
        Operation::new("geocodingSearch", "Where an address lies")
            .with_description(
                "The places an address may mean, the most probable first. The place is read first, then the streets of \
                 the communes it may be, then the house number: a wrong town is never accepted in silence. \
                 `properties.score` is the probability that this is the address meant, `matched` says of each part \
                 how it agrees, and `confidence` what to do with it",
            )
            .with_query(search_parameters()),
    )
}

fn reverse_operation() -> Operation {
    with_collection(
        Operation::new("geocodingReverse", "The addresses at a position")
            .with_description(
                "The nearest addresses, nearest first. Inside France the answer is never empty unless it is filtered: \
                 where no address is within reach it is the commune around the position",
            )
            .with_query(reverse_parameters()),
    )
}

fn batch_operation() -> Operation {
    Operation::new("geocodingBatch", "Searches and reverse searches at once")
        .with_description("A request that is not valid has an error in its place and costs nothing")
        .with_request(batch_request())
        .with_answer(enveloped(json!({
            "type": "array",
            "items": {"anyOf": [reference("AddressCollection"), reference("Error")]},
            "description": "One answer per request, in order",
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
    let parameters = pairs(call.query)?;
    call.on_pool(Load::Single, move |app, _, _| {
        Ok(search_text(app, &parameters)?.into())
    })
    .await
}

/// `GET /geocoding/reverse`.
async fn reverse(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let parameters = pairs(call.query)?;
    call.on_pool(Load::Single, move |app, _, _| {
        Ok(reverse_text(app, &parameters)?.into())
    })
    .await
}

/// `POST /geocoding/batch`: requests in order; a fault of one affects only that one.
async fn batch(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let (app, body) = (call.app.clone(), call.body.clone());
    let client = call.key()?.key_id;
    let job = move |_: &_| batch_text(&app, &body);
    let (text, answered) = call.app.pool.run(client, Load::Batch, job).await??;
    Ok(ApiResponse::json(text).with_units(answered))
}

fn search_text(app: &App, parameters: &Parameters) -> Result<Vec<u8>, ApiError> {
    let asked = parse_search(parameters)?;
    let geocoder = app.geocoding.geocoder();
    let request = &asked.request;
    if asked.explain {
        let (addresses, explanation) = app.geocoding.search_explained(&geocoder, &asked)?;
        let mut collection = Collection::new(&addresses, Some(&request.text), request.limit);
        collection.explain = Some(explanation);
        return collection.text();
    }
    let addresses = app.geocoding.search(&geocoder, &asked)?;
    Collection::new(&addresses, Some(&request.text), request.limit).text()
}

fn reverse_text(app: &App, parameters: &Parameters) -> Result<Vec<u8>, ApiError> {
    let asked = parse_reverse(parameters)?;
    let geocoder = app.geocoding.geocoder();
    let addresses = app.geocoding.reverse(&geocoder, &asked)?;
    Collection::new(&addresses, None, asked.limit).text()
}

fn batch_text(app: &App, body: &[u8]) -> Result<(Bytes, u64), ApiError> {
    let requests = batch_requests(&read_json(body)?)?;
    let answers: Vec<Result<Vec<u8>, ApiError>> = requests
        .par_iter()
        .map(|request| match request {
            (true, parameters) => reverse_text(app, parameters),
            (false, parameters) => search_text(app, parameters),
        })
        .collect();
    let answered = answers.iter().filter(|answer| answer.is_ok()).count();
    let mut text = br#"{"data":["#.to_vec();
    for (index, answer) in answers.into_iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        match answer {
            Ok(collection) => text.extend(collection),
            Err(ApiError::Invalid(fault)) => {
                let fault = ApiError::Invalid(fault.within(&format!("requests[{index}]")));
                let (_, code) = fault.status_and_code();
                let error = json!({"error": {"message": fault.to_string(), "code": code}});
                text.extend(error.to_string().into_bytes());
            }
            Err(ours) => return Err(ours),
        }
    }
    text.extend(b"]}");
    Ok((text.into(), answered as u64))
}

/// Whether each request of a batch is a reverse search, and its parameters.
fn batch_requests(body: &Value) -> Result<Vec<(bool, Vec<(String, String)>)>, Fault> {
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
    let read = |(index, request): (usize, &Value)| {
        batch_parameters(request).map_err(|fault| fault.within(&format!("requests[{index}]")))
    };
    requests.iter().enumerate().map(read).collect()
}

fn batch_parameters(request: &Value) -> Result<(bool, Vec<(String, String)>), Fault> {
    let Some(fields) = request.as_object() else {
        return Err(Fault::new("", "must be an object"));
    };
    let is_reverse = match fields.get("operation").and_then(Value::as_str) {
        Some("search") => false,
        Some("reverse") => true,
        _ => return Err(Fault::new("operation", "must be one of: search, reverse")),
    };
    let mut parameters = Vec::with_capacity(fields.len());
    for (name, value) in fields {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            _ => return Err(Fault::new(name, "must be a string, a number or a boolean")),
        };
        if name != "operation" {
            parameters.push((name.clone(), text));
        }
    }
    Ok((is_reverse, parameters))
}

impl From<service::Error> for ApiError {
    fn from(error: service::Error) -> Self {
        match error {
            service::Error::Request(fault) => ApiError::Invalid(fault),
            error => ApiError::internal(error),
        }
    }
}
