//! Alerts of an account: creating, reading, changing and deleting them ([`saved`]); their matches and deliveries
//! ([`mod@matches`]).
//!
//! Alerts on properties and on adverts have the same endpoints under two paths, with the same grants. An alert of
//! another account, or on the other kind of listing, is answered with 404. Handlers wait for the store on a
//! blocking thread.

pub mod matches;
mod operations;
pub mod saved;

use crate::call::Call;
use crate::error::ApiError;
use toise_alerts::registry::{AlertRef, Error};
use toise_contract::Fault;
use toise_contract::listings::filters::ListingKind;

/// The alert named in the path, of the caller's account.
fn address(call: &Call<'_>, listing: ListingKind) -> Result<AlertRef, ApiError> {
    Ok(AlertRef {
        account: call.key()?.account_id,
        listing,
        id: call.flx_id("alert")?,
    })
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(error) => error.into(),
            Error::Json(_) => ApiError::internal(error),
            Error::NoAlert => ApiError::NotFound("alert"),
            Error::Refused(fault) => fault.into(),
            Error::TooMany { .. } | Error::TooManyKept { .. } | Error::TooLong => {
                Fault::new("alerts", error.to_string()).into()
            }
        }
    }
}
