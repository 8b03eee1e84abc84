//! The operators' endpoints as handlers: what they answer and what they refuse.

use std::sync::Arc;

use bytes::Bytes;
use chrono::{TimeZone, Utc};
use serde_json::{Value, json};
use uuid::Uuid;
use warp::http::Response;

use super::App;
use super::admin::{
    accounts_create, accounts_get, accounts_list, keys_create, keys_list, keys_revoke, keys_update,
    secrets_rotate, usage,
};
use super::error::ApiError;
use super::openapi_admin::component_schemas;
use crate::accounts::DEFAULT_ACCOUNT;
use crate::accounts::account::signing_secrets;
use crate::accounts::grants::Grants;
use crate::accounts::keys::{self, KeyRecord, Kind};
use crate::cli::serve;
use crate::clock::Clock;
use crate::engine::Budget;
use crate::opendata::OpenData;
use crate::store::Store;

struct Desk {
    app: App,
    clock: Clock,
    caller: KeyRecord,
    _folder: tempfile::TempDir,
}

impl Desk {
    /// A service and the key that asks, with these grants.
    fn open(grants: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let clock = Clock::steered(Utc.with_ymd_and_hms(2026, 11, 21, 15, 0, 0).unwrap());
        let open_data = OpenData::open(folder.path(), Budget::default()).unwrap();
        let app = serve::app(&store, Arc::new(open_data), &clock).unwrap();
        let grants = Grants::parse(grants).unwrap();
        let new = keys::create(&store, &clock, Kind::Production, grants, DEFAULT_ACCOUNT).unwrap();
        let caller = keys::get(&store, &new.key).unwrap();
        Self {
            app,
            clock,
            caller,
            _folder: folder,
        }
    }

    fn store(&self) -> &Store {
        self.app.verifier.store()
    }

    async fn create_key(&self, body: Value) -> Result<Response<Bytes>, ApiError> {
        keys_create(&self.app, &self.caller, bytes(&body)).await
    }

    async fn update_key(&self, id: &str, body: Value) -> Result<Response<Bytes>, ApiError> {
        keys_update(&self.app, &self.caller, id, bytes(&body)).await
    }
}

fn bytes(body: &Value) -> Bytes {
    Bytes::from(body.to_string())
}

/// What an answer holds, after checking what every answer has.
fn data(answer: Result<Response<Bytes>, ApiError>) -> Value {
    let response = answer.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.headers()["cache-control"], "no-store");
    let mut body: Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(body.as_object().unwrap().len(), 1);
    body["data"].take()
}

/// Status, code and message of a refusal.
fn refusal(answer: Result<Response<Bytes>, ApiError>) -> (u16, u32, String) {
    let error = answer.unwrap_err();
    let (status, code) = error.status_and_code();
    (status.as_u16(), code, error.to_string())
}

/// Checks that an answer has the fields its schema requires and no others than it names.
fn conforms(schema: &str, answer: &Value) {
    let schema = &component_schemas()[schema];
    let answer = answer.as_object().unwrap();
    for field in schema["required"].as_array().unwrap() {
        assert!(answer.contains_key(field.as_str().unwrap()), "{field}");
    }
    for field in answer.keys() {
        assert!(schema["properties"].get(field).is_some(), "{field}");
    }
}

#[tokio::test]
async fn an_account_tells_its_signing_secret_at_creation_and_rotation_only() {
    let desk = Desk::open("admin");
    let made = data(accounts_create(&desk.app, bytes(&json!({"name": "Agence"}))).await);
    conforms("AccountWithSecret", &made);
    assert_eq!(made["created_at"], "2026-11-21T15:00:00.000Z");
    let id = made["account_id"].as_str().unwrap();
    let got = data(accounts_get(&desk.app, id).await);
    conforms("Account", &got);
    assert_eq!(got["webhook_key"], made["webhook_key"]);
    let listed = data(accounts_list(&desk.app).await);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!(listed[1], got);

    let rotated = data(secrets_rotate(&desk.app, id).await);
    conforms("AccountWithSecret", &rotated);
    assert_ne!(rotated["signing_secret"], made["signing_secret"]);
    assert_eq!(rotated["webhook_key"], made["webhook_key"]);
    let account_id = Uuid::try_parse(id).unwrap();
    let signing = signing_secrets(desk.store(), account_id, desk.clock.now()).unwrap();
    let texts: Vec<String> = signing
        .iter()
        .map(|signing| signing.secret.reveal())
        .collect();
    assert_eq!(
        json!(texts),
        json!([rotated["signing_secret"], made["signing_secret"]])
    );

    let again = accounts_create(&desk.app, bytes(&json!({"name": "Agence"}))).await;
    let message = "name: must be a name no account has".to_owned();
    assert_eq!(refusal(again), (422, 10002, message));
}

