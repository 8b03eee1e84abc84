//! The model of everything acknowledged, and the clients that make the calls. The effect of a call answered with 200
//! must be there at the end. The effect of any other call may be there or not, but never twice.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::alerts::Alert;
use super::history::History;
use super::tables::IMPORTED_EUR_FROM;
use crate::support::alerts::{flat, with};
use crate::support::draw::Draw;

/// Maximum wait of a client for a response.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Pause of a client after a call that failed.
const PAUSE: Duration = Duration::from_millis(20);
/// Pause of a client between two calls, so that faults matter and not the load.
pub const BETWEEN: Duration = Duration::from_millis(8);
/// One call in this many has new adverts; the others change prices.
const NEW_ONCE_IN: usize = 3;

/// An advert.
#[derive(Clone, Debug, Default)]
pub struct Advert {
    /// Its identifier, once acknowledged.
    pub id: Option<String>,
    /// Its prices. A sighting that arrives after a later one changes nothing.
    pub prices: History<u64>,
}

/// The requests, and what was acknowledged.
#[derive(Default)]
pub struct Model {
    /// Adverts by number.
    pub adverts: BTreeMap<u64, Advert>,
    /// Identifiers of keys.
    pub keys: Vec<String>,
    /// Keys asked for.
    pub keys_asked: u64,
    /// Identifiers of charged calls.
    pub calls: Vec<String>,
    /// Charged calls without a response: each may have been charged once.
    pub unanswered: u64,
    /// Calls under an idempotency key that were acknowledged.
    pub repeated: u64,
    /// Their attempts after the first one.
    pub repetitions: u64,
    /// Alerts by identifier.
    pub alerts: BTreeMap<String, Alert>,
    /// Alerts asked for.
    pub alerts_asked: u64,
    /// Changes of alerts that were acknowledged.
    pub alert_changes: u64,
    /// Pages that were answered or promised.
    pub pages: Vec<String>,
    /// SQL statements asked, answered or not.
    pub statements: u64,
    /// Answers that were refusals.
    pub refused: u64,
    /// What must not be.
    pub violations: Vec<String>,
}

/// What all clients share.
#[derive(Clone)]
pub struct Load {
    /// Addresses of the servers that run.
    pub addresses: watch::Receiver<Vec<String>>,
    /// The model.
    pub model: Arc<Mutex<Model>>,
    /// Whether clients go on.
    pub goes_on: Arc<AtomicBool>,
    /// Number of sightings, which dates them.
    pub sightings: Arc<AtomicU64>,
    /// Milliseconds since the epoch of the first sighting.
    pub began_ms: i64,
}

/// A client with a key.
pub struct Client {
    load: Load,
    http: reqwest::Client,
    key: String,
    /// What it draws from.
    pub draw: Draw,
}

impl Client {
    /// A client that draws from a seed.
    pub fn new(load: &Load, key: &str, seed: u64) -> Self {
        Self {
            load: load.clone(),
            http: crate::support::http_client(),
            key: key.to_owned(),
            draw: Draw::new(seed),
        }
    }

