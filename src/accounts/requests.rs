//! The operators' bodies and queries: accounts, keys, consumption. [`crate::answers`] writes what they get.
//!
//! `monthly_quota` alone takes `null`, which means no bound; there is no other way to ask a production key's bound away.

use chrono::NaiveDate;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::DEFAULT_ACCOUNT;
use crate::account;
use crate::grants::{ENDPOINTS, Grant, grant_rule};
use crate::key::{
    self, ESTIMATES_MAX, GrantChange, KeyChange, KeyRequest, Kind, MONTHLY_QUOTA_MAX, Owner,
    RATE_PER_S_MAX,
};
use crate::limits::{CONCURRENT_ESTIMATES, Limits};
use crate::scopes::Scope;
use crate::usage::Period;
use toise_contract::dates::{DATE_RULE, Moment};
use toise_contract::fault::Fault;
use toise_contract::fields::{
    DefaultValue, Field, FieldKind, ListOf, Naming, Own, Taken, Values, read, read_part,
    read_query, schema,
};
use toise_contract::walk::{At, text};

/// Grants one body may list.
pub const GRANTS_MAX: usize = 100;

const ADMIN_ON_TEST_KEY: &str = "must not be admin or one of its endpoints on a test key";

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
    read: grant,
    schema: |_| schema::reference("Grant"),
};
static GRANTS: ListOf = ListOf {
    item: FieldKind::Own(&GRANT),
    least: 1,
    most: Some(GRANTS_MAX),
};

/// The body that makes an account.
pub static ACCOUNT: [Field; 1] = [Field::required("name", FieldKind::Named(&ACCOUNT_NAME), "")
    .about(|| format!("Unlike every other account's; {}", account::NAME_RULE))];

/// The kind of a key.
pub const KIND: Field = Field::required(
    "kind",
    FieldKind::OneOf(&Kind::NAMES),
    "A test key lives 7 days, a production key until revoked",
);
const RATE: Field = Field::optional(
    "rate",
    FieldKind::Integer(1, RATE_PER_S_MAX as i64),
    "Requests a second",
);
const QUOTA: Field = Field::optional(
    "monthly_quota",
    FieldKind::IntegerOrNull(0, MONTHLY_QUOTA_MAX as i64),
    "Counted calls a month (UTC); null: no bound",
);
const ESTIMATES: Field = Field::optional(
    "max_concurrent_estimates",
    FieldKind::Integer(1, ESTIMATES_MAX as i64),
    "Estimates that run at once; more wait in a short queue",
);
const NAME: Field = Field::optional("name", FieldKind::Named(&KEY_NAME), "")
    .about(|| format!("To tell keys apart; {}", key::NAME_RULE));

/// The body that makes a key.
pub static KEY: [Field; 7] = [
    Field::optional(
        "account_id",
        FieldKind::Uuid,
        "Account that is to own it; by default the account named default",
    ),
    KIND,
    Field::optional(
        "grants",
        FieldKind::List(&GRANTS),
        "What the key may do; by default every scope but admin, and on a test key but alerts. A test key cannot hold \
         admin or its endpoints, and a key without the scope admin cannot give them",
    ),
    RATE.about(|| {
        let [test, production] = Kind::ALL.map(|kind| kind.default_allowance(&Limits::default()));
        format!(
            "Requests a second; by default {} on a test key and {} on a production key, unless configured otherwise",
            test.rate_per_s, production.rate_per_s
        )
    }),
    QUOTA.about(|| {
        let test = Kind::Test.default_allowance(&Limits::default());
        format!(
            "Counted calls a month (UTC); null: no bound; by default {} on a test key and no bound on a production \
             key, unless configured otherwise",
            test.monthly_quota.unwrap_or_default()
        )
    }),
    ESTIMATES.or(DefaultValue::Integer(CONCURRENT_ESTIMATES as i64)),
    NAME,
];

/// The body that changes a key: what is left out stays as it is.
pub static KEY_CHANGE: [Field; 5] = [
    Field::optional(
        "grants",
        FieldKind::List(&GRANTS),
        "What the key may do. A test key cannot hold admin or its endpoints, and a key without the scope admin cannot \
         give them",
    ),
    RATE,
    QUOTA,
    ESTIMATES,
    NAME,
];

