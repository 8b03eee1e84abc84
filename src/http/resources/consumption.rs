//! Consumption of the key's account, in a period or day by day.

use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Endpoint, endpoints};
use crate::openapi::Operation;
use crate::openapi::admin::{data_list_of, data_of};
use toise_accounts::json::{consumption_json, daily_json};
use toise_accounts::requests::{PERIOD, parse_period};
use toise_accounts::usage::{UsageScope, by_day, by_key, by_type};
use toise_contract::fault::Fault;
use toise_contract::fields::schema::parameters;
use toise_contract::query::pairs;
use toise_service::error::ApiError;
use toise_service::{App, billing};

/// Maximum days of a daily report.
const DAYS_MAX: i64 = 366;

/// The report on a period, under both of its paths, and the daily report.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v2/protected/consumption", Access::Keyed, ReadsOnWriter, report(call)
        .with_operation(|| operation("consumption"));
    GET "/v2/protected/admin/consumption", Access::Keyed, ReadsOnWriter, report(call)
        .with_operation(|| operation("adminConsumption"));
    GET "/v2/protected/consumption/days", Access::Keyed, ReadsOnWriter, days(call)
        .with_operation(|| {
            Operation::new(
                "consumptionDays",
                "Consumption of the key's account in a period, day by day",
            )
            .with_description(format!(
                "At most {DAYS_MAX} days. Days without consumption are left out"
            ))
            .with_query(parameters(&PERIOD))
            .with_response(data_list_of("DayUsage"))
        });
};

fn operation(id: &str) -> Operation {
    Operation::new(id, "Consumption of the key's account in a period")
        .with_query(parameters(&PERIOD))
        .with_response(data_of("Consumption"))
}

/// Returns the consumption of the account in a period, by type.
async fn report(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let today = call.app.clock.now().date_naive();
    let period = parse_period(&pairs(call.query)?, today)?;
    let account = UsageScope::Account(call.key()?.account_id);
    let read = move |app: &App| {
        billing::write_waiting(app);
        by_key(&app.store, account, period).map_err(ApiError::internal)
    };
    let usage = call.blocking(read).await?;
    Ok(ApiResponse::data(consumption_json(&by_type(&usage))))
}

/// Returns the consumption of the account in a period, by day and type.
async fn days(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let today = call.app.clock.now().date_naive();
    let period = parse_period(&pairs(call.query)?, today)?;
    if (period.to - period.from).num_days() >= DAYS_MAX {
        return Err(Fault::new(
            "from_date",
            format!("must be less than {DAYS_MAX} days before to_date"),
        )
        .into());
    }
    let account = call.key()?.account_id;
    let read = move |app: &App| {
        billing::write_waiting(app);
        by_day(&app.store, account, period).map_err(ApiError::internal)
    };
    let days = call.blocking(read).await?;
    Ok(ApiResponse::data(daily_json(&days)))
}
