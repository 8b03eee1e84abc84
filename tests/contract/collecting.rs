//! Listings by the URL of their page, against a portal on loopback.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use toise::accounts::keys::KeyKind;
use toise::collect::settings::Hosts;

use crate::support::collecting::{get, get_with, record, service, told, until};
use crate::support::error_of;
use crate::support::portal::{Act, Portal, flat_page};

#[tokio::test]
async fn a_page_of_any_shape_becomes_an_advert_and_a_property() {
    let portal = Portal::start().await;
    let service = service(|_| {}).await;
    let text = "<title>Appartement 3 pièces à vendre</title><h1>Appartement 3 pièces 61,5 m² Lyon (69003)</h1><p>350 000 €";
    let (latin, ..) = encoding_rs::WINDOWS_1252.encode(text);
    portal.set("/json-ld", flat_page(1, 350_000));
    portal.set("/text", Act::Page(text.into()));
    portal.set(
        "/latin",
        Act::Body("text/html; charset=ISO-8859-1", latin.into_owned()),
    );
    portal.set(
        "/microdata",
        Act::Page(
            "<script type='application/ld+json'>{\"@type\": </script><div itemscope itemtype='https://schema.org/Apartment'>
             <h1 itemprop=name>Vente appartement</h1><p itemprop=floorSize>61,5 m²</p>
             <p itemprop=address itemscope><b itemprop=postalCode>69003</b></p>
             <p itemprop=offers itemscope itemtype='https://schema.org/Offer'><b itemprop=price content=350000>…</b>"
                .into(),
        ),
    );
    portal.set(
        "/open-graph",
        Act::Page(
            "<meta property='og:title' content='Vente appartement T3 de 61,5 m² - Lyon (69003)'>
             <meta property='product:price:amount' content='350000'>"
                .into(),
        ),
    );
    portal.set("/moved", Act::Redirect("/json-ld".into()));
    for path in ["/json-ld", "/microdata", "/open-graph", "/text", "/latin"] {
        let (credits, advert) = told(get(&service, "adverts", &portal.url(path)).await, 200).await;
        assert_eq!(credits, 1, "{path}");
        for (pointer, value) in [
            ("/type", json!("CLASS_FLAT")),
            ("/offer/type", json!("OFFER_BUY")),
            ("/currentPrice/value", json!(350_000)),
            ("/location/postalCode", json!("69003")),
            ("/isOnline", json!(true)),
            ("/source", json!("127.0.0.1")),
            ("/url", json!(portal.url(path))),
        ] {
            assert_eq!(advert.pointer(pointer), Some(&value), "{path}: {advert}");
        }
        let (credits, property) =
            told(get(&service, "properties", &portal.url(path)).await, 200).await;
        assert_eq!((credits, &property["flxId"]), (1, &advert["propertyFlxId"]));
        assert_eq!(portal.asked(path), 1, "known and fresh");
    }
    // A URL that redirects to a known listing returns that listing, also the next time.
    for _ in 0..2 {
        let (_, advert) = told(get(&service, "adverts", &portal.url("/moved")).await, 200).await;
        assert_eq!(advert["url"], portal.url("/json-ld"));
    }
    assert_eq!((portal.asked("/moved"), portal.asked("/json-ld")), (1, 2));
    assert_eq!(portal.asked("/robots.txt"), 1);
    assert_eq!(
        service.charged("SELECT count(*), sum(credits) FROM ledger"),
        [12, 12]
    );
    // A page that is no longer fresh is fetched again, and its change is stored.
    service.clock.advance_ms(6 * 3_600_000);
    portal.set("/json-ld", flat_page(1, 340_000));
    let (_, advert) = told(get(&service, "adverts", &portal.url("/json-ld")).await, 200).await;
    assert_eq!(advert["currentPrice"]["value"], 340_000);
    assert_eq!(
        service.stored("SELECT count(*) FROM advert_events WHERE type = 'PRICE'"),
        [1]
    );
}

