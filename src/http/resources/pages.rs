//! Listings by the URL of their page, checks and reports.

use serde_json::{Value, json};
use tokio::time::Instant;
use warp::http::StatusCode;

use crate::endpoint::call::{Call, read_json};
use crate::endpoint::limits::CHECKED_MAX;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Endpoint, JSON_BODY, Time, endpoints};
use crate::openapi::admin::data_of;
use crate::openapi::{Operation, collect as schemas, enveloped, reference};
use toise_accounts::key::KeyKind;
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_collect::reports::{self, NewReport};
use toise_collect::request::{PAGE_URL, REPORT, URL_PARAMETER, parse_report, parse_url};
use toise_collect::{self as collect, Asker};
use toise_contract::Fault;
use toise_contract::enums::EnumAdvertReportReason as Reason;
use toise_contract::fields::schema::{Components, object, parameters};
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::ListingKind;
use toise_contract::query::pairs;
use toise_listings::Listings;
use toise_listings::adverts::identity::{ListingUrl, URL_RULE};
use toise_service::error::ApiError;

/// The endpoints for adverts, then for properties.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v2/protected/adverts/url",
        Access::scoped(Scope::Refetch, "adverts.url"), Writes, by_url(call, ListingKind::Advert)
        .counted_as(Consumption::AdvertsGetByUrl)
        .with_time(Time::Collection)
        .with_operation(|| by_url_operation("advertsGetByUrl", "The advert on a web page", "Advert"));
    POST "/v2/protected/adverts/{flxId}/check",
        Access::scoped(Scope::Refetch, "adverts.check"), Writes, check(call, ListingKind::Advert)
        .counted_as(Consumption::AdvertsCheck).with_operation(|| check_operation("advertsCheck", "an advert"));
    POST "/v2/protected/adverts/{flxId}/report",
        Access::scoped(Scope::Refetch, "adverts.report"), Writes, report(call, ListingKind::Advert)
        .with_body(JSON_BODY).with_operation(|| report_operation("advertsReport", "an advert"));
    GET "/v2/protected/properties/url",
        Access::scoped(Scope::Refetch, "properties.url"), Writes, by_url(call, ListingKind::Property)
        .counted_as(Consumption::PropertiesGetByUrl)
        .with_time(Time::Collection)
        .with_operation(|| {
            by_url_operation(
                "propertiesGetByUrl",
                "The property that the advert on a web page belongs to",
                "Property",
            )
        });
    POST "/v2/protected/properties/{flxId}/check",
        Access::scoped(Scope::Refetch, "properties.check"), Writes, check(call, ListingKind::Property)
        .counted_as(Consumption::PropertiesCheck).with_operation(|| check_operation("propertiesCheck", "a property"));
    POST "/v2/protected/properties/{flxId}/report",
        Access::scoped(Scope::Refetch, "properties.report"), Writes, report(call, ListingKind::Property)
        .with_body(JSON_BODY).with_operation(|| report_operation("propertiesReport", "a property"));
};

fn by_url_operation(id: &str, summary: &str, record: &str) -> Operation {
    Operation::new(id, summary)
        .with_description(
            "A listing that is known and fresh is returned immediately. Otherwise the page is fetched and read, which \
             may take 45 seconds, so set a longer timeout. 202 means that collection continues: ask again after \
             retry_after_s. If the portal cannot be reached, 202 is returned immediately and the service tries a few \
             more times. 422 means that the page is not a listing: do not ask again. Only 200 is charged. Two \
             simultaneous calls fetch the page twice and are charged twice, unless they carry the same \
             Idempotency-Key",
        )
        .with_query(parameters(&PAGE_URL))
        .with_response(data_of(record))
        .with_other_response("202", schemas::pending())
        .with_other_response("422", schemas::rejected(reference("Error")))
}

fn check_operation(id: &str, of: &str) -> Operation {
    Operation::new(id, format!("Check the pages of {of} again"))
        .with_description(format!(
            "The call answers immediately. What the pages say arrives later in records and alerts, like any other \
             change. For a property, its online adverts are checked: at most {CHECKED_MAX}, those seen longest ago. \
             `nothing_to_check` costs the same"
        ))
        .with_response(enveloped(schemas::check()))
}

fn report_operation(id: &str, of: &str) -> Operation {
    Operation::new(id, format!("Report a problem with {of}"))
        .with_description(
            "Free. The pages are checked again, except if the reason is DUPLICATE or OTHER: an operator reviews \
             these reports",
        )
        .with_request(object(&REPORT, &mut Components::new()))
        .with_response(enveloped(schemas::report()))
}

