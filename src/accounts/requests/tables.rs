//! Field tables of the requests that manage accounts and keys or report usage.
//!
//! `super` parses with these tables and the OpenAPI document is generated from them, so every text here is part of the
//! contract. `about` builds the descriptions that quote a limit or a rule; the description given to the constructor is
//! then empty.

use serde_json::{Value, json};

use crate::account;
use crate::audit::ENTRIES_MAX;
use crate::grants::{ENDPOINTS, Grant, grant_rule};
use crate::key::{self, ESTIMATES_MAX, KeyKind, MONTHLY_QUOTA_MAX, RATE_PER_S_MAX};
use crate::limits::{CONCURRENT_ESTIMATES, KeyLimits};
use crate::scopes::Scope;
use crate::sql_limits::SQL_LIMIT_MAX;
use toise_contract::dates::DATE_RULE;
use toise_contract::fault::Fault;
use toise_contract::fields::{DefaultValue, Field, FieldKind, ListOf, Naming, Own, Taken, schema};
use toise_contract::walk::{JsonPath, text};

/// Maximum number of grants in one body.
pub const GRANTS_MAX: usize = 100;

static ACCOUNT_NAME: Naming = Naming {
    chars_max: account::NAME_CHARS_MAX,
    is: account::is_name,
    rule: account::NAME_RULE,
};
static KEY_NAME: Naming = Naming {
    chars_max: key::NAME_CHARS_MAX,
    is: key::is_name,
    rule: key::NAME_RULE,
};
static GRANT: Own = Own {
    read: read_grant,
    schema: |_| schema::reference("Grant"),
};
static GRANTS: ListOf = ListOf {
    item: FieldKind::Own(&GRANT),
    least: 1,
    most: Some(GRANTS_MAX),
};

/// Maximum networks of a key.
const NETWORKS_MAX: usize = 100;
/// Maximum length of a network: an IPv6 address and a prefix length.
const NETWORK_CHARS_MAX: usize = 43;
static NETWORKS: ListOf = ListOf {
    item: FieldKind::Words(NETWORK_CHARS_MAX),
    least: 0,
    most: Some(NETWORKS_MAX),
};

/// The body that creates an account.
pub static ACCOUNT: [Field; 1] = [Field::required("name", FieldKind::Named(&ACCOUNT_NAME), "")
    .about(|| format!("Unique among the accounts; {}", account::NAME_RULE))];

/// The kind of a key: `test` or `production`.
pub const KIND: Field = Field::required(
    "kind",
    FieldKind::OneOf(&KeyKind::NAMES),
    "A test key expires after 7 days; a production key works until it is revoked",
);
const RATE: Field = Field::optional(
    "rate",
    FieldKind::Integer(1, RATE_PER_S_MAX as i64),
    "Requests per second",
);
const QUOTA: Field = Field::optional(
    "monthly_quota",
    FieldKind::IntegerOrNull(0, MONTHLY_QUOTA_MAX as i64),
    "Counted calls per month (UTC); null means unlimited",
);
const ESTIMATES: Field = Field::optional(
    "max_concurrent_estimates",
    FieldKind::Integer(1, ESTIMATES_MAX as i64),
    "Estimates that may run at once; more wait in a short queue",
);
/// Returns the field of a limit on a key's queries; null means the limit of the service.
const fn sql_limit(name: &'static str, about: &'static str) -> Field {
    Field::optional(name, FieldKind::IntegerOrNull(1, SQL_LIMIT_MAX), about)
}
static SQL_LIMITS: [Field; 5] = [
    sql_limit("rows", "Maximum rows of an answer"),
    sql_limit("bytes", "Maximum bytes of an answer"),
    sql_limit(
        "memory_mib",
        "Memory that a query may use before it spills to disk, in MiB",
    ),
    sql_limit(
        "time_s",
        "Maximum duration of a query, including its answer, in seconds",
    ),
    sql_limit("concurrent", "Maximum queries that may run at once"),
];
const SQL: Field = Field::optional(
    "sql_limits",
    FieldKind::Object(&SQL_LIMITS),
    "Limits of SQL queries over HTTP and Flight, lower than those of the service; null or absent means the limit of \
     the service",
);
const NAME: Field = Field::optional("name", FieldKind::Named(&KEY_NAME), "")
    .about(|| format!("Name that distinguishes keys; {}", key::NAME_RULE));

