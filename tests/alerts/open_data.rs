//! Alerts on open data over a lake: after each import, an alert has been notified of exactly the new and the corrected
//! records that its search finds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toise::alerts::open_data::{self, OpenDataAlertsContext, rewind};
use toise::alerts::registry::AlertRef;
use toise::alerts::request::parse_alert;
use toise::base::supervise::Supervisor;
use toise::contract::walk::JsonPath;
use toise::engine::view::RowRef;
use toise::engine::{Budget, Engine};
use toise::lake::{Lake, id_index};
use toise::opendata::request::{bodies::bodies, parse_saved_search};
use toise::opendata::{Dataset, DatasetSearchRequest, OpenData, dpe, dvf};
use toise::store::leader::Leader;
use toise::store::new_id::NewId;

use crate::support::alerts::{AlertFixture, RecordedNotification};
use crate::support::draw::Draw;
use crate::support::filters::filters;
use crate::support::rows::{self, Record, id_of};

const BOTH: &[&str] = &["ALERT_MATCH_CREATED", "ALERT_MATCH_CHANGED"];
/// Maximum wait for a pass.
const PASS_MAX: Duration = Duration::from_secs(60);

/// A lake and alerts on it, compared in the background.
pub(super) struct Desk {
    pub(super) fixture: AlertFixture,
    pub(super) lake: Lake,
    engine: Arc<Engine>,
    running: Option<Leader>,
}

/// Records by identifier, as text.
type Contents = BTreeMap<String, String>;

impl Desk {
    pub(super) fn new() -> Self {
        let fixture = AlertFixture::open();
        let data = fixture.folder.path();
        let lake = Lake::open(data).unwrap();
        let tables = [dvf::schema(), dpe::schema()];
        let engine = Arc::new(Engine::open(data, &tables, Budget::default()).unwrap());
        let mut desk = Self {
            fixture,
            lake,
            engine,
            running: None,
        };
        desk.start();
        desk
    }

    fn start(&mut self) {
        let context = OpenDataAlertsContext {
            store: self.fixture.store.clone(),
            clock: self.fixture.clock.clone(),
            engine: Arc::clone(&self.engine),
            percolator: Arc::clone(self.fixture.listings.percolator()),
        };
        self.running = Some(open_data::start(&Supervisor::default(), context).unwrap());
    }

    fn stop(&mut self) {
        self.running = None;
    }

    pub(super) fn alert(&self, dataset: Dataset, filters: &Value, kinds: &[&str]) -> AlertRef {
        let body = json!({"search_query": {"filters": filters}, "match": kinds, "search_name": "suivi",
            "webhook_url": "https://client.example/hook"});
        let alert = parse_alert(dataset, &body).unwrap_or_else(|fault| panic!("{fault}: {body}"));
        let (account, alerts) = (self.fixture.account, &self.fixture.alerts);
        let id = alerts.create(account, dataset, alert, NewId::Random);
        AlertRef {
            account,
            subject: dataset.into(),
            id: id.unwrap(),
        }
    }

