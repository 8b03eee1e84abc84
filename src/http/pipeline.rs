//! What every request passes, in this order and nowhere else: request id, limits of size and time, key, scope, rate,
//! quota, endpoint, credits, headers.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use chrono::{DateTime, Utc};
use futures::{FutureExt, Stream};
use serde_json::json;
use uuid::Uuid;
use warp::Filter;
use warp::filters::BoxedFilter;
use warp::http::header::{HeaderName, HeaderValue};
use warp::http::{HeaderMap, Method, Response};
use warp::path::FullPath;

use super::answer::Answer;
use super::error::ApiError;
use super::idempotency::{self, Claim};
use super::routes::{self, BodyRule, Counting, Endpoint, Params, Route};
use super::{
    App, admin, alerts, auth, body, collect, consumption, docs, estimate, listings, metrics,
    openapi, opendata, samples, search,
};
use toise_accounts::key::KeyRecord;
use toise_accounts::ledger::{Entry, Record};
use toise_accounts::meter::{RateState, Reservation};
use toise_telemetry::Refusal;

/// Header that names a request, on every answer.
pub const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// Header that tells the credits a call cost, on every protected answer.
pub const CREDITS_HEADER: HeaderName = HeaderName::from_static("x-credits");
/// Calls a second the key may make.
pub const RATE_LIMIT_HEADER: HeaderName = HeaderName::from_static("ratelimit-limit");
/// Calls that may follow at once.
pub const RATE_REMAINING_HEADER: HeaderName = HeaderName::from_static("ratelimit-remaining");
/// Seconds until the full rate may be used again.
pub const RATE_RESET_HEADER: HeaderName = HeaderName::from_static("ratelimit-reset");
/// Percent of the monthly quota used, once it is 75 or more.
pub const QUOTA_WARNING_HEADER: HeaderName = HeaderName::from_static("x-quota-used-percent");
const PROTECTED_PREFIX: &str = "/v2/protected/";

/// A request on its way to its endpoint.
pub struct Call<'a> {
    /// What every request shares.
    pub app: &'a App,
    params: Params,
    /// The path, not decoded.
    pub path: &'a str,
    /// The query string, not decoded.
    pub query: &'a str,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The body, whole.
    pub body: Bytes,
    key: Option<Arc<KeyRecord>>,
    /// When the request came.
    pub received: Instant,
}

impl Call<'_> {
    /// A parameter of the path, by its place.
    pub fn param(&self, place: usize) -> &str {
        self.params.get(place).map_or("", String::as_str)
    }

    /// The key of a protected route's call.
    pub fn key(&self) -> Result<&KeyRecord, ApiError> {
        // Only a route that is served without a key could fail here, and the policy tests walk every route.
        self.key
            .as_deref()
            .ok_or_else(|| ApiError::internal("a public route asked for the key"))
    }
}

/// The parts of a request.
struct Request<'a> {
    method: &'a Method,
    path: &'a str,
    query: &'a str,
    headers: &'a HeaderMap,
}

/// What headers and log tell of a request, filled on its way.
struct Trace {
    request_id: Uuid,
    route: Option<&'static Route>,
    key: Option<Arc<KeyRecord>>,
    rate: Option<RateState>,
    quota_percent: Option<u64>,
    credits: u64,
}

/// An answer not yet paid for.
struct Unpaid {
    answer: Answer,
    reservation: Option<Reservation>,
    claim: Option<Claim>,
}

impl From<Answer> for Unpaid {
    fn from(answer: Answer) -> Self {
        Self {
            answer,
            reservation: None,
            claim: None,
        }
    }
}

/// The whole service as one warp filter, which takes every request and rejects none.
pub fn filter(app: App) -> BoxedFilter<(Response<Bytes>,)> {
    let query = warp::query::raw().or(warp::any().map(String::new)).unify();
    warp::method()
        .and(warp::path::full())
        .and(query)
        .and(warp::header::headers_cloned())
        .and(warp::body::stream())
        .then(
            move |method: Method, path: FullPath, query: String, headers: HeaderMap, body| {
                let app = app.clone();
                async move {
                    let request = Request {
                        method: &method,
                        path: path.as_str(),
                        query: &query,
                        headers: &headers,
                    };
                    answer(&app, &request, body).await
                }
            },
        )
        .boxed()
}

