//! Writes administrative acts over HTTP to the audit log: an entry before each act, and one with its outcome. If the
//! process ends in between, only the first exists.
//!
//! Refused attempts of valid keys are logged too, up to a bound for each key ([`toise_service::refused_acts`]).

use std::net::IpAddr;

use bytes::Bytes;
use serde_json::Value;
use uuid::Uuid;
use warp::http::{Method, Response, StatusCode};

use crate::endpoint::Endpoint;
use toise_accounts::audit::{self, Act, BEGUN};
use toise_accounts::key::KeyRecord;
use toise_service::App;
use toise_service::error::ApiError;

/// Maximum length of a response that is searched for its subject, in bytes.
const SUBJECT_BODY_BYTES_MAX: usize = 16 << 10;

/// Appends an act to the log; durable on return.
///
/// # Errors
/// The store cannot be written, or not in the time that a request has.
async fn append(app: &App, act: Act) -> Result<(), ApiError> {
    let (store, clock) = (app.store.clone(), app.clock.clone());
    let appending = tokio::task::spawn_blocking(move || audit::append(&store, &clock, act));
    let appended = tokio::time::timeout(app.capacity.request_timeout, appending).await;
    let appended = appended.map_err(|_| ApiError::TimedOut)?;
    Ok(appended.map_err(ApiError::internal)??)
}

/// Returns the act that a call of a key is about to perform.
pub(super) fn act(method: &Method, path: &str, client: Option<IpAddr>, key: &KeyRecord) -> Act {
    Act {
        actor: format!("key {}", key.key_id),
        origin: client.map(|client| client.to_string()),
        action: format!("{method} {path}"),
        subject: None,
        outcome: BEGUN.to_owned(),
    }
}

/// Logs that an administrative act is about to be performed. If this fails, the act must not be performed.
///
/// # Errors
/// As for [`end`].
pub(super) async fn begin(app: &App, act: Act) -> Result<Act, ApiError> {
    append(app, act.clone()).await?;
    Ok(act)
}

/// Logs the outcome of an act. If this fails, the call is answered with a failure, so that its caller checks what
/// happened.
///
/// # Errors
/// The store cannot be written, or not in the time that a request has.
pub(super) async fn end(
    app: &App,
    act: Act,
    outcome: Result<&Response<Bytes>, &ApiError>,
) -> Result<(), ApiError> {
    let (status, subject) = match outcome {
        Ok(response) => {
            let subject = act.subject.clone();
            let subject = subject.or_else(|| self::subject(response.body()));
            (response.status(), subject)
        }
        Err(error) => (error.status_and_code().0, None),
    };
    let outcome = status.as_u16().to_string();
    let act = Act {
        subject,
        outcome,
        ..act
    };
    append(app, act).await
}

/// Logs that a valid key was refused an act of operators, up to a bound. Nothing was done, so the refusal stands even
/// if it cannot be logged.
pub(super) async fn refused(
    app: &App,
    act: Act,
    endpoint: &Endpoint,
    key_id: Uuid,
    error: &ApiError,
) {
    let (status, _) = error.status_and_code();
    if status != StatusCode::FORBIDDEN || !endpoint.is_operators() {
        return;
    }
    let now = app.clock.monotonic();
    let Some(unlisted) = app.access.refusals.count(key_id, now) else {
        return;
    };
    let mut outcome = status.as_u16().to_string();
    if unlisted > 0 {
        outcome.push_str(&format!(", after {unlisted} refusals that are not listed"));
    }
    if let Err(error) = append(app, Act { outcome, ..act }).await {
        tracing::error!(%error, %key_id, "the audit log cannot be written");
    }
}

/// Returns the key, otherwise the account, that an administrative response is about.
fn subject(body: &[u8]) -> Option<String> {
    if body.len() > SUBJECT_BODY_BYTES_MAX {
        return None;
    }
    let body: Value = serde_json::from_slice(body).ok()?;
    let (kind, id) = [("key", "key_id"), ("account", "account_id")]
        .into_iter()
        .find_map(|(kind, field)| Some((kind, body["data"][field].as_str()?)))?;
    Some(format!("{kind} {id}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_is_about_the_key_or_else_the_account_of_its_response() {
        let of = |text: &str| subject(text.as_bytes());
        let both = r#"{"data": {"key_id": "k", "account_id": "a"}}"#;
        assert_eq!(of(both).as_deref(), Some("key k"));
        assert_eq!(
            of(r#"{"data": {"account_id": "a"}}"#).as_deref(),
            Some("account a")
        );
        assert_eq!(of(r#"{"data": []}"#), None);
    }
}
