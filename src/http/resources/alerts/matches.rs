//! Matches of alerts: history, deliveries, replay and preview.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use warp::http::StatusCode;

use super::{address, operations};
use crate::endpoint::call::{Call, read_json};
use crate::endpoint::response::{ApiResponse, list};
use crate::endpoint::{Access, Endpoint, JSON_BODY};
use crate::input::layers;
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_alerts::alert::AlertSubject;
use toise_alerts::deliveries::{self, PageParams};
use toise_alerts::dispatch::test_delivery::TestDelivery;
use toise_alerts::registry::AlertRef;
use toise_alerts::replay::{ReplayWindow, replay};
use toise_alerts::request::queries::{
    parse_deliveries, parse_open_data_preview, parse_page, parse_preview, parse_replay,
};
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::ListingKind;
use toise_contract::query::pairs;
use toise_engine::cancellation::Interrupt;
use toise_engine::pool::Load;
use toise_engine::view::RowRef;
use toise_listings::search::preview::ITEMS_MAX;
use toise_opendata::request::bodies::bodies;
use toise_opendata::{Dataset, DatasetSearchRequest};
use toise_service::App;
use toise_service::error::ApiError;

/// Maximum wait of a test delivery for its permit.
const TEST_WAIT: Duration = Duration::from_secs(2);