async fn answer<S, B>(app: &App, request: &Request<'_>, mut body: S) -> Response<Bytes>
where
    S: Stream<Item = Result<B, warp::Error>> + Unpin,
    B: Buf,
{
    let started = Instant::now();
    let mut trace = Trace {
        request_id: Uuid::now_v7(),
        route: None,
        key: None,
        rate: None,
        quota_percent: None,
        credits: 0,
    };
    let bounded = tokio::time::timeout(
        patience(app, request),
        handle(app, request, &mut body, &mut trace),
    );
    // A panic must not take the connection, and the other requests on it, along.
    let outcome = match AssertUnwindSafe(bounded).catch_unwind().await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_elapsed)) => Err(ApiError::TimedOut),
        Err(_panic) => Err(ApiError::internal("the endpoint panicked")),
    };
    let paid = match outcome {
        Ok(unpaid) => pay(app, &mut trace, unpaid).await,
        Err(error) => Err(error),
    };
    let mut response = match paid {
        Ok(response) => response,
        Err(error) => {
            if matches!(error, ApiError::Overloaded) {
                app.metrics.record_refusal(Refusal::Overload);
            }
            body::drain(&mut body, request.headers).await;
            error.into_response(trace.request_id)
        }
    };
    put_headers(response.headers_mut(), request.path, &trace);
    let duration = started.elapsed();
    app.metrics.record_request(
        trace.route.map(|route| route.path),
        request.method.as_str(),
        response.status().as_u16(),
        duration,
    );
    tracing::info!(
        request_id = %trace.request_id,
        method = %request.method,
        path = request.path,
        status = response.status().as_u16(),
        key_id = trace.key.as_ref().map(|key| tracing::field::display(key.key_id)),
        credits = trace.credits,
        duration_us = duration.as_micros() as u64,
        "answered"
    );
    response
}

/// Longest a request may take. One that waits for a page may have waited for another of its key before.
fn patience(app: &App, request: &Request<'_>) -> Duration {
    match routes::find(request.method, request.path) {
        Ok((route, _)) if matches!(route.endpoint, Endpoint::ByUrl(_)) => {
            app.request_timeout + 2 * app.collector.wait()
        }
        _ => app.request_timeout,
    }
}

async fn handle<S, B>(
    app: &App,
    request: &Request<'_>,
    body: &mut S,
    trace: &mut Trace,
) -> Result<Unpaid, ApiError>
where
    S: Stream<Item = Result<B, warp::Error>> + Unpin,
    B: Buf,
{
    if routes::decode(request.path).is_none() {
        return Err(ApiError::BrokenEncoding);
    }
    let (route, params) = routes::find(request.method, request.path)?;
    trace.route = Some(route);
    let received = Instant::now();
    // The length is refused before the key is looked at, the body read only after the quota.
    body::check_headers(route.body, request.headers)?;
    let now = app.clock.now();
    let reservation = admit(app, route, request.headers, now, trace)?;
    let claim_key = match route.takes_idempotency_key() {
        true => idempotency::key_of(request.headers)?,
        false => None,
    };
    let bytes = match route.body {
        BodyRule::None => Bytes::new(),
        BodyRule::Json { bytes_max } => body::read(body, bytes_max).await?,
    };
    let mut claim = None;
    if let (Some(claim_key), Some(key)) = (claim_key, &trace.key) {
        let (method, path, query) = (request.method, request.path, request.query);
        let digest = idempotency::request_digest(method, path, query, &bytes);
        let held = app.claims.claim(key.account_id, claim_key, digest).await;
        if let Some(given) = held.answer_given(&app.store, now).await? {
            return Ok(given.into());
        }
        claim = Some(held);
    }
    let call = Call {
        app,
        params,
        path: request.path,
        query: request.query,
        headers: request.headers,
        body: bytes,
        key: trace.key.clone(),
        received,
    };
    Ok(Unpaid {
        answer: dispatch(route, call).await?,
        reservation,
        claim,
    })
}

/// Key, scope, rate and quota. The place taken in the quota is given back unless the call counts in the end.
fn admit(
    app: &App,
    route: &Route,
    headers: &HeaderMap,
    now: DateTime<Utc>,
    trace: &mut Trace,
) -> Result<Option<Reservation>, ApiError> {
    if !route.is_protected() {
        return Ok(None);
    }
    let key = auth::authenticate(&app.verifier, headers)?;
    let meter = app.meters.of(key.key_id, key.allowance);
    trace.key = Some(Arc::clone(&key));
    trace.rate = Some(meter.rate());
    auth::authorise(&key, route.access)?;
    let admitted = meter.admit();
    trace.rate = Some(meter.rate());
    admitted.map_err(|refused| {
        app.metrics.record_refusal(Refusal::Rate);
        ApiError::RateLimited(refused)
    })?;
    if route.counting == Counting::Free {
        return Ok(None);
    }
    let reserved = meter.reserve(&app.store, now).map_err(ApiError::internal)?;
    let reservation = reserved.map_err(|refused| {
        app.metrics.record_refusal(Refusal::Quota);
        ApiError::QuotaReached(refused)
    })?;
    trace.quota_percent = reservation.warning_percent;
    Ok(Some(reservation))
}