    /// What was acknowledged.
    pub fn model(&self) -> MutexGuard<'_, Model> {
        self.load.model.lock().unwrap()
    }

    /// Repeats a request under an idempotency key until it succeeds. A refusal would be an error, and gives null.
    pub async fn insist(&mut self, method: Method, path: &str, body: &Value) -> Value {
        let name = format!("torture-{}", self.draw.bits());
        loop {
            let asked = self.ask(method.clone(), path, body, Some(&name)).await;
            match asked {
                Some((200, _, answer)) => return answer,
                Some((status @ (404 | 422), _, answer)) => {
                    self.violation(format!("{method} {path}: {status} {answer}"));
                    return Value::Null;
                }
                _ => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Sends a request to any server; returns status, identifier and body of the response, if one arrived. A null body
    /// means no body.
    pub async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: &Value,
        name: Option<&str>,
    ) -> Option<(u16, String, Value)> {
        let addresses = self.load.addresses.borrow().clone();
        if addresses.is_empty() {
            tokio::time::sleep(PAUSE).await;
            return None;
        }
        let url = format!("{}/v2/protected/{path}", self.draw.one_of(&addresses));
        let mut request = self
            .http
            .request(method, url)
            .header("x-api-key", &self.key);
        if let Some(name) = name {
            request = request.header("idempotency-key", name);
        }
        if !body.is_null() {
            request = request.json(body);
        }
        let answer = request.timeout(ANSWER_WITHIN).send().await.ok()?;
        let status = answer.status().as_u16();
        let id = answer
            .headers()
            .get("x-request-id")?
            .to_str()
            .ok()?
            .replace('-', "");
        // An incomplete response does not count.
        let body: Value = answer.json().await.ok()?;
        if status >= 400 {
            self.model().refused += 1;
            tokio::time::sleep(PAUSE).await;
        }
        Some((status, id, body))
    }

    fn violation(&self, text: String) {
        self.model().violations.push(text);
    }

    /// Whether it goes on.
    pub fn goes_on(&self) -> bool {
        self.load.goes_on.load(Ordering::Acquire)
    }

    /// Makes charged calls, whose response is always the same.
    pub async fn call(mut self, expected: Value) {
        let body = charged_body();
        while self.goes_on() {
            tokio::time::sleep(BETWEEN).await;
            let asked = self
                .ask(Method::POST, "opendata/dvf/search", &body, None)
                .await;
            let mut model = self.load.model.lock().unwrap();
            match asked {
                Some((200, id, answer)) => {
                    model.calls.push(id);
                    if without_cursor(answer.clone()) != without_cursor(expected.clone()) {
                        model.violations.push(format!("a wrong answer: {answer}"));
                    }
                }
                _ => model.unanswered += 1,
            }
        }
    }

    /// Makes charged calls under idempotency keys and repeats each until it is answered.
    pub async fn repeat(mut self, expected: Value) {
        let body = charged_body();
        while self.goes_on() {
            tokio::time::sleep(BETWEEN).await;
            let name = format!("torture-{}", self.draw.bits());
            for attempt in 0_u64.. {
                let asked = self
                    .ask(Method::POST, "opendata/dvf/search", &body, Some(&name))
                    .await;
                if let Some((200, _, answer)) = asked {
                    let mut model = self.load.model.lock().unwrap();
                    model.repeated += 1;
                    model.repetitions += attempt;
                    if without_cursor(answer.clone()) != without_cursor(expected.clone()) {
                        model.violations.push(format!("a wrong answer: {answer}"));
                    }
                    break;
                }
            }
        }
    }

    /// Creates keys, each call repeated under its idempotency key until it is answered.
    pub async fn make_keys(mut self) {
        while self.goes_on() {
            tokio::time::sleep(BETWEEN * 8).await;
            self.model().keys_asked += 1;
            let body = json!({"kind": "production"});
            let made = self.insist(Method::POST, "admin/keys", &body).await;
            match made["data"]["key_id"].as_str() {
                Some(id) => self.model().keys.push(id.to_owned()),
                None => self.violation(format!("no key: {made}")),
            }
        }
    }

    /// Ingests new adverts and new prices. Its adverts have the numbers that leave `own` when divided by `clients`.
    pub async fn ingest(mut self, own: u64, clients: u64) {
        let mut count = 0;
        while self.goes_on() {
            tokio::time::sleep(BETWEEN).await;
            if count == 0 || self.draw.once_in(NEW_ONCE_IN) {
                count += 1;
            }
            let number = self.draw.below(count) as u64 * clients + own;
            let advert = sighting(&self.load, number, &mut self.draw);
            let price = advert["currentPrice"]["value"].as_u64().unwrap();
            {
                let mut model = self.load.model.lock().unwrap();
                model.adverts.entry(number).or_default().prices.ask(price);
            }
            let body = json!({"adverts": [advert]});
            let asked = self.ask(Method::POST, "admin/adverts", &body, None).await;
            if let Some((200, _, outcome)) = asked {
                let id = outcome["data"][0]["flxId"].as_str().map(str::to_owned);
                if id.is_none() {
                    self.violation(format!("an advert without an identifier: {outcome}"));
                }
                acknowledge(&self.load, number, price, id);
            }
        }
    }
}

/// The body of the charged call: a search of sales that no import changes.
pub fn charged_body() -> Value {
    json!({"size": 3, "filters": {"price_eur": {"max": IMPORTED_EUR_FROM}}})
}

/// A sighting of an advert with a new price, later than all earlier ones.
pub fn sighting(load: &Load, number: u64, draw: &mut Draw) -> Value {
    let sighted = load.sightings.fetch_add(1, Ordering::AcqRel) as i64;
    let moment = chrono::DateTime::from_timestamp_millis(load.began_ms + sighted).unwrap();
    let shift = |step: u64| (number / step % 40) as f64 / 400.0;
    with(
        flat("torture", number, number),
        json!({
            "currentPrice": {"value": 100_000 + draw.below(900_000)},
            "location": {"postalCode": "69003", "city": "Lyon",
                "locationCoordinate": {"location": [4.80 + shift(1), 45.70 + shift(40)]}},
            "habitation": {"roomCount": 3, "surface": {"total": 30 + number % 90}},
            "lastSeenAt": moment.to_rfc3339(),
        }),
    )
}

/// Records that the last requested price was acknowledged.
pub fn acknowledge(load: &Load, number: u64, price: u64, id: Option<String>) {
    let mut model = load.model.lock().unwrap();
    let advert = model.adverts.entry(number).or_default();
    advert.id = id.or(advert.id.take());
    advert.prices.acknowledge(price);
}

/// A page without its cursor, which names the version of the table and so differs after an import.
fn without_cursor(mut page: Value) -> Value {
    if let Some(page) = page.as_object_mut() {
        page.remove("cursor");
    }
    page
}