/// The query of a report.
pub static PERIOD: [Field; 2] = [
    Field::optional("from_date", FieldKind::Moment, "")
        .about(|| {
            format!(
                "First day, by default that of to_date's month, or of the present one, UTC, included; {DATE_RULE}; a \
                 date-time stands for its day"
            )
        })
        .such_as("2026-11-01"),
    Field::optional("to_date", FieldKind::Moment, "")
        .about(|| {
            format!(
                "Last day, by default that of the present month, or of from_date's where that is later, UTC, included; \
                 {DATE_RULE}; a date-time stands for its day"
            )
        })
        .such_as("2026-11-01"),
];

/// The query of the list of keys.
pub static KEY_LIST: [Field; 1] = [Field::optional(
    "account_id",
    FieldKind::Uuid,
    "Only the keys of this account",
)];

/// The schema of one grant.
pub fn grant_schema() -> Value {
    let scopes = Scope::ALL.map(Scope::as_str).into_iter();
    let names: Vec<&str> = scopes.chain(ENDPOINTS).collect();
    json!({
        "type": "string",
        "enum": names,
        "description": "A scope, which opens every endpoint of its part of the service, or a single endpoint",
    })
}

/// Reads the body that makes an account: its name.
pub fn parse_account(body: &Value) -> Result<String, Fault> {
    read(body, &ACCOUNT, At::Body)?.require("name")
}

/// Reads the body that makes a key; what it does not say of its limits is what `limits` say.
pub fn parse_key(body: &Value, limits: &Limits) -> Result<KeyRequest, Fault> {
    let mut values = read(body, &KEY, At::Body)?;
    let kind = kind_of(&mut values)?;
    let listed = grants(&mut values);
    if kind == Kind::Test {
        refuse_admin(listed.as_deref().unwrap_or_default())?;
    }
    let owner = match values.take("account_id") {
        Some(id) => Owner::Id(id),
        None => Owner::Named(DEFAULT_ACCOUNT.to_owned()),
    };
    let mut request = KeyRequest::new(kind, owner, limits);
    request.name = values.take("name");
    request.grants = listed.map(|listed| listed.into_iter().collect());
    let allowance = &mut request.allowance;
    allowance.rate_per_s = values.take("rate").unwrap_or(allowance.rate_per_s);
    allowance.monthly_quota = values
        .take("monthly_quota")
        .unwrap_or(allowance.monthly_quota);
    allowance.estimates_max = values
        .take("max_concurrent_estimates")
        .unwrap_or(allowance.estimates_max);
    Ok(request)
}

/// Reads the body that changes a key, whose kind the caller knows.
pub fn parse_key_change(body: &Value, kind: Kind) -> Result<KeyChange, Fault> {
    let mut values = read_part(body, &KEY_CHANGE, At::Body)?;
    let listed = grants(&mut values);
    if kind == Kind::Test {
        refuse_admin(listed.as_deref().unwrap_or_default())?;
    }
    Ok(KeyChange {
        grants: listed.map(|listed| GrantChange::Set(listed.into_iter().collect())),
        rate_per_s: values.take("rate"),
        monthly_quota: values.take("monthly_quota"),
        estimates_max: values.take("max_concurrent_estimates"),
        name: values.take("name"),
    })
}

fn kind_of(values: &mut Values<'_>) -> Result<Kind, Fault> {
    let name = values.word("kind");
    let mut known = Kind::ALL.into_iter();
    known
        .find(|kind| Some(kind.as_str()) == name)
        .ok_or_else(|| Fault::new("kind", "is required"))
}

fn grant<'v>(value: &'v Value, at: At<'_>) -> Result<Taken<'v>, Fault> {
    let name = text(value, at)?;
    let known = name.parse::<Grant>();
    known.map_err(|_| at.fault(grant_rule()))?;
    Ok(Taken::Text(name))
}

fn grants(values: &mut Values<'_>) -> Option<Vec<Grant>> {
    let listed: Vec<String> = values.take("grants")?;
    Some(listed.iter().filter_map(|name| name.parse().ok()).collect())
}

fn refuse_admin(listed: &[Grant]) -> Result<(), Fault> {
    let at = At::Body;
    let grants = At::Key(&at, "grants");
    match listed.iter().position(|grant| grant.is_admin()) {
        Some(index) => Err(At::Index(&grants, index).fault(ADMIN_ON_TEST_KEY)),
        None => Ok(()),
    }
}

