//! Tests of stored responses: a response under an idempotency key is returned whole, or its call is remembered, for a
//! day.

use super::*;
use crate::ledger::{CallRecord, Ledger, StoredResponse};
use toise_base::clock::Clock;
use toise_store::Store;

const HOUR_MS: i64 = 3_600_000;
const MIB: usize = 1 << 20;

struct Fixture {
    store: Store,
    clock: Clock,
    ledger: Ledger,
    _folder: tempfile::TempDir,
}

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let clock = Clock::steered(Utc::now());
    Fixture {
        ledger: Ledger::new(&store, &clock),
        store,
        clock,
        _folder: folder,
    }
}

/// Kind of a call, which decides how its response is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Reads,
    Changes,
}

fn answer(key: &str, kind: Kind, body: Vec<u8>) -> StoredResponse {
    StoredResponse {
        idempotency_key: key.into(),
        request_digest: [7; 32],
        request_id: Uuid::now_v7(),
        is_repeatable: kind == Kind::Reads,
        status: 200,
        content_type: "application/json".into(),
        body: Some(body.into()),
    }
}

impl Fixture {
    async fn put(&self, account_id: Uuid, answer: StoredResponse) {
        let record = CallRecord {
            account_id,
            at: self.clock.now(),
            entry: None,
            answer: Some(answer),
        };
        self.ledger.record(record).await.unwrap();
        self.clock.advance_ms(1);
    }

    fn found(&self, account: Uuid, key: &str) -> Option<StoredResponse> {
        self.ledger.stored(account, key).unwrap()
    }

    fn bytes_held(&self) -> u64 {
        let sql = "SELECT max(bytes) FROM stored_answer_totals";
        let read = |connection: &Connection| connection.query_row(sql, [], |row| row.get(0));
        self.store.ledger().read::<i64>(read).unwrap() as u64
    }
}

/// Returns random bytes, which do not compress.
fn random(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    rand::RngExt::fill(&mut rand::rng(), &mut bytes[..]);
    bytes
}

#[tokio::test]
async fn responses_past_the_bound_of_an_account_leave_references() {
    let one = fixture();
    let (greedy, modest) = (Uuid::now_v7(), Uuid::now_v7());
    one.put(modest, answer("only", Kind::Reads, b"{}".to_vec()))
        .await;
    one.put(greedy, answer("order", Kind::Changes, random(MIB)))
        .await;
    let answers = 70;
    for number in 0..answers {
        let body = random(MIB - 1_024);
        one.put(greedy, answer(&number.to_string(), Kind::Reads, body))
            .await;
    }
    assert!(one.bytes_held() <= STORED_BYTES_MAX);
    // The oldest response made room, and its call is remembered.
    let first = one.found(greedy, "0").unwrap();
    assert_eq!((first.body, first.is_repeatable), (None, true));
    let last = one.found(greedy, &(answers - 1).to_string()).unwrap();
    assert!(last.body.is_some());
    // The response of a call that cannot be repeated goes last.
    assert!(one.found(greedy, "order").unwrap().body.is_some());
    assert!(one.found(modest, "only").unwrap().body.is_some());
    assert_eq!(one.store.check().unwrap().damaged_count, 0);
}

#[tokio::test]
async fn a_large_response_is_a_reference_unless_its_call_changed_something() {
    let one = fixture();
    let account = Uuid::now_v7();
    let large = random(READ_BYTES_MAX + MIB);
    let plain = vec![b'x'; READ_PLAIN_BYTES_MAX + 1];
    for (key, kind, body, is_kept) in [
        (
            "packed",
            Kind::Reads,
            vec![b'x'; READ_PLAIN_BYTES_MAX],
            true,
        ),
        ("large", Kind::Reads, large.clone(), false),
        ("very large", Kind::Reads, plain.clone(), false),
        ("change", Kind::Changes, large, true),
        ("large change", Kind::Changes, plain, true),
    ] {
        let given = answer(key, kind, body);
        one.put(account, given.clone()).await;
        if key == "packed" {
            assert!(one.bytes_held() < MIB as u64 / 16, "not compressed");
        }
        let found = one.found(account, key).unwrap();
        assert_eq!(found.request_digest, given.request_digest);
        assert_eq!(found.request_id, given.request_id);
        if is_kept {
            assert!(found == given, "{key}")
        } else {
            assert_eq!(found.body, None, "{key}")
        }
    }
}

