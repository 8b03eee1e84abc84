//! Listings by the address of their page, checks of them, reports about them.

use serde_json::{Value, json};
use tokio::time::Instant;
use warp::http::StatusCode;

use super::App;
use super::answer::Answer;
use super::error::ApiError;
use super::listings::{on_store, one, path_id};
use super::opendata::read_json;
use super::pipeline::Call;
use toise_collect::reports::{self, NewReport};
use toise_collect::request::{URL_PARAMETER, parse_report, parse_url};
use toise_collect::{self as collect, RETRY_AFTER_S};
use toise_contract::Fault;
use toise_contract::enums::EnumAdvertReportReason as Reason;
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::Listing;
use toise_contract::query::pairs;
use toise_listings::Listings;
use toise_listings::adverts::identity::{ListingUrl, URL_RULE};

/// Adverts of a property that one call has looked at again.
pub const CHECKED_MAX: usize = 10;

/// `GET /portals`: hosts of the portals there are rules for.
pub fn portals(app: &App) -> Answer {
    let names: Vec<&str> = app
        .collector
        .portals()
        .all()
        .iter()
        .map(|portal| portal.name.as_str())
        .collect();
    Answer::json(json!({"data": names}).to_string())
}

/// `GET /v2/protected/{adverts,properties}/url`: the listing of a page, known or collected now.
pub async fn by_url(call: &Call<'_>, listing: Listing) -> Result<Answer, ApiError> {
    let url = parse_url(&pairs(call.query)?)?;
    if ListingUrl::parse(&url).is_none() {
        return Err(Fault::new(URL_PARAMETER, URL_RULE).into());
    }
    let account = call.key()?.account_id;
    let app = call.app;
    let deadline = Instant::from_std(call.received) + app.collector.wait();
    let stopping = || !app.readiness.is_ready();
    let advert = match app
        .collector
        .collect(account, &url, deadline, stopping)
        .await?
    {
        collect::Answer::Known(advert) => advert,
        collect::Answer::Pending => {
            let data = json!({"status": "pending", "retry_after_s": RETRY_AFTER_S});
            return Ok(unpaid(StatusCode::ACCEPTED, data));
        }
        collect::Answer::Rejected(reason) => {
            let data = json!({"status": "rejected", "reason": reason});
            return Ok(unpaid(StatusCode::UNPROCESSABLE_ENTITY, data));
        }
        collect::Answer::Full => return Err(ApiError::Overloaded),
    };
    on_store(call, move |listings| match listing {
        Listing::Advert => one(listings.advert(advert)?, "advert"),
        Listing::Property => one(listings.property_of_advert(advert)?, "advert"),
    })
    .await
}

fn unpaid(status: StatusCode, data: Value) -> Answer {
    let mut answer = Answer::json(json!({"data": data}).to_string()).uncounted();
    *answer.response.status_mut() = status;
    answer
}

/// `POST …/{flxId}/check`: has the pages of a listing looked at again. What they say now arrives as any change does.
pub async fn check(call: &Call<'_>, listing: Listing) -> Result<Answer, ApiError> {
    let id = path_id(call, name(listing))?;
    let (account, collector) = (call.key()?.account_id, call.app.collector.clone());
    on_store(call, move |listings| {
        let addresses = addresses(listings, listing, id, Which::Online)?;
        let scheduled = collector
            .check(account, &addresses)?
            .ok_or(ApiError::Overloaded)?;
        let result = if scheduled > 0 {
            "check_scheduled"
        } else {
            "nothing_to_check"
        };
        Ok(Answer::json(
            json!({"data": {"result": result, "adverts": scheduled}}).to_string(),
        ))
    })
    .await
}

/// `POST …/{flxId}/report`: keeps what an account says is wrong, and has the pages looked at where they can tell.
pub async fn report(call: &Call<'_>, listing: Listing) -> Result<Answer, ApiError> {
    let id = path_id(call, name(listing))?;
    let account = call.key()?.account_id;
    let app = call.app.clone();
    let body = call.body.clone();
    on_store(call, move |listings| {
        let request = parse_report(&read_json(&body)?)?;
        let which = match request.reason {
            Reason::StillOnline => Which::Every,
            _ => Which::Online,
        };
        let addresses = addresses(listings, listing, id, which)?;
        let report = NewReport {
            account,
            listing,
            item: id,
            reason: request.reason,
            comment: request.comment,
            at_ms: app.clock.now().timestamp_millis(),
        };
        let report_id = reports::keep(&app.store, report)
            .map_err(ApiError::internal)?
            .ok_or(ApiError::Overloaded)?;
        if !matches!(request.reason, Reason::Duplicate | Reason::Other) {
            // Where too many wait already the report stands all the same.
            app.collector.check(account, &addresses)?;
        }
        Ok(Answer::json(
            json!({"data": {"report_id": report_id, "reason": request.reason}}).to_string(),
        ))
    })
    .await
}

fn name(listing: Listing) -> &'static str {
    match listing {
        Listing::Advert => "advert",
        Listing::Property => "property",
    }
}

/// Which adverts of a property are looked at.
#[derive(Clone, Copy, PartialEq)]
enum Which {
    Online,
    Every,
}

/// Addresses of an advert's page, or of a property's adverts: of those on line the ones seen longest ago, so that
/// repeated checks come to all of them; else the ones seen last.
fn addresses(
    listings: &Listings,
    listing: Listing,
    id: FlxId,
    which: Which,
) -> Result<Vec<String>, ApiError> {
    let record = match listing {
        Listing::Advert => listings.advert(id)?,
        Listing::Property => listings.property(id)?,
    };
    let record = record.ok_or(ApiError::NotFound(name(listing)))?;
    let record: Value = serde_json::from_slice(&record).map_err(ApiError::internal)?;
    let address = |advert: &Value| advert["url"].as_str().map(str::to_owned);
    if listing == Listing::Advert {
        return Ok(address(&record).into_iter().collect());
    }
    let mut adverts: Vec<&Value> = record["adverts"].as_array().into_iter().flatten().collect();
    adverts.retain(|advert| which == Which::Every || advert["isOnline"] == true);
    adverts.sort_by_key(|advert| advert["lastSeenAt"].as_str());
    if which == Which::Every {
        adverts.reverse();
    }
    Ok(adverts
        .into_iter()
        .take(CHECKED_MAX)
        .filter_map(address)
        .collect())
}

impl From<collect::Error> for ApiError {
    fn from(error: collect::Error) -> Self {
        ApiError::internal(error)
    }
}
