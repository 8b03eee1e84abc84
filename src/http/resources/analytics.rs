//! Statistics of the properties that match a search.

use futures::FutureExt;
use serde_json::{Value, json};
use warp::http::Method;

use crate::call::{Call, read_json};
use crate::endpoint::{Access, Counting, Endpoint, JSON_BODY, Time};
use crate::error::ApiError;
use crate::openapi::{Operation, enveloped, reference};
use crate::response::ApiResponse;
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_contract::enums::{EnumStudiedData, WireEnum};
use toise_contract::listings::filters::parse_analytics;
use toise_engine::pool::Load;
use toise_listings::search::analytics::BARS_MAX;

/// The analytics endpoint.
pub const ENDPOINTS: &[Endpoint] = &[Endpoint {
    method: Method::POST,
    path: "/v2/protected/analytics/property/search",
    access: Access::scoped(Scope::Analytics, "analytics.property.search"),
    counting: Counting::As(Consumption::Analytics),
    body: JSON_BODY,
    time: Time::Request,
    handler: |call| analytics(call).boxed(),
    operation: Some(|| {
        Operation::new(
            "analyticsPropertySearch",
            "Figures over the properties a search finds",
        )
        .with_request(reference("PropertyAnalyticsPayload"))
        .with_answer(enveloped(figures()))
    }),
}];

async fn analytics(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    call.on_pool(Load::Single, move |app, body, interrupt| {
        let request = parse_analytics(&read_json(body)?)?;
        let figures = app.properties.analyse(&request, interrupt)?;
        Ok(json!({ "data": figures }).to_string().into())
    })
    .await
}

/// Schema of the statistics.
fn figures() -> Value {
    let number = |about: &str| json!({"type": "number", "description": about});
    let count = |about: &str| json!({"type": "integer", "minimum": 0, "description": about});
    json!({
        "type": "object",
        "required": ["count", "studiedData", "valued", "histogram"],
        "properties": {
            "count": count("Properties that match"),
            "studiedData": {"type": "string", "enum": EnumStudiedData::TABLE.values,
                "description": "What is studied: EUR, EUR/m2, m2 or days from the first sighting until it went offline"},
            "valued": count("Those of them that have a value; the figures are over these"),
            "min": number("Least value"),
            "max": number("Greatest value"),
            "mean": number("Arithmetic mean"),
            "quartiles": {"type": "array", "minItems": 3, "maxItems": 3, "items": {"type": "number"},
                "description": "Values below which 25, 50 and 75 % lie, interpolated"},
            "deviation": number("Standard deviation"),
            "histogram": {
                "type": "array",
                "maxItems": BARS_MAX,
                "items": {
                    "type": "object",
                    "required": ["from", "to", "count"],
                    "properties": {
                        "from": number("Where the bar starts, included"),
                        "to": number("Where it ends: excluded, but by the last bar"),
                        "count": count("Values in it"),
                    },
                },
                "description": "Bars of equal width; the first and the last reach to the extremes",
            },
        },
    })
}
