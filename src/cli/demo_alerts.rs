//! The alerts of the demo: saved searches whose matches of the last month were delivered.
//!
//! New adverts are ingested on the days on which they were seen, with a clock that follows them, while a dispatcher
//! delivers to a receiver in this process. Afterwards the alerts deliver to the address of `toise webhook listen`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::DateTime;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use warp::Filter;

use super::accounts::named_or_default;
use super::result::Failure;
use super::{CommandResult, Common};
use toise_accounts::DEFAULT_ACCOUNT;
use toise_accounts::prices::Prices;
use toise_alerts::AlertRegistry;
use toise_alerts::alert::AlertSubject;
use toise_alerts::delivery::DeliveryStatus;
use toise_alerts::dispatch::{self, DispatcherContext};
use toise_alerts::overview;
use toise_alerts::registry::AlertRef;
use toise_alerts::request::{AlertPatch, parse_alert};
use toise_alerts::retention::Retention;
use toise_app::config::Config;
use toise_base::clock::Clock;
use toise_base::supervise::Supervisor;
use toise_contract::listings::filters::ListingKind;
use toise_layers::Layers;
use toise_listings::Listings;
use toise_net::egress::{AllowedHosts, EgressGuard};
use toise_net::webhook_client::WebhookClient;
use toise_store::Store;
use toise_store::new_id::NewId;
use toise_synth::adverts::{AdvertsRequest, MarketGenerator};
use toise_telemetry::Metrics;

/// Host that may receive webhooks over plain HTTP.
pub(super) const LOOPBACK: &str = "127.0.0.1";
/// Seconds of a day.
pub(super) const DAY_S: i64 = 86_400;
/// Days of matches before the end of the market.
const DAYS: i64 = 30;
/// Adverts of two years that the new ones are taken from; about one in 24 is new.
const MARKET_ADVERTS: u64 = 1_000;
/// Maximum wait for the deliveries of one day. They take some ten milliseconds.
const DELIVERED_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause before deliveries are looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Adds the alerts, the new adverts that they match, and the deliveries of the matches. `market` is the request for the
/// adverts that are already there.
pub(super) fn add(common: &Common, config: &Config, market: AdvertsRequest) -> CommandResult {
    let start_s = market.until_s - DAYS * DAY_S;
    let clock = Clock::steered(DateTime::from_timestamp(start_s, 0).unwrap_or_default());
    let store = Store::open(&common.data)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let receiver = runtime.block_on(receive())?;
    let registry = AlertRegistry::new(store.clone(), clock.clone(), config.alerts);
    let account = named_or_default(&store, &clock, DEFAULT_ACCOUNT)?.account_id;
    let mut alerts = Vec::new();
    for (listing, body) in searches(&receiver) {
        let subject = AlertSubject::from(listing);
        let alert = parse_alert(subject, &body)?;
        let id = registry.create(account, subject, alert, NewId::Random)?;
        alerts.push(AlertRef {
            account,
            subject,
            id,
        });
    }
    let context = DispatcherContext {
        store: store.clone(),
        clock: clock.clone(),
        poster: WebhookClient::new(EgressGuard::new(AllowedHosts::parse(LOOPBACK)?))?,
        prices: Arc::new(Prices::from(&config.prices)),
        retention: Retention::from(&config.webhooks),
        metrics: Metrics::new()?,
    };
    let dispatcher = dispatch::start(&Supervisor::default(), context, runtime.handle().clone())?;
    let listings = Listings::new(store.clone(), clock.clone());
    let deliver = || -> Result<u64, Failure> {
        let (mut at_s, mut deliveries) = (start_s, 0);
        for (day_s, adverts) in new_adverts(market, start_s) {
            clock.advance_ms((day_s - at_s) * 1_000);
            at_s = day_s;
            listings.ingest(adverts)?;
            deliveries = delivered(common, &store, &alerts)?;
        }
        Ok(deliveries)
    };
    let deliveries = deliver();
    drop(dispatcher);
    for alert in &alerts {
        registry.patch(
            *alert,
            AlertPatch {
                webhook_url: Some(format!("http://{LOOPBACK}:9000/")),
                ..AlertPatch::default()
            },
        )?;
    }
    let count = alerts.len();
    match deliveries {
        Ok(sent) => {
            eprintln!("added {count} alerts with {sent} deliveries of the last {DAYS} days")
        }
        Err(error) => {
            eprintln!("warning: added {count} alerts without all their deliveries: {error}")
        }
    }
    Ok(())
}

