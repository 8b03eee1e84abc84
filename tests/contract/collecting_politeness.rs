//! Politeness of collection towards portals: pauses, timeouts, retries.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::json;

use crate::support::assertions::assert_begins;
use crate::support::collecting::{get, service, told, until};
use crate::support::portal::{Act, Portal, flat_page};

#[tokio::test]
async fn a_host_with_retry_after_is_not_requested_until_then() {
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
    // The whole host is not requested for the time it asked for.
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
async fn temporary_failures_are_retried_a_limited_number_of_times() {
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
    assert_begins(reason, "unreachable: the connection was lost");
}

#[tokio::test]
async fn who_asks_for_a_page_that_cannot_be_reached_is_told_at_once_when_to_ask_again() {
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let service = service(|settings| settings.wait_s = 3_600).await;
    for (url, reason) in [
        (format!("http://{closed}/flat/1"), "Connection refused"),
        ("http://nobody.example/flat/1".to_owned(), "nobody.example"),
    ] {
        // Far less than a call may wait; the pauses are those between attempts, with their jitter.
        for (attempt, pause) in [(1, 5..=6), (2, 30..=36), (3, 120..=144), (4, 600..=720)] {
            let asked = get(&service, "adverts", &url);
            let (credits, data) = told(asked.await, 202).await;
            let wait = data["retry_after_s"].as_u64().unwrap();
            assert!(pause.contains(&wait), "attempt {attempt} at {url}: {data}");
            assert_eq!((credits, &data["status"]), (0, &json!("pending")));
            // A repeated call before that time gets the same response.
            let (_, again) = told(get(&service, "adverts", &url).await, 202).await;
            assert!(again["retry_after_s"].as_u64().unwrap() <= wait, "{again}");
            service.clock.advance_ms(1_000 * (wait as i64 + 1));
        }
        let (_, data) = told(get(&service, "adverts", &url).await, 422).await;
        let said = data["reason"].as_str().unwrap();
        assert!(
            said.starts_with("unreachable: ") && said.contains(reason),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_call_does_not_wait_for_an_attempt_that_is_due_after_its_deadline() {
    let portal = Portal::start().await;
    let service = service(|settings| settings.wait_s = 50).await;
    portal.set("/busy", Act::Status(503, "retry-after: 300\r\n"));
    // Once when the attempt fails, and once by a call that finds the job waiting.
    for _ in 0..2 {
        let (_, data) = told(get(&service, "adverts", &portal.url("/busy")).await, 202).await;
        assert_eq!(data["retry_after_s"], 300);
    }
    assert_eq!(portal.asked("/busy"), 1);
}

#[tokio::test]
async fn a_page_sent_byte_by_byte_times_out() {
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
async fn the_limits_of_a_host_apply_to_requests_after_redirects() {
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
    // Redirects are counted across hosts.
    door.set("/round", Act::Redirect(portal.named("/round")));
    portal.set("/round", Act::Redirect(door.url("/round")));
    // The response is 202, or 422 if the redirect loop is found at once.
    get(&service, "adverts", &door.url("/round")).await;
    until("the circle", async || {
        service.stored("SELECT count(*) FROM jobs WHERE reason LIKE 'redirects: %'") == [1]
    })
    .await;
}

#[tokio::test]
async fn requests_per_host_and_waiting_jobs_per_account_are_limited() {
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
