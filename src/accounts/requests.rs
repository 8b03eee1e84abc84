//! Parses the operators' requests about accounts, keys and consumption. [`crate::json`] writes the responses.
//!
//! In `monthly_quota` and the SQL limits, `null` means unlimited; this is the only way to remove the limit of a
//! production key. In other fields, `null` means that the field is absent.

mod tables;

use chrono::{DateTime, NaiveDate, Utc};
use serde_json::Value;
use uuid::Uuid;

use crate::DEFAULT_ACCOUNT;
use crate::grants::Grant;
use crate::key::{GrantChange, KeyChange, KeyKind, KeyRequest, Owner};
use crate::limits::KeyLimits;
use crate::sql_limits::SqlLimitsChange;
use crate::usage::DayRange;
pub use tables::{
    ACCOUNT, AUDIT, AUDIT_TAKEN, GRANTS_MAX, KEY, KEY_CHANGE, KEY_LIST, KIND, PERIOD, grant_schema,
};
use toise_base::networks::Networks;
use toise_contract::dates::DateOrInstant;
use toise_contract::fault::Fault;
use toise_contract::fields::{Values, read, read_change, read_query};
use toise_contract::walk::JsonPath;

const ADMIN_ON_TEST_KEY: &str = "must not be admin or one of its endpoints on a test key";

/// Parses the body that creates an account, and returns the name.
pub fn parse_account(body: &Value) -> Result<String, Fault> {
    read(body, &ACCOUNT, JsonPath::Body)?.require("name")
}

/// Parses the body that creates a key. Missing limits are taken from `limits`.
pub fn parse_key(body: &Value, limits: &KeyLimits) -> Result<KeyRequest, Fault> {
    let mut values = read(body, &KEY, JsonPath::Body)?;
    let kind = take_kind(&mut values)?;
    let listed = grants(&mut values);
    if kind == KeyKind::Test {
        refuse_admin(listed.as_deref().unwrap_or_default())?;
    }
    let owner = match values.take("account_id") {
        Some(id) => Owner::Id(id),
        None => Owner::Named(DEFAULT_ACCOUNT.to_owned()),
    };
    let mut request = KeyRequest::new(kind, owner, limits);
    request.name = values.take("name");
    request.expires_at = expiry(&mut values);
    request.allowed_from = networks(&mut values)?.flatten();
    request.grants = listed.map(|listed| listed.into_iter().collect());
    let allowance = &mut request.allowance;
    allowance.rate_per_s = values.take("rate").unwrap_or(allowance.rate_per_s);
    allowance.monthly_quota = values
        .take("monthly_quota")
        .unwrap_or(allowance.monthly_quota);
    allowance.estimates_max = values
        .take("max_concurrent_estimates")
        .unwrap_or(allowance.estimates_max);
    allowance.sql = allowance.sql.changed(sql_limits(&mut values));
    Ok(request)
}

/// Parses the body that changes a key of a known kind.
pub fn parse_key_change(body: &Value, kind: KeyKind) -> Result<KeyChange, Fault> {
    let mut values = read_change(body, &KEY_CHANGE, JsonPath::Body)?;
    let listed = grants(&mut values);
    if kind == KeyKind::Test {
        refuse_admin(listed.as_deref().unwrap_or_default())?;
    }
    Ok(KeyChange {
        grants: listed.map(|listed| GrantChange::Set(listed.into_iter().collect())),
        rate_per_s: values.take("rate"),
        monthly_quota: values.take("monthly_quota"),
        estimates_max: values.take("max_concurrent_estimates"),
        sql: sql_limits(&mut values),
        name: values.take("name"),
        expires_at: expiry(&mut values).map(Some),
        allowed_from: networks(&mut values)?,
        within: None,
    })
}

fn sql_limits(values: &mut Values<'_>) -> SqlLimitsChange {
    let Some(mut limits) = values.take::<Values<'_>>("sql_limits") else {
        return SqlLimitsChange::default();
    };
    SqlLimitsChange {
        rows: limits.take("rows"),
        bytes: limits.take("bytes"),
        memory_mib: limits.take("memory_mib"),
        time_s: limits.take("time_s"),
        concurrent: limits.take("concurrent"),
    }
}

