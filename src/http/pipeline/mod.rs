//! The pipeline of every request: request id, limits on size and time, key, rate, scope, quota, endpoint, credits and
//! headers, in this order.

pub(crate) mod acts;
pub mod head;
pub mod idempotency;
pub mod response_headers;
pub(crate) mod router;
mod trace;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::FutureExt;
use tokio::sync::Mutex;
use warp::Reply;
use warp::http::Response;

use crate::endpoint::call::{Call, Params};
use crate::endpoint::response::{ApiResponse, streamed};
use crate::endpoint::{BodyRule, Effect, Endpoint};
use crate::error::error_response;
use crate::input::{areas, credentials, layers, parsed_size};
use head::Head;
use idempotency::{IdempotencyClaim, IdempotencyOutcome};
use router::ROUTER;
use toise_accounts::ledger::CallRecord;
use toise_accounts::meter::Reservation;
use toise_service::admission::{self, Admitted, CallRules, Caller, Counting};
use toise_service::error::ApiError;
use toise_service::replica::{self, AS_OF_HEADER};
use toise_service::{App, billing};
use toise_telemetry::Refusal;
use toise_transport::body::{self, BodyError, Incoming};
use toise_transport::body_budget::BodyLease;
use toise_transport::coding;
use toise_transport::pieces::BodyPieces;
use trace::RequestTrace;

/// A response, and the pieces of its body that follow.
type BilledResponse = (Response<Bytes>, Option<BodyPieces>);

/// A response that has not been billed yet.
struct UnbilledResponse {
    /// What the handler returned.
    returned: ApiResponse,
    reservation: Option<Reservation>,
    claim: Option<IdempotencyClaim>,
}

impl From<ApiResponse> for UnbilledResponse {
    fn from(returned: ApiResponse) -> Self {
        Self {
            returned,
            reservation: None,
            claim: None,
        }
    }
}

/// Pause before a call without a valid key is refused for the rate of its address. The call counts as running during
/// the pause, so that an address that sends on thousands of streams gets only some thousand responses a second.
const REFUSAL_PAUSE: Duration = Duration::from_millis(100);

/// Handles a request. Every response has a request id, and every request is logged and counted.
pub async fn respond(app: &App, head: &Head, mut body: Incoming) -> warp::reply::Response {
    let started = Instant::now();
    // Taken before anything is read, so that the response is at least this fresh.
    let as_of = replica::as_of_header(app.replica.as_ref());
    let found = find(head);
    let endpoint = found.as_ref().ok().map(|(endpoint, _)| *endpoint);
    let mut trace = RequestTrace::begin(head.client(app), endpoint);
    let outcome = match found {
        Ok((endpoint, params)) => {
            let handled = handle(app, head, endpoint, params, &mut body, &mut trace);
            within(endpoint.time.limit(app), handled).await
        }
        Err(error) => {
            let refused = refuse(app, head, error, &mut trace);
            within(app.capacity.request_timeout, refused).await
        }
    };
    let preflight = app.web.origins.preflight(&head.method, &head.headers);
    let outcome = audited(app, head, &mut trace, outcome).await;
    let (mut response, rest) = match outcome {
        // Browsers send preflights without a key and to any path.
        _ if preflight.is_some() => (preflight.unwrap_or_default(), None),
        Ok(billed) => billed,
        Err(ApiError::TimedOut) if trace.is_receiving => {
            let interrupted = ApiError::Body(BodyError::Interrupted);
            (error_response(&interrupted, trace.request_id), None)
        }
        Err(error) => (failed(app, head, &trace, error, body).await, None),
    };
    trace.set_headers(head.path.as_str(), &mut response);
    if let Some(as_of) = as_of {
        response.headers_mut().insert(AS_OF_HEADER, as_of);
    }
    app.web
        .origins
        .expose(&head.headers, response.headers_mut());
    if rest.is_none() {
        coding::compress(&mut response, &head.headers).await;
    }
    trace.log(app, head, &response, started.elapsed());
    if let Some(lease) = trace.response_lease.take() {
        let body = std::mem::take(response.body_mut());
        *response.body_mut() = lease.holding(body);
    }
    match rest {
        None => response.into_response(),
        Some(rest) => streamed(response, rest),
    }
}

