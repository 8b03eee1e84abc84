//! Admits every call, over HTTP, Flight SQL or MCP: authenticates the key, checks network and scope, applies rate and
//! quota.
//!
//! A call without a valid key counts against the rate of its client address ([`super::address_rates`]); a call with a
//! valid key counts against the rate of the key.

use std::net::IpAddr;
use std::sync::Arc;

use super::App;
use super::billing;
use super::error::ApiError;
use toise_accounts::grants::is_endpoint_name;
use toise_accounts::key::KeyRecord;
use toise_accounts::meter::{KeyMeter, RateState, Reservation};
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_telemetry::Refusal;

/// Header that carries the key.
pub const KEY_HEADER: &str = "x-api-key";
/// The message for a call without a key.
const NO_KEY: &str = "is required, or the same key as bearer token in authorization";
/// The message for a call with an invalid key.
const INVALID_KEY: &str = "must be a key that is known, not revoked and not expired";

/// The callers that an endpoint accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anyone, without a key.
    Public,
    /// Any valid key.
    Keyed,
    /// A key granted the scope, or this endpoint by name. Created by [`Access::scoped`].
    Scoped(Scope, &'static str),
}

impl Access {
    /// Returns the access for keys granted the scope, or the endpoint by name.
    ///
    /// In a constant, a name that cannot be granted ([`toise_accounts::grants::ENDPOINTS`]) is a compile error.
    pub const fn scoped(scope: Scope, grant: &'static str) -> Self {
        assert!(
            is_endpoint_name(grant),
            "the grant is not in accounts::grants::ENDPOINTS"
        );
        Access::Scoped(scope, grant)
    }
}

/// The consumption type of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Not priced, not counted and not limited by a quota.
    Free,
    /// A call of this type, priced by the price list.
    As(Consumption),
}

/// The key and address of a caller, as found by HTTP, Flight SQL or MCP.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'c> {
    /// The text of the key; `None` if the call has none.
    pub key: Option<&'c [u8]>,
    /// The address of the client; `None` for a call of this process.
    pub address: Option<IpAddr>,
}

/// The rules for admitting a call.
#[derive(Clone, Copy, Debug)]
pub struct CallRules {
    /// Who may make it.
    pub access: Access,
    /// Its consumption type; a counted call is reserved in the quota of its key.
    pub counting: Counting,
    /// Whether admission counts the call against the rate of its key. Messages of MCP are counted later: a tool call
    /// counts as the request that it makes.
    pub counts_against_rate: bool,
}

impl CallRules {
    /// A free call for any valid key.
    pub const KEYED: Self = Self {
        access: Access::Keyed,
        counting: Counting::Free,
        counts_against_rate: true,
    };
}

/// An admitted call.
#[derive(Debug)]
pub struct Admitted {
    /// The key.
    pub key: Arc<KeyRecord>,
    /// The usage of the key.
    pub meter: Arc<KeyMeter>,
    reservation: Result<Option<Reservation>, ApiError>,
}

/// A call that was refused.
#[derive(Debug)]
pub struct Refused {
    /// The reason.
    pub error: ApiError,
    /// The key, if it is valid.
    pub key: Option<Arc<KeyRecord>>,
    /// The rate of the key, or of the client address if there is no valid key.
    pub rate: Option<RateState>,
}

impl From<Refused> for ApiError {
    fn from(refused: Refused) -> Self {
        refused.error
    }
}

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Self {
        Self {
            error,
            key: None,
            rate: None,
        }
    }
}

impl Admitted {
    /// Takes the reservation in the month's quota, which is released unless it is committed; `None` if the call is
    /// free.
    ///
    /// Separate from admission because a call that is replayed under an idempotency key needs no reservation.
    ///
    /// # Errors
    /// The quota is used up, or the store cannot be read.
    pub fn take_reservation(&mut self) -> Result<Option<Reservation>, ApiError> {
        std::mem::replace(&mut self.reservation, Ok(None))
    }