/// Takes the expiry time. A date without time means the end of that day.
fn expiry(values: &mut Values<'_>) -> Option<DateTime<Utc>> {
    let asked: Option<DateOrInstant> = values.take("expires_at");
    DateTime::from_timestamp_millis(asked?.last_millisecond())
}

/// Takes the networks of a body: `None` if absent, `Some(None)` for an empty list.
fn networks(values: &mut Values<'_>) -> Result<Option<Option<Networks>>, Fault> {
    let Some(listed) = values.take::<Vec<String>>("allowed_from") else {
        return Ok(None);
    };
    let networks = Networks::parse(&listed.join(",")).map_err(|wrong| {
        let rule =
            format!("must be addresses or networks such as 10.0.0.0/8; {wrong:?} is neither");
        JsonPath::Key(&JsonPath::Body, "allowed_from").fault(rule)
    })?;
    Ok(Some((!networks.is_empty()).then_some(networks)))
}

fn take_kind(values: &mut Values<'_>) -> Result<KeyKind, Fault> {
    let kind = values.word("kind").and_then(KeyKind::parse);
    kind.ok_or_else(|| Fault::new("kind", "is required"))
}

fn grants(values: &mut Values<'_>) -> Option<Vec<Grant>> {
    let listed: Vec<String> = values.take("grants")?;
    Some(listed.iter().filter_map(|name| name.parse().ok()).collect())
}

fn refuse_admin(listed: &[Grant]) -> Result<(), Fault> {
    let at = JsonPath::Body;
    let grants = JsonPath::Key(&at, "grants");
    match listed.iter().position(|grant| grant.is_admin()) {
        Some(index) => Err(JsonPath::Index(&grants, index).fault(ADMIN_ON_TEST_KEY)),
        None => Ok(()),
    }
}

/// Parses the query of a report: `from_date` and `to_date`, both inclusive. A date-time means its day in UTC. A missing
/// bound is the first or last day of the other bound's month; without both, the period is the current month.
pub fn parse_period<K: AsRef<str>, V: AsRef<str>>(
    query: &[(K, V)],
    today: NaiveDate,
) -> Result<DayRange, Fault> {
    let mut values = read_query(query, &PERIOD)?;
    let from = values.take("from_date").map(DateOrInstant::day);
    let to = values.take("to_date").map(DateOrInstant::day);
    let period = match (from, to) {
        (None, None) => DayRange::month_of(today),
        (Some(from), None) => DayRange {
            from,
            to: DayRange::month_of(today.max(from)).to,
        },
        (None, Some(to)) => DayRange {
            from: DayRange::month_of(to).from,
            to,
        },
        (Some(from), Some(to)) => DayRange { from, to },
    };
    if period.from > period.to {
        return Err(JsonPath::Key(&JsonPath::Body, "from_date").fault("must not be after to_date"));
    }
    Ok(period)
}

/// Parses the query of the audit log. Returns the number before which entries are read, and how many to return.
pub fn parse_audit<K: AsRef<str>, V: AsRef<str>>(
    query: &[(K, V)],
) -> Result<(Option<i64>, usize), Fault> {
    let mut values = read_query(query, &AUDIT)?;
    let before: Option<u64> = values.take("before");
    let before = before.map(|before| i64::try_from(before).unwrap_or(i64::MAX));
    Ok((before, values.take("take").unwrap_or(AUDIT_TAKEN)))
}