async fn dispatch(route: &Route, call: Call<'_>) -> Result<Answer, ApiError> {
    match route.endpoint {
        Endpoint::Healthz => healthz(call.app),
        Endpoint::Livez => Ok(metrics::livez().into()),
        Endpoint::Metrics => metrics::handler(call.app).await.map(Answer::from),
        Endpoint::Version => Ok(version()),
        Endpoint::OpenApi => Ok(Answer::json(openapi::document_bytes())),
        Endpoint::Docs => docs::docs(call.path, call.headers).map(Answer::from),
        Endpoint::Sample(sample) => Ok(samples::sample(sample)),
        Endpoint::Consumption => consumption::report(&call).await,
        Endpoint::Admin(action) => admin::answer(&call, action).await,
        Endpoint::Search(dataset) => opendata::search(&call, dataset).await,
        Endpoint::Match(dataset) => opendata::find_matches(&call, dataset).await,
        Endpoint::MatchMany(dataset) => opendata::find_matches_many(&call, dataset).await,
        Endpoint::PropertiesSearch(part) => search::properties_search(&call, part).await,
        Endpoint::PropertiesSimilars => search::properties_similars(&call).await,
        Endpoint::Analytics => search::analytics(&call).await,
        Endpoint::PropertiesCount => search::properties_count(&call).await,
        Endpoint::Property => listings::property(&call).await,
        Endpoint::PropertyOfAdvert => listings::property_of_advert(&call).await,
        Endpoint::PropertiesMany => listings::properties_many(&call).await,
        Endpoint::Advert => listings::advert(&call).await,
        Endpoint::Portals => Ok(collect::portals(call.app)),
        Endpoint::ByUrl(listing) => collect::by_url(&call, listing).await,
        Endpoint::Check(listing) => collect::check(&call, listing).await,
        Endpoint::Report(listing) => collect::report(&call, listing).await,
        Endpoint::EstimateLite => estimate::lite(&call).await,
        Endpoint::EstimateLiteMany => estimate::lite_many(&call).await,
        Endpoint::Alerts(listing, action) => alerts::answer(&call, listing, action).await,
    }
}

/// Writes what the call leaves in the ledger, before the answer goes.
async fn pay(app: &App, trace: &mut Trace, unpaid: Unpaid) -> Result<Response<Bytes>, ApiError> {
    let Unpaid {
        answer,
        reservation,
        claim,
    } = unpaid;
    let (Some(route), Some(key)) = (trace.route, &trace.key) else {
        return Ok(answer.response);
    };
    let at = app.clock.now();
    let entry = match route.counting {
        Counting::As(consumption) if answer.counts => Some(Entry {
            request_id: trace.request_id,
            account_id: key.account_id,
            key_id: key.key_id,
            consumption,
            credits: u64::from(app.prices.of(consumption)) * answer.units,
            at,
        }),
        _ => None,
    };
    let stored = claim
        .as_ref()
        .filter(|_| answer.is_final())
        .map(|claim| claim.to_store(&answer));
    if entry.is_some() || stored.is_some() {
        let credits = entry.as_ref().map_or(0, |entry| entry.credits);
        let record = Record {
            account_id: key.account_id,
            at,
            entry,
            answer: stored,
        };
        app.ledger
            .record(record)
            .await
            .map_err(ApiError::internal)?;
        trace.credits = credits;
        if let (true, Counting::As(consumption)) = (answer.counts, route.counting) {
            app.metrics
                .record_consumption(consumption.as_str(), credits, 1);
        }
    }
    if answer.counts
        && let Some(reservation) = reservation
    {
        reservation.keep();
    }
    Ok(answer.response)
}

fn put_headers(headers: &mut HeaderMap, path: &str, trace: &Trace) {
    if let Ok(id) = HeaderValue::from_str(&trace.request_id.to_string()) {
        headers.insert(REQUEST_ID_HEADER, id);
    }
    if !path.starts_with(PROTECTED_PREFIX) && trace.key.is_none() {
        return;
    }
    headers.insert(CREDITS_HEADER, HeaderValue::from(trace.credits));
    if let Some(rate) = trace.rate {
        headers.insert(RATE_LIMIT_HEADER, HeaderValue::from(rate.limit));
        headers.insert(RATE_REMAINING_HEADER, HeaderValue::from(rate.remaining));
        headers.insert(RATE_RESET_HEADER, HeaderValue::from(rate.reset_s));
    }
    if let Some(percent) = trace.quota_percent {
        headers.insert(QUOTA_WARNING_HEADER, HeaderValue::from(percent));
    }
}

fn healthz(app: &App) -> Result<Answer, ApiError> {
    if app.readiness.is_ready() {
        Ok(Answer::from(Response::new(Bytes::new())))
    } else {
        Err(ApiError::NotReady)
    }
}

fn version() -> Answer {
    let body = json!({"data": {"version": env!("CARGO_PKG_VERSION")}});
    Answer::json(body.to_string())
}
