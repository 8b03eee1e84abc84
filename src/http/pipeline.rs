//! The pipeline of every request: request id, pace, limits of size and time, key, rate, scope, quota, endpoint, credits
//! and headers, in this order.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::FutureExt;
use tokio::sync::Mutex;
use warp::Reply;
use warp::http::{Response, StatusCode};

use super::body::Incoming;
use super::call::{Call, Params};
use super::endpoint::{BodyRule, Counting, Effect, Endpoint};
use super::error::ApiError;
use super::head::Head;
use super::idempotency::{self, IdempotencyClaim, Turn};
use super::pieces::BodyPieces;
use super::replica::{self, AS_OF_HEADER};
use super::request_trace::{self, RequestTrace};
use super::response::{ApiResponse, streamed};
use super::router::ROUTER;
use super::{App, acts, admission, auth, body, coding, out_of_turn, unfolding, vendor_sources};
use toise_accounts::ledger::CallRecord;
use toise_accounts::meter::Reservation;
use toise_telemetry::Refusal;

/// A response, and the pieces that its body goes on with.
type BilledResponse = (Response<Bytes>, Option<BodyPieces>);

/// A response that has not been billed yet.
struct UnbilledResponse {
    answer: ApiResponse,
    reservation: Option<Reservation>,
    claim: Option<IdempotencyClaim>,
}

impl From<ApiResponse> for UnbilledResponse {
    fn from(answer: ApiResponse) -> Self {
        Self {
            answer,
            reservation: None,
            claim: None,
        }
    }
}

/// Handles a request; in every case, the response has a request id and is logged and counted.
pub async fn answer(app: &App, head: &Head, mut body: Incoming) -> warp::reply::Response {
    let started = Instant::now();
    // What is shown when the request begins; what it reads is this or newer.
    let as_of = replica::as_of_header(app.replica.as_ref());
    let found = find(head);
    let endpoint = found.as_ref().ok().map(|(endpoint, _)| *endpoint);
    let mut trace = RequestTrace::begin(head.client(app), endpoint);
    let paced = head.paced_client(app, trace.endpoint);
    let shows_key = head.shows_key(app);
    if !shows_key && let Err(refused) = app.pace.keep(paced).await {
        return out_of_turn::refuse(&app.pace, paced, refused, trace.request_id);
    }
    let outcome = match found {
        Ok((endpoint, params)) => {
            let handled = handle(app, head, endpoint, params, &mut body, &mut trace);
            within(endpoint.time.limit(app), handled).await
        }
        Err(error) => {
            let refused = refuse(app, head, error, &mut trace);
            within(app.request_timeout, refused).await
        }
    };
    let preflight = app.origins.preflight(&head.method, &head.headers);
    let outcome = audited(app, head, &mut trace, outcome).await;
    let (mut response, rest) = match outcome {
        // A browser asks on behalf of a page, whatever is at the path.
        _ if preflight.is_some() => (preflight.unwrap_or_default(), None),
        Ok(billed) => billed,
        Err(ApiError::TimedOut) if trace.is_receiving => (
            ApiError::BodyInterrupted.into_response(trace.request_id),
            None,
        ),
        Err(error) => (failed(app, head, &trace, error, body).await, None),
    };
    trace.set_headers(app, head.path.as_str(), &mut response);
    if let Some(as_of) = as_of {
        response.headers_mut().insert(AS_OF_HEADER, as_of);
    }
    app.origins.expose(&head.headers, response.headers_mut());
    if app.vendor_source {
        vendor_sources::rewrite(&mut response, head.path.as_str()).await;
    }
    if rest.is_none() {
        coding::compressed(&mut response, &head.headers).await;
    }
    trace.log(app, head, &response, started.elapsed());
    let is_limited = response.status() == StatusCode::TOO_MANY_REQUESTS;
    let is_unpaid = trace.key.is_none() || trace.is_unpaid || is_limited;
    if shows_key
        && is_unpaid
        && let Err(refused) = app.pace.keep(paced).await
    {
        return out_of_turn::refuse(&app.pace, paced, refused, trace.request_id);
    }
    if let Some(lease) = trace.answer_lease.take() {
        let body = std::mem::take(response.body_mut());
        *response.body_mut() = lease.holding(body);
    }
    match rest {
        None => response.into_response(),
        Some(rest) => streamed(response, rest),
    }
}

