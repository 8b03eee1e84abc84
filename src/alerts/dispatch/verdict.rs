//! The outcome of an attempt: delivered, to be retried, dead, or the end of its alert.

use crate::schedule::{RETRY_AFTER_MAX, wait};
use toise_net::webhook_client::{PostFailure, PostOutcome, ReceiverResponse};
use toise_telemetry::DeliveryOutcome;

/// HTTP status of a receiver that is permanently gone.
const GONE: u16 = 410;

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptVerdict {
    /// The receiver accepted the delivery.
    Delivered,
    /// The delivery is to be retried at this time, Unix milliseconds.
    Retry(i64),
    /// The attempt failed and was the last one.
    Dead,
    /// The receiver is permanently gone: the alert is deactivated.
    Gone,
}

/// An evaluated attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JudgedAttempt {
    pub verdict: AttemptVerdict,
    /// HTTP status of the response; `None` without a response.
    pub status: Option<u16>,
    /// Why it failed, for the owner of the alert.
    pub error: Option<String>,
    /// Pause that the receiver asks for, in milliseconds.
    pub asked_ms: i64,
    /// Outcome for metrics.
    pub outcome: DeliveryOutcome,
}

/// Returns why a receiver did not accept a request; `None` if it did.
pub(super) fn failure_reason(posted: &PostOutcome) -> Option<String> {
    match &posted.outcome {
        Ok(response) if is_accepted(response) => None,
        Ok(response) => Some(format!("the receiver answered {}", response.status)),
        Err(failure) => Some(failure.to_string()),
    }
}

fn is_accepted(response: &ReceiverResponse) -> bool {
    (200..300).contains(&response.status)
}

impl JudgedAttempt {
    /// Evaluates attempt number `attempts`, from 1, which ended at `now_ms`. `draw` is a random number from 0 to 1, for
    /// the jitter.
    pub(super) fn from_post(posted: &PostOutcome, attempts: u32, now_ms: i64, draw: f64) -> Self {
        let response = posted.outcome.as_ref().ok();
        let asked = response.and_then(|response| response.retry_after);
        let outcome = match &posted.outcome {
            Ok(response) if is_accepted(response) => DeliveryOutcome::Delivered,
            Ok(response) if response.status == GONE => DeliveryOutcome::Gone,
            Ok(_) => DeliveryOutcome::Refused,
            Err(
                PostFailure::ResponseTimeout
                | PostFailure::ConnectTimeout
                | PostFailure::UploadTimeout,
            ) => DeliveryOutcome::Timeout,
            Err(_) => DeliveryOutcome::Unreachable,
        };
        let verdict = match outcome {
            DeliveryOutcome::Delivered => AttemptVerdict::Delivered,
            DeliveryOutcome::Gone => AttemptVerdict::Gone,
            _ => match wait(attempts, asked, draw) {
                Some(wait) => AttemptVerdict::Retry(now_ms + wait.as_millis() as i64),
                None => AttemptVerdict::Dead,
            },
        };
        Self {
            verdict,
            status: response.map(|response| response.status),
            error: failure_reason(posted),
            asked_ms: asked.unwrap_or_default().min(RETRY_AFTER_MAX).as_millis() as i64,
            outcome,
        }
    }
}
