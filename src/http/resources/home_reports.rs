//! The report of one home, as JSON, web page or PDF, and the letterhead that an account puts on it.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use warp::http::header::CONTENT_DISPOSITION;

use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, BodyRule, Endpoint, endpoints};
use crate::files::HTML_POLICY;
use crate::openapi::{Failure, Operation, enveloped, reference};
use toise_accounts::letterheads::{self, StoredLetterhead};
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_contract::Fault;
use toise_contract::fields::schema::{Components, object, parameters, record, text};
use toise_contract::fields::{Field, FieldKind, read};
use toise_contract::query::pairs;
use toise_contract::walk::JsonPath;
use toise_engine::pool::Load;
use toise_report::letterhead::{LOGO_BYTES_MAX, Logo, TEXT_CHARS_MAX};
use toise_report::{
    Format, HomeReport, HomeReportRequest, Letterhead, content, html, parse_home_report, pdf,
};
use toise_service::App;
use toise_service::error::ApiError;

/// Path of the letterhead of the account.
const LETTERHEAD: &str = "/v2/protected/reports/letterhead";
/// Name of the letterhead in errors.
const WHAT: &str = "letterhead";
/// Maximum bytes of a letterhead: a logo in base64, and the text.
const LETTERHEAD_BYTES_MAX: usize = LOGO_BYTES_MAX * 4 / 3 + 4 * 1024;

static BODY: [Field; 2] = [
    Field::optional(
        "text",
        FieldKind::TextUpTo(TEXT_CHARS_MAX),
        "Text at the top, such as name, address and telephone number; up to four lines",
    ),
    Field::optional(
        "logo",
        FieldKind::TextUpTo(LOGO_BYTES_MAX * 4 / 3 + 4),
        "Logo: a PNG or JPEG file of at most 256 KiB, in base64",
    ),
];

/// The endpoints of reports.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v2/protected/reports/home", Access::scoped(Scope::Ai, "reports.home"), Reads, home(call)
        .counted_as(Consumption::ReportsHome).with_operation(home_operation);
    GET LETTERHEAD, Access::scoped(Scope::Ai, "reports.letterhead.get"), Reads, get(call)
        .with_operation(|| {
            Operation::new("letterheadGet", "The letterhead of the account")
                .with_response(letterhead_schema())
        });
    PUT LETTERHEAD, Access::scoped(Scope::Ai, "reports.letterhead.put"), Writes, put(call)
        .with_body(BodyRule::Json {
            bytes_max: LETTERHEAD_BYTES_MAX,
        })
        .with_operation(|| {
            Operation::new("letterheadPut", "Store the letterhead of the account")
                .with_description("The logo and the text are at the top of the account's reports")
                .with_request(object(&BODY, &mut Components::new()))
                .with_response(letterhead_schema())
        });
    DELETE LETTERHEAD, Access::scoped(Scope::Ai, "reports.letterhead.delete"), Writes, delete(call)
        .with_operation(|| {
            Operation::new("letterheadDelete", "Delete the letterhead of the account")
                .with_response(letterhead_schema())
                .failing(Failure::NoRecord)
        });
};

fn home_operation() -> Operation {
    Operation::new("reportsHome", "The report of a home")
        .with_description(
            "The value of a home with its interval and parts, the most similar recorded sales, median prices of its \
             commune and department over time, the energy diagnostics of its building, the sales of its parcels, the \
             market of its commune, layers around it, and the sources of all that. `format=html` returns a web page \
             and `format=pdf` two pages of A4, both in the language of `lang` and with the letterhead of the account. \
             Diagnostics and parcels are found by address, so the request needs an address or a position within 50 m \
             of one",
        )
        .with_query(parameters(toise_report::parameters()))
        .with_response(enveloped(reference("HomeReport")))
        .with_alternative("text/html", json!({"type": "string"}))
        .with_alternative("application/pdf", json!({"type": "string", "format": "binary"}))
        .failing(Failure::NoModel)
}

fn letterhead_schema() -> Value {
    enveloped(record(json!({
        "text": text("Text; empty for none"),
        "logo": {"type": ["string", "null"], "description": "Logo as a data URL; null for none"},
    })))
}

