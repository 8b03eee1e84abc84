//! The schemas of the OpenAPI document: bodies from the wire tables, records from the lake's.

use serde_json::{Map, Value, json};

use super::{reference, type_name};
use toise_contract::dates::DATE_RULE;
use toise_contract::distances::DISTANCE_RULE;
use toise_lake::schema::{Kind, LATITUDE, LONGITUDE, RECORD};
use toise_opendata::request::bodies::{
    FilterField, FilterKind, MATCH_SIZE_DEFAULT, MATCH_SIZE_MAX, SEARCH_SIZE_DEFAULT,
    SEARCH_SIZE_MAX, SORT_ORDERS, TargetField, TargetKind, bodies,
};
use toise_opendata::{Dataset, dpe, dvf};

/// An object that takes these properties and no others.
pub(crate) fn closed(properties: Value, required: &[&str]) -> Value {
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
    json!({"type": "integer", "minimum": 1, "maximum": size_max, "default": default,
        "description": "Records wanted at most"})
}

pub(super) fn search_request(dataset: Dataset) -> Value {
    let bodies = bodies(dataset);
    closed(
        json!({
            "filters": filters_schema(bodies.search_filters, "What a record must fulfil, every filter of it"),
            "sortBy": {"type": "string", "enum": bodies.sort_keys, "default": bodies.sort_keys[0],
                "description": "Rows without the value come last in both orders; ties by identifier"},
            "sortOrder": {"type": "string", "enum": SORT_ORDERS, "default": "desc",
                "description": "Direction of the order"},
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
            "filters": filters_schema(bodies.match_filters, "What a candidate must fulfil, every filter of it"),
            "size": size_schema(MATCH_SIZE_MAX, MATCH_SIZE_DEFAULT),
            "scoring_targets": targets_schema(bodies.targets),
        }),
        &[],
    )
}

fn filters_schema(fields: &[FilterField], about: &str) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| {
            let mut schema = filter_schema(field.kind);
            schema["description"] = json!(field.about);
            (field.name.to_owned(), schema)
        })
        .collect();
    let mut schema = closed(Value::Object(properties), &[]);
    schema["description"] = json!(about);
    schema
}

fn filter_schema(kind: FilterKind) -> Value {
    match kind {
        FilterKind::Text => json!({"type": "string"}),
        FilterKind::OneOf(allowed) => json!({"type": "string", "enum": allowed}),
        FilterKind::AnyOf(allowed) => {
            json!({"type": "array", "items": {"type": "string", "enum": allowed}})
        }
        FilterKind::Range => closed(
            json!({
                "min": {"type": "number", "description": "Least value, included"},
                "max": {"type": "number", "description": "Greatest value, included"},
            }),
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
                "lat": degrees("Latitude of the pin", 90),
                "lon": degrees("Longitude of the pin", 180),
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
    let mut schema = closed(Value::Object(properties), &[]);
    schema["description"] =
        json!("What the record sought is like; each target given takes part in the score");
    schema
}

pub(super) fn search_answer(dataset: Dataset) -> Value {
    json!({
        "type": "object",
        "required": ["data", "total", "size", "hasMore"],
        "properties": {
            "data": {"type": "array", "items": reference(&format!("{}Record", type_name(dataset)))},
            "total": {"type": "integer", "minimum": 0, "description": "All records that match"},
            "size": {"type": "integer", "minimum": 1, "description": "Page size asked for, or its default"},
            "hasMore": {"type": "boolean", "description": "Whether records follow this page"},
            "cursor": {"type": "string", "description": "Where the next page starts; present when hasMore"},
        },
    })
}

pub(super) fn match_answer(dataset: Dataset) -> Value {
    let mut candidate = json!({
        "type": "object",
        "required": ["score", "confidence", dataset.name()],
        "properties": {
            "score": {"type": "number", "minimum": 0, "maximum": 100,
                "description": "Weighted mean of the similarities per target, one decimal"},
            "confidence": {"type": "string", "enum": ["HIGH", "MEDIUM", "LOW", "REJECT"],
                "description": "How far the candidate can be taken for the record sought"},
        },
    });
    candidate["properties"][dataset.name()] = reference(&format!("{}Record", type_name(dataset)));
    json!({
        "type": "object",
        "required": ["data", "meta"],
        "properties": {
            "data": {"type": "array", "items": candidate, "description": "Candidates, best first"},
            "meta": {
                "type": "object",
                "description": "About the whole ranking",
                "required": ["ambiguous", "total"],
                "properties": {
                    "ambiguous": {"type": "boolean", "description": "The two best scores are 5 or less apart"},
                    "total": {"type": "integer", "minimum": 0, "description": "Candidates that passed the filters"},
                },
            },
        },
    })
}

/// An angle of a position.
fn degrees(about: &str, most: i32) -> Value {
    json!({"type": "number", "minimum": -most, "maximum": most, "description": format!("{about}, degrees (WGS 84)")})
}

/// The record of a table: its columns, the position as one object, and whatever else the source publishes.
pub(super) fn record(dataset: Dataset) -> Value {
    let mut properties = Map::new();
    for column in &dataset.schema().columns {
        if [LATITUDE, LONGITUDE, RECORD].contains(&column.name.as_str()) {
            continue;
        }
        let mut schema = match column.kind {
            Kind::Text | Kind::Category => json!({"type": "string"}),
            Kind::Number => json!({"type": "number"}),
            Kind::Integer | Kind::SmallInteger => json!({"type": "integer"}),
            Kind::Date | Kind::Moment => json!({"type": "string"}),
            Kind::Flag => json!({"type": "boolean"}),
            Kind::TextList | Kind::CategoryList => {
                json!({"type": "array", "items": {"type": "string"}})
            }
            Kind::Items(_) => json!({"type": "array", "items": {"type": "object"}}),
        };
        let form = match column.kind {
            Kind::Date | Kind::Moment => ", ISO 8601",
            _ => "",
        };
        schema["description"] = json!(format!("{}{form}", about(dataset, &column.name)));
        properties.insert(column.name.clone(), schema);
    }
    properties.insert(
        "location".into(),
        json!({
            "type": "object",
            "required": ["lat", "lon"],
            "properties": {"lat": degrees("Latitude", 90), "lon": degrees("Longitude", 180)},
            "description": "Where it is",
        }),
    );
    json!({"type": "object", "properties": properties})
}

/// What a column of a record holds: in the words of its filter, else of its source.
fn about(dataset: Dataset, name: &str) -> String {
    let filters = bodies(dataset).search_filters;
    if let Some(filter) = filters.iter().find(|filter| filter.name == name) {
        return filter.about.to_owned();
    }
    let of_sales = || {
        dvf::RECORD_ONLY_ABOUT
            .iter()
            .find(|(column, _)| *column == name)
    };
    let of_diagnostics = || {
        dpe::columns::all()
            .iter()
            .find(|column| column.name == name)
    };
    match dataset {
        Dataset::Dvf => of_sales().map_or_else(String::new, |(_, about)| (*about).to_owned()),
        Dataset::Dpe => of_diagnostics().map_or_else(String::new, |column| column.about()),
    }
}
