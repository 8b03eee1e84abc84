//! Tests of the ledger: a charge is in the file once, and a stored response is returned whole or not at all.

use super::*;
use crate::DEFAULT_ACCOUNT;
use crate::keys::{self, KeyKind};
use crate::prices::Consumption;
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

/// Limits the pages of the ledger's file, so that writes fail as on a full disk. Without a limit, they succeed again.
fn limit_pages(store: &Store, pages: &str) {
    let sql = format!("PRAGMA max_page_count = {pages}");
    let limited = store
        .ledger()
        .write(move |transaction| transaction.query_row(&sql, [], |row| row.get::<_, i64>(0)));
    limited.unwrap();
}

/// Request ids of the rows in the ledger, with the calls in the totals.
fn written(store: &Store) -> (Vec<Uuid>, i64) {
    let read = |connection: &Connection| {
        let ids = connection
            .prepare("SELECT request_id FROM ledger")?
            .query_map([], |row| row.get(0).map(Uuid::from_bytes))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let sql = "SELECT coalesce(sum(calls), 0) FROM consumption";
        let calls = connection.query_row(sql, [], |row| row.get(0))?;
        Ok((ids, calls))
    };
    store.ledger().read(read).unwrap()
}

#[tokio::test]
async fn free_calls_wait_while_the_file_is_full_and_charged_calls_fail() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let (account_id, key_id, at) = (Uuid::now_v7(), Uuid::now_v7(), Utc::now());
    let ledger = Ledger {
        waiting: WaitingRows::bounded(20),
        ..Ledger::new(&store, &Clock::system())
    };
    limit_pages(&store, "1");
    let mut made = Vec::new();
    while ledger.waiting().len() < 20 {
        let row = record(account_id, key_id, at, 0);
        made.push(row.entry.as_ref().unwrap().request_id);
        ledger.record(row).await.unwrap();
        assert!(made.len() < 10_000, "the file is not full");
    }
    let charged = ledger.record(record(account_id, key_id, at, 1)).await;
    let Err(LedgerError::Store(error)) = charged else {
        panic!("{charged:?}");
    };
    assert!(error.is_unwritable(), "{error}");
    assert!(ledger.write_waiting().is_err());
    assert_eq!(ledger.waiting().len(), 20);
    assert_eq!(ledger.waiting().calls_of_month(key_id, at), 20);
    let next_month = at + chrono::Duration::days(32);
    assert_eq!(ledger.waiting().calls_of_month(key_id, next_month), 0);

    // Above the maximum, calls are still accepted and their rows are counted.
    for _ in 0..3 {
        ledger
            .record(record(account_id, key_id, at, 0))
            .await
            .unwrap();
    }
    assert_eq!(ledger.waiting().left_out(), 3);

    limit_pages(&store, "1000000");
    ledger.write_waiting().unwrap();
    ledger.write_waiting().unwrap();
    assert_eq!(
        (ledger.waiting().len(), ledger.waiting().left_out()),
        (0, 3)
    );
    assert_eq!(ledger.waiting().calls_of_month(key_id, at), 0);
    let (mut ids, calls) = written(&store);
    ids.sort_unstable();
    made.sort_unstable();
    assert_eq!(ids, made);
    assert_eq!(calls as usize, made.len());
}

#[tokio::test]
async fn free_calls_of_a_killed_process_are_written_once_when_another_starts() {
    let folder = tempfile::tempdir().unwrap();
    let (account_id, key_id, at) = (Uuid::now_v7(), Uuid::now_v7(), Utc::now());
    let store = Store::open(folder.path()).unwrap();
    let killed = Ledger::new(&store, &Clock::system());
    killed.keep_journal(folder.path()).unwrap();
    let free = || record(account_id, key_id, at, 0);
    for _ in 0..3 {
        killed.record(free()).await.unwrap();
    }
    assert_eq!(written(&store).1, 0, "free calls wait");
    assert_eq!(killed.waiting().calls_of_month(key_id, at), 3);
    killed
        .record(record(account_id, key_id, at, 1))
        .await
        .unwrap();
    assert_eq!(written(&store).1, 1, "a charged call does not wait");
    let reporting = Ledger::new(&store, &Clock::system());
    reporting.write_journals(folder.path()).unwrap();
    assert_eq!(written(&store).1, 4, "a report has the calls of others");
    killed.write_waiting().unwrap();
    reporting.write_journals(folder.path()).unwrap();
    assert_eq!(written(&store).1, 4);
    for _ in 0..2 {
        killed.record(free()).await.unwrap();
    }
    // Without the end of the journal, as if the process were killed.
    drop(killed);

    let next = Ledger::new(&store, &Clock::system());
    next.keep_journal(folder.path()).unwrap();
    next.write_leftovers(folder.path()).unwrap();
    assert_eq!(written(&store).1, 6);
    next.record(free()).await.unwrap();
    next.end_journal().unwrap();
    let (ids, calls) = written(&store);
    assert_eq!((ids.len(), calls), (7, 7));
    let left = std::fs::read_dir(folder.path()).unwrap();
    let names = left.map(|file| file.unwrap().file_name().into_string().unwrap());
    let journals: Vec<String> = names.filter(|name| name.ends_with(".calls")).collect();
    assert!(journals.is_empty(), "{journals:?}");
}
