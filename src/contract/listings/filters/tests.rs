//! Each kind of fault with its path, and the clause of each kind of field.

use serde_json::{Value, json};

use super::model::{FieldType, leaves};
use super::*;
use crate::cursor::CursorKey;
use crate::enums::EnumSearchRequestSortBy;
use crate::fault::Fault;
use crate::filter::{Clause, ClauseTest};
use crate::position::{CursorPosition, SortValue};

fn key() -> CursorKey {
    CursorKey::new([7; 32])
}

fn search_of(filter: &str) -> String {
    format!(
        r#"{{"size": 10, "sortBy": "PRICE", "orderBy": "ASC", "search": {{"filterProperty": {filter}}}}}"#
    )
}

fn parsed(part: FieldSubset, body: &str) -> Result<PropertySearchRequest, Fault> {
    let body: Value = serde_json::from_str(body).unwrap();
    parse_search(part, &body, &key())
}

/// Returns the filter of a search, or its fault with the path relative to the filter.
fn filter(text: &str) -> Result<Vec<Clause>, String> {
    match parsed(FieldSubset::Whole, &search_of(text)) {
        Ok(request) => Ok(request.search.filter),
        Err(fault) => {
            let message = fault.to_string();
            let inner = message.strip_prefix("search.filterProperty");
            Err(inner.unwrap_or(&message).trim_start_matches('.').to_owned())
        }
    }
}

fn one_of(column: &'static str, texts: &[&str]) -> Clause {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    Clause::new(column, ClauseTest::OneOf(texts))
}

#[test]
fn each_kind_of_field_gives_its_clause() {
    let at_least = |column: &'static str, min: f64| {
        let test = ClauseTest::Number {
            min: Some(min),
            max: None,
        };
        Clause::new(column, test)
    };
    let cases = [
        (
            r#"{"isUrgent": false}"#,
            vec![Clause::new("is_urgent", ClauseTest::Is(false))],
        ),
        (
            r#"{"land": {"haveWater": true}}"#,
            vec![Clause::new("land_has_water", ClauseTest::Is(true))],
        ),
        (
            r#"{"habitation": {"surface": {"livingroom": {"min": 20.5}}, "type": "PROPERTY_TYPE_T2"}}"#,
            vec![
                at_least("habitation_surface_living_room", 20.5),
                one_of("habitation_type", &["PROPERTY_TYPE_T2"]),
            ],
        ),
        (
            r#"{"habitation": {"heatTypes": ["HEAT_TYPE_MIXED", "HEAT_TYPE_MIX"]}}"#,
            vec![one_of("habitation_heat_types", &["HEAT_TYPE_MIX"])],
        ),
        (
            r#"{"meta": {"firstSeenAt": {"min": "1970-01-01T01:00:00+01:00", "max": "1970-01-02"}}}"#,
            vec![Clause::new(
                "meta_first_seen_at",
                ClauseTest::Moment {
                    from: Some(0),
                    to: Some(2 * 86_400_000 - 1),
                },
            )],
        ),
        (
            r#"{"adverts": [{"flxId": ["019A53C0-7A55-7C40-8A11-0A5E5F6B7C81"], "source": {"website": "a.example"}}]}"#,
            vec![Clause::new(
                "adverts",
                ClauseTest::SomeItem(vec![
                    one_of("flx_id", &["019a53c0-7a55-7c40-8a11-0a5e5f6b7c81"]),
                    one_of("source", &["a.example"]),
                ]),
            )],
        ),
        (
            r#"{"location": [{"postalCode": "48000"}, {"postalCode": "48100"}]}"#,
            vec![one_of("location_postal_code", &["48000", "48100"])],
        ),
        (
            r#"{"location": [{"department": "2A"},
                {"locationCoordinate": {"location": 
                    {"geoDistance": {"pin": {"lat": 44.5, "lon": 3.5}, "distanceKm": 0.5}}}}]}"#,
            vec![Clause::new(
                "",
                ClauseTest::Any(vec![
                    vec![one_of("location_department", &["2A"])],
                    vec![Clause::new(
                        "location",
                        ClauseTest::Within {
                            lat: 44.5,
                            lon: 3.5,
                            radius_m: 500.0,
                        },
                    )],
                ]),
            )],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(filter(text), Ok(expected), "{text}");
    }
}

