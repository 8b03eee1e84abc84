//! Portfolios: homes that an account stores under a name, and that are valued again after each new model or import.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;

use super::geocoding_files::file_permit;
use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, BodyRule, Endpoint, Time, endpoints};
use crate::input::upload::UploadPieces;
use crate::openapi::{Failure, Operation, enveloped};
use toise_accounts::scopes::Scope;
use toise_contract::Fault;
use toise_contract::cursor::query_digest;
use toise_contract::dates::DateOrInstant;
use toise_contract::fields::schema::{
    count, instant, number, parameters, record, record_about, text,
};
use toise_contract::fields::{DefaultValue, Field, FieldKind, read_query};
use toise_contract::filter::{Clause, ClauseTest};
use toise_contract::position::CursorPosition;
use toise_contract::query::pairs;
use toise_engine::pool::Load;
use toise_portfolios::page::{PageRequest, PortfolioPage, SIZE_DEFAULT, SIZE_MAX};
use toise_portfolios::{
    FILE_BYTES_MAX, HOMES_MAX, MOVED_PERCENT, MOVED_PERCENT_DEFAULT, NEW_COMPARABLES_MAX,
    PORTFOLIOS_MAX, Portfolio, PortfolioOptions, StoredPortfolio, ValuedHome,
};
use toise_service::error::ApiError;

/// Path of one portfolio.
const ONE: &str = "/v2/protected/portfolios/{name}";
/// Name of the query parameter with the receiver of changes.
const WEBHOOK_URL: &str = "webhookUrl";
/// Maximum characters of a URL.
const URL_CHARS_MAX: usize = 2_000;
/// Maximum attempts to read a page: one fails if a valuation has just replaced the files of the portfolio.
const READS_MAX: usize = 3;

/// The query of a portfolio that is stored.
static OPTIONS: [Field; 2] = [
    Field::optional(
        WEBHOOK_URL,
        FieldKind::Words(URL_CHARS_MAX),
        "HTTPS address to which changes are posted, signed like the deliveries of alerts",
    ),
    Field::optional(
        "movedPercent",
        FieldKind::Between(MOVED_PERCENT.0, MOVED_PERCENT.1),
        "Change of a value, or of an end of its interval, that counts, in percent of what was reported last; 5 by default",
    ),
];

/// The query of a portfolio that is read.
static PAGE: [Field; 3] = [
    Field::optional(
        "changesSince",
        FieldKind::Moment,
        "Only homes that changed on this day or later, and the totals of their changes",
    ),
    Field::optional(
        "size",
        FieldKind::Integer(0, SIZE_MAX as i64),
        "Maximum number of homes; 0 for the totals alone",
    )
    .or(DefaultValue::Integer(SIZE_DEFAULT as i64)),
    Field::optional(
        "cursor",
        FieldKind::Text,
        "Cursor from a previous answer for the same portfolio and changes; the size may differ",
    ),
];

/// The endpoints of portfolios.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v2/protected/portfolios", Access::scoped(Scope::Ai, "portfolios.list"), ReadsOnWriter, list(call)
        .with_operation(list_operation);
    GET ONE, Access::scoped(Scope::Ai, "portfolios.get"), ReadsOnWriter, get(call).with_operation(get_operation);
    PUT ONE, Access::scoped(Scope::Ai, "portfolios.put"), Writes, put(call)
        .with_body(BodyRule::Upload {
            bytes_max: FILE_BYTES_MAX,
        })
        .with_time(Time::Upload)
        .with_operation(put_operation);
    DELETE ONE, Access::scoped(Scope::Ai, "portfolios.delete"), Writes, delete(call).with_operation(delete_operation);
};

fn list_operation() -> Operation {
    Operation::new("portfoliosList", "Portfolios of the account, by name").with_response(enveloped(json!({
        "type": "array", "items": about_schema(), "description": "The portfolios, without their homes",
    })))
}

