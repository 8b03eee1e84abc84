//! A simulation of writers that are partitioned by department, as planned in `docs/scaling.md`: two servers with
//! separate data folders behind a thin router give the same results as one server with all data.
//!
//! The router records which partition has an advert, by its URL. An advert whose address moves to another department
//! goes offline on one side and appears on the other. The router sends searches without a place to all partitions and
//! merges their answers. It passes on deliveries of alerts: a receiver is notified of an advert once, even if it moved.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use toise::contract::listings::filters::ListingKind;

use crate::support::alerts::{body, flat, with};
use crate::support::client::Client;
use crate::support::draw::Draw;
use crate::support::process::{Server, new_key};
use crate::support::receiver::{Act, Receiver};

/// Maximum wait on a busy machine.
const LONG: Duration = Duration::from_secs(30);
/// Adverts that are sent, some of them of the same home on two portals.
const ADVERTS: u64 = 40;
/// Rounds of changes.
const ROUNDS: usize = 6;
/// Changes of a round: prices, and addresses that move between departments.
const CHANGES: usize = 8;
/// Two towns: postal code, name, position.
const TOWNS: [(&str, &str, [f64; 2]); 2] = [
    ("69003", "Lyon", [4.85, 45.76]),
    ("48000", "Mende", [3.49, 44.51]),
];

/// The partitions for a search without a place.
const BOTH: [usize; 2] = [0, 1];

/// A server that ingests adverts and notifies a receiver of flats.
struct Writer {
    _server: Server,
    client: Client,
    receiver: Receiver,
    _data: tempfile::TempDir,
}

impl Writer {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let receiver = Receiver::always(Act::Status(200)).await;
        let key = new_key(folder.path(), &["--scopes", "search,alerts,admin"]);
        let allow = ["--allow-webhook-hosts", "127.0.0.1"];
        let server = Server::start_with(folder.path(), "serve", &allow, Stdio::null());
        let writer = Self {
            client: Client::new(&server, &key),
            _server: server,
            receiver,
            _data: folder,
        };
        let filter = json!({"type": ["CLASS_FLAT"]});
        let alert = body(ListingKind::Advert, &filter, &["ALERT_MATCH_CREATED"]);
        let alert = with(alert, json!({"webhook_url": writer.receiver.url()}));
        writer
            .client
            .data(Method::PUT, "adverts/search/alerts", &alert)
            .await;
        writer
    }

    async fn ingest(&self, advert: &Value) {
        let sent = json!({"adverts": [advert]});
        self.client.data(Method::POST, "admin/adverts", &sent).await;
    }

    /// All properties that are online, in ascending order of price.
    async fn search(&self, filter: &Value) -> Vec<Value> {
        let mut page = json!({"size": 100, "sortBy": "PRICE", "orderBy": "ASC"});
        page["search"] = json!({"filterProperty": filter});
        let mut found = self
            .client
            .data(Method::POST, "properties/search", &page)
            .await;
        match found["items"].take() {
            Value::Array(items) => items,
            other => panic!("{other}"),
        }
    }

    /// URLs of the adverts that its receiver was notified of, with repetitions.
    fn told(&self) -> Vec<String> {
        let mut urls = Vec::new();
        for request in self.receiver.received() {
            let body = request.json();
            for entry in body["data"]["created"].as_array().unwrap() {
                let adverts = entry["adverts"].as_array().unwrap().iter();
                urls.extend(adverts.map(|advert| advert["url"].as_str().unwrap().to_owned()));
            }
        }
        urls
    }
}

/// The partitions, in the order of [`TOWNS`], and the state of the router.
struct Router {
    partitions: [Writer; 2],
    /// The partition that has an advert, and the advert as it was last sent there.
    places: BTreeMap<String, (usize, Value)>,
}

impl Router {
    fn partition_of(advert: &Value) -> usize {
        let code = advert["location"]["postalCode"].as_str().unwrap();
        TOWNS.iter().position(|town| town.0 == code).unwrap()
    }

    async fn ingest(&mut self, advert: &Value) {
        let (url, home) = (url_of(advert), Self::partition_of(advert));
        if let Some((former, shown)) = self.places.get(&url)
            && *former != home
        {
            let seen = advert["lastSeenAt"].clone();
            let gone = with(
                shown.clone(),
                json!({"isOnline": false, "lastSeenAt": seen}),
            );
            self.partitions[*former].ingest(&gone).await;
        }
        self.partitions[home].ingest(advert).await;
        self.places.insert(url, (home, advert.clone()));
    }

    /// A search of some partitions, merged by price.
    async fn search(&self, filter: &Value, sides: &[usize]) -> Vec<Value> {
        let mut found = Vec::new();
        for side in sides {
            found.extend(self.partitions[*side].search(filter).await);
        }
        // The offline rest of a home in its former partition.
        found.retain(|property| !urls(property).is_empty());
        found.sort_by_key(|property| (price(property), urls(property)));
        found
    }

