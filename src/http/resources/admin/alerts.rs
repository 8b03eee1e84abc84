//! Alerts of every account, and dead letters.

use serde_json::json;

use super::{on_store, operator};
use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Endpoint, endpoints};
use crate::openapi::Operation;
use crate::openapi::admin::{data_list_of, data_of};
use toise_alerts::request::queries::{ALERT_LIST, PAGE, parse_alert_list, parse_page};
use toise_alerts::{deliveries, overview};
use toise_contract::fields::schema::parameters;
use toise_contract::listings::codes::FlxId;
use toise_contract::query::pairs;
use toise_service::error::ApiError;

/// Operators' endpoints for alerts and dead letters.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v2/protected/admin/alerts", operator("admin.alerts.list"), ReadsOnWriter, list(call)
        .with_operation(|| {
            Operation::new("alertsList", "Alerts of every account, newest first")
                .with_query(parameters(&ALERT_LIST))
                .with_response(data_list_of("OperatorAlert"))
        });
    GET "/v2/protected/admin/alerts/{alertId}", operator("admin.alerts.get"), ReadsOnWriter, get(call)
        .with_operation(|| {
            Operation::new("alertsGet", "An alert of any account, and its state")
                .with_response(data_of("AlertOverview"))
        });
    GET "/v2/protected/admin/alerts/dead-letters",
        operator("admin.alerts.dead_letters"), ReadsOnWriter, list_dead(call)
        .with_operation(|| {
            Operation::new(
                "deadLettersList",
                "Deliveries that were given up, newest first",
            )
            .with_query(parameters(&PAGE))
            .with_response(data_list_of("Delivery"))
        });
    POST "/v2/protected/admin/alerts/dead-letters/{deliveryId}/retry",
        operator("admin.alerts.retry"), Administers, retry(call)
        .with_operation(|| {
            Operation::new(
                "deadLettersRetry",
                "Send a delivery that was given up again",
            )
            .with_description(
                "The delivery keeps its identifier, and its retry schedule starts over. Its alert must be active",
            )
            .with_response(data_of("RetriedDelivery"))
        });
};

/// `GET /v2/protected/admin/alerts`: alerts of every account or of one, newest first.
async fn list(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let (account_id, page) = parse_alert_list(&pairs(call.query)?)?;
    on_store(call, move |store, _| {
        let alerts = overview::list(store, account_id, page).map_err(ApiError::internal)?;
        Ok(alerts.iter().map(overview::operator_json).collect())
    })
    .await
}

/// `GET /v2/protected/admin/alerts/{alertId}`: an alert of any account, with its delivery status.
async fn get(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let id = FlxId(call.uuid()?);
    let layers = call.app.data.layers.clone();
    on_store(call, move |store, _| {
        let found = overview::show(store, id, &layers).map_err(ApiError::internal)?;
        Ok(found.ok_or(ApiError::NotFound("alert"))?.to_json())
    })
    .await
}

/// `GET /v2/protected/admin/alerts/dead-letters`: dead letters, newest first.
async fn list_dead(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let page = parse_page(&pairs(call.query)?)?;
    on_store(call, move |store, _| {
        let dead = deliveries::dead(store, page).map_err(ApiError::internal)?;
        Ok(json!(dead))
    })
    .await
}

/// `POST /v2/protected/admin/alerts/dead-letters/{deliveryId}/retry`: retries a dead letter under its identifier.
async fn retry(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let id = call.uuid()?;
    on_store(call, move |store, clock| {
        deliveries::retry(store, clock, id)?;
        Ok(json!({ "delivery_id": id }))
    })
    .await
}
