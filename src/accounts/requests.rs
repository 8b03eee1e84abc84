//! Parses the operators' requests about accounts, keys and consumption. [`crate::answers`] writes the responses.
//!
//! Bodies are parsed like those of open data: in document order, up to the first fault. Only `monthly_quota` accepts
//! `null`, which means unlimited and is the only way to remove a production key's limit.

use chrono::NaiveDate;
use serde_json::Value;
use uuid::Uuid;

use crate::DEFAULT_ACCOUNT;
use crate::account;
use crate::grants::{Grant, grant_rule};
use crate::key::{
    self, ESTIMATES_MAX, GrantChange, KeyChange, KeyRequest, Kind, MONTHLY_QUOTA_MAX, Owner,
    RATE_PER_S_MAX,
};
use crate::limits::Limits;
use crate::usage::Period;
use toise_contract::dates::{DATE_RULE, Moment};
use toise_contract::fault::Fault;
use toise_contract::walk::{At, list, number_between, object, one_of, text};

/// Fields of the body that creates an account.
pub const ACCOUNT_FIELDS: [&str; 1] = ["name"];
/// Fields of the body that creates a key.
pub const KEY_FIELDS: [&str; 7] = [
    "account_id",
    "kind",
    "grants",
    "rate",
    "monthly_quota",
    "max_concurrent_estimates",
    "name",
];
/// Fields of the body that changes a key.
pub const KEY_CHANGE_FIELDS: [&str; 5] = [
    "grants",
    "rate",
    "monthly_quota",
    "max_concurrent_estimates",
    "name",
];
/// Query parameters of a period.
pub const PERIOD_PARAMETERS: [&str; 2] = ["from_date", "to_date"];
/// Maximum grants in one body.
pub const GRANTS_MAX: usize = 100;

const ADMIN_ON_TEST_KEY: &str = "must not be admin or one of its endpoints on a test key";
const UUID_RULE: &str = "must be a UUID";

/// Parses the body that creates an account and returns the name.
pub fn parse_account(body: &Value) -> Result<String, Fault> {
    let at = At::Body;
    let mut name = None;
    for (key, value) in object(body, at)? {
        if key != "name" {
            return Err(at.unknown_key(key, ACCOUNT_FIELDS));
        }
        let here = At::Key(&at, key);
        let text = text(value, here)?;
        if !account::is_name(text) {
            return Err(here.fault(account::NAME_RULE));
        }
        name = Some(text.to_owned());
    }
    name.ok_or_else(|| At::Key(&at, "name").fault("is required"))
}

/// Parses the body that creates a key; missing limits are taken from `limits`.
pub fn parse_key(body: &Value, limits: &Limits) -> Result<KeyRequest, Fault> {
    let at = At::Body;
    let (mut owner, mut kind, mut change) = (None, None, KeyChange::default());
    let mut listed = Vec::new();
    for (key, value) in object(body, at)? {
        let here = At::Key(&at, key);
        match key.as_str() {
            "account_id" => owner = Some(Owner::Id(uuid(value, here)?)),
            "kind" => kind = Some(parse_kind(value, here)?),
            "grants" => listed = grants(value, here)?,
            _ => set(&mut change, key, value, here, &KEY_FIELDS)?,
        }
    }
    let kind = kind.ok_or_else(|| At::Key(&at, "kind").fault("is required"))?;
    if kind == Kind::Test {
        refuse_admin(&listed)?;
    }
    let mut request = KeyRequest::new(
        kind,
        owner.unwrap_or_else(|| Owner::Named(DEFAULT_ACCOUNT.to_owned())),
        limits,
    );
    request.name = change.name;
    request.grants = (!listed.is_empty()).then(|| listed.into_iter().collect());
    let allowance = &mut request.allowance;
    allowance.rate_per_s = change.rate_per_s.unwrap_or(allowance.rate_per_s);
    allowance.monthly_quota = change.monthly_quota.unwrap_or(allowance.monthly_quota);
    allowance.estimates_max = change.estimates_max.unwrap_or(allowance.estimates_max);
    Ok(request)
}

/// Parses the body that changes a key of a known kind.
pub fn parse_key_change(body: &Value, kind: Kind) -> Result<KeyChange, Fault> {
    let at = At::Body;
    let mut change = KeyChange::default();
    for (key, value) in object(body, at)? {
        let here = At::Key(&at, key);
        if key == "grants" {
            let listed = grants(value, here)?;
            if kind == Kind::Test {
                refuse_admin(&listed)?;
            }
            change.grants = Some(GrantChange::Set(listed.into_iter().collect()));
        } else {
            set(&mut change, key, value, here, &KEY_CHANGE_FIELDS)?;
        }
    }
    Ok(change)
}

