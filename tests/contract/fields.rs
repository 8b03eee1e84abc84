//! Every request table against its reader: every value a table allows is accepted, every other is rejected at its
//! path.

use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use serde_json::{Map, Value, json};
use toise::accounts::key::KeyKind;
use toise::accounts::limits::KeyLimits;
use toise::accounts::requests as accounts;
use toise::alerts::request::{self as alerts, queries};
use toise::collect::request as collect;
use toise::contract::cursor::CursorKey;
use toise::contract::fault::Fault;
use toise::contract::fields::{Field, FieldKind, Own, read, read_query};
use toise::contract::listings::filters::{self, FieldSubset, ListingKind, bodies as searches};
use toise::contract::walk::JsonPath;
use toise::estimate::request::{self as estimate, fields};
use toise::listings::load::request as listings;
use toise::opendata::Dataset;
use toise::opendata::request::{self as opendata, bodies::bodies};

type Table = &'static [Field];

/// A crate's reader of a body; only the fault matters here.
type Reader = Box<dyn Fn(&Value) -> Option<Fault>>;

fn request<T>(
    table: Table,
    read: impl Fn(&Value) -> Result<T, Fault> + 'static,
) -> (Table, Reader) {
    (table, Box::new(move |body| read(body).err()))
}

/// Every table of a body with its crate's reader.
fn requests() -> Vec<(Table, Reader)> {
    let today = || chrono::NaiveDate::from_ymd_opt(2026, 11, 21).unwrap();
    let cursors = || CursorKey::new([7; 32]);
    let mut requests: Vec<(Table, Reader)> = vec![
        request(&fields::ESTIMATE, move |body| {
            estimate::parse_estimate(body, today())
        }),
        request(&fields::ESTIMATE_MANY, move |body| {
            estimate::parse_estimate_many(body, today())
        }),
        request(&accounts::ACCOUNT, accounts::parse_account),
        request(&accounts::KEY, |body| {
            accounts::parse_key(body, &KeyLimits::default())
        }),
        request(&accounts::KEY_CHANGE, |body| {
            accounts::parse_key_change(body, KeyKind::Production)
        }),
        request(&queries::REPLAY, queries::parse_replay),
        request(&collect::REPORT, collect::parse_report),
        request(&listings::ADVERTS, |body| {
            listings::parse_adverts(body.clone())
        }),
        request(&searches::COUNT, filters::parse_count),
        request(&searches::ANALYTICS, filters::parse_analytics),
        request(&searches::SIMILARS, filters::parse_similars),
        request(&searches::MANY, filters::parse_many),
    ];
    for dataset in [Dataset::Dpe, Dataset::Dvf] {
        let bodies = bodies(dataset);
        requests.extend([
            request(bodies.search, move |body| {
                opendata::parse_search(dataset, body, &cursors())
            }),
            request(bodies.matching, move |body| {
                opendata::parse_match(dataset, body)
            }),
            request(bodies.matching_many, move |body| {
                opendata::parse_match_many(dataset, body)
            }),
        ]);
    }
    for listing in [ListingKind::Property, ListingKind::Advert] {
        requests.extend([
            request(alerts::alert_table(listing), move |body| {
                alerts::parse_alert(listing, body)
            }),
            request(alerts::alert_table(listing), move |body| {
                alerts::parse_patch(listing, body)
            }),
            request(alerts::alerts_table(listing), move |body| {
                alerts::parse_alerts(listing, body)
            }),
            request(queries::preview_table(listing), move |body| {
                queries::parse_preview(listing, body)
            }),
        ]);
    }
    for part in [FieldSubset::Whole, FieldSubset::Lite] {
        requests.push(request(searches::search_table(part), move |body| {
            filters::parse_search(part, body, &cursors())
        }));
    }
    requests
}