/// Returns the endpoint of a request, if its listener serves the endpoint.
fn find(head: &Head) -> Result<(&'static Endpoint, Params), ApiError> {
    if let Some(malformed) = head.malformed {
        return Err(malformed.into());
    }
    let (endpoint, params) = ROUTER.find(&head.method, head.path.as_str())?;
    let peer = head.peer.map(|peer| peer.0);
    if !head.audience.reaches(endpoint, peer, &head.headers) {
        return Err(ApiError::NoRoute);
    }
    Ok((endpoint, params))
}

/// Returns the response to a call that failed, after the rest of its body is read.
async fn failed(
    app: &App,
    head: &Head,
    trace: &RequestTrace,
    error: ApiError,
    mut body: Incoming,
) -> Response<Bytes> {
    if matches!(error, ApiError::Overloaded) {
        app.metrics.record_refusal(Refusal::Overload);
    }
    if matches!(error, ApiError::TooManyUnkeyed(_)) {
        tokio::time::sleep(REFUSAL_PAUSE).await;
    }
    let bytes_max = trace
        .endpoint
        .and_then(|endpoint| endpoint.body.bytes_max());
    if !matches!(error, ApiError::Body(BodyError::Interrupted)) {
        body.drain(&head.headers, bytes_max).await;
    }
    error_response(&error, trace.request_id)
}

/// Limits the duration of a call, its billing included, and catches a panic, which must not end the connection and its
/// other requests.
async fn within(
    limit: Duration,
    handled: impl Future<Output = Result<BilledResponse, ApiError>>,
) -> Result<BilledResponse, ApiError> {
    let bounded = tokio::time::timeout(limit, handled);
    match AssertUnwindSafe(bounded).catch_unwind().await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_elapsed)) => Err(ApiError::TimedOut),
        Err(_panic) => Err(ApiError::internal("the endpoint panicked")),
    }
}

/// Refuses a request that no endpoint serves here. It counts against the rate of its key, otherwise of its address, and
/// the response has the state of that rate.
async fn refuse(
    app: &App,
    head: &Head,
    error: ApiError,
    trace: &mut RequestTrace,
) -> Result<BilledResponse, ApiError> {
    let admitted = if trace::is_protected(head.path.as_str()) {
        admit_keyed(app, head, CallRules::KEYED, trace)
            .await
            .map(drop)
    } else {
        admission::admit_public(app, trace.client).map_err(|refused| trace.note_refused(refused))
    };
    match admitted {
        Err(limit @ (ApiError::TooManyUnkeyed(_) | ApiError::RateLimited(_))) => Err(limit),
        _ => Err(error),
    }
}

/// Writes the outcome of an administrative act to the audit log, or that the act was refused. A replayed call is not an
/// act.
async fn audited(
    app: &App,
    head: &Head,
    trace: &mut RequestTrace,
    outcome: Result<BilledResponse, ApiError>,
) -> Result<BilledResponse, ApiError> {
    if let Some(act) = trace.act.take() {
        let ended = outcome.as_ref().map(|(response, _)| response);
        acts::end(app, act, ended).await?;
    } else if let (Some(endpoint), Some(key), Err(error)) = (trace.endpoint, &trace.key, &outcome) {
        let act = acts::act(&head.method, head.path.as_str(), trace.client, key);
        acts::refused(app, act, endpoint, key.key_id, error).await;
    }
    outcome
}

/// Handles and bills a call.
async fn handle(
    app: &App,
    head: &Head,
    endpoint: &'static Endpoint,
    params: Params,
    body: &mut Incoming,
    trace: &mut RequestTrace,
) -> Result<BilledResponse, ApiError> {
    let mut unbilled = handle_unbilled(app, head, endpoint, params, body, trace).await?;
    let rest = unbilled.returned.rest.take();
    if let Some(act) = &mut trace.act {
        act.subject = unbilled.returned.about.take();
    }
    let key_id = trace.key.as_ref().map(|key| key.key_id);
    let lease = app.capacity.bodies.lease(key_id, trace.client);
    trace.response_lease = lease.for_response(&unbilled.returned.response)?;
    let response = bill(app, trace, unbilled).await?;
    Ok((response, rest))
}

