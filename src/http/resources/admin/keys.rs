//! Creating, listing, changing and revoking keys.

use serde_json::Value;

use super::rights::require;
use super::{on_store, operator};
use crate::endpoint::call::{Call, read_json};
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Endpoint, JSON_BODY, endpoints};
use crate::openapi::admin::{data_list_of, data_of};
use crate::openapi::{Operation, reference};
use toise_accounts::account;
use toise_accounts::grants::Grants;
use toise_accounts::json::key_json;
use toise_accounts::key::{GrantChange, KeyRequest, Owner};
use toise_accounts::keys;
use toise_accounts::requests::{KEY_LIST, parse_key, parse_key_change, parse_key_list};
use toise_contract::Fault;
use toise_contract::fields::schema::parameters;
use toise_contract::query::pairs;
use toise_service::error::ApiError;

/// Operators' endpoints for keys.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/v2/protected/admin/keys", operator("admin.keys.list"), ReadsOnWriter, list(call)
        .with_operation(|| {
            Operation::new("keysList", "Every key, oldest first")
                .with_query(parameters(&KEY_LIST))
                .with_response(data_list_of("Key"))
        });
    POST "/v2/protected/admin/keys", operator("admin.keys.create"), Administers, create(call)
        .with_body(JSON_BODY)
        .with_operation(|| {
            Operation::new("keysCreate", "Create a key")
                .with_request(reference("KeyRequest"))
                .with_response(data_of("NewKey"))
        });
    PATCH "/v2/protected/admin/keys/{keyId}", operator("admin.keys.update"), Administers, update(call)
        .with_body(JSON_BODY)
        .with_operation(|| {
            Operation::new("keysUpdate", "Change a key's grants or limits")
                .with_request(reference("KeyChange"))
                .with_response(data_of("Key"))
        });
    DELETE "/v2/protected/admin/keys/{keyId}", operator("admin.keys.revoke"), Administers, revoke(call)
        .with_operation(|| Operation::new("keysRevoke", "Revoke a key").with_response(data_of("Key")));
};

/// `GET /v2/protected/admin/keys`: all keys or those of one account, oldest first.
async fn list(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let account_id = parse_key_list(&pairs(call.query)?)?;
    on_store(call, move |store, _| {
        let records = match account_id {
            None => keys::list(store),
            Some(account_id) => keys::list_for_account(store, account_id),
        };
        let records = records.map_err(ApiError::internal)?;
        let answers = records.iter().map(|record| key_json(record, None));
        Ok(Value::Array(answers.collect()))
    })
    .await
}

/// `POST /v2/protected/admin/keys`: creates a key and returns its text.
async fn create(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let rights = call.key()?.operator_rights();
    let within = Some(call.key()?.operator_bounds());
    let (body, limits, id) = (call.body.clone(), call.app.access.limits, call.new_id());
    on_store(call, move |store, clock| {
        let request = KeyRequest {
            id,
            within,
            ..parse_key(&read_json(&body)?, &limits)?
        };
        let default = || Grants::from(request.kind.default_scopes());
        require(rights, request.grants.unwrap_or_else(default))?;
        let by_id = matches!(request.owner, Owner::Id(_));
        let new = keys::issue(store, clock, request).map_err(|error| match error {
            keys::Error::Account(account::Error::NoAccount) if by_id => {
                Fault::new("account_id", "must be the id of an account").into()
            }
            error => ApiError::from(error),
        })?;
        let record = keys::get(store, &new.key)?;
        Ok(key_json(&record, Some(&new.key)))
    })
    .await
}

/// `PATCH /v2/protected/admin/keys/{keyId}`: changes grants, limits or name.
async fn update(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let key_id = call.uuid()?.to_string();
    let rights = call.key()?.operator_rights();
    let within = Some(call.key()?.operator_bounds());
    let body = call.body.clone();
    on_store(call, move |store, clock| {
        let body = read_json(&body)?;
        let record = keys::get(store, &key_id)?;
        let mut change = parse_key_change(&body, record.kind)?;
        keys::require_future_expiry(&change, clock.now())?;
        change.within = within;
        require(rights, record.grants())?;
        if let Some(GrantChange::Set(grants) | GrantChange::Add(grants)) = change.grants {
            require(rights, grants)?;
        }
        let record = keys::change(store, &key_id, change)?;
        Ok(key_json(&record, None))
    })
    .await
}

/// `DELETE /v2/protected/admin/keys/{keyId}`: revokes a key.
async fn revoke(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let key_id = call.uuid()?.to_string();
    let rights = call.key()?.operator_rights();
    on_store(call, move |store, clock| {
        require(rights, keys::get(store, &key_id)?.grants())?;
        keys::revoke(store, clock, &key_id)?;
        Ok(key_json(&keys::get(store, &key_id)?, None))
    })
    .await
}
