//! The two endpoints of the estimator: one home, and many.
//!
//! A key can run a few estimates at once; further calls wait in a short queue and are then rejected
//! ([`KeyMeter::acquire_estimate`]). Parsing the body, estimating and writing the response are one job on the query
//! pool. Each call uses one model, even if another replaces it in the meantime.
//!
//! [`KeyMeter::acquire_estimate`]: toise_accounts::meter::KeyMeter::acquire_estimate

use std::sync::Arc;

use bytes::Bytes;
use chrono::NaiveDate;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use serde_json::{Value, json};

use crate::endpoint::call::{Call, read_json};
use crate::endpoint::limits::COMPARABLES;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Endpoint, JSON_BODY, MANY_JSON_BODY, endpoints};
use crate::openapi::estimate;
use crate::openapi::{Failure, Operation, enveloped, reference};
use toise_accounts::meter::EstimatePermit;
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_contract::Fault;
use toise_engine::cancellation::Interrupt;
use toise_engine::pool::Load;
use toise_estimate::json::{comparables, contributions, euros};
use toise_estimate::request::{LocatedHome, parse_estimate, parse_estimate_many};
use toise_estimate::valuer::Valuer;
use toise_estimate::{Detail, Estimate, EstimateWarning, ModelMetadata, model};
use toise_service::App;
use toise_service::error::ApiError;
use toise_telemetry::Refusal;

const DETAIL: Detail = Detail {
    comparables: COMPARABLES,
    has_contributions: true,
};

/// Description of both endpoints.
const ABOUT: &str = "Today's value on the open market, in whole EUR, with an interval that contains the price of four \
                     sales in five. The estimate starts from the price level of recorded sales around the position and \
                     takes account of sales of similar homes. Features that recorded sales do not show (balcony, lift, \
                     condition, …) are added as bounded adjustments. If no sale is within reach, the estimate falls \
                     back to the department or the country, and says so. A home may be located by `location.address` \
                     instead of its coordinate; if only its town is known, its confidence is LOW. 503 if no model has \
                     been trained";

/// The estimate endpoints.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    POST "/v2/protected/estimate/property/lite",
        Access::scoped(Scope::Ai, "estimate.property.lite"), Reads, lite(call)
        .counted_as(Consumption::EstimatePropertyLite).with_body(JSON_BODY).with_operation(lite_operation);
    POST "/v2/protected/estimate/property/lite/_many",
        Access::scoped(Scope::Ai, "estimate.property.lite.many"), Reads, lite_many(call)
        .counted_as(Consumption::EstimatePropertyLite).with_body(MANY_JSON_BODY).with_operation(lite_many_operation);
};

fn lite_operation() -> Operation {
    Operation::new("estimatePropertyLite", "The value of a home")
        .with_description(ABOUT)
        .with_request(reference("EstimateRequest"))
        .with_response(enveloped(reference("Estimate")))
        .failing(Failure::NoModel)
}

fn lite_many_operation() -> Operation {
    Operation::new("estimatePropertyLiteMany", "The values of homes")
        .with_description(format!(
            "{ABOUT}. A home that cannot be valued gets an error in its place and costs nothing"
        ))
        .with_request(estimate::many_request())
        .with_response(enveloped(json!({
            "type": "array",
            "items": {"anyOf": [reference("Estimate"), reference("Error")]},
            "description": "One answer per item, in the order of the request",
        })))
        .failing(Failure::NoModel)
}

/// `POST /v2/protected/estimate/property/lite`: estimates the value of a home.
async fn lite(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let _permit = estimate_permit(call).await?;
    let today = call.app.clock.now().date_naive();
    call.on_pool(Load::Single, move |app, body, _| {
        let home = parse_estimate(&read_body(body)?, today)?;
        let home = home.locate(&app.data.geocoding.geocoder())?;
        let data = value(&*valuer(app)?, &home)?;
        Ok(json!({ "data": data }).to_string().into())
    })
    .await
}

/// `POST /v2/protected/estimate/property/lite/_many`: estimates the values of homes, in order. A fault of one home
/// affects only that home, and only estimates are charged.
async fn lite_many(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let _permit = estimate_permit(call).await?;
    let (body, today) = (call.body.clone(), call.app.clock.now().date_naive());
    let (bytes, estimates) = call
        .compute(Load::Batch, move |app, interrupt| {
            many(app, &body, today, interrupt)
        })
        .await?;
    Ok(ApiResponse::json(bytes).with_units(estimates))
}