    /// Counts the call against the rate of its key, if admission did not.
    ///
    /// # Errors
    /// The key makes too many calls a second.
    pub fn count_against_rate(&self, app: &App) -> Result<(), ApiError> {
        count_against_rate(app, &self.meter)
    }
}

/// Admits a call with a key.
///
/// # Errors
/// The call has no valid key; the key may not be used from this address, or lacks the scope, or has exceeded its rate.
/// An exceeded quota is an error of [`Admitted::take_reservation`].
pub async fn admit(app: &App, caller: Caller<'_>, rules: CallRules) -> Result<Admitted, Refused> {
    let key = authenticate(app, caller).await?;
    let meter = app.access.meters.of(key.key_id, key.allowance);
    let refused = |error| Refused {
        error,
        key: Some(Arc::clone(&key)),
        rate: Some(meter.rate()),
    };
    if !key.is_allowed_from(caller.address) {
        // Counts against the address, because a stolen key must not use up the rate of its owner.
        count_against_address(app, caller.address)
            .map_err(|by_address| refused(by_address.error))?;
        return Err(refused(ApiError::WrongAddress));
    }
    let now = app.clock.now();
    app.access.key_uses.note(key.key_id, now);
    if rules.counts_against_rate {
        count_against_rate(app, &meter).map_err(refused)?;
    }
    authorise(&key, rules.access).map_err(refused)?;
    let reservation = match rules.counting {
        Counting::Free => Ok(None),
        Counting::As(_) => billing::reserve(app, Arc::clone(&meter), now)
            .await
            .map(Some),
    };
    Ok(Admitted {
        key,
        meter,
        reservation,
    })
}

/// Admits a call that needs no key: it counts against the rate of its client address.
///
/// # Errors
/// The address has exceeded its rate.
pub fn admit_public(app: &App, address: Option<IpAddr>) -> Result<(), Refused> {
    count_against_address(app, address).map(drop)
}

/// Returns the valid key of a caller.
///
/// # Errors
/// The text is not a valid key; the store cannot be read. The attempt counts against the rate of the client address.
pub async fn authenticate(app: &App, caller: Caller<'_>) -> Result<Arc<KeyRecord>, Refused> {
    let text = caller.key.and_then(|text| std::str::from_utf8(text).ok());
    if let Some(text) = text {
        let verified = app.access.verifier.verify(text).await;
        if let Some(key) = verified.map_err(ApiError::internal)? {
            return Ok(key);
        }
    }
    let rate = count_against_address(app, caller.address)?;
    let message = if caller.key.is_some() {
        INVALID_KEY
    } else {
        NO_KEY
    };
    Err(Refused {
        error: ApiError::Unauthorised(message),
        key: None,
        rate,
    })
}

fn count_against_address(app: &App, address: Option<IpAddr>) -> Result<Option<RateState>, Refused> {
    let Some(address) = address else {
        return Ok(None);
    };
    app.access
        .addresses
        .count(address)
        .map(Some)
        .map_err(|(rate, exceeded)| {
            app.metrics.record_refusal(Refusal::Unkeyed);
            Refused {
                error: ApiError::TooManyUnkeyed(exceeded),
                key: None,
                rate: Some(rate),
            }
        })
}

fn count_against_rate(app: &App, meter: &KeyMeter) -> Result<(), ApiError> {
    meter.admit().map(drop).map_err(|exceeded| {
        app.metrics.record_refusal(Refusal::Rate);
        ApiError::RateLimited(exceeded)
    })
}

fn authorise(key: &KeyRecord, access: Access) -> Result<(), ApiError> {
    match access {
        Access::Scoped(scope, endpoint) if !key.allows(scope, endpoint) => {
            Err(ApiError::Forbidden { scope, endpoint })
        }
        Access::Public | Access::Keyed | Access::Scoped(..) => Ok(()),
    }
}