/// The endpoint of a request, if its listener answers it.
fn find(head: &Head) -> Result<(&'static Endpoint, Params), ApiError> {
    if let Some(malformed) = head.malformed {
        return Err(malformed.into());
    }
    let (endpoint, params) = ROUTER.find(&head.method, head.path.as_str())?;
    let peer = head.peer.map(|peer| peer.0);
    match head.audience.reaches(endpoint, peer, &head.headers) {
        true => Ok((endpoint, params)),
        false => Err(ApiError::NoRoute),
    }
}

/// The response to a call that failed, once the rest of its body is read.
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
    let bytes_max = trace
        .endpoint
        .and_then(|endpoint| endpoint.body.bytes_max());
    if !matches!(error, ApiError::BodyInterrupted) {
        let pace = app.pace.discarding(trace.client);
        body.drain(&head.headers, bytes_max, pace).await;
    }
    error.into_response(trace.request_id)
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

/// Refuses what no endpoint takes, with the state of the key's limits if it has a valid key: the call counts against
/// its rate.
async fn refuse(
    app: &App,
    head: &Head,
    error: ApiError,
    trace: &mut RequestTrace,
) -> Result<BilledResponse, ApiError> {
    if request_trace::is_protected(head.path.as_str())
        && let Ok(key) =
            auth::authenticate_call(app, &head.method, &head.headers, trace.client).await
    {
        let meter = app.meters.of(key.key_id, key.allowance);
        trace.is_unpaid = !key.may_come_from(trace.client);
        trace.key = Some(key);
        if trace.is_unpaid {
            return Err(error);
        }
        let admitted = admission::admit(app, &meter);
        trace.rate = Some(meter.rate());
        admitted?;
    }
    Err(error)
}

/// Writes to the audit log how an administrative act ended, or that it was refused. A call that was answered already is
/// no act.
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
    let rest = unbilled.answer.rest.take();
    if let Some(act) = &mut trace.act {
        act.subject = unbilled.answer.about.take();
    }
    let key_id = trace.key.as_ref().map(|key| key.key_id);
    let lease = app.answer_memory.lease(key_id, trace.client);
    trace.answer_lease = lease.for_answer(&unbilled.answer.response)?;
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
    let now = app.clock.now();
    admit(app, endpoint, head, now, trace).await?;
    let claim_key = match endpoint.takes_idempotency_key() {
        true => idempotency::key_of(&head.headers)?,
        false => None,
    };
    // What was answered already is given again past the quota; nothing else is even read.
    let reservation = match reserve(app, endpoint, now, trace).await {
        Err(refused) if claim_key.is_none() => return Err(refused),
        reservation => reservation,
    };
    // Held until the call is answered.
    let key_id = trace.key.as_ref().map(|key| key.key_id);
    let mut lease = app.bodies.lease(key_id, trace.client);
    let bytes = match endpoint.body {
        BodyRule::None | BodyRule::Upload { .. } | BodyRule::Form { .. } => Bytes::new(),
        BodyRule::Json { bytes_max } => {
            trace.is_receiving = true;
            let declared = body::declared(&head.headers);
            let read = body.read(bytes_max, declared, &mut lease).await?;
            trace.is_receiving = false;
            unfolding::bounded(read, &mut lease, &app.pool, key_id).await?
        }
    };
    let (path, query) = (head.path.as_str(), head.query.as_str());
    let turn = match (claim_key, &trace.key) {
        (Some(claim_key), Some(key)) => {
            let digest = idempotency::request_digest(&head.method, path, query, &bytes);
            let hold = app.holds.hold(key.account_id, claim_key).await;
            let held = IdempotencyClaim::new(hold.map_err(ApiError::internal)?, digest);
            let held = held.sealing_with(auth::key_text(&head.headers));
            let held = if endpoint.only_reads() {
                held.repeatable(endpoint.keeps_answers())
            } else {
                held
            };
            held.turn(&app.ledger).await?
        }
        _ => Turn::Unnamed,
    };
    if let Turn::Replayed(given) = turn {
        return Ok(given.into());
    }
    let reservation = reservation?;
    if endpoint.effect == Effect::Administers
        && let Some(key) = &trace.key
    {
        let act = acts::act(&head.method, path, trace.client, key);
        trace.act = Some(acts::begin(app, act).await?);
    }
    let call = Call {
        app,
        params,
        path,
        query,
        headers: &head.headers,
        door: head.door,
        client: trace.client,
        body: bytes,
        upload: Mutex::new(body),
        key: trace.key.clone(),
        repeatable_as: turn.call_digest(),
        hold: turn.hold(),
        received,
    };
    let (answer, claim) = turn.conclude((endpoint.handler)(&call).await?);
    Ok(UnbilledResponse {
        answer,
        reservation,
        claim,
    })
}

