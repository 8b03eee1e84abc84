//! A dispatcher over a store, alerts that fill its outbox, and a steered clock.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Transaction;
use serde_json::Value;
use toise::accounts::DEFAULT_ACCOUNT;
use toise::accounts::account::{Account, find_or_create};
use toise::accounts::prices::Prices;
use toise::alerts::deliveries::{self, PageParams};
use toise::alerts::delivery::{Delivery, DeliveryStatus};
use toise::alerts::dispatch::{self, DispatcherContext};
use toise::alerts::outbox::{Branch, enqueue, snapshot};
use toise::alerts::retention::Retention;
use toise::alerts::settings::WebhookSettings;
use toise::base::clock::Clock;
use toise::base::supervise::Supervisor;
use toise::contract::listings::codes::FlxId;
use toise::net::egress::{AllowedHosts, EgressGuard};
use toise::net::webhook_client::WebhookClient;
use toise::store::leader::Leader;
use toise::store::{Store, document};
use toise::telemetry::Metrics;
use tokio::runtime::Handle;
use uuid::Uuid;

use super::START;

/// Maximum wait for a condition.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// An alert of a test.
#[derive(Clone, Copy, Debug)]
pub struct TestAlert {
    /// Its number in the store.
    pub number: i64,
    /// Its identifier.
    pub id: FlxId,
}

/// Stores an alert; `kind` is `PROPERTY` or `ADVERT`.
pub fn insert_alert(
    store: &Store,
    account: &Account,
    kind: &'static str,
    url: &str,
    context: Option<&str>,
) -> TestAlert {
    let id = FlxId(Uuid::now_v7());
    let (account, url) = (account.account_id.to_string(), url.to_owned());
    let context = context.map(str::to_owned);
    let number = store.write(move |transaction| {
        transaction.execute(
            "INSERT INTO alerts (alert_id, account_id, kind, activated, search_name, search_query, webhook_url,
                 match_kinds, context, created_at_ms, updated_at_ms, change)
             VALUES (?1, ?2, ?3, 1, 'Test', '{}', ?4, '[\"ALERT_MATCH_CREATED\"]', ?5, 0, 0,
                 (SELECT coalesce(max(change), 0) + 1 FROM alerts))",
            (id.0.as_bytes(), account, kind, url, context),
        )?;
        Ok(transaction.last_insert_rowid())
    });
    TestAlert {
        number: number.unwrap(),
        id,
    }
}

/// A dispatcher and everything it needs.
pub struct DispatcherFixture {
    /// Its store.
    pub store: Store,
    /// Its clock.
    pub clock: Clock,
    /// Its metrics.
    pub metrics: Metrics,
    /// The account of its alerts.
    pub account: Account,
    /// Prices of deliveries.
    pub prices: Prices,
    /// Retention of the outbox.
    pub retention: Retention,
    folder: tempfile::TempDir,
    dispatcher: Option<Leader>,
}

