//! Parses open-data bodies into requests, with the tables of their fields.
//!
//! The cursor is decoded only when the rest of the body is known, because it is bound to the query of that body.

use serde_json::Value;

use crate::dvf::place::{PARCELS, find_former_communes, parcel_today};
use crate::request::address::{ADDRESS, PLACE_PATH};
use crate::request::bodies::{AREA, LAYER, MATCH_SIZE_DEFAULT, SEARCH_SIZE_DEFAULT, bodies};
use crate::{Dataset, DatasetSearchRequest, MatchRequest, ScoringTarget, TargetValue};
use toise_contract::cursor::{CursorKey, query_digest};
use toise_contract::dates::DateOrInstant;
use toise_contract::fault::Fault;
use toise_contract::fields::{Taken, Values, read};
use toise_contract::filter::{Clause, ClauseTest, Filter, POSITION};
use toise_contract::walk::JsonPath;
use toise_geo::communes::{codes_within, postal_codes_within};
use toise_geo::plausible::{PositionFault, is_swapped};

/// Parses the body of a search; `cursors` decodes its cursor.
pub fn parse_search(
    dataset: Dataset,
    body: &Value,
    cursors: &CursorKey,
) -> Result<DatasetSearchRequest, Fault> {
    let at = JsonPath::Body;
    let bodies = bodies(dataset);
    let mut values = read(body, bodies.search, at)?;
    let mut request = DatasetSearchRequest {
        filter: filters(dataset, values.take("filters")),
        sort_by: values.word("sortBy").unwrap_or(bodies.sort_keys[0]),
        descending: values.word("sortOrder") != Some("asc"),
        size: values.take("size").unwrap_or(SEARCH_SIZE_DEFAULT),
        after: None,
    };
    refuse_swapped(&request.filter)?;
    if let Some(cursor) = values.take::<&str>("cursor") {
        let digest = query_digest(
            dataset.name(),
            &request.filter,
            request.sort_by,
            request.descending,
        );
        let position = cursors
            .decode(cursor, &digest)
            .map_err(|fault| JsonPath::Key(&at, "cursor").fault(fault))?;
        request.after = Some(position);
    }
    Ok(request)
}

/// Parses the search of an alert, `{filters?}`, found somewhere in a body. It takes the filters of a search.
///
/// # Errors
/// The first fault in document order, with its path in the body.
pub fn parse_saved_search(
    dataset: Dataset,
    value: &Value,
    at: JsonPath<'_>,
) -> Result<Filter, Fault> {
    let mut values = read(value, bodies(dataset).saved, at)?;
    let filter = filters(dataset, values.take("filters"));
    refuse_swapped(&filter).map_err(|fault| match at {
        JsonPath::Body => fault,
        at => fault.within(&at.fault("").path),
    })?;
    Ok(filter)
}

/// Parses one match body; the bulk command passes an object built from a portfolio row.
pub fn parse_match(dataset: Dataset, body: &Value) -> Result<MatchRequest, Fault> {
    read(body, bodies(dataset).matching, JsonPath::Body)
        .map(|values| match_request(dataset, values))
}

/// Parses the body of a `_many` call: `{items: [match body…]}`. A fault in one item rejects the whole call.
pub fn parse_match_many(dataset: Dataset, body: &Value) -> Result<Vec<MatchRequest>, Fault> {
    let mut values = read(body, bodies(dataset).matching_many, JsonPath::Body)?;
    let items: Vec<Values<'_>> = values.require("items")?;
    let requests = items
        .into_iter()
        .map(|values| match_request(dataset, values));
    Ok(requests.collect())
}

fn match_request(dataset: Dataset, mut values: Values<'_>) -> MatchRequest {
    let mut given: Option<Values<'_>> = values.take("filters");
    let address = given.as_mut().and_then(|given| given.take(ADDRESS));
    MatchRequest {
        filter: filters(dataset, given),
        address,
        targets: targets(values.take("scoring_targets")),
        size: values.take("size").unwrap_or(MATCH_SIZE_DEFAULT),
    }
}