/// Every table of a query string.
const QUERIES: [Table; 6] = [
    &accounts::PERIOD,
    &accounts::KEY_LIST,
    &queries::PAGE,
    &queries::ALERT_LIST,
    &queries::DELIVERIES,
    &collect::PAGE_URL,
];

/// A value accepted by a crate's own kind, chosen by the schema it refers to.
fn sample(own: &Own) -> Value {
    let schema = (own.schema)(&mut Map::new());
    let Some(name) = schema["$ref"].as_str() else {
        return json!(["calme", "vue mer"]);
    };
    match name.rsplit('/').next().unwrap_or_default() {
        "Grant" => json!("search"),
        "FlxId" => json!("0192d3a4-0000-7000-8000-000000000000"),
        "FilterProperty" | "LiteFilterProperty" => json!({"type": ["CLASS_FLAT"]}),
        "FilterPropertyQuery" => json!({"filterProperty": {"type": ["CLASS_FLAT"]}}),
        "FilterAdvertQuery" => json!({"filterAd": {"isOnline": true}}),
        other => panic!("no sample of {other}"),
    }
}

/// Values that a kind accepts.
fn inside(kind: FieldKind) -> BoxedStrategy<Value> {
    let one_of = |words: &'static [&'static str]| prop::sample::select(words).prop_map(Value::from);
    let integer = |least: i64, greatest: i64| (least..=greatest).prop_map(Value::from);
    match kind {
        FieldKind::Text => any::<String>().prop_map(Value::from).boxed(),
        FieldKind::TextUpTo(most) => "\\PC{0,30}"
            .prop_map(move |text| text.chars().take(most).collect::<String>().into())
            .boxed(),
        FieldKind::Words(most) => "[a-zé ]{0,30}x"
            .prop_map(move |text| text.chars().rev().take(most).collect::<String>().into())
            .boxed(),
        FieldKind::Named(naming) => "x[a-z ]{0,30}x"
            .prop_map(move |text| {
                text.chars()
                    .take(naming.chars_max)
                    .collect::<String>()
                    .into()
            })
            .boxed(),
        FieldKind::Code(code) => {
            let pattern = code.pattern.trim_matches(['^', '$']);
            let codes = prop::string::string_regex(pattern).unwrap();
            codes.prop_map(Value::from).boxed()
        }
        FieldKind::Address(_) => "https://[a-z]{1,20}\\.example/[a-z0-9]{0,20}"
            .prop_map(Value::from)
            .boxed(),
        FieldKind::OneOf(words) => one_of(words).boxed(),
        FieldKind::AnyOf(words) => prop::collection::vec(one_of(words), 0..5)
            .prop_map(Value::from)
            .boxed(),
        FieldKind::Enum(table) => one_of(table.values).boxed(),
        FieldKind::Uuid => any::<u128>()
            .prop_map(|bits| json!(uuid::Uuid::from_u128(bits)))
            .boxed(),
        FieldKind::Moment => day().boxed(),
        FieldKind::Number => any::<i32>()
            .prop_map(|number| json!(f64::from(number) / 8.0))
            .boxed(),
        FieldKind::Between(least, greatest) => (least..=greatest).prop_map(Value::from).boxed(),
        FieldKind::Integer(least, greatest) => integer(least, greatest).boxed(),
        FieldKind::IntegerOrNull(least, greatest) => {
            prop_oneof![Just(Value::Null), integer(least, greatest)].boxed()
        }
        FieldKind::Flag => any::<bool>().prop_map(Value::from).boxed(),
        FieldKind::Range => (0..100, 0..100)
            .prop_map(|(least, more)| json!({"max": least + more, "min": least}))
            .boxed(),
        FieldKind::Dates => day()
            .prop_map(|day| json!({"from": "1990-01-01", "to": day}))
            .boxed(),
        FieldKind::Place => (-90.0..=90.0, -180.0..=180.0)
            .prop_map(|(lat, lon): (f64, f64)| json!({"lat": lat, "lon": lon, "distance": "2km"}))
            .boxed(),
        FieldKind::Area => (44.0..=45.0, 3.0..=4.0)
            .prop_map(|(lat, lon): (f64, f64)| {
                let ring = [[lon, lat], [lon + 0.1, lat], [lon, lat + 0.1], [lon, lat]];
                json!({"type": "Polygon", "coordinates": [ring]})
            })
            .boxed(),
        FieldKind::Layer => (1..=100_000)
            .prop_map(|meters| json!({"name": "flood", "relation": "within", "meters": meters}))
            .boxed(),
        FieldKind::List(of) => {
            let most = of.most.unwrap_or(5).min(of.least + 4);
            prop::collection::vec(inside(of.item), of.least..=most)
                .prop_map(Value::from)
                .boxed()
        }
        FieldKind::Object(table) | FieldKind::Model(_, table) => object(table).boxed(),
        FieldKind::Pair(fields) => {
            let numbers: Vec<_> = fields.iter().map(|field| inside(field.kind)).collect();
            numbers.prop_map(Value::from).boxed()
        }
        FieldKind::Free(_) => Just(json!({"customer": 7})).boxed(),
        FieldKind::Later(_) => Just(json!({})).boxed(),
        FieldKind::Own(own) => Just(sample(own)).boxed(),
    }
}