#[tokio::test]
async fn a_page_that_is_not_a_listing_is_rejected_free_of_charge_and_remembered() {
    let portal = Portal::start().await;
    let service = service(|_| {}).await;
    portal.set(
        "/robots.txt",
        Act::Body(
            "text/plain",
            b"User-agent: toise\nDisallow: /private/\n".to_vec(),
        ),
    );
    portal.set("/private/1", flat_page(1, 1_000_000));
    portal.set("/gone", Act::Status(410, ""));
    portal.set(
        "/ended",
        Act::Page("<h1>Cette annonce n'est plus disponible</h1>".into()),
    );
    portal.set("/home", Act::Redirect("/".into()));
    portal.set("/", Act::Page("<h1>Bienvenue</h1>".into()));
    portal.set(
        "/login",
        Act::Page("<title>Connexion</title><input type=password>".into()),
    );
    portal.set("/refused", Act::Status(403, ""));
    portal.set("/circle", Act::Redirect("/circle/2".into()));
    portal.set("/circle/2", Act::Redirect("/circle".into()));
    for step in 0..9 {
        portal.set(
            &format!("/far/{step}"),
            Act::Redirect(format!("/far/{}", step + 1)),
        );
    }
    portal.set("/inside", Act::Redirect("http://10.0.0.1/".into()));
    portal.set(
        "/metadata",
        Act::Redirect("http://169.254.169.254/latest/".into()),
    );
    portal.set(
        "/named-inside",
        Act::Redirect("https://inside.example/".into()),
    );
    portal.set("/endless", Act::Endless);
    portal.set("/bomb", Act::Bomb);
    portal.set("/pdf", Act::Body("application/pdf", b"%PDF-1.7".to_vec()));
    portal.set(
        "/none",
        Act::Page("<h1>Nos conseils pour bien acheter</h1>".into()),
    );
    for (url, reason) in [
        (portal.url("/absent"), "gone: the portal answered 404"),
        (portal.url("/gone"), "gone: the portal answered 410"),
        (portal.url("/ended"), "gone: the page says"),
        (portal.url("/home"), "gone: the portal redirects it"),
        (
            portal.url("/private/1"),
            "robots: robots.txt of 127.0.0.1 forbids it",
        ),
        (portal.url("/login"), "login_required: "),
        (portal.url("/refused"), "refused: the portal answered 403"),
        (portal.url("/circle"), "redirects: it redirects in a loop"),
        (
            portal.url("/far/0"),
            "redirects: it redirects more than 5 times",
        ),
        (
            portal.url("/inside"),
            "not_public: the address must name a public host: 10.0.0.1 is a private",
        ),
        (
            portal.url("/metadata"),
            "not_public: the address must name a public host: 169.254.169.254",
        ),
        (
            portal.url("/named-inside"),
            "not_public: the address must name a public host: inside.example resolves",
        ),
        (
            "https://inside.example/1".into(),
            "not_public: the address must name a public host: inside.example resolves",
        ),
        ("http://192.168.1.1/1".into(), "not_public: "),
        ("https://localhost/1".into(), "not_public: "),
        (
            "https://93.184.216.34:8443/1".into(),
            "not_public: the address must not name a port",
        ),
        (portal.url("/endless"), "too_large: "),
        (portal.url("/bomb"), "too_large: "),
        (
            portal.url("/pdf"),
            "unparsable: the page is application/pdf",
        ),
        (
            portal.url("/none"),
            "not_a_listing: the page does not state a class of asset, ",
        ),
    ] {
        for _ in 0..2 {
            let (credits, data) = told(get(&service, "adverts", &url).await, 422).await;
            assert_eq!((credits, &data["status"]), (0, &json!("rejected")));
            let found = data["reason"].as_str().unwrap();
            assert!(found.starts_with(reason), "{url}: {found}");
            assert_eq!(data.as_object().unwrap().len(), 2);
        }
    }
    assert_eq!(
        (
            portal.asked("/gone"),
            portal.asked("/bomb"),
            portal.asked("/private/1")
        ),
        (1, 1, 0)
    );
    assert_eq!(portal.asked("/robots.txt"), 1);
    assert_eq!(service.charged("SELECT count(*) FROM ledger"), [0]);
    // Rejections are remembered for a limited time.
    service.clock.advance_ms(6 * 3_600_000);
    portal.set("/gone", flat_page(2, 200_000));
    assert_eq!(
        told(get(&service, "adverts", &portal.url("/gone")).await, 200)
            .await
            .0,
        1
    );
}