#[tokio::test]
async fn the_oldest_of_very_many_calls_are_forgotten() {
    let one = fixture();
    let (account, other) = (Uuid::now_v7(), Uuid::now_v7());
    for account in [account, other] {
        one.put(account, answer("first", Kind::Reads, b"{}".to_vec()))
            .await;
    }
    // Simulates many calls.
    let change = move |transaction: &Transaction<'_>| {
        let sql = "UPDATE stored_answer_totals SET answers = ?2 WHERE account_id = ?1";
        transaction.execute(sql, (account.as_bytes(), STORED_CALLS_MAX as i64))
    };
    one.store.ledger().write(change).unwrap();
    one.put(account, answer("next", Kind::Reads, b"{}".to_vec()))
        .await;
    assert_eq!(one.found(account, "first"), None);
    assert!(one.found(account, "next").is_some());
    assert!(one.found(other, "first").is_some());
}

#[tokio::test]
async fn a_remembered_call_takes_few_bytes_of_the_file() {
    let one = fixture();
    let account = Uuid::now_v7();
    let file_bytes = || {
        let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        let read = |connection: &Connection| connection.query_row(sql, [], |row| row.get(0));
        one.store.ledger().read::<i64>(read).unwrap()
    };
    let before = file_bytes();
    let calls = 500;
    for _ in 0..calls {
        let key = Uuid::now_v7().to_string();
        one.put(account, answer(&key, Kind::Reads, b"{}".to_vec()))
            .await;
    }
    let each = (file_bytes() - before) / calls;
    assert!(each < 400, "{each} bytes");
}

#[tokio::test]
async fn a_call_is_charged_while_large_responses_are_packed() {
    let one = fixture();
    // Simulates that large responses occupy all permits.
    let places = Arc::clone(&one.ledger.packing().0);
    let taken = places.acquire_many(LARGE_AT_ONCE as u32).await.unwrap();
    let account = Uuid::now_v7();
    let mut large = Box::pin(one.put(account, answer("large", Kind::Reads, random(MIB / 2))));
    assert!(futures::poll!(&mut large).is_pending());
    one.put(account, answer("small", Kind::Reads, b"{}".to_vec()))
        .await;
    assert!(one.found(account, "small").is_some());
    assert!(one.found(account, "large").is_none());
    drop(taken);
    large.await;
    assert!(one.found(account, "large").is_some());
}

#[tokio::test]
async fn a_damaged_stored_response_is_an_error_and_never_replayed() {
    let one = fixture();
    let account = Uuid::now_v7();
    let body = b"{\"price\": 1}".to_vec();
    one.put(account, answer("order 7", Kind::Reads, body)).await;
    one.store
        .ledger()
        .write(|transaction| transaction.execute("UPDATE stored_answers SET status = 201", []))
        .unwrap();
    let damaged = one.ledger.stored(account, "order 7").unwrap_err();
    assert!(damaged.to_string().contains("order 7"), "{damaged}");
    assert_eq!(one.store.check().unwrap().damaged_count, 1);
}

#[tokio::test]
async fn a_stored_response_is_available_for_a_day() {
    let one = fixture();
    let account = Uuid::now_v7();
    let given = answer("order 7", Kind::Reads, b"{\"data\":[]}".to_vec());
    one.put(account, given.clone()).await;
    one.clock.advance_ms(24 * HOUR_MS - 1_000);
    assert_eq!(one.found(account, "order 7"), Some(given));
    assert_eq!(one.found(Uuid::now_v7(), "order 7"), None);
    one.clock.advance_ms(1_000);
    assert_eq!(one.found(account, "order 7"), None);
}

#[tokio::test]
async fn a_clock_that_is_set_forward_for_a_while_expires_nothing() {
    let one = fixture();
    let account = Uuid::now_v7();
    let given = answer("order 7", Kind::Reads, b"{}".to_vec());
    one.put(account, given.clone()).await;
    one.clock.jump_ms(30 * HOUR_MS);
    assert_eq!(one.found(account, "order 7"), Some(given.clone()));
    // Storing a response in the meantime deletes expired ones.
    one.put(account, answer("other", Kind::Reads, b"{}".to_vec()))
        .await;
    one.clock.jump_ms(-30 * HOUR_MS);
    assert_eq!(one.found(account, "order 7"), Some(given.clone()));
    assert!(one.found(account, "other").is_some());
    // A lasting change of the clock takes effect after a day.
    one.clock.jump_ms(30 * HOUR_MS);
    one.clock.advance_ms(23 * HOUR_MS);
    assert_eq!(one.found(account, "order 7"), Some(given));
    one.clock.advance_ms(HOUR_MS);
    assert_eq!(one.found(account, "order 7"), None);
}
