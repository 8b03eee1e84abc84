//! `toise keys`: creates, lists, changes and revokes API keys. A running server applies changes within a second.

use chrono::{DateTime, Utc};
use clap::{ArgGroup, Args, Subcommand};
use serde_json::{Value, json};
use uuid::Uuid;

use super::usage::{self, PeriodArgs, UsagePart};
use super::{CommandResult, Common};
use toise_accounts::DEFAULT_ACCOUNT;
use toise_accounts::audit::{Act, audited, audited_with_subject};
use toise_accounts::grants::Grants;
use toise_accounts::json::key_json;
use toise_accounts::key::{self, ESTIMATES_MAX, MONTHLY_QUOTA_MAX, RATE_PER_S_MAX};
use toise_accounts::keys::{
    self, Allowance, GrantChange, KeyChange, KeyKind, KeyRecord, KeyRequest, NewKey, Owner,
};
use toise_accounts::sql_limits::{SQL_LIMIT_MAX, SqlLimitsChange};
use toise_accounts::usage::{Usage, UsageScope, by_key};
use toise_base::clock::Clock;
use toise_base::networks::Networks;
use toise_contract::dates::{DATE_RULE, DateOrInstant};
use toise_store::Store;

/// Arguments of `keys`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples: create a test key for a partner, grant one more endpoint, raise its rate, revoke it

  toise keys create --kind test --account partner
  toise keys grant KEY_ID alerts.list
  toise keys set-limit KEY_ID --rate 20 --monthly-quota none
  toise keys revoke KEY_ID")]
pub struct KeysArgs {
    #[command(subcommand)]
    action: KeysAction,
}

impl KeysArgs {
    /// Returns whether the command creates something, also in a new data folder.
    pub(crate) fn creates(&self) -> bool {
        matches!(self.action, KeysAction::Create { .. })
    }
}

#[derive(Subcommand, Debug)]
enum KeysAction {
    /// Create an API key (shown only once)
    Create {
        /// Kind of key: a test key expires after 7 days, a production key only with --expires
        #[arg(long, value_enum, default_value = "production")]
        kind: KeyKind,
        /// Scopes and single endpoints, separated by commas [default: the scopes of the kind, never admin]
        #[arg(long, visible_alias = "grants", value_name = "GRANTS", value_parser = grants)]
        scopes: Option<Grants>,
        /// Name of the account that owns the key, created if absent
        #[arg(long, value_name = "NAME", default_value = DEFAULT_ACCOUNT)]
        account: String,
        /// Name of the key, to distinguish keys
        #[arg(long, value_parser = key_name)]
        name: Option<String>,
        #[command(flatten)]
        conditions: ConditionArgs,
        #[command(flatten)]
        limits: LimitArgs,
    },
    /// List keys, without their secret text
    List,
    /// Replace the text of a key (shown only once); the old text stops working immediately
    Rotate {
        /// The key, or its id
        key: String,
    },
    /// Revoke a key
    Revoke {
        /// The key, or its id
        key: String,
    },
    /// Grant more scopes or endpoints to a key; with --only, replace its grants
    Grant {
        /// The key, or its id
        key: String,
        /// Scopes and single endpoints, separated by commas: search,alerts.list
        #[arg(value_parser = grants)]
        grants: Grants,
        /// Replace the grants instead of adding to them
        #[arg(long)]
        only: bool,
    },
    /// Change the limits of a key
    #[command(group = ArgGroup::new("limit").required(true).multiple(true)
        .args(["rate", "monthly_quota", "max_concurrent_estimates", "sql_rows", "sql_bytes", "sql_memory_mib",
            "sql_time_s", "sql_concurrent"]))]
    SetLimit {
        /// The key, or its id
        key: String,
        #[command(flatten)]
        limits: LimitArgs,
    },
    /// Change when a key expires and from where it may be used
    #[command(group = ArgGroup::new("condition").required(true).multiple(true).args(["expires", "allow_from"]))]
    Restrict {
        /// The key, or its id
        key: String,
        #[command(flatten)]
        conditions: ConditionArgs,
    },
    /// Report the consumption of keys in a period
    Usage {
        /// The key, or its id [default: all keys]
        key: Option<String>,
        #[command(flatten)]
        period: PeriodArgs,
    },
}

