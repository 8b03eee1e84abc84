//! Alerts of an account: creating, reading, changing and deleting them ([`saved`]); their matches and deliveries
//! ([`mod@matches`]).
//!
//! Alerts on properties and on adverts have the same endpoints under two paths, with the same grants. An alert of
//! another account, or on the other kind of listing, is answered with 404. Handlers wait for the store on a
//! blocking thread.

pub mod matches;
mod operations;
pub mod saved;

use crate::endpoint::call::Call;
use toise_alerts::registry::AlertRef;
use toise_contract::listings::filters::ListingKind;
use toise_service::error::ApiError;

/// Returns the alert named in the path, of the caller's account.
fn address(call: &Call<'_>, listing: ListingKind) -> Result<AlertRef, ApiError> {
    Ok(AlertRef {
        account: call.key()?.account_id,
        listing,
        id: call.flx_id("alert")?,
    })
}