fn get_operation() -> Operation {
    let mut schema = about_schema();
    let properties = schema["properties"].as_object_mut();
    properties
        .into_iter()
        .for_each(|properties| properties.extend(page_properties()));
    let required = [
        "name", "home_count", "status", "moved_percent", "created_at", "updated_at", "homes",
        "hasMore",
    ];
    schema["required"] = json!(required);
    Operation::new("portfoliosGet", "A portfolio: totals, changes and homes")
        .with_description(
            "Homes come in the order of the file, with their latest value, the diagnostic and the sale that they were \
             matched to, and what last changed. Until the first valuation, `status` is `waiting` and there are no homes",
        )
        .with_query(parameters(&PAGE))
        .with_response(enveloped(schema))
}

fn put_operation() -> Operation {
    let mut schema = about_schema();
    schema["properties"]["faulty"] =
        count("Number of rows that cannot be valued as they were sent");
    schema["properties"]["faults"] = json!({
        "type": "array",
        "description": "The first 100 of them",
        "items": record(json!({
            "row": {"type": "integer", "minimum": 1, "description": "Number of the row"},
            "key": text("Key of the home"),
            "message": text("The field and what is wrong with it"),
        })),
    });
    schema["properties"]["warnings"] = json!({
        "type": "array",
        "description": "Warnings about columns that were not read",
        "items": {"type": "string"},
    });
    Operation::new("portfoliosPut", "Store a portfolio of homes under a name")
        .with_description(format!(
            "The body is a file: CSV, a JSON array, NDJSON or Parquet, also packed. Each row has a unique key in the \
             column `key` or `id`, and the columns of a bulk estimate: `type`, `surface_m2`, and `longitude` and \
             `latitude` or `address`, `postcode` and `city`. A portfolio with the same name is replaced, with its \
             history. Each home is valued in the background, and again after each new model; it is matched again after \
             each import of sales or diagnostics. A valued home costs as much as an estimate, once per model. \
             `{WEBHOOK_URL}` receives `{{\"data\": {{\"created\": [], \"updated\": [{{\"alert_id\", \"context\": \
             {{\"portfolio\"}}, \"homes\": […]}}]}}}}` with the homes that changed, as they are in the answer of GET. \
             A change is a value, or an end of its interval, that moved by more than `movedPercent` (by default \
             {MOVED_PERCENT_DEFAULT}), another diagnostic, or a comparable near the home that was sold after the last \
             sale known to the former model; an import may add it before the next model. \
             A portfolio may have at most {HOMES_MAX} homes, and an account {PORTFOLIOS_MAX} portfolios"
        ))
        .with_query(parameters(&OPTIONS))
        .with_request_of_type("text/csv", json!({"type": "string", "format": "binary"}))
        .with_response(enveloped(schema))
        .failing(Failure::Refused)
}

fn delete_operation() -> Operation {
    Operation::new("portfoliosDelete", "Delete a portfolio")
        .with_response(enveloped(record(json!({"name": name_schema()}))))
}

fn name_schema() -> Value {
    text("Name of the portfolio")
}

fn about_schema() -> Value {
    record(json!({
        "name": name_schema(),
        "home_count": {"type": "integer", "minimum": 1, "description": "Number of homes"},
        "status": {"type": "string", "enum": ["waiting", "valued"], "description": "Whether it has been valued"},
        "history_lost?": {"type": "boolean", "description": "True if a file of values was damaged: the homes are valued \
            again, and what changed until then is lost"},
        "homes_lost?": {"type": "boolean", "description": "True if the stored homes were damaged: they keep their values, \
            and are not valued again until homes are stored under the name again"},
        "webhook_url?": text("Address to which changes are posted"),
        "moved_percent": number("Change of a value that counts, in percent"),
        "model?": text("Version of the model that valued it"),
        "created_at": instant("When the name was first stored"),
        "updated_at": instant("When the homes were stored"),
        "valued_at?": instant("When they were last valued or matched"),
    }))
}

