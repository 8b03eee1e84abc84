//! Tests of API keys in the store: creating, changing, rotating and revoking them.

use uuid::Uuid;

use super::DEFAULT_ACCOUNT;
use super::account;
use super::grants::Grants;
use super::keys::*;
use super::scopes::Scope;
use super::sql_limits::SqlLimits;
use crate::limits::KeyLimits;
use toise_base::clock::Clock;
use toise_store::Store;

fn store() -> (tempfile::TempDir, Store, Clock) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    (folder, store, Clock::steered(chrono::Utc::now()))
}

fn issued(store: &Store, clock: &Clock, kind: KeyKind) -> NewKey {
    let owner = Owner::Named(DEFAULT_ACCOUNT.to_owned());
    issue(
        store,
        clock,
        KeyRequest::new(kind, owner, &KeyLimits::default()),
    )
    .unwrap()
}

#[test]
fn a_key_has_the_default_grants_and_limits_of_its_kind() {
    let (_folder, store, clock) = store();
    let test = get(&store, &issued(&store, &clock, KeyKind::Test).key).unwrap();
    assert_eq!(
        test.grants().to_string(),
        "search,refetch,analytics,ai,geocoding"
    );
    let expected = Allowance {
        rate_per_s: 5,
        monthly_quota: Some(10_000),
        estimates_max: 2,
        sql: SqlLimits::default(),
    };
    assert_eq!(test.allowance, expected);
    assert_eq!(test.expires_at, Some(test.created_at + TEST_KEY_TTL));
    let production = get(&store, &issued(&store, &clock, KeyKind::Production).key).unwrap();
    assert!(production.allows(Scope::Alerts, "alerts.list"));
    assert!(!production.allows(Scope::Admin, "admin.usage"));
    let expected = Allowance {
        rate_per_s: 50,
        monthly_quota: None,
        estimates_max: 2,
        sql: SqlLimits::default(),
    };
    assert_eq!(production.allowance, expected);
    assert_eq!(production.expires_at, None);
    assert_eq!(list(&store).unwrap(), [test.clone(), production]);
    assert_eq!(list_for_account(&store, test.account_id).unwrap().len(), 2);
    assert_eq!(list_for_account(&store, Uuid::now_v7()).unwrap(), []);
}

#[test]
fn a_change_affects_only_the_values_it_names() {
    let (_folder, store, clock) = store();
    let id = issued(&store, &clock, KeyKind::Test).key_id.to_string();
    let before = get(&store, &id).unwrap();
    assert_eq!(change(&store, &id, KeyChange::default()).unwrap(), before);
    let more = Grants::parse("alerts.list").unwrap();
    let after = change(
        &store,
        &id,
        KeyChange {
            grants: Some(GrantChange::Add(more)),
            monthly_quota: Some(None),
            ..KeyChange::default()
        },
    )
    .unwrap();
    assert!(
        after.allows(Scope::Alerts, "alerts.list") && after.allows(Scope::Search, "adverts.get")
    );
    assert_eq!(after.allowance.monthly_quota, None);
    assert_eq!(after.allowance.rate_per_s, before.allowance.rate_per_s);
    let only = change(
        &store,
        &id,
        KeyChange {
            grants: Some(GrantChange::Set(more)),
            name: Some("partner".into()),
            ..KeyChange::default()
        },
    )
    .unwrap();
    assert_eq!(only.grants(), more);
    assert_eq!(only.name.as_deref(), Some("partner"));
    assert!(matches!(
        change(&store, "nothing", KeyChange::default()),
        Err(Error::NoKey)
    ));
    revoke(&store, &clock, &id).unwrap();
    assert!(matches!(
        change(&store, &id, KeyChange::default()),
        Err(Error::Revoked)
    ));
}

#[test]
fn a_key_gets_no_expiry_that_is_past() {
    let (_folder, store, clock) = store();
    let id = issued(&store, &clock, KeyKind::Production)
        .key_id
        .to_string();
    clock.advance_ms(60_000);
    let ending = |at| KeyChange {
        expires_at: Some(at),
        ..KeyChange::default()
    };
    let created = get(&store, &id).unwrap().created_at;
    let past = ending(Some(created + chrono::TimeDelta::seconds(30)));
    assert!(matches!(
        require_future_expiry(&past, clock.now()),
        Err(Error::PastExpiry)
    ));
    assert!(require_future_expiry(&past, created).is_ok());
    assert!(require_future_expiry(&ending(None), clock.now()).is_ok());
}

#[test]
fn a_test_key_never_has_admin_grants() {
    let (_folder, store, clock) = store();
    let id = issued(&store, &clock, KeyKind::Test).key_id.to_string();
    for text in ["admin", "search,admin.usage"] {
        let grants = Grants::parse(text).unwrap();
        let new = create(&store, &clock, KeyKind::Test, grants, DEFAULT_ACCOUNT);
        assert!(matches!(new, Err(Error::AdminOnTestKey)), "{text}");
        let grants = Some(GrantChange::Add(grants));
        let changed = change(
            &store,
            &id,
            KeyChange {
                grants,
                ..KeyChange::default()
            },
        );
        assert!(matches!(changed, Err(Error::AdminOnTestKey)), "{text}");
    }
    assert!(!get(&store, &id).unwrap().grants().include_admin());
}

#[test]
fn rotating_replaces_the_text_and_keeps_the_rest() {
    let (_folder, store, clock) = store();
    let old = issued(&store, &clock, KeyKind::Test);
    let before = get(&store, &old.key).unwrap();
    clock.advance_ms(1_000);
    let new = rotate(&store, &clock, &old.key).unwrap();
    assert!(matches!(get(&store, &old.key), Err(Error::NoKey)));
    let after = get(&store, &new.key).unwrap();
    assert_ne!(after.hash, before.hash);
    assert_ne!(after.prefix, before.prefix);
    let same_but_hash = KeyRecord {
        hash: before.hash,
        prefix: before.prefix.clone(),
        ..after
    };
    assert_eq!(same_but_hash, before);
    revoke(&store, &clock, &new.key).unwrap();
    assert!(matches!(
        rotate(&store, &clock, &new.key),
        Err(Error::Ended)
    ));
    let expired = issued(&store, &clock, KeyKind::Test);
    clock.advance_ms(7 * 24 * 3_600_000);
    assert!(matches!(
        rotate(&store, &clock, &expired.key),
        Err(Error::Ended)
    ));
}

#[test]
fn a_key_for_an_unknown_account_is_not_created() {
    let (_folder, store, clock) = store();
    let request = KeyRequest::new(
        KeyKind::Production,
        Owner::Id(Uuid::now_v7()),
        &KeyLimits::default(),
    );
    let result = issue(&store, &clock, request);
    assert!(matches!(
        result,
        Err(Error::Account(account::Error::NoAccount))
    ));
    let request = KeyRequest::new(
        KeyKind::Production,
        Owner::Named(" ".into()),
        &KeyLimits::default(),
    );
    assert!(issue(&store, &clock, request).is_err());
    assert_eq!(list(&store).unwrap(), []);
}
