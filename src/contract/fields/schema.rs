//! JSON schema of a table, for the OpenAPI document.
//!
//! The keys of a schema have one order: type, bounds, default, description. Components that a table defines and
//! refers to are added to the map.

use serde_json::{Map, Value, json};

use super::{About, DefaultValue, Field, FieldKind};
use crate::dates::DATE_RULE;
use crate::distances::DISTANCE_RULE;
use crate::enums::Enumeration;
use crate::filter::{LAYER_METERS_MAX, LAYER_RELATIONS};
use crate::isochrone::{MINUTES_MAX, Mode};
use toise_geo::area::VERTICES_MAX;

/// Component schemas by name.
pub type Components = Map<String, Value>;

/// Beginning of every date and date-time.
const DAY_PATTERN: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}";
/// Matches a text with at least one character that is not a space.
const NOT_BLANK_PATTERN: &str = "\\S";

/// Returns the schema of an object that accepts these properties and no others.
pub fn closed(properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Returns the schema of an object with these properties, and maybe others. All are required, except those whose key
/// ends in `?`, which is not part of their name.
pub fn record(properties: Value) -> Value {
    record_about("", properties)
}

/// Returns the schema of [`record`], with a description.
pub fn record_about(about: &str, properties: Value) -> Value {
    let (mut named, mut required) = (Map::new(), Vec::new());
    if let Value::Object(properties) = properties {
        for (key, schema) in properties {
            match key.strip_suffix('?') {
                Some(name) => named.insert(name.to_owned(), schema),
                None => {
                    required.push(key.clone());
                    named.insert(key, schema)
                }
            };
        }
    }
    let mut schema = described(json!({"type": "object"}), about);
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["properties"] = Value::Object(named);
    schema
}

/// Returns the schema of a text.
pub fn text(about: &str) -> Value {
    json!({"type": "string", "description": about})
}

/// Returns the schema of a number.
pub fn number(about: &str) -> Value {
    json!({"type": "number", "description": about})
}

/// Returns the schema of a whole number that is not negative.
pub fn count(about: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": about})
}

/// Returns the schema of a UUID.
pub fn id(about: &str) -> Value {
    json!({"type": "string", "format": "uuid", "description": about})
}

/// Returns the schema of a moment in an answer. For [`moment`]s that requests may give, a day is enough.
pub fn instant(about: &str) -> Value {
    json!({"type": "string", "format": "date-time", "description": about})
}

/// Returns a reference to a component.
pub fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// Adds a description to a schema, unless it is empty.
pub fn described(mut schema: Value, about: &str) -> Value {
    if !about.is_empty() {
        schema["description"] = json!(about);
    }
    schema
}

/// Returns a reference to an enumeration and adds the enumeration to the components.
pub fn enumeration(table: &'static Enumeration, found: &mut Components) -> Value {
    if !found.contains_key(table.name) {
        let schema = serde_json::to_value(table.schema()).unwrap_or_default();
        found.insert(table.name.to_owned(), schema);
    }
    reference(table.name)
}

/// Returns the schema of the object that a table reads.
pub fn object(table: &'static [Field], found: &mut Components) -> Value {
    let required: Vec<&str> = table
        .iter()
        .filter(|field| field.is_required)
        .map(|field| field.name)
        .collect();
    closed(properties(table, found), &required)
}

/// Returns the schema of the object that a table reads, with every field optional.
pub fn part(table: &'static [Field], found: &mut Components) -> Value {
    closed(properties(table, found), &[])
}

/// Returns the schemas of a table's fields, by name.
pub fn properties(table: &'static [Field], found: &mut Components) -> Value {
    let named = table
        .iter()
        .map(|field| (field.name.to_owned(), property(field, found)));
    Value::Object(named.collect())
}

/// Returns the query parameters that a table reads.
pub fn parameters(table: &'static [Field]) -> Vec<Value> {
    table.iter().map(parameter).collect()
}

fn parameter(field: &Field) -> Value {
    let mut parameter = json!({"name": field.name, "in": "query"});
    if field.is_required {
        parameter["required"] = json!(true);
    }
    parameter["description"] = json!(about(field));
    // Parameters refer to no components.
    parameter["schema"] = with_default(field, kind(field.kind, &mut Components::new()));
    if let Some(example) = field.example {
        parameter["example"] = json!(example);
    }
    parameter
}

/// Returns the schema of a field, with its description.
pub fn property(field: &Field, found: &mut Components) -> Value {
    let schema = with_default(field, kind(field.kind, found));
    described(schema, &about(field))
}

/// Returns the description of a field.
pub fn about(field: &Field) -> String {
    match field.about {
        About::Text(text) => text.to_owned(),
        About::Made(make) => make(),
    }
}

fn with_default(field: &Field, mut schema: Value) -> Value {
    match field.default {
        Some(DefaultValue::Integer(number)) => schema["default"] = json!(number),
        Some(DefaultValue::Word(word)) => schema["default"] = json!(word),
        None => {}
    }
    schema
}

/// Returns the schema of a kind.
pub fn kind(takes: FieldKind, found: &mut Components) -> Value {
    match takes {
        FieldKind::Text => json!({"type": "string"}),
        FieldKind::TextUpTo(most) => json!({"type": "string", "maxLength": most}),
        FieldKind::Words(most) => {
            json!({"type": "string", "minLength": 1, "maxLength": most, "pattern": NOT_BLANK_PATTERN})
        }
        FieldKind::Named(naming) => {
            json!({"type": "string", "minLength": 1, "maxLength": naming.chars_max})
        }
        FieldKind::Code(code) => json!({"type": "string", "pattern": code.pattern}),
        FieldKind::Address(most) => {
            json!({"type": "string", "format": "uri", "minLength": 1, "maxLength": most})
        }
        FieldKind::OneOf(allowed) => json!({"type": "string", "enum": allowed}),
        FieldKind::AnyOf(allowed) => {
            json!({"type": "array", "items": {"type": "string", "enum": allowed}})
        }
        FieldKind::Enum(table) => enumeration(table, found),
        FieldKind::Uuid => json!({"type": "string", "format": "uuid"}),
        FieldKind::Moment => moment(),
        FieldKind::Number => json!({"type": "number"}),
        FieldKind::Between(least, greatest) => {
            json!({"type": "number", "minimum": least, "maximum": greatest})
        }
        FieldKind::Integer(least, greatest) => {
            json!({"type": "integer", "minimum": least, "maximum": greatest})
        }
        FieldKind::IntegerOrNull(least, greatest) => {
            json!({"type": ["integer", "null"], "minimum": least, "maximum": greatest})
        }
        FieldKind::Flag => json!({"type": "boolean"}),
        FieldKind::Range => range(),
        FieldKind::Dates => {
            let date = described(moment(), DATE_RULE);
            closed(json!({"from": date, "to": date}), &[])
        }
        FieldKind::Place => place(),
        FieldKind::Area => area(found),
        FieldKind::Layer => layer(found),
        FieldKind::List(of) => list(kind(of.item, found), of.least, of.most),
        FieldKind::Object(table) => object(table, found),
        FieldKind::Model(name, _) | FieldKind::Later(name) => reference(name),
        FieldKind::Pair(fields) => {
            let numbers: Vec<Value> = fields.iter().map(|field| property(field, found)).collect();
            json!({"type": "array", "prefixItems": numbers, "items": {"type": "number"},
                "minItems": fields.len(), "maxItems": fields.len()})
        }
        FieldKind::Free(_) => json!({"type": "object"}),
        FieldKind::Own(own) => (own.schema)(found),
    }
}

/// Returns the schema of a list with a minimum and maximum number of items.
pub fn list(items: Value, least: usize, most: Option<usize>) -> Value {
    let mut schema = json!({"type": "array"});
    if least > 0 {
        schema["minItems"] = json!(least);
    }
    if let Some(most) = most {
        schema["maxItems"] = json!(most);
    }
    schema["items"] = items;
    schema
}

fn range() -> Value {
    let bound = |about: &str| described(json!({"type": "number"}), about);
    let (min, max) = (
        bound("Least value, included"),
        bound("Greatest value, included"),
    );
    closed(json!({"min": min, "max": max}), &[])
}

/// Returns the schema of a date or date-time.
pub fn moment() -> Value {
    json!({
        "type": "string",
        "anyOf": [{"format": "date"}, {"format": "date-time"}],
        "pattern": DAY_PATTERN,
    })
}

/// Returns the schema of a latitude or longitude, from -`most` to `most` degrees.
pub fn degrees(about: &str, most: i32) -> Value {
    json!({"type": "number", "minimum": -most, "maximum": most, "description": format!("{about}, degrees (WGS 84)")})
}

/// Name of the schema of polygons, which is added to the components with that of an area.
pub const POLYGONS: &str = "Polygons";

/// Returns a reference to the schema of an area in a filter, which is added to the components.
pub fn area(found: &mut Components) -> Value {
    const NAME: &str = "Area";
    if !found.contains_key(NAME) {
        let position = json!({
            "type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 3,
            "description": "Longitude, latitude in degrees (WGS 84); a height is ignored",
        });
        let ring = described(
            list(position, 4, None),
            "Positions of a ring; the last repeats the first",
        );
        let polygon = list(ring, 1, None);
        let rings = "The outer ring, then the holes";
        let geometry = |kind: &str, about: &str, coordinates: Value| {
            closed(
                json!({
                    "type": {"type": "string", "enum": [kind], "description": "Kind of the geometry"},
                    "coordinates": described(coordinates, about),
                }),
                &["type", "coordinates"],
            )
        };
        let about = format!(
            "GeoJSON Polygon or MultiPolygon of at most {VERTICES_MAX} vertices, whose rings do not cross. Edges are \
             straight in longitude and latitude; borders are included"
        );
        let polygons = [
            geometry("Polygon", rings, polygon.clone()),
            geometry(
                "MultiPolygon",
                "Polygons",
                list(described(polygon, rings), 1, None),
            ),
        ];
        let [one, several] = polygons.clone();
        found.insert(
            POLYGONS.to_owned(),
            described(json!({"oneOf": polygons}), &about),
        );
        let name = described(
            json!({"type": "string", "minLength": 1}),
            "Name of an area that the account stored",
        );
        let either = json!({"oneOf": [one, several, name, isochrone()]});
        let about =
            format!("{about}. Or the name of a stored area, or an area within reach of a position");
        found.insert(NAME.to_owned(), described(either, &about));
    }
    reference(NAME)
}

/// Returns a reference to the schema of a filter on a layer, which is added to the components.
pub fn layer(found: &mut Components) -> Value {
    const NAME: &str = "LayerFilter";
    if !found.contains_key(NAME) {
        let name = json!({"type": "string", "minLength": 1});
        let relation =
            json!({"type": "string", "enum": LAYER_RELATIONS, "default": LAYER_RELATIONS[0]});
        let meters = json!({"type": "number", "exclusiveMinimum": 0, "maximum": LAYER_METERS_MAX});
        let filter = closed(
            json!({
                "name": described(name, "Name of the layer; `GET /v2/protected/layers` lists the layers"),
                "relation": described(relation, "inside: in a polygon of the layer, border included. outside: in none. \
                    within: within a planar distance of a feature, boundary included"),
                "meters": described(meters, "Distance in metres: required with within, not allowed otherwise"),
            }),
            &["name"],
        );
        let about = "Relation of a position to a layer, which is geodata that the operator imported, such as flood \
                     zones or stations. Records without a position never match";
        found.insert(NAME.to_owned(), described(filter, about));
    }
    reference(NAME)
}

fn isochrone() -> Value {
    let pin = closed(
        json!({"lat": degrees("Latitude", 90), "lon": degrees("Longitude", 180)}),
        &["lat", "lon"],
    );
    let minutes = json!({"type": "number", "exclusiveMinimum": 0, "maximum": MINUTES_MAX});
    let mode = json!({"type": "string", "enum": Mode::ALL.map(Mode::as_str)});
    let isochrone = closed(
        json!({
            "pin": described(pin, "Where the way begins"),
            "minutes": described(minutes, "Time of travel, minutes"),
            "mode": described(mode, "By car or on foot"),
        }),
        &["pin", "minutes", "mode"],
    );
    let about = "Area that can be reached from a position, computed by a service for road networks";
    closed(
        json!({"isochrone": described(isochrone, about)}),
        &["isochrone"],
    )
}

fn place() -> Value {
    closed(
        json!({
            "lat": degrees("Latitude of the pin", 90),
            "lon": degrees("Longitude of the pin", 180),
            "distance": {"type": "string", "description": DISTANCE_RULE, "examples": ["500m", "1.5km"]},
        }),
        &["lat", "lon", "distance"],
    )
}
