//! Tests of the ledger: a charge is in the file once, and a stored response is returned whole or not at all.

use super::*;
use crate::DEFAULT_ACCOUNT;
use crate::keys::{self, KeyKind};
use toise_base::clock::Clock;

fn record(account_id: Uuid, key_id: Uuid, at: DateTime<Utc>, credits: u64) -> CallRecord {
    CallRecord {
        account_id,
        at,
        entry: Some(LedgerEntry {
            request_id: Uuid::now_v7(),
            account_id,
            key_id,
            consumption: Consumption::OpendataDpeMatch,
            credits,
            at,
        }),
        answer: None,
    }
}

#[tokio::test]
async fn rows_and_totals_of_concurrent_calls_agree() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let clock = Clock::steered(Utc::now());
    let kind = KeyKind::Production;
    let key = keys::create(&store, &clock, kind, kind.default_scopes(), DEFAULT_ACCOUNT).unwrap();
    let ledger = Ledger::new(&store, &clock);
    let calls = (0..200)
        .map(|number| ledger.record(record(key.account_id, key.key_id, clock.now(), number % 3)));
    for outcome in futures::future::join_all(calls).await {
        outcome.unwrap();
    }
    let sums = |sql: &'static str| {
        store
            .ledger()
            .read(|connection| {
                connection.query_row(sql, [], |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
                })
            })
            .unwrap()
    };
    let expected = ((0..200).map(|number| number % 3).sum::<i64>(), 200);
    assert_eq!(
        sums("SELECT sum(credits), sum(calls) FROM ledger"),
        expected
    );
    assert_eq!(
        sums("SELECT sum(credits), sum(calls) FROM consumption"),
        expected
    );
    assert_eq!(
        calls_of_month(&store, key.key_id, clock.now()).unwrap(),
        200
    );
    let next_month = clock.now() + chrono::Duration::days(32);
    assert_eq!(calls_of_month(&store, key.key_id, next_month).unwrap(), 0);
}

#[tokio::test]
async fn a_row_does_not_wait_for_changes_of_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let (begun, has_begun) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let long_change = {
        let store = store.clone();
        std::thread::spawn(move || {
            store.write(move |_| {
                begun.send(()).unwrap();
                Ok(ended.recv().is_ok())
            })
        })
    };
    has_begun.recv().unwrap();
    let (account_id, key_id, at) = (Uuid::now_v7(), Uuid::now_v7(), Utc::now());
    let row = record(account_id, key_id, at, 1);
    let ledger = Ledger::new(&store, &Clock::system());
    ledger.record(row).await.unwrap();
    assert_eq!(calls_of_month(&store, key_id, at).unwrap(), 1);
    end.send(()).unwrap();
    assert!(long_change.join().unwrap().unwrap());
}

#[tokio::test]
async fn a_duplicate_row_is_rejected_and_others_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let (account_id, key_id, at) = (Uuid::now_v7(), Uuid::now_v7(), Utc::now());
    let ledger = Ledger::new(&store, &Clock::system());
    let twice = record(account_id, key_id, at, 1);
    let other = record(account_id, key_id, at, 1);
    let outcomes = [twice.clone(), twice, other].map(|row| ledger.record(row));
    let outcomes = futures::future::join_all(outcomes).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 2);
    assert_eq!(calls_of_month(&store, key_id, at).unwrap(), 2);
}
