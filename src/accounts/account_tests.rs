//! Tests of accounts and their secrets.

use super::*;
use std::time::Instant;

use crate::DEFAULT_ACCOUNT;

fn store() -> (tempfile::TempDir, Store, Clock) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    (folder, store, Clock::steered(Utc::now()))
}

#[test]
fn replaced_secrets_are_removed_from_the_file() {
    let (folder, store, clock) = store();
    let (account, first) = create(&store, &clock, "a", NewId::Random).unwrap();
    let former = account.webhook_key.reveal().as_bytes().to_vec();
    for _ in 0..SIGNING_MAX {
        clock.advance_ms(1);
        rotate_secret(&store, &clock, account.account_id).unwrap();
        rotate_webhook_key(&store, &clock, account.account_id, Duration::ZERO).unwrap();
    }
    drop(store);
    // The threads of a dropped store close its files a little later. If its last two connections close at the same
    // time, neither removes the write-ahead log; the next connection that closes does.
    let (file, since) = (folder.path().join("store.sqlite"), Instant::now());
    while folder.path().join("store.sqlite-wal").exists() {
        assert!(since.elapsed().as_secs() < 10, "the store is not closed");
        std::thread::sleep(Duration::from_millis(20));
        let last = rusqlite::Connection::open(&file).unwrap();
        let count = "SELECT count(*) FROM sqlite_master";
        let _ = last.query_row(count, [], |row| row.get::<_, i64>(0));
    }
    let file = std::fs::read(file).unwrap();
    for secret in [first.bytes(), &former] {
        assert!(!file.windows(secret.len()).any(|part| part == secret));
    }
}

#[test]
fn an_account_is_read_as_it_was_created() {
    let (_folder, store, clock) = store();
    let (created, secret) = create(&store, &clock, "Agence du Mont", NewId::Random).unwrap();
    assert_eq!(get(&store, created.account_id).unwrap(), created);
    assert_eq!(get_named(&store, "Agence du Mont").unwrap(), created);
    let id = created.account_id.to_string();
    assert_eq!(get_named(&store, &id).unwrap(), created);
    let signing = signing_secrets(&store, created.account_id, clock.now()).unwrap();
    assert_eq!(signing.len(), 1);
    assert_eq!(signing[0].secret, secret);
    assert!(matches!(
        create(&store, &clock, "Agence du Mont", NewId::Random),
        Err(Error::NameTaken)
    ));
    assert!(matches!(get_named(&store, "other"), Err(Error::NoAccount)));
    let default = find_or_create(&store, &clock, DEFAULT_ACCOUNT).unwrap();
    let second = find_or_create(&store, &clock, DEFAULT_ACCOUNT).unwrap();
    assert_eq!(default, second);
    assert_eq!(list(&store).unwrap(), [created, default]);
}

#[test]
fn confusing_names_are_rejected() {
    let (_folder, store, clock) = store();
    let long = "x".repeat(NAME_CHARS_MAX + 1);
    let uuid = Uuid::now_v7().to_string();
    for name in ["", " a", "a\n", "a\tb", long.as_str(), uuid.as_str()] {
        let result = create(&store, &clock, name, NewId::Random);
        assert!(matches!(result, Err(Error::BadName)), "{name:?}");
    }
    assert!(create(&store, &clock, &"é".repeat(NAME_CHARS_MAX), NewId::Random).is_ok());
}

#[test]
fn a_rotated_secret_stays_valid_for_a_day() {
    let (_folder, store, clock) = store();
    let (account, first) = create(&store, &clock, "a", NewId::Random).unwrap();
    let (_, second) = rotate_secret(&store, &clock, account.account_id).unwrap();
    let signing = || -> Vec<SigningSecret> {
        signing_secrets(&store, account.account_id, clock.now())
            .unwrap()
            .into_iter()
            .map(|signing| signing.secret)
            .collect()
    };
    assert_eq!(signing(), [second.clone(), first.clone()]);
    let hour_ms = 3_600_000;
    clock.advance_ms(hour_ms);
    let (_, third) = rotate_secret(&store, &clock, account.account_id).unwrap();
    assert_eq!(signing(), [third.clone(), second.clone(), first]);
    clock.advance_ms(23 * hour_ms);
    assert_eq!(signing(), [third.clone(), second]);
    clock.advance_ms(hour_ms);
    assert_eq!(signing(), [third]);
    assert!(matches!(
        rotate_secret(&store, &clock, Uuid::now_v7()),
        Err(Error::NoAccount)
    ));
}

#[test]
fn the_number_of_valid_secrets_is_limited() {
    let (_folder, store, clock) = store();
    let (account, first) = create(&store, &clock, "a", NewId::Random).unwrap();
    for _ in 0..10 {
        rotate_secret(&store, &clock, account.account_id).unwrap();
    }
    let signing = signing_secrets(&store, account.account_id, clock.now()).unwrap();
    assert_eq!(signing.len(), SIGNING_MAX as usize);
    assert!(signing.iter().all(|signing| signing.secret != first));
}

#[test]
fn every_new_account_has_a_webhook_key_and_a_signing_secret() {
    let (_folder, store, clock) = store();
    let (created, _) = create(&store, &clock, "created", NewId::Random).unwrap();
    let found = find_or_create(&store, &clock, "found").unwrap();
    for id in [created.account_id, found.account_id] {
        let account = get(&store, id).unwrap();
        assert_eq!(account.webhook_key.reveal().len(), 68);
        assert_eq!(signing_secrets(&store, id, clock.now()).unwrap().len(), 1);
    }
}