/// Reads the query of a report: `from_date` and `to_date`, both included. A date-time stands for its day, UTC; without
/// either, the bounds are those of the month of the other, and of the present month without both.
pub fn parse_period<K: AsRef<str>, V: AsRef<str>>(
    query: &[(K, V)],
    today: NaiveDate,
) -> Result<Period, Fault> {
    let mut values = read_query(query, &PERIOD)?;
    let from = values.take("from_date").map(Moment::day);
    let to = values.take("to_date").map(Moment::day);
    let period = match (from, to) {
        (None, None) => Period::month_of(today),
        (Some(from), None) => Period {
            from,
            to: Period::month_of(today.max(from)).to,
        },
        (None, Some(to)) => Period {
            from: Period::month_of(to).from,
            to,
        },
        (Some(from), Some(to)) => Period { from, to },
    };
    if period.from > period.to {
        return Err(At::Key(&At::Body, "from_date").fault("must not be after to_date"));
    }
    Ok(period)
}

/// Reads the query of the list of keys: `account_id`, when only one account's are wanted.
pub fn parse_key_list<K: AsRef<str>, V: AsRef<str>>(
    query: &[(K, V)],
) -> Result<Option<Uuid>, Fault> {
    Ok(read_query(query, &KEY_LIST)?.take("account_id"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::grants::Grants;
    use crate::key::Allowance;

    fn body(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_key_body_takes_the_defaults_of_its_kind() {
        let request = parse_key(&body(r#"{"kind": "test"}"#), &Limits::default()).unwrap();
        let owner = Owner::Named(DEFAULT_ACCOUNT.to_owned());
        assert_eq!(
            request,
            KeyRequest::new(Kind::Test, owner, &Limits::default())
        );
        let id = Uuid::now_v7();
        let limits = Limits::default();
        let described = json!({
            "account_id": id, "kind": "production", "grants": ["ai", "properties.search"], "rate": 7,
            "monthly_quota": 0, "max_concurrent_estimates": 3, "name": "partner",
        });
        let request = parse_key(&described, &limits).unwrap();
        let expected = KeyRequest {
            owner: Owner::Id(id),
            name: Some("partner".into()),
            kind: Kind::Production,
            grants: Some(Grants::parse("ai,properties.search").unwrap()),
            allowance: Allowance {
                rate_per_s: 7,
                monthly_quota: Some(0),
                estimates_max: 3,
            },
        };
        assert_eq!(request, expected);
        let unbounded = parse_key(
            &body(r#"{"kind": "test", "monthly_quota": null}"#),
            &Limits::default(),
        )
        .unwrap();
        assert_eq!(unbounded.allowance.monthly_quota, None);
    }

    #[test]
    fn the_first_fault_of_a_key_body_is_named_with_what_is_allowed() {
        let cases = [
            ("[]", "body: must be an object"),
            ("{}", "kind: is required"),
            (
                r#"{"kind": "trial"}"#,
                "kind: must be one of: test, production",
            ),
            (
                r#"{"rate": 0, "kind": "trial"}"#,
                "rate: must be an integer between 1 and 100000",
            ),
            (
                r#"{"rate": 1.5}"#,
                "rate: must be an integer between 1 and 100000",
            ),
            (
                r#"{"rate": null}"#,
                "rate: must be an integer between 1 and 100000",
            ),
            (
                r#"{"monthly_quota": -1}"#,
                "monthly_quota: must be an integer between 0 and 1000000000000, or null for none",
            ),
            (
                r#"{"max_concurrent_estimates": 1001}"#,
                "max_concurrent_estimates: must be an integer between 1 and 1000",
            ),
            (r#"{"account_id": "x"}"#, "account_id: must be a UUID"),
            (r#"{"account_id": 4}"#, "account_id: must be a string"),
            (r#"{"grants": []}"#, "grants: must hold 1 to 100 items"),
            (r#"{"grants": "ai"}"#, "grants: must be an array"),
            (r#"{"grants": ["ai", 3]}"#, "grants[1]: must be a string"),
            (
                r#"{"grants": ["ai", "admin.usage"], "kind": "test"}"#,
                "grants[1]: must not be admin or one of its endpoints on a test key",
            ),
            (
                r#"{"kind": "test", "scopes": ["ai"]}"#,
                "scopes: unknown field; must be one of: account_id, kind, grants, rate, monthly_quota, \
                 max_concurrent_estimates, name",
            ),
        ];
        for (text, message) in cases {
            assert_eq!(
                parse_key(&body(text), &Limits::default())
                    .unwrap_err()
                    .to_string(),
                message,
                "{text}"
            );
        }
        let fault =
            parse_key(&body(r#"{"grants": ["properties"]}"#), &Limits::default()).unwrap_err();
        let start = "grants[0]: must be one of the scopes: search, refetch,";
        assert!(fault.to_string().starts_with(start), "{fault}");
        let fault = parse_key(
            &body(r#"{"kind": "test", "name": "demo"}"#),
            &Limits::default(),
        )
        .unwrap_err();
        assert_eq!(fault.path, "name");
    }

    #[test]
    fn a_change_names_what_changes() {
        let none = parse_key_change(&json!({}), Kind::Test).unwrap();
        assert_eq!(none, KeyChange::default());
        let text = r#"{"grants": ["admin"], "monthly_quota": null}"#;
        let change = parse_key_change(&body(text), Kind::Production).unwrap();
        assert_eq!(change.monthly_quota, Some(None));
        let admin = Grants::parse("admin").unwrap();
        assert_eq!(change.grants, Some(GrantChange::Set(admin)));
        let fault = parse_key_change(&body(text), Kind::Test).unwrap_err();
        assert_eq!(fault.path, "grants[0]");
        let fault = parse_key_change(&json!({"kind": "test"}), Kind::Test).unwrap_err();
        assert!(
            fault
                .message
                .starts_with("unknown field; must be one of: grants,")
        );
    }

    #[test]
    fn an_account_body_is_a_name() {
        assert_eq!(parse_account(&json!({"name": "a b"})).unwrap(), "a b");
        for (text, message) in [
            ("3", "body: must be an object"),
            ("{}", "name: is required"),
            (r#"{"name": 3}"#, "name: must be a string"),
            (
                r#"{"title": "a"}"#,
                "title: unknown field; must be one of: name",
            ),
        ] {
            assert_eq!(parse_account(&body(text)).unwrap_err().to_string(), message);
        }
        let fault = parse_account(&json!({"name": ""})).unwrap_err();
        assert_eq!(
            (fault.path.as_str(), fault.message.as_str()),
            ("name", account::NAME_RULE)
        );
    }

    #[test]
    fn a_period_is_whole_days_and_the_present_month_unless_told() {
        let today: NaiveDate = "2026-11-21".parse().unwrap();
        let period = |query: &[(&str, &str)]| {
            parse_period(query, today)
                .map(|period| (period.from.to_string(), period.to.to_string()))
        };
        let days = |from: &str, to: &str| Ok((from.to_owned(), to.to_owned()));
        assert_eq!(period(&[]), days("2026-11-01", "2026-11-30"));
        let both = [
            ("from_date", "2024-05-31T23:30:00-01:00"),
            ("to_date", "2024-06-01"),
        ];
        assert_eq!(period(&both), days("2024-06-01", "2024-06-01"));
        assert_eq!(
            period(&[("from_date", "2026-02-10")]),
            days("2026-02-10", "2026-11-30")
        );
        assert_eq!(
            period(&[("from_date", "2027-02-10")]),
            days("2027-02-10", "2027-02-28")
        );
        assert_eq!(
            period(&[("to_date", "2024-02-10")]),
            days("2024-02-01", "2024-02-10")
        );
        for (query, path) in [
            ([("from_date", "2024-02-30"), ("to_date", "x")], "from_date"),
            ([("to_date", ""), ("from_date", "2024-02-01")], "to_date"),
            (
                [("from_date", "2024-02-02"), ("to_date", "2024-02-01")],
                "from_date",
            ),
            ([("from", "2024-02-02"), ("to_date", "2024-02-01")], "from"),
        ] {
            assert_eq!(period(&query).unwrap_err().path, path, "{query:?}");
        }
    }

    #[test]
    fn keys_are_listed_for_one_account_or_all() {
        let id = Uuid::now_v7();
        let none: [(&str, &str); 0] = [];
        assert_eq!(parse_key_list(&none).unwrap(), None);
        assert_eq!(
            parse_key_list(&[("account_id", id.to_string())]).unwrap(),
            Some(id)
        );
        assert_eq!(
            parse_key_list(&[("account_id", "x")]).unwrap_err().path,
            "account_id"
        );
        assert_eq!(parse_key_list(&[("page", "2")]).unwrap_err().path, "page");
    }
}
