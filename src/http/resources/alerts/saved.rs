//! Creating, reading, changing and deleting alerts. The receiver's URL is checked before anything is written
//! ([`toise_service::receivers`]).

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{address, operations};
use crate::endpoint::call::Call;
use crate::endpoint::response::{ApiResponse, list};
use crate::endpoint::{Access, Endpoint, JSON_BODY, MANY_JSON_BODY};
use toise_accounts::scopes::Scope;
use toise_alerts::alert::AlertSubject;
use toise_alerts::registry::{self, Error};
use toise_alerts::request::queries::parse_page;
use toise_alerts::request::{NewAlert, parse_alert, parse_alerts, parse_patch};
use toise_alerts::saved_search::why_unmatched;
use toise_contract::Fault;
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::ListingKind;
use toise_contract::query::pairs;
use toise_opendata::Dataset;
use toise_service::App;
use toise_service::error::ApiError;

/// Field with the receiver's URL.
const WEBHOOK_URL: &str = "webhook_url";

macro_rules! endpoints {
    ($kind:literal, $subject:expr) => {
        crate::endpoint::endpoints! {
            PUT concat!("/v2/protected/", $kind, "/search/alerts"),
                Access::scoped(Scope::Alerts, "alerts.create"), Writes, create(call, $subject.into())
                .with_body(JSON_BODY).with_operation(|| operations::create($subject.into()));
            PUT concat!("/v2/protected/", $kind, "/search/alerts/many"),
                Access::scoped(Scope::Alerts, "alerts.create_many"), Writes, create_many(call, $subject.into())
                .with_body(MANY_JSON_BODY).with_operation(|| operations::create_many($subject.into()));
            GET concat!("/v2/protected/", $kind, "/search/alerts/all"),
                Access::scoped(Scope::Alerts, "alerts.list"), ReadsOnWriter, all(call, $subject.into())
                .with_operation(|| operations::list($subject.into()));
            GET concat!("/v2/protected/", $kind, "/search/alerts/{alertId}"),
                Access::scoped(Scope::Alerts, "alerts.get"), ReadsOnWriter, get(call, $subject.into())
                .with_operation(|| operations::get($subject.into()));
            PATCH concat!("/v2/protected/", $kind, "/search/alerts/{alertId}"),
                Access::scoped(Scope::Alerts, "alerts.update"), Writes, update(call, $subject.into())
                .with_body(JSON_BODY).with_operation(|| operations::update($subject.into()));
            DELETE concat!("/v2/protected/", $kind, "/search/alerts/{alertId}"),
                Access::scoped(Scope::Alerts, "alerts.delete"), Writes, delete(call, $subject.into())
                .with_operation(|| operations::delete($subject.into()));
            GET concat!("/v2/protected/", $kind, "/search/alerts/{alertId}/activate"),
                Access::scoped(Scope::Alerts, "alerts.activate"), Writes, activate(call, $subject.into())
                .with_operation(|| operations::activate($subject.into()));
        }
    };
}

/// Endpoints for alerts on properties.
pub const OF_PROPERTIES: &[Endpoint] = endpoints!("properties", ListingKind::Property);
/// Endpoints for alerts on adverts.
pub const OF_ADVERTS: &[Endpoint] = endpoints!("adverts", ListingKind::Advert);
/// Endpoints for alerts on sales.
pub const OF_SALES: &[Endpoint] = endpoints!("opendata/dvf", Dataset::Dvf);
/// Endpoints for alerts on diagnostics.
pub const OF_DIAGNOSTICS: &[Endpoint] = endpoints!("opendata/dpe", Dataset::Dpe);

async fn create(call: &Call<'_>, subject: AlertSubject) -> Result<ApiResponse, ApiError> {
    let account = call.key()?.account_id;
    let read = move |body: Value| Ok(parse_alert(subject, &body)?);
    let alert = call.read_on_pool(read).await?;
    check_address(call.app, &alert.webhook_url).await?;
    let id = call.new_id();
    call.blocking(move |app| {
        let id = app.data.alerts.create(account, subject, alert, id)?;
        named(id, Ok(()))
    })
    .await
}

