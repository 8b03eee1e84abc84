//! Matches of alerts: history, deliveries, replay and preview.

use std::collections::HashSet;

use futures::FutureExt;
use serde_json::{Value, json};
use warp::http::{Method, StatusCode};

use super::{address, operations};
use crate::endpoint::call::{Call, read_json};
use crate::endpoint::response::{ApiResponse, list};
use crate::endpoint::{Access, BodyRule, Counting, Effect, Endpoint, JSON_BODY, Time};
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_alerts::deliveries;
use toise_alerts::replay::{ReplayWindow, replay};
use toise_alerts::request::queries::{parse_deliveries, parse_page, parse_preview, parse_replay};
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::ListingKind;
use toise_contract::query::pairs;
use toise_engine::pool::Load;
use toise_service::App;
use toise_service::error::ApiError;

// A preview returns the history an alert would have, and costs the same.
macro_rules! endpoints {
    ($kind:literal, $listing:expr, $history:ident) => {
        &[
            Endpoint {
                method: Method::GET,
                path: concat!("/v2/protected/", $kind, "/search/alerts/history/{alertId}"),
                access: Access::scoped(Scope::Alerts, "alerts.history"),
                counting: Counting::As(Consumption::$history),
                effect: Effect::ReadsOnWriter,
                body: BodyRule::None,
                time: Time::Request,
                handler: |call| history(call, $listing).boxed(),
                operation: Some(|| operations::history($listing)),
            },
            Endpoint {
                method: Method::GET,
                path: concat!(
                    "/v2/protected/",
                    $kind,
                    "/search/alerts/{alertId}/deliveries"
                ),
                access: Access::scoped(Scope::Alerts, "alerts.deliveries"),
                counting: Counting::Free,
                effect: Effect::ReadsOnWriter,
                body: BodyRule::None,
                time: Time::Request,
                handler: |call| list_deliveries(call, $listing).boxed(),
                operation: Some(|| operations::deliveries($listing)),
            },
            Endpoint {
                method: Method::POST,
                path: concat!("/v2/protected/", $kind, "/search/alerts/{alertId}/replay"),
                access: Access::scoped(Scope::Alerts, "alerts.replay"),
                counting: Counting::Free,
                effect: Effect::Writes,
                body: JSON_BODY,
                time: Time::Request,
                handler: |call| begin_replay(call, $listing).boxed(),
                operation: Some(|| operations::replay($listing)),
            },
            Endpoint {
                method: Method::POST,
                path: concat!("/v2/protected/", $kind, "/search/alerts/preview"),
                access: Access::scoped(Scope::Alerts, "alerts.preview"),
                counting: Counting::As(Consumption::$history),
                effect: Effect::ReadsOnWriter,
                body: JSON_BODY,
                time: Time::Request,
                handler: |call| preview(call, $listing).boxed(),
                operation: Some(|| operations::preview($listing)),
            },
        ]
    };
}

/// Endpoints for matches of alerts on properties.
pub const OF_PROPERTIES: &[Endpoint] = endpoints!(
    "properties",
    ListingKind::Property,
    PropertiesGetAlertHistory
);
/// Endpoints for matches of alerts on adverts.
pub const OF_ADVERTS: &[Endpoint] =
    endpoints!("adverts", ListingKind::Advert, AdvertsGetAlertHistory);

/// Returns the listings that an alert matched, in their current state. Each record is returned once, even if its
/// property was merged.
async fn history(call: &Call<'_>, listing: ListingKind) -> Result<ApiResponse, ApiError> {
    let address = address(call, listing)?;
    let page = parse_page(&pairs(call.query)?)?;
    call.blocking(move |app| {
        let ids = app.data.alerts.history(address, page.skip, page.take)?;
        Ok(ApiResponse::json(list(&records(app, listing, &ids)?)))
    })
    .await
}

async fn list_deliveries(call: &Call<'_>, listing: ListingKind) -> Result<ApiResponse, ApiError> {
    let address = address(call, listing)?;
    let (status, page) = parse_deliveries(&pairs(call.query)?)?;
    call.blocking(move |app| {
        app.data.alerts.get(address)?;
        let found = deliveries::list_for_alert(&app.store, address.id, status, page);
        Ok(ApiResponse::data(json!(found.map_err(ApiError::internal)?)))
    })
    .await
}

async fn begin_replay(call: &Call<'_>, listing: ListingKind) -> Result<ApiResponse, ApiError> {
    let address = address(call, listing)?;
    let (body, id) = (call.body.clone(), call.new_id());
    call.blocking(move |app| {
        let request = parse_replay(&read_json(&body)?)?;
        app.data.alerts.get(address)?;
        let window = ReplayWindow {
            from_ms: request.from_ms,
            to_ms: request.to_ms,
        };
        let begun = replay(
            &app.store,
            &app.clock,
            address.id,
            window,
            request.items_max,
            id,
        )?;
        let data = json!({"replay_id": begun.replay_id, "items": begun.items});
        Ok(ApiResponse::data(data).with_status(StatusCode::ACCEPTED))
    })
    .await
}

async fn preview(call: &Call<'_>, listing: ListingKind) -> Result<ApiResponse, ApiError> {
    call.on_pool(Load::Batch, move |app, body, interrupt| {
        let request = parse_preview(listing, &read_json(body)?)?;
        let (search, days) = (&request.search, request.days);
        let found = app
            .data
            .properties
            .preview(listing, search, days, interrupt)?;
        let per_day = found.per_day.iter();
        let per_day: Vec<Value> = per_day
            .map(|(date, count)| json!({"date": date.to_string(), "count": count}))
            .collect();
        let records = records(app, listing, &found.items)?;
        let (count, per_day) = (found.count(), Value::from(per_day));
        let head = format!(r#"{{"data":{{"count":{count},"per_day":{per_day},"items":["#);
        let bytes = [head.as_bytes(), &records.join(&b','), b"]}}"].concat();
        Ok(bytes.into())
    })
    .await
}

/// Returns the records of listings in order, each once: two properties may have been merged since they were found.
fn records(app: &App, listing: ListingKind, ids: &[FlxId]) -> Result<Vec<Vec<u8>>, ApiError> {
    let listings = app.data.properties.listings();
    let found = match listing {
        ListingKind::Property => listings.properties(ids)?,
        ListingKind::Advert => listings.adverts(ids)?,
    };
    let mut records: Vec<Vec<u8>> = found.into_iter().flatten().collect();
    let mut seen = HashSet::with_capacity(records.len());
    records.retain(|record| seen.insert(blake3::hash(record)));
    Ok(records)
}
