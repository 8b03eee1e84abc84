//! The audit log: who did what, from where, and how it ended.

use serde_json::Value;

use super::{on_store, operator};
use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Endpoint, endpoints};
use crate::openapi::Operation;
use crate::openapi::admin::data_list_of;
use toise_accounts::audit;
use toise_accounts::requests::{AUDIT, parse_audit};
use toise_contract::fields::schema::parameters;
use toise_contract::query::pairs;
use toise_service::error::ApiError;

/// The operators' endpoint for the log.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v2/protected/admin/audit", operator("admin.audit"), ReadsOnWriter, list(call)
        .with_operation(|| {
        Operation::new("audit", "Administrative actions, newest first")
            .with_query(parameters(&AUDIT))
            .with_response(data_list_of("AuditEntry"))
    });
};

/// `GET /v2/protected/admin/audit`: the latest entries, or those before a number.
async fn list(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let (before, take) = parse_audit(&pairs(call.query)?)?;
    on_store(call, move |store, _| {
        let entries = audit::latest(store, before, take)?;
        Ok(Value::Array(
            entries.iter().map(audit::AuditEntry::to_json).collect(),
        ))
    })
    .await
}
