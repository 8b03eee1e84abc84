//! The tools as they are served: each definition joined with its operation of the OpenAPI document, once per process.

use std::sync::{Arc, LazyLock};

use reqwest::Method;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::schema::Components;
use crate::tools::{Arguments, Effect, Fixed, TOOLS, ToolDefinition};
use toise_http::{openapi, resources};

/// Maximum characters of the name of a table.
const TABLE_NAME_CHARS_MAX: usize = 100;

/// The tools, in the order in which they are listed.
pub(crate) static CATALOG: LazyLock<Vec<ServedTool>> = LazyLock::new(|| {
    let document = openapi::document(resources::endpoints());
    // A unit test checks that every tool has its operation.
    TOOLS
        .iter()
        .filter_map(|definition| ServedTool::new(definition, &document))
        .collect()
});

/// A tool and how its calls are turned into requests.
pub(crate) struct ServedTool {
    /// The tool as clients see it.
    pub tool: Tool,
    /// Method of the operation.
    pub method: Method,
    /// Path of the operation, with `{name}` for parameters.
    pub path: String,
    /// Names of the parameters of the path, and whether each is a UUID.
    pub path_parameters: Vec<(String, bool)>,
    /// Whether the other arguments are the body; otherwise they are the query.
    pub has_body: bool,
    /// Where the arguments come from.
    pub arguments: Arguments,
    /// Default values of arguments.
    pub defaults: Map<String, Value>,
    /// Parts of the body that are always the same.
    pub fixed: Map<String, Value>,
}

/// Returns the tool with a name.
pub(crate) fn find(name: &str) -> Option<&'static ServedTool> {
    CATALOG.iter().find(|served| served.tool.name == name)
}

impl ServedTool {
    /// Joins a definition with its operation; `None` if the document has none.
    fn new(definition: &'static ToolDefinition, document: &Value) -> Option<Self> {
        let (path, method, operation) = operation(document, definition.operation)?;
        let components = Components(document["components"]["schemas"].as_object()?);
        let defaults = parse_object(definition.defaults);
        let fixed = definition.fixed.parts();
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        let parameters = operation["parameters"].as_array();
        let parameters = parameters.map_or(&[][..], Vec::as_slice);
        let mut input = match definition.arguments {
            Arguments::OfTables => table_arguments(),
            Arguments::OfOperation if body.is_null() => parameter_arguments(parameters),
            Arguments::OfOperation => components.complete(body, definition.name),
        };
        preset(&mut input, &defaults, &fixed);
        let mut tool = Tool::new(definition.name, description(definition, operation), input)
            .with_title(definition.title)
            .with_annotations(annotations(definition));
        let response = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        if let Some(output) = components.bounded(response) {
            tool = tool.with_raw_output_schema(Arc::new(output));
        }
        Some(Self {
            tool,
            method,
            path: path.to_owned(),
            path_parameters: path_parameters(parameters),
            has_body: !body.is_null(),
            arguments: definition.arguments,
            defaults,
            fixed,
        })
    }
}

/// Returns path, method and description of an operation.
fn operation<'d>(document: &'d Value, id: &str) -> Option<(&'d str, Method, &'d Value)> {
    let paths = document["paths"].as_object()?;
    paths.iter().find_map(|(path, methods)| {
        let mut methods = methods.as_object()?.iter();
        let (method, operation) = methods.find(|(_, one)| one["operationId"] == id)?;
        let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).ok()?;
        Some((path.as_str(), method, operation))
    })
}

fn parse_object(text: &str) -> Map<String, Value> {
    // A unit test checks that the presets of all tools parse.
    serde_json::from_str(text).unwrap_or_default()
}

fn description(definition: &ToolDefinition, operation: &Value) -> String {
    let of = |name: &str| operation[name].as_str().unwrap_or_default();
    let parts = match (definition.arguments, definition.fixed) {
        (Arguments::OfTables, _) => ["", definition.note, ""],
        // The description of the operation mentions formats that tools do not offer, so only its summary is used.
        (_, Fixed::Rows | Fixed::Data) => [of("summary"), definition.note, ""],
        (_, Fixed::Nothing) => [of("summary"), definition.note, of("description")],
    };
    let mut text = String::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        if !text.is_empty() {
            text.push_str(if text.ends_with('.') { " " } else { ". " });
        }
        text.push_str(part);
    }
    text
}

fn annotations(definition: &ToolDefinition) -> ToolAnnotations {
    let reads = definition.effect == Effect::Reads;
    ToolAnnotations::with_title(definition.title)
        .read_only(reads)
        .destructive(false)
        .idempotent(reads)
        .open_world(!reads)
}