fn page_properties() -> Map<String, Value> {
    let sum = |about: &str| json!({"type": "integer", "description": about});
    let totals = record_about(
        "Sums over all homes, EUR",
        json!({
            "valued": sum("Homes with a value"),
            "errors": sum("Homes that cannot be valued"),
            "value": sum("Sum of the values"),
            "lower": sum("Sum of the lower ends of the intervals; the interval of the sum is narrower"),
            "upper": sum("Sum of the upper ends of the intervals"),
        }),
    );
    let changes = record_about(
        "Sums over the homes that changed since `changesSince`, EUR",
        json!({
            "homes": sum("Homes that changed"),
            "values": sum("Homes whose value changed"),
            "value_before": sum("Sum of their values before their last change"),
            "value": sum("Sum of their values"),
        }),
    );
    let page = json!({
        "totals": totals,
        "changes": changes,
        "homes": {"type": "array", "items": home_schema(), "description": "The homes, in the order of the file"},
        "hasMore": {"type": "boolean", "description": "Whether there are more homes"},
        "cursor": text("Where the next page begins"),
    });
    page.as_object().cloned().unwrap_or_default()
}

fn home_schema() -> Value {
    let whole = |about: &str| json!({"type": "integer", "description": about});
    let day = |about: &str| json!({"type": "string", "format": "date", "description": about});
    record(json!({
        "key": text("Key of the home"),
        "latitude?": number("Latitude, degrees (WGS 84)"),
        "longitude?": number("Longitude, degrees (WGS 84)"),
        "address_label?": text("The address as it was understood"),
        "address_precision?": text("ADDRESS, STREET or TOWN"),
        "price?": whole("Value, EUR"),
        "lower?": whole("Lower end of its interval, EUR"),
        "upper?": whole("Upper end of its interval, EUR"),
        "confidence?": text("HIGH, MEDIUM or LOW"),
        "warning?": text("Why the value is less certain than usual"),
        "error?": text("Why the home cannot be valued"),
        "previous_price?": whole("Value before its last change, EUR"),
        "previous_lower?": whole("Lower end before its last change, EUR"),
        "previous_upper?": whole("Upper end before its last change, EUR"),
        "dpe_id?": text("Number of its energy diagnostic"),
        "dpe_class?": text("Energy class of the diagnostic"),
        "dpe_date?": day("Day of the diagnostic"),
        "previous_dpe_id?": text("Number of the diagnostic before its last change"),
        "previous_dpe_class?": text("Energy class before its last change"),
        "sale_id?": text("Identifier of its recorded sale"),
        "sale_date?": day("Day of the sale"),
        "sale_price?": whole("Price of the sale, EUR"),
        "comparable_id?": text("Identifier of the latest of its five comparables, or of a later sale that is equally near"),
        "comparable_date?": day("Day on which it was sold"),
        "comparable_price?": whole("Its price, EUR"),
        "comparable_distance_m?": whole("Its distance, metres"),
        "value_changed_at?": instant("When the value last changed"),
        "changed_at?": instant("When the home last changed"),
        "changes?": {
            "type": "array",
            "items": {"type": "string", "enum": ["value", "diagnostic", "comparable"]},
            "description": "What changed then",
        },
        "new_comparable_count?": whole("Number of comparables that the last change reported as new"),
        "new_comparables?": {
            "type": "array",
            "description": format!("The latest {NEW_COMPARABLES_MAX} of them, the latest first"),
            "items": record(json!({
                "id": text("Identifier of the sale"),
                "date": day("Day on which it was sold"),
                "price": whole("Its price, EUR"),
                "distance_m": whole("Its distance, metres"),
            })),
        },
    }))
}

async fn list(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let account = call.key()?.account_id;
    let found = call
        .blocking(move |app| Ok(app.data.portfolios.list(account)?))
        .await?;
    Ok(ApiResponse::data(
        found.iter().map(Portfolio::to_json).collect(),
    ))
}

