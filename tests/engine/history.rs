//! Compares the history of parcels and buildings with a plain implementation, page by page.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float64Array, ListBuilder, RecordBatch, StringArray, StringBuilder, new_null_array,
};
use serde_json::{Value, json};
use toise::contract::cursor::CursorKey;
use toise::engine::{Budget, Engine};
use toise::geocode::table;
use toise::lake::{Lake, RowSink};
use toise::opendata::history::{EventKind, Place};
use toise::opendata::request::{parse_history, parse_search};
use toise::opendata::{Dataset, OpenData, dfi, dpe, dvf, rnb};

use crate::support::draw::Draw;
use crate::support::rows::{self, Record, id_of};

/// Addresses with their parcels.
type Addresses = HashMap<String, Vec<String>>;

/// Six parcels, the last of which was in a commune that joined another.
fn parcels() -> Vec<String> {
    let own = (1..=5).map(|number| format!("48095000AB000{number}"));
    own.chain(["85001307AB0012".into()]).collect()
}

fn buildings() -> Vec<String> {
    (1..=4)
        .map(|number| format!("8XBEW7VVWG4{number}"))
        .collect()
}

fn addresses(draw: &mut Draw) -> Addresses {
    let parcels = parcels();
    let address = |number: usize| {
        let on = (0..draw.below(3)).map(|_| draw.one_of(&parcels).clone());
        (format!("48095_0100_{number:05}"), on.collect())
    };
    (1..=9).map(address).collect()
}

/// Imports addresses, with nothing but identifiers, department and parcels.
fn import_addresses(lake: &Lake, addresses: &Addresses) {
    let schema = table::schema();
    let texts = |text: &dyn Fn(&String) -> String| -> ArrayRef {
        Arc::new(
            addresses
                .keys()
                .map(|id| Some(text(id)))
                .collect::<StringArray>(),
        )
    };
    let columns = schema.columns.iter().map(|column| -> ArrayRef {
        match column.name.as_str() {
            "id" => texts(&String::clone),
            "kind" => texts(&|_| "address".into()),
            "departement_code" => texts(&|_| "48".into()),
            "insee_code" => texts(&|_| "48095".into()),
            "parcel_ids" => {
                let mut lists = ListBuilder::new(StringBuilder::new());
                for parcels in addresses.values() {
                    for parcel in parcels {
                        lists.values().append_value(parcel);
                    }
                    lists.append(true);
                }
                Arc::new(lists.finish())
            }
            _ => new_null_array(&column.kind.data_type(), addresses.len()),
        }
    });
    let batch = RecordBatch::try_new(Arc::clone(schema.arrow()), columns.collect()).unwrap();
    let mut import = lake.import(schema).unwrap();
    import.push(batch).unwrap();
    import.publish(Vec::new(), Vec::new()).unwrap();
}

/// A building of the register.
#[derive(Clone)]
struct Registered {
    ground_m2: f64,
    addresses: BTreeSet<String>,
    parcels: BTreeSet<String>,
}

/// The register by identifier: all buildings but the last, and others that no diagnostic names.
type Register = BTreeMap<String, Registered>;

fn register(draw: &mut Draw) -> Register {
    let others = (1..=6).map(|number| format!("9XBEW7VVWG4{number}"));
    let ids = buildings().into_iter().take(3).chain(others);
    let registered = ids.map(|id| {
        let addresses = (0..draw.below(3)).map(|_| format!("48095_0100_{:05}", draw.below(14)));
        let addresses = addresses.collect();
        let parcels = (0..draw.below(3)).map(|_| draw.one_of(&parcels()).clone());
        let parcels = parcels.collect();
        // Often equal.
        let ground_m2 = [20.0, 80.0, 80.0, 200.0][draw.below(4)];
        (
            id,
            Registered {
                ground_m2,
                addresses,
                parcels,
            },
        )
    });
    registered.collect()
}

