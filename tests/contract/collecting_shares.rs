//! Pages collected with a test key, and the alerts that they reach.

use serde_json::json;
use toise::accounts::account;
use toise::accounts::keys::KeyKind;
use toise::alerts::AlertRegistry;
use toise::alerts::request::parse_alert;
use toise::alerts::settings::AlertLimits;
use toise::collect::settings::{CollectSettings, Share};
use toise::contract::listings::filters::ListingKind;
use toise::store::new_id::NewId;
use uuid::Uuid;

use crate::support::Service;
use crate::support::alerts::body;
use crate::support::collecting::{get_with, service, service_with_portals, told};
use crate::support::portal::{Act, PORTAL_NAME, Portal, flat_page};

/// Creates an account with an alert on all flats of a kind of listing; returns the account's identifier.
fn alerted(service: &Service, name: &str) -> Uuid {
    let owner = account::find_or_create(&service.store, &service.clock, name).unwrap();
    let limits = AlertLimits::default();
    let alerts = AlertRegistry::new(service.store.clone(), service.clock.clone(), limits);
    let filter = json!({"type": ["CLASS_FLAT"]});
    for listing in [ListingKind::Advert, ListingKind::Property] {
        let alert = parse_alert(listing, &body(listing, &filter, &["ALERT_MATCH_CREATED"]));
        alerts
            .create(owner.account_id, listing, alert.unwrap(), NewId::Random)
            .unwrap();
    }
    owner.account_id
}

/// Notifications for an account.
fn notified(service: &Service, account: Uuid) -> i64 {
    let query = format!(
        "SELECT count(*) FROM outbox JOIN alerts USING (alert) WHERE account_id = '{account}'"
    );
    service.stored(&query)[0]
}

#[tokio::test]
async fn pages_of_a_test_key_reach_the_alerts_of_others_only_as_far_as_is_shared() {
    for (share, is_shared) in [
        (Share::None, false),
        (Share::Portals, false),
        (Share::All, true),
    ] {
        let portal = Portal::start().await;
        let service = service(|settings| settings.share = share).await;
        let (own, other) = (alerted(&service, "own"), alerted(&service, "other"));
        let key = |kind| service.new_key(kind, "refetch", "own").key;
        let (test, production) = (key(KeyKind::Test), key(KeyKind::Production));
        let collect = async |key: &str, path: &str| {
            let url = portal.url(path);
            told(get_with(&service, key, "adverts", &url, None).await, 200).await
        };
        portal.set("/1", flat_page(1, 350_000));
        collect(&test, "/1").await;
        let expected = if is_shared { 2 } else { 0 };
        let both = (notified(&service, own), notified(&service, other));
        assert_eq!(both, (2, expected), "{share:?}");
        // Pages requested with a production key reach all alerts. So does the first page once it is confirmed, changed
        // or not.
        portal.set("/2", flat_page(40, 200_000));
        collect(&production, "/2").await;
        let both = (notified(&service, own), notified(&service, other));
        assert_eq!(both, (4, expected + 2), "{share:?}");
        for price in [350_000, 340_000] {
            service.clock.advance_ms(24 * 3_600_000);
            portal.set("/1", flat_page(1, price));
            collect(&production, "/1").await;
            assert_eq!(notified(&service, other), 4, "{share:?} at {price}");
        }
    }
}

#[tokio::test]
async fn of_what_a_test_key_collects_others_are_told_what_is_at_a_portal_and_asked_for_there() {
    let settings = CollectSettings {
        host_delay_ms: 0,
        per_host_max: 8,
        share: Share::Portals,
        ..CollectSettings::default()
    };
    let portal = Portal::start().await;
    let service = service_with_portals(&settings, &[PORTAL_NAME]).await;
    let other = alerted(&service, "other");
    let key = service.new_key(KeyKind::Test, "refetch", "own").key;
    let (outside, inside) = (|path| portal.url(path), |path| portal.named(path));
    let mut told_so_far = 0;
    for (number, asked, page, is_shared) in [
        (1, inside("/1"), None, true),
        (2, outside("/2"), None, false),
        (3, inside("/from3"), Some(outside("/3")), false),
        (4, outside("/from4"), Some(inside("/4")), false),
        (5, inside("/from5"), Some(inside("/5")), true),
    ] {
        let path = format!("/{number}");
        portal.set(
            &path,
            flat_page(number * 40, (200_000 + 50_000 * number) as u64),
        );
        if let Some(page) = page {
            portal.set(&format!("/from{number}"), Act::Redirect(page));
        }
        told(get_with(&service, &key, "adverts", &asked, None).await, 200).await;
        // An advert and its property.
        told_so_far += if is_shared { 2 } else { 0 };
        assert_eq!(notified(&service, other), told_so_far, "{asked}");
    }
}