/// Parses a field that exists both when creating and when changing a key.
fn set(
    change: &mut KeyChange,
    key: &str,
    value: &Value,
    at: At<'_>,
    known: &[&'static str],
) -> Result<(), Fault> {
    let count = |greatest: u32| {
        number_between(value, 1.0, f64::from(greatest), true, at).map(|count| count as u32)
    };
    match key {
        "rate" => change.rate_per_s = Some(count(RATE_PER_S_MAX)?),
        "max_concurrent_estimates" => change.estimates_max = Some(count(ESTIMATES_MAX)?),
        "monthly_quota" => change.monthly_quota = Some(quota(value, at)?),
        "name" => {
            let name = text(value, at)?;
            if !key::is_name(name) {
                return Err(at.fault(key::NAME_RULE));
            }
            change.name = Some(name.to_owned());
        }
        _ => return Err(At::Body.unknown_key(key, known.iter().copied())),
    }
    Ok(())
}

fn quota(value: &Value, at: At<'_>) -> Result<Option<u64>, Fault> {
    if value.is_null() {
        return Ok(None);
    }
    let calls = number_between(value, 0.0, MONTHLY_QUOTA_MAX as f64, true, at)
        .map_err(|fault| Fault::new(fault.path, format!("{}, or null for none", fault.message)))?;
    Ok(Some(calls as u64))
}

fn parse_kind(value: &Value, at: At<'_>) -> Result<Kind, Fault> {
    let name = one_of(value, &Kind::ALL.map(Kind::as_str), at)?;
    let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == name);
    kind.ok_or_else(|| at.fault("must be a kind of key"))
}

fn uuid(value: &Value, at: At<'_>) -> Result<Uuid, Fault> {
    Uuid::try_parse(text(value, at)?).map_err(|_| at.fault(UUID_RULE))
}

fn grants(value: &Value, at: At<'_>) -> Result<Vec<Grant>, Fault> {
    let items = list(value, at)?;
    if items.is_empty() || items.len() > GRANTS_MAX {
        return Err(at.fault(format!("must hold 1 to {GRANTS_MAX} items")));
    }
    items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let here = At::Index(&at, index);
            text(item, here)?
                .parse()
                .map_err(|_| here.fault(grant_rule()))
        })
        .collect()
}

fn refuse_admin(listed: &[Grant]) -> Result<(), Fault> {
    let at = At::Body;
    let grants = At::Key(&at, "grants");
    match listed.iter().position(|grant| grant.is_admin()) {
        Some(index) => Err(At::Index(&grants, index).fault(ADMIN_ON_TEST_KEY)),
        None => Ok(()),
    }
}

/// Parses the query of a report: `from_date` and `to_date`, both inclusive. A date-time stands for its day in UTC. A
/// missing bound is the first or last day of the other bound's month; without both, the period is the current month.
pub fn parse_period<K: AsRef<str>, V: AsRef<str>>(
    query: &[(K, V)],
    today: NaiveDate,
) -> Result<Period, Fault> {
    let at = At::Body;
    let (mut from, mut to) = (None, None);
    for (key, value) in query {
        let here = At::Key(&at, key.as_ref());
        let bound = match key.as_ref() {
            "from_date" => &mut from,
            "to_date" => &mut to,
            key => return Err(unknown_parameter(key, &PERIOD_PARAMETERS)),
        };
        let moment = Moment::parse(value.as_ref()).ok_or_else(|| here.fault(DATE_RULE))?;
        *bound = Some(match moment {
            Moment::Day(day) => day,
            Moment::Instant(instant) => instant.date_naive(),
        });
    }
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
        return Err(At::Key(&at, "from_date").fault("must not be after to_date"));
    }
    Ok(period)
}

/// Parses the query of the list of keys: the optional `account_id` that restricts it to one account.
pub fn parse_key_list<K: AsRef<str>, V: AsRef<str>>(
    query: &[(K, V)],
) -> Result<Option<Uuid>, Fault> {
    let mut account_id = None;
    for (key, value) in query {
        if key.as_ref() != "account_id" {
            return Err(unknown_parameter(key.as_ref(), &["account_id"]));
        }
        let id = Uuid::try_parse(value.as_ref())
            .map_err(|_| At::Key(&At::Body, "account_id").fault(UUID_RULE))?;
        account_id = Some(id);
    }
    Ok(account_id)
}

fn unknown_parameter(name: &str, known: &[&str]) -> Fault {
    At::Key(&At::Body, name).fault(format!(
        "unknown parameter; must be one of: {}",
        known.join(", ")
    ))
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
    fn a_key_body_uses_the_defaults_of_its_kind() {
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
    fn the_first_fault_of_a_key_body_is_reported_with_the_allowed_values() {
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
    fn a_change_contains_only_the_given_fields() {
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