fn filters(dataset: Dataset, values: Option<Values<'_>>) -> Filter {
    let given = values.into_iter().flatten();
    let clauses = given.filter_map(|(name, taken)| Some(clause(name, test(taken)?)));
    match dataset {
        Dataset::Dvf => find_former_communes(clauses.collect()),
        Dataset::Dpe => clauses.collect(),
    }
}

/// Returns the clause of a filter. Codes of Paris, Lyon and Marseille as a whole also find their arrondissements;
/// parcels are looked up under current codes, which sales have.
fn clause(name: &'static str, test: ClauseTest) -> Clause {
    let sought: fn(&str) -> Vec<String> = match name {
        "insee_code" | "code_insee_ban" => codes_within,
        "postal_code" | "code_postal_ban" => postal_codes_within,
        PARCELS => |id| vec![parcel_today(id.into()).into_owned()],
        AREA | LAYER => return Clause::new(POSITION, test),
        _ => return Clause::new(name, test),
    };
    let test = match test {
        ClauseTest::OneOf(codes) => {
            ClauseTest::OneOf(codes.iter().flat_map(|code| sought(code)).collect())
        }
        other => other,
    };
    Clause::new(name, test)
}

/// Refuses a position in a search if latitude and longitude seem to be swapped. A match checks more:
/// [`MatchRequest::check_place`].
fn refuse_swapped(filter: &Filter) -> Result<(), Fault> {
    let swapped = filter.iter().any(|clause| match clause.test {
        ClauseTest::Within { lat, lon, .. } => is_swapped(lat, lon),
        _ => false,
    });
    if swapped {
        return Err(Fault::new(
            PLACE_PATH,
            PositionFault::CoordinatesSwapped.to_string(),
        ));
    }
    Ok(())
}

/// Converts the value of a filter to its test; `None` if it constrains nothing.
fn test(taken: Taken<'_>) -> Option<ClauseTest> {
    match taken {
        Taken::Text(text) | Taken::Word(text) => Some(ClauseTest::OneOf(vec![text.to_owned()])),
        Taken::List(items) => any_of(items),
        Taken::Flag(flag) => Some(ClauseTest::Is(flag)),
        Taken::Range {
            min: None,
            max: None,
        }
        | Taken::Dates {
            from: None,
            to: None,
        } => None,
        Taken::Range { min, max } => Some(ClauseTest::Number { min, max }),
        Taken::Dates { from, to } => Some(ClauseTest::Day {
            from: from.map(DateOrInstant::first_day),
            to: to.map(DateOrInstant::last_day),
        }),
        Taken::Place { lat, lon, radius_m } => Some(ClauseTest::Within { lat, lon, radius_m }),
        Taken::Area(area) => Some(ClauseTest::InArea(area)),
        Taken::Layer(test) => Some(ClauseTest::InLayer(test)),
        _ => None,
    }
}

fn any_of(items: Vec<Taken<'_>>) -> Option<ClauseTest> {
    let mut chosen: Vec<String> = Vec::with_capacity(items.len());
    for item in items {
        if let Taken::Word(text) | Taken::Text(text) = item
            && !chosen.iter().any(|known| known == text)
        {
            chosen.push(text.to_owned());
        }
    }
    (!chosen.is_empty()).then_some(ClauseTest::OneOf(chosen))
}

