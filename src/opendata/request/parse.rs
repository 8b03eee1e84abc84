//! Parses open-data bodies in document order, up to the first fault.
//!
//! The cursor is read as a string first and opened only when the rest of the body is known, because it is bound to the
//! query of that body.

use serde_json::Value;

use crate::request::bodies::{
    FilterField, FilterKind, MATCH_ITEMS_MAX, MATCH_SIZE_DEFAULT, MATCH_SIZE_MAX,
    SEARCH_SIZE_DEFAULT, SEARCH_SIZE_MAX, SORT_ORDERS, TargetField, TargetKind, bodies,
};
use crate::{Dataset, Goal, MatchRequest, SearchRequest, Target};
use toise_contract::cursor::{CursorKey, question_digest};
use toise_contract::dates::{DATE_RULE, Moment};
use toise_contract::distances::{DISTANCE_RULE, parse_metres};
use toise_contract::fault::Fault;
use toise_contract::filter::{Clause, Filter, Test};
use toise_contract::walk::{At, flag, list, number, number_between, object, one_of, text};

const SEARCH_KEYS: [&str; 5] = ["filters", "sortBy", "sortOrder", "size", "cursor"];
const MATCH_KEYS: [&str; 3] = ["filters", "size", "scoring_targets"];

/// Parses the body of a search; `cursors` opens its cursor.
pub fn parse_search(
    dataset: Dataset,
    body: &Value,
    cursors: &CursorKey,
) -> Result<SearchRequest, Fault> {
    let at = At::Body;
    let bodies = bodies(dataset);
    let mut cursor = None;
    let mut request = SearchRequest {
        filter: Filter::new(),
        sort_by: bodies.sort_keys[0],
        descending: true,
        size: SEARCH_SIZE_DEFAULT,
        after: None,
    };
    for (key, value) in object(body, at)? {
        let here = At::Key(&at, key);
        match key.as_str() {
            "filters" => request.filter = filters(value, bodies.search_filters, here)?,
            "sortBy" => request.sort_by = one_of(value, bodies.sort_keys, here)?,
            "sortOrder" => request.descending = one_of(value, &SORT_ORDERS, here)? == "desc",
            "size" => request.size = size(value, SEARCH_SIZE_MAX, here)?,
            "cursor" => cursor = Some(text(value, here)?),
            _ => return Err(at.unknown_key(key, SEARCH_KEYS)),
        }
    }
    if let Some(cursor) = cursor {
        let digest = question_digest(
            dataset.name(),
            &request.filter,
            request.sort_by,
            request.descending,
        );
        let position = cursors
            .decode(cursor, &digest)
            .map_err(|fault| At::Key(&at, "cursor").fault(fault))?;
        request.after = Some(position);
    }
    Ok(request)
}

/// Parses one match body; the bulk command passes an object built from a portfolio row.
pub fn parse_match(dataset: Dataset, body: &Value) -> Result<MatchRequest, Fault> {
    match_body(dataset, body, At::Body)
}

/// Parses the body of a `_many` call: `{items: [match body…]}`. A fault in one item rejects the whole call.
pub fn parse_match_many(dataset: Dataset, body: &Value) -> Result<Vec<MatchRequest>, Fault> {
    let at = At::Body;
    let mut requests = None;
    for (key, value) in object(body, at)? {
        if key != "items" {
            return Err(at.unknown_key(key, ["items"]));
        }
        let here = At::Key(&at, key);
        let items = list(value, here)?;
        if items.is_empty() || items.len() > MATCH_ITEMS_MAX {
            return Err(here.fault(format!("must hold 1 to {MATCH_ITEMS_MAX} items")));
        }
        let parsed: Result<Vec<MatchRequest>, Fault> = items
            .iter()
            .enumerate()
            .map(|(index, item)| match_body(dataset, item, At::Index(&here, index)))
            .collect();
        requests = Some(parsed?);
    }
    requests.ok_or_else(|| At::Key(&at, "items").fault("is required"))
}

fn match_body(dataset: Dataset, body: &Value, at: At<'_>) -> Result<MatchRequest, Fault> {
    let bodies = bodies(dataset);
    let mut request = MatchRequest {
        filter: Filter::new(),
        targets: Vec::new(),
        size: MATCH_SIZE_DEFAULT,
    };
    for (key, value) in object(body, at)? {
        let here = At::Key(&at, key);
        match key.as_str() {
            "filters" => request.filter = filters(value, bodies.match_filters, here)?,
            "size" => request.size = size(value, MATCH_SIZE_MAX, here)?,
            "scoring_targets" => request.targets = targets(value, bodies.targets, here)?,
            _ => return Err(at.unknown_key(key, MATCH_KEYS)),
        }
    }
    Ok(request)
}