impl DispatcherFixture {
    /// A store whose dispatcher is not running.
    pub fn idle() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let clock = Clock::steered(START.parse().unwrap());
        let account = find_or_create(&store, &clock, DEFAULT_ACCOUNT).unwrap();
        Self {
            store,
            clock,
            metrics: Metrics::new().unwrap(),
            account,
            prices: Prices::default(),
            retention: Retention::from(&WebhookSettings::default()),
            folder,
            dispatcher: None,
        }
    }

    /// A store with a running dispatcher that may call this machine.
    pub fn start() -> Self {
        let mut fixture = Self::idle();
        fixture.resume("127.0.0.1");
        fixture
    }

    /// Starts the dispatcher; the allowed hosts may have any address.
    pub fn resume(&mut self, allowed: &str) {
        let setup = self.setup(allowed);
        self.dispatcher =
            Some(dispatch::start(&Supervisor::default(), setup, Handle::current()).unwrap());
    }

    /// The context of a dispatcher on this store.
    pub fn setup(&self, allowed: &str) -> DispatcherContext {
        let gate = EgressGuard::new(AllowedHosts::parse(allowed).unwrap());
        DispatcherContext {
            store: self.store.clone(),
            clock: self.clock.clone(),
            poster: WebhookClient::new(gate).unwrap(),
            prices: Arc::new(self.prices.clone()),
            retention: self.retention,
            metrics: self.metrics.clone(),
        }
    }

    /// Stops the dispatcher. Blocks.
    pub fn pause(&mut self) {
        self.dispatcher = None;
    }

    /// The data folder.
    pub fn data(&self) -> &Path {
        self.folder.path()
    }

    /// An alert on properties.
    pub fn property_alert(&self, url: &str) -> TestAlert {
        insert_alert(&self.store, &self.account, "PROPERTY", url, None)
    }

    /// An alert on adverts, with the context its deliveries echo.
    pub fn advert_alert(&self, url: &str, context: &str) -> TestAlert {
        insert_alert(&self.store, &self.account, "ADVERT", url, Some(context))
    }

    /// Writes to the store in one transaction.
    pub fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> T {
        self.store.write(change).unwrap()
    }

    /// Adds notifications of new properties to an alert, in one transaction; returns the identifiers.
    pub fn tell(&self, alert: TestAlert, branch: Branch, properties: usize) -> Vec<String> {
        let ids: Vec<FlxId> = (0..properties).map(|_| FlxId(Uuid::now_v7())).collect();
        let names = ids.iter().map(ToString::to_string).collect();
        self.tell_of(alert, branch, ids);
        names
    }

    /// Adds notifications of the given properties to an alert, in one transaction.
    pub fn tell_of(&self, alert: TestAlert, branch: Branch, ids: Vec<FlxId>) {
        let at_ms = self.clock.now().timestamp_millis();
        self.write(move |transaction| {
            ids.iter()
                .try_for_each(|id| enqueue(transaction, alert.number, branch, *id, None, at_ms))
        });
    }

    /// Adds notifications of an advert with a snapshot of its record to alerts, in one transaction.
    pub fn tell_advert(&self, alerts: &[TestAlert], branch: Branch, record: &Value) {
        let at_ms = self.clock.now().timestamp_millis();
        let id = FlxId(Uuid::try_parse(record["flxId"].as_str().unwrap()).unwrap());
        let alerts = alerts.to_vec();
        let document = document::compress(record.to_string().as_bytes()).unwrap();
        self.write(move |transaction| {
            let snapshot = snapshot(transaction, &document)?;
            alerts.iter().try_for_each(|alert| {
                enqueue(transaction, alert.number, branch, id, Some(snapshot), at_ms)
            })
        });
    }

    /// Deliveries of an alert, newest first.
    pub fn deliveries(&self, alert: TestAlert) -> Vec<Delivery> {
        let page = PageParams { skip: 0, take: 100 };
        deliveries::list_for_alert(&self.store, alert.id, None, page).unwrap()
    }

    /// Waits until the newest delivery of an alert has this status and number of attempts.
    pub async fn delivery(
        &self,
        alert: TestAlert,
        status: DeliveryStatus,
        attempts: u32,
    ) -> Delivery {
        let newest = || {
            let found = self.deliveries(alert).into_iter().next()?;
            (found.status == status && found.attempts == attempts).then_some(found)
        };
        let what = format!("{status:?} after {attempts}");
        until(&what, newest, || format!("{:?}", self.deliveries(alert))).await
    }

    /// A number read from the store by a query.
    pub fn number(&self, query: &str) -> i64 {
        self.store
            .read(|connection| connection.query_row(query, [], |row| row.get(0)))
            .unwrap()
    }

    /// Waits until the store has this number of rows; `rows` is a table, and may have a condition.
    pub async fn until_count(&self, rows: &str, expected: i64) {
        let query = format!("SELECT count(*) FROM {rows}");
        self.until_number(&query, expected).await;
    }

    /// Waits until a query of the store returns a number.
    pub async fn until_number(&self, query: &str, expected: i64) {
        let found = || (self.number(query) == expected).then_some(());
        until(query, found, || self.number(query).to_string()).await;
    }
}

/// Waits until a value is found; `instead` describes the current state on a timeout.
pub async fn until<T>(
    what: &str,
    mut found: impl FnMut() -> Option<T>,
    instead: impl Fn() -> String,
) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(started.elapsed() < WAIT_MAX, "{what}: {}", instead());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