fn targets(values: Option<Values<'_>>) -> Vec<ScoringTarget> {
    let given = values.into_iter().flatten();
    let targets = given.filter_map(|(column, taken)| {
        let goal = match taken {
            Taken::Number(number) => TargetValue::Number(number),
            Taken::Flag(flag) => TargetValue::Flag(flag),
            Taken::Word(word) => TargetValue::Text(word.to_owned()),
            _ => return None,
        };
        Some(ScoringTarget { column, goal })
    });
    targets.collect()
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
    fn an_order_is_taken_in_capitals_too() {
        for dataset in [Dataset::Dvf, Dataset::Dpe] {
            for (order, descending) in [
                ("asc", false),
                ("ASC", false),
                ("desc", true),
                ("DESC", true),
            ] {
                let body = json!({"sortOrder": order});
                let request = parse_search(dataset, &body, &CursorKey::new([7; 32])).unwrap();
                assert_eq!(request.descending, descending, "{order}");
            }
            let mixed = json!({"sortOrder": "Asc"});
            assert!(parse_search(dataset, &mixed, &CursorKey::new([7; 32])).is_err());
        }
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
        #[rustfmt::skip]
        let expected = vec![
            Clause::new("price_eur", ClauseTest::Number { min: Some(1.0), max: Some(2.5) }),
            Clause::new("transaction_date", ClauseTest::Day { from: Some(2), to: Some(4) }),
            Clause::new("property_type", ClauseTest::OneOf(vec!["Maison".into(), "Dépendance".into()])),
            Clause::new("postal_code", ClauseTest::OneOf(vec!["48000".into()])),
            Clause::new("is_new_build", ClauseTest::Is(false)),
            Clause::new("location", ClauseTest::Within { lat: 44.5, lon: 3.5, radius_m: 1_500.0 }),
        ];
        assert_eq!(request.filter, expected);
    }

    #[test]
    fn the_first_fault_in_document_order_is_reported_with_the_allowed_values() {
        #[rustfmt::skip]
        let cases = [
            (r#"[]"#, "body: must be an object"),
            (r#"{"filters": {"surface_m2": {"min": "a"}}, "size": 0}"#, "filters.surface_m2.min: must be a number"),
            (r#"{"size": 0, "filters": {"surface_m2": {"min": "a"}}}"#, "size: must be an integer between 1 and 100"),
            (r#"{"size": 101}"#, "size: must be an integer between 1 and 100"),
            (r#"{"size": 1.5}"#, "size: must be an integer between 1 and 100"),
            (r#"{"size": "20"}"#, "size: must be an integer between 1 and 100"),
            (r#"{"filters": {"surface_m2": {"max": 1, "min": 2}}}"#, "filters.surface_m2.min: must not be above max"),
            (
                r#"{"filters": {"surface_m2": {"gte": 1}}}"#,
                "filters.surface_m2.gte: unknown field; must be one of: min, max",
            ),
            (r#"{"filters": {"iris_type": ["H", "X"]}}"#, "filters.iris_type[1]: must be one of: H, A, D, Z"),
            (r#"{"filters": {"iris_type": "H"}}"#, "filters.iris_type: must be an array"),
            (r#"{"filters": {"postal_code": 48000}}"#, "filters.postal_code: must be a string"),
            (r#"{"filters": {"is_new_build": "true"}}"#, "filters.is_new_build: must be true or false"),
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
            (r#"{"filters": {"location": {"lat": 1, "lon": 1}}}"#, "filters.location.distance: is required"),
            (r#"{"sortOrder": "down"}"#, "sortOrder: must be one of: asc, desc"),
            (r#"{"cursor": 1}"#, "cursor: must be a string"),
        ];
        for (body, message) in cases {
            assert_eq!(search_fault(Dataset::Dvf, body), message, "{body}");
        }
        let message = search_fault(Dataset::Dvf, r#"{"filters": {"city": "Mende"}}"#);
        assert!(message.starts_with("filters.city: unknown field; must be one of: id, "));
    }

    #[test]
    fn the_code_of_a_divided_city_finds_its_arrondissements() {
        for (dataset, column, code, parts, last) in [
            (Dataset::Dvf, "insee_code", "75056", 20, "75120"),
            (Dataset::Dvf, "insee_code", "69123", 9, "69389"),
            (Dataset::Dvf, "postal_code", "13000", 16, "13016"),
            (Dataset::Dpe, "code_insee_ban", "13055", 16, "13216"),
            (Dataset::Dpe, "code_postal_ban", "69000", 9, "69009"),
            (Dataset::Dpe, "code_postal_ban", "75000", 21, "75116"),
        ] {
            let body = json!({"filters": {column: code}});
            let key = CursorKey::new([7; 32]);
            let searched = parse_search(dataset, &body, &key).unwrap().filter;
            assert_eq!(searched, parse_match(dataset, &body).unwrap().filter);
            let saved = parse_saved_search(dataset, &body, JsonPath::Body);
            assert_eq!(searched, saved.unwrap());
            let [
                Clause {
                    test: ClauseTest::OneOf(codes),
                    ..
                },
            ] = searched.as_slice()
            else {
                panic!("{searched:?}");
            };
            assert_eq!(codes.len(), 1 + parts, "{code}");
            assert_eq!((&*codes[0], &*codes[parts]), (code, last));
        }
    }

    #[test]
    fn parcels_and_buildings_are_sought_by_their_identifiers() {
        let key = CursorKey::new([7; 32]);
        let filter = |dataset, filters: Value| {
            let body = json!({ "filters": filters });
            parse_search(dataset, &body, &key).unwrap().filter
        };
        let one_of = |column: &'static str, ids: &[&str]| {
            let ids = ids.iter().map(|id| (*id).to_owned()).collect();
            vec![Clause::new(column, ClauseTest::OneOf(ids))]
        };
        let parcels = json!({"parcel_ids": ["85307000AB0012", "83137000CM0123", "83137000CM0123"]});
        assert_eq!(
            filter(Dataset::Dvf, parcels),
            one_of("parcel_ids", &["85001307AB0012", "83137000CM0123"])
        );
        let building = json!({"id_rnb": ["8XBEW7VVWG47"]});
        assert_eq!(
            filter(Dataset::Dpe, building),
            one_of("id_rnb", &["8XBEW7VVWG47"])
        );
        for empty in [json!({"parcel_ids": []}), json!({"parcel_ids": null})] {
            assert_eq!(filter(Dataset::Dvf, empty), Vec::new());
        }
        let message = search_fault(
            Dataset::Dvf,
            r#"{"filters": {"parcel_ids": ["83137000CM0123", "83137 CM 123"]}}"#,
        );
        assert_eq!(
            message,
            "filters.parcel_ids[1]: must be the identifier of a parcel, 14 characters, such as \"83137000CM0123\""
        );
        let message = search_fault(
            Dataset::Dvf,
            r#"{"filters": {"parcel_ids": "83137000CM0123"}}"#,
        );
        assert_eq!(message, "filters.parcel_ids: must be an array");
        let message = search_fault(
            Dataset::Dpe,
            r#"{"filters": {"id_rnb": ["8XBE-W7VV-WG47"]}}"#,
        );
        assert!(
            message.starts_with("filters.id_rnb[0]: must be the RNB identifier"),
            "{message}"
        );
    }

    #[test]
    fn a_search_refuses_a_place_with_swapped_coordinates() {
        let message = search_fault(
            Dataset::Dvf,
            r#"{"filters": {"location": {"lat": 2.35, "lon": 48.86, "distance": "1km"}}}"#,
        );
        assert!(
            message.starts_with("filters.location: coordinates_swapped?: "),
            "{message}"
        );
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
        assert_eq!(request.targets[1].goal, TargetValue::Flag(true));
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
        use crate::{CursorPosition, SortValue};
        let key = CursorKey::new([7; 32]);
        let body = json!({"filters": {"postal_code": "48000", "insee_code": "48095"}});
        let request = parse_search(Dataset::Dvf, &body, &key).unwrap();
        let digest = query_digest("dvf", &request.filter, request.sort_by, true);
        let position = CursorPosition {
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