/// Checks key, rate, scope, and the body's length and type, before it is read.
async fn admit(
    app: &App,
    endpoint: &Endpoint,
    head: &Head,
    now: DateTime<Utc>,
    trace: &mut RequestTrace,
) -> Result<(), ApiError> {
    if !endpoint.is_protected() {
        return body::check_headers(endpoint.body, &head.headers);
    }
    let key = auth::authenticate_call(app, &head.method, &head.headers, trace.client).await?;
    let meter = app.meters.of(key.key_id, key.allowance);
    trace.key = Some(Arc::clone(&key));
    trace.rate = Some(meter.rate());
    if !key.may_come_from(trace.client) {
        // Whoever has stolen a key must not use up the rate of its owner.
        trace.is_unpaid = true;
        return Err(ApiError::WrongAddress);
    }
    app.key_uses.note(key.key_id, now);
    if !head.is_admitted {
        let admitted = admission::admit(app, &meter);
        trace.rate = Some(meter.rate());
        admitted?;
    }
    head.pay(endpoint.body.bytes_max().unwrap_or(0));
    auth::authorise(&key, endpoint.access)?;
    body::check_headers(endpoint.body, &head.headers)
}

/// Reserves a counted call in the quota of its key; released unless the call counts in the end.
async fn reserve(
    app: &App,
    endpoint: &Endpoint,
    now: DateTime<Utc>,
    trace: &mut RequestTrace,
) -> Result<Option<Reservation>, ApiError> {
    let Some(key) = trace
        .key
        .as_ref()
        .filter(|_| endpoint.counting != Counting::Free)
    else {
        return Ok(None);
    };
    let meter = app.meters.of(key.key_id, key.allowance);
    let reservation = admission::reserve(app, meter, now).await?;
    trace.quota_percent = reservation.warning_percent;
    Ok(Some(reservation))
}

/// Writes the call record to the ledger before the response is sent.
async fn bill(
    app: &App,
    trace: &mut RequestTrace,
    unbilled: UnbilledResponse,
) -> Result<Response<Bytes>, ApiError> {
    let UnbilledResponse {
        answer,
        reservation,
        claim,
    } = unbilled;
    let (Some(endpoint), Some(key)) = (trace.endpoint, &trace.key) else {
        return Ok(answer.response);
    };
    let at = app.clock.now();
    let entry = match endpoint.counting {
        Counting::As(consumption) if answer.counts => {
            let (id, units) = (trace.request_id, answer.units);
            Some(admission::ledger_entry(app, key, id, consumption, units))
        }
        _ => None,
    };
    let stored = claim
        .as_ref()
        .filter(|_| !answer.is_pending)
        .and_then(|claim| claim.to_stored_response(trace.request_id, &answer));
    if entry.is_some() || stored.is_some() {
        let credits = entry.as_ref().map_or(0, |entry| entry.credits);
        let record = CallRecord {
            account_id: key.account_id,
            at,
            entry,
            answer: stored,
        };
        // Written to its end even if the call is cut off; until then it is not made again.
        let hold = claim.map(|claim| claim.hold());
        app.ledger.record_holding(record, hold).await?;
        trace.credits = credits;
        if let (true, Counting::As(consumption)) = (answer.counts, endpoint.counting) {
            app.metrics
                .record_consumption(consumption.as_str(), credits, 1);
        }
    }
    if answer.counts
        && let Some(reservation) = reservation
    {
        reservation.commit();
    }
    Ok(answer.response)
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