async fn get(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let (account, name) = (call.key()?.account_id, call.param(0).to_owned());
    let query = pairs(call.query)?;
    let mut values = read_query(&query, &PAGE)?;
    let since = values
        .take::<DateOrInstant>("changesSince")
        .map(DateOrInstant::first_millisecond);
    let size = values.take("size").unwrap_or(SIZE_DEFAULT);
    let cursor = values.take::<String>("cursor");
    let cursors = call.cursors()?;
    call.on_pool(Load::Single, move |app, _, _| {
        for _ in 0..READS_MAX {
            let portfolio = app.data.portfolios.get(account, &name)?;
            let asked = vec![format!("{} {since:?}", portfolio.id)];
            let digest = query_digest(
                "portfolios",
                &vec![Clause::new("id", ClauseTest::OneOf(asked))],
                "row",
                false,
            );
            let first = match &cursor {
                None => 0,
                Some(cursor) => {
                    let position = cursors.decode(cursor, &digest);
                    let position =
                        position.map_err(|fault| Fault::new("cursor", fault.to_string()))?;
                    position.id.parse().unwrap_or_default()
                }
            };
            let request = PageRequest {
                changed_since_ms: since,
                first,
                size,
            };
            if let Some(page) = app.data.portfolios.page(&portfolio, request)? {
                let next = page.next.map(|row| {
                    let position = CursorPosition {
                        value: None,
                        id: row.to_string(),
                        state: None,
                    };
                    cursors.encode(&position, &digest)
                });
                return Ok(json!({"data": page_json(&portfolio, &page, next)})
                    .to_string()
                    .into());
            }
        }
        Err(ApiError::Overloaded)
    })
    .await
}

/// Receives the file, and stores it once it is complete.
async fn put(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let (account, name) = (call.key()?.account_id, call.param(0).to_owned());
    let query = pairs(call.query)?;
    let mut values = read_query(&query, &OPTIONS)?;
    // A text that is not a number is refused, and the fault states the bounds.
    let moved = values
        .take::<&str>("movedPercent")
        .map(|text| text.parse().unwrap_or(f64::NAN));
    let options = PortfolioOptions {
        webhook_url: values.take(WEBHOOK_URL),
        moved_percent: moved.unwrap_or(MOVED_PERCENT_DEFAULT),
    };
    options.check()?;
    if let Some(url) = &options.webhook_url {
        let refused = call
            .app
            .data
            .receivers
            .refused(HashSet::from([url.clone()]))
            .await;
        if let Some(refused) = refused.into_values().next() {
            return Err(Fault::new(WEBHOOK_URL, refused.to_string()).into());
        }
    }
    let permit = file_permit(call)?;
    let draft = call
        .blocking(|app| Ok(app.data.portfolios.draft()?))
        .await?;
    let mut file =
        tokio::fs::File::from_std(draft.as_file().try_clone().map_err(ApiError::internal)?);
    let mut upload = call.upload.lock().await;
    let mut pieces = UploadPieces::new(&mut upload, FILE_BYTES_MAX);
    while let Some(piece) = pieces.next().await? {
        file.write_all(&piece).await.map_err(ApiError::internal)?;
    }
    file.flush().await.map_err(ApiError::internal)?;
    let stored = call
        .blocking(move |app| {
            let stored = app
                .data
                .portfolios
                .put(account, &name, draft.path(), options);
            drop(permit);
            Ok(stored?)
        })
        .await?;
    Ok(ApiResponse::data(stored_json(&stored)))
}

async fn delete(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let (account, name) = (call.key()?.account_id, call.param(0).to_owned());
    let deleted = name.clone();
    call.blocking(move |app| Ok(app.data.portfolios.delete(account, &name)?))
        .await?;
    Ok(ApiResponse::data(json!({"name": deleted})))
}

fn stored_json(stored: &StoredPortfolio) -> Value {
    let mut data = stored.portfolio.to_json();
    let faults = stored.faults.iter();
    let faults =
        faults.map(|fault| json!({"row": fault.row, "key": fault.key, "message": fault.message}));
    data["faulty"] = json!(stored.faulty);
    data["faults"] = faults.collect();
    data["warnings"] = json!(stored.warnings);
    data
}

fn page_json(portfolio: &Portfolio, page: &PortfolioPage, next: Option<String>) -> Value {
    let mut data = portfolio.to_json();
    if let Some(totals) = page.totals {
        data["totals"] = json!(totals);
    }
    if let Some(changes) = page.changes {
        data["changes"] = json!(changes);
    }
    data["homes"] = page.homes.iter().map(ValuedHome::to_json).collect();
    data["hasMore"] = json!(next.is_some());
    if let Some(cursor) = next {
        data["cursor"] = json!(cursor);
    }
    data
}
