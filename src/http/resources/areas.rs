//! Areas for the `area` of filters: polygons that an account keeps under a name, and the shape of an isochrone.

use serde_json::{Value, json};

use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Endpoint, JSON_BODY, endpoints};
use crate::openapi::{Operation, enveloped, reference};
use toise_accounts::areas::{self, AREAS_MAX, StoredArea};
use toise_accounts::scopes::Scope;
use toise_base::clock::iso;
use toise_contract::Fault;
use toise_contract::fields::schema::{POLYGONS, instant, parameters, record, text};
use toise_contract::fields::{Field, FieldKind, area, read_query};
use toise_contract::isochrone::{Isochrone, MINUTES_MAX, Mode};
use toise_contract::query::pairs;
use toise_contract::walk::JsonPath;
use toise_service::error::ApiError;

/// Path of one area.
const ONE: &str = "/v2/protected/areas/{name}";
/// Name of the record in errors.
const WHAT: &str = "area";

/// Names of the modes of travel.
const MODES: [&str; 2] = [Mode::Car.as_str(), Mode::Walk.as_str()];

/// The query of a request for the shape of an isochrone.
static REACH: [Field; 4] = [
    Field::required(
        "lat",
        FieldKind::Between(-90.0, 90.0),
        "Latitude of the position where the way begins, degrees",
    ),
    Field::required(
        "lon",
        FieldKind::Between(-180.0, 180.0),
        "Longitude of that position, degrees",
    ),
    Field::required(
        "minutes",
        FieldKind::Between(0.0, MINUTES_MAX),
        "Time of travel, minutes; must be above 0",
    ),
    Field::required("mode", FieldKind::OneOf(&MODES), "By car or on foot"),
];

/// The endpoints of stored areas and of isochrones.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v2/protected/areas", Access::scoped(Scope::Search, "areas.list"), Reads, list(call)
        .with_operation(list_operation);
    GET ONE, Access::scoped(Scope::Search, "areas.get"), Reads, get(call).with_operation(get_operation);
    PUT ONE, Access::scoped(Scope::Search, "areas.put"), Writes, put(call)
        .with_body(JSON_BODY).with_operation(put_operation);
    DELETE ONE, Access::scoped(Scope::Search, "areas.delete"), Writes, delete(call).with_operation(delete_operation);
    GET "/v2/protected/isochrones", Access::scoped(Scope::Search, "areas.isochrone"), Reads, reach(call)
        .with_operation(reach_operation);
};

fn list_operation() -> Operation {
    Operation::new("areasList", "Stored areas of the account, by name").with_response(enveloped(
        json!({"type": "array", "items": about_schema(), "description": "The areas, without their polygons"}),
    ))
}

fn get_operation() -> Operation {
    Operation::new("areasGet", "A stored area").with_response(enveloped(area_schema()))
}

fn put_operation() -> Operation {
    Operation::new("areasPut", "Store an area under a name")
        .with_description(format!(
            "The body is a GeoJSON Polygon or MultiPolygon. An area with the same name is replaced. Filters can then \
             give the name as their `area`. An alert keeps the polygon of the time when it was created or changed. An \
             account may have at most {AREAS_MAX} areas"
        ))
        .with_request(reference(POLYGONS))
        .with_response(enveloped(area_schema()))
}

fn delete_operation() -> Operation {
    Operation::new("areasDelete", "Delete a stored area")
        .with_response(enveloped(record(json!({"name": name_schema()}))))
}

fn reach_operation() -> Operation {
    Operation::new("isochroneGet", "The area within reach of a position")
        .with_description(
            "The area that a filter with this isochrone uses, to draw it. It is kept for a day, like that of a filter. \
             503 if the service that computes it does not answer",
        )
        .with_query(parameters(&REACH))
        .with_response(enveloped(record(json!({"area": reference(POLYGONS)}))))
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

/// `GET /v2/protected/isochrones`: the shape of an isochrone, from the service that filters ask too.
async fn reach(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let question = parse_reach(&pairs(call.query)?)?;
    let area = call.app.data.isochrones.area(&question, "mode").await?;
    Ok(ApiResponse::data(json!({ WHAT: *area })))
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
    area_response(&found.ok_or(ApiError::NotFound(WHAT))?)
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
    area_response(&stored)
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

fn area_response(area: &StoredArea) -> Result<ApiResponse, ApiError> {
    let mut data = about(area);
    data[WHAT] = serde_json::from_str(&area.geometry).map_err(ApiError::internal)?;
    Ok(ApiResponse::data(data))
}

/// Parses the query of a request for the shape of an isochrone, by the rules of filters.
fn parse_reach(query: &[(String, String)]) -> Result<Isochrone, Fault> {
    let mut values = read_query(query, &REACH)?;
    let mut number = |name: &str| {
        let text = values.take::<&str>(name).unwrap_or_default();
        // A text that is not a number is refused, and the fault states the bounds.
        text.parse::<f64>().map_or(Value::Null, Value::from)
    };
    let pin = json!({"lat": number("lat"), "lon": number("lon")});
    let minutes = number("minutes");
    let question = json!({"pin": pin, "minutes": minutes, "mode": values.word("mode")});
    Isochrone::read(&question, JsonPath::Body).map_err(|fault| {
        let path = fault.path.trim_start_matches("pin.");
        // Swapped coordinates are a fault of both.
        let parameter = if path == "pin" { "lat" } else { path };
        Fault::new(parameter, fault.message.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_an_isochrone_is_read_or_refused_by_the_name_of_a_parameter() {
        let read = |query: &str| {
            let query = pairs(query).unwrap();
            parse_reach(&query).map_err(|fault| fault.path)
        };
        let expected = Isochrone {
            lat: 44.52,
            lon: 3.5,
            minutes: 15.0,
            mode: Mode::Walk,
        };
        assert_eq!(read("lat=44.52&lon=3.5&minutes=15&mode=walk"), Ok(expected));
        for (query, parameter) in [
            ("lat=91&lon=3.5&minutes=15&mode=car", "lat"),
            ("lat=NaN&lon=3.5&minutes=15&mode=car", "lat"),
            ("lat=3.5&lon=44.52&minutes=15&mode=car", "lat"),
            ("lat=44.52&lon=3.5&minutes=0&mode=car", "minutes"),
            ("lat=44.52&lon=3.5&minutes=61&mode=car", "minutes"),
            ("lat=44.52&lon=3.5&minutes=15&mode=boat", "mode"),
            ("lat=44.52", "lon"),
        ] {
            assert_eq!(read(query), Err(parameter.to_owned()), "{query}");
        }
    }
}
