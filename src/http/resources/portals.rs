//! The supported portals.

use futures::FutureExt;
use serde_json::json;

use crate::endpoint::Endpoint;
use crate::endpoint::response::ApiResponse;
use crate::openapi::{Operation, enveloped};
use toise_service::App;

/// The endpoint that lists portals.
pub const ENDPOINTS: &[Endpoint] =
    &[
        Endpoint::page("/portals", |call| async { Ok(portals(call.app)) }.boxed())
            .with_operation(operation),
    ];

fn operation() -> Operation {
    let names = json!({
        "type": "array",
        "items": {"type": "string"},
        "description": "Names of the portals, which are host names",
    });
    Operation::new("portals", "Portals that the service has rules for")
        .with_answer(enveloped(names))
}

/// Returns the hosts of the portals that have rules.
fn portals(app: &App) -> ApiResponse {
    let portals = app.data.collector.portals();
    let names: Vec<&str> = portals
        .all()
        .iter()
        .map(|portal| portal.name.as_str())
        .collect();
    ApiResponse::data(json!(names))
}
