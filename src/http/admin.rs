//! The operators' endpoints: accounts, their secrets, keys, consumption, alerts and dead letters. The command line does
//! the same.
//!
//! Each handler waits for the store on a blocking thread. A key that holds the scope `admin` may hand out anything; one
//! that holds single endpoints of it may not hand out more of them, else `admin.keys.create` would be `admin`.

use serde_json::{Value, json};
use uuid::Uuid;
use warp::http::header::{CACHE_CONTROL, HeaderValue};

use super::answer::Answer;
use super::error::ApiError;
use super::listings;
use super::opendata::read_json;
use super::pipeline::Call;
use super::routes::AdminAction;
use toise_accounts::account::{self, Account};
use toise_accounts::answers::{account_answer, account_usage_answer, key_answer};
use toise_accounts::grants::Grants;
use toise_accounts::key::{GrantChange, Owner};
use toise_accounts::keys;
use toise_accounts::requests::{
    parse_account, parse_key, parse_key_change, parse_key_list, parse_period,
};
use toise_accounts::scopes::Scope;
use toise_accounts::signing::SigningSecret;
use toise_accounts::usage::{self, Consumer};
use toise_alerts::request::queries::{parse_alert_list, parse_page};
use toise_alerts::{deliveries, overview};
use toise_base::clock::Clock;
use toise_contract::Fault;
use toise_contract::listings::codes::FlxId;
use toise_contract::query::pairs;
use toise_store::Store;

/// Answers what an operator asks.
pub async fn answer(call: &Call<'_>, action: AdminAction) -> Result<Answer, ApiError> {
    match action {
        AdminAction::TakeAdverts => listings::adverts_take(call).await,
        AdminAction::ListAccounts => accounts_list(call).await,
        AdminAction::CreateAccount => accounts_create(call).await,
        AdminAction::GetAccount => accounts_get(call).await,
        AdminAction::RotateSecret => secrets_rotate(call).await,
        AdminAction::ListKeys => keys_list(call).await,
        AdminAction::CreateKey => keys_create(call).await,
        AdminAction::UpdateKey => keys_update(call).await,
        AdminAction::RevokeKey => keys_revoke(call).await,
        AdminAction::Usage => usage(call).await,
        AdminAction::ListAlerts => alerts_list(call).await,
        AdminAction::GetAlert => alerts_get(call).await,
        AdminAction::ListDeadLetters => dead_letters_list(call).await,
        AdminAction::RetryDeadLetter => dead_letters_retry(call).await,
    }
}

/// `GET /v2/protected/admin/accounts`: every account, oldest first.
async fn accounts_list(call: &Call<'_>) -> Result<Answer, ApiError> {
    on_store(call, |store, _| {
        let accounts = account::list(store)?;
        let answers = accounts
            .iter()
            .map(|account| account_answer(account, None))
            .collect();
        Ok(Value::Array(answers))
    })
    .await
}

/// `POST /v2/protected/admin/accounts`: makes an account and tells its signing secret.
async fn accounts_create(call: &Call<'_>) -> Result<Answer, ApiError> {
    let body = call.body.clone();
    on_store(call, move |store, clock| {
        let name = parse_account(&read_json(&body)?)?;
        Ok(told(account::create(store, clock, &name)?))
    })
    .await
}

/// `GET /v2/protected/admin/accounts/{accountId}`: one account.
async fn accounts_get(call: &Call<'_>) -> Result<Answer, ApiError> {
    let account_id = path_id(call.param(0))?;
    on_store(call, move |store, _| {
        Ok(account_answer(&account::get(store, account_id)?, None))
    })
    .await
}

/// `POST /v2/protected/admin/accounts/{accountId}/secrets/rotate`: replaces the signing secret and tells the new one.
async fn secrets_rotate(call: &Call<'_>) -> Result<Answer, ApiError> {
    let account_id = path_id(call.param(0))?;
    on_store(call, move |store, clock| {
        Ok(told(account::rotate_secret(store, clock, account_id)?))
    })
    .await
}

