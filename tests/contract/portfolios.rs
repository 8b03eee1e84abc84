//! Portfolios through the socket: stored in any format, valued in the background, compared with what was reported, and
//! invisible to other accounts.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use toise::accounts::key::KeyKind;
use toise::accounts::prices::Prices;
use toise::alerts::dispatch::{self, DispatcherContext};
use toise::alerts::retention::Retention;
use toise::alerts::settings::WebhookSettings;
use toise::base::supervise::Supervisor;
use toise::estimate::live::LiveModel;
use toise::estimate::store;
use toise::estimate::valuer::Adjustments;
use toise::geocode::live::LiveGeocoder;
use toise::net::egress::{AllowedHosts, EgressGuard};
use toise::net::webhook_client::WebhookClient;
use toise::portfolios::PortfolioContext;
use toise::service::receivers::ReceiverChecker;
use toise::store::leader::Leader;
use toise::telemetry::Metrics;
use tokio::runtime::Handle;

use crate::support::assertions::pick;
use crate::support::homes::{IN_PARIS, body, lake_of, train, trained};
use crate::support::receiver::{Act, Receiver};
use crate::support::{Service, data_of, error_of, http_client};

const ROOT: &str = "/v2/protected/portfolios";
/// Maximum wait for a valuation or a delivery.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Longer than the pause between two looks for changed tables.
const A_LOOK: Duration = Duration::from_millis(2_500);

/// A service that values portfolios with the models of a folder, and may post to this machine.
pub(super) async fn start(folder: &Path) -> (Service, Leader, LiveModel) {
    let models = LiveModel::open(folder, Adjustments::On);
    let addresses = LiveGeocoder::open(folder);
    let mut runner = None;
    let (used, started) = (models.clone(), &mut runner);
    let service = Service::start_changed(|app| {
        app.data.models = used.clone();
        app.data.receivers = ReceiverChecker::new(gate()).unwrap();
        let context = PortfolioContext {
            engine: app.data.properties.shared_engine(),
            models: used,
            addresses,
            prices: Arc::clone(&app.billing.prices),
        };
        *started = Some(
            app.data
                .portfolios
                .run(&Supervisor::default(), context)
                .unwrap(),
        );
    })
    .await;
    (service, runner.unwrap(), models)
}

/// A dispatcher that posts what is in the outbox of a service.
pub(super) fn delivering(service: &Service) -> Leader {
    let context = DispatcherContext {
        store: service.store.clone(),
        clock: service.clock.clone(),
        poster: WebhookClient::new(gate()).unwrap(),
        prices: Arc::new(Prices::default()),
        retention: Retention::from(&WebhookSettings::default()),
        metrics: Metrics::new().unwrap(),
    };
    dispatch::start(&Supervisor::default(), context, Handle::current()).unwrap()
}

fn gate() -> EgressGuard {
    EgressGuard::new(AllowedHosts::parse("127.0.0.1").unwrap())
}

async fn put(
    service: &Service,
    path: &str,
    kind: &str,
    body: impl Into<reqwest::Body>,
) -> reqwest::Response {
    service.clock.advance_ms(20);
    let request = service
        .keyed(Method::PUT, &format!("{ROOT}/{path}"), &service.key)
        .header("content-type", kind);
    request.body(body).send().await.unwrap()
}

pub(super) async fn stored(
    service: &Service,
    path: &str,
    kind: &str,
    body: impl Into<reqwest::Body>,
) -> Value {
    data_of(put(service, path, kind, body).await).await
}

pub(super) async fn read(service: &Service, path: &str) -> Value {
    service.clock.advance_ms(20);
    data_of(service.get(&format!("{ROOT}{path}")).await).await
}

/// Waits until a portfolio was valued by another model than `former`.
pub(super) async fn valued(service: &Service, name: &str, former: &Value) -> Value {
    let is_valued = |found: &Value| found["status"] == "valued" && found["model"] != *former;
    until_read(service, name, is_valued).await
}

