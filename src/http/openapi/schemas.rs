//! Schemas of the OpenAPI document: bodies from the wire tables, records from the lake's schemas.

use serde_json::{Map, Value, json};

use super::{reference, type_name};
use toise_contract::fields::schema::about as about_field;
pub(super) use toise_contract::fields::schema::closed;
use toise_contract::fields::schema::{
    self, Components, count, degrees, instant, number, record, record_about, text,
};
use toise_geocode::resolve::Precision;
use toise_lake::schema::{ColumnKind, LATITUDE, LONGITUDE, RECORD};
use toise_opendata::history::{EventKind, Link};
use toise_opendata::placing::{LOCATION_PRECISION, LOCATION_PRECISION_ABOUT};
use toise_opendata::request::bodies::bodies;
use toise_opendata::{Dataset, dpe, dvf};

pub(super) fn search_request(dataset: Dataset) -> Value {
    schema::object(bodies(dataset).search, &mut Components::new())
}

pub(super) fn match_request(dataset: Dataset) -> Value {
    schema::object(bodies(dataset).matching, &mut Components::new())
}

/// Returns the schema of the body of a `_many` match.
pub(crate) fn match_many_request(dataset: Dataset) -> Value {
    schema::object(bodies(dataset).matching_many, &mut Components::new())
}

pub(super) fn search_response(dataset: Dataset) -> Value {
    record(json!({
        "data": {"type": "array", "items": reference(&format!("{}Record", type_name(dataset)))},
        "total": count("Number of all records that match"),
        "size": {"type": "integer", "minimum": 1, "description": "Page size requested, or the default"},
        "hasMore": {"type": "boolean", "description": "Whether more records follow this page"},
        "cursor?": text("Cursor of the next page; present if hasMore is true"),
    }))
}

/// Returns the schema of a page of the history of a parcel or of a building.
pub(super) fn history() -> Value {
    let records = [
        "DvfRecord",
        "DpeRecord",
        "LiteProperty",
        "LitePropertyAdvert",
    ]
    .map(reference);
    let event = record(json!({
        "date?": instant("Day of the sale, day on which the diagnostic was established, or day on which the \
            property or the advert was first seen"),
        "kind": {"type": "string", "enum": EventKind::NAMES, "description": "Kind of the record"},
        "link": {"type": "string", "enum": Link::NAMES,
            "description": "Why the record belongs to the place: it names the parcel (of the building), a parcel that \
                this one was made from, or the building (on the parcel), or an address or the position of a diagnostic \
                links it"},
        "score?": {"type": "number", "minimum": 0, "maximum": 1,
            "description": "For a diagnostic that names no building: how likely it belongs to this one"},
        "record": {"anyOf": records,
            "description": "The record, as a search returns it; properties and adverts in short form"},
    }));
    let ids =
        |about: &str| json!({"type": "array", "items": {"type": "string"}, "description": about});
    let building = record(json!({
        "id_rnb": text("Identifier of the building"),
        "status?": text("State as published, such as `constructed` or `demolished`"),
        "location": record_about("Position of the building",
            json!({"lat": number("Latitude, degrees"), "lon": number("Longitude, degrees")})),
        "ground_m2?": {"type": "number", "minimum": 0, "description": "Ground surface, m2"},
        "address_ids": ids("Identifiers of its addresses in the national address base"),
        "parcel_ids": ids("Parcels that it stands on, the one with most of it first"),
    }));
    record(json!({
        "id": text("Identifier of the place, as in the request"),
        "buildings?": {"type": "array", "items": building,
            "description": "The building, or the buildings on the parcel, from the register of buildings; absent if \
                            the register was not imported or has none"},
        "properties?": record_about("Properties whose adverts name an address of the place, the first seen first; \
            absent if there are none", json!({
            "items": {"type": "array", "items": reference("LiteProperty"), "description": "At most 20 of them"},
            "count": {"type": "integer", "minimum": 1, "description": "Number of all of them"},
        })),
        "formerParcels?": ids("Parcels that it was made from, directly or not, by the documents of filiation; absent \
            if there are none"),
        "laterParcels?": ids("Parcels that were made from it, directly or not; absent if there are none"),
        "events": {"type": "array", "items": event, "description": "Oldest event first; those without a date last"},
        "total": count("Number of events on all pages"),
        "hasMore": {"type": "boolean", "description": "Whether more events follow this page"},
        "cursor?": text("Cursor of the next page; present if hasMore is true"),
    }))
}

pub(super) fn match_response(dataset: Dataset) -> Value {
    let candidate = record(json!({
        "score": {"type": "number", "minimum": 0, "maximum": 100,
            "description": "Weighted mean of the similarities to the targets, rounded to one decimal"},
        "confidence": {"type": "string", "enum": ["HIGH", "MEDIUM", "LOW", "REJECT"],
            "description": "How certain it is that the candidate is the record sought"},
        (dataset.name()): reference(&format!("{}Record", type_name(dataset))),
    }));
    record(json!({
        "data": {"type": "array", "items": candidate, "description": "Candidates, best first"},
        "meta": record_about("About the whole ranking", json!({
            "ambiguous": {"type": "boolean", "description": "Whether the two best scores are 5 or less apart"},
            "total": count("Number of candidates that passed the filters"),
            "address?": super::geocoding::understood("How `filters.address` was understood, if it was given"),
        })),
    }))
}

/// Returns the schema of the record of a table: its columns, the position as one object, and the other fields of the
/// source.
pub(super) fn record_schema(dataset: Dataset) -> Value {
    let mut properties = Map::new();
    for column in &dataset.schema().columns {
        if [LATITUDE, LONGITUDE, RECORD].contains(&column.name.as_str()) {
            continue;
        }
        let mut schema = match column.kind {
            ColumnKind::Text | ColumnKind::Category => json!({"type": "string"}),
            ColumnKind::Number => json!({"type": "number"}),
            ColumnKind::Integer | ColumnKind::SmallInteger => json!({"type": "integer"}),
            ColumnKind::Date | ColumnKind::Moment => json!({"type": "string"}),
            ColumnKind::Flag => json!({"type": "boolean"}),
            ColumnKind::TextList | ColumnKind::CategoryList => {
                json!({"type": "array", "items": {"type": "string"}})
            }
            ColumnKind::Items(_) => json!({"type": "array", "items": {"type": "object"}}),
        };
        let form = match column.kind {
            ColumnKind::Date | ColumnKind::Moment => ", ISO 8601",
            _ => "",
        };
        schema["description"] = json!(format!("{}{form}", about(dataset, &column.name)));
        properties.insert(column.name.clone(), schema);
    }
    properties.insert(
        "location".into(),
        record_about(
            "Location",
            json!({"lat": degrees("Latitude", 90), "lon": degrees("Longitude", 180)}),
        ),
    );
    properties.insert(
        LOCATION_PRECISION.into(),
        json!({
            "type": "string",
            "enum": [Precision::Address.name(), Precision::Street.name()],
            "description": LOCATION_PRECISION_ABOUT,
        }),
    );
    json!({"type": "object", "required": [dataset.schema().id], "properties": properties})
}

/// Returns the description of a column: the text of its filter, otherwise the text of its source.
fn about(dataset: Dataset, name: &str) -> String {
    let filters = bodies(dataset).search_filters;
    if let Some(filter) = filters.iter().find(|filter| filter.name == name) {
        return about_field(filter);
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
