//! JSON schemas of arguments and results, cut from the OpenAPI document so that each is self-contained.
//!
//! Clients pass the schemas of all tools to a model at once, so their length matters. A component that another tool
//! already describes is named instead of repeated, and deep parts of a result are left open.

use serde_json::{Map, Value, json};

/// Maximum bytes of the schema of a result; it loses its descriptions and then its deeper parts until it fits.
pub(crate) const OUTPUT_BYTES_MAX: usize = 2 * 1024;
/// Maximum depth to which references within a result are followed.
const DEPTH_MAX: usize = 6;
/// Prefix of references in the document.
const COMPONENTS: &str = "#/components/schemas/";

/// The component of the property filter, the longest of all, and the tool that describes it.
const FILTER: (&str, &str) = ("FilterProperty", "search_properties");
/// The component of an area, which many tools take.
const AREA: &str = "Area";

/// The component schemas of the document.
pub(crate) struct Components<'d>(pub &'d Map<String, Value>);

impl Components<'_> {
    /// Returns a schema with the components it refers to, under `$defs`.
    pub fn complete(&self, schema: &Value, tool: &str) -> Map<String, Value> {
        let mut definitions = Map::new();
        let mut whole = self.adopt(self.target(schema), tool, &mut definitions);
        if !definitions.is_empty() {
            whole["$defs"] = Value::Object(definitions);
        }
        into_object(whole)
    }

    /// Returns a schema cut to at most [`OUTPUT_BYTES_MAX`] bytes: descriptions are omitted, and parts that are too
    /// deep are left open. `None` if it does not describe an object, as the protocol demands, or cannot be cut that
    /// short.
    pub fn bounded(&self, schema: &Value) -> Option<Map<String, Value>> {
        let schema = self.target(schema);
        if schema["type"] != "object" {
            return None;
        }
        let cuts = (0..=DEPTH_MAX)
            .rev()
            .map(|depth| self.cut(schema, depth))
            .flat_map(|cut| [cut.clone(), without_descriptions(&cut)]);
        let bare = without_descriptions(&self.cut(schema, 0));
        let shallower = (1..=DEPTH_MAX).rev().map(|levels| opened(&bare, levels));
        cuts.chain(shallower)
            .find(|cut| cut.to_string().len() <= OUTPUT_BYTES_MAX)
            .map(into_object)
    }

    /// Returns the schema itself, or the component that it refers to.
    fn target<'s>(&'s self, schema: &'s Value) -> &'s Value {
        self.referred(schema)
            .map_or(schema, |(_, component)| component)
    }

    /// Returns name and schema of the component that a reference names.
    fn referred<'s>(&'s self, schema: &'s Value) -> Option<(&'s str, &'s Value)> {
        let name = schema.get("$ref")?.as_str()?.strip_prefix(COMPONENTS)?;
        Some((name, self.0.get(name)?))
    }

    /// Copies a schema, and copies each component that it refers to once into the definitions.
    fn adopt(&self, schema: &Value, tool: &str, definitions: &mut Map<String, Value>) -> Value {
        if let Some((name, component)) = self.referred(schema) {
            if name == FILTER.0 && tool != FILTER.1 {
                let place = format!(
                    "The same as `search.filterProperty` of the tool `{}`, whose schema describes it",
                    FILTER.1
                );
                return json!({"type": "object", "description": place});
            }
            if name == AREA && tool != FILTER.1 {
                let kinds = format!(
                    "A GeoJSON Polygon or MultiPolygon, the name of a stored area, or an isochrone; the schema of the \
                     tool `{}` describes them",
                    FILTER.1
                );
                return json!({"type": ["object", "string"], "description": kinds});
            }
            if !definitions.contains_key(name) {
                // Inserted before its own references are followed, because they may lead back to it.
                definitions.insert(name.to_owned(), Value::Null);
                let adopted = self.adopt(component, tool, definitions);
                definitions.insert(name.to_owned(), adopted);
            }
            let mut reference = schema.clone();
            reference["$ref"] = json!(format!("#/$defs/{name}"));
            return reference;
        }
        map_parts(schema, |part| self.adopt(part, tool, definitions))
    }

    /// Copies a schema with its components inlined, down to a depth.
    fn cut(&self, schema: &Value, depth: usize) -> Value {
        match self.referred(schema) {
            Some((_, component)) if depth == 0 => match component.get("type") {
                Some(kind) => json!({"type": kind}),
                None => json!({}),
            },
            Some((_, component)) => self.cut(component, depth - 1),
            None => map_parts(schema, |part| self.cut(part, depth)),
        }
    }
}