fn size(value: &Value, size_max: usize, at: At<'_>) -> Result<usize, Fault> {
    number_between(value, 1.0, size_max as f64, true, at).map(|size| size as usize)
}

fn filters(value: &Value, fields: &'static [FilterField], at: At<'_>) -> Result<Filter, Fault> {
    let mut filter = Filter::new();
    for (key, value) in object(value, at)? {
        let Some(field) = fields.iter().find(|field| field.name == key) else {
            return Err(at.unknown_key(key, fields.iter().map(|field| field.name)));
        };
        if let Some(test) = test(value, field.kind, At::Key(&at, key))? {
            filter.push(Clause::new(field.name, test));
        }
    }
    Ok(filter)
}

/// Parses the value of a filter; `None` if it constrains nothing.
fn test(value: &Value, kind: FilterKind, at: At<'_>) -> Result<Option<Test>, Fault> {
    match kind {
        FilterKind::Text => Ok(Some(Test::OneOf(vec![text(value, at)?.to_owned()]))),
        FilterKind::OneOf(allowed) => Ok(Some(Test::OneOf(vec![
            one_of(value, allowed, at)?.to_owned(),
        ]))),
        FilterKind::AnyOf(allowed) => any_of(value, allowed, at),
        FilterKind::Range => range(value, at),
        FilterKind::Dates => dates(value, at),
        FilterKind::Place => place(value, at).map(Some),
        FilterKind::Flag => Ok(Some(Test::Is(flag(value, at)?))),
    }
}

fn any_of(
    value: &Value,
    allowed: &'static [&'static str],
    at: At<'_>,
) -> Result<Option<Test>, Fault> {
    let mut chosen: Vec<String> = Vec::new();
    for (index, item) in list(value, at)?.iter().enumerate() {
        let item = one_of(item, allowed, At::Index(&at, index))?;
        if !chosen.iter().any(|known| known == item) {
            chosen.push(item.to_owned());
        }
    }
    Ok((!chosen.is_empty()).then_some(Test::OneOf(chosen)))
}

fn range(value: &Value, at: At<'_>) -> Result<Option<Test>, Fault> {
    let (mut min, mut max) = (None, None);
    for (key, value) in object(value, at)? {
        let bound = match key.as_str() {
            "min" => &mut min,
            "max" => &mut max,
            _ => return Err(at.unknown_key(key, ["min", "max"])),
        };
        *bound = Some(number(value, At::Key(&at, key))?);
    }
    match (min, max) {
        (None, None) => Ok(None),
        (Some(least), Some(greatest)) if least > greatest => {
            Err(At::Key(&at, "min").fault("must not be above max"))
        }
        (min, max) => Ok(Some(Test::Number { min, max })),
    }
}

fn dates(value: &Value, at: At<'_>) -> Result<Option<Test>, Fault> {
    let (mut from, mut to) = (None, None);
    for (key, value) in object(value, at)? {
        let bound = match key.as_str() {
            "from" => &mut from,
            "to" => &mut to,
            _ => return Err(at.unknown_key(key, ["from", "to"])),
        };
        let here = At::Key(&at, key);
        let moment = value
            .as_str()
            .and_then(Moment::parse)
            .ok_or_else(|| here.fault(DATE_RULE))?;
        *bound = Some(moment);
    }
    match (from, to) {
        (None, None) => Ok(None),
        (Some(first), Some(last)) if first.is_after(last) => {
            Err(At::Key(&at, "from").fault("must not be after to"))
        }
        (from, to) => Ok(Some(Test::Day {
            from: from.map(Moment::first_day),
            to: to.map(Moment::last_day),
        })),
    }
}

fn place(value: &Value, at: At<'_>) -> Result<Test, Fault> {
    let (mut lat, mut lon, mut radius_m) = (None, None, None);
    for (key, value) in object(value, at)? {
        let here = At::Key(&at, key);
        match key.as_str() {
            "lat" => lat = Some(number_between(value, -90.0, 90.0, false, here)?),
            "lon" => lon = Some(number_between(value, -180.0, 180.0, false, here)?),
            "distance" => {
                let metres = value
                    .as_str()
                    .and_then(parse_metres)
                    .ok_or_else(|| here.fault(DISTANCE_RULE))?;
                radius_m = Some(metres);
            }
            _ => return Err(at.unknown_key(key, ["lat", "lon", "distance"])),
        }
    }
    let missing = |key| At::Key(&at, key).fault("is required");
    Ok(Test::Within {
        lat: lat.ok_or_else(|| missing("lat"))?,
        lon: lon.ok_or_else(|| missing("lon"))?,
        radius_m: radius_m.ok_or_else(|| missing("distance"))?,
    })
}