#[derive(Args, Clone, Debug)]
struct ConditionArgs {
    /// When the key expires: a day, which is included, or a time; `never` for a production key
    #[arg(long, value_name = "DATE", value_parser = expiry)]
    expires: Option<Expiry>,
    /// Addresses and networks from which the key may be used, separated by commas; `any` for no restriction
    #[arg(long, value_name = "NETWORKS", value_parser = networks)]
    allow_from: Option<Origins>,
}

/// When a key expires; `None` for never.
#[derive(Clone, Copy, Debug)]
struct Expiry(Option<DateTime<Utc>>);

fn expiry(text: &str) -> Result<Expiry, String> {
    if text == "never" {
        return Ok(Expiry(None));
    }
    let asked = DateOrInstant::parse(text).ok_or_else(|| format!("{DATE_RULE}, or never"))?;
    let last = DateTime::from_timestamp_millis(asked.last_millisecond());
    last.map(|last| Expiry(Some(last)))
        .ok_or_else(|| DATE_RULE.to_owned())
}

/// Where a key may be used; `None` for anywhere.
#[derive(Clone, Debug)]
struct Origins(Option<Networks>);

fn networks(text: &str) -> Result<Origins, String> {
    if text == "any" {
        return Ok(Origins(None));
    }
    let networks = Networks::parse(text).map_err(|wrong| {
        format!(
            "must be addresses or networks such as 10.0.0.0/8, or any; {wrong:?} is none of these"
        )
    })?;
    if networks.is_empty() {
        Err("must name at least one address or network, or any".into())
    } else {
        Ok(Origins(Some(networks)))
    }
}

#[derive(Args, Clone, Debug)]
struct LimitArgs {
    /// Requests per second [default for a new key: test 5, production 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=RATE_PER_S_MAX as i64))]
    rate: Option<u32>,
    /// Counted calls per month, or `none` [default for a new key: test 10000, production none]
    #[arg(long, value_name = "N", value_parser = quota)]
    monthly_quota: Option<Bound>,
    /// Maximum concurrent estimates [default for a new key: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=ESTIMATES_MAX as i64))]
    max_concurrent_estimates: Option<u32>,
    /// Maximum rows of a SQL answer, or `none` for the service's limit
    #[arg(long, value_name = "N", value_parser = sql_limit)]
    sql_rows: Option<Bound>,
    /// Maximum bytes of a SQL answer, or `none`
    #[arg(long, value_name = "N", value_parser = sql_limit)]
    sql_bytes: Option<Bound>,
    /// Memory of a SQL query before it spills to disk, in MiB, or `none`
    #[arg(long, value_name = "N", value_parser = sql_limit)]
    sql_memory_mib: Option<Bound>,
    /// Maximum duration of a SQL query, in seconds, or `none`
    #[arg(long, value_name = "N", value_parser = sql_limit)]
    sql_time_s: Option<Bound>,
    /// Maximum SQL queries that run at once, or `none`
    #[arg(long, value_name = "N", value_parser = sql_limit)]
    sql_concurrent: Option<Bound>,
}

impl LimitArgs {
    /// Returns the allowance of a new key: the given limits, and defaults for the others.
    fn or(&self, defaults: Allowance) -> Allowance {
        Allowance {
            rate_per_s: self.rate.unwrap_or(defaults.rate_per_s),
            monthly_quota: self
                .monthly_quota
                .map_or(defaults.monthly_quota, |bound| bound.0),
            estimates_max: self
                .max_concurrent_estimates
                .unwrap_or(defaults.estimates_max),
            sql: defaults.sql.changed(self.sql()),
        }
    }

    /// Returns the change of a key that sets the given limits.
    fn change(&self) -> KeyChange {
        KeyChange {
            rate_per_s: self.rate,
            monthly_quota: self.monthly_quota.map(|bound| bound.0),
            estimates_max: self.max_concurrent_estimates,
            sql: self.sql(),
            ..KeyChange::default()
        }
    }

    /// Returns the given limits of SQL queries.
    fn sql(&self) -> SqlLimitsChange {
        let given = |bound: Option<Bound>| bound.map(|bound| bound.0);
        SqlLimitsChange {
            rows: given(self.sql_rows),
            bytes: given(self.sql_bytes),
            memory_mib: given(self.sql_memory_mib),
            time_s: given(self.sql_time_s),
            concurrent: given(self.sql_concurrent),
        }
    }
}