#[tokio::test]
async fn a_slow_page_is_pending_and_the_next_call_gets_it() {
    let portal = Portal::start().await;
    let service = service(|settings| settings.wait_s = 1).await;
    let slow = |milliseconds| {
        Act::After(
            Duration::from_millis(milliseconds),
            Box::new(flat_page(1, 350_000)),
        )
    };
    portal.set("/slow", slow(1_600));
    let url = portal.url("/slow");
    let first = get_with(&service, &service.key, "adverts", &url, Some("one")).await;
    let (credits, data) = told(first, 202).await;
    assert_eq!(
        (credits, data),
        (0, json!({"status": "pending", "retry_after_s": 5}))
    );
    // The key can be used again: a 202 is not a final response.
    let again = loop {
        let again = get_with(&service, &service.key, "adverts", &url, Some("one")).await;
        assert!(!again.headers().contains_key("idempotent-replayed"));
        // On a busy machine, the page may need several waits.
        if again.status() != 202 {
            break again;
        }
    };
    let (credits, advert) = told(again, 200).await;
    assert_eq!(
        (credits, &advert["currentPrice"]["value"]),
        (1, &json!(350_000))
    );
    assert_eq!(
        portal.asked("/slow"),
        1,
        "the second call took over the first one's job"
    );
    let replayed = get_with(&service, &service.key, "adverts", &url, Some("one")).await;
    assert_eq!(replayed.headers()["idempotent-replayed"], "true");
    assert_eq!(told(replayed, 200).await, (0, advert));
    assert_eq!(
        service.charged("SELECT count(*), sum(credits) FROM ledger"),
        [1, 1]
    );
}

#[tokio::test]
async fn two_calls_at_once_fetch_twice_and_cost_twice_unless_they_share_a_key() {
    let portal = Portal::start().await;
    let service = service(|_| {}).await;
    let slow = |number| {
        Act::After(
            Duration::from_millis(300),
            Box::new(flat_page(number, 350_000)),
        )
    };
    portal.set("/1", slow(1));
    portal.set("/2", slow(2));
    let url = portal.url("/1");
    let (one, other) = tokio::join!(
        get(&service, "adverts", &url),
        get(&service, "properties", &url)
    );
    assert_eq!(told(one, 200).await.0 + told(other, 200).await.0, 2);
    assert_eq!(portal.asked("/1"), 2);
    let url = portal.url("/2");
    let (one, other) = tokio::join!(
        get_with(&service, &service.key, "adverts", &url, Some("k")),
        get_with(&service, &service.key, "adverts", &url, Some("k")),
    );
    assert_eq!(told(one, 200).await.0 + told(other, 200).await.0, 1);
    assert_eq!(portal.asked("/2"), 1);
    assert_eq!(
        service.charged("SELECT count(*), sum(credits) FROM ledger"),
        [3, 3]
    );
}

#[tokio::test]
async fn an_account_does_not_take_over_the_job_of_another() {
    let portal = Portal::start().await;
    let service = service(|settings| settings.wait_s = 0).await;
    portal.set(
        "/1",
        Act::After(Duration::from_millis(500), Box::new(flat_page(1, 350_000))),
    );
    let stranger = service
        .new_key(KeyKind::Production, "refetch", "stranger")
        .key;
    told(get(&service, "adverts", &portal.url("/1")).await, 202).await;
    told(get(&service, "adverts", &portal.url("/1")).await, 202).await;
    told(
        get_with(&service, &stranger, "adverts", &portal.url("/1"), None).await,
        202,
    )
    .await;
    assert_eq!(service.stored("SELECT count(*) FROM jobs"), [2]);
}

