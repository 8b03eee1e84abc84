//! Accounts, keys and consumption as JSON, for the operators' endpoints and the command line.
//!
//! Unset values are omitted. A secret is written only if the caller passes it.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::account::Account;
use crate::grants::{Grant, Grants};
use crate::key::KeyRecord;
use crate::signing::SigningSecret;
use crate::sql_limits::SqlLimits;
use crate::usage::{DayUsage, TypeUsage};
use toise_base::clock::iso;

/// Returns an account as JSON, as of the time that the caller gave to [`Account::at`]. The caller passes `secret` only
/// right after it was created or rotated.
pub fn account_json(account: &Account, secret: Option<&SigningSecret>) -> Value {
    let mut object = json!({
        "account_id": account.account_id,
        "name": account.name,
        "created_at": moment(account.created_at),
        "webhook_key": account.webhook_key.reveal(),
    });
    if let Some(next) = &account.next_webhook_key {
        object["next_webhook_key"] = json!(next.key.reveal());
        object["next_webhook_key_from"] = json!(moment(next.from));
    }
    if let Some(secret) = secret {
        object["signing_secret"] = json!(secret.reveal());
    }
    object
}

/// Returns a key as JSON. The caller passes `key`, the text of the key, only right after it was created.
pub fn key_json(record: &KeyRecord, key: Option<&str>) -> Value {
    let mut object = json!({
        "key_id": record.key_id,
        "account_id": record.account_id,
        "kind": record.kind.as_str(),
        "prefix": record.prefix,
        "grants": grant_names(record.grants()),
        "rate": record.allowance.rate_per_s,
        "max_concurrent_estimates": record.allowance.estimates_max,
        "created_at": moment(record.created_at),
    });
    #[rustfmt::skip]
    let optional = [
        ("key", key.map(Value::from)),
        ("name", record.name.as_deref().map(Value::from)),
        ("monthly_quota", record.allowance.monthly_quota.map(Value::from)),
        ("sql_limits", (record.allowance.sql != SqlLimits::default()).then(|| json!(record.allowance.sql))),
        (
            "allowed_from",
            record
                .allowed_from
                .as_ref()
                .map(|networks| Value::from(networks.iter().collect::<Vec<_>>())),
        ),
        ("last_used_at", record.last_used_at.map(moment)),
        ("expires_at", record.expires_at.map(moment)),
        ("revoked_at", record.revoked_at.map(moment)),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            object[name] = value;
        }
    }
    object
}

fn grant_names(grants: Grants) -> Vec<&'static str> {
    grants.iter().map(Grant::as_str).collect()
}

/// Returns the total consumption, and the consumption of each type.
pub fn consumption_json(parts: &[TypeUsage]) -> Value {
    let total: u64 = parts.iter().map(|part| part.credits).sum();
    let by_type: Vec<Value> = parts
        .iter()
        .map(|part| json!({"type": part.consumption, "credits": part.credits, "calls": part.calls}))
        .collect();
    json!({"total_credits": total, "consumption_per_type": by_type})
}

/// Returns consumption by day and type.
pub fn daily_json(days: &[DayUsage]) -> Value {
    let rows = days.iter().map(|DayUsage { day, usage }| {
        json!({"day": day, "type": usage.consumption, "credits": usage.credits, "calls": usage.calls})
    });
    rows.collect()
}

/// Returns the consumption of one account in a list of accounts.
pub fn account_usage_json(account: &Account, parts: &[TypeUsage]) -> Value {
    let mut object = json!({"account_id": account.account_id, "name": account.name});
    let consumption = consumption_json(parts);
    for field in ["total_credits", "consumption_per_type"] {
        object[field] = consumption[field].clone();
    }
    object
}

/// Returns a time in the format of the contract: ISO 8601, UTC, milliseconds.
pub fn moment(moment: DateTime<Utc>) -> Value {
    Value::from(iso(moment))
}