fn many(
    app: &App,
    body: &[u8],
    today: NaiveDate,
    interrupt: &Interrupt,
) -> Result<(Bytes, u64), ApiError> {
    let homes = parse_estimate_many(&read_body(body)?, today)?;
    let valuer = valuer(app)?;
    let geocoder = app.data.geocoding.geocoder();
    let answers: Vec<Result<Value, ApiError>> = homes
        .into_par_iter()
        .enumerate()
        .map(|(index, home)| {
            interrupt.check().map_err(ApiError::internal)?;
            let home = home?;
            let located = home.locate(&geocoder).map_err(ApiError::from);
            let answer = located.and_then(|home| value(&valuer, &home));
            answer.map_err(|error| match error {
                ApiError::Invalid(fault) => {
                    ApiError::Invalid(fault.within(&format!("items[{index}]")))
                }
                ours => ours,
            })
        })
        .collect();
    let estimates = answers.iter().filter(|answer| answer.is_ok()).count();
    let mut data = Vec::with_capacity(answers.len());
    for answer in answers {
        data.push(match answer {
            Ok(estimate) => estimate,
            Err(ApiError::Invalid(fault)) => {
                let (_, code) = ApiError::Invalid(fault.clone()).status_and_code();
                json!({"error": {"message": fault.to_string(), "code": code}})
            }
            Err(ours) => return Err(ours),
        });
    }
    Ok((json!({ "data": data }).to_string().into(), estimates as u64))
}

/// Parses a body. `NaN` and `Infinity` are not JSON, but many clients send them for unknown values. They are read as
/// null, which means absent for an optional field and is an error with its path for a required one.
pub(super) fn read_body(body: &[u8]) -> Result<Value, ApiError> {
    read_json(body).or_else(|fault| match toise_input::json::with_nulls(body) {
        Some(body) => read_json(&body),
        None => Err(fault),
    })
}

/// Waits for an estimate permit of the key.
pub(super) async fn estimate_permit(call: &Call<'_>) -> Result<EstimatePermit, ApiError> {
    let key = call.key()?;
    let meter = call.app.access.meters.of(key.key_id, key.allowance);
    meter.acquire_estimate().await.map_err(|refused| {
        call.app.metrics.record_refusal(Refusal::Concurrency);
        ApiError::TooManyAtOnce(refused)
    })
}

fn valuer(app: &App) -> Result<Arc<Valuer>, ApiError> {
    app.data.models.valuer().ok_or(ApiError::NoModel)
}

fn value(valuer: &Valuer, home: &LocatedHome) -> Result<Value, ApiError> {
    let estimate = valuer
        .value(&home.home, DETAIL)
        .map_err(|error| match error {
            // The valuation date is always today, so only the class can be unknown to the model.
            model::Error::NothingOfClass { class } | model::Error::NothingBefore { class, .. } => {
                let message =
                    format!("the model knows no sale of a {class}, so none can be valued");
                ApiError::Invalid(Fault::new("type", message))
            }
            other => ApiError::internal(other),
        })?;
    let estimate = estimate.located_by(home.address.as_ref());
    let mut data = estimate_json(&estimate, valuer.model().metadata());
    let metadata = &mut data["metadata"];
    // The specification values a point outside France at the national average; the answer says what is wrong with it.
    let warning = match home.position_fault() {
        Some(fault) => Some(fault.name()),
        None => estimate.warning.map(EstimateWarning::as_str),
    };
    if let Some(warning) = warning {
        metadata["warning"] = json!(warning);
    }
    if let Some(metres) = estimate.nearest_sale_m {
        metadata["nearest_sale_m"] = json!(metres.round() as i64);
    }
    if let Some(found) = &home.address {
        metadata["address"] = json!(found.summary());
    }
    if let Some(from) = home.position_from {
        metadata["position_from"] = json!(from);
    }
    Ok(data)
}

fn estimate_json(estimate: &Estimate, model: &ModelMetadata) -> Value {
    json!({
        "price": euros(estimate.price),
        "priceRange": {"lower": euros(estimate.lower), "upper": euros(estimate.upper)},
        "metadata": {
            "model": {
                "version": model.version,
                "trained_at": model.trained_at,
                "data_through": model.data_through,
                "sales": model.sales,
                "learned_inputs": model.learned_inputs,
            },
            "coverage": model.coverage,
            "fallback": estimate.fallback.as_str(),
            "confidence": estimate.confidence.as_str(),
            "comparables": comparables(&estimate.comparables),
            "contributions": contributions(&estimate.contributions),
        },
    })
}