/// Imports buildings, with nothing but what links them.
fn import_register(lake: &Lake, register: &Register) {
    let schema = rnb::schema();
    let list = |of: &dyn Fn(&Registered) -> BTreeSet<String>| -> ArrayRef {
        let mut lists = ListBuilder::new(StringBuilder::new());
        for building in register.values() {
            for text in of(building) {
                lists.values().append_value(text);
            }
            lists.append(true);
        }
        Arc::new(lists.finish())
    };
    let all = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text; register.len()])) };
    let columns = schema.columns.iter().map(|column| -> ArrayRef {
        match column.name.as_str() {
            "id_rnb" => Arc::new(register.keys().map(Some).collect::<StringArray>()),
            "departement_code" => all("48"),
            "insee_code" => all("48095"),
            "ground_m2" => {
                let ground = register.values().map(|building| Some(building.ground_m2));
                Arc::new(ground.collect::<Float64Array>())
            }
            "address_ids" => list(&|building| building.addresses.clone()),
            "parcel_ids" => list(&|building| building.parcels.clone()),
            _ => new_null_array(&column.kind.data_type(), register.len()),
        }
    });
    let batch = RecordBatch::try_new(Arc::clone(schema.arrow()), columns.collect()).unwrap();
    let mut import = lake.import(schema).unwrap();
    import.push(batch).unwrap();
    import.publish(Vec::new(), Vec::new()).unwrap();
}

/// Parcels and those that they were made from: the second of the first, the third of the second.
fn former() -> BTreeMap<String, String> {
    let parcels = parcels();
    let pair = |later: usize, former: usize| (parcels[later].clone(), parcels[former].clone());
    BTreeMap::from([pair(1, 0), pair(2, 1)])
}

/// All parcels that some parcels were made from.
fn all_former(parcels: &BTreeSet<String>) -> BTreeSet<String> {
    let former = former();
    let mut all = BTreeSet::new();
    let mut next: Vec<String> = parcels.iter().cloned().collect();
    while let Some(parcel) = next.pop() {
        if let Some(parcel) = former.get(&parcel).filter(|id| all.insert((*id).clone())) {
            next.push(parcel.clone());
        }
    }
    all
}

fn import_changes(lake: &Lake) {
    let (schema, former) = (dfi::schema(), former());
    let list = |parcels: Vec<&String>| -> ArrayRef {
        let mut lists = ListBuilder::new(StringBuilder::new());
        for parcel in parcels {
            lists.values().append_value(parcel);
            lists.append(true);
        }
        Arc::new(lists.finish())
    };
    let all = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text; former.len()])) };
    let columns = schema.columns.iter().map(|column| -> ArrayRef {
        match column.name.as_str() {
            "id" => list_of_texts(former.keys()),
            "departement_code" => all("48"),
            "insee_code" => all("48095"),
            "former_parcel_ids" => list(former.values().collect()),
            "later_parcel_ids" => list(former.keys().collect()),
            _ => new_null_array(&column.kind.data_type(), former.len()),
        }
    });
    let batch = RecordBatch::try_new(Arc::clone(schema.arrow()), columns.collect()).unwrap();
    let mut import = lake.import(schema).unwrap();
    import.push(batch).unwrap();
    import.publish(Vec::new(), Vec::new()).unwrap();
}

fn list_of_texts<'t>(texts: impl Iterator<Item = &'t String>) -> ArrayRef {
    Arc::new(texts.map(Some).collect::<StringArray>())
}

/// Sales or diagnostics that often are on the parcels, in the buildings or at the addresses, on few days.
fn records(dataset: Dataset, first: usize, count: usize, draw: &mut Draw) -> Vec<Record> {
    let mut records = rows::records(dataset, first, count, draw);
    for record in &mut records {
        let day = (!draw.once_in(8)).then(|| format!("2023-01-{:02}", 1 + draw.below(5)));
        let (date, time) = match dataset {
            Dataset::Dvf => {
                let on = (0..draw.below(3)).map(|_| draw.one_of(&parcels()).clone());
                record.insert("parcel_ids".into(), on.collect());
                ("transaction_date", "T00:00:00.000Z")
            }
            Dataset::Dpe => {
                record.remove("id_rnb");
                if !draw.once_in(4) {
                    record.insert("id_rnb".into(), draw.one_of(&buildings()).clone().into());
                }
                let address = format!("48095_0100_{:05}", draw.below(14));
                record.insert("identifiant_ban".into(), address.into());
                ("date_etablissement_dpe", "")
            }
        };
        record.remove(date);
        if let Some(day) = day {
            record.insert(date.into(), format!("{day}{time}").into());
        }
    }
    records
}

/// Events of a history: day, table, link and identifier.
type Expected = Vec<(bool, String, Dataset, &'static str, String)>;

fn texts(value: Option<&Value>) -> BTreeSet<String> {
    match value {
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().unwrap().into())
            .collect(),
        Some(Value::String(text)) => BTreeSet::from([text.clone()]),
        _ => BTreeSet::new(),
    }
}