async fn handle_unbilled(
    app: &App,
    head: &Head,
    endpoint: &'static Endpoint,
    params: Params,
    body: &mut Incoming,
    trace: &mut RequestTrace,
) -> Result<UnbilledResponse, ApiError> {
    let received = Instant::now();
    if let Some(replica) = app.replica.as_ref()
        && endpoint.is_for_writer()
    {
        let writer = replica.as_of().writer.clone();
        refuse(app, head, ApiError::WriterOnly(writer), trace).await?;
    }
    let reservation = admit(app, endpoint, head, trace).await?;
    let claim_key = if endpoint.takes_idempotency_key() {
        idempotency::read_key(&head.headers)?
    } else {
        None
    };
    // A call under an idempotency key may be replayed although the quota is used up; any other call is refused before
    // its body is read.
    let reservation = match reservation {
        Err(refused) if claim_key.is_none() => return Err(refused),
        reservation => reservation,
    };
    // Held until the call is answered.
    let key_id = trace.key.as_ref().map(|key| key.key_id);
    let mut lease = app.capacity.bodies.lease(key_id, trace.client);
    let bytes = read_body(app, head, endpoint, body, &mut lease, trace).await?;
    let (path, query) = (head.path.as_str(), head.query.as_str());
    let outcome = claim(app, head, endpoint, claim_key, &bytes, trace).await?;
    if let IdempotencyOutcome::Replayed(given) = outcome {
        return Ok(given.into());
    }
    let reservation = reservation?;
    if endpoint.effect == Effect::Administers
        && let Some(key) = &trace.key
    {
        let act = acts::act(&head.method, path, trace.client, key);
        trace.act = Some(acts::begin(app, act).await?);
    }
    let bytes = match &trace.key {
        // Bodies of operators have no filters, and the rows that they ingest may have any key.
        Some(key) if !endpoint.is_operators() => {
            layers::check(app, &bytes).await?;
            areas::with_polygons(app, key.account_id, bytes, &mut lease).await?
        }
        _ => bytes,
    };
    let call = Call {
        app,
        request_id: trace.request_id,
        params,
        path,
        query,
        headers: &head.headers,
        protocol: head.protocol,
        client: trace.client,
        body: bytes,
        upload: Mutex::new(body),
        key: trace.key.clone(),
        repeatable_as: outcome.call_digest(),
        hold: outcome.hold(),
        received,
    };
    let (returned, claim) = outcome.conclude((endpoint.handler)(&call).await?);
    Ok(UnbilledResponse {
        returned,
        reservation,
        claim,
    })
}

/// Reads the body of a call. A file is read by the handler.
async fn read_body(
    app: &App,
    head: &Head,
    endpoint: &Endpoint,
    body: &mut Incoming,
    lease: &mut BodyLease,
    trace: &mut RequestTrace,
) -> Result<Bytes, ApiError> {
    let BodyRule::Json { bytes_max } = endpoint.body else {
        return Ok(Bytes::new());
    };
    trace.is_receiving = true;
    let declared = body::declared(&head.headers);
    let read = body.read(bytes_max, declared, lease).await?;
    trace.is_receiving = false;
    let key_id = trace.key.as_ref().map(|key| key.key_id);
    parsed_size::bounded(read, lease, &app.capacity.pool, key_id).await
}

/// Claims the idempotency key of a call, if it has one.
async fn claim(
    app: &App,
    head: &Head,
    endpoint: &Endpoint,
    claim_key: Option<String>,
    bytes: &[u8],
    trace: &RequestTrace,
) -> Result<IdempotencyOutcome, ApiError> {
    let (Some(claim_key), Some(key)) = (claim_key, &trace.key) else {
        return Ok(IdempotencyOutcome::NoKey);
    };
    let (path, query) = (head.path.as_str(), head.query.as_str());
    let digest = idempotency::request_digest(&head.method, path, query, bytes);
    let hold = app.billing.holds.hold(key.account_id, claim_key).await;
    let mut claim = IdempotencyClaim::new(hold.map_err(ApiError::internal)?, digest)
        .sealing_with(credentials::key_text(&head.headers));
    if endpoint.only_reads() {
        claim = claim.repeatable(endpoint.keeps_responses());
    }
    claim.outcome(&app.billing.ledger).await
}

