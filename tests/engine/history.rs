//! Compares the history of parcels and buildings with a plain implementation, page by page.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, ListBuilder, RecordBatch, StringArray, StringBuilder, new_null_array,
};
use serde_json::{Value, json};
use toise::contract::cursor::CursorKey;
use toise::engine::{Budget, Engine};
use toise::geocode::table;
use toise::lake::{Lake, RowSink};
use toise::opendata::history::Place;
use toise::opendata::request::{parse_history, parse_search};
use toise::opendata::{Dataset, OpenData, dpe, dvf};

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
                record.insert("id_rnb".into(), draw.one_of(&buildings()).clone().into());
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

/// The history of a place by the rules of the contract.
fn expected(id: &str, sales: &[Record], diagnostics: &[Record], addresses: &Addresses) -> Expected {
    let is_building = buildings().iter().any(|building| building == id);
    let named = diagnostics
        .iter()
        .filter(|record| texts(record.get("id_rnb")).contains(id));
    let (parcels, link) = if is_building {
        let addresses = named
            .clone()
            .filter_map(|record| addresses.get(record["identifiant_ban"].as_str().unwrap()));
        (
            addresses.flatten().cloned().collect::<BTreeSet<_>>(),
            "ADDRESS",
        )
    } else {
        (BTreeSet::from([id.to_owned()]), "PARCEL")
    };
    let of_sales = sales
        .iter()
        .filter(|record| !texts(record.get("parcel_ids")).is_disjoint(&parcels))
        .map(|record| event(Dataset::Dvf, link, record));
    let on_parcel = diagnostics.iter().filter(|record| {
        let on = addresses.get(record["identifiant_ban"].as_str().unwrap());
        on.is_some_and(|on| on.iter().any(|parcel| parcel == id))
    });
    let mut events: Expected = of_sales.collect();
    if is_building {
        events.extend(named.map(|record| event(Dataset::Dpe, "BUILDING", record)));
    } else {
        events.extend(on_parcel.map(|record| event(Dataset::Dpe, "ADDRESS", record)));
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
    let (mut sales, mut diagnostics) = (Vec::new(), Vec::new());
    for size in [200, 90, 30] {
        for (dataset, all) in [(Dataset::Dvf, &mut sales), (Dataset::Dpe, &mut diagnostics)] {
            let more = records(dataset, all.len(), size, &mut draw);
            rows::import(&lake, dataset, &more, Vec::new());
            all.extend(more);
        }
    }
    let tables = [dvf::schema(), dpe::schema(), table::schema()];
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
        let expected = expected(&id, &sales, &diagnostics, &addresses);
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
                assert_eq!(id_of(shown.dataset, &record), shown.id);
                let event = event(shown.dataset, shown.link.as_str(), &record);
                let date = shown.date().map(|date| date[..10].to_owned());
                assert_eq!(date.unwrap_or_default(), event.1);
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
