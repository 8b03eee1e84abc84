//! Alerts of an account over HTTP: made, read, changed, ended; what they matched, and what became of their deliveries.
//!
//! An alert of another account, or on the other kind of listings, is not there: 404. Handlers wait for the store on a
//! blocking thread. Where matches are to be posted is checked before anything is written ([`addresses`]).

pub mod addresses;

use std::collections::HashSet;

use serde_json::{Value, json};
use warp::http::StatusCode;

use super::App;
use super::answer::Answer;
use super::error::ApiError;
use super::listings::list;
use super::opendata::{on_pool, read_json};
use super::pipeline::Call;
use super::routes::AlertAction;
use toise_alerts::registry::{self, Address};
use toise_alerts::replay::{self, Window, replay};
use toise_alerts::request::queries::{parse_deliveries, parse_page, parse_preview, parse_replay};
use toise_alerts::request::{NewAlert, parse_alert, parse_alerts, parse_patch};
use toise_alerts::{deliveries, registry::Error};
use toise_contract::Fault;
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::Listing;
use toise_contract::query::pairs;
use toise_engine::pool::Load;

/// Field an address stands in.
const WEBHOOK_URL: &str = "webhook_url";

/// Answers what an account asks of its alerts on such listings.
pub async fn answer(
    call: &Call<'_>,
    listing: Listing,
    action: AlertAction,
) -> Result<Answer, ApiError> {
    match action {
        AlertAction::Create => create(call, listing).await,
        AlertAction::CreateMany => create_many(call, listing).await,
        AlertAction::List => all(call, listing).await,
        AlertAction::Get => get(call, listing).await,
        AlertAction::Update => update(call, listing).await,
        AlertAction::Delete => {
            let address = address(call, listing)?;
            blocking(call, move |app| {
                named(address.id, app.alerts.delete(address))
            })
            .await
        }
        AlertAction::Activate => {
            let address = address(call, listing)?;
            blocking(call, move |app| {
                named(address.id, app.alerts.activate(address))
            })
            .await
        }
        AlertAction::History => history(call, listing).await,
        AlertAction::Deliveries => list_deliveries(call, listing).await,
        AlertAction::Replay => begin_replay(call, listing).await,
        AlertAction::Preview => preview(call, listing).await,
    }
}

async fn create(call: &Call<'_>, listing: Listing) -> Result<Answer, ApiError> {
    let account = call.key()?.account_id;
    let body = call.body.clone();
    let read = move |_: &App| Ok(parse_alert(listing, &read_json(&body)?)?);
    let alert = blocking(call, read).await?;
    check_address(call.app, &alert.webhook_url).await?;
    blocking(call, move |app| {
        let id = app.alerts.create(account, listing, alert)?;
        named(id, Ok(()))
    })
    .await
}

async fn create_many(call: &Call<'_>, listing: Listing) -> Result<Answer, ApiError> {
    let account = call.key()?.account_id;
    let body = call.body.clone();
    let read = move |_: &App| Ok(parse_alerts(listing, &read_json(&body)?)?);
    let mut alerts: Vec<Result<NewAlert, Fault>> = blocking(call, read).await?;
    let urls = alerts.iter().flatten().map(|alert| &alert.webhook_url);
    let refused = call.app.addresses.refused(urls.cloned().collect()).await;
    for alert in &mut alerts {
        if let Ok(sound) = alert
            && let Some(refused) = refused.get(&sound.webhook_url)
        {
            *alert = Err(Fault::new(WEBHOOK_URL, refused.to_string()));
        }
    }
    blocking(call, move |app| {
        let made = app.alerts.create_many(account, listing, alerts)?;
        let made = made.into_iter().enumerate();
        let told: Result<Vec<Value>, ApiError> =
            made.map(|(place, made)| told(place, made)).collect();
        Ok(data(json!({"alerts": told?})))
    })
    .await
}

