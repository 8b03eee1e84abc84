//! The supported portals.

use futures::FutureExt;
use serde_json::json;
use warp::http::Method;

use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, BodyRule, Counting, Effect, Endpoint, Time};
use crate::openapi::{Operation, enveloped};
use toise_service::App;

/// The endpoint that lists portals.
pub const ENDPOINTS: &[Endpoint] = &[Endpoint {
    method: Method::GET,
    path: "/portals",
    access: Access::Public,
    counting: Counting::Free,
    effect: Effect::Reads,
    body: BodyRule::None,
    time: Time::Request,
    handler: |call| async { Ok(portals(call.app)) }.boxed(),
    operation: Some(|| {
        Operation::new("portals", "Portals that the service has rules for").with_answer(enveloped(
            json!({
                "type": "array",
                "items": {"type": "string"},
                "description": "Names of the portals, which are host names",
            }),
        ))
    }),
}];

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