/// The place of a call in the monthly quota; `None` if the call is free. The error says why no place could be taken.
type QuotaPlace = Result<Option<Reservation>, ApiError>;

/// Checks key, rate, scope and quota of a call, and length and type of its body, before the body is read.
async fn admit(
    app: &App,
    endpoint: &'static Endpoint,
    head: &Head,
    trace: &mut RequestTrace,
) -> Result<QuotaPlace, ApiError> {
    if !endpoint.is_protected() {
        if !endpoint.is_probe() {
            admission::admit_public(app, trace.client)
                .map_err(|refused| trace.note_refused(refused))?;
        }
        // Monitors may add parameters to probes.
        if !endpoint.is_probe() {
            router::check_query(endpoint, &head.query)?;
        }
        body::check_headers(endpoint.body, &head.headers)?;
        return Ok(Ok(None));
    }
    let rules = CallRules {
        access: endpoint.access,
        counting: endpoint.counting,
        counts_against_rate: !head.is_counted,
    };
    let mut admitted = admit_keyed(app, head, rules, trace).await?;
    router::check_query(endpoint, &head.query)?;
    body::check_headers(endpoint.body, &head.headers)?;
    let reservation = admitted.take_reservation();
    if let Ok(Some(reservation)) = &reservation {
        trace.quota_percent = reservation.warning_percent;
    }
    Ok(reservation)
}

/// Admits a call by the key in its headers or by its console session, and notes key and rate.
async fn admit_keyed(
    app: &App,
    head: &Head,
    rules: CallRules,
    trace: &mut RequestTrace,
) -> Result<Admitted, ApiError> {
    let key = credentials::find_key(app, &head.method, &head.headers)?;
    let caller = Caller {
        key: key.as_deref(),
        address: trace.client,
    };
    let admitted = admission::admit(app, caller, rules).await;
    let admitted = admitted.map_err(|refused| trace.note_refused(refused))?;
    trace.key = Some(admitted.key.clone());
    trace.rate = Some(admitted.meter.rate());
    Ok(admitted)
}

/// Writes the call record to the ledger before the response is sent.
async fn bill(
    app: &App,
    trace: &mut RequestTrace,
    unbilled: UnbilledResponse,
) -> Result<Response<Bytes>, ApiError> {
    let UnbilledResponse {
        returned,
        reservation,
        claim,
    } = unbilled;
    let (Some(endpoint), Some(key)) = (trace.endpoint, &trace.key) else {
        return Ok(returned.response);
    };
    let at = app.clock.now();
    let entry = match endpoint.counting {
        Counting::As(consumption) if returned.counts => {
            let (id, units) = (trace.request_id, returned.units);
            Some(billing::ledger_entry(app, key, id, consumption, units))
        }
        _ => None,
    };
    let stored = claim
        .as_ref()
        .filter(|_| !returned.is_pending)
        .and_then(|claim| claim.to_stored_response(trace.request_id, &returned));
    if entry.is_some() || stored.is_some() {
        let credits = entry.as_ref().map_or(0, |entry| entry.credits);
        let record = CallRecord {
            account_id: key.account_id,
            at,
            entry,
            answer: stored,
        };
        // The record is written even if the call is cut off; until then the call is not made again.
        let hold = claim.map(|claim| claim.hold());
        app.billing.ledger.record_holding(record, hold).await?;
        trace.credits = credits;
        if let (true, Counting::As(consumption)) = (returned.counts, endpoint.counting) {
            app.metrics
                .record_consumption(consumption.as_str(), credits, 1);
        }
    }
    if returned.counts
        && let Some(reservation) = reservation
    {
        reservation.commit();
    }
    Ok(returned.response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_while_a_call_is_billed_is_an_error_of_that_call() {
        let panicking = async { panic!("the log cannot be written") };
        let caught = within(Duration::from_secs(1), panicking).await;
        assert!(matches!(caught, Err(ApiError::Internal(_))));
        let late = within(Duration::ZERO, std::future::pending()).await;
        assert!(matches!(late, Err(ApiError::TimedOut)));
    }
}
