//! Consumption of all accounts.

use serde_json::Value;

use super::{on_store, operator};
use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Endpoint, endpoints};
use crate::openapi::Operation;
use crate::openapi::admin::data_list_of;
use toise_accounts::account;
use toise_accounts::json::account_usage_json;
use toise_accounts::requests::{PERIOD, parse_period};
use toise_accounts::usage::{self, UsageScope};
use toise_contract::fields::schema::parameters;
use toise_contract::query::pairs;
use toise_service::error::ApiError;

/// The report on all accounts.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v2/protected/admin/usage", operator("admin.usage"), ReadsOnWriter, usage(call)
        .with_operation(|| {
        Operation::new("usage", "Consumption of every account in a period")
            .with_query(parameters(&PERIOD))
            .with_response(data_list_of("AccountUsage"))
    });
};

/// `GET /v2/protected/admin/usage`: consumption of all accounts, including those without any.
async fn usage(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let today = call.app.clock.now().date_naive();
    let period = parse_period(&pairs(call.query)?, today)?;
    let ledger = call.app.billing.ledger.clone();
    on_store(call, move |store, _| {
        // If the ledger cannot be written, the report lacks the free calls that wait.
        let _ = ledger.write_waiting();
        let accounts = account::list(store)?;
        let parts = usage::by_key(store, UsageScope::All, period).map_err(ApiError::internal)?;
        let answers = accounts.iter().map(|account| {
            let own = parts
                .iter()
                .filter(|part| part.account_id == account.account_id);
            account_usage_json(account, &usage::by_type(own))
        });
        Ok(Value::Array(answers.collect()))
    })
    .await
}