/// The bodies that create the alerts.
fn searches(receiver: &str) -> [(ListingKind, Value); 2] {
    let body = |name: &str, listing: ListingKind, filter: Value, kinds: &[&str]| {
        json!({
            "search_name": name,
            "search_query": {(listing.filter_key()): filter},
            "match": kinds,
            "webhook_url": receiver,
        })
    };
    let advert = ListingKind::Advert;
    let flats = json!({"type": ["CLASS_FLAT"], "offer": [{"type": "OFFER_BUY"}], "isOnline": true});
    let kinds = ["ALERT_MATCH_CREATED", "ALERT_MATCH_ADVERT_EVENT"];
    let property = ListingKind::Property;
    let houses = json!({
        "type": ["CLASS_HOUSE"],
        "offer": [{"type": "OFFER_BUY"}],
        "meta": {"isTotallyOffline": false},
    });
    [
        (advert, body("Flats for sale", advert, flats, &kinds)),
        (
            property,
            body("Houses for sale", property, houses, &kinds[..1]),
        ),
    ]
}

/// Returns the sightings of adverts that were first seen after `start_s`, by day: the last moment of the day, and the
/// adverts.
fn new_adverts(market: AdvertsRequest, start_s: i64) -> BTreeMap<i64, Vec<Value>> {
    let request = AdvertsRequest {
        adverts: MARKET_ADVERTS,
        seed: market.seed + 1,
        ..market
    };
    let (mut new, mut days) = (HashSet::new(), BTreeMap::<i64, Vec<Value>>::new());
    for seen in MarketGenerator::new(request).observations() {
        let Some(at) = seen.advert.last_seen_at else {
            continue;
        };
        let at_s = at.get().timestamp();
        if seen.first && at_s > start_s {
            new.insert(seen.advert.url.clone());
        }
        if new.contains(&seen.advert.url) {
            let day_end_s = at_s - at_s.rem_euclid(DAY_S) + DAY_S - 1;
            // Every field of an advert can be represented in JSON.
            let advert = serde_json::to_value(&seen.advert).unwrap_or_default();
            days.entry(day_end_s.min(market.until_s))
                .or_default()
                .push(advert);
        }
    }
    days
}

/// Starts a receiver that accepts every delivery, and returns its URL.
async fn receive() -> std::io::Result<String> {
    let listener = TcpListener::bind((LOOPBACK, 0)).await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let accept = warp::any().map(warp::reply);
    tokio::spawn(warp::serve(accept).incoming(listener).run());
    Ok(url)
}

/// Waits until everything that the alerts matched is delivered, and returns the number of deliveries.
fn delivered(common: &Common, store: &Store, alerts: &[AlertRef]) -> Result<u64, Failure> {
    let layers = Layers::of(&common.data);
    let started = Instant::now();
    loop {
        let (mut waiting, mut delivered) = (0, 0);
        for alert in alerts {
            let Some(overview) = overview::show(store, alert.id, &layers)? else {
                continue;
            };
            waiting += overview.waiting;
            for (status, count) in overview.deliveries {
                match status {
                    DeliveryStatus::Delivered => delivered += count,
                    _ => waiting += count,
                }
            }
        }
        if waiting == 0 {
            return Ok(delivered);
        }
        if started.elapsed() > DELIVERED_TIMEOUT {
            return Err(format!("{waiting} deliveries to this machine do not arrive").into());
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}
