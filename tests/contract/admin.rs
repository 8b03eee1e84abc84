//! The operators' endpoints: responses and rejections.

use std::time::Duration;

use reqwest::{Method, Response};
use serde_json::{Value, json};
use toise::accounts::DEFAULT_ACCOUNT;
use toise::accounts::account::{credentials, signing_secrets};
use toise::accounts::grants::Grants;
use toise::accounts::key::{KeyKind, KeyRecord};
use toise::accounts::keys;
use toise::http::openapi::admin::component_schemas;
use toise::opendata::report::ImportReport;
use toise::store::Store;
use uuid::Uuid;

use crate::support::assertions::pick;
use crate::support::{Service, error_of};

struct AdminFixture {
    service: Service,
    key: String,
    caller: KeyRecord,
}

impl AdminFixture {
    /// A service and the calling key, with these grants.
    async fn open(grants: &str) -> Self {
        let service = Service::start().await;
        let grants = Grants::parse(grants).unwrap();
        let (store, clock) = (&service.store, &service.clock);
        let new = keys::create(store, clock, KeyKind::Production, grants, DEFAULT_ACCOUNT).unwrap();
        let caller = keys::get(store, &new.key).unwrap();
        Self {
            key: new.key,
            caller,
            service,
        }
    }

    fn store(&self) -> &Store {
        &self.service.store
    }

    async fn ask(&self, method: Method, path: &str, body: impl Into<String>) -> Response {
        self.service
            .keyed(method, &format!("/v2/protected/admin/{path}"), &self.key)
            .body(body.into())
            .send()
            .await
            .unwrap()
    }

    async fn get(&self, path: &str) -> Response {
        self.ask(Method::GET, path, "").await
    }

    async fn create_account(&self, name: &str) -> Response {
        let body = json!({"name": name}).to_string();
        self.ask(Method::POST, "accounts", body).await
    }

    async fn rotate(&self, id: &str) -> Response {
        let path = format!("accounts/{id}/secrets/rotate");
        self.ask(Method::POST, &path, "").await
    }

    async fn create_key(&self, body: Value) -> Response {
        self.ask(Method::POST, "keys", body.to_string()).await
    }

    async fn update_key(&self, id: &str, body: Value) -> Response {
        self.ask(Method::PATCH, &format!("keys/{id}"), body.to_string())
            .await
    }

    async fn revoke_key(&self, id: &str) -> Response {
        self.ask(Method::DELETE, &format!("keys/{id}"), "").await
    }
}

/// The data of a response, after checks that apply to every response.
async fn data(response: Response) -> Value {
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.headers()["cache-control"], "no-store");
    assert_eq!(response.headers()["x-credits"], "0");
    let mut body: Value = response.json().await.unwrap();
    assert_eq!(body.as_object().unwrap().len(), 1);
    body["data"].take()
}

/// Checks that a response has the fields its schema requires and no others than it lists.
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
async fn an_account_shows_its_signing_secret_at_creation_and_rotation_only() {
    let desk = AdminFixture::open("admin").await;
    let created = data(desk.create_account("Agence").await).await;
    conforms("AccountWithSecret", &created);
    assert_eq!(created["created_at"], "2026-11-21T15:00:00.000Z");
    let id = created["account_id"].as_str().unwrap();
    let got = data(desk.get(&format!("accounts/{id}")).await).await;
    conforms("Account", &got);
    assert_eq!(got["webhook_key"], created["webhook_key"]);
    let listed = data(desk.get("accounts").await).await;
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!(listed[1], got);

    let rotated = data(desk.rotate(id).await).await;
    conforms("AccountWithSecret", &rotated);
    assert_ne!(rotated["signing_secret"], created["signing_secret"]);
    assert_eq!(rotated["webhook_key"], created["webhook_key"]);
    let account_id = Uuid::try_parse(id).unwrap();
    let signing = signing_secrets(desk.store(), account_id, desk.service.clock.now()).unwrap();
    let texts: Vec<String> = signing
        .iter()
        .map(|signing| signing.secret.reveal())
        .collect();
    assert_eq!(
        json!(texts),
        json!([rotated["signing_secret"], created["signing_secret"]])
    );

    let again = desk.create_account("Agence").await;
    let message = "name: must be a name that no account has".to_owned();
    assert_eq!(error_of(again).await, (422, 10002, message));
}