    /// The notifications of a receiver behind the router: an advert that moved is not new.
    fn told(&self) -> Vec<String> {
        let told = self.partitions.iter().flat_map(Writer::told);
        told.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

fn url_of(advert: &Value) -> String {
    advert["url"].as_str().unwrap().to_owned()
}

fn price(property: &Value) -> u64 {
    property["price"]["latest"]["value"].as_f64().unwrap() as u64
}

/// URLs of a property's adverts that are online, sorted.
fn urls(property: &Value) -> Vec<String> {
    let adverts = property["adverts"].as_array().unwrap().iter();
    let online = adverts.filter(|advert| advert["isOnline"] == true);
    let mut urls: Vec<String> = online.map(url_of).collect();
    urls.sort();
    urls
}

/// Price, addresses of adverts, postal code and surface of properties.
type Shown = Vec<(u64, Vec<String>, Value, Value)>;

/// The data that does not depend on identifiers and on offline adverts.
fn shown(properties: &[Value]) -> Shown {
    let shown = properties.iter().map(|property| {
        let town = property["location"]["postalCode"].clone();
        let surface = property["habitation"]["surface"]["total"].clone();
        (price(property), urls(property), town, surface)
    });
    let mut shown: Vec<_> = shown.collect();
    shown.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
    shown
}

/// An advert in a town, seen in a round. Every fifth home is shown by two portals.
fn advert(number: u64, town: usize, price: u64, round: usize) -> Value {
    let (portal, home) = match number % 5 {
        4 => ("deux", number - 1),
        _ => ("un", number),
    };
    let (code, name, [lon, lat]) = TOWNS[town];
    let aside = home as f64 * 0.004;
    let located = json!({"postalCode": code, "city": name, "locationCoordinate": {"location": [lon + aside, lat]}});
    let changed = json!({"isOnline": true, "currentPrice": {"value": price}, "location": located,
        "lastSeenAt": format!("2026-11-01T{:02}:{:02}:00Z", 8 + round, number)});
    with(flat(portal, number, home), changed)
}

/// The town of a home at first: both adverts of a home are in the same.
fn first_town(number: u64) -> usize {
    (number / 5 % 2) as usize
}

/// Queries both until they agree: searches follow writes within moments, at different times on each server.
async fn agree(filter: &Value, mut ask: impl AsyncFnMut() -> (Shown, Shown)) {
    let started = Instant::now();
    loop {
        let (one, other) = ask().await;
        if one == other {
            return;
        }
        if started.elapsed() > LONG {
            assert_eq!(one, other, "{filter}");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < LONG, "{what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_behind_a_router_show_and_tell_what_one_writer_does() {
    let whole = Writer::start().await;
    let partitions = [Writer::start().await, Writer::start().await];
    let mut router = Router {
        partitions,
        places: BTreeMap::new(),
    };
    let mut draw = Draw::new(7);
    let mut towns: Vec<usize> = (0..ADVERTS).map(first_town).collect();
    let mut prices: Vec<u64> = (0..ADVERTS)
        .map(|number| 100_000 + 2_000 * (number - u64::from(number % 5 == 4)))
        .collect();
    for number in 0..ADVERTS {
        let nth = number as usize;
        let sent = advert(number, towns[nth], prices[nth], 0);
        whole.ingest(&sent).await;
        router.ingest(&sent).await;
    }
    let mut moves = 0;
    for round in 1..=ROUNDS {
        for _ in 0..CHANGES {
            let nth = draw.below(ADVERTS as usize);
            let number = nth as u64;
            match draw.below(2) {
                0 => prices[nth] += 1_000,
                // A home with two adverts stays, because portals that disagree about its town would be a different
                // test.
                _ if number % 5 < 3 => {
                    towns[nth] = 1 - towns[nth];
                    moves += 1;
                }
                _ => {}
            }
            let sent = advert(number, towns[nth], prices[nth], round);
            whole.ingest(&sent).await;
            router.ingest(&sent).await;
        }
    }
    assert!(moves > ROUNDS, "too few addresses moved");

    // An advert is in one partition, and searches find the same with and without a place.
    for filter in [
        json!({}),
        json!({"price": {"latest": {"value": {"min": 120_000, "max": 160_000}}}}),
    ] {
        agree(&filter, async || {
            let one = shown(&whole.search(&filter).await);
            (one, shown(&router.search(&filter, &BOTH).await))
        })
        .await;
    }
    for (home, (code, ..)) in TOWNS.iter().enumerate() {
        let filter = json!({"location": [{"postalCode": code}]});
        agree(&filter, async || {
            let one = shown(&whole.search(&filter).await);
            (one, shown(&router.search(&filter, &[home]).await))
        })
        .await;
        agree(&filter, async || {
            let elsewhere = router.search(&filter, &[1 - home]).await;
            (Vec::new(), shown(&elsewhere))
        })
        .await;
    }
    let known: Vec<String> = router.places.keys().cloned().collect();
    until("each advert is online once", async || {
        let found = router.search(&json!({}), &BOTH).await;
        let mut online: Vec<String> = found.iter().flat_map(urls).collect();
        online.sort();
        online == known
    })
    .await;

    // Each receiver is notified of each advert once.
    until("all are told", async || {
        whole.told().len() >= known.len() && router.told().len() >= known.len()
    })
    .await;
    let mut told = whole.told();
    told.sort();
    assert_eq!(told, known);
    assert_eq!(router.told(), known);
}
