//! Accounts and their signing secrets.

use serde_json::Value;

use super::{on_store, operator};
use crate::endpoint::call::{Call, read_json};
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Endpoint, JSON_BODY, endpoints};
use crate::openapi::admin::{data_list_of, data_of};
use crate::openapi::{Operation, reference};
use toise_accounts::account::{self, Account, SECRET_OVERLAP};
use toise_accounts::json::account_json;
use toise_accounts::requests::parse_account;
use toise_accounts::signing::SigningSecret;
use toise_service::error::ApiError;

/// Operators' endpoints for accounts.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v2/protected/admin/accounts", operator("admin.accounts.list"), ReadsOnWriter, list(call)
        .with_operation(|| {
            Operation::new("accountsList", "All accounts, oldest first")
                .with_response(data_list_of("Account"))
        });
    POST "/v2/protected/admin/accounts", operator("admin.accounts.create"), Administers, create(call)
        .with_body(JSON_BODY)
        .with_operation(|| {
            Operation::new("accountsCreate", "Create an account")
                .with_request(reference("AccountRequest"))
                .with_response(data_of("AccountWithSecret"))
        });
    GET "/v2/protected/admin/accounts/{accountId}", operator("admin.accounts.get"), ReadsOnWriter, get(call)
        .with_operation(|| {
            Operation::new("accountsGet", "One account").with_response(data_of("Account"))
        });
    POST "/v2/protected/admin/accounts/{accountId}/secrets/rotate",
        operator("admin.secrets.rotate"), Administers, rotate_secret(call)
        .with_operation(|| {
            Operation::new("secretsRotate", "Replace an account's signing secret")
                .with_response(data_of("AccountWithSecret"))
        });
    POST "/v2/protected/admin/accounts/{accountId}/webhook-key/rotate",
        operator("admin.webhook_keys.rotate"), Administers, rotate_webhook_key(call)
        .with_operation(|| {
            Operation::new("webhookKeysRotate", "Replace an account's webhook key")
                .with_description(
                    "The new key replaces the current one after 24 hours. Until then deliveries carry the current \
                     key in `x-webhook-key` and the new one in `x-webhook-key-next`",
                )
                .with_response(data_of("Account"))
        });
};

/// `GET /v2/protected/admin/accounts`: every account, oldest first.
async fn list(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    on_store(call, |store, clock| {
        let accounts = account::list(store)?.into_iter();
        let answers = accounts
            .map(|account| account_json(&account.at(clock.now()), None))
            .collect();
        Ok(Value::Array(answers))
    })
    .await
}

/// `POST /v2/protected/admin/accounts`: creates an account and returns its signing secret.
async fn create(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let (body, id) = (call.body.clone(), call.new_id());
    on_store(call, move |store, clock| {
        let name = parse_account(&read_json(&body)?)?;
        Ok(with_secret(account::create(store, clock, &name, id)?))
    })
    .await
}

/// `GET /v2/protected/admin/accounts/{accountId}`: one account.
async fn get(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let account_id = call.uuid()?;
    on_store(call, move |store, clock| {
        let account = account::get(store, account_id)?.at(clock.now());
        Ok(account_json(&account, None))
    })
    .await
}

/// `POST /v2/protected/admin/accounts/{accountId}/secrets/rotate`: replaces the signing secret and returns the new
/// one.
async fn rotate_secret(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let account_id = call.uuid()?;
    on_store(call, move |store, clock| {
        Ok(with_secret(account::rotate_secret(
            store, clock, account_id,
        )?))
    })
    .await
}

/// `POST /v2/protected/admin/accounts/{accountId}/webhook-key/rotate`: begins to replace the webhook key.
async fn rotate_webhook_key(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let account_id = call.uuid()?;
    on_store(call, move |store, clock| {
        let rotated = account::rotate_webhook_key(store, clock, account_id, SECRET_OVERLAP)?;
        Ok(account_json(&rotated, None))
    })
    .await
}

fn with_secret((account, secret): (Account, SigningSecret)) -> Value {
    account_json(&account, Some(&secret))
}