fn day() -> impl Strategy<Value = Value> {
    (1990..2030, 1..=12, 1..=28)
        .prop_map(|(year, month, day)| json!(format!("{year}-{month:02}-{day:02}")))
}

/// Objects that a table accepts: all required fields and some of the others, in any order.
fn object(table: Table) -> impl Strategy<Value = Value> {
    let fields: Vec<_> = table
        .iter()
        .map(|field| {
            let name = field.name.to_owned();
            let value = inside(field.kind).prop_map(move |value| (name.clone(), value));
            if field.is_required {
                value.prop_map(Some).boxed()
            } else {
                prop::option::of(value).boxed()
            }
        })
        .collect();
    fields
        .prop_shuffle()
        .prop_map(|fields: Vec<Option<(String, Value)>>| {
            let given: Map<String, Value> = fields.into_iter().flatten().collect();
            Value::Object(given)
        })
}

/// Values that a kind rejects, each with the path of the fault.
fn outside(kind: FieldKind) -> Vec<(String, Value)> {
    let here = |values: Vec<Value>| {
        values
            .into_iter()
            .map(|value| (String::new(), value))
            .collect()
    };
    let at = |path: &str, value: Value| (path.to_owned(), value);
    let long = |most: usize| json!("x".repeat(most + 1));
    let integers = |least: i64, greatest: i64| {
        vec![
            json!(least - 1),
            json!(greatest + 1),
            json!(least as f64 + 0.5),
            json!("1"),
        ]
    };
    match kind {
        FieldKind::Text | FieldKind::Address(_) => here(vec![json!(1), json!([])]),
        FieldKind::TextUpTo(most) => here(vec![json!(1), long(most)]),
        FieldKind::Words(most) => here(vec![json!(1), json!(" "), long(most)]),
        FieldKind::Code(_) => here(vec![json!(1), json!(""), json!("Mende")]),
        FieldKind::Named(naming) => here(vec![json!(1), json!(""), long(naming.chars_max)]),
        FieldKind::OneOf(_) | FieldKind::Enum(_) => here(vec![json!(1), json!("nothing of this")]),
        FieldKind::AnyOf(_) => vec![at("[0]", json!(["nothing of this"]))],
        FieldKind::Uuid => here(vec![json!(1), json!("x")]),
        FieldKind::Moment => here(vec![json!(1), json!("soon"), json!("2026-02-30")]),
        FieldKind::Number => here(vec![json!("1"), json!([])]),
        FieldKind::Between(least, greatest) => {
            here(vec![json!(least - 0.5), json!(greatest + 0.5), json!("1")])
        }
        FieldKind::Integer(least, greatest) | FieldKind::IntegerOrNull(least, greatest) => {
            here(integers(least, greatest))
        }
        FieldKind::Flag => here(vec![json!(1), json!("true")]),
        FieldKind::Range => vec![
            at(".min", json!({"min": 2, "max": 1})),
            at(".max", json!({"max": "1"})),
        ],
        FieldKind::Dates => vec![
            at(".from", json!({"from": "2026-01-02", "to": "2026-01-01"})),
            at(".to", json!({"to": "soon"})),
        ],
        FieldKind::Place => vec![
            at(".lat", json!({"lat": 91, "lon": 0, "distance": "1m"})),
            at(".lon", json!({"lat": 0, "lon": -181, "distance": "1m"})),
            at(".distance", json!({"lat": 0, "lon": 0, "distance": "0m"})),
        ],
        FieldKind::Area => vec![
            at(".type", json!({"type": "Point", "coordinates": [3, 44]})),
            at(".coordinates", json!({"type": "Polygon"})),
            at(
                ".coordinates[0][1]",
                json!({"type": "Polygon", "coordinates": [[[3, 44], [3], [4, 45], [3, 44]]]}),
            ),
        ],
        FieldKind::Layer => vec![
            at(".name", json!({"relation": "inside"})),
            at(".meters", json!({"name": "flood", "relation": "within"})),
            at(".relation", json!({"name": "flood", "relation": 1})),
        ],
        FieldKind::List(of) => {
            let mut found: Vec<(String, Value)> = outside(of.item)
                .into_iter()
                .map(|(path, value)| (format!("[0]{path}"), json!([value])))
                .collect();
            found.push((String::new(), json!({})));
            if of.least > 0 {
                found.push((String::new(), json!([])));
            }
            if let Some(most) = of.most {
                found.push((String::new(), vec![Value::Null; most + 1].into()));
            }
            found
        }
        FieldKind::Object(table) | FieldKind::Model(_, table) => {
            let mut found = outside_of(table);
            found.push((String::new(), json!([])));
            found.push(at(".no field", json!({"no field": 1})));
            found
        }
        FieldKind::Pair([first, _]) => {
            let inner = outside(first.kind);
            let inner = inner
                .into_iter()
                .map(|(path, value)| (format!("[0]{path}"), json!([value, 0])));
            inner.chain([(String::new(), json!([0]))]).collect()
        }
        FieldKind::Free(bytes_max) => here(vec![json!(1), json!({"a": "x".repeat(bytes_max)})]),
        FieldKind::Later(_) => Vec::new(),
        FieldKind::Own(_) => here(vec![json!(1)]),
    }
}