#[tokio::test]
async fn a_webhook_key_is_replaced_after_an_overlap() {
    let desk = AdminFixture::open("admin").await;
    let created = data(desk.create_account("Agence").await).await;
    let id = created["account_id"].as_str().unwrap();
    let account_id = Uuid::try_parse(id).unwrap();
    let rotate = async || {
        let path = format!("accounts/{id}/webhook-key/rotate");
        data(desk.ask(Method::POST, &path, "").await).await
    };
    let rotated = rotate().await;
    conforms("Account", &rotated);
    assert_eq!(rotated["webhook_key"], created["webhook_key"]);
    assert_eq!(rotated["next_webhook_key_from"], "2026-11-22T15:00:00.000Z");
    // A second rotation returns the key that will become valid.
    let again = rotate().await;
    assert_eq!(again["webhook_key"], created["webhook_key"]);
    assert_ne!(again["next_webhook_key"], rotated["next_webhook_key"]);
    let carried = || {
        let now = desk.service.clock.now();
        let read = desk
            .store()
            .read(|connection| credentials(connection, account_id, now));
        let (account, _) = read.unwrap().unwrap();
        let next = account.next_webhook_key;
        let next = next.map(|next| next.key.reveal().to_owned());
        json!([account.webhook_key.reveal(), next])
    };
    let (key, next) = (&created["webhook_key"], &again["next_webhook_key"]);
    assert_eq!(carried(), json!([key, next]));
    desk.service.clock.advance_ms(24 * 3_600_000);
    assert_eq!(carried(), json!([next, null]));
    let got = data(desk.get(&format!("accounts/{id}")).await).await;
    assert_eq!(
        pick(&got, ["webhook_key", "next_webhook_key"]),
        json!([next, null])
    );
}

#[tokio::test]
async fn a_key_is_created_shown_once_changed_and_revoked() {
    let desk = AdminFixture::open("admin").await;
    let account = data(desk.create_account("Agence").await).await;
    let account_id = account["account_id"].as_str().unwrap();
    let body = json!({"account_id": account_id, "kind": "test", "grants": ["ai"], "rate": 3});
    let created = data(desk.create_key(body).await).await;
    conforms("NewKey", &created);
    assert_eq!(created["expires_at"], "2026-11-28T15:00:00.000Z");
    assert_eq!(created["monthly_quota"], 10_000);
    let text = created["key"].as_str().unwrap();
    let path = "/v2/protected/consumption";
    let own = desk.service.keyed(Method::GET, path, text);
    let answered = own.send().await.unwrap();
    assert_eq!(answered.status(), 200);

    let id = created["key_id"].as_str().unwrap();
    let change = json!({"grants": ["search", "alerts.list"], "monthly_quota": null, "name": "x"});
    let changed = data(desk.update_key(id, change).await).await;
    conforms("Key", &changed);
    assert_eq!(changed["grants"], json!(["search", "alerts.list"]));
    assert_eq!(pick(&changed, ["rate", "name"]), json!([3, "x"]));
    assert!(changed.get("monthly_quota").is_none() && changed.get("revoked_at").is_none());

    let nulls = json!({
        "grants": null, "rate": null, "max_concurrent_estimates": null, "sql_limits": null, "name": null,
        "expires_at": null, "allowed_from": null,
    });
    assert_eq!(data(desk.update_key(id, nulls).await).await, changed);

    let all = data(desk.get("keys").await).await;
    assert_eq!(all.as_array().unwrap().len(), 3);
    assert!(!all.to_string().contains(text), "a key is listed in full");
    let own = data(desk.get(&format!("keys?account_id={account_id}")).await).await;
    assert_eq!(own, json!([changed]));

    let revoked = data(desk.revoke_key(id).await).await;
    assert_eq!(revoked["revoked_at"], "2026-11-21T15:00:00.000Z");
    desk.service.clock.advance_ms(60_000);
    let again = data(desk.revoke_key(id).await).await;
    assert_eq!(again["revoked_at"], revoked["revoked_at"]);
}

#[tokio::test]
async fn a_key_without_an_account_belongs_to_the_default_one() {
    let desk = AdminFixture::open("admin").await;
    let created = data(desk.create_key(json!({"kind": "production"})).await).await;
    assert_eq!(created["account_id"], json!(desk.caller.account_id));
    assert_eq!(created["rate"], 50);
    assert!(created.get("monthly_quota").is_none() && created.get("expires_at").is_none());
}

#[tokio::test]
async fn an_unknown_record_is_404_and_a_fault_is_422_with_its_path() {
    let desk = AdminFixture::open("admin").await;
    let other = Uuid::now_v7().to_string();
    for id in [other.as_str(), "7", ""] {
        assert_eq!(
            error_of(desk.get(&format!("accounts/{id}")).await).await.0,
            404
        );
        assert_eq!(error_of(desk.rotate(id).await).await.0, 404);
        assert_eq!(error_of(desk.revoke_key(id).await).await.0, 404);
        assert_eq!(error_of(desk.update_key(id, json!({})).await).await.0, 404);
    }
    let unknown = desk
        .create_key(json!({"kind": "test", "account_id": other}))
        .await;
    let message = "account_id: must be the id of an account".to_owned();
    assert_eq!(error_of(unknown).await, (422, 10002, message));
    let admin = desk
        .create_key(json!({"kind": "test", "grants": ["ai", "admin"]}))
        .await;
    let message = "grants[1]: must not be admin or one of its endpoints on a test key".to_owned();
    assert_eq!(error_of(admin).await, (422, 10002, message));
    let not_json = desk.ask(Method::POST, "accounts", "{").await;
    assert_eq!(error_of(not_json).await.0, 400);
    for query in ["from_date=yesterday", "to_date=2024-02-30", "day=1"] {
        assert_eq!(
            error_of(desk.get(&format!("usage?{query}")).await).await.0,
            422,
            "{query}"
        );
    }
    assert_eq!(error_of(desk.get("keys?account_id=7").await).await.0, 422);
}

