//! What is charged is in the file once, and stored responses are given back whole or not at all.

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
    let ledger = Ledger::new(&store);
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
    Ledger::new(&store).record(row).await.unwrap();
    assert_eq!(calls_of_month(&store, key_id, at).unwrap(), 1);
    end.send(()).unwrap();
    assert!(long_change.join().unwrap().unwrap());
}

#[tokio::test]
async fn a_duplicate_row_is_rejected_and_others_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let (account_id, key_id, at) = (Uuid::now_v7(), Uuid::now_v7(), Utc::now());
    let ledger = Ledger::new(&store);
    let twice = record(account_id, key_id, at, 1);
    let other = record(account_id, key_id, at, 1);
    let outcomes = [twice.clone(), twice, other].map(|row| ledger.record(row));
    let outcomes = futures::future::join_all(outcomes).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 2);
    assert_eq!(calls_of_month(&store, key_id, at).unwrap(), 2);
}

fn stored(account_id: Uuid, at: DateTime<Utc>, key: &str, body: Vec<u8>) -> CallRecord {
    let answer = StoredResponse {
        idempotency_key: key.into(),
        request_digest: [7; 32],
        status: 200,
        content_type: "application/json".into(),
        body: body.into(),
    };
    CallRecord {
        account_id,
        at,
        entry: None,
        answer: Some(answer),
    }
}

#[tokio::test]
async fn stored_responses_of_an_account_are_bounded_and_the_oldest_go_first() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let ledger = Ledger::new(&store);
    let (greedy, modest, start) = (Uuid::now_v7(), Uuid::now_v7(), Utc::now());
    ledger
        .record(stored(modest, start, "only", b"{}".to_vec()))
        .await
        .unwrap();
    // Random bytes do not become shorter.
    let answers = 70;
    for number in 0..answers {
        let mut body = vec![0; 1 << 20];
        rand::RngExt::fill(&mut rand::rng(), &mut body[..]);
        let at = start + chrono::Duration::milliseconds(number);
        let record = stored(greedy, at, &number.to_string(), body);
        ledger.record(record).await.unwrap();
    }
    let found = |account, key: &str| stored_response(&store, account, key, start).unwrap();
    assert!(found(greedy, "0").is_none());
    assert!(found(greedy, &(answers - 1).to_string()).is_some());
    assert!(found(modest, "only").is_some());
    let bytes = store.ledger().read(|connection| {
        let sql = "SELECT max(bytes) FROM stored_answer_bytes";
        connection.query_row(sql, [], |row| row.get::<_, i64>(0))
    });
    assert!(bytes.unwrap() as u64 <= STORED_BYTES_MAX);
}

#[tokio::test]
async fn a_damaged_stored_response_is_an_error_and_never_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let (account, at) = (Uuid::now_v7(), Utc::now());
    let record = stored(account, at, "order 7", b"{\"price\": 1}".to_vec());
    Ledger::new(&store).record(record).await.unwrap();
    store
        .ledger()
        .write(|transaction| transaction.execute("UPDATE stored_answers SET status = 201", []))
        .unwrap();
    let damaged = stored_response(&store, account, "order 7", at).unwrap_err();
    assert!(damaged.to_string().contains("order 7"), "{damaged}");
    assert_eq!(store.check().unwrap().damaged_count, 1);
}

#[tokio::test]
async fn a_stored_response_is_available_for_a_day() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let ledger = Ledger::new(&store);
    let (account_id, at) = (Uuid::now_v7(), Utc::now());
    let answer = StoredResponse {
        idempotency_key: "order 7".into(),
        request_digest: [7; 32],
        status: 200,
        content_type: "application/json".into(),
        body: "{\"data\":[]}".into(),
    };
    let stored = CallRecord {
        account_id,
        at,
        entry: None,
        answer: Some(answer.clone()),
    };
    ledger.record(stored).await.unwrap();
    let found = |account_id: Uuid, now: DateTime<Utc>| {
        stored_response(&store, account_id, "order 7", now).unwrap()
    };
    let almost = STORED_RESPONSE_TTL - chrono::Duration::seconds(1);
    assert_eq!(found(account_id, at + almost), Some(answer));
    assert_eq!(found(account_id, at + STORED_RESPONSE_TTL), None);
    assert_eq!(found(Uuid::now_v7(), at), None);
}
