//! The operators' endpoints: adverts in, accounts, their secrets, keys, consumption, alerts and dead letters. The
//! command line does the same.
//!
//! Each handler waits for the store on a blocking thread. A key that holds the scope `admin` may hand out anything; one
//! that holds single endpoints of it may not hand out more of them, else `admin.keys.create` would be `admin`.

pub mod accounts;
pub mod adverts;
pub mod alerts;
pub mod keys;
pub mod usage;

use serde_json::Value;
use warp::http::header::{CACHE_CONTROL, HeaderValue};

use crate::call::Call;
use crate::endpoint::Access;
use crate::error::ApiError;
use crate::response::ApiResponse;
use toise_accounts::scopes::Scope;
use toise_base::clock::Clock;
use toise_store::Store;

/// An operator's key, or one with this grant.
const fn operator(grant: &'static str) -> Access {
    Access::scoped(Scope::Admin, grant)
}

/// Runs a job that waits for the store, and wraps what it answers. Answers hold secrets: nobody is to keep them.
async fn on_store(
    call: &Call<'_>,
    job: impl FnOnce(&Store, &Clock) -> Result<Value, ApiError> + Send + 'static,
) -> Result<ApiResponse, ApiError> {
    let data = call
        .blocking(move |app| job(&app.store, &app.clock))
        .await?;
    let mut answer = ApiResponse::data(data);
    answer
        .response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}