#[tokio::test]
async fn a_key_with_single_admin_endpoints_gives_only_what_it_holds() {
    let desk = AdminFixture::open("search,admin.keys.create,admin.keys.update").await;
    let created = data(
        desk.create_key(json!({"kind": "production", "grants": ["properties.search"]}))
            .await,
    )
    .await;
    let id = created["key_id"].as_str().unwrap();
    for grant in ["admin", "admin.usage", "ai", "alerts.list"] {
        let new = desk
            .create_key(json!({"kind": "production", "grants": [grant]}))
            .await;
        assert_eq!(error_of(new).await.0, 403, "{grant}");
        let changed = desk.update_key(id, json!({"grants": [grant]})).await;
        assert_eq!(error_of(changed).await.0, 403, "{grant}");
    }
    // A change that only lowers the rate of a key with more rights.
    let stronger = desk
        .service
        .new_key(KeyKind::Production, "admin", DEFAULT_ACCOUNT);
    let id = stronger.key_id.to_string();
    for change in [json!({"rate": 1}), json!({"grants": ["search"]})] {
        let changed = desk.update_key(&id, change.clone()).await;
        assert_eq!(error_of(changed).await.0, 403, "{change}");
    }
    let kept = keys::get(desk.store(), &stronger.key).unwrap();
    assert_eq!(kept.grants(), Grants::parse("admin").unwrap());
    assert_ne!(kept.allowance.rate_per_s, 1);
}

#[tokio::test]
async fn a_production_key_ends_when_it_expires_and_its_end_can_be_moved() {
    let desk = AdminFixture::open("admin").await;
    let asked = json!({"kind": "production", "expires_at": "2026-11-21T16:00:00Z"});
    let created = data(desk.create_key(asked).await).await;
    assert_eq!(created["expires_at"], "2026-11-21T16:00:00.000Z");
    let id = created["key_id"].as_str().unwrap();
    let status = async || {
        let (path, key) = (
            "/v2/protected/consumption",
            created["key"].as_str().unwrap(),
        );
        let own = desk.service.keyed(Method::GET, path, key);
        own.send().await.unwrap().status().as_u16()
    };
    assert_eq!(status().await, 200);
    let later = json!({"expires_at": "2026-11-21T17:00:00Z"});
    let changed = data(desk.update_key(id, later).await).await;
    assert_eq!(changed["expires_at"], "2026-11-21T17:00:00.000Z");
    // A server applies a change within a second.
    tokio::time::sleep(Duration::from_millis(900)).await;
    desk.service.clock.advance_ms(90 * 60_000);
    assert_eq!(status().await, 200);
    desk.service.clock.advance_ms(31 * 60_000);
    assert_eq!(status().await, 401);
}

#[tokio::test]
async fn a_server_that_has_ended_has_written_when_its_keys_were_last_used() {
    let mut desk = AdminFixture::open("admin").await;
    desk.service.clock.advance_ms(5_000);
    assert_eq!(desk.get("keys").await.status(), 200);
    desk.service.stop().await.unwrap();
    let used = keys::get(desk.store(), &desk.key).unwrap().last_used_at;
    assert_eq!(used, Some(desk.service.clock.now()));
    let unused = keys::get(desk.store(), &desk.service.key).unwrap();
    assert_eq!(unused.last_used_at, None);
}

#[tokio::test]
async fn usage_reports_the_consumption_of_every_account_by_day() {
    let desk = AdminFixture::open("admin").await;
    let quiet = data(desk.create_account("quiet").await).await;
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
    let month = data(desk.get("usage").await).await;
    let consumed = json!([{"type": "API_ADVERTS_CHECK", "credits": 5, "calls": 6}]);
    let expected = json!([
        {"account_id": account_id, "name": "default", "total_credits": 5, "consumption_per_type": consumed},
        {"account_id": quiet["account_id"], "name": "quiet", "total_credits": 0, "consumption_per_type": []},
    ]);
    assert_eq!(month, expected);
    conforms("AccountUsage", &month[0]);
    conforms("TypeUsage", &month[0]["consumption_per_type"][0]);
    let days = "from_date=2026-10-31&to_date=2026-11-01T10%3A00%3A00%2B01:00";
    assert_eq!(
        data(desk.get(&format!("usage?{days}")).await).await[0]["total_credits"],
        9
    );
}