/// Parses the query of the list of keys: the optional `account_id` that restricts it to one account.
pub fn parse_key_list<K: AsRef<str>, V: AsRef<str>>(
    query: &[(K, V)],
) -> Result<Option<Uuid>, Fault> {
    Ok(read_query(query, &KEY_LIST)?.take("account_id"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::account;
    use crate::grants::Grants;
    use crate::key::Allowance;
    use crate::sql_limits::SqlLimits;
    use toise_store::new_id::NewId;

    fn body(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_key_body_uses_the_defaults_of_its_kind() {
        let request = parse_key(&body(r#"{"kind": "test"}"#), &KeyLimits::default()).unwrap();
        let owner = Owner::Named(DEFAULT_ACCOUNT.to_owned());
        assert_eq!(
            request,
            KeyRequest::new(KeyKind::Test, owner, &KeyLimits::default())
        );
        let id = Uuid::now_v7();
        let limits = KeyLimits::default();
        let described = json!({
            "account_id": id, "kind": "production", "grants": ["ai", "properties.search"], "rate": 7,
            "monthly_quota": 0, "max_concurrent_estimates": 3, "name": "partner",
            "sql_limits": {"rows": 100, "time_s": null},
            "expires_at": "2027-01-31", "allowed_from": ["10.0.0.0/8", "192.0.2.7"],
        });
        let request = parse_key(&described, &limits).unwrap();
        let expected = KeyRequest {
            id: NewId::Random,
            owner: Owner::Id(id),
            name: Some("partner".into()),
            kind: KeyKind::Production,
            grants: Some(Grants::parse("ai,properties.search").unwrap()),
            allowance: Allowance {
                rate_per_s: 7,
                monthly_quota: Some(0),
                estimates_max: 3,
                sql: SqlLimits {
                    rows: Some(100),
                    ..SqlLimits::default()
                },
            },
            expires_at: DateTime::from_timestamp_millis(1_801_439_999_999),
            allowed_from: Networks::parse("10.0.0.0/8,192.0.2.7").ok(),
            within: None,
        };
        assert_eq!(request, expected);
        let unbounded = parse_key(
            &body(r#"{"kind": "test", "monthly_quota": null}"#),
            &KeyLimits::default(),
        )
        .unwrap();
        assert_eq!(unbounded.allowance.monthly_quota, None);
    }

    #[test]
    fn the_first_fault_of_a_key_body_is_reported_with_the_allowed_values() {
        #[rustfmt::skip]
        let cases = [
            ("[]", "body: must be an object"),
            ("{}", "kind: is required"),
            (r#"{"kind": "trial"}"#, "kind: must be one of: test, production"),
            (r#"{"rate": 0, "kind": "trial"}"#, "rate: must be an integer between 1 and 100000"),
            (r#"{"rate": 1.5}"#, "rate: must be an integer between 1 and 100000"),
            (r#"{"rate": null}"#, "kind: is required"),
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
                 max_concurrent_estimates, sql_limits, name, expires_at, allowed_from",
            ),
        ];
        for (text, message) in cases {
            assert_eq!(
                parse_key(&body(text), &KeyLimits::default())
                    .unwrap_err()
                    .to_string(),
                message,
                "{text}"
            );
        }
        let fault = parse_key(
            &body(r#"{"grants": ["properties"]}"#),
            &KeyLimits::default(),
        )
        .unwrap_err();
        let start = "grants[0]: must be one of the scopes: search, refetch,";
        assert!(fault.to_string().starts_with(start), "{fault}");
        let fault = parse_key(
            &body(r#"{"kind": "test", "name": "demo"}"#),
            &KeyLimits::default(),
        )
        .unwrap_err();
        assert_eq!(fault.path, "name");
    }

    #[test]
    fn a_change_contains_only_the_given_fields() {
        let none = parse_key_change(&json!({}), KeyKind::Test).unwrap();
        assert_eq!(none, KeyChange::default());
        let nulls = json!({
            "grants": null, "rate": null, "max_concurrent_estimates": null, "sql_limits": null, "name": null,
            "expires_at": null, "allowed_from": null,
        });
        assert_eq!(
            parse_key_change(&nulls, KeyKind::Test).unwrap(),
            KeyChange::default()
        );
        let text = r#"{"grants": ["admin"], "monthly_quota": null}"#;
        let change = parse_key_change(&body(text), KeyKind::Production).unwrap();
        assert_eq!(change.monthly_quota, Some(None));
        let admin = Grants::parse("admin").unwrap();
        assert_eq!(change.grants, Some(GrantChange::Set(admin)));
        let fault = parse_key_change(&body(text), KeyKind::Test).unwrap_err();
        assert_eq!(fault.path, "grants[0]");
        let fault = parse_key_change(&json!({"kind": "test"}), KeyKind::Test).unwrap_err();
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
    fn a_period_is_whole_days_and_by_default_the_current_month() {
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