/// `GET /v2/protected/reports/home`: the report of a home.
async fn home(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let account = call.key()?.account_id;
    let parameters = pairs(call.query)?;
    let letterhead = call
        .blocking(move |app| Ok(letterheads::find(&app.store, account)?))
        .await?;
    let today = call.app.clock.now().date_naive();
    call.compute(Load::Batch, move |app, interrupt| {
        let geocoder = app.data.geocoding.geocoder();
        let request = parse_home_report(&parameters, &geocoder, today)?;
        let report = app
            .data
            .reports
            .report(&request, &geocoder, today, interrupt)?;
        written(&request, &report, letterhead.unwrap_or_default())
    })
    .await
}

fn written(
    request: &HomeReportRequest,
    report: &HomeReport,
    letterhead: StoredLetterhead,
) -> Result<ApiResponse, ApiError> {
    if request.format == Format::Json {
        let data = serde_json::to_value(report).map_err(ApiError::internal)?;
        return Ok(ApiResponse::data(data));
    }
    let logo = letterhead.logo.map(Logo::read).transpose();
    let letterhead = Letterhead {
        text: letterhead.text,
        // Checked when it was stored.
        logo: logo.map_err(ApiError::internal)?,
    };
    let language = request.language;
    let document = content::write(report, language);
    let day = language.long_day(report.date);
    if request.format == Format::Html {
        let page = html::write(&document, &letterhead, &day);
        return Ok(
            ApiResponse::typed("text/html; charset=utf-8", Bytes::from(page))
                .with_header(warp::http::header::CONTENT_SECURITY_POLICY, HTML_POLICY),
        );
    }
    let bytes = pdf::write(&document, &letterhead, report.date, &day)?;
    let name = language.choose("rapport", "report");
    let disposition = format!("inline; filename=\"{name}-{}.pdf\"", report.date);
    Ok(ApiResponse::typed("application/pdf", Bytes::from(bytes))
        .with_header(CONTENT_DISPOSITION, &disposition))
}

async fn get(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let account = call.key()?.account_id;
    let found = call
        .blocking(move |app: &App| Ok(letterheads::find(&app.store, account)?))
        .await?;
    about(found.ok_or(ApiError::NotFound(WHAT))?)
}

async fn put(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let account = call.key()?.account_id;
    let letterhead = call.read_on_pool(|body| Ok(parse(&body)?)).await?;
    let stored = letterhead.clone();
    call.blocking(move |app| Ok(letterheads::put(&app.store, &app.clock, account, stored)?))
        .await?;
    about(letterhead)
}

async fn delete(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let account = call.key()?.account_id;
    let is_deleted = call
        .blocking(move |app| Ok(letterheads::delete(&app.store, account)?))
        .await?;
    if !is_deleted {
        return Err(ApiError::NotFound(WHAT));
    }
    about(StoredLetterhead::default())
}

fn parse(body: &Value) -> Result<StoredLetterhead, Fault> {
    let mut values = read(body, &BODY, JsonPath::Body)?;
    let text: Option<&str> = values.take("text");
    let logo: Option<&str> = values.take("logo");
    let logo = logo.map(|text| {
        let decoded = BASE64_STANDARD.decode(text.trim());
        let bytes = decoded.map_err(|_| Fault::new("logo", "must be base64"))?;
        let logo = Logo::checked(bytes).map_err(|reason| Fault::new("logo", reason))?;
        Ok::<_, Fault>(logo.bytes)
    });
    Ok(StoredLetterhead {
        text: text.unwrap_or_default().trim().to_owned(),
        logo: logo.transpose()?,
    })
}

fn about(letterhead: StoredLetterhead) -> Result<ApiResponse, ApiError> {
    let logo = letterhead.logo.map(Logo::read).transpose();
    let logo = logo.map_err(ApiError::internal)?;
    Ok(ApiResponse::data(json!({
        "text": letterhead.text,
        "logo": logo.map(|logo| logo.data_url()),
    })))
}
