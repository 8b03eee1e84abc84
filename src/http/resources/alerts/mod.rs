//! Alerts of an account: creating, reading, changing and deleting them ([`saved`]); their matches and deliveries
//! ([`mod@matches`]).
//!
//! Alerts on properties, adverts, sales and diagnostics have the same endpoints under four paths, with the same grants.
//! An alert of another account, or on other records, is answered with 404. Handlers wait for the store on a
//! blocking thread.

pub mod matches;
mod operations;
pub mod saved;

use crate::endpoint::call::Call;
use toise_alerts::alert::AlertSubject;
use toise_alerts::registry::AlertRef;
use toise_service::error::ApiError;

/// Returns the alert named in the path, of the caller's account.
fn address(call: &Call<'_>, subject: AlertSubject) -> Result<AlertRef, ApiError> {
    Ok(AlertRef {
        account: call.key()?.account_id,
        subject,
        id: call.flx_id("alert")?,
    })
}
