//! Statistics of the properties that match a search, and market indicators.

use serde_json::{Value, json};

use crate::endpoint::call::{Call, read_json};
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Endpoint, JSON_BODY, endpoints};
use crate::input::layers;
use crate::openapi::{Operation, enveloped, reference};
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_contract::enums::{EnumStudiedData, WireEnum};
use toise_contract::fields::schema::{Components, count, number, object, record};
use toise_contract::listings::filters::parse_analytics;
use toise_engine::pool::Load;
use toise_listings::search::analytics::BARS_MAX;
use toise_market::quantiles::SAMPLE_MIN;
use toise_market::report::row_schema;
use toise_market::request::BODY;
use toise_market::{CELL_ROWS_MAX, ROWS_MAX, parse_market};
use toise_service::error::ApiError;

/// The analytics endpoints.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    POST "/v2/protected/analytics/property/search",
        Access::scoped(Scope::Analytics, "analytics.property.search"), Reads, analytics(call)
        .counted_as(Consumption::Analytics).with_body(JSON_BODY).with_operation(search_operation);
    POST "/v2/protected/analytics/market", Access::scoped(Scope::Analytics, "analytics.market"), Reads, market(call)
        .counted_as(Consumption::Analytics).with_body(JSON_BODY).with_operation(market_operation);
};

fn search_operation() -> Operation {
    Operation::new(
        "analyticsPropertySearch",
        "Statistics on the properties that match a search",
    )
    .with_request(reference("PropertyAnalyticsPayload"))
    .with_response(enveloped(figures()))
}

async fn analytics(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    call.on_pool(Load::Single, move |app, body, interrupt| {
        let mut request = parse_analytics(&read_json(body)?)?;
        layers::resolve(app, &mut request.search.filter)?;
        let figures = app.data.properties.analyse(&request, interrupt)?;
        Ok(json!({ "data": figures }).to_string().into())
    })
    .await
}

fn market_operation() -> Operation {
    Operation::new("analyticsMarket", "Market indicators by place, class and period")
        .with_description(format!(
            "Recorded sales, the estimator's price index, and asking prices and rents of properties. There is one \
             row for each place, class and period with a sale or a property. A figure based on fewer than \
             {SAMPLE_MIN} sales or properties is null. At most {ROWS_MAX} rows. Cells need a location, and have at most \
             {CELL_ROWS_MAX} rows"
        ))
        .with_request(object(&BODY, &mut Components::new()))
        .with_response(record(json!({
            "data": {"type": "array", "items": row_schema(), "description": "One row for each place, class and \
                period"},
            "meta": record(json!({
                "rows": {"type": "integer", "description": "Number of rows"},
                "sample_min": {"type": "integer", "description": "Minimum number of sales or properties \
                    behind a figure"},
                "notes": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Why a column has no values",
                },
            })),
        })))
}

async fn market(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    call.on_pool(Load::Batch, move |app, body, interrupt| {
        let mut request = parse_market(&read_json(body)?)?;
        if let Some(test) = &mut request.layer {
            layers::resolve_test(app, test)?;
        }
        let report = app.data.market.answer(&request, interrupt);
        let text = report.and_then(|report| Ok(report.json()?));
        text.map_err(|error| match error {
            toise_market::Error::Invalid(fault) => ApiError::Invalid(fault),
            error => ApiError::internal(error),
        })
    })
    .await
}

/// Returns the schema of the statistics.
fn figures() -> Value {
    record(json!({
        "count": count("Properties that match"),
        "studiedData": {"type": "string", "enum": EnumStudiedData::TABLE.values,
            "description": "The values studied, in EUR, EUR/m2, m2, or days from the first sighting until the \
                            property went offline"},
        "valued": count("Properties among them that have a value; the statistics cover only these"),
        "min?": number("Lowest value"),
        "max?": number("Highest value"),
        "mean?": number("Arithmetic mean"),
        "quartiles?": {"type": "array", "minItems": 3, "maxItems": 3, "items": {"type": "number"},
            "description": "Values below which 25, 50 and 75 % of the values lie, interpolated"},
        "deviation?": number("Standard deviation"),
        "histogram": {
            "type": "array",
            "maxItems": BARS_MAX,
            "items": record(json!({
                "from": number("Lower bound of the bar, included"),
                "to": number("Upper bound of the bar, excluded except in the last bar"),
                "count": count("Number of values in the bar"),
            })),
            "description": "Bars of equal width, except that the first and the last extend to the lowest and the \
                            highest value",
        },
    }))
}