/// What became of one alert of several.
fn told(place: usize, made: Result<FlxId, Error>) -> Result<Value, ApiError> {
    let refused = match made {
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

async fn all(call: &Call<'_>, listing: Listing) -> Result<Answer, ApiError> {
    let account = call.key()?.account_id;
    let query = pairs(call.query)?;
    let page = parse_page(&query)?;
    let page = (!query.is_empty()).then_some(page);
    blocking(call, move |app| {
        let alerts = app.alerts.list(account, listing, page)?;
        Ok(Answer::json(list(&alerts)))
    })
    .await
}

async fn get(call: &Call<'_>, listing: Listing) -> Result<Answer, ApiError> {
    let address = address(call, listing)?;
    blocking(call, move |app| Ok(data(app.alerts.get(address)?.answer()))).await
}

async fn update(call: &Call<'_>, listing: Listing) -> Result<Answer, ApiError> {
    let address = address(call, listing)?;
    let body = call.body.clone();
    let patch = blocking(call, move |app| {
        let patch = parse_patch(listing, &read_json(&body)?)?;
        app.alerts.get(address)?;
        Ok(patch)
    })
    .await?;
    if let Some(url) = &patch.webhook_url {
        check_address(call.app, url).await?;
    }
    blocking(call, move |app| {
        named(address.id, app.alerts.patch(address, patch))
    })
    .await
}

/// What an alert matched, as it is now; each record once, though its property may have been joined to another.
async fn history(call: &Call<'_>, listing: Listing) -> Result<Answer, ApiError> {
    let address = address(call, listing)?;
    let page = parse_page(&pairs(call.query)?)?;
    blocking(call, move |app| {
        let ids = app.alerts.history(address, page.skip, page.take)?;
        Ok(Answer::json(list(&records(app, listing, &ids)?)))
    })
    .await
}

async fn list_deliveries(call: &Call<'_>, listing: Listing) -> Result<Answer, ApiError> {
    let address = address(call, listing)?;
    let (status, page) = parse_deliveries(&pairs(call.query)?)?;
    blocking(call, move |app| {
        app.alerts.get(address)?;
        let found = deliveries::of_alert(&app.store, address.id, status, page);
        Ok(data(json!(found.map_err(ApiError::internal)?)))
    })
    .await
}

async fn begin_replay(call: &Call<'_>, listing: Listing) -> Result<Answer, ApiError> {
    let address = address(call, listing)?;
    let body = call.body.clone();
    blocking(call, move |app| {
        let request = parse_replay(&read_json(&body)?)?;
        app.alerts.get(address)?;
        let window = Window {
            from_ms: request.from_ms,
            to_ms: request.to_ms,
        };
        let begun = replay(
            &app.store,
            &app.clock,
            address.id,
            window,
            request.items_max,
        )?;
        let mut answer = data(json!({"replay_id": begun.replay_id, "items": begun.items}));
        *answer.response.status_mut() = StatusCode::ACCEPTED;
        Ok(answer)
    })
    .await
}

async fn preview(call: &Call<'_>, listing: Listing) -> Result<Answer, ApiError> {
    on_pool(call, Load::Single, move |app, body, interrupt| {
        let request = parse_preview(listing, &read_json(body)?)?;
        let (filter, days) = (&request.filter, request.days);
        let found = app.properties.preview(listing, filter, days, interrupt)?;
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

/// The records of listings in order, each once: two properties may have become one since they were found.
fn records(app: &App, listing: Listing, ids: &[FlxId]) -> Result<Vec<Vec<u8>>, ApiError> {
    let listings = app.properties.listings();
    let found = match listing {
        Listing::Property => listings.properties(ids)?,
        Listing::Advert => listings.adverts(ids)?,
    };
    let mut records: Vec<Vec<u8>> = found.into_iter().flatten().collect();
    let mut seen = HashSet::with_capacity(records.len());
    records.retain(|record| seen.insert(blake3::hash(record)));
    Ok(records)
}

/// The alert a path names, as the caller's account knows it.
fn address(call: &Call<'_>, listing: Listing) -> Result<Address, ApiError> {
    Ok(Address {
        account: call.key()?.account_id,
        listing,
        id: FlxId::parse(call.param(0)).ok_or(ApiError::NotFound("alert"))?,
    })
}

async fn check_address(app: &App, url: &str) -> Result<(), ApiError> {
    let refused = app.addresses.refused(HashSet::from([url.to_owned()])).await;
    match refused.into_values().next() {
        Some(refused) => Err(Fault::new(WEBHOOK_URL, refused.to_string()).into()),
        None => Ok(()),
    }
}

/// The answer that names an alert, once what was done to it is done.
fn named(id: FlxId, done: registry::Result<()>) -> Result<Answer, ApiError> {
    done?;
    Ok(data(json!({"alert_id": id, "flxId": id})))
}

fn data(data: Value) -> Answer {
    Answer::json(json!({ "data": data }).to_string())
}

async fn blocking<T: Send + 'static>(
    call: &Call<'_>,
    job: impl FnOnce(&App) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let app = call.app.clone();
    tokio::task::spawn_blocking(move || job(&app))
        .await
        .map_err(ApiError::internal)?
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(error) => error.into(),
            Error::NoAlert => ApiError::NotFound("alert"),
            Error::Refused(fault) => fault.into(),
            Error::TooMany { .. } | Error::TooManyKept { .. } | Error::TooLong => {
                Fault::new("alerts", error.to_string()).into()
            }
        }
    }
}

impl From<replay::Error> for ApiError {
    fn from(error: replay::Error) -> Self {
        match error {
            replay::Error::Store(error) => error.into(),
            replay::Error::NoAlert => ApiError::NotFound("alert"),
            replay::Error::Inactive => Fault::new("alertId", error.to_string()).into(),
            replay::Error::StillWaits | replay::Error::TooMany => {
                ApiError::StillWaiting(error.to_string())
            }
        }
    }
}