/// Waits until a portfolio is as expected.
pub(super) async fn until_read(
    service: &Service,
    name: &str,
    is_expected: impl Fn(&Value) -> bool,
) -> Value {
    let started = Instant::now();
    loop {
        let found = read(service, &format!("/{name}")).await;
        if is_expected(&found) {
            return found;
        }
        assert!(started.elapsed() < WAIT_MAX, "{found}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The homes that a receiver was told of, in order.
fn told(receiver: &Receiver) -> Vec<Value> {
    let received = receiver.received();
    let homes = received.iter().flat_map(|one| {
        let homes = &one.json()["data"]["updated"][0]["homes"];
        homes.as_array().unwrap().clone()
    });
    homes.collect()
}

/// Waits until a receiver was told of this many homes, and a while longer; returns all that it was told of.
pub(super) async fn until_told(receiver: &Receiver, homes: usize) -> Vec<Value> {
    let started = Instant::now();
    while told(receiver).len() < homes {
        assert!(started.elapsed() < WAIT_MAX, "{:?}", told(receiver));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(A_LOOK).await;
    told(receiver)
}

#[tokio::test]
async fn homes_are_stored_in_any_format_valued_and_read_page_by_page() {
    let folder = trained();
    let (service, _runner, _) = start(folder.path()).await;
    let [longitude, latitude] = IN_PARIS;
    let csv = format!(
        "key,type,surface_m2,room_count,bedroom_count,longitude,latitude\na,flat,50,3,2,{longitude},{latitude}\n\
         b,castle,50,3,2,{longitude},{latitude}\nc,flat,80,3,2,{longitude},{latitude}\n"
    );
    let answer = stored(&service, "mine", "text/csv", csv).await;
    assert_eq!(
        pick(&answer, ["home_count", "faulty", "status"]),
        json!([3, 1, "waiting"])
    );
    assert_eq!(pick(&answer["faults"][0], ["row", "key"]), json!([2, "b"]));
    assert!(
        answer["faults"][0]["message"]
            .as_str()
            .unwrap()
            .starts_with("type: "),
        "{answer}"
    );

    let first = valued(&service, "mine", &Value::Null).await;
    let homes = first["homes"].as_array().unwrap();
    let keys: Vec<&str> = homes
        .iter()
        .map(|home| home["key"].as_str().unwrap())
        .collect();
    assert_eq!(keys, ["a", "b", "c"]);
    assert!(
        homes[1]["error"].as_str().unwrap().starts_with("type: ")
            && homes[1].get("price").is_none()
    );
    let price = |nth: usize| homes[nth]["price"].as_i64().unwrap();
    assert!(price(0) > 0 && price(2) > price(0));
    let totals = &first["totals"];
    assert_eq!(pick(totals, ["valued", "errors"]), json!([2, 1]));
    assert_eq!(totals["value"], price(0) + price(2));
    // A value is that of the estimate; two homes were charged, once.
    let body = body(IN_PARIS, "CLASS_FLAT", 50.0);
    let estimate: Value = service
        .post("/v2/protected/estimate/property/lite", body.to_string())
        .await
        .json()
        .await
        .unwrap();
    assert_eq!(estimate["data"]["price"], price(0));
    assert_eq!(
        service.stored("SELECT count(*), sum(credits) FROM ledger"),
        [1, 2]
    );

    let page = read(&service, "/mine?size=2").await;
    assert_eq!(
        (page["homes"].as_array().unwrap().len(), &page["hasMore"]),
        (2, &json!(true))
    );
    let rest = read(
        &service,
        &format!("/mine?size=2&cursor={}", page["cursor"].as_str().unwrap()),
    )
    .await;
    assert_eq!(
        (&rest["homes"][0]["key"], &rest["hasMore"]),
        (&json!("c"), &json!(false))
    );
    let unchanged = read(&service, "/mine?changesSince=2026-11-01").await;
    assert_eq!(
        unchanged["changes"],
        json!({"homes": 0, "values": 0, "value_before": 0, "value": 0})
    );

    let homes = json!([{"id": 7, "type": "flat", "surface_m2": 50, "room_count": 3, "bedroom_count": 2,
        "longitude": longitude, "latitude": latitude}]);
    stored(&service, "json", "application/json", homes.to_string()).await;
    let second = valued(&service, "json", &Value::Null).await;
    assert_eq!(
        pick(&second["homes"][0], ["key", "price"]),
        json!(["7", price(0)])
    );
    let listed = read(&service, "").await;
    let names: Vec<&Value> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["json", "mine"]);

    let stranger = service.new_key(KeyKind::Production, "ai", "stranger");
    for method in [Method::GET, Method::DELETE] {
        let request =
            http_client().request(method, format!("http://{}{ROOT}/mine", service.address));
        let refused = request
            .header("x-api-key", &stranger.key)
            .send()
            .await
            .unwrap();
        assert_eq!(refused.status(), 404);
    }
    service.clock.advance_ms(20);
    let delete = service.keyed(Method::DELETE, &format!("{ROOT}/mine"), &service.key);
    assert_eq!(delete.send().await.unwrap().status(), 200);
    assert_eq!(read(&service, "").await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_is_no_portfolio_is_refused_with_its_fault() {
    let folder = trained();
    let (service, _runner, _) = start(folder.path()).await;
    let row = "flat,50,2.37,48.86\n";
    let header = "key,type,surface_m2,longitude,latitude\n";
    for (path, body, message) in [
        ("mine", format!("{header}a,{row}a,{row}"), "row 2: key: "),
        (
            "mine",
            format!("type,surface_m2,longitude,latitude\n{row}"),
            "body: the file has no column key or id",
        ),
        ("mine", String::new(), "body: the file: the file is empty"),
        (
            "mine?movedPercent=0",
            format!("{header}a,{row}"),
            "movedPercent: must be a number between 0.1 and 100",
        ),
        (
            "mine?webhookUrl=https://10.0.0.1/",
            format!("{header}a,{row}"),
            "webhookUrl: must name a public host",
        ),
        (
            "%20a",
            format!("{header}a,{row}"),
            "name: must be 1 to 100 characters",
        ),
    ] {
        let (status, _, told) = error_of(put(&service, path, "text/csv", body).await).await;
        assert!(
            status == 422 && told.starts_with(message),
            "{status} {told}, not {message}"
        );
    }
    assert!(read(&service, "").await.as_array().unwrap().is_empty());
}

/// A folder whose model can be replaced, with the model of [`trained`].
fn replaceable() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let model = toise::estimate::Model::open(&trained().path().join(store::FOLDER)).unwrap();
    model.save(&folder.path().join(store::FOLDER)).unwrap();
    folder
}

#[tokio::test]
async fn a_new_model_values_again_and_a_receiver_is_told_once() {
    let folder = replaceable();
    let (service, _runner, models) = start(folder.path()).await;
    let receiver = Receiver::always(Act::Status(200)).await;
    let _dispatcher = delivering(&service);
    let [longitude, latitude] = IN_PARIS;
    let rows: String = (0..5)
        .map(|nth| format!("h{nth},flat,{},{longitude},{latitude}\n", 30 + 10 * nth))
        .collect();
    let csv = format!("key,type,surface_m2,longitude,latitude\n{rows}");
    let path = format!("mine?movedPercent=0.1&webhookUrl={}", receiver.url());
    stored(&service, &path, "text/csv", csv).await;
    let before = valued(&service, "mine", &Value::Null).await;
    assert_eq!(receiver.count(), 0);

    service.clock.advance_ms(60_000);
    tokio::task::spawn_blocking({
        let folder = folder.path().to_owned();
        move || train(lake_of(1_000, 2).path(), None, &folder)
    })
    .await
    .unwrap();
    models.reload_if_changed();
    let after = valued(&service, "mine", &before["model"]).await;
    assert_eq!(
        service.stored(
            "SELECT count(*), sum(credits) FROM ledger WHERE type = 'API_ESTIMATE_PROPERTY_LITE'"
        ),
        [2, 10]
    );
    let changed = read(&service, "/mine?changesSince=2026-11-21").await;
    assert_eq!(changed["changes"]["homes"], 5);
    assert_eq!(
        changed["changes"]["value_before"],
        before["totals"]["value"]
    );
    assert_eq!(changed["changes"]["value"], after["totals"]["value"]);
    assert_eq!(
        changed["homes"][0]["previous_price"],
        before["homes"][0]["price"]
    );

    // Nothing follows.
    let told = until_told(&receiver, 5).await;
    let keys: Vec<&str> = told
        .iter()
        .map(|home| home["key"].as_str().unwrap())
        .collect();
    assert_eq!(keys, ["h0", "h1", "h2", "h3", "h4"]);
    assert!(
        told[0]["changes"]
            .as_array()
            .unwrap()
            .contains(&json!("value"))
    );
    assert_eq!(told[0]["price"], after["homes"][0]["price"]);
    let body = receiver.received()[0].json();
    assert_eq!(body["data"]["created"], json!([]));
    assert_eq!(
        body["data"]["updated"][0]["context"],
        json!({"portfolio": "mine"})
    );
}
