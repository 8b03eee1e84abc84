//! Tests of the order of deliveries: one new delivery per alert, retries in turn, independent endpoints.

use super::super::slots::UNHEALTHY_MAX;
use super::*;

fn receiver(name: &str) -> SharedReceiverKey {
    receiver_of(0, name)
}

fn receiver_of(account: u128, name: &str) -> SharedReceiverKey {
    Arc::new(ReceiverKey {
        account_id: Uuid::from_u128(account),
        url: format!("https://{name}/"),
    })
}

/// Picks an alert and starts its delivery.
fn begin(state: &mut DispatchState, more: bool) -> Option<(i64, Uuid)> {
    let (alert, receiver) = state.pick(0)?;
    let delivery_id = Uuid::now_v7();
    state.begin(delivery_id, alert, &receiver, Some(more));
    Some((alert, delivery_id))
}

#[test]
fn an_alert_has_one_new_delivery_in_flight_at_a_time() {
    let mut state = DispatchState::default();
    state.queue_waiting(1, Some(receiver("a")));
    state.queue_waiting(1, Some(receiver("a")));
    let (alert, first) = begin(&mut state, false).unwrap();
    assert_eq!(alert, 1);
    assert!(begin(&mut state, false).is_none());
    state.queue_waiting(1, Some(receiver("a")));
    assert!(begin(&mut state, false).is_none());
    state.end(first, DeliveryEnd::Accepted, 0);
    let (_, second) = begin(&mut state, false).unwrap();
    state.end(second, DeliveryEnd::Failed { asked_ms: 0 }, 0);
    assert!(begin(&mut state, false).is_none() && !state.is_waiting(1));
}

#[test]
fn notifications_that_wait_for_a_delivery_are_checked_when_it_ends() {
    let mut state = DispatchState::default();
    let a = receiver("a");
    let retry = Uuid::now_v7();
    state.begin(retry, 1, &a, None);
    state.queue_waiting(1, Some(Arc::clone(&a)));
    let (alert, _) = state.pick(0).unwrap();
    state.mark_idle(alert, true);
    assert!(state.pick(0).is_none());
    state.end(retry, DeliveryEnd::Failed { asked_ms: 0 }, 0);
    assert!(state.pick(0).is_none(), "the store does not know yet");
    state.release(1);
    assert_eq!(state.pick(0).unwrap().0, 1);
    state.mark_idle(1, true);
    state.queue_waiting(1, Some(a));
    assert_eq!(
        state.pick(0).unwrap().0,
        1,
        "another notification may be free"
    );
}

#[test]
fn hanging_endpoints_of_one_account_take_no_slots_from_others() {
    let mut state = DispatchState::default();
    let idle = receiver_of(1, "idle");
    let first = Uuid::now_v7();
    state.begin(first, 0, &idle, None);
    state.end(first, DeliveryEnd::Accepted, 0);
    for alert in 1..=1_000 {
        state.queue_waiting(alert, Some(receiver(&format!("hanging{alert}"))));
    }
    let mut hanging = 0;
    while begin(&mut state, false).is_some() {
        hanging += 1;
    }
    assert_eq!(hanging, UNHEALTHY_MAX / 2);
    // A day later, the endpoint that accepted its deliveries is still known as healthy, and an unknown one also gets a
    // slot.
    state.forget_idle(24 * 3_600_000);
    for (alert, other) in [(2_000, idle), (2_001, receiver_of(2, "stranger"))] {
        state.queue_waiting(alert, Some(Arc::clone(&other)));
        assert_eq!(begin(&mut state, false).unwrap().0, alert);
        assert!(state.may_retry(&other, 0));
    }
    assert!(!state.may_retry(&receiver("other"), 0));
}

#[test]
fn healthy_and_recently_used_endpoints_are_remembered_first() {
    let mut state = DispatchState::default();
    let names: Vec<SharedReceiverKey> = (0..REMEMBERED_MAX + 3)
        .map(|name| receiver(&name.to_string()))
        .collect();
    for (at_ms, key) in (1..).zip(&names) {
        let delivery_id = Uuid::now_v7();
        state.begin(delivery_id, 0, key, None);
        let end = match at_ms {
            2 | 7 => DeliveryEnd::Failed { asked_ms: 0 },
            _ => DeliveryEnd::Accepted,
        };
        state.end(delivery_id, end, at_ms);
    }
    state.forget_idle(1_000_000);
    assert_eq!(state.endpoints.len(), REMEMBERED_MAX);
    let forgotten = [0, 1, 6].map(|index: usize| !state.endpoints.contains_key(&names[index]));
    assert_eq!(forgotten, [true; 3]);
    state.forget_idle(i64::MAX);
    assert!(state.endpoints.is_empty());
}

#[test]
fn connections_are_kept_for_a_limited_number_of_endpoints() {
    let mut state = DispatchState::default();
    for index in 0..KEEP_ALIVE_MAX {
        assert_eq!(
            state.connection(&receiver(&index.to_string())),
            ConnectionReuse::Keep
        );
    }
    assert_eq!(
        state.connection(&receiver("another")),
        ConnectionReuse::Close
    );
    assert_eq!(state.connection(&receiver("0")), ConnectionReuse::Keep);
    assert_eq!(state.connected.len(), KEEP_ALIVE_MAX);
}

#[test]
fn endpoints_take_turns() {
    let mut state = DispatchState::default();
    for alert in 0..6 {
        let name = if alert < 4 { "busy" } else { "quiet" };
        state.queue_waiting(alert, Some(receiver(name)));
    }
    let order: Vec<i64> = std::iter::from_fn(|| begin(&mut state, false))
        .map(|(alert, _)| alert)
        .collect();
    assert_eq!(order, [0, 4, 1, 5, 2, 3]);
}

#[test]
fn a_queued_alert_follows_its_receiver_and_retires_without_one() {
    let mut state = DispatchState::default();
    let (a, b) = (receiver("a"), receiver("b"));
    state.queue_waiting(1, Some(Arc::clone(&a)));
    state.queue_waiting(2, Some(a));
    state.change_receiver(1, Some(Arc::clone(&b)));
    state.change_receiver(2, None);
    assert_eq!(state.pick(0), Some((1, Arc::clone(&b))));
    // An endpoint is queued only once if its only alert left and returned.
    state.mark_idle(1, false);
    state.queue_waiting(1, Some(Arc::clone(&b)));
    state.change_receiver(1, Some(receiver("c")));
    state.change_receiver(1, Some(Arc::clone(&b)));
    assert_eq!(
        state.endpoint_queue.iter().filter(|key| **key == b).count(),
        1
    );
    assert_eq!(state.pick(0), Some((1, b)));
    assert_eq!((state.pick(0), state.pick_retired()), (None, Some(2)));
    state.mark_idle(1, false);
    state.mark_idle(2, false);
    state.forget_idle(0);
    assert!(state.endpoints.is_empty() && state.alerts.is_empty());
}
