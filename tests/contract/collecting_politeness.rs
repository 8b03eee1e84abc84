//! How portals are spared when pages are collected: pauses, patience, another try.

use std::time::Duration;

use crate::support::collecting::{get, service, told, until};
use crate::support::portal::{Act, Portal, flat_page};

#[tokio::test]
async fn a_host_that_asks_for_it_is_left_alone_and_asked_again_then() {
    let portal = Portal::start().await;
    let service = service(|settings| settings.wait_s = 0).await;
    portal.set("/busy", Act::Status(503, "retry-after: 60\r\n"));
    portal.set("/cut", Act::Cut);
    let failed = "SELECT count(*) FROM jobs WHERE reason IS NOT NULL AND due_at_ms IS NOT NULL";
    told(get(&service, "adverts", &portal.url("/cut")).await, 202).await;
    until("the failure", async || service.stored(failed) == [1]).await;
    told(get(&service, "adverts", &portal.url("/busy")).await, 202).await;
    until("the refusal", async || service.stored(failed) == [2]).await;
    portal.set("/busy", flat_page(1, 350_000));
    // The whole host is left alone as long as it asked for.
    service.clock.advance_ms(30_000);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!((portal.asked("/busy"), portal.asked("/cut")), (1, 1));
    service.clock.advance_ms(45_000);
    until("the advert", async || {
        service.stored("SELECT count(*) FROM jobs WHERE outcome = 'collected'") == [1]
    })
    .await;
    told(get(&service, "adverts", &portal.url("/busy")).await, 200).await;
    assert_eq!(portal.asked("/busy"), 2);
}

#[tokio::test]
async fn passing_failures_are_tried_again_and_given_up_in_the_end() {
    let portal = Portal::start().await;
    let service = service(|settings| settings.wait_s = 0).await;
    portal.set("/cut", Act::Cut);
    told(get(&service, "adverts", &portal.url("/cut")).await, 202).await;
    let idle = "SELECT attempts, lease_until_ms IS NULL, due_at_ms IS NULL FROM jobs";
    for attempt in 1..=5 {
        let is_last = i64::from(attempt == 5);
        until("the end of an attempt", async || {
            service.stored(idle) == [attempt, 1, is_last]
        })
        .await;
        service.clock.advance_ms(750_000 * (1 - is_last));
    }
    assert_eq!(portal.asked("/cut"), 5);
    let (_, data) = told(get(&service, "adverts", &portal.url("/cut")).await, 422).await;
    let reason = data["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("unreachable: the connection broke off"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_page_that_comes_a_byte_at_a_time_is_not_waited_for() {
    let portal = Portal::start().await;
    let service = service(|settings| {
        settings.wait_s = 0;
        settings.page_timeout_s = 1;
    })
    .await;
    portal.set("/drip", Act::Drip);
    told(get(&service, "adverts", &portal.url("/drip")).await, 202).await;
    let late = "SELECT count(*) FROM jobs WHERE reason LIKE 'no complete page within 1 s'";
    until("the end of patience", async || service.stored(late) == [1]).await;
}

#[tokio::test]
async fn a_host_others_send_on_to_is_spared_like_any() {
    let (door, portal) = (Portal::start().await, Portal::start().await);
    let service = service(|settings| {
        settings.per_host_max = 2;
        settings.wait_s = 0;
    })
    .await;
    for number in 0..8 {
        let path = format!("/{number}");
        let page = Box::new(flat_page(number, 350_000));
        portal.set(&path, Act::After(Duration::from_millis(100), page));
        door.set(&path, Act::Redirect(portal.named(&path)));
        told(get(&service, "adverts", &door.url(&path)).await, 202).await;
    }
    until("all of them", async || {
        service.stored("SELECT count(*) FROM jobs WHERE outcome = 'collected'") == [8]
    })
    .await;
    assert!(portal.at_once_most() <= 2, "{}", portal.at_once_most());
    assert_eq!(
        service.stored("SELECT max(attempts), count(*) FROM jobs"),
        [1, 8]
    );
    let (_, advert) = told(get(&service, "adverts", &door.url("/1")).await, 200).await;
    assert_eq!(advert["url"], portal.named("/1"));
    assert_eq!(
        (door.asked("/robots.txt"), portal.asked("/robots.txt")),
        (1, 1)
    );
    // Steps are counted whatever hosts they lead through.
    door.set("/round", Act::Redirect(portal.named("/round")));
    portal.set("/round", Act::Redirect(door.url("/round")));
    told(get(&service, "adverts", &door.url("/round")).await, 202).await;
    until("the circle", async || {
        service.stored("SELECT count(*) FROM jobs WHERE reason LIKE 'redirects: %'") == [1]
    })
    .await;
}

#[tokio::test]
async fn hosts_are_asked_few_at_a_time_and_accounts_are_bounded() {
    let portal = Portal::start().await;
    let service = service(|settings| {
        settings.per_host_max = 2;
        settings.wait_s = 0;
        settings.waiting_per_account_max = 6;
    })
    .await;
    for number in 0..8 {
        let path = format!("/{number}");
        portal.set(
            &path,
            Act::After(
                Duration::from_millis(150),
                Box::new(flat_page(number, 350_000)),
            ),
        );
    }
    let calls = (0..8).map(|number| {
        let (service, url) = (&service, portal.url(&format!("/{number}")));
        async move { get(service, "adverts", &url).await.status().as_u16() }
    });
    let statuses = futures::future::join_all(calls).await;
    assert!(statuses.contains(&503), "{statuses:?}");
    until("all of them", async || {
        service.stored("SELECT count(*) FROM jobs WHERE due_at_ms IS NOT NULL") == [0]
    })
    .await;
    assert!(portal.at_once_most() <= 2, "{}", portal.at_once_most());
}
