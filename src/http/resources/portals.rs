//! The supported portals.

use serde_json::json;

use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Endpoint, endpoints};
use crate::openapi::{Operation, enveloped};
use toise_service::error::ApiError;

/// The endpoint that lists portals.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/portals", Access::Public, Reads, portals(call).with_operation(operation);
};

fn operation() -> Operation {
    let names = json!({
        "type": "array",
        "items": {"type": "string"},
        "description": "Names of the portals, which are host names",
    });
    Operation::new("portals", "Portals that the service has rules for")
        .with_response(enveloped(names))
}

/// Returns the hosts of the portals that have rules.
async fn portals(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let portals = call.app.data.collector.portals();
    let names: Vec<&str> = portals
        .all()
        .iter()
        .map(|portal| portal.name.as_str())
        .collect();
    Ok(ApiResponse::data(json!(names)))
}
