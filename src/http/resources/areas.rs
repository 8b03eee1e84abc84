//! Stored areas: polygons that an account keeps under a name, for the `area` of its filters.

use futures::FutureExt;
use serde_json::{Value, json};
use warp::http::Method;

use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Effect, Endpoint, JSON_BODY};
use crate::openapi::{Operation, enveloped, reference};
use toise_accounts::areas::{self, AREAS_MAX, StoredArea};
use toise_accounts::scopes::Scope;
use toise_base::clock::iso;
use toise_contract::fields::area;
use toise_contract::fields::schema::{POLYGONS, instant, record, text};
use toise_contract::walk::JsonPath;
use toise_service::error::ApiError;

/// Path of one area.
const ONE: &str = "/v2/protected/areas/{name}";
/// Name of the record in errors.
const WHAT: &str = "area";

/// The endpoints of stored areas.
pub const ENDPOINTS: &[Endpoint] = &[
    Endpoint::get(
        "/v2/protected/areas",
        Access::scoped(Scope::Search, "areas.list"),
        Effect::Reads,
        |call| list(call).boxed(),
    )
    .with_operation(list_operation),
    Endpoint::get(
        ONE,
        Access::scoped(Scope::Search, "areas.get"),
        Effect::Reads,
        |call| get(call).boxed(),
    )
    .with_operation(get_operation),
    Endpoint::new(
        Method::PUT,
        ONE,
        Access::scoped(Scope::Search, "areas.put"),
        Effect::Writes,
        |call| put(call).boxed(),
    )
    .with_body(JSON_BODY)
    .with_operation(put_operation),
    Endpoint::new(
        Method::DELETE,
        ONE,
        Access::scoped(Scope::Search, "areas.delete"),
        Effect::Writes,
        |call| delete(call).boxed(),
    )
    .with_operation(delete_operation),
];

fn list_operation() -> Operation {
    Operation::new("areasList", "Stored areas of the account, by name").with_answer(enveloped(
        json!({"type": "array", "items": about_schema(), "description": "The areas, without their polygons"}),
    ))
}

fn get_operation() -> Operation {
    Operation::new("areasGet", "A stored area").with_answer(enveloped(area_schema()))
}

fn put_operation() -> Operation {
    Operation::new("areasPut", "Store an area under a name")
        .with_description(format!(
            "The body is a GeoJSON Polygon or MultiPolygon. An area with the same name is replaced. Filters can then \
             give the name as their `area`. An alert keeps the polygon of the time when it was created or changed. An \
             account may have at most {AREAS_MAX} areas"
        ))
        .with_request(reference(POLYGONS))
        .with_answer(enveloped(area_schema()))
}

fn delete_operation() -> Operation {
    Operation::new("areasDelete", "Delete a stored area")
        .with_answer(enveloped(record(json!({"name": name_schema()}))))
}

fn name_schema() -> Value {
    text("Name of the area")
}

fn about_schema() -> Value {
    record(json!({
        "name": name_schema(),
        "createdAt": instant("When it was first stored"),
        "updatedAt": instant("When it was last replaced"),
    }))
}

fn area_schema() -> Value {
    let mut schema = about_schema();
    schema["required"] = json!(["name", "createdAt", "updatedAt", "area"]);
    schema["properties"]["area"] = reference(POLYGONS);
    schema
}

async fn list(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let account = call.key()?.account_id;
    let found = call
        .blocking(move |app| areas::list(&app.store, account).map_err(ApiError::internal))
        .await?;
    Ok(ApiResponse::data(found.iter().map(about).collect()))
}

async fn get(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let (account, name) = (call.key()?.account_id, call.param(0).to_owned());
    let found = call
        .blocking(move |app| areas::find(&app.store, account, &name).map_err(ApiError::internal))
        .await?;
    answer(&found.ok_or(ApiError::NotFound(WHAT))?)
}

async fn put(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let (account, name) = (call.key()?.account_id, call.param(0).to_owned());
    let read = |body: Value| {
        area(&body, JsonPath::Body)?;
        Ok(body.to_string())
    };
    let geometry = call.read_on_pool(read).await?;
    let stored = call
        .blocking(move |app| {
            Ok(areas::put(
                &app.store, &app.clock, account, &name, geometry,
            )?)
        })
        .await?;
    answer(&stored)
}

async fn delete(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let (account, name) = (call.key()?.account_id, call.param(0).to_owned());
    let deleted = name.clone();
    let is_deleted = call
        .blocking(move |app| areas::delete(&app.store, account, &name).map_err(ApiError::internal))
        .await?;
    if !is_deleted {
        return Err(ApiError::NotFound(WHAT));
    }
    Ok(ApiResponse::data(json!({"name": deleted})))
}

fn about(area: &StoredArea) -> Value {
    json!({
        "name": area.name,
        "createdAt": iso(area.created_at),
        "updatedAt": iso(area.updated_at),
    })
}

fn answer(area: &StoredArea) -> Result<ApiResponse, ApiError> {
    let mut data = about(area);
    data[WHAT] = serde_json::from_str(&area.geometry).map_err(ApiError::internal)?;
    Ok(ApiResponse::data(data))
}