/// Copies a schema without the descriptions in it.
fn without_descriptions(schema: &Value) -> Value {
    let mut copy = map_parts(schema, without_descriptions);
    if let Some(parts) = copy.as_object_mut() {
        // A field may also have this name.
        parts.retain(|name, part| name != "description" || part.is_object());
    }
    copy
}

/// Copies a schema in which the records below some levels of records are left open.
fn opened(schema: &Value, levels: usize) -> Value {
    let is_record = schema["type"] == "object" && schema["properties"].is_object();
    if is_record && levels == 0 {
        return json!({"type": "object"});
    }
    let levels = levels - usize::from(is_record);
    map_parts(schema, |part| opened(part, levels))
}

/// Copies a value and applies `change` to each of its parts.
fn map_parts(value: &Value, mut change: impl FnMut(&Value) -> Value) -> Value {
    match value {
        Value::Object(parts) => parts
            .iter()
            .map(|(name, part)| (name.clone(), change(part)))
            .collect(),
        Value::Array(parts) => parts.iter().map(change).collect(),
        other => other.clone(),
    }
}

fn into_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn components() -> Map<String, Value> {
        into_object(json!({
            "Tree": {"type": "object", "properties": {
                "leaf": {"$ref": "#/components/schemas/Leaf"},
                "trees": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
            }},
            "Leaf": {"type": "string", "enum": ["oak", "elm"]},
            "FilterProperty": {"type": "object", "description": "long"},
        }))
    }

    #[test]
    fn a_complete_schema_defines_what_it_refers_to_even_in_a_circle() {
        let known = components();
        let schema =
            Components(&known).complete(&json!({"$ref": "#/components/schemas/Tree"}), "x");
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["properties"]["leaf"]["$ref"], "#/$defs/Leaf");
        let tree = &schema["$defs"]["Tree"]["properties"]["trees"]["items"];
        assert_eq!(tree["$ref"], "#/$defs/Tree");
    }

    #[test]
    fn the_filter_of_properties_is_described_once() {
        let (known, schema) = (
            components(),
            json!({"properties": {"f": {"$ref": "#/components/schemas/FilterProperty"}}}),
        );
        let known = Components(&known);
        let own = known.complete(&schema, FILTER.1);
        assert_eq!(own["$defs"]["FilterProperty"]["description"], "long");
        let other = known.complete(&schema, "x");
        assert!(!other.contains_key("$defs"));
        let description = other["properties"]["f"]["description"].as_str().unwrap();
        assert!(description.contains(FILTER.1));
    }

    #[test]
    fn a_result_is_cut_where_it_gets_too_long_and_must_be_an_object() {
        let known = components();
        let known = Components(&known);
        let cut = known
            .bounded(&json!({"$ref": "#/components/schemas/Tree"}))
            .unwrap();
        let text = Value::Object(cut).to_string();
        assert!(
            text.len() <= OUTPUT_BYTES_MAX && !text.contains("$ref"),
            "{text}"
        );
        assert_eq!(known.bounded(&json!({"type": "array"})), None);
        let about = "x".repeat(OUTPUT_BYTES_MAX);
        let field = json!({"type": "string", "description": about});
        let described = json!({"type": "object", "properties": {"description": field}});
        let bare = json!({"type": "object", "properties": {"description": {"type": "string"}}});
        assert_eq!(known.bounded(&described).map(Value::Object), Some(bare));
        let long = json!({"type": "object", "properties": {about: {"type": "string"}}});
        assert_eq!(known.bounded(&long), None);
        let outer = |item| json!({"type": "object", "properties": {"list": {"type": "array", "items": item}}});
        let open = outer(json!({"type": "object"}));
        assert_eq!(known.bounded(&outer(long)).map(Value::Object), Some(open));
    }
}