#[tokio::test]
async fn findings_about_the_data_folder_name_the_command_that_helps() {
    let desk = AdminFixture::open("admin.findings").await;
    let found = data(desk.get("findings").await).await;
    let found = found.as_array().unwrap();
    for finding in found {
        conforms("Finding", finding);
    }
    let command = |message: &str| {
        let mut named = found.iter().filter(|one| one["message"] == message);
        named.next().unwrap()["command"].as_str().unwrap()
    };
    let folder = desk.store().folder().display().to_string();
    assert_eq!(
        command("no sales, diagnostics or addresses: import those of a department"),
        format!("toise start --departments 48 --data {folder}")
    );
    assert_eq!(
        command("no backup is known"),
        format!("toise backup ./backup-2026-11-21.tar --data {folder}")
    );
}

#[tokio::test]
async fn reports_of_imports_come_newest_first_and_a_model_is_told_or_missing() {
    let desk = AdminFixture::open("admin.reports,admin.model").await;
    assert_eq!(data(desk.get("reports").await).await, json!([]));
    let folder = desk.store().folder().to_owned();
    for (table, moment) in [
        ("dvf", "2026-11-20T10:00:00.000Z"),
        ("dpe", "2026-11-21T10:00:00.000Z"),
    ] {
        let report = ImportReport {
            table,
            started_at: moment.into(),
            rows_read: 12,
            ..ImportReport::default()
        };
        report.write(&folder).unwrap();
    }
    let listed = data(desk.get("reports").await).await;
    for report in listed.as_array().unwrap() {
        conforms("OperationReport", report);
    }
    assert_eq!(listed[0]["name"], "import-dpe-20261121T100000000Z");
    assert_eq!(listed[1]["report"]["rows_read"], 12);
    let second = data(desk.get("reports?skip=1&take=1").await).await;
    assert_eq!(second[0]["report"]["table"], "dvf");
    assert_eq!(desk.get("reports?take=0").await.status(), 422);

    let told = data(desk.get("model").await).await;
    conforms("ModelInUse", &told);
    assert_eq!(told, json!({"model": null, "report_card": null}));
    let cards = folder.join("models/reports");
    std::fs::create_dir_all(&cards).unwrap();
    std::fs::write(cards.join("estimate-without-city.json"), "{\"places\": []}").unwrap();
    std::fs::write(
        cards.join("estimate-2025.json"),
        "{\"segments\": [], \"coverage\": 0.8}",
    )
    .unwrap();
    let told = data(desk.get("model").await).await;
    assert_eq!(told["report_card"]["name"], "estimate-2025");
    assert_eq!(told["report_card"]["report"]["coverage"], 0.8);
    // A grant of a single endpoint allows no other endpoint.
    assert_eq!(desk.get("jobs").await.status(), 403);
}

#[tokio::test]
async fn jobs_of_collection_are_listed_newest_first() {
    let desk = AdminFixture::open("admin.jobs").await;
    let account = desk.caller.account_id;
    let now_ms = desk.service.clock.now().timestamp_millis();
    desk.store()
        .write(move |transaction| {
            for (nth, url) in ["https://portal.example/1", "https://portal.example/2"].into_iter().enumerate() {
                transaction.execute(
                    "INSERT INTO jobs (job_id, account_id, kind, url, host, url_digest, created_at_ms, due_at_ms, attempts)
                     VALUES (?1, ?2, 'url', ?3, 'portal.example', ?4, ?5, ?5, 0)",
                    (Uuid::now_v7().as_bytes(), account.as_bytes(), url, [nth as u8; 32], now_ms),
                )?;
            }
            Ok(())
        })
        .unwrap();
    let listed = data(desk.get("jobs").await).await;
    assert_eq!(listed.as_array().unwrap().len(), 2);
    for job in listed.as_array().unwrap() {
        conforms("Job", job);
    }
    assert_eq!(listed[0]["url"], "https://portal.example/2");
    let second = data(desk.get("jobs?skip=1").await).await;
    assert_eq!(second[0]["url"], "https://portal.example/1");
    assert_eq!(data(desk.get("jobs?skip=5").await).await, json!([]));
}

#[tokio::test]
async fn metrics_are_for_operators_wherever_they_call_from() {
    let desk = AdminFixture::open("admin").await;
    let response = desk.get("metrics").await;
    assert_eq!(response.status(), 200);
    assert!(
        response.headers()["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/plain")
    );
    let metrics = response.text().await.unwrap();
    assert!(metrics.contains("toise_ready"), "{metrics}");
    let modest = AdminFixture::open("search").await;
    assert_eq!(modest.get("metrics").await.status(), 403);
}
