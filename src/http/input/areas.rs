//! Names of stored areas in filters: each is replaced by the polygon that the account stored under it, before the
//! request is parsed.
//!
//! A filter `area` stands in an object `filters` or `location`. An alert keeps the polygon as it was when the alert was
//! created or changed.

use std::borrow::Cow;
use std::collections::HashMap;

use bytes::Bytes;
use serde_json::Value;
use uuid::Uuid;

use toise_accounts::areas;
use toise_contract::Fault;
use toise_service::App;
use toise_service::error::ApiError;
use toise_store::Store;
use toise_transport::body_budget::BodyLease;

/// Key of a filter on an area.
const AREA: &str = "area";
/// Objects in which an area is a filter.
const HOLDERS: [&str; 2] = ["filters", "location"];
/// Objects with keys of the client's own choice.
const FREE: [&str; 2] = ["metadata", "parameters"];
/// Maximum names of areas in a request.
const NAMES_MAX: usize = 100;

/// Returns a body with polygons in place of names of areas. A body without such names is returned unchanged.
///
/// # Errors
/// The account has no area with a name, the body has more than [`NAMES_MAX`] names, its client has too much in memory,
/// or the store fails.
pub(crate) async fn with_polygons(
    app: &App,
    account: Uuid,
    body: Bytes,
    lease: &mut BodyLease,
) -> Result<Bytes, ApiError> {
    if memchr::memmem::find(&body, br#""area""#).is_none() {
        return Ok(body);
    }
    let (store, length) = (app.store.clone(), body.len());
    let replacing = tokio::task::spawn_blocking(move || {
        // What is wrong with other texts is said where they are parsed.
        let Ok(mut value) = serde_json::from_slice(&body) else {
            return Ok(body);
        };
        let replaced = replace_names(&store, account, &mut value)?;
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

/// Replaces the names of areas in a request by their polygons; returns their number. Blocks.
///
/// # Errors
/// The account has no area with a name, there are more than [`NAMES_MAX`] names, or the store fails.
pub(crate) fn replace_names(
    store: &Store,
    account: Uuid,
    value: &mut Value,
) -> Result<usize, ApiError> {
    let mut replacing = Replacing {
        store,
        account,
        known: HashMap::new(),
        replaced: 0,
    };
    replacing.walk(value, "", false)?;
    Ok(replacing.replaced)
}

struct Replacing<'s> {
    store: &'s Store,
    account: Uuid,
    known: HashMap<String, Value>,
    replaced: usize,
}

impl Replacing<'_> {
    /// Replaces the names in a value. `holds` says that the value, or the list it is in, holds filters.
    fn walk(&mut self, value: &mut Value, path: &str, holds: bool) -> Result<(), ApiError> {
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.walk(item, &format!("{path}[{index}]"), holds)?;
                }
            }
            Value::Object(fields) => {
                for (key, field) in fields.iter_mut() {
                    let path = match path {
                        "" => Cow::Borrowed(key.as_str()),
                        _ => Cow::Owned(format!("{path}.{key}")),
                    };
                    if let (true, AREA, Value::String(name)) = (holds, key.as_str(), &*field) {
                        *field = self.polygon(name, &path)?;
                    } else if !FREE.contains(&key.as_str()) {
                        self.walk(field, &path, HOLDERS.contains(&key.as_str()))?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn polygon(&mut self, name: &str, path: &str) -> Result<Value, ApiError> {
        self.replaced += 1;
        if self.replaced > NAMES_MAX {
            let rule = format!("a request may name at most {NAMES_MAX} areas");
            return Err(Fault::new(path, rule).into());
        }
        if let Some(known) = self.known.get(name) {
            return Ok(known.clone());
        }
        let found = areas::find(self.store, self.account, name).map_err(ApiError::internal)?;
        let found = found.ok_or_else(|| {
            let rule = "must be GeoJSON or the name of a stored area; there is none with this name";
            Fault::new(path, rule)
        })?;
        let polygon: Value = serde_json::from_str(&found.geometry).map_err(ApiError::internal)?;
        self.known.insert(name.to_owned(), polygon.clone());
        Ok(polygon)
    }
}