fn targets(
    value: &Value,
    fields: &'static [TargetField],
    at: At<'_>,
) -> Result<Vec<Target>, Fault> {
    let mut targets = Vec::new();
    for (key, value) in object(value, at)? {
        let Some(field) = fields.iter().find(|field| field.name == key) else {
            return Err(at.unknown_key(key, fields.iter().map(|field| field.name)));
        };
        targets.push(Target {
            column: field.name,
            goal: goal(value, field.kind, At::Key(&at, key))?,
        });
    }
    Ok(targets)
}

fn goal(value: &Value, kind: TargetKind, at: At<'_>) -> Result<Goal, Fault> {
    match kind {
        TargetKind::Number => number(value, at).map(Goal::Number),
        TargetKind::Between(least, greatest) => {
            number_between(value, least, greatest, false, at).map(Goal::Number)
        }
        TargetKind::Integer(least, greatest) => {
            number_between(value, least, greatest, true, at).map(Goal::Number)
        }
        TargetKind::OneOf(allowed) => {
            one_of(value, allowed, at).map(|text| Goal::Text(text.to_owned()))
        }
        TargetKind::Flag => flag(value, at).map(Goal::Flag),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn search_fault(dataset: Dataset, body: &str) -> String {
        let body: Value = serde_json::from_str(body).unwrap();
        parse_search(dataset, &body, &CursorKey::new([7; 32]))
            .unwrap_err()
            .to_string()
    }

    fn match_fault(dataset: Dataset, body: Value) -> String {
        parse_match(dataset, &body).unwrap_err().to_string()
    }

    #[test]
    fn an_empty_body_uses_every_default() {
        let request = parse_search(Dataset::Dvf, &json!({}), &CursorKey::new([7; 32])).unwrap();
        assert_eq!(request.sort_by, "transaction_date");
        assert!(request.descending && request.filter.is_empty() && request.size == 20);
        let request = parse_match(Dataset::Dpe, &json!({})).unwrap();
        assert_eq!(request.size, 5);
    }

    #[test]
    fn each_kind_of_filter_becomes_its_test() {
        let body = json!({"filters": {
            "price_eur": {"min": 1, "max": 2.5},
            "transaction_date": {"from": "1970-01-02T01:00:00Z", "to": "1970-01-05"},
            "property_type": ["Maison", "Dépendance", "Maison"],
            "postal_code": "48000",
            "is_new_build": false,
            "location": {"lat": 44.5, "lon": 3.5, "distance": "1.5km"},
            "iris_type": [], "surface_m2": {},
        }});
        let request = parse_search(Dataset::Dvf, &body, &CursorKey::new([7; 32])).unwrap();
        let expected = vec![
            Clause::new(
                "price_eur",
                Test::Number {
                    min: Some(1.0),
                    max: Some(2.5),
                },
            ),
            Clause::new(
                "transaction_date",
                Test::Day {
                    from: Some(2),
                    to: Some(4),
                },
            ),
            Clause::new(
                "property_type",
                Test::OneOf(vec!["Maison".into(), "Dépendance".into()]),
            ),
            Clause::new("postal_code", Test::OneOf(vec!["48000".into()])),
            Clause::new("is_new_build", Test::Is(false)),
            Clause::new(
                "location",
                Test::Within {
                    lat: 44.5,
                    lon: 3.5,
                    radius_m: 1_500.0,
                },
            ),
        ];
        assert_eq!(request.filter, expected);
    }

    #[test]
    fn the_first_fault_in_document_order_is_reported_with_the_allowed_values() {
        let cases = [
            (r#"[]"#, "body: must be an object"),
            (
                r#"{"filters": {"surface_m2": {"min": "a"}}, "size": 0}"#,
                "filters.surface_m2.min: must be a number",
            ),
            (
                r#"{"size": 0, "filters": {"surface_m2": {"min": "a"}}}"#,
                "size: must be an integer between 1 and 100",
            ),
            (
                r#"{"size": 101}"#,
                "size: must be an integer between 1 and 100",
            ),
            (
                r#"{"size": 1.5}"#,
                "size: must be an integer between 1 and 100",
            ),
            (
                r#"{"size": null}"#,
                "size: must be an integer between 1 and 100",
            ),
            (
                r#"{"filters": {"surface_m2": {"max": 1, "min": 2}}}"#,
                "filters.surface_m2.min: must not be above max",
            ),
            (
                r#"{"filters": {"surface_m2": {"gte": 1}}}"#,
                "filters.surface_m2.gte: unknown field; must be one of: min, max",
            ),
            (
                r#"{"filters": {"iris_type": ["H", "X"]}}"#,
                "filters.iris_type[1]: must be one of: H, A, D, Z",
            ),
            (
                r#"{"filters": {"iris_type": "H"}}"#,
                "filters.iris_type: must be an array",
            ),
            (
                r#"{"filters": {"postal_code": 48000}}"#,
                "filters.postal_code: must be a string",
            ),
            (
                r#"{"filters": {"is_new_build": "true"}}"#,
                "filters.is_new_build: must be true or false",
            ),
            (
                r#"{"filters": {"transaction_date": {"from": "2024-02-01", "to": "2024-01-31"}}}"#,
                "filters.transaction_date.from: must not be after to",
            ),
            (
                r#"{"filters": {"location": {"lat": 91, "lon": 0, "distance": "1m"}}}"#,
                "filters.location.lat: must be a number between -90 and 90",
            ),
            (
                r#"{"filters": {"location": {"lat": 1, "lon": -181, "distance": "1m"}}}"#,
                "filters.location.lon: must be a number between -180 and 180",
            ),
            (
                r#"{"filters": {"location": {"lat": 1, "lon": 1}}}"#,
                "filters.location.distance: is required",
            ),
            (
                r#"{"sortOrder": "DESC"}"#,
                "sortOrder: must be one of: asc, desc",
            ),
            (r#"{"cursor": 1}"#, "cursor: must be a string"),
        ];
        for (body, message) in cases {
            assert_eq!(search_fault(Dataset::Dvf, body), message, "{body}");
        }
        let message = search_fault(Dataset::Dvf, r#"{"filters": {"city": "Mende"}}"#);
        assert!(message.starts_with("filters.city: unknown field; must be one of: id, "));
    }

    #[test]
    fn match_bodies_take_single_values_and_bounded_targets() {
        let message = match_fault(
            Dataset::Dpe,
            json!({"filters": {"type_batiment": ["maison"]}}),
        );
        assert_eq!(
            message,
            "filters.type_batiment: must be one of: appartement, maison, immeuble"
        );
        let message = match_fault(
            Dataset::Dpe,
            json!({"scoring_targets": {"numero_etage_appartement": -11}}),
        );
        assert_eq!(
            message,
            "scoring_targets.numero_etage_appartement: must be an integer between -10 and 200"
        );
        let message = match_fault(Dataset::Dvf, json!({"size": 21}));
        assert_eq!(message, "size: must be an integer between 1 and 20");
        let body = json!({"scoring_targets": {"price_eur": 200000, "is_new_build": true, "transaction_type": "Vente"}});
        let request = parse_match(Dataset::Dvf, &body).unwrap();
        assert_eq!(request.targets.len(), 3);
        assert_eq!(request.targets[1].goal, Goal::Flag(true));
    }

    #[test]
    fn a_fault_in_a_many_call_names_its_item() {
        let body = json!({"items": [{}, {"filters": {"surface_m2": {"min": "x"}}}]});
        let fault = parse_match_many(Dataset::Dvf, &body).unwrap_err();
        assert_eq!(fault.path, "items[1].filters.surface_m2.min");
        let fault = parse_match_many(Dataset::Dvf, &json!({"items": []})).unwrap_err();
        assert_eq!(fault.to_string(), "items: must hold 1 to 1000 items");
        let fault = parse_match_many(Dataset::Dvf, &json!({})).unwrap_err();
        assert_eq!(fault.to_string(), "items: is required");
    }

    #[test]
    fn a_cursor_opens_only_for_its_own_query() {
        use crate::{Position, SortValue};
        let key = CursorKey::new([7; 32]);
        let body = json!({"filters": {"postal_code": "48000", "insee_code": "48095"}});
        let request = parse_search(Dataset::Dvf, &body, &key).unwrap();
        let digest = question_digest("dvf", &request.filter, request.sort_by, true);
        let position = Position {
            value: Some(SortValue::Day(19_000)),
            id: "a1".into(),
            state: None,
        };
        let cursor = key.encode(&position, &digest);
        let same = json!({"size": 3, "cursor": cursor, "filters": {"insee_code": "48095", "postal_code": "48000"}});
        assert_eq!(
            parse_search(Dataset::Dvf, &same, &key).unwrap().after,
            Some(position)
        );
        let other = json!({"cursor": cursor, "filters": {"postal_code": "48000"}});
        let fault = parse_search(Dataset::Dvf, &other, &key).unwrap_err();
        assert_eq!(fault.path, "cursor");
    }
}