#[tokio::test]
async fn a_listing_that_redirects_to_another_is_gone_and_the_other_is_unchanged() {
    let portal = Portal::start().await;
    let service = service(|_| {}).await;
    portal.set("/1", flat_page(1, 350_000));
    portal.set("/2", flat_page(2, 500_000));
    let (_, one) = told(get(&service, "adverts", &portal.url("/1")).await, 200).await;
    let (_, other) = told(get(&service, "adverts", &portal.url("/2")).await, 200).await;
    service.clock.advance_ms(6 * 3_600_000);
    portal.set("/1", Act::Redirect("/2".into()));
    let (_, data) = told(get(&service, "adverts", &portal.url("/1")).await, 422).await;
    assert_eq!(
        data["reason"],
        "gone: the portal redirects it to another listing"
    );
    let one = record(&service, "adverts", &one["flxId"]).await;
    assert_eq!(
        (&one["isOnline"], &one["currentPrice"]["value"]),
        (&json!(false), &json!(350_000))
    );
    assert_eq!(record(&service, "adverts", &other["flxId"]).await, other);
}

#[tokio::test]
async fn a_malformed_call_gets_an_ordinary_error() {
    let service = service(|settings| settings.hosts = Hosts::Portals).await;
    for (query, message) in [
        ("", "url: is required"),
        ("?url=annonce/12", "url: must be an http or https address"),
        (
            "?url=https://p.example/1&url=https://p.example/1",
            "url: must be given once",
        ),
        ("?uri=https://p.example/1", "uri: unknown parameter"),
    ] {
        let path = format!("/v2/protected/adverts/url{query}");
        let (status, code, found) = error_of(service.get(&path).await).await;
        assert_eq!((status, code), (422, 10002));
        assert!(found.starts_with(message), "{found}");
    }
    let (_, data) = told(
        get(&service, "adverts", "https://autre.example/1").await,
        422,
    )
    .await;
    assert_eq!(
        data["reason"],
        "not_covered: autre.example is not one of the portals covered"
    );
    let portals: Value = service
        .ask(Method::GET, "/portals")
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert!(
        portals["data"]
            .as_array()
            .unwrap()
            .contains(&json!("leboncoin.fr")),
        "{portals}"
    );
}

#[tokio::test]
async fn a_job_of_a_process_whose_clock_was_a_day_ahead_does_not_wait_for_a_day() {
    let portal = Portal::start().await;
    let service = service(|_| {}).await;
    portal.set("/flat", flat_page(1, 350_000));
    told(get(&service, "adverts", &portal.url("/flat")).await, 200).await;
    let left = service.store.write(|transaction| {
        transaction.execute(
            "INSERT INTO jobs (job_id, account_id, kind, url_digest, url, host, created_at_ms, due_at_ms, is_shared)
             SELECT randomblob(16), account_id, kind, url_digest, url, host, created_at_ms + ?1, created_at_ms + ?1, is_shared
             FROM jobs",
            [24 * 3_600_000],
        )
    });
    assert_eq!(left.unwrap(), 1);
    let mut minutes = 0;
    until("the page is not fetched", async || {
        if minutes < 12 * 60 {
            service.clock.advance_ms(10 * 60_000);
            minutes += 10;
        }
        portal.asked("/flat") == 2
    })
    .await;
}

#[tokio::test]
async fn what_a_clock_that_was_wrong_has_dated_does_not_last_until_then() {
    let portal = Portal::start().await;
    let service = service(|_| {}).await;
    let year_ms = 365 * 24 * 3_600_000;
    portal.set("/flat", flat_page(1, 350_000));
    portal.set("/later", Act::Status(410, ""));
    service.clock.jump_ms(year_ms);
    told(get(&service, "adverts", &portal.url("/flat")).await, 200).await;
    told(get(&service, "adverts", &portal.url("/later")).await, 422).await;
    service.clock.jump_ms(-year_ms);
    portal.set("/flat", flat_page(1, 340_000));
    portal.set("/later", flat_page(2, 200_000));
    let (_, advert) = told(get(&service, "adverts", &portal.url("/flat")).await, 200).await;
    assert_eq!(advert["currentPrice"]["value"], 340_000);
    let (_, advert) = told(get(&service, "adverts", &portal.url("/later")).await, 200).await;
    assert_eq!(advert["currentPrice"]["value"], 200_000);
    // From then on it is known and fresh.
    told(get(&service, "adverts", &portal.url("/flat")).await, 200).await;
    assert_eq!(portal.asked("/flat"), 2);
}