async fn create_many(call: &Call<'_>, subject: AlertSubject) -> Result<ApiResponse, ApiError> {
    let account = call.key()?.account_id;
    let read = move |body: Value| Ok(parse_alerts(subject, &body)?);
    let mut alerts: Vec<Result<NewAlert, Fault>> = call.read_on_pool(read).await?;
    let urls = alerts.iter().flatten().map(|alert| &alert.webhook_url);
    let refused = call
        .app
        .data
        .receivers
        .refused(urls.cloned().collect())
        .await;
    for alert in &mut alerts {
        if let Ok(valid) = alert
            && let Some(refused) = refused.get(&valid.webhook_url)
        {
            *alert = Err(Fault::new(WEBHOOK_URL, refused.to_string()));
        }
    }
    let ids = call.new_id();
    call.blocking(move |app| {
        let results = app.data.alerts.create_many(account, subject, alerts, ids)?;
        let results = results.into_iter().enumerate();
        let outcomes: Result<Vec<Value>, ApiError> = results
            .map(|(place, result)| outcome(place, result))
            .collect();
        Ok(ApiResponse::data(json!({"alerts": outcomes?})))
    })
    .await
}

/// Returns the outcome of one of several alerts.
fn outcome(place: usize, result: Result<FlxId, Error>) -> Result<Value, ApiError> {
    let refused = match result {
        Ok(id) => return Ok(json!({"success": id})),
        Err(Error::Refused(fault)) => ApiError::from(fault.within(&format!("alerts[{place}]"))),
        Err(error) => error.into(),
    };
    match &refused {
        ApiError::Internal(_) => Err(refused),
        _ => {
            let (_, code) = refused.status_and_code();
            Ok(json!({"failed": {"code": code, "message": refused.to_string()}}))
        }
    }
}

async fn all(call: &Call<'_>, subject: AlertSubject) -> Result<ApiResponse, ApiError> {
    let account = call.key()?.account_id;
    let query = pairs(call.query)?;
    let page = parse_page(&query)?;
    let page = (!query.is_empty()).then_some(page);
    call.blocking(move |app| {
        let alerts = app.data.alerts.list(account, subject, page)?;
        Ok(ApiResponse::json(list(&alerts)))
    })
    .await
}

async fn get(call: &Call<'_>, subject: AlertSubject) -> Result<ApiResponse, ApiError> {
    let address = address(call, subject)?;
    call.blocking(move |app| {
        let alert = app.data.alerts.get(address)?;
        let mut object = alert.to_json();
        if let Some(reason) = why_unmatched(&alert, &app.data.layers) {
            object["unmatched_because"] = json!(reason);
        }
        Ok(ApiResponse::data(object))
    })
    .await
}

async fn update(call: &Call<'_>, subject: AlertSubject) -> Result<ApiResponse, ApiError> {
    let address = address(call, subject)?;
    let read = move |body: Value| Ok(parse_patch(subject, &body)?);
    let patch = call.read_on_pool(read).await?;
    call.blocking(move |app| Ok(app.data.alerts.get(address)?))
        .await?;
    if let Some(url) = &patch.webhook_url {
        check_address(call.app, url).await?;
    }
    call.blocking(move |app| named(address.id, app.data.alerts.patch(address, patch)))
        .await
}

async fn delete(call: &Call<'_>, subject: AlertSubject) -> Result<ApiResponse, ApiError> {
    let address = address(call, subject)?;
    call.blocking(move |app| named(address.id, app.data.alerts.delete(address)))
        .await
}

async fn activate(call: &Call<'_>, subject: AlertSubject) -> Result<ApiResponse, ApiError> {
    let address = address(call, subject)?;
    call.blocking(move |app| named(address.id, app.data.alerts.activate(address)))
        .await
}

async fn check_address(app: &App, url: &str) -> Result<(), ApiError> {
    let refused = app
        .data
        .receivers
        .refused(HashSet::from([url.to_owned()]))
        .await;
    match refused.into_values().next() {
        Some(refused) => Err(Fault::new(WEBHOOK_URL, refused.to_string()).into()),
        None => Ok(()),
    }
}

/// Returns the response with the identifier of an alert, if the operation succeeded.
fn named(id: FlxId, result: registry::Result<()>) -> Result<ApiResponse, ApiError> {
    result?;
    Ok(ApiResponse::data(json!({"alert_id": id, "flxId": id})))
}