#[tokio::test]
async fn a_key_is_made_shown_once_changed_and_revoked() {
    let desk = Desk::open("admin");
    let account = data(accounts_create(&desk.app, bytes(&json!({"name": "Agence"}))).await);
    let account_id = account["account_id"].as_str().unwrap();
    let body = json!({"account_id": account_id, "kind": "test", "grants": ["ai"], "rate": 3});
    let made = data(desk.create_key(body).await);
    conforms("NewKey", &made);
    assert_eq!(made["expires_at"], "2026-11-28T15:00:00.000Z");
    assert_eq!(made["monthly_quota"], 10_000);
    let text = made["key"].as_str().unwrap();
    assert!(desk.app.verifier.verify(text).unwrap().is_some());

    let id = made["key_id"].as_str().unwrap();
    let change = json!({"grants": ["search", "alerts.list"], "monthly_quota": null, "name": "x"});
    let changed = data(desk.update_key(id, change).await);
    conforms("Key", &changed);
    assert_eq!(changed["grants"], json!(["search", "alerts.list"]));
    assert_eq!(
        (&changed["rate"], &changed["name"]),
        (&json!(3), &json!("x"))
    );
    assert!(changed.get("monthly_quota").is_none() && changed.get("revoked_at").is_none());

    let all = data(keys_list(&desk.app, "").await);
    assert_eq!(all.as_array().unwrap().len(), 2);
    assert!(!all.to_string().contains(text), "a key is listed in full");
    let own = data(keys_list(&desk.app, &format!("account_id={account_id}")).await);
    assert_eq!(own, json!([changed]));

    let revoked = data(keys_revoke(&desk.app, id).await);
    assert_eq!(revoked["revoked_at"], "2026-11-21T15:00:00.000Z");
    desk.clock.advance_ms(60_000);
    let again = data(keys_revoke(&desk.app, id).await);
    assert_eq!(again["revoked_at"], revoked["revoked_at"]);
}

#[tokio::test]
async fn a_key_without_an_account_belongs_to_the_default_one() {
    let desk = Desk::open("admin");
    let made = data(desk.create_key(json!({"kind": "production"})).await);
    assert_eq!(made["account_id"], json!(desk.caller.account_id));
    assert_eq!(made["rate"], 50);
    assert!(made.get("monthly_quota").is_none() && made.get("expires_at").is_none());
}

#[tokio::test]
async fn what_is_not_there_is_404_and_what_is_wrong_is_422_by_its_path() {
    let desk = Desk::open("admin");
    let other = Uuid::now_v7().to_string();
    for id in [other.as_str(), "7", ""] {
        assert_eq!(refusal(accounts_get(&desk.app, id).await).0, 404);
        assert_eq!(refusal(secrets_rotate(&desk.app, id).await).0, 404);
        assert_eq!(refusal(keys_revoke(&desk.app, id).await).0, 404);
        assert_eq!(refusal(desk.update_key(id, json!({})).await).0, 404);
    }
    let unknown = desk
        .create_key(json!({"kind": "test", "account_id": other}))
        .await;
    let message = "account_id: must be the id of an account".to_owned();
    assert_eq!(refusal(unknown), (422, 10002, message));
    let admin = desk
        .create_key(json!({"kind": "test", "grants": ["ai", "admin"]}))
        .await;
    let message = "grants[1]: must not be admin or one of its endpoints on a test key".to_owned();
    assert_eq!(refusal(admin), (422, 10002, message));
    let not_json = accounts_create(&desk.app, Bytes::from_static(b"{")).await;
    assert_eq!(refusal(not_json).0, 400);
    for query in ["from_date=yesterday", "to_date=2024-02-30", "day=1"] {
        assert_eq!(refusal(usage(&desk.app, query).await).0, 422, "{query}");
    }
    assert_eq!(refusal(keys_list(&desk.app, "account_id=7").await).0, 422);
}

#[tokio::test]
async fn a_key_with_single_endpoints_of_admin_hands_out_no_more_of_them() {
    let desk = Desk::open("search,admin.keys.create,admin.keys.update");
    let made = data(
        desk.create_key(json!({"kind": "production", "grants": ["ai"]}))
            .await,
    );
    let id = made["key_id"].as_str().unwrap();
    for grant in ["admin", "admin.usage"] {
        let new = desk
            .create_key(json!({"kind": "production", "grants": [grant]}))
            .await;
        assert_eq!(refusal(new).0, 403, "{grant}");
        let changed = desk.update_key(id, json!({"grants": [grant]})).await;
        assert_eq!(refusal(changed).0, 403, "{grant}");
    }
}

#[tokio::test]
async fn usage_tells_every_accounts_consumption_to_the_day() {
    let desk = Desk::open("admin");
    let quiet = data(accounts_create(&desk.app, bytes(&json!({"name": "quiet"}))).await);
    let (account_id, key_id) = (desk.caller.account_id, desk.caller.key_id);
    desk.store()
        .write(move |transaction| {
            for (day, credits, calls) in [
                ("2026-10-31", 7, 7),
                ("2026-11-01", 2, 2),
                ("2026-11-30", 3, 4),
            ] {
                transaction.execute(
                    "INSERT INTO consumption (account_id, key_id, type, day, credits, calls)
                     VALUES (?1, ?2, 'API_ADVERTS_CHECK', ?3, ?4, ?5)",
                    (
                        account_id.to_string(),
                        key_id.to_string(),
                        day,
                        credits,
                        calls,
                    ),
                )?;
            }
            Ok(())
        })
        .unwrap();
    let month = data(usage(&desk.app, "").await);
    let consumed = json!([{"type": "API_ADVERTS_CHECK", "credits": 5, "calls": 6}]);
    let expected = json!([
        {"account_id": account_id, "name": "default", "total_credits": 5, "consumption_per_type": consumed},
        {"account_id": quiet["account_id"], "name": "quiet", "total_credits": 0, "consumption_per_type": []},
    ]);
    assert_eq!(month, expected);
    conforms("AccountUsage", &month[0]);
    conforms("TypeUsage", &month[0]["consumption_per_type"][0]);
    let days = "from_date=2026-10-31&to_date=2026-11-01T10%3A00%3A00%2B01:00";
    assert_eq!(data(usage(&desk.app, days).await)[0]["total_credits"], 9);
}
