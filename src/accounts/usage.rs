//! Consumption of accounts and keys per day, read from the totals in the ledger and the store.

use chrono::{Datelike, Days, Months, NaiveDate};
use rusqlite::{Connection, Row};
use uuid::Uuid;

use toise_store::columns::uuid;
use toise_store::{self as store, Store};

/// A range of days, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayRange {
    /// First day, UTC.
    pub from: NaiveDate,
    /// Last day, UTC.
    pub to: NaiveDate,
}

impl DayRange {
    /// Returns the month that contains a day.
    pub fn month_of(day: NaiveDate) -> Self {
        let from = day.with_day(1).unwrap_or(day);
        let to = from
            .checked_add_months(Months::new(1))
            .and_then(|next| next.checked_sub_days(Days::new(1)))
            .unwrap_or(day);
        Self { from, to }
    }
}

/// The scope of a consumption report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageScope {
    /// All accounts.
    All,
    /// One account.
    Account(Uuid),
    /// One key.
    Key(Uuid),
}

/// Consumption of one type by one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Account that owns the key.
    pub account_id: Uuid,
    /// The key.
    pub key_id: Uuid,
    /// Type of consumption.
    pub consumption: String,
    /// Credits charged.
    pub credits: u64,
    /// Calls counted.
    pub calls: u64,
}

/// Consumption of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeUsage {
    /// Type of consumption.
    pub consumption: String,
    /// Credits charged.
    pub credits: u64,
    /// Calls counted.
    pub calls: u64,
}

/// Consumption of one type on one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayUsage {
    /// The day, UTC: `YYYY-MM-DD`.
    pub day: String,
    /// Consumption of one type on that day.
    pub usage: TypeUsage,
}

/// Returns the consumption of an account by day and type, oldest first. Sums calls from the ledger and deliveries from
/// the store. Days without consumption are omitted. Blocks.
pub fn by_day(store: &Store, account: Uuid, period: DayRange) -> store::Result<Vec<DayUsage>> {
    let read = |connection: &Connection| -> rusqlite::Result<Vec<DayUsage>> {
        connection
            .prepare_cached(
                "SELECT day, type, sum(credits), sum(calls) FROM consumption
                 WHERE day BETWEEN ?1 AND ?2 AND account_id = ?3 GROUP BY day, type",
            )?
            .query_map(
                (
                    period.from.to_string(),
                    period.to.to_string(),
                    account.to_string(),
                ),
                |row| {
                    let usage = TypeUsage {
                        consumption: row.get(1)?,
                        credits: row.get::<_, i64>(2)?.unsigned_abs(),
                        calls: row.get::<_, i64>(3)?.unsigned_abs(),
                    };
                    Ok(DayUsage {
                        day: row.get(0)?,
                        usage,
                    })
                },
            )?
            .collect()
    };
    let mut days = store.ledger().read(read)?;
    days.extend(store.read(read)?);
    let key = |one: &DayUsage| (one.day.clone(), one.usage.consumption.clone());
    days.sort_by_cached_key(key);
    days.dedup_by(|later, kept| {
        let is_same = key(later) == key(kept);
        if is_same {
            kept.usage.credits += later.usage.credits;
            kept.usage.calls += later.usage.calls;
        }
        is_same
    });
    Ok(days)
}

/// Returns consumption by account, key and type. Sums calls from the ledger and deliveries from the store. Blocks.
pub fn by_key(store: &Store, consumer: UsageScope, period: DayRange) -> store::Result<Vec<Usage>> {
    let read = |connection: &Connection| read(connection, consumer, period);
    let mut usage = store.ledger().read(read)?;
    usage.extend(store.read(read)?);
    let named = |part: &Usage| (part.account_id, part.key_id, part.consumption.clone());
    usage.sort_by_cached_key(named);
    usage.dedup_by(|later, kept| {
        let is_same = named(later) == named(kept);
        if is_same {
            kept.credits += later.credits;
            kept.calls += later.calls;
        }
        is_same
    });
    Ok(usage)
}

fn read(
    connection: &Connection,
    consumer: UsageScope,
    period: DayRange,
) -> rusqlite::Result<Vec<Usage>> {
    let (condition, id) = match consumer {
        UsageScope::All => ("?3 IS NULL", None),
        UsageScope::Account(id) => ("account_id = ?3", Some(id.to_string())),
        UsageScope::Key(id) => ("key_id = ?3", Some(id.to_string())),
    };
    connection
        .prepare_cached(&format!(
            "SELECT account_id, key_id, type, sum(credits), sum(calls) FROM consumption
             WHERE day BETWEEN ?1 AND ?2 AND {condition}
             GROUP BY account_id, key_id, type ORDER BY account_id, key_id, type"
        ))?
        .query_map((period.from.to_string(), period.to.to_string(), id), usage)?
        .collect()
}

