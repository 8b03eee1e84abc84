//! A store with listings and alerts, used without a service, and its outbox.

use std::net::IpAddr;

use serde_json::{Value, json};
use toise::accounts::account;
use toise::alerts::AlertRegistry;
use toise::alerts::alert::AlertSubject;
use toise::alerts::registry::AlertRef;
use toise::alerts::request::{parse_alert, parse_patch};
use toise::alerts::settings::AlertLimits;
use toise::base::clock::Clock;
use toise::base::splitmix;
use toise::contract::listings::codes::FlxId;
use toise::contract::listings::filters::ListingKind;
use toise::listings::Listings;
use toise::listings::load::ingest::IngestReceipt;
use toise::net::egress::{AllowedHosts, EgressGuard};
use toise::service::App;
use toise::service::receivers::ReceiverChecker;
use toise::store::new_id::NewId;
use toise::store::{Store, document};
use uuid::Uuid;

/// Listings and alerts in a temporary folder, at noon of a day in November.
pub struct AlertFixture {
    pub folder: tempfile::TempDir,
    pub store: Store,
    pub clock: Clock,
    pub listings: Listings,
    pub alerts: AlertRegistry,
    pub account: Uuid,
}

/// A notification in the outbox.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedNotification {
    pub alert: i64,
    pub branch: String,
    pub item: FlxId,
    /// The snapshot of the record; null for properties.
    pub record: Value,
}

impl AlertFixture {
    pub fn open() -> Self {
        Self::with(AlertLimits::default())
    }

    pub fn with(limits: AlertLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let clock = Clock::steered("2026-11-21T12:00:00Z".parse().unwrap());
        let account = account::find_or_create(&store, &clock, "default").unwrap();
        Self {
            listings: Listings::new(store.clone(), clock.clone()),
            alerts: AlertRegistry::new(store.clone(), clock.clone(), limits),
            account: account.account_id,
            folder,
            store,
            clock,
        }
    }

    pub fn take(&self, adverts: Vec<Value>) -> Vec<IngestReceipt> {
        let outcomes = self.listings.ingest(adverts).unwrap();
        outcomes.into_iter().map(Result::unwrap).collect()
    }

    pub fn take_one(&self, advert: Value) -> IngestReceipt {
        self.take(vec![advert]).remove(0)
    }

    /// Creates an alert that subscribes to some kinds of match.
    pub fn alert(&self, listing: ListingKind, filter: &Value, kinds: &[&str]) -> AlertRef {
        let query = json!({ (listing.filter_key()): filter });
        self.alert_of_query(listing, &query, kinds)
    }

    /// Creates an alert with a `search_query` that subscribes to some kinds of match.
    pub fn alert_of_query(&self, listing: ListingKind, query: &Value, kinds: &[&str]) -> AlertRef {
        let body = with(
            body(listing, &json!({}), kinds),
            json!({ "search_query": query }),
        );
        let alert = parse_alert(listing, &body).unwrap_or_else(|fault| panic!("{fault}: {body}"));
        let account = self.account;
        AlertRef {
            account,
            subject: listing.into(),
            id: self
                .alerts
                .create(account, listing, alert, NewId::Random)
                .unwrap(),
        }
    }

    pub fn patch(&self, address: AlertRef, body: Value) {
        let patch = parse_patch(address.subject, &body).unwrap();
        self.alerts.patch(address, patch).unwrap();
    }

    /// Notifications added to the outbox after a given one, in order, and the number of the last.
    pub fn notifications_after(&self, notification: i64) -> (Vec<RecordedNotification>, i64) {
        let reading = |connection: &rusqlite::Connection| {
            let mut statement = connection.prepare(
                "SELECT notification, alert, branch, item, snapshots.document FROM outbox
                 LEFT JOIN snapshots USING (snapshot) WHERE notification > ?1 ORDER BY notification",
            )?;
            let rows = statement.query_map([notification], |row| {
                let document: Option<Vec<u8>> = row.get(4)?;
                let record = document.map(|document| document::decode(&document).unwrap());
                let recorded = RecordedNotification {
                    alert: row.get(1)?,
                    branch: row.get(2)?,
                    item: FlxId(Uuid::from_bytes(row.get(3)?)),
                    record: record
                        .map_or(Value::Null, |text| serde_json::from_slice(&text).unwrap()),
                };
                Ok((recorded, row.get(0)?))
            })?;
            rows.collect::<rusqlite::Result<Vec<(RecordedNotification, i64)>>>()
        };
        let rows = self.store.read(reading).unwrap();
        let last = rows.last().map_or(notification, |(_, number)| *number);
        (
            rows.into_iter().map(|(recorded, _)| recorded).collect(),
            last,
        )
    }

