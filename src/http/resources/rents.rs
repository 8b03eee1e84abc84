//! The rent of a home, with its gross yield.

use serde_json::json;

use super::estimates::{estimate_permit, read_body};
use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Endpoint, JSON_BODY, endpoints};
use crate::openapi::{Operation, enveloped, reference};
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_contract::Fault;
use toise_engine::pool::Load;
use toise_estimate::request::rent::parse_rent;
use toise_market::rents::RentError;
use toise_service::error::ApiError;

/// Path of a fault about the place of a home.
const PLACE_PATH: &str = "location";

/// The endpoint for rents.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    POST "/v2/protected/estimate/rent", Access::scoped(Scope::Ai, "estimate.rent"), Reads, rent(call)
        .counted_as(Consumption::EstimateRent).with_body(JSON_BODY).with_operation(operation);
};

fn operation() -> Operation {
    Operation::new("estimateRent", "The rent of a home")
        .with_description(
            "Today's monthly rent of a flat or house as adverts would state it, in whole EUR, with an interval that \
             contains four rents in five, and the gross yield. The estimate is learned from the homes to rent that \
             adverts show, each once, and starts from the official map of rents if it was imported. Adverts mostly \
             state rents with charges, and the rents of the map include them. The yield is the rent of a year over \
             `price`, or over the estimated value of the home. 422 if too few rents are known",
        )
        .with_request(reference("RentRequest"))
        .with_response(enveloped(reference("RentEstimate")))
}

/// `POST /v2/protected/estimate/rent`: estimates the rent of a home.
async fn rent(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let _permit = estimate_permit(call).await?;
    let today = call.app.clock.now().date_naive();
    call.on_pool(Load::Single, move |app, body, interrupt| {
        let request = parse_rent(&read_body(body)?, today)?;
        let home = request.home.locate(&app.data.geocoding.geocoder())?;
        let estimate = app.data.rents.estimate(&home, request.price_eur, interrupt);
        let estimate = estimate.map_err(rent_error)?;
        Ok(json!({ "data": estimate.json(&home) }).to_string().into())
    })
    .await
}

fn rent_error(error: RentError) -> ApiError {
    match error {
        RentError::Invalid(fault) => fault.into(),
        RentError::RentUnavailable(known) => Fault::new(PLACE_PATH, known.to_string()).into(),
        other => ApiError::internal(other),
    }
}