    /// Waits until all alerts have seen the current version of a table.
    pub(super) fn wait(&self, dataset: Dataset) {
        let current = self.lake.snapshot(dataset.schema()).unwrap().sequence as i64;
        let kind = dataset.name().to_uppercase();
        let started = Instant::now();
        loop {
            let seen = self.fixture.store.read(|connection| {
                connection.query_row(
                    "SELECT coalesce(max(version), 0) FROM open_data_positions WHERE kind = ?1",
                    [&kind],
                    |row| row.get::<_, i64>(0),
                )
            });
            if seen.unwrap() == current {
                return;
            }
            assert!(
                started.elapsed() < PASS_MAX,
                "no pass over version {current}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn contents(&self, dataset: Dataset) -> Contents {
        let schema = dataset.schema();
        self.engine.refresh_now(schema).unwrap();
        let view = self.engine.view(schema).unwrap();
        let parts = view.parts().iter().enumerate();
        let rows: Vec<RowRef> = parts
            .flat_map(|(data_file, part)| {
                (0..part.data_file.entry().rows as u32).map(move |row| RowRef {
                    data_file: data_file as u32,
                    row,
                })
            })
            .collect();
        let records = view.records(&rows).unwrap();
        let records = records.iter().map(|text| {
            let record: Record = serde_json::from_slice(text).unwrap();
            let text = String::from_utf8(text.to_vec()).unwrap();
            (id_of(dataset, &record).to_owned(), text)
        });
        records.collect()
    }

    /// Identifiers of all records that a search with these filters finds.
    fn found(&self, dataset: Dataset, filters: &Value) -> BTreeSet<String> {
        let query = json!({ "filters": filters });
        let filter = parse_saved_search(dataset, &query, JsonPath::Body).unwrap();
        let open_data = OpenData::new(Arc::clone(&self.engine));
        let mut request = DatasetSearchRequest {
            filter,
            sort_by: bodies(dataset).sort_keys[0],
            descending: true,
            size: 100,
            after: None,
        };
        let mut found = BTreeSet::new();
        loop {
            let page = open_data.search(dataset, &request).unwrap();
            found.extend(page.records.iter().map(|record| {
                let record: Record = serde_json::from_slice(record).unwrap();
                id_of(dataset, &record).to_owned()
            }));
            request.after = page.next;
            if request.after.is_none() {
                return found;
            }
        }
    }

    /// Notifications after a number, by alert: branch and identifier of the record, sorted.
    pub(super) fn told(
        &self,
        dataset: Dataset,
        last: &mut i64,
    ) -> BTreeMap<i64, Vec<(String, String)>> {
        let (all, number) = self.fixture.notifications_after(*last);
        *last = number;
        let mut told: BTreeMap<i64, Vec<(String, String)>> = BTreeMap::new();
        for RecordedNotification {
            alert,
            branch,
            item,
            record,
        } in all
        {
            let id = record[rows::id_column(dataset)]
                .as_str()
                .unwrap()
                .to_owned();
            assert_eq!(item.0.as_u128(), id_index::digest(&id));
            told.entry(alert).or_default().push((branch, id));
        }
        told.values_mut().for_each(|items| items.sort());
        told
    }

    pub(super) fn number(&self, alert: AlertRef) -> i64 {
        self.fixture.alerts.get(alert).unwrap().number
    }
}

/// Records with the same identifiers as some others, and other values.
fn corrected(dataset: Dataset, records: &[Record], draw: &mut Draw) -> Vec<Record> {
    let one = |record: &Record| {
        let mut changed = rows::record(dataset, id_of(dataset, record), draw);
        // The later version wins; where there is none, the row with more values.
        for (key, value) in record {
            changed.entry(key.clone()).or_insert_with(|| value.clone());
        }
        changed
    };
    records.iter().map(one).collect()
}

fn check(dataset: Dataset, seed: u64) {
    let mut draw = Draw::new(seed);
    let mut desk = Desk::new();
    let mut records = rows::records(dataset, 0, 400, &mut draw);
    rows::import(&desk.lake, dataset, &records, Vec::new());
    desk.wait(dataset);
    let mut alerts: Vec<(AlertRef, Value)> = Vec::new();
    let mut last = 0;
    let (mut created, mut updated) = (0, 0);
    for round in 0..6 {
        for _ in 0..15 {
            let filters = filters(dataset, &records, &mut draw);
            alerts.push((desk.alert(dataset, &filters, BOTH), filters));
        }
        let before = desk.contents(dataset);
        // An import of the size of the table rewrites every row; a small one only a few.
        let size = *draw.one_of(&[20, 60, 500]);
        let more = rows::records(dataset, records.len(), size, &mut draw);
        let first = draw.below(records.len() - 30);
        let changed = corrected(dataset, &records[first..first + 30], &mut draw);
        let again = records[..50].to_vec();
        if round % 2 == 1 {
            // The import runs without a server.
            desk.stop();
        }
        let imported: Vec<Record> = [more.clone(), changed, again].concat();
        rows::import(&desk.lake, dataset, &imported, Vec::new());
        if round % 2 == 1 {
            desk.start();
        }
        desk.wait(dataset);
        records.extend(more);
        let after = desk.contents(dataset);
        let told = desk.told(dataset, &mut last);
        for (alert, filters) in &alerts {
            let mut expected = Vec::new();
            for id in desk.found(dataset, filters) {
                match before.get(&id) {
                    None => expected.push(("created".to_owned(), id)),
                    Some(text) if *text != after[&id] => expected.push(("updated".to_owned(), id)),
                    Some(_) => {}
                }
            }
            expected.sort();
            created += expected
                .iter()
                .filter(|(branch, _)| branch == "created")
                .count();
            updated += expected
                .iter()
                .filter(|(branch, _)| branch == "updated")
                .count();
            let told = told.get(&desk.number(*alert)).cloned().unwrap_or_default();
            assert_eq!(told, expected, "seed {seed}, round {round}: {filters}");
        }
        // The same records again notify nobody, and neither does a merge of all runs.
        rows::import(&desk.lake, dataset, &imported, Vec::new());
        desk.lake.compact(dataset.schema(), &|_| {}).unwrap();
        desk.wait(dataset);
        assert!(desk.told(dataset, &mut last).is_empty(), "seed {seed}");
    }
    println!("{}: {created} created, {updated} updated", dataset.name());
    assert!(created > 100 && updated > 20);
}

#[test]
fn each_import_notifies_of_the_new_and_corrected_records_that_the_search_finds() {
    check(Dataset::Dvf, 71);
    check(Dataset::Dpe, 72);
}

#[test]
fn an_alert_is_notified_of_what_is_imported_after_its_creation_and_activation() {
    let dataset = Dataset::Dvf;
    let mut draw = Draw::new(73);
    let mut desk = Desk::new();
    let records = rows::records(dataset, 0, 90, &mut draw);
    let everything = json!({});
    desk.stop();
    let early = desk.alert(dataset, &everything, &BOTH[..1]);
    rows::import(&desk.lake, dataset, &records[..30], Vec::new());
    let late = desk.alert(dataset, &everything, &BOTH[..1]);
    let changes_only = desk.alert(dataset, &everything, &BOTH[1..]);
    desk.start();
    desk.wait(dataset);
    let mut last = 0;
    let counts = |told: &BTreeMap<i64, Vec<(String, String)>>, alert: AlertRef| {
        told.get(&desk.number(alert)).map_or(0, Vec::len)
    };
    let told = desk.told(dataset, &mut last);
    assert_eq!(
        [early, late, changes_only].map(|alert| counts(&told, alert)),
        [30, 0, 0]
    );
    // What is imported while an alert is inactive is not sent later.
    desk.fixture.alerts.delete(early).unwrap();
    rows::import(&desk.lake, dataset, &records[30..50], Vec::new());
    desk.wait(dataset);
    desk.fixture.alerts.activate(early).unwrap();
    rows::import(&desk.lake, dataset, &records[50..60], Vec::new());
    desk.wait(dataset);
    let told = desk.told(dataset, &mut last);
    assert_eq!(
        [early, late, changes_only].map(|alert| counts(&told, alert)),
        [10, 30, 0]
    );
    // A correction reaches only those that subscribe to corrections.
    let changed = corrected(dataset, &records[..1], &mut draw);
    rows::import(&desk.lake, dataset, &changed, Vec::new());
    desk.wait(dataset);
    let told = desk.told(dataset, &mut last);
    assert_eq!(
        [early, late, changes_only].map(|alert| counts(&told, alert)),
        [0, 0, 1]
    );
    // Of both the history names every record that was matched.
    assert_eq!(desk.fixture.alerts.history(late, 0, 100).unwrap().len(), 31);
    assert_eq!(
        desk.fixture
            .alerts
            .history(changes_only, 0, 100)
            .unwrap()
            .len(),
        31
    );
}

#[test]
fn alerts_continue_from_a_table_that_is_older_than_they_have_seen_it() {
    let dataset = Dataset::Dvf;
    let mut draw = Draw::new(74);
    let mut desk = Desk::new();
    let records = rows::records(dataset, 0, 40, &mut draw);
    let alert = desk.alert(dataset, &json!({}), BOTH);
    for part in records.chunks(10) {
        rows::import(&desk.lake, dataset, part, Vec::new());
    }
    desk.wait(dataset);
    let mut last = 0;
    assert_eq!(desk.told(dataset, &mut last)[&desk.number(alert)].len(), 40);
    // As after a restore of an older table, before any server runs.
    desk.stop();
    let data = desk.fixture.folder.path().to_owned();
    std::fs::remove_dir_all(data.join("lake")).unwrap();
    desk.lake = Lake::open(&data).unwrap();
    rows::import(&desk.lake, dataset, &records[..10], Vec::new());
    rewind(&desk.fixture.store, &data).unwrap();
    let new = rows::records(dataset, 100, 7, &mut draw);
    rows::import(&desk.lake, dataset, &new, Vec::new());
    desk.start();
    desk.wait(dataset);
    let told = desk.told(dataset, &mut last);
    assert_eq!(told[&desk.number(alert)].len(), 7);
}