    /// Notifications of an alert in order: branch and item.
    pub fn notifications(&self, address: AlertRef) -> Vec<(String, FlxId)> {
        let number = self.alerts.get(address).unwrap().number;
        let (all, _) = self.notifications_after(0);
        let own = all.into_iter().filter(|recorded| recorded.alert == number);
        own.map(|recorded| (recorded.branch, recorded.item))
            .collect()
    }

    /// Asserts the notifications of an alert.
    #[track_caller]
    pub fn assert_told(&self, address: AlertRef, expected: &[(String, FlxId)]) {
        assert_eq!(self.notifications(address), expected);
    }

    pub fn record(&self, listing: ListingKind, id: FlxId) -> Value {
        let record = match listing {
            ListingKind::Property => self.listings.property(id).unwrap(),
            ListingKind::Advert => self.listings.advert(id).unwrap(),
        };
        serde_json::from_slice(&record.unwrap()).unwrap()
    }
}

/// The kind of listing that an alert searches.
pub fn listing_of(address: AlertRef) -> ListingKind {
    match address.subject {
        AlertSubject::Listings(listing) => listing,
        AlertSubject::OpenData(_) => panic!("an alert on open data"),
    }
}

/// Makes a service resolve names such as `client.example` to a public address, and one name to a private address.
pub fn known_names(app: &mut App) {
    let gate = EgressGuard::asking(AllowedHosts::default(), |name| {
        let address: Option<IpAddr> = match name {
            "client.example" | "autre.example" => Some([93, 184, 216, 34].into()),
            "inside.example" => Some([10, 0, 0, 1].into()),
            _ => None,
        };
        Ok(Vec::from_iter(address))
    });
    app.data.receivers = ReceiverChecker::new(gate).unwrap();
}

/// The body that creates an alert.
pub fn body(listing: ListingKind, filter: &Value, kinds: &[&str]) -> Value {
    json!({"search_query": {(listing.filter_key()): filter}, "match": kinds, "search_name": "suivi",
        "webhook_url": "https://client.example/hook"})
}

/// A flat in Lyon on a portal. Adverts of one asset clearly match; those of two assets clearly do not.
pub fn flat(portal: &str, number: u64, asset: u64) -> Value {
    let hash = |salt: u64| {
        let mixed = splitmix::spread(asset + 1);
        format!("{:016x}", mixed.rotate_left(salt as u32 * 7))
    };
    let image = |n: u64| {
        json!({"imageId": format!("{asset}-{n}"), "gaussianHash": hash(n), "meanHash": hash(n + 4),
            "perceptualHash": hash(n + 8), "differenceHash": hash(n + 12)})
    };
    json!({
        "url": format!("https://{portal}.example/annonce/{number}"), "source": format!("{portal}.example"),
        "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 250_000 + asset * 40_000},
        "title": format!("Appartement {asset}"),
        "description": format!("Au coeur du quartier {asset}, appartement lumineux de trois pieces avec cuisine {} \
            equipee, sejour de {} metres carres ouvrant sur {} et deux chambres au calme sur jardin, cave {}",
            hash(1), 20 + asset, hash(2), hash(3)),
        "location": {"postalCode": "69003", "city": "Lyon",
            "locationCoordinate": {"location": [4.8512 + asset as f64 * 0.02, 45.7598]}},
        "habitation": {"roomCount": 3, "bedroomCount": 2, "floor": 2, "surface": {"total": 61.5 + asset as f64 * 9.0},
            "climate": {"epcEnergy": "ENERGY_CLASSIFICATION_D", "epcEnergyScore": 214}},
        "medias": {"images": [image(0), image(1), image(2), image(3)]},
        "seller": {"name": "Agence du Parc", "siren": "123456780"},
        "charges": {"yearlyHousingTax": 1120},
        "lastSeenAt": "2026-11-01T08:00:00Z",
    })
}

/// The record with some fields replaced.
pub fn with(mut record: Value, fields: Value) -> Value {
    for (field, value) in fields.as_object().unwrap() {
        record[field] = value.clone();
    }
    record
}