#[test]
fn empty_conditions_give_no_clause() {
    for text in [
        "{}",
        r#"{"type": [], "adverts": [], "habitation": {"roomCount": {}, "characteristics": {}}, "location": []}"#,
        r#"{"location": [{"city": null}, {"postalCode": "48000"}]}"#,
        r#"{"adverts": [{}, {"isOnline": true}]}"#,
        r#"{"location": [{"cityCoordinate": {"location": {}}}]}"#,
    ] {
        assert_eq!(filter(text), Ok(Vec::new()), "{text}");
    }
}

#[test]
#[rustfmt::skip]
fn each_kind_of_fault_has_its_path_and_what_is_allowed() {
    let pin = r#"{"lat": 44.5, "lon": 3.5}"#;
    let around = |shape: &str| format!(r#"{{"location": [{{"locationCoordinate": {{"location": {shape}}}}}]}}"#);
    let at = "location[0].locationCoordinate.location";
    let boxed = |top: &str, bottom: &str| {
        around(&format!(r#"{{"geoBoundingBox": {{"topLeft": {top}, "bottomRight": {bottom}}}}}"#))
    };
    let cases: Vec<(String, String)> = [
        ("[]", "must be an object"),
        (r#"{"price": {"latest": {"value": {"min": 2, "max": 1}}}}"#, "price.latest.value.min: must not be above max"),
        (r#"{"price": {"latest": {"value": {"min": "2"}}}}"#, "price.latest.value.min: must be a number"),
        (r#"{"price": {"latest": {"value": {"gte": 2}}}}"#,
            "price.latest.value.gte: unknown field; must be one of: min, max"),
        (r#"{"tags": [null]}"#, "tags[0]: must be a string"),
        (r#"{"isUrgent": "true"}"#, "isUrgent: must be true or false"),
        (r#"{"type": "CLASS_FLAT"}"#, "type: must be an array"),
        (r#"{"tags": ["a", 1]}"#, "tags[1]: must be a string"),
        (r#"{"offer": [{"type": "OFFER_SELL"}]}"#,
            "offer[0].type: must be one of: OFFER_UNKNOWN, OFFER_BUY, OFFER_RENT, OFFER_BUSINESS_TAKE_OVER, \
             OFFER_LEASE_BACK, OFFER_LIFE_ANNUITY_SALE, OFFER_HOLIDAYS, OFFER_AUCTION"),
        (r#"{"meta": {"lastSeenAt": {"min": "2026-01-02", "max": "2026-01-01"}}}"#,
            "meta.lastSeenAt.min: must not be after max"),
        (r#"{"meta": {"lastSeenAt": {"min": "hier"}}}"#,
            "meta.lastSeenAt.min: must be an ISO 8601 date or date-time, such as \"2024-05-31\" or \
             \"2024-05-31T08:00:00+02:00\""),
        (r#"{"land": {"hasWater": true}}"#,
            "land.hasWater: unknown field; must be one of: canConstruct, isServiced, surface, surfaceConstructable, \
             type, haveBuildingPermit, haveElectricity, haveTelecom, haveWater"),
        (r#"{"habitation": {"propertyCondition": [{"constructionYear": 1990.5}]}}"#,
            "habitation.propertyCondition[0].constructionYear: must be an integer between 1 and 2200"),
        (r#"{"location": {"postalCode": "48000"}}"#, "location: must be an array"),
        (r#"{"location": [{"postalCode": "4800"}]}"#, "location[0].postalCode: must be five digits"),
        (r#"{"location": [{"department": "20"}]}"#,
            "location[0].department: must be the code of a French department, such as \"48\", \"2A\" or \"971\""),
        (r#"{"adverts": [{}, {"seller": [{"siren": 1}]}]}"#, "adverts[1].seller[0].siren: must be nine digits"),
        (r#"{"adverts": [{"flxId": ["x"]}]}"#,
            "adverts[0].flxId[0]: must be a UUID, such as \"019a53c0-7a55-7c40-8a11-0a5e5f6b7c81\""),
    ]
    .into_iter()
    .map(|(text, message)| (text.to_owned(), message.to_owned()))
    .chain([
        (r#"{"location": [{"city": ["anything", 1, null]}]}"#.to_owned(),
            "location[0].city: is not searched, and nothing else is given: use inseeCode".to_owned()),
        (r#"{"location": [{"department": "48"}, {"locationCoordinate": {}, "city": "Mende"}]}"#.to_owned(),
            "location[1].city: is not searched, and nothing else is given: use inseeCode; Mende is 48095 \
             (postal code 48000)".to_owned()),
        (around(&format!(r#"{{"geoDistance": {{"pin": {pin}, "distanceKm": 0}}}}"#)),
            format!("{at}.geoDistance.distanceKm: must be a number above 0")),
        (around(&format!(r#"{{"geoDistance": {{"pin": {pin}}}}}"#)),
            format!("{at}.geoDistance.distanceKm: is required")),
        (around(r#"{"geoDistance": {"pin": [3.5, 44.5], "distanceKm": 1}}"#),
            format!("{at}.geoDistance.pin: must be an object")),
        (around(r#"{"geoDistance": {"pin": {"lat": 91, "lon": 0}, "distanceKm": 1}}"#),
            format!("{at}.geoDistance.pin.lat: must be a number between -90 and 90")),
        (around(r#"{"polygon": []}"#),
            format!("{at}.polygon: unknown field; must be one of: geoBoundingBox, geoDistance, geoInseeCodeDistance, area, layer")),
        (around(r#"{"area": {"type": "Polygon", "coordinates": [[[2, 48], [3, 49], [3, 48], [2, 49], [2, 48]]]}}"#),
            format!("{at}.area.coordinates[0][2]: the border crosses itself after this vertex")),
        (around(r#"{"area": {"type": "Point", "coordinates": [2, 48]}}"#),
            format!("{at}.area.type: must be Polygon or MultiPolygon")),
        (around(r#"{"geoInseeCodeDistance": {"inseeCode": "48999", "distanceKm": 1}}"#),
            format!("{at}.geoInseeCodeDistance.inseeCode: there is no such commune")),
        (around(r#"{"geoInseeCodeDistance": {"inseeCode": "Bar-sur-Aube", "distanceKm": 1}}"#),
            format!("{at}.geoInseeCodeDistance.inseeCode: must be an INSEE code of five characters, such as \"48095\" \
                or \"2A004\"; Bar-sur-Aube is 10033 (postal code 10200)")),
        (boxed(pin, r#"{"lat": 45, "lon": 4}"#),
            format!("{at}.geoBoundingBox.topLeft.lat: must be above bottomRight.lat")),
        (boxed(pin, r#"{"lat": 44, "lon": 3}"#),
            format!("{at}.geoBoundingBox.topLeft.lon: must be below bottomRight.lon")),
        (boxed(pin, pin), format!("{at}.geoBoundingBox.topLeft.lat: must be above bottomRight.lat")),
        (around(&format!(r#"{{"geoBoundingBox": {{"topLeft": {pin}}}}}"#)),
            format!("{at}.geoBoundingBox.bottomRight: is required")),
        (format!(r#"{{"tags": [{}"a"]}}"#, r#""a","#.repeat(1_000)), "tags: must hold at most 1000 items".to_owned()),
        (format!(r#"{{"tags": ["{}"]}}"#, "é".repeat(2_049)), "tags[0]: must not exceed 2048 characters".to_owned()),
    ])
    .collect();
    for (text, message) in cases {
        let found = filter(&text).unwrap_err();
        assert_eq!(found.trim_start_matches(": "), message, "{text}");
    }
    let fault = filter(r#"{"city": "Mende"}"#).unwrap_err();
    assert!(fault.starts_with("city: unknown field; must be one of: adverts, habitation, "));
}

#[test]
fn the_first_fault_in_document_order_is_reported() {
    let first = r#"{"isUrgent": 1, "hasAnomaly": 2}"#;
    assert_eq!(
        filter(first).unwrap_err(),
        "isUrgent: must be true or false"
    );
    let second = r#"{"hasAnomaly": 2, "isUrgent": 1}"#;
    assert_eq!(
        filter(second).unwrap_err(),
        "hasAnomaly: must be true or false"
    );
}

#[test]
#[rustfmt::skip]
fn bodies_require_their_keys_and_limit_sizes_and_texts() {
    let whole = |size: &str, search: &str| {
        format!(r#"{{"size": {size}, "sortBy": "PRICE", "orderBy": "ASC", "search": {search}}}"#)
    };
    let cases = [
        (FieldSubset::Whole, "{}".to_owned(), "size: is required"),
        (FieldSubset::Whole, r#"{"size": 1, "orderBy": "ASC"}"#.to_owned(), "sortBy: is required"),
        (FieldSubset::Whole, r#"{"size": 1, "sortBy": "PRICE", "orderBy": "up"}"#.to_owned(),
            "orderBy: must be one of: ASC, DESC"),
        (FieldSubset::Whole, r#"{"sortBy": "price"}"#.to_owned(),
            "sortBy: must be one of: FIRST_SEEN_AT, PRICE, LAST_UPDATED_AT, LAST_SEEN_AT, RELEVANCE"),
        (FieldSubset::Whole, whole("0", "{}"), "size: must be an integer between 1 and 100"),
        (FieldSubset::Whole, whole("101", "{}"), "size: must be an integer between 1 and 100"),
        (FieldSubset::Lite, whole("26", "{}"), "size: must be an integer between 1 and 25"),
        (FieldSubset::Whole, whole("1", "{}"), "search.filterProperty: is required"),
        (FieldSubset::Whole, whole("1", r#"{"filterAd": {}}"#),
            "search.filterAd: unknown field; must be one of: filterProperty, keywords, fullTexts"),
        (FieldSubset::Whole, whole("1", &format!(r#"{{"keywords": [{}"a"]}}"#, r#""a","#.repeat(20))),
            "search.keywords: must hold at most 20 items"),
        (FieldSubset::Whole, whole("1", r#"{"filterProperty": {}, "fullTexts": ["a", " "]}"#),
            "search.fullTexts[1]: must hold 1 to 200 characters, not only spaces"),
        (FieldSubset::Whole, whole("1", &format!(r#"{{"filterProperty": {{}}, "fullTexts": ["{}l'été", "mer"]}}"#, "a ".repeat(62))),
            "search.fullTexts: must hold at most 64 words in all; these are 65"),
        (FieldSubset::Whole, r#"{"from": 1}"#.to_owned(),
            "from: unknown field; must be one of: size, sortBy, orderBy, search, searchAfterHash"),
    ];
    for (part, body, message) in cases {
        assert_eq!(parsed(part, &body).unwrap_err().to_string(), message, "{body}");
    }
}

#[test]
fn lite_searches_accept_only_their_part_of_the_filter() {
    let lite: Vec<String> = leaves(ListingKind::Property.filter_model(), FieldSubset::Lite)
        .into_iter()
        .map(|leaf| leaf.path)
        .filter(|path| !path.starts_with("habitation.characteristics."))
        .collect();
    let expected = [
        "habitation.bedroomCount",
        "habitation.floor",
        "habitation.climate.epcClimate",
        "habitation.climate.epcEnergy",
        "habitation.features.furniture",
        "habitation.features.propertyFloor",
        "habitation.features.propertyTotalFloor",
        "habitation.propertyCondition[].constructionYear",
        "habitation.propertyCondition[].interiorCondition",
        "habitation.propertyCondition[].renovationYear",
        "habitation.propertyCondition[].generalConditions",
        "habitation.roomCount",
        "habitation.surface.total",
        "land.surface",
        "location[].cityCoordinate",
        "location[].department",
        "location[].inseeCode",
        "location[].irisCode",
        "location[].locationCoordinate",
        "location[].postalCode",
        "meta.firstSeenAt",
        "meta.isTotallyOffline",
        "meta.lastPublishedAt",
        "meta.lastSeenAt",
        "meta.lastUpdatedAt",
        "price.latest.source.flxId",
        "price.latest.source.url",
        "price.latest.source.website",
        "price.latest.value",
        "price.latest.valuePerArea",
        "type",
        "offer[].isCurrentlyOccupied",
        "offer[].renting.isColocation",
        "offer[].renting.isLongTerm",
        "offer[].renting.isShortTerm",
        "offer[].renting.isSubLease",
        "offer[].type",
    ];
    assert_eq!(lite, expected);
    assert!(
        parsed(
            FieldSubset::Lite,
            &search_of(r#"{"habitation": {"roomCount": {"min": 2}}}"#)
        )
        .is_ok()
    );
    let fault = parsed(
        FieldSubset::Lite,
        &search_of(r#"{"habitation": {"wcCount": {}}}"#),
    )
    .unwrap_err();
    assert_eq!(
        fault.to_string(),
        "search.filterProperty.habitation.wcCount: unknown field; must be one of: bedroomCount, floor, \
         characteristics, climate, features, propertyCondition, roomCount, surface"
    );
    let fault = parsed(FieldSubset::Lite, &search_of(r#"{"adverts": []}"#)).unwrap_err();
    assert_eq!(fault.path, "search.filterProperty.adverts");
}

#[test]
#[rustfmt::skip]
fn advert_filters_have_one_place_and_lists_of_moments() {
    let query = |filter: Value| {
        parse_search_query(ListingKind::Advert, &json!({ "filterAd": filter }))
            .map_err(|fault| fault.to_string())
    };
    let range = |day: i64| ClauseTest::Moment {
        from: Some(day * 86_400_000),
        to: None,
    };
    assert_eq!(
        query(json!({"firstSeenAt": [{"min": "1970-01-02"}, {"min": "1970-01-03"}],
            "location": {"department": "48", "city": "x"}, "currentPrice": {"value": {"max": 2}}})),
        Ok(vec![
            Clause::new("", ClauseTest::Any(vec![
                vec![Clause::new("first_seen_at", range(1))],
                vec![Clause::new("first_seen_at", range(2))],
            ])),
            one_of("location_department", &["48"]),
            Clause::new("current_price_value", ClauseTest::Number { min: None, max: Some(2.0) }),
        ])
    );
    let fault = query(json!({"location": [{"department": "48"}]})).unwrap_err();
    assert_eq!(fault, "search_query.filterAd.location: must be an object");
    let fault = query(json!({"price": {}})).unwrap_err();
    assert!(fault.starts_with("search_query.filterAd.price: unknown field"), "{fault}");
    let fault = parse_search_query(ListingKind::Property, &json!({"filterAd": {}})).unwrap_err();
    assert_eq!(fault.to_string(), "search_query.filterAd: unknown field; must be one of: filterProperty, keywords, fullTexts");
    let fault = parse_search_query(ListingKind::Advert, &json!({})).unwrap_err();
    assert_eq!(fault.to_string(), "search_query.filterAd: is required");
}

#[test]
fn identifiers_stay_in_the_order_of_the_request() {
    let ids = [
        "019a53c0-7a55-7c40-8a11-0a5e5f6b7c81",
        "00000000-0000-0000-0000-000000000001",
    ];
    let in_object = parse_many(&json!({ "flxIds": ids })).unwrap();
    assert_eq!(parse_many(&json!(ids)).unwrap(), in_object);
    assert_eq!(in_object[1].as_u128(), 1);
    let fault = |body: Value| parse_many(&body).unwrap_err().to_string();
    assert_eq!(fault(json!([])), "body: must hold 1 to 100 items");
    assert_eq!(
        fault(json!({"flxIds": vec![ids[0]; 101]})),
        "flxIds: must hold 1 to 100 items"
    );
    assert!(fault(json!([ids[0], "x"])).starts_with("[1]: must be a UUID"));
    assert_eq!(fault(json!({})), "flxIds: is required");
    assert_eq!(fault(json!("x")), "body: must be an object or an array");

    let similars = json!({"flxId": ids[0], "similarityStrategy": "SEARCH", "size": 5});
    assert_eq!(parse_similars(&similars).unwrap().size, 5);
    let fault = parse_similars(&json!({"flxId": ids[0], "size": 5})).unwrap_err();
    assert_eq!(fault.to_string(), "similarityStrategy: is required");
}

#[test]
fn counts_and_analytics_contain_a_search() {
    let search = json!({"filterProperty": {"isUrgent": true}, "keywords": ["mer"]});
    let count = parse_count(&json!({ "search": search })).unwrap();
    assert_eq!(
        count.filter,
        [Clause::new("is_urgent", ClauseTest::Is(true))]
    );
    assert_eq!(count.keywords, ["mer"]);
    let body = json!({"search": search, "studiedData": "PRICE_PER_AREA"});
    assert_eq!(parse_analytics(&body).unwrap().search, count);
    let fault = parse_analytics(&json!({"search": search, "studiedData": "ROOMS"})).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "studiedData: must be one of: PRICE, PRICE_PER_AREA, SURFACE, TIME_ON_MARKET"
    );
}

#[test]
fn a_cursor_is_valid_only_for_its_own_query() {
    let body = |search: Value, cursor: Option<&str>| {
        let mut body = json!({"size": 10, "sortBy": "PRICE", "orderBy": "DESC", "search": search});
        if let Some(cursor) = cursor {
            body["searchAfterHash"] = cursor.into();
        }
        body
    };
    let asked =
        json!({"filterProperty": {"type": ["CLASS_FLAT", "CLASS_HOUSE"]}, "keywords": ["mer"]});
    let request = parse_search(FieldSubset::Whole, &body(asked.clone(), None), &key()).unwrap();
    assert_eq!(request.sort_by, EnumSearchRequestSortBy::Price);
    let position = CursorPosition {
        value: Some(SortValue::Number(250_000.0)),
        id: "019a53c0-7a55-7c40-8a11-0a5e5f6b7c81".into(),
        state: None,
    };
    let cursor = key().encode(&position, &request.digest(ListingKind::Property));
    let again = parse_search(FieldSubset::Whole, &body(asked, Some(&cursor)), &key()).unwrap();
    assert_eq!(again.after, Some(position));
    for other in [
        json!({"filterProperty": {"type": ["CLASS_FLAT"]}, "keywords": ["mer"]}),
        json!({"filterProperty": {"type": ["CLASS_FLAT", "CLASS_HOUSE"]}}),
        json!({"filterProperty": {"type": ["CLASS_FLAT", "CLASS_HOUSE"]}, "fullTexts": ["mer"]}),
    ] {
        let fault =
            parse_search(FieldSubset::Whole, &body(other, Some(&cursor)), &key()).unwrap_err();
        assert_eq!(fault.path, "searchAfterHash");
    }
}

#[test]
fn leaves_give_the_column_they_constrain() {
    let leaves = leaves(ListingKind::Property.filter_model(), FieldSubset::Whole);
    let column = |path: &str| {
        let leaf = leaves.iter().find(|leaf| leaf.path == path);
        leaf.unwrap_or_else(|| panic!("{path}")).column.as_str()
    };
    assert_eq!(
        column("adverts[].price.initial.source.url"),
        "adverts.price_initial_source_url"
    );
    assert_eq!(column("adverts[].source.flxId"), "adverts.flx_id");
    assert_eq!(column("adverts[].location"), "adverts.location");
    assert_eq!(column("location[].cityCoordinate"), "city");
    assert_eq!(
        column("land.haveBuildingPermit"),
        "land_has_building_permit"
    );
    assert!(
        leaves
            .iter()
            .all(|leaf| !matches!(leaf.takes, FieldType::TownName))
    );
}

#[test]
fn a_null_asks_for_nothing_and_the_order_is_written_in_either_case() {
    let absent = [
        r#"{"price": null}"#,
        r#"{"isUrgent": null, "location": null}"#,
        r#"{"price": {"latest": {"value": {"min": null, "max": null}}}}"#,
        r#"{"location": [{"locationCoordinate": {"location": null}, "cityCoordinate": {"location": null}}]}"#,
        r#"{"location": [{"cityCoordinate": {"location": {"geoDistance": null}}}]}"#,
        r#"{"adverts": [{"location": {"geoBoundingBox": null, "geoDistance": null, "geoInseeCodeDistance": null}}]}"#,
    ];
    for filter in absent {
        let query = serde_json::from_str(&format!(r#"{{"filterProperty": {filter}}}"#)).unwrap();
        assert!(
            parse_search_query(ListingKind::Property, &query)
                .unwrap()
                .is_empty()
        );
    }
    for leaf in leaves(ListingKind::Property.filter_model(), FieldSubset::Whole) {
        let mut steps: Vec<&str> = leaf.path.split('.').collect();
        // A null at every prefix of the path, the whole path first.
        while !steps.is_empty() {
            let nothing = steps.iter().rev().fold(Value::Null, |inner, step| {
                match step.strip_suffix("[]").filter(|_| !inner.is_null()) {
                    Some(list) => json!({ list: [inner] }),
                    None => json!({ (step.trim_end_matches("[]")): inner }),
                }
            });
            assert_eq!(filter(&nothing.to_string()), Ok(Vec::new()), "{nothing}");
            steps.pop();
        }
    }
    let [with_nulls, alone] = [
        r#", "geoBoundingBox": null, "geoInseeCodeDistance": null"#,
        "",
    ]
    .map(|nulls| {
        filter(&format!(
            r#"{{"location": [{{"locationCoordinate": {{"location": {{"geoDistance":
                {{"pin": {{"lat": 44.5, "lon": 3.5}}, "distanceKm": 1}}{nulls}}}}}}}]}}"#
        ))
    });
    assert!(alone.is_ok());
    assert_eq!(with_nulls, alone);
    for (place, path) in [
        (
            r#"{"geoDistance": {"pin": null, "distanceKm": 1}}"#,
            "geoDistance.pin",
        ),
        (
            r#"{"geoInseeCodeDistance": {"inseeCode": null, "distanceKm": 1}}"#,
            "geoInseeCodeDistance.inseeCode",
        ),
        (r#"{"geoBox": null}"#, "geoBox"),
    ] {
        let refused = filter(&format!(r#"{{"adverts": [{{"location": {place}}}]}}"#)).unwrap_err();
        assert!(
            refused.starts_with(&format!("adverts[0].location.{path}: ")),
            "{refused}"
        );
    }
    let body = r#"{"size": 1, "sortBy": "PRICE", "orderBy": "asc", "searchAfterHash": null,
        "search": {"filterProperty": {}, "keywords": null, "fullTexts": null}}"#;
    let request = parsed(FieldSubset::Whole, body).unwrap();
    assert!(!request.descending && request.search.keywords.is_empty());
}

#[test]
fn an_alert_takes_the_empty_texts_of_a_search() {
    let query = json!({"filterAd": {}, "keywords": [], "fullTexts": null});
    assert!(parse_search_query(ListingKind::Advert, &query).is_ok());
    let query = json!({"filterAd": {}, "keywords": ["mer"], "fullTexts": ["jardin clos"]});
    let search = parse_saved_search(ListingKind::Advert, &query).unwrap();
    assert_eq!(
        (search.keywords, search.full_texts),
        (vec!["mer".into()], vec!["jardin clos".into()])
    );
    let fault = parse_search_query(ListingKind::Advert, &query).unwrap_err();
    assert_eq!(fault.path, "search_query.keywords");
    for (texts, path) in [
        (json!({"keywords": "mer"}), "search_query.keywords"),
        (
            json!({"fullTexts": ["mer", 1]}),
            "search_query.fullTexts[1]",
        ),
        (
            json!({"fullTexts": ["a ".repeat(65)]}),
            "search_query.fullTexts",
        ),
        (json!({"keywords": vec!["a"; 21]}), "search_query.keywords"),
        (json!({"words": []}), "search_query.words"),
    ] {
        let mut query = json!({"filterAd": {}});
        query
            .as_object_mut()
            .unwrap()
            .extend(texts.as_object().unwrap().clone());
        let fault = parse_saved_search(ListingKind::Advert, &query).unwrap_err();
        assert_eq!(fault.path, path);
    }
}
