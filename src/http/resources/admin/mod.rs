//! The operators' endpoints: ingestion, accounts, secrets, keys, consumption, alerts and dead letters, pairs of
//! properties that may be one home, erasures, reports, the model, jobs. The command line offers the same operations.
//!
//! Each handler waits for the store on a blocking thread. What a key may do to other keys is in `rights.rs`.

pub mod accounts;
pub mod adverts;
pub mod alerts;
pub mod audit;
pub mod erasures;
pub mod keys;
pub mod operations;
pub mod properties;
mod rights;
pub mod usage;

use serde_json::Value;
use warp::http::header::CACHE_CONTROL;

use crate::endpoint::Access;
use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use toise_accounts::scopes::Scope;
use toise_base::clock::Clock;
use toise_service::error::ApiError;
use toise_store::Store;

/// Returns the access for keys with the scope `admin` or this grant.
const fn operator(grant: &'static str) -> Access {
    Access::scoped(Scope::Admin, grant)
}

/// Runs a job that waits for the store and wraps its result. Responses may contain secrets, so they must not be
/// cached.
async fn on_store(
    call: &Call<'_>,
    job: impl FnOnce(&Store, &Clock) -> Result<Value, ApiError> + Send + 'static,
) -> Result<ApiResponse, ApiError> {
    let data = call
        .blocking(move |app| job(&app.store, &app.clock))
        .await?;
    Ok(private(data))
}

/// Returns a response that must not be cached.
fn private(data: Value) -> ApiResponse {
    ApiResponse::data(data).with_header(CACHE_CONTROL, "no-store")
}
