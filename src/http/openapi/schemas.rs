//! The schemas of the OpenAPI document: bodies from the wire tables, records from the lake's.

use serde_json::{Map, Value, json};

use super::{reference, type_name};
use crate::lake::schema::{Kind, LATITUDE, LONGITUDE, RECORD};
use crate::opendata::Dataset;
use crate::wire::dates::DATE_RULE;
use crate::wire::distances::DISTANCE_RULE;
use crate::wire::opendata::{
    FilterField, FilterKind, MATCH_SIZE_DEFAULT, MATCH_SIZE_MAX, SEARCH_SIZE_DEFAULT,
    SEARCH_SIZE_MAX, SORT_ORDERS, TargetField, TargetKind, bodies,
};

/// An object that takes these properties and no others.
pub(super) fn closed(properties: Value, required: &[&str]) -> Value {
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

fn size_schema(size_max: usize, default: usize) -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": size_max, "default": default})
}

pub(super) fn search_request(dataset: Dataset) -> Value {
    let bodies = bodies(dataset);
    closed(
        json!({
            "filters": filters_schema(bodies.search_filters),
            "sortBy": {"type": "string", "enum": bodies.sort_keys, "default": bodies.sort_keys[0],
                "description": "Rows without the value come last in both orders; ties by identifier"},
            "sortOrder": {"type": "string", "enum": SORT_ORDERS, "default": "desc"},
            "size": size_schema(SEARCH_SIZE_MAX, SEARCH_SIZE_DEFAULT),
            "cursor": {"type": "string",
                "description": "Cursor of a previous answer to the same filters and order; the size may differ"},
        }),
        &[],
    )
}

pub(super) fn match_request(dataset: Dataset) -> Value {
    let bodies = bodies(dataset);
    closed(
        json!({
            "filters": filters_schema(bodies.match_filters),
            "size": size_schema(MATCH_SIZE_MAX, MATCH_SIZE_DEFAULT),
            "scoring_targets": targets_schema(bodies.targets),
        }),
        &[],
    )
}

fn filters_schema(fields: &[FilterField]) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| {
            let mut schema = filter_schema(field.kind);
            schema["description"] = json!(field.about);
            (field.name.to_owned(), schema)
        })
        .collect();
    closed(Value::Object(properties), &[])
}

fn filter_schema(kind: FilterKind) -> Value {
    match kind {
        FilterKind::Text => json!({"type": "string"}),
        FilterKind::OneOf(allowed) => json!({"type": "string", "enum": allowed}),
        FilterKind::AnyOf(allowed) => {
            json!({"type": "array", "items": {"type": "string", "enum": allowed}})
        }
        FilterKind::Range => closed(
            json!({"min": {"type": "number"}, "max": {"type": "number"}}),
            &[],
        ),
        FilterKind::Dates => {
            let date = json!({
                "type": "string",
                "anyOf": [{"format": "date"}, {"format": "date-time"}],
                "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}",
                "description": DATE_RULE,
            });
            closed(json!({"from": date, "to": date}), &[])
        }
        FilterKind::Place => closed(
            json!({
                "lat": {"type": "number", "minimum": -90, "maximum": 90},
                "lon": {"type": "number", "minimum": -180, "maximum": 180},
                "distance": {"type": "string", "description": DISTANCE_RULE, "examples": ["500m", "1.5km"]},
            }),
            &["lat", "lon", "distance"],
        ),
        FilterKind::Flag => json!({"type": "boolean"}),
    }
}

fn targets_schema(fields: &[TargetField]) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| {
            let mut schema = match field.kind {
                TargetKind::Number => json!({"type": "number"}),
                TargetKind::Between(least, greatest) => {
                    json!({"type": "number", "minimum": least, "maximum": greatest})
                }
                TargetKind::Integer(least, greatest) => {
                    json!({"type": "integer", "minimum": least, "maximum": greatest})
                }
                TargetKind::OneOf(allowed) => json!({"type": "string", "enum": allowed}),
                TargetKind::Flag => json!({"type": "boolean"}),
            };
            schema["description"] = json!(field.about);
            (field.name.to_owned(), schema)
        })
        .collect();
    closed(Value::Object(properties), &[])
}

pub(super) fn search_answer(dataset: Dataset) -> Value {
    json!({
        "type": "object",
        "required": ["data", "total", "size", "hasMore"],
        "properties": {
            "data": {"type": "array", "items": reference(&format!("{}Record", type_name(dataset)))},
            "total": {"type": "integer", "minimum": 0, "description": "All records that match"},
            "size": {"type": "integer", "minimum": 1, "description": "Page size asked for, or its default"},
            "hasMore": {"type": "boolean"},
            "cursor": {"type": "string", "description": "Where the next page starts; present when hasMore"},
        },
    })
}

pub(super) fn match_answer(dataset: Dataset) -> Value {
    let mut candidate = json!({
        "type": "object",
        "required": ["score", "confidence", dataset.name()],
        "properties": {
            "score": {"type": "number", "minimum": 0, "maximum": 100},
            "confidence": {"type": "string", "enum": ["HIGH", "MEDIUM", "LOW", "REJECT"]},
        },
    });
    candidate["properties"][dataset.name()] = reference(&format!("{}Record", type_name(dataset)));
    json!({
        "type": "object",
        "required": ["data", "meta"],
        "properties": {
            "data": {"type": "array", "items": candidate},
            "meta": {
                "type": "object",
                "required": ["ambiguous", "total"],
                "properties": {
                    "ambiguous": {"type": "boolean", "description": "The two best scores are 5 or less apart"},
                    "total": {"type": "integer", "minimum": 0, "description": "Candidates that passed the filters"},
                },
            },
        },
    })
}

/// The record of a table: its columns, the position as one object, and whatever else the source publishes.
pub(super) fn record(dataset: Dataset) -> Value {
    let mut properties = Map::new();
    for column in &dataset.schema().columns {
        if [LATITUDE, LONGITUDE, RECORD].contains(&column.name.as_str()) {
            continue;
        }
        let schema = match column.kind {
            Kind::Text | Kind::Category => json!({"type": "string"}),
            Kind::Number => json!({"type": "number"}),
            Kind::Integer | Kind::SmallInteger => json!({"type": "integer"}),
            Kind::Date | Kind::Moment => json!({"type": "string", "description": "ISO 8601"}),
            Kind::Flag => json!({"type": "boolean"}),
            Kind::TextList | Kind::CategoryList => {
                json!({"type": "array", "items": {"type": "string"}})
            }
            Kind::Items(_) => json!({"type": "array", "items": {"type": "object"}}),
        };
        properties.insert(column.name.clone(), schema);
    }
    let degrees = json!({"type": "number"});
    properties.insert(
        "location".into(),
        json!({
            "type": "object",
            "required": ["lat", "lon"],
            "properties": {"lat": degrees, "lon": degrees},
        }),
    );
    json!({"type": "object", "properties": properties})
}
