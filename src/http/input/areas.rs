//! Replaces the names of stored areas and the isochrones in filters by their polygons, before the request is parsed.
//!
//! A name that the account has not stored stays for the parser to refuse. So faults are reported in document order, and
//! only one of several alerts is refused.
//!
//! A filter `area` is inside an object `filters` or `location`. An alert keeps the polygon as it was when the alert was
//! created or changed.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use uuid::Uuid;

use toise_accounts::areas;
use toise_contract::Fault;
use toise_contract::isochrone::Isochrone;
use toise_contract::walk::JsonPath;
use toise_service::App;
use toise_service::error::ApiError;
use toise_store::Store;
use toise_transport::body_budget::BodyLease;

/// Key of a filter on an area.
const AREA: &str = "area";
/// Key of an isochrone in an area.
const ISOCHRONE: &str = "isochrone";
/// Objects in which an area is a filter.
const FILTER_OBJECTS: [&str; 2] = ["filters", "location"];
/// Objects whose keys the client chooses; nothing in them is a filter.
const CLIENT_OBJECTS: [&str; 2] = ["metadata", "parameters"];
/// Maximum names of areas in a request.
const NAMES_MAX: usize = 100;
/// Maximum isochrones in a request.
const ISOCHRONES_MAX: usize = 5;

/// Returns a body with polygons in place of names of areas and isochrones. A body without either is returned unchanged.
///
/// # Errors
/// An isochrone is not valid or not available, there are too many names or isochrones, the client has too much in
/// memory, or the store fails.
pub(crate) async fn with_polygons(
    app: &App,
    account: Uuid,
    body: Bytes,
    lease: &mut BodyLease,
) -> Result<Bytes, ApiError> {
    if memchr::memmem::find(&body, br#""area""#).is_none() {
        return Ok(body);
    }
    let isochrones = find_isochrones(&body)?;
    let mut isochrone_areas = HashMap::new();
    for (path, isochrone) in isochrones {
        let area = app.data.isochrones.area(&isochrone, &path).await?;
        isochrone_areas.insert(path, area);
    }
    let (store, length) = (app.store.clone(), body.len());
    let replacing = tokio::task::spawn_blocking(move || {
        // The parser reports a body that is not JSON.
        let Ok(mut value) = serde_json::from_slice(&body) else {
            return Ok(body);
        };
        let replaced = replace(&store, account, &isochrone_areas, &mut value)?;
        Ok::<_, ApiError>(if replaced == 0 {
            body
        } else {
            Bytes::from(value.to_string())
        })
    });
    let body = replacing.await.map_err(ApiError::internal)??;
    lease.grow(body.len().saturating_sub(length))?;
    Ok(body)
}

/// Replaces the names of stored areas in a request by their polygons. Blocks.
///
/// # Errors
/// There are too many names, or the store fails.
pub(crate) fn replace_names(
    store: &Store,
    account: Uuid,
    value: &mut Value,
) -> Result<(), ApiError> {
    replace(store, account, &HashMap::new(), value).map(drop)
}

/// Returns the isochrones of a body, with their paths.
fn find_isochrones(body: &[u8]) -> Result<Vec<(String, Isochrone)>, ApiError> {
    let mut found = Vec::new();
    if memchr::memmem::find(body, br#""isochrone""#).is_none() {
        return Ok(found);
    }
    let Ok(mut value) = serde_json::from_slice(body) else {
        return Ok(found);
    };
    for_each_filter(&mut value, AREA, "", false, &mut |area, path| {
        let Some(isochrone) = area.get(ISOCHRONE) else {
            return Ok(());
        };
        if found.len() == ISOCHRONES_MAX {
            let rule = format!("a request may have at most {ISOCHRONES_MAX} isochrones");
            return Err(Fault::new(path, rule).into());
        }
        let at = JsonPath::Key(&JsonPath::Body, ISOCHRONE);
        let isochrone = Isochrone::read(isochrone, at).map_err(|fault| fault.within(path))?;
        found.push((path.to_owned(), isochrone));
        Ok(())
    })?;
    Ok(found)
}

/// Replaces names by stored polygons, and each isochrone by the polygon that `isochrone_areas` has for its path.
/// Returns the number of replacements.
fn replace(
    store: &Store,
    account: Uuid,
    isochrone_areas: &HashMap<String, Arc<Value>>,
    value: &mut Value,
) -> Result<usize, ApiError> {
    let mut known: HashMap<String, Option<Value>> = HashMap::new();
    let mut names = 0;
    for_each_filter(value, AREA, "", false, &mut |area, path| {
        if let Some(polygon) = isochrone_areas.get(path) {
            *area = Value::clone(polygon);
            return Ok(());
        }
        let Value::String(name) = &*area else {
            return Ok(());
        };
        names += 1;
        if names > NAMES_MAX {
            let rule = format!("a request may name at most {NAMES_MAX} areas");
            return Err(Fault::new(path, rule).into());
        }
        let polygon = match known.get(name) {
            Some(polygon) => polygon.clone(),
            None => {
                let polygon = stored(store, account, name)?;
                known.insert(name.clone(), polygon.clone());
                polygon
            }
        };
        if let Some(polygon) = polygon {
            *area = polygon;
        }
        Ok(())
    })?;
    Ok(names + isochrone_areas.len())
}

/// Returns the polygon that an account stored under a name; `None` if there is none.
fn stored(store: &Store, account: Uuid, name: &str) -> Result<Option<Value>, ApiError> {
    let found = areas::find(store, account, name).map_err(ApiError::internal)?;
    let polygon = found.map(|found| serde_json::from_str(&found.geometry));
    polygon.transpose().map_err(ApiError::internal)
}

/// Calls a function for each filter of this name in a value, with its path. `holds` is true if the value, or the list
/// that it is in, contains filters.
pub(super) fn for_each_filter(
    value: &mut Value,
    name: &str,
    path: &str,
    holds: bool,
    each: &mut dyn FnMut(&mut Value, &str) -> Result<(), ApiError>,
) -> Result<(), ApiError> {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                for_each_filter(item, name, &format!("{path}[{index}]"), holds, each)?;
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                let separator = if path.is_empty() { "" } else { "." };
                let path = format!("{path}{separator}{key}");
                if holds && key == name {
                    each(field, &path)?;
                } else if !CLIENT_OBJECTS.contains(&key.as_str()) {
                    for_each_filter(
                        field,
                        name,
                        &path,
                        FILTER_OBJECTS.contains(&key.as_str()),
                        each,
                    )?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}