/// `GET /v2/protected/admin/keys`: every key, or one account's, oldest first.
async fn keys_list(call: &Call<'_>) -> Result<Answer, ApiError> {
    let account_id = parse_key_list(&pairs(call.query)?)?;
    on_store(call, move |store, _| {
        let records = match account_id {
            None => keys::list(store),
            Some(account_id) => keys::list_of(store, account_id),
        };
        let records = records.map_err(ApiError::internal)?;
        let answers = records.iter().map(|record| key_answer(record, None));
        Ok(Value::Array(answers.collect()))
    })
    .await
}

/// `POST /v2/protected/admin/keys`: makes a key and tells its text.
async fn keys_create(call: &Call<'_>) -> Result<Answer, ApiError> {
    let caller_scope = call.key()?.scopes.contains(Scope::Admin);
    let (body, limits) = (call.body.clone(), call.app.limits);
    on_store(call, move |store, clock| {
        let request = parse_key(&read_json(&body)?, &limits)?;
        if let Some(grants) = request.grants {
            refuse_more_than_held(caller_scope, grants)?;
        }
        let by_id = matches!(request.owner, Owner::Id(_));
        let new = keys::make(store, clock, request).map_err(|error| match error {
            keys::Error::Account(account::Error::NoAccount) if by_id => {
                Fault::new("account_id", "must be the id of an account").into()
            }
            error => ApiError::from(error),
        })?;
        let record = keys::get(store, &new.key)?;
        Ok(key_answer(&record, Some(&new.key)))
    })
    .await
}

/// `PATCH /v2/protected/admin/keys/{keyId}`: changes grants, limits or name.
async fn keys_update(call: &Call<'_>) -> Result<Answer, ApiError> {
    let key_id = path_id(call.param(0))?.to_string();
    let caller_scope = call.key()?.scopes.contains(Scope::Admin);
    let body = call.body.clone();
    on_store(call, move |store, _| {
        let body = read_json(&body)?;
        let kind = keys::get(store, &key_id)?.kind;
        let change = parse_key_change(&body, kind)?;
        if let Some(GrantChange::Set(grants) | GrantChange::Add(grants)) = change.grants {
            refuse_more_than_held(caller_scope, grants)?;
        }
        let record = keys::change(store, &key_id, change)?;
        Ok(key_answer(&record, None))
    })
    .await
}

/// `DELETE /v2/protected/admin/keys/{keyId}`: revokes a key.
async fn keys_revoke(call: &Call<'_>) -> Result<Answer, ApiError> {
    let key_id = path_id(call.param(0))?.to_string();
    on_store(call, move |store, clock| {
        keys::revoke(store, clock, &key_id)?;
        Ok(key_answer(&keys::get(store, &key_id)?, None))
    })
    .await
}

/// `GET /v2/protected/admin/usage`: consumption of every account, those that consumed nothing included.
async fn usage(call: &Call<'_>) -> Result<Answer, ApiError> {
    let today = call.app.clock.now().date_naive();
    let period = parse_period(&pairs(call.query)?, today)?;
    on_store(call, move |store, _| {
        let accounts = account::list(store)?;
        let parts = usage::by_key(store, Consumer::All, period).map_err(ApiError::internal)?;
        let answers = accounts.iter().map(|account| {
            let own = parts
                .iter()
                .filter(|part| part.account_id == account.account_id);
            account_usage_answer(account, &usage::by_type(own))
        });
        Ok(Value::Array(answers.collect()))
    })
    .await
}

/// `GET /v2/protected/admin/alerts`: alerts of every account, or one's, newest first.
async fn alerts_list(call: &Call<'_>) -> Result<Answer, ApiError> {
    let (account_id, page) = parse_alert_list(&pairs(call.query)?)?;
    on_store(call, move |store, _| {
        let alerts = overview::list(store, account_id, page).map_err(ApiError::internal)?;
        Ok(alerts.iter().map(overview::answer).collect())
    })
    .await
}