/// An upper bound, or `None` for no bound.
#[derive(Clone, Copy, Debug)]
struct Bound(Option<u64>);

fn quota(text: &str) -> Result<Bound, String> {
    bound(text, 0, MONTHLY_QUOTA_MAX)
}

fn sql_limit(text: &str) -> Result<Bound, String> {
    bound(text, 1, SQL_LIMIT_MAX.unsigned_abs())
}

fn bound(text: &str, least: u64, greatest: u64) -> Result<Bound, String> {
    if text == "none" {
        return Ok(Bound(None));
    }
    let number = text.parse().ok();
    number
        .filter(|number| (least..=greatest).contains(number))
        .map(|number| Bound(Some(number)))
        .ok_or_else(|| format!("must be an integer between {least} and {greatest}, or none"))
}

fn grants(text: &str) -> Result<Grants, String> {
    let grants = Grants::parse(text).map_err(|error| error.to_string())?;
    if grants == Grants::default() {
        return Err("must name at least one scope or endpoint".into());
    }
    Ok(grants)
}

fn key_name(text: &str) -> Result<String, String> {
    if key::is_name(text) {
        Ok(text.to_owned())
    } else {
        Err(key::NAME_RULE.to_owned())
    }
}

/// Runs `keys`.
pub fn run(common: &Common, arguments: &KeysArgs) -> CommandResult {
    let store = Store::open(&common.data)?;
    let clock = Clock::system();
    match &arguments.action {
        KeysAction::Create {
            kind,
            scopes,
            account,
            name,
            conditions,
            limits,
        } => {
            let configured = common.configuration(Vec::new())?.config.limits;
            let request = KeyRequest {
                name: name.clone(),
                grants: *scopes,
                allowance: limits.or(kind.default_allowance(&configured)),
                expires_at: conditions.expires.and_then(|expiry| expiry.0),
                allowed_from: conditions
                    .allow_from
                    .as_ref()
                    .and_then(|origins| origins.0.clone()),
                ..KeyRequest::new(*kind, Owner::Named(account.clone()), &configured)
            };
            let issue = || keys::issue(&store, &clock, request);
            let create = Act::at_command_line("keys create");
            let named = |new: &NewKey| Some(named(new.key_id));
            let new = audited_with_subject(&store, &clock, create, named, issue)?;
            print_new(common, &keys::get(&store, &new.key)?, &new.key);
        }
        KeysAction::List => print_all(common, &keys::list(&store)?, &clock),
        KeysAction::Rotate { key } => {
            let rotate = || keys::rotate(&store, &clock, key);
            let new = audited(&store, &clock, act_on(&store, "keys rotate", key), rotate)?;
            print_new(common, &keys::get(&store, &new.key)?, &new.key);
        }
        KeysAction::Revoke { key } => {
            let revoke = || keys::revoke(&store, &clock, key)?.ok_or(keys::Error::NoKey);
            let key_id = audited(&store, &clock, act_on(&store, "keys revoke", key), revoke)?;
            common.print_result(
                json!({"key_id": key_id, "revoked": true}),
                format!("revoked {key_id}"),
            );
        }
        KeysAction::Grant {
            key,
            grants: grants_given,
            only,
        } => {
            let grants = if *only {
                GrantChange::Set(*grants_given)
            } else {
                GrantChange::Add(*grants_given)
            };
            let change = KeyChange {
                grants: Some(grants),
                ..KeyChange::default()
            };
            let verb = if *only { "--only " } else { "" };
            let action = format!("keys grant {verb}{grants_given}");
            let changed = changed(&store, &clock, &action, key, change)?;
            print_changed(common, &changed, &clock);
        }
        KeysAction::SetLimit { key, limits } => {
            let changed = changed(&store, &clock, "keys set-limit", key, limits.change())?;
            print_changed(common, &changed, &clock);
        }
        KeysAction::Restrict { key, conditions } => {
            let change = KeyChange {
                expires_at: conditions.expires.map(|expiry| expiry.0),
                allowed_from: conditions.allow_from.clone().map(|origins| origins.0),
                ..KeyChange::default()
            };
            let changed = changed(&store, &clock, "keys restrict", key, change)?;
            print_changed(common, &changed, &clock);
        }
        KeysAction::Usage { key, period } => {
            usage::write_journals(&store, &clock);
            print_usage(common, &store, key.as_deref(), period)?;
        }
    }
    Ok(())
}

