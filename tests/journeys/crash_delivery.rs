//! A server killed during ingestion and delivery: every acknowledged change is delivered, in order for each item,
//! and a repeated delivery has the same body and identifier.

use std::collections::{BTreeMap, HashMap};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use toise::contract::listings::filters::ListingKind;
use tokio::sync::watch;

use crate::support::alerts::{body, flat, with};
use crate::support::dispatching::until;
use crate::support::draw::Draw;
use crate::support::process::{Server, new_key, variable};
use crate::support::receiver::{Act, Receiver};

/// Number of kills, unless `TOISE_KILLS` overrides it.
const KILLS: usize = 6;
/// Clients, each with one call in flight and its own assets.
const CLIENTS: u64 = 3;
/// Price changes per call.
const CHANGES: usize = 3;
const ALLOWED: [&str; 2] = ["--allow-webhook-hosts", "127.0.0.1"];

/// Notifications of each item, in order: the branch, and the price for adverts.
type Stories = BTreeMap<String, Vec<(&'static str, u64)>>;

/// An advert as known to a client.
struct ClientAdvert {
    /// Each asset is on two portals, under consecutive numbers.
    number: u64,
    price: u64,
    id: String,
}

/// A sighting of the advert on its portal in a round.
fn sighting(number: u64, price: u64, round: i64) -> Value {
    let asset = number / 2;
    let portal = if number.is_multiple_of(2) {
        "un"
    } else {
        "deux"
    };
    let moment = chrono::DateTime::from_timestamp(1_793_520_000 + round, 0).unwrap();
    let shift = |step: u64| (asset / step % 40) as f64 / 400.0;
    with(
        flat(portal, number, asset),
        json!({
            "currentPrice": {"value": price},
            "location": {"postalCode": "69003", "city": "Lyon",
                "locationCoordinate": {"location": [4.80 + shift(1), 45.70 + shift(40)]}},
            "habitation": {"roomCount": 3, "surface": {"total": 60 + asset % 50}},
            "lastSeenAt": moment.to_rfc3339(),
        }),
    )
}

/// A client that sends new adverts and new prices, repeats each call until it is acknowledged, and records the
/// expected notifications.
struct Client {
    http: reqwest::Client,
    key: String,
    address: watch::Receiver<String>,
    acknowledged: Arc<AtomicUsize>,
    adverts: Stories,
    properties: Stories,
}

impl Client {
    async fn call(&mut self, method: Method, path: &str, body: &Value) -> Value {
        loop {
            let url = format!("{}/v2/protected/{path}", *self.address.borrow());
            let request = self
                .http
                .request(method.clone(), url)
                .header("x-api-key", &self.key);
            let request = request.timeout(Duration::from_secs(20)).json(body);
            if let Ok(response) = request.send().await
                && response.status().is_success()
                && let Ok(mut answer) = response.json::<Value>().await
            {
                return answer["data"].take();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn send_until(mut self, first: u64, stop: Arc<AtomicBool>) -> Self {
        let mut draw = Draw::new(first);
        let mut shown: Vec<ClientAdvert> = Vec::new();
        let mut next = first;
        for round in 0.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let mut sent: Vec<(u64, u64)> = (next..next + 2)
                .map(|number| (number, 90_000 + number % 977))
                .collect();
            next += 2;
            let mut changed = BTreeMap::new();
            for change in 0..CHANGES.min(shown.len()) {
                let nth = draw.below(shown.len());
                // Homes whose prices change in the same way look like one home.
                changed.insert(
                    nth,
                    100_000 + 7 * (CHANGES * round as usize + change) as u64,
                );
            }
            sent.extend(
                changed
                    .iter()
                    .map(|(nth, price)| (shown[*nth].number, *price)),
            );
            let adverts: Vec<Value> = sent
                .iter()
                .map(|(number, price)| sighting(*number, *price, round))
                .collect();
            let taken = self
                .call(Method::POST, "admin/adverts", &json!({"adverts": adverts}))
                .await;
            self.acknowledged.fetch_add(1, Ordering::Relaxed);
            for ((number, price), item) in sent[..2].iter().zip(taken.as_array().unwrap()) {
                let text = |field: &str| {
                    item[field]
                        .as_str()
                        .unwrap_or_else(|| panic!("{item}"))
                        .to_owned()
                };
                let (id, property) = (text("flxId"), text("propertyFlxId"));
                let branch = if id == property { "created" } else { "updated" };
                self.properties
                    .entry(property)
                    .or_default()
                    .push((branch, 0));
                self.adverts
                    .entry(id.clone())
                    .or_default()
                    .push(("created", *price));
                shown.push(ClientAdvert {
                    number: *number,
                    price: *price,
                    id,
                });
            }
            for (nth, price) in changed {
                assert_ne!(shown[nth].price, price);
                shown[nth].price = price;
                self.adverts
                    .get_mut(&shown[nth].id)
                    .unwrap()
                    .push(("updated", price));
            }
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
        self
    }
}

/// Notifications received, each delivery once; a repeated delivery must have the same body.
fn told(receiver: &Receiver) -> Stories {
    let mut bodies: HashMap<String, Vec<u8>> = HashMap::new();
    let mut stories = Stories::new();
    for request in receiver.received() {
        if let Some(known) = bodies.get(request.id()) {
            assert_eq!(
                known,
                &request.body,
                "{} came twice and differs",
                request.id()
            );
            continue;
        }
        bodies.insert(request.id().to_owned(), request.body.clone());
        let body = request.json();
        for branch in ["created", "updated"] {
            let Some(entry) = body["data"][branch].get(0) else {
                continue;
            };
            for property in entry["properties"].as_array().into_iter().flatten() {
                let id = property.as_str().unwrap().to_owned();
                stories.entry(id).or_default().push((branch, 0));
            }
            for advert in entry["adverts"].as_array().into_iter().flatten() {
                let id = advert["flxId"].as_str().unwrap().to_owned();
                let price = advert["currentPrice"]["value"].as_f64().unwrap() as u64;
                stories.entry(id).or_default().push((branch, price));
            }
        }
    }
    stories
}

fn entries(stories: &Stories) -> usize {
    stories.values().map(Vec::len).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_changes_are_delivered_in_order_and_repeats_are_identical() {
    let kills = variable("TOISE_KILLS", KILLS);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let key = new_key(data, &["--scopes", "alerts,admin", "--rate", "100000"]);
    let serve = || Server::start_with(data, "serve", &ALLOWED, Stdio::null());
    let mut server = serve();
    let (tell, address) = watch::channel(server.address.clone());
    let acknowledged = Arc::<AtomicUsize>::default();
    let client = || Client {
        http: crate::support::http_client(),
        key: key.clone(),
        address: address.clone(),
        acknowledged: Arc::clone(&acknowledged),
        adverts: Stories::new(),
        properties: Stories::new(),
    };
    // Two alerts on adverts, one of them with a slow receiver, and one on properties.
    let mut receivers = Vec::new();
    for (listing, second, path, delay_ms) in [
        (
            ListingKind::Advert,
            "ALERT_MATCH_ADVERT_EVENT",
            "adverts",
            0,
        ),
        (
            ListingKind::Advert,
            "ALERT_MATCH_ADVERT_EVENT",
            "adverts",
            40,
        ),
        (ListingKind::Property, "ALERT_MATCH_MERGED", "properties", 5),
    ] {
        let act = Act::After(Duration::from_millis(delay_ms), 200);
        let receiver = Receiver::always(act).await;
        let alert = body(
            listing,
            &json!({"type": ["CLASS_FLAT"]}),
            &["ALERT_MATCH_CREATED", second],
        );
        let alert = with(alert, json!({"webhook_url": receiver.url()}));
        let path = format!("{path}/search/alerts");
        client().call(Method::PUT, &path, &alert).await;
        receivers.push(receiver);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|nth| tokio::spawn(client().send_until(nth * 1_000_000, Arc::clone(&stop))))
        .collect();
    let mut draw = Draw::new(std::process::id().into());
    for _ in 0..kills {
        let (calls, requests) = (acknowledged.load(Ordering::Relaxed), receivers[0].count());
        let state = || {
            (
                acknowledged.load(Ordering::Relaxed) - calls,
                receivers[0].count() - requests,
            )
        };
        let is_busy = || (state().0 > 2 && state().1 > 2).then_some(());
        until("calls and deliveries", is_busy, || format!("{:?}", state())).await;
        tokio::time::sleep(Duration::from_micros(draw.below(150_000) as u64)).await;
        drop(server);
        server = serve();
        tell.send(server.address.clone()).unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let (mut adverts, mut properties) = (Stories::new(), Stories::new());
    for client in clients {
        let client = client.await.unwrap();
        adverts.extend(client.adverts);
        properties.extend(client.properties);
    }
    let expected = [&adverts, &adverts, &properties];
    for (receiver, expected) in receivers.iter().zip(expected) {
        let come = || (entries(&told(receiver)) >= entries(expected)).then_some(());
        let state = || format!("{} of {}", entries(&told(receiver)), entries(expected));
        until("arrivals", come, state).await;
        let told = told(receiver);
        for (item, story) in expected {
            assert_eq!(told.get(item), Some(story), "{item}");
        }
        assert_eq!(told.len(), expected.len(), "nothing else");
    }
    assert_eq!(server.terminate(), Some(0));
    assert!(
        properties.values().any(|story| story.len() == 2),
        "adverts that joined others"
    );
    let requests: usize = receivers.iter().map(Receiver::count).sum();
    println!(
        "{kills} kills: {} calls acknowledged, {} notifications of {} adverts and {} properties, delivered in order; \
         {requests} requests",
        acknowledged.load(Ordering::Relaxed),
        2 * entries(&adverts) + entries(&properties),
        adverts.len(),
        properties.len(),
    );
}