/// Objects with one field that a table rejects.
fn outside_of(table: Table) -> Vec<(String, Value)> {
    let of_field = |field: &'static Field| {
        let refused = outside(field.kind).into_iter();
        refused.map(|(path, value)| {
            (
                format!(".{}{path}", field.name),
                json!({ (field.name): value }),
            )
        })
    };
    table.iter().flat_map(of_field).collect()
}

/// Writes a null for every optional field that an object lacks, at every depth.
fn write_nulls(table: Table, value: &mut Value) {
    let Some(fields) = value.as_object_mut() else {
        return;
    };
    for field in table {
        let inner = match field.kind {
            FieldKind::Object(inner) | FieldKind::Model(_, inner) => inner,
            FieldKind::Range => &RANGE,
            FieldKind::Dates => &DATES,
            _ => &[],
        };
        match fields.get_mut(field.name) {
            Some(given) => write_nulls(inner, given),
            // There a null means something.
            None if matches!(field.kind, FieldKind::IntegerOrNull(..)) => {}
            None if field.is_required => {}
            None => {
                fields.insert(field.name.to_owned(), Value::Null);
            }
        }
    }
}

static RANGE: [Field; 2] = [
    Field::optional("min", FieldKind::Number, ""),
    Field::optional("max", FieldKind::Number, ""),
];
static DATES: [Field; 2] = [
    Field::optional("from", FieldKind::Moment, ""),
    Field::optional("to", FieldKind::Moment, ""),
];

