//! A running service over a few records in memory, and helpers to call it.

pub mod alerts;
pub mod areas;
pub mod assertions;
pub mod cases;
pub mod client;
pub mod collecting;
pub mod crashes;
pub mod dispatching;
pub mod draw;
pub mod failing_disks;
pub mod files;
pub mod filters;
pub mod flight;
pub mod homes;
pub mod layers;
pub mod listings;
pub mod mvt;
pub mod portal;
pub mod process;
pub mod publisher;
pub mod receiver;
pub mod reference;
pub mod reference_listings;
pub mod rows;
pub mod s3;
pub mod skip;
pub mod sql;
pub mod statements;
pub mod workbooks;

use process::executable;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::{Method, Response};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use toise::accounts::DEFAULT_ACCOUNT;
use toise::accounts::grants::Grants;
use toise::accounts::key::{KeyKind, NewKey};
use toise::accounts::keys;
use toise::app::compose::{Sources, app};
use toise::app::config::Config;
use toise::base::clock::Clock;
use toise::base::supervise::Supervisor;
use toise::collect::portals::Portals;
use toise::engine::cancellation::Interrupt;
use toise::engine::{Budget, Engine};
use toise::estimate::live::LiveModel;
use toise::estimate::valuer::Adjustments;
use toise::geocode::live::LiveGeocoder;
use toise::geocode::service::GeocodingService;
use toise::http::endpoint::audience::Audience;
use toise::http::server;
use toise::lake::Lake;
use toise::listings::Listings;
use toise::listings::columns::{adverts, properties};
use toise::listings::search::projection::{Compaction, Projection, ProjectionWorkers};
use toise::listings::search::texts::TextSearch;
use toise::opendata::history::{History, HistoryRequest, PlaceFacts};
use toise::opendata::{
    CursorPosition, Dataset, DatasetSearchRequest, MatchAnswer, MatchCandidate, MatchConfidence,
    MatchRequest, SearchAnswer, SortValue,
};
use toise::opendata::{dpe, dvf};
use toise::service::open_data::{AnswerError, OpenDataBackend};
use toise::service::{App, Readiness};
use toise::store::Store;
use toise::store::leader::Leader;
use toise::transport::server::ServerLimits;
use toise::transport::tls::Tls;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The time at which services start.
pub const START: &str = "2026-11-21T15:00:00Z";
/// Number of rows in the in-memory tables.
pub const ROWS: usize = 45;

/// Tables of [`ROWS`] rows that all match, in the order of their ids.
pub struct InMemoryTables {
    /// Duration of each query.
    pub delay: Duration,
    /// Whether queries fail.
    pub fail: bool,
    /// Number of bytes added to each record that a search finds.
    pub padding: usize,
    /// Number of cancelled queries.
    pub interrupted: Arc<AtomicUsize>,
}

impl Default for InMemoryTables {
    /// Rows that are returned without delay.
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            fail: false,
            padding: 0,
            interrupted: Arc::default(),
        }
    }
}

