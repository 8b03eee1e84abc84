//! Turns the arguments of a tool into the request of its operation.
//!
//! The operation validates its arguments itself. This module refuses only what would make a different request: an
//! argument that the tool does not have, and a value that cannot be part of a path or a query.

use bytes::Bytes;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::catalog::ServedTool;
use crate::tools::{Arguments, TABLES_QUERY};
use toise_contract::Fault;

/// The request of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRequest {
    /// Its method.
    pub method: Method,
    /// Its path, with the query if there is one.
    pub target: String,
    /// Its JSON body, if it has one.
    pub body: Option<Bytes>,
}

/// Returns the request of a tool call.
///
/// # Errors
/// An argument is unknown to the tool, is missing in the path, or cannot be written in the path or query.
pub(crate) fn build_request(
    served: &ServedTool,
    mut arguments: Map<String, Value>,
) -> Result<ToolRequest, Fault> {
    refuse_unknown(served, &arguments)?;
    // Models send null for arguments that they omit.
    arguments.retain(|_, value| !value.is_null());
    for (name, value) in &served.defaults {
        arguments
            .entry(name.clone())
            .or_insert_with(|| value.clone());
    }
    let mut target = served.path.clone();
    for (name, is_uuid) in &served.path_parameters {
        let value = arguments.shift_remove(name);
        let value = value.ok_or_else(|| Fault::new(name, "is required"))?;
        let text = value.as_str().unwrap_or_default();
        // Any other text could name a different endpoint.
        if *is_uuid && Uuid::try_parse(text).is_err() {
            return Err(Fault::new(name, "must be a UUID"));
        }
        if text.is_empty() {
            return Err(Fault::new(name, "must be a string that is not empty"));
        }
        target = target.replace(&format!("{{{name}}}"), &encoded(text));
    }
    let mut body = None;
    if served.has_body {
        let mut content = match served.arguments {
            Arguments::OfOperation => arguments,
            Arguments::OfTables => tables_body(&arguments)?,
        };
        content.extend(served.fixed.clone());
        body = Some(Bytes::from(Value::Object(content).to_string()));
    } else {
        let mut separator = '?';
        for (name, value) in &arguments {
            let value = scalar(name, value)?;
            target.push(separator);
            target.push_str(&format!("{}={}", encoded(name), encoded(&value)));
            separator = '&';
        }
    }
    Ok(ToolRequest {
        method: served.method.clone(),
        target,
        body,
    })
}

fn refuse_unknown(served: &ServedTool, arguments: &Map<String, Value>) -> Result<(), Fault> {
    let properties = served.tool.input_schema.get("properties");
    let properties = properties.and_then(Value::as_object);
    let is_known = |name: &str| properties.is_some_and(|known| known.contains_key(name));
    match arguments.keys().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => {
            let known =
                properties.map(|known| known.keys().map(String::as_str).collect::<Vec<_>>());
            let known = known.unwrap_or_default().join(", ");
            Err(Fault::new(
                name,
                format!("is not an argument of this tool; must be one of: {known}"),
            ))
        }
    }
}

/// Returns the body of a query that describes one table, or all.
fn tables_body(arguments: &Map<String, Value>) -> Result<Map<String, Value>, Fault> {
    let table = match arguments.get("table") {
        None => "",
        Some(table) => table
            .as_str()
            .ok_or_else(|| Fault::new("table", "must be a string"))?,
    };
    let mut body = Map::new();
    body.insert("query".into(), json!(TABLES_QUERY));
    body.insert("parameters".into(), json!([table]));
    Ok(body)
}

/// Returns a value of a query as text.
fn scalar(name: &str, value: &Value) -> Result<String, Fault> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err(Fault::new(name, "must be a string, a number or a boolean"))
        }
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;

    fn request(tool: &str, arguments: Value) -> Result<ToolRequest, String> {
        let arguments = arguments.as_object().unwrap().clone();
        let request = build_request(catalog::find(tool).unwrap(), arguments);
        request.map_err(|fault| fault.to_string())
    }

    #[test]
    fn arguments_become_path_query_and_body() {
        let id = "0198c0de-0000-7000-8000-000000000001";
        let one = request("get_property", json!({"flxId": id})).unwrap();
        assert_eq!(one.method, Method::GET);
        let path = "/v2/protected/properties/0198c0de%2D0000%2D7000%2D8000%2D000000000001";
        assert_eq!((one.target.as_str(), one.body), (path, None));
        let parcel = json!({"parcel_id": "48095000AB0001"});
        let history = request("parcel_history", parcel).unwrap();
        assert_eq!(
            history.target,
            "/v2/protected/parcels/48095000AB0001?size=5"
        );
        let found = request("geocode", json!({"q": "1 rue & co", "limit": 2})).unwrap();
        assert_eq!(
            found.target,
            "/geocoding/search?q=1%20rue%20%26%20co&limit=2&autocomplete=0"
        );
        let query = request("sql", json!({"query": "select 1"})).unwrap();
        let body: Value = serde_json::from_slice(&query.body.unwrap()).unwrap();
        assert_eq!(body["limits"]["rows"], crate::tools::SQL_ROWS_MAX);
        assert_eq!(
            (&body["format"], &body["query"]),
            (&json!("json"), &json!("select 1"))
        );
        let nulls = json!({"q": "Mende", "limit": null, "autocomplete": null});
        let found = request("geocode", nulls).unwrap();
        assert_eq!(
            found.target,
            "/geocoding/search?q=Mende&limit=5&autocomplete=0"
        );
        let tables = request("describe_tables", json!({"table": "dvf"})).unwrap();
        let body: Value = serde_json::from_slice(&tables.body.unwrap()).unwrap();
        assert_eq!(body["parameters"], json!(["dvf"]));
    }

    #[test]
    fn what_would_lead_elsewhere_is_refused() {
        let message = |tool, arguments| request(tool, arguments).unwrap_err();
        let other_path = message("get_property", json!({"flxId": "url"}));
        assert_eq!(other_path, "flxId: must be a UUID");
        for nothing in [json!({}), json!({"flxId": null})] {
            assert_eq!(message("get_property", nothing), "flxId: is required");
        }
        assert_eq!(
            message("building_history", json!({"id_rnb": ""})),
            "id_rnb: must be a string that is not empty"
        );
        assert!(
            message("get_property", json!({"url": "x"})).starts_with("url: is not an argument")
        );
        assert!(message("sql", json!({"limits": {}})).starts_with("limits: is not an argument"));
        let list = message("geocode", json!({"q": ["a"]}));
        assert_eq!(list, "q: must be a string, a number or a boolean");
        assert_eq!(
            message("describe_tables", json!({"table": 1})),
            "table: must be a string"
        );
    }
}