/// Bodies with a null for one required field, each with the field's path.
fn required_nulls(table: Table) -> Vec<(String, Value)> {
    let of_field = |field: &'static Field| {
        let name = field.name;
        let mut found = match field.kind {
            FieldKind::Object(inner) | FieldKind::Model(_, inner) => required_nulls(inner)
                .into_iter()
                .map(|(path, body)| (format!("{name}.{path}"), json!({ (name): body })))
                .collect(),
            _ => Vec::new(),
        };
        if field.is_required {
            found.push((name.to_owned(), json!({ (name): null })));
        }
        found
    };
    table.iter().flat_map(of_field).collect()
}

#[test]
fn a_null_for_a_required_field_is_rejected_at_its_path() {
    let mut count = 0;
    for (table, _) in requests() {
        for (path, body) in required_nulls(table) {
            let fault = read(&body, table, JsonPath::Body).unwrap_err();
            assert_eq!(fault.path, path, "{body}");
            count += 1;
        }
    }
    assert!(count > 30, "{count}");
    // Its crate checks later what is missing, but not whether a null stands for something.
    let (table, refusal) = &requests()[0];
    for (path, body) in required_nulls(table) {
        let fault = refusal(&body).unwrap_or_else(|| panic!("{path} may be null"));
        assert_eq!(fault.path, path, "{body}");
    }
}

#[test]
fn an_invalid_value_is_rejected_at_its_path() {
    let mut count = 0;
    for (table, refusal) in requests() {
        for (path, body) in outside_of(table) {
            let fault = refusal(&body).unwrap_or_else(|| panic!("{path} is accepted: {body}"));
            assert_eq!(format!(".{}", fault.path), path, "{}", fault.message);
            count += 1;
        }
    }
    assert!(count > 300, "{count}");
}

#[test]
fn a_missing_required_field_is_named() {
    for (table, refusal) in requests() {
        if let Some(first) = table.iter().find(|field| field.is_required)
            && let Some(fault) = refusal(&json!({}))
        {
            assert!(fault.path.starts_with(first.name), "{fault}");
            assert_eq!(fault.message, "is required");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_valid_body_is_accepted(
        bodies in requests().into_iter().map(|(table, _)| object(table).boxed()).collect::<Vec<_>>()
    ) {
        for ((table, _), body) in requests().into_iter().zip(bodies) {
            let taken = read(&body, table, JsonPath::Body);
            prop_assert!(taken.is_ok(), "{:?}: {body}", taken.err());
        }
    }

    #[test]
    fn a_null_for_every_optional_field_is_read_as_its_absence(
        bodies in requests().into_iter().map(|(table, _)| object(table).boxed()).collect::<Vec<_>>()
    ) {
        for ((table, refusal), body) in requests().into_iter().zip(bodies) {
            let mut nulls = body.clone();
            write_nulls(table, &mut nulls);
            prop_assert_eq!(read(&nulls, table, JsonPath::Body), read(&body, table, JsonPath::Body));
            prop_assert_eq!(refusal(&nulls), refusal(&body), "{}", nulls);
        }
    }

    #[test]
    fn every_valid_query_is_accepted(
        queries in QUERIES.into_iter().map(|table| object(table).boxed()).collect::<Vec<_>>()
    ) {
        for (table, query) in QUERIES.into_iter().zip(queries) {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let pairs = query.as_object().into_iter().flatten();
            let pairs: Vec<(String, String)> = pairs.map(|(name, value)| (name.clone(), text(value))).collect();
            let taken = read_query(&pairs, table);
            prop_assert!(taken.is_ok(), "{:?}: {query}", taken.err());
        }
    }
}