/// Returns the name of a key in the audit log.
fn named(key_id: Uuid) -> String {
    format!("key {key_id}")
}

/// Returns an act on the key with the given text or id. If there is no such key, the act has no subject.
fn act_on(store: &Store, action: &str, key: &str) -> Act {
    let subject = keys::get(store, key).ok();
    Act::at_command_line(action).on(subject.map(|record| named(record.key_id)))
}

/// Changes a key and writes both entries of the act to the audit log.
fn changed(
    store: &Store,
    clock: &Clock,
    action: &str,
    key: &str,
    change: KeyChange,
) -> keys::Result<KeyRecord> {
    let change = || {
        keys::require_future_expiry(&change, clock.now())?;
        keys::change(store, key, change)
    };
    audited(store, clock, act_on(store, action, key), change)
}

/// Prints the consumption of a key, or of all keys.
fn print_usage(
    common: &Common,
    store: &Store,
    key: Option<&str>,
    period: &PeriodArgs,
) -> CommandResult {
    let period = period.period()?;
    let (consumer, records) = match key {
        None => (UsageScope::All, keys::list(store)?),
        Some(key) => {
            let record = keys::get(store, key)?;
            (UsageScope::Key(record.key_id), vec![record])
        }
    };
    let consumed = by_key(store, consumer, period)?;
    let parts: Vec<UsagePart<'_>> = records
        .iter()
        .map(|record| part_of(record, &consumed))
        .collect();
    usage::print(common, "key", period, &parts)
}

fn part_of<'u>(record: &KeyRecord, consumed: &'u [Usage]) -> UsagePart<'u> {
    let name = record.name.as_deref().unwrap_or(&record.account);
    UsagePart {
        label: format!("{} ({name})", record.key_id),
        identity: json!({
            "key_id": record.key_id,
            "account_id": record.account_id,
            "account": record.account,
        }),
        usage: consumed
            .iter()
            .filter(|part| part.key_id == record.key_id)
            .collect(),
    }
}

fn print_new(common: &Common, record: &KeyRecord, key: &str) {
    if common.json {
        let mut object = key_json(record, Some(key));
        object["account"] = json!(record.account);
        println!("{object}");
    } else {
        println!("{key}");
        eprintln!(
            "key {} of account {}; it is not shown again",
            record.key_id, record.account
        );
    }
}

fn print_changed(common: &Common, record: &KeyRecord, clock: &Clock) {
    if common.json {
        println!("{}", as_json(record));
    } else {
        print_table(std::slice::from_ref(record), clock);
    }
}

/// Prints keys as JSON or as a table.
fn print_all(common: &Common, records: &[KeyRecord], clock: &Clock) {
    if common.json {
        let objects: Vec<Value> = records.iter().map(as_json).collect();
        println!("{}", Value::from(objects));
    } else {
        print_table(records, clock);
    }
}

fn as_json(record: &KeyRecord) -> Value {
    let mut object = key_json(record, None);
    object["account"] = json!(record.account);
    object
}

/// Formats the day of a time; `None` gives an empty string.
fn day(moment: Option<DateTime<Utc>>) -> String {
    moment.map_or_else(String::new, |moment| moment.date_naive().to_string())
}

fn print_table(records: &[KeyRecord], clock: &Clock) {
    if records.is_empty() {
        println!("none; create one: toise keys create");
        return;
    }
    let mut table = crate::table_of(
        "key id|begins|account|name|kind|grants|rate/s|quota/month|estimates|created|last used|expires|state",
    );
    for record in records {
        let state = if record.revoked_at.is_some() {
            "revoked"
        } else if record.is_valid_at(clock.now()) {
            "active"
        } else {
            "expired"
        };
        let quota = record.allowance.monthly_quota;
        table.add_row([
            record.key_id.to_string(),
            record.prefix.clone(),
            record.account.clone(),
            record.name.clone().unwrap_or_default(),
            record.kind.as_str().to_owned(),
            record.grants().to_string().replace(',', ", "),
            record.allowance.rate_per_s.to_string(),
            quota.map_or("none".to_owned(), |calls| calls.to_string()),
            record.allowance.estimates_max.to_string(),
            record.created_at.date_naive().to_string(),
            day(record.last_used_at),
            day(record.expires_at),
            state.to_owned(),
        ]);
    }
    println!("{table}");
}