/// `GET /v2/protected/{adverts,properties}/url`: the listing of a page, from the store or collected now.
async fn by_url(call: &Call<'_>, listing: ListingKind) -> Result<ApiResponse, ApiError> {
    let url = parse_url(&pairs(call.query)?)?;
    if ListingUrl::parse(&url).is_none() {
        return Err(Fault::new(URL_PARAMETER, URL_RULE).into());
    }
    let asker = asker(call)?;
    let app = call.app;
    let deadline = Instant::from_std(call.received) + app.data.collector.wait();
    let stopping = || !app.readiness.is_ready();
    let advert = match app
        .data
        .collector
        .collect(asker, &url, deadline, stopping)
        .await?
    {
        collect::CollectOutcome::Known(advert) => advert,
        collect::CollectOutcome::Pending { retry_after_s } => {
            let data = json!({"status": "pending", "retry_after_s": retry_after_s});
            return Ok(ApiResponse::data(data).pending().free_of_charge());
        }
        collect::CollectOutcome::Rejected(reason) => {
            let data = json!({"status": "rejected", "reason": reason.as_str()});
            let rejected = ApiResponse::data(data).with_status(StatusCode::UNPROCESSABLE_ENTITY);
            return Ok(rejected.free_of_charge());
        }
        collect::CollectOutcome::Full => return Err(ApiError::Overloaded),
    };
    call.blocking(move |app| {
        let listings = app.data.properties.listings();
        let record = match listing {
            ListingKind::Advert => listings.advert(advert)?,
            ListingKind::Property => listings.property_of_advert(advert)?,
        };
        ApiResponse::record(record, "advert")
    })
    .await
}

/// Returns the account that makes a call, and whether its key is a test key.
fn asker(call: &Call<'_>) -> Result<Asker, ApiError> {
    let key = call.key()?;
    Ok(Asker {
        account: key.account_id,
        is_test: key.kind == KeyKind::Test,
    })
}

/// `POST …/{flxId}/check`: schedules a check of a listing's pages. The result arrives like any other change.
async fn check(call: &Call<'_>, listing: ListingKind) -> Result<ApiResponse, ApiError> {
    let id = call.flx_id(name(listing))?;
    let asker = asker(call)?;
    call.blocking(move |app| {
        let addresses = addresses(
            app.data.properties.listings(),
            listing,
            id,
            AdvertSelection::Online,
        )?;
        let scheduled = app
            .data
            .collector
            .check(asker, &addresses)?
            .ok_or(ApiError::Overloaded)?;
        let result = if scheduled > 0 {
            "check_scheduled"
        } else {
            "nothing_to_check"
        };
        Ok(ApiResponse::data(
            json!({"result": result, "adverts": scheduled}),
        ))
    })
    .await
}

/// `POST …/{flxId}/report`: stores an account's report and checks the pages if they can confirm it.
async fn report(call: &Call<'_>, listing: ListingKind) -> Result<ApiResponse, ApiError> {
    let id = call.flx_id(name(listing))?;
    let asker = asker(call)?;
    let (body, report_id) = (call.body.clone(), call.new_id());
    call.blocking(move |app| {
        let request = parse_report(&read_json(&body)?)?;
        let which = match request.reason {
            Reason::StillOnline => AdvertSelection::Every,
            _ => AdvertSelection::Online,
        };
        let addresses = addresses(app.data.properties.listings(), listing, id, which)?;
        let report = NewReport {
            id: report_id,
            account: asker.account,
            listing,
            item: id,
            reason: request.reason,
            comment: request.comment,
            at_ms: app.clock.now().timestamp_millis(),
        };
        let report_id = reports::insert(&app.store, report)?.ok_or(ApiError::Overloaded)?;
        if !matches!(request.reason, Reason::Duplicate | Reason::Other) {
            // The report is valid even if the queue is full.
            app.data.collector.check(asker, &addresses)?;
        }
        Ok(ApiResponse::data(
            json!({"report_id": report_id, "reason": request.reason}),
        ))
    })
    .await
}

fn name(listing: ListingKind) -> &'static str {
    match listing {
        ListingKind::Advert => "advert",
        ListingKind::Property => "property",
    }
}

/// The adverts of a property that are checked.
#[derive(Clone, Copy, PartialEq)]
enum AdvertSelection {
    Online,
    Every,
}

/// Returns the URLs of an advert's page or of a property's adverts. Of online adverts, those seen longest ago come
/// first, so that repeated checks reach all of them; with all adverts, those seen most recently come first.
fn addresses(
    listings: &Listings,
    listing: ListingKind,
    id: FlxId,
    which: AdvertSelection,
) -> Result<Vec<String>, ApiError> {
    let record = match listing {
        ListingKind::Advert => listings.advert(id)?,
        ListingKind::Property => listings.property(id)?,
    };
    let record = record.ok_or(ApiError::NotFound(name(listing)))?;
    let record: Value = serde_json::from_slice(&record).map_err(ApiError::internal)?;
    let address = |advert: &Value| advert["url"].as_str().map(str::to_owned);
    if listing == ListingKind::Advert {
        return Ok(address(&record).into_iter().collect());
    }
    let mut adverts: Vec<&Value> = record["adverts"].as_array().into_iter().flatten().collect();
    adverts.retain(|advert| which == AdvertSelection::Every || advert["isOnline"] == true);
    adverts.sort_by_key(|advert| advert["lastSeenAt"].as_str());
    if which == AdvertSelection::Every {
        adverts.reverse();
    }
    Ok(adverts
        .into_iter()
        .take(CHECKED_MAX)
        .filter_map(address)
        .collect())
}