fn event(
    dataset: Dataset,
    link: &'static str,
    record: &Record,
) -> (bool, String, Dataset, &'static str, String) {
    let date = match dataset {
        Dataset::Dvf => record.get("transaction_date"),
        Dataset::Dpe => record.get("date_etablissement_dpe"),
    };
    let day = date.map(|date| date.as_str().unwrap()[..10].to_owned());
    (
        day.is_none(),
        day.unwrap_or_default(),
        dataset,
        link,
        id_of(dataset, record).into(),
    )
}

/// The building that the diagnostics at an address without a building of their own are most likely of.
fn largest_at<'r>(register: &'r Register, address: &str) -> Option<&'r str> {
    let there = register
        .iter()
        .filter(|(_, building)| building.addresses.contains(address));
    let by_size = |(id, building): &(&String, &Registered)| {
        (building.ground_m2 as i64, std::cmp::Reverse((*id).clone()))
    };
    there.max_by_key(by_size).map(|(id, _)| id.as_str())
}

/// The history of a place by the rules of the contract.
fn expected(
    id: &str,
    sales: &[Record],
    diagnostics: &[Record],
    addresses: &Addresses,
    register: &Register,
) -> Expected {
    let is_building = buildings().iter().any(|building| building == id);
    let address = |record: &Record| record["identifiant_ban"].as_str().unwrap().to_owned();
    let named = diagnostics
        .iter()
        .filter(|record| texts(record.get("id_rnb")).contains(id));
    let attached = diagnostics.iter().filter(|record| {
        !record.contains_key("id_rnb") && largest_at(register, &address(record)) == Some(id)
    });
    let registered = register.get(id).map(|building| building.parcels.clone());
    let (parcels, link) = match registered.filter(|parcels| !parcels.is_empty()) {
        Some(parcels) => (parcels, "PARCEL"),
        None if is_building => {
            let own = named.clone().map(address);
            let registered = register.get(id).map(|building| building.addresses.clone());
            let won = registered.unwrap_or_default().into_iter();
            let won = won.filter(|address| largest_at(register, address) == Some(id));
            let all = own.chain(won).filter_map(|address| addresses.get(&address));
            (all.flatten().cloned().collect(), "ADDRESS")
        }
        None => (BTreeSet::from([id.to_owned()]), "PARCEL"),
    };
    let is_on_parcel = |building: &str| {
        let registered = register.get(building);
        registered.is_some_and(|building| building.parcels.contains(id))
    };
    let former = all_former(&parcels);
    let of_sales = sales.iter().filter_map(|record| {
        let named = texts(record.get("parcel_ids"));
        let link = if !named.is_disjoint(&parcels) {
            link
        } else if !named.is_disjoint(&former) {
            "FORMER_PARCEL"
        } else {
            return None;
        };
        Some(event(Dataset::Dvf, link, record))
    });
    let on_parcel = diagnostics.iter().filter(|record| {
        let on = addresses.get(record["identifiant_ban"].as_str().unwrap());
        on.is_some_and(|on| on.iter().any(|parcel| parcel == id))
    });
    let mut events: Expected = of_sales.collect();
    if is_building {
        events.extend(named.map(|record| event(Dataset::Dpe, "BUILDING", record)));
        events.extend(attached.map(|record| event(Dataset::Dpe, "ADDRESS", record)));
    } else {
        let of_buildings = |record: &&Record| {
            texts(record.get("id_rnb"))
                .iter()
                .any(|id| is_on_parcel(id))
        };
        let by_address = on_parcel.filter(|record| !of_buildings(record));
        events.extend(by_address.map(|record| event(Dataset::Dpe, "ADDRESS", record)));
        let by_building = diagnostics.iter().filter(of_buildings);
        events.extend(by_building.map(|record| event(Dataset::Dpe, "BUILDING", record)));
    }
    events.sort_by_key(|(is_undated, day, dataset, _, id)| {
        (
            *is_undated,
            day.clone(),
            *dataset == Dataset::Dpe,
            id.clone(),
        )
    });
    events
}