/// Returns the schema of path and query parameters as one object. Headers are omitted, because they are not arguments
/// of tools.
fn parameter_arguments(parameters: &[Value]) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for parameter in parameters {
        let Some(name) = parameter["name"].as_str() else {
            continue;
        };
        if parameter["in"] == "header" {
            continue;
        }
        let mut schema = parameter["schema"].clone();
        schema["description"] = parameter["description"].clone();
        properties.insert(name.to_owned(), schema);
        if parameter["required"] == true {
            required.push(name);
        }
    }
    parse_object(
        &json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
        .to_string(),
    )
}

fn table_arguments() -> Map<String, Value> {
    let table = json!({
        "type": "string",
        "maxLength": TABLE_NAME_CHARS_MAX,
        "description": "Name of one table; without it, all tables are described",
    });
    let mut arguments = Map::new();
    arguments.insert("type".into(), json!("object"));
    arguments.insert("properties".into(), json!({"table": table}));
    arguments.insert("additionalProperties".into(), json!(false));
    arguments
}

/// Removes fixed parts from a schema, adds default values, and makes arguments with a default optional.
fn preset(
    input: &mut Map<String, Value>,
    defaults: &Map<String, Value>,
    fixed: &Map<String, Value>,
) {
    if let Some(required) = input.get_mut("required").and_then(Value::as_array_mut) {
        let is_preset = |name: &str| defaults.contains_key(name) || fixed.contains_key(name);
        required.retain(|name| !name.as_str().is_some_and(is_preset));
    }
    if let Some(properties) = input.get_mut("properties").and_then(Value::as_object_mut) {
        for name in fixed.keys() {
            properties.shift_remove(name);
        }
        for (name, value) in defaults {
            if let Some(property) = properties.get_mut(name) {
                property["default"] = value.clone();
            }
        }
    }
}

fn path_parameters(parameters: &[Value]) -> Vec<(String, bool)> {
    let in_path = parameters.iter().filter(|one| one["in"] == "path");
    in_path
        .filter_map(|parameter| {
            let is_uuid = parameter["schema"]["format"] == "uuid";
            Some((parameter["name"].as_str()?.to_owned(), is_uuid))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maximum bytes of the descriptions and schemas of all tools together, because they fill the context of a model.
    const LIST_BYTES_MAX: usize = 113_000;

    #[test]
    fn every_tool_has_an_operation_and_what_it_presets_is_an_argument_of_it() {
        assert_eq!(CATALOG.len(), TOOLS.len());
        let document = openapi::document(resources::endpoints());
        for (definition, served) in TOOLS.iter().zip(CATALOG.iter()) {
            let defaults = serde_json::from_str::<Map<String, Value>>(definition.defaults);
            assert_eq!(defaults.unwrap(), served.defaults);
            let properties = served.tool.input_schema["properties"].as_object().unwrap();
            for name in served.defaults.keys() {
                assert!(properties.contains_key(name), "{}: {name}", definition.name);
            }
            let (_, _, operation) = operation(&document, definition.operation).unwrap();
            let body = &operation["requestBody"]["content"]["application/json"]["schema"];
            let parameters = operation["parameters"].as_array();
            for name in served.fixed.keys() {
                assert!(!properties.contains_key(name));
                let mut parameters = parameters.into_iter().flatten();
                let is_argument = if served.has_body {
                    body["properties"][name].is_object()
                } else {
                    parameters.any(|parameter| parameter["name"] == name.as_str())
                };
                assert!(is_argument, "{name}");
            }
            assert_eq!(served.tool.input_schema["type"], "object");
        }
    }

    #[test]
    fn tools_that_only_read_say_so() {
        let reads = |served: &&ServedTool| {
            let annotations = served.tool.annotations.as_ref().unwrap();
            annotations.read_only_hint == Some(true)
        };
        let others: Vec<_> = CATALOG.iter().filter(|served| !reads(served)).collect();
        assert_eq!(others.len(), 1);
        assert_eq!(others[0].tool.name, "create_alert");
        assert!(
            CATALOG
                .iter()
                .all(|served| served.tool.output_schema.is_some())
        );
    }

    #[test]
    fn the_list_of_tools_is_short_enough_for_a_model() {
        let tools: Vec<&Tool> = CATALOG.iter().map(|served| &served.tool).collect();
        let bytes = serde_json::to_string(&tools).unwrap().len();
        assert!(bytes <= LIST_BYTES_MAX, "{bytes}");
    }
}