// A preview returns the history an alert would have, and costs the same.
macro_rules! endpoints {
    ($kind:literal, $subject:expr, $history:ident) => {
        crate::endpoint::endpoints! {
            GET concat!("/v2/protected/", $kind, "/search/alerts/history/{alertId}"),
                Access::scoped(Scope::Alerts, "alerts.history"), ReadsOnWriter, history(call, $subject.into())
                .counted_as(Consumption::$history).with_operation(|| operations::history($subject.into()));
            GET concat!("/v2/protected/", $kind, "/search/alerts/{alertId}/deliveries"),
                Access::scoped(Scope::Alerts, "alerts.deliveries"), ReadsOnWriter, list_deliveries(call, $subject.into())
                .with_operation(|| operations::deliveries($subject.into()));
            POST concat!("/v2/protected/", $kind, "/search/alerts/{alertId}/replay"),
                Access::scoped(Scope::Alerts, "alerts.replay"), Writes, begin_replay(call, $subject.into())
                .with_body(JSON_BODY).with_operation(|| operations::replay($subject.into()));
            POST concat!("/v2/protected/", $kind, "/search/alerts/{alertId}/test"),
                Access::scoped(Scope::Alerts, "alerts.test"), ReadsOnWriter, test_receiver(call, $subject.into())
                .with_operation(|| operations::test($subject.into()));
            POST concat!("/v2/protected/", $kind, "/search/alerts/preview"),
                Access::scoped(Scope::Alerts, "alerts.preview"), ReadsOnWriter, preview(call, $subject.into())
                .counted_as(Consumption::$history)
                .with_body(JSON_BODY)
                .with_operation(|| operations::preview($subject.into()));
        }
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
/// Endpoints for matches of alerts on sales.
pub const OF_SALES: &[Endpoint] =
    endpoints!("opendata/dvf", Dataset::Dvf, OpendataDvfGetAlertHistory);
/// Endpoints for matches of alerts on diagnostics.
pub const OF_DIAGNOSTICS: &[Endpoint] =
    endpoints!("opendata/dpe", Dataset::Dpe, OpendataDpeGetAlertHistory);

/// Returns the records that an alert matched, in their current state. Each is returned once, even if its property was
/// merged. Sales and diagnostics that an import removed are left out and not counted, so only the last page is short.
async fn history(call: &Call<'_>, subject: AlertSubject) -> Result<ApiResponse, ApiError> {
    let address = address(call, subject)?;
    let page = parse_page(&pairs(call.query)?)?;
    call.blocking(move |app| {
        let found = match subject {
            AlertSubject::Listings(listing) => {
                let ids = app.data.alerts.history(address, page.skip, page.take)?;
                records(app, listing, &ids)?
            }
            AlertSubject::OpenData(dataset) => open_data_history(app, dataset, address, page)?,
        };
        Ok(ApiResponse::json(list(&found)))
    })
    .await
}

async fn list_deliveries(call: &Call<'_>, subject: AlertSubject) -> Result<ApiResponse, ApiError> {
    let address = address(call, subject)?;
    let (status, page) = parse_deliveries(&pairs(call.query)?)?;
    call.blocking(move |app| {
        app.data.alerts.get(address)?;
        let found = deliveries::list_for_alert(&app.store, address.id, status, page);
        Ok(ApiResponse::data(json!(found.map_err(ApiError::internal)?)))
    })
    .await
}

async fn begin_replay(call: &Call<'_>, subject: AlertSubject) -> Result<ApiResponse, ApiError> {
    let address = address(call, subject)?;
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

/// Posts an empty delivery to the receiver and returns what it answered. Waits at most [`TEST_WAIT`] while too many
/// tests run.
async fn test_receiver(call: &Call<'_>, subject: AlertSubject) -> Result<ApiResponse, ApiError> {
    let address = address(call, subject)?;
    let test = call.blocking(move |app| {
        app.data.alerts.get(address)?;
        let prepared = TestDelivery::prepare(&app.store, app.clock.now(), address.id);
        prepared
            .map_err(ApiError::internal)?
            .ok_or(ApiError::NotFound("alert"))
    });
    let test = test.await?;
    let app = call.app;
    let permit = tokio::time::timeout(TEST_WAIT, app.capacity.receiver_tests.acquire()).await;
    // Held until the receiver has answered.
    let _permit = permit
        .map_err(|_| ApiError::Overloaded)?
        .map_err(ApiError::internal)?;
    let tested = test.send(app.data.receivers.client(), &app.clock).await;
    Ok(ApiResponse::data(json!(tested)))
}

async fn preview(call: &Call<'_>, subject: AlertSubject) -> Result<ApiResponse, ApiError> {
    call.on_pool(Load::Batch, move |app, body, interrupt| {
        let body = read_json(body)?;
        match subject {
            AlertSubject::Listings(listing) => preview_listings(app, listing, &body, interrupt),
            AlertSubject::OpenData(dataset) => preview_open_data(app, dataset, &body, interrupt),
        }
    })
    .await
}

fn preview_listings(
    app: &App,
    listing: ListingKind,
    body: &Value,
    interrupt: &Interrupt,
) -> Result<Bytes, ApiError> {
    let mut request = parse_preview(listing, body)?;
    layers::resolve(app, &mut request.search.filter)?;
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
    Ok([head.as_bytes(), &records.join(&b','), b"]}}"]
        .concat()
        .into())
}

/// Returns the first page of the search of an alert on open data.
fn preview_open_data(
    app: &App,
    dataset: Dataset,
    body: &Value,
    interrupt: &Interrupt,
) -> Result<Bytes, ApiError> {
    let mut filter = parse_open_data_preview(dataset, body)?;
    layers::resolve(app, &mut filter)?;
    let request = DatasetSearchRequest {
        filter,
        sort_by: bodies(dataset).sort_keys[0],
        descending: true,
        size: ITEMS_MAX,
        after: None,
    };
    let found = app.data.open_data.search(dataset, &request, interrupt);
    let found = found.map_err(ApiError::internal)?;
    let head = format!(r#"{{"data":{{"count":{},"items":["#, found.total);
    let records: Vec<&[u8]> = found.records.iter().map(|record| &record[..]).collect();
    Ok([head.as_bytes(), &records.join(&b','), b"]}}"]
        .concat()
        .into())
}

/// Returns records in order, each once: two properties may have been merged since they were found.
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

/// Returns a page of the records of open data that an alert matched and that are still stored. Each match up to the end
/// of the page is looked up.
fn open_data_history(
    app: &App,
    dataset: Dataset,
    address: AlertRef,
    page: PageParams,
) -> Result<Vec<Vec<u8>>, ApiError> {
    let view = app.data.properties.engine().view(dataset.schema());
    let view = view.map_err(ApiError::internal)?;
    let (mut skipped, mut rows): (usize, Vec<RowRef>) = (0, Vec::new());
    let mut looked_up: Result<(), toise_lake::Error> = Ok(());
    app.data.alerts.visit_history(address, |digest| {
        match view.row_of_digest(digest.0.as_u128()) {
            Ok(Some(_)) if skipped < page.skip => skipped += 1,
            Ok(Some(row)) => rows.push(row),
            Ok(None) => {}
            Err(error) => looked_up = Err(error),
        }
        looked_up.is_ok() && rows.len() < page.take
    })?;
    let records = looked_up.and_then(|()| view.records(&rows));
    let records = records.map_err(|error| ApiError::internal(toise_engine::Error::Lake(error)))?;
    Ok(records.into_iter().map(Vec::from).collect())
}