fn usage(row: &Row<'_>) -> rusqlite::Result<Usage> {
    Ok(Usage {
        account_id: uuid(row, 0)?,
        key_id: uuid(row, 1)?,
        consumption: row.get(2)?,
        credits: row.get::<_, i64>(3)?.unsigned_abs(),
        calls: row.get::<_, i64>(4)?.unsigned_abs(),
    })
}

/// Returns sums by type, sorted by the name of the type.
pub fn by_type<'u>(usage: impl IntoIterator<Item = &'u Usage>) -> Vec<TypeUsage> {
    let mut types: Vec<TypeUsage> = Vec::new();
    for part in usage {
        match types.binary_search_by(|known| known.consumption.cmp(&part.consumption)) {
            Ok(index) => {
                types[index].credits += part.credits;
                types[index].calls += part.calls;
            }
            Err(index) => types.insert(
                index,
                TypeUsage {
                    consumption: part.consumption.clone(),
                    credits: part.credits,
                    calls: part.calls,
                },
            ),
        }
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    #[test]
    fn a_month_has_all_its_days() {
        for (day_in, from, to) in [
            ("2026-11-21", "2026-11-01", "2026-11-30"),
            ("2024-02-29", "2024-02-01", "2024-02-29"),
            ("2026-12-31", "2026-12-01", "2026-12-31"),
        ] {
            let expected = DayRange {
                from: day(from),
                to: day(to),
            };
            assert_eq!(DayRange::month_of(day(day_in)), expected);
        }
    }

    #[test]
    fn consumption_is_summed_by_consumer_type_and_day() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let [account, other, first, second, third] = [(); 5].map(|()| Uuid::now_v7());
        // Some rows are in only one of the two files; for one key and day, there are rows in both.
        for (nth, (account, key, kind, day, credits, calls)) in [
            (account, first, "API_B", "2026-10-31", 100, 100),
            (account, first, "API_B", "2026-11-01", 1, 1),
            (account, first, "API_B", "2026-11-30", 1, 1),
            (account, first, "API_B", "2026-11-30", 1, 2),
            (account, first, "API_A", "2026-11-02", 0, 7),
            (account, second, "API_B", "2026-11-02", 10, 10),
            (account, first, "API_B", "2026-12-01", 100, 100),
            (other, third, "API_B", "2026-11-02", 500, 500),
        ]
        .into_iter()
        .enumerate()
        {
            let insert = move |transaction: &rusqlite::Transaction<'_>| {
                let (account, key) = (account.to_string(), key.to_string());
                transaction.execute(
                    "INSERT INTO consumption (account_id, key_id, type, day, credits, calls)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    (account, key, kind, day, credits, calls),
                )
            };
            match nth % 2 {
                0 => store.write(insert).unwrap(),
                _ => store.ledger().write(insert).unwrap(),
            };
        }
        let november = DayRange::month_of(day("2026-11-15"));
        let totals = |consumer| {
            let usage = by_key(&store, consumer, november).unwrap();
            by_type(&usage)
                .into_iter()
                .map(|total| (total.consumption, total.credits, total.calls))
                .collect::<Vec<_>>()
        };
        let of_account = [("API_A".to_owned(), 0, 7), ("API_B".to_owned(), 13, 14)];
        assert_eq!(totals(UsageScope::Account(account)), of_account);
        let of_first = [("API_A".to_owned(), 0, 7), ("API_B".to_owned(), 3, 4)];
        assert_eq!(totals(UsageScope::Key(first)), of_first);
        assert_eq!(totals(UsageScope::All)[1], ("API_B".to_owned(), 513, 514));
        assert_eq!(totals(UsageScope::Account(Uuid::now_v7())), []);
        let days: Vec<(String, String, u64, u64)> = by_day(&store, account, november)
            .unwrap()
            .into_iter()
            .map(|DayUsage { day, usage }| (day, usage.consumption, usage.credits, usage.calls))
            .collect();
        let expected = [
            ("2026-11-01", "API_B", 1, 1),
            ("2026-11-02", "API_A", 0, 7),
            ("2026-11-02", "API_B", 10, 10),
            ("2026-11-30", "API_B", 2, 3),
        ];
        let expected =
            expected.map(|(day, kind, credits, calls)| (day.into(), kind.into(), credits, calls));
        assert_eq!(days, expected);
    }
}