const EXPIRES: Field = Field::optional("expires_at", FieldKind::Moment, "")
    .about(|| {
        format!(
            "When the key stops working; a test key stops after 7 days at the latest; {DATE_RULE}"
        )
    })
    .with_example("2027-01-31");
const ALLOWED_FROM: Field = Field::optional(
    "allowed_from",
    FieldKind::List(&NETWORKS),
    "Addresses and networks (10.0.0.0/8) from which the key may be used; an empty list lifts the restriction",
);

/// The body that creates a key.
pub static KEY: [Field; 10] = [
    Field::optional(
        "account_id",
        FieldKind::Uuid,
        "Account that will own the key; by default the account named default",
    ),
    KIND,
    Field::optional(
        "grants",
        FieldKind::List(&GRANTS),
        "What the key may do; by default every scope except sql and admin, and for a test key also except alerts. A \
         test key cannot hold admin or its endpoints, and a key without the scope admin cannot grant them",
    ),
    RATE.about(|| {
        let [test, production] = KeyKind::ALL.map(|kind| kind.default_allowance(&KeyLimits::default()));
        format!(
            "Requests per second; by default {} for a test key and {} for a production key, unless configured \
             otherwise",
            test.rate_per_s, production.rate_per_s
        )
    }),
    QUOTA.about(|| {
        let test = KeyKind::Test.default_allowance(&KeyLimits::default());
        format!(
            "Counted calls per month (UTC); null means unlimited; by default {} for a test key and unlimited for a \
             production key, unless configured otherwise",
            test.monthly_quota.unwrap_or_default()
        )
    }),
    ESTIMATES.or(DefaultValue::Integer(CONCURRENT_ESTIMATES as i64)),
    SQL,
    NAME,
    EXPIRES,
    ALLOWED_FROM,
];

/// The body that changes a key. Absent fields leave values unchanged.
pub static KEY_CHANGE: [Field; 8] = [
    Field::optional(
        "grants",
        FieldKind::List(&GRANTS),
        "What the key may do. A test key cannot hold admin or its endpoints, and a key without the scope admin \
         cannot grant them",
    ),
    RATE,
    QUOTA,
    ESTIMATES,
    SQL,
    NAME,
    EXPIRES,
    ALLOWED_FROM,
];

/// The query of a report on usage: its first and last day, both included.
pub static PERIOD: [Field; 2] = [
    Field::optional("from_date", FieldKind::Moment, "")
        .about(|| {
            format!(
                "First day (UTC), included; by default the first day of to_date's month, or of the current month; \
                 {DATE_RULE}; only the day of a date-time counts"
            )
        })
        .with_example("2026-11-01"),
    Field::optional("to_date", FieldKind::Moment, "")
        .about(|| {
            format!(
                "Last day (UTC), included; by default the last day of the current month, or of from_date's month if \
                 that is later; {DATE_RULE}; only the day of a date-time counts"
            )
        })
        .with_example("2026-11-01"),
];

/// The query of the key list.
pub static KEY_LIST: [Field; 1] = [Field::optional(
    "account_id",
    FieldKind::Uuid,
    "Only the keys of this account",
)];

/// Maximum number of an entry of the audit log.
const ENTRY_MAX: i64 = 1 << 53;

/// The query of the audit log.
pub static AUDIT: [Field; 2] = [
    Field::optional(
        "before",
        FieldKind::Integer(1, ENTRY_MAX),
        "Only entries with a lower number than this; use it to read the next page",
    ),
    Field::optional(
        "take",
        FieldKind::Integer(1, ENTRIES_MAX as i64),
        "Maximum number of entries",
    )
    .or(DefaultValue::Integer(AUDIT_TAKEN as i64)),
];
/// Default number of audit log entries in a response.
pub const AUDIT_TAKEN: usize = 100;

/// Returns the schema of one grant, the component `Grant` of the OpenAPI document.
pub fn grant_schema() -> Value {
    let names: Vec<&str> = Scope::NAMES.into_iter().chain(ENDPOINTS).collect();
    json!({
        "type": "string",
        "enum": names,
        "description": "A scope, which opens every endpoint of its part of the service, or a single endpoint",
    })
}

/// Checks that a value names a grant, and returns the name; the caller parses it again.
fn read_grant<'v>(value: &'v Value, at: JsonPath<'_>) -> Result<Taken<'v>, Fault> {
    let name = text(value, at)?;
    let parsed = name.parse::<Grant>();
    parsed.map_err(|_| at.fault(grant_rule()))?;
    Ok(Taken::Text(name))
}