#[test]
fn any_history_has_the_events_of_its_place_in_time_order() {
    let mut draw = Draw::new(51);
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    let addresses = addresses(&mut draw);
    import_addresses(&lake, &addresses);
    let register = register(&mut draw);
    import_register(&lake, &register);
    import_changes(&lake);
    let (mut sales, mut diagnostics) = (Vec::new(), Vec::new());
    for size in [200, 90, 30] {
        for (dataset, all) in [(Dataset::Dvf, &mut sales), (Dataset::Dpe, &mut diagnostics)] {
            let more = records(dataset, all.len(), size, &mut draw);
            rows::import(&lake, dataset, &more, Vec::new());
            all.extend(more);
        }
    }
    let tables = [
        dvf::schema(),
        dpe::schema(),
        table::schema(),
        rnb::schema(),
        dfi::schema(),
    ];
    let engine = Engine::open(folder.path(), &tables, Budget::default()).unwrap();
    let open_data = OpenData::new(Arc::new(engine));
    let key = CursorKey::new([9; 32]);
    let parcels = parcels()
        .into_iter()
        .map(|id| (Place::parcel(&id).unwrap(), id));
    let buildings = buildings()
        .into_iter()
        .map(|id| (Place::building(&id).unwrap(), id));
    for (place, id) in parcels.chain(buildings) {
        let expected = expected(&id, &sales, &diagnostics, &addresses, &register);
        assert!(expected.len() > 20, "{id}: {}", expected.len());
        let (mut found, mut query): (Expected, Vec<(String, String)>) = Default::default();
        loop {
            let size = ("size".to_owned(), (1 + draw.below(9)).to_string());
            query.push(size);
            let request = parse_history(place.clone(), &query, &key).unwrap();
            let page = open_data.history(&request).unwrap();
            assert_eq!(page.total, expected.len() as u64, "{id}");
            assert!(
                page.events.len() == request.size || page.next.is_none(),
                "{id}"
            );
            for shown in &page.events {
                let record: Record = serde_json::from_slice(&shown.record).unwrap();
                let datasets = [Dataset::Dvf, Dataset::Dpe].into_iter();
                let mut datasets = datasets.filter(|one| EventKind::of(*one) == shown.kind);
                let dataset = datasets.next().unwrap();
                assert_eq!(id_of(dataset, &record), shown.id);
                let event = event(dataset, shown.link.as_str(), &record);
                let date = shown.date().map(|date| date[..10].to_owned());
                assert_eq!(date.unwrap_or_default(), event.1);
                let is_attached = event.3 == "ADDRESS"
                    && dataset == Dataset::Dpe
                    && matches!(place, Place::Building(_));
                assert_eq!(shown.score.is_some(), is_attached, "{id}");
                found.push(event);
            }
            let Some(next) = page.next else { break };
            query = vec![("cursor".to_owned(), key.encode(&next, &place.digest()))];
        }
        assert_eq!(found, expected, "{id}");
    }
    let former = Place::parcel("85307000AB0012").unwrap();
    let request = |place: &Place| parse_history(place.clone(), &[], &key).unwrap();
    let of_former = open_data.history(&request(&former)).unwrap().total;
    let today = Place::parcel("85001307AB0012").unwrap();
    let of_today = open_data.history(&request(&today)).unwrap().total;
    assert_eq!(of_former, of_today);
    for unknown in [
        Place::parcel("48095000AB0009"),
        Place::building("9XBEW7VVWG49"),
    ] {
        let history = open_data.history(&request(&unknown.unwrap())).unwrap();
        assert_eq!((history.total, history.events.len()), (0, 0));
    }
}

#[test]
fn identifiers_that_no_row_group_holds_decode_no_column() {
    let mut draw = Draw::new(52);
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    for dataset in [Dataset::Dvf, Dataset::Dpe] {
        let records = rows::records(dataset, 0, 500, &mut draw);
        rows::import(&lake, dataset, &records, Vec::new());
    }
    let open_data = OpenData::open(folder.path(), Budget::default()).unwrap();
    let decoded = |dataset, filters: Value| {
        let before = open_data.engine().cache().misses();
        let body = json!({ "filters": filters });
        let request = parse_search(dataset, &body, &CursorKey::new([9; 32])).unwrap();
        let total = open_data.search(dataset, &request).unwrap().total;
        (total, open_data.engine().cache().misses() - before)
    };
    // Within the bounds of the column, but not in its bloom filter; then outside the bounds.
    let nothing = (0, 0);
    assert_eq!(
        decoded(Dataset::Dvf, json!({"mutation_id": "48095-7"})),
        nothing
    );
    assert_eq!(
        decoded(Dataset::Dpe, json!({"id_rnb": ["8XBEW7VVWG4A"]})),
        nothing
    );
    assert_eq!(
        decoded(Dataset::Dvf, json!({"parcel_ids": ["13055000AB0001"]})),
        nothing
    );
    let (total, columns) = decoded(Dataset::Dvf, json!({"parcel_ids": ["48001000AB0001"]}));
    assert!(total > 5 && columns > 0, "{total} {columns}");
}