/// `GET /v2/protected/admin/alerts/{alertId}`: an alert of any account, and how it goes with it.
async fn alerts_get(call: &Call<'_>) -> Result<Answer, ApiError> {
    let id = FlxId(path_id(call.param(0))?);
    on_store(call, move |store, _| {
        let found = overview::show(store, id).map_err(ApiError::internal)?;
        Ok(found.ok_or(ApiError::NotFound("alert"))?.answer())
    })
    .await
}

/// `GET /v2/protected/admin/alerts/dead-letters`: deliveries that were given up, newest first.
async fn dead_letters_list(call: &Call<'_>) -> Result<Answer, ApiError> {
    let page = parse_page(&pairs(call.query)?)?;
    on_store(call, move |store, _| {
        let dead = deliveries::dead(store, page).map_err(ApiError::internal)?;
        Ok(json!(dead))
    })
    .await
}

/// `POST /v2/protected/admin/alerts/dead-letters/{deliveryId}/retry`: has one sent again, under its identifier.
async fn dead_letters_retry(call: &Call<'_>) -> Result<Answer, ApiError> {
    let id = path_id(call.param(0))?;
    on_store(call, move |store, clock| {
        deliveries::retry(store, clock, id)?;
        Ok(json!({ "delivery_id": id }))
    })
    .await
}

/// Runs a job that waits for the store, and wraps what it answers. Answers hold secrets: nobody is to keep them.
async fn on_store(
    call: &Call<'_>,
    job: impl FnOnce(&Store, &Clock) -> Result<Value, ApiError> + Send + 'static,
) -> Result<Answer, ApiError> {
    let (store, clock) = (call.app.store.clone(), call.app.clock.clone());
    let data = tokio::task::spawn_blocking(move || job(&store, &clock))
        .await
        .map_err(ApiError::internal)??;
    let mut answer = Answer::json(json!({"data": data}).to_string());
    answer
        .response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

fn told((account, secret): (Account, SigningSecret)) -> Value {
    account_answer(&account, Some(&secret))
}

/// An id in a path; what is none names nothing there is.
fn path_id(text: &str) -> Result<Uuid, ApiError> {
    Uuid::try_parse(text).map_err(|_| ApiError::NotFound("record"))
}

fn refuse_more_than_held(caller_scope: bool, grants: Grants) -> Result<(), ApiError> {
    if grants.hold_admin() && !caller_scope {
        return Err(ApiError::Forbidden {
            scope: Scope::Admin,
            endpoint: "admin",
        });
    }
    Ok(())
}

impl From<account::Error> for ApiError {
    fn from(error: account::Error) -> Self {
        match error {
            account::Error::Store(error) => error.into(),
            account::Error::BadName => Fault::new("name", account::NAME_RULE).into(),
            account::Error::NameTaken => Fault::new("name", "must be a name no account has").into(),
            account::Error::NoAccount => ApiError::NotFound("account"),
        }
    }
}

impl From<deliveries::Error> for ApiError {
    fn from(error: deliveries::Error) -> Self {
        match error {
            deliveries::Error::Store(error) => error.into(),
            deliveries::Error::NoDelivery => ApiError::NotFound("delivery"),
            deliveries::Error::NotDead(_) | deliveries::Error::Inactive => {
                Fault::new("deliveryId", error.to_string()).into()
            }
        }
    }
}

impl From<keys::Error> for ApiError {
    fn from(error: keys::Error) -> Self {
        match error {
            keys::Error::Store(error) => error.into(),
            keys::Error::Account(error) => error.into(),
            keys::Error::NoKey => ApiError::NotFound("key"),
            keys::Error::Revoked => ApiError::NotFound("working key"),
            keys::Error::Ended => Fault::new("key", error.to_string()).into(),
            keys::Error::AdminOnTestKey => Fault::new("grants", error.to_string()).into(),
        }
    }
}