fn record(row: usize) -> Bytes {
    Bytes::from(format!(r#"{{"id":"r{row:03}","odd spacing" : 1.50}}"#))
}

impl OpenDataBackend for InMemoryTables {
    fn search(
        &self,
        _: Dataset,
        request: &DatasetSearchRequest,
        interrupt: &Interrupt,
    ) -> Result<SearchAnswer, AnswerError> {
        let started = Instant::now();
        while started.elapsed() < self.delay {
            if interrupt.is_raised() {
                self.interrupted.fetch_add(1, Ordering::SeqCst);
                return Err("interrupted".into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.fail {
            return Err("the disk under /var/lib is gone".into());
        }
        let start = match &request.after {
            None => 0,
            Some(position) => position.id[1..].parse::<usize>()? + 1,
        };
        let end = (start + request.size).min(ROWS);
        Ok(SearchAnswer {
            records: (start..end)
                .map(|row| {
                    [record(row), " ".repeat(self.padding).into()]
                        .concat()
                        .into()
                })
                .collect(),
            total: ROWS as u64,
            next: (end < ROWS).then(|| CursorPosition {
                value: Some(SortValue::Day(1)),
                id: format!("r{:03}", end - 1),
                state: None,
            }),
        })
    }

    fn find_matches(
        &self,
        _: Dataset,
        request: &MatchRequest,
        _: &Interrupt,
    ) -> Result<MatchAnswer, AnswerError> {
        let candidates = (0..request.size.min(2)).map(|row| MatchCandidate {
            score: 97.5 - row as f64,
            confidence: MatchConfidence::Medium,
            id: format!("r{row:03}"),
            record: record(row),
        });
        Ok(MatchAnswer {
            candidates: candidates.collect(),
            ambiguous: true,
            total: ROWS as u64,
        })
    }

    fn history(&self, _: &HistoryRequest, _: &Interrupt) -> Result<History, AnswerError> {
        Ok(History {
            place: PlaceFacts::default(),
            events: Vec::new(),
            total: 0,
            next: None,
        })
    }
}

/// The properties of a data folder.
pub fn projection(data: &Path, listings: Listings) -> Projection {
    let tables = [dvf::schema(), dpe::schema(), properties(), adverts()];
    let engine = Engine::open(data, &tables, Budget::default()).unwrap();
    let (lake, texts) = (Lake::open(data).unwrap(), TextSearch::open(data));
    Projection::open(listings, Arc::new(engine), lake, texts, Compaction::Here).unwrap()
}

/// A running service; it stops when dropped.
pub struct Service {
    /// Its address.
    pub address: SocketAddr,
    /// A key with every scope but `admin`.
    pub key: String,
    /// Its store.
    pub store: Store,
    /// Its clock.
    pub clock: Clock,
    /// Its readiness.
    pub readiness: Readiness,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
    client: reqwest::Client,
    _collecting: Leader,
    _keeping: ProjectionWorkers,
    _folder: tempfile::TempDir,
}

impl Service {
    /// Starts a service with default limits.
    pub async fn start() -> Self {
        Self::start_changed(|_| {}).await
    }

    /// Starts a service with default rows and limits; `change` adjusts its state.
    pub async fn start_changed(change: impl FnOnce(&mut App)) -> Self {
        Self::start_with(InMemoryTables::default(), ServerLimits::default(), change).await
    }

    /// Starts a service with default rows and these limits.
    pub async fn start_limited(limits: ServerLimits) -> Self {
        Self::start_with(InMemoryTables::default(), limits, |_| {}).await
    }

    /// Starts a service with given rows and limits; `change` adjusts its state.
    pub async fn start_with(
        rows: InMemoryTables,
        limits: ServerLimits,
        change: impl FnOnce(&mut App),
    ) -> Self {
        Self::start_over(None, rows, limits, change).await
    }

    /// Starts a service over TLS with default rows and these limits.
    pub async fn start_over_tls(tls: &Tls, limits: ServerLimits) -> Self {
        Self::start_over(Some(tls.clone()), InMemoryTables::default(), limits, |_| {}).await
    }

    async fn start_over(
        tls: Option<Tls>,
        rows: InMemoryTables,
        limits: ServerLimits,
        change: impl FnOnce(&mut App),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let supervisor = Supervisor::default();
        let store = Store::open_supervised(folder.path(), &supervisor).unwrap();
        let clock = Clock::steered(START.parse().unwrap());
        let portals = Portals::load(folder.path()).unwrap();
        let listings =
            Listings::new(store.clone(), clock.clone()).with_identity(portals.identity());
        let properties = Arc::new(projection(folder.path(), listings));
        let keeping = properties.start_workers(&supervisor).unwrap();
        let mut app = app(
            &supervisor,
            &store,
            Sources {
                open_data: Arc::new(rows),
                properties,
                models: LiveModel::open(folder.path(), Adjustments::On),
                geocoding: GeocodingService::new(
                    folder.path(),
                    LiveGeocoder::open(folder.path()),
                    None,
                ),
                program: executable().into(),
            },
            &clock,
            &Config::default(),
        )
        .unwrap();
        change(&mut app);
        let readiness = app.readiness.clone();
        let collecting = app
            .data
            .collector
            .start(&supervisor, Handle::current(), app.metrics.clone())
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let filter = toise::mcp::http::with_mcp(&app);
        let stopped = async {
            let _ = stopped.await;
        };
        let running = tokio::spawn(server::run(
            listener,
            tls,
            app,
            filter,
            Audience::Everyone,
            limits,
            stopped,
        ));
        let kind = KeyKind::Production;
        let key = keys::create(&store, &clock, kind, kind.default_scopes(), DEFAULT_ACCOUNT)
            .unwrap()
            .key;
        Self {
            address,
            key,
            store,
            clock,
            readiness,
            stop: Some(stop),
            running: Some(running),
            client: http_client(),
            _collecting: collecting,
            _keeping: keeping,
            _folder: folder,
        }
    }

    /// A key with these scopes.
    pub fn key_with(&self, scopes: &str) -> String {
        self.new_key(KeyKind::Production, scopes, DEFAULT_ACCOUNT)
            .key
    }

    /// A key of a kind with these grants, for an account.
    pub fn new_key(&self, kind: KeyKind, grants: &str, account: &str) -> NewKey {
        let grants = Grants::parse(grants).unwrap();
        keys::create(&self.store, &self.clock, kind, grants, account).unwrap()
    }

    /// Numbers read from the store by a query.
    pub fn stored(&self, query: &str) -> Vec<i64> {
        self.store.read(numbers(query)).unwrap()
    }

    /// Numbers read from the ledger of calls by a query.
    pub fn charged(&self, query: &str) -> Vec<i64> {
        self.store.ledger().read(numbers(query)).unwrap()
    }

    /// A request without a key.
    pub fn ask(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client
            .request(method, format!("http://{}{path}", self.address))
            .timeout(Duration::from_secs(20))
    }

    /// A request under a key.
    pub fn keyed(&self, method: Method, path: &str, key: &str) -> reqwest::RequestBuilder {
        self.ask(method, path).header("x-api-key", key)
    }

    /// The response to a JSON body under the service's key.
    pub async fn call(&self, method: Method, path: &str, body: &Value) -> Response {
        let request = self.keyed(method, path, &self.key).json(body);
        request.send().await.unwrap()
    }

    /// The `data` of the successful response to a JSON body under the service's key.
    pub async fn data(&self, method: Method, path: &str, body: &Value) -> Value {
        let response = self.call(method, path, body).await;
        let status = response.status();
        let mut answer: Value = response.json().await.unwrap();
        assert!(status.is_success(), "{path} {status} {answer}");
        answer["data"].take()
    }

    /// The response to a GET under the service's key.
    pub async fn get(&self, path: &str) -> Response {
        let request = self.keyed(Method::GET, path, &self.key);
        request.send().await.unwrap()
    }

    /// Ingests adverts under the key of an operator; returns their outcomes.
    pub async fn ingest(&self, operator: &str, adverts: &[Value]) -> Value {
        let request = self.keyed(Method::POST, "/v2/protected/admin/adverts", operator);
        let request = request.json(&json!({ "adverts": adverts }));
        data_of(request.send().await.unwrap()).await
    }

    /// A POST with a JSON text under the service's key.
    pub async fn post(&self, path: &str, body: impl Into<String>) -> Response {
        self.keyed(Method::POST, path, &self.key)
            .header("content-type", "application/json")
            .body(body.into())
            .send()
            .await
            .unwrap()
    }

    /// Its data folder.
    pub fn folder(&self) -> &Path {
        self._folder.path()
    }

    /// Stops the service and returns the handle to wait for its end.
    pub fn stop(&mut self) -> JoinHandle<()> {
        self.stop.take().unwrap().send(()).unwrap();
        self.running.take().unwrap()
    }
}

/// Path of a test certificate (`one`) or its key (`one.key`).
pub fn certificate(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/support/tls/{name}.pem"))
}

/// TLS settings of a client that trusts only one certificate.
pub fn trusting(certificate: &Path) -> rustls::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(certificate).unwrap())
        .unwrap();
    rustls::ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// Status, `error.code` and `error.message` of a response, after checks that apply to every error response.
pub async fn error_of(response: Response) -> (u16, u64, String) {
    let status = response.status().as_u16();
    assert!(response.headers().contains_key("x-request-id"));
    assert_eq!(response.headers()["content-type"], "application/json");
    let body: Value = response.json().await.unwrap();
    assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
    let error = body["error"].as_object().unwrap();
    assert_eq!(error.len(), 2, "{body}");
    let message = error["message"].as_str().unwrap().to_owned();
    (status, error["code"].as_u64().unwrap(), message)
}

/// The `data` of a response with the status 200.
pub async fn data_of(response: Response) -> Value {
    let (status, url) = (response.status(), response.url().clone());
    let mut answer: Value = response.json().await.unwrap();
    assert_eq!(status, 200, "{url}: {answer}");
    answer["data"].take()
}

/// The numbers of the only row of a query.
fn numbers(query: &str) -> impl Fn(&rusqlite::Connection) -> rusqlite::Result<Vec<i64>> {
    move |connection| {
        connection.query_row(query, [], |row| {
            (0..row.as_ref().column_count())
                .map(|column| row.get(column))
                .collect()
        })
    }
}

/// A plain HTTP client.
pub fn http_client() -> reqwest::Client {
    toise::net::tls::client_builder().build().unwrap()
}
