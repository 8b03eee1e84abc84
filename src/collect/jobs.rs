//! Jobs in the store: pages to be collected, so that none is lost whatever ends the process.
//!
//! A job waits until it is due, is leased while it runs, and ends with its outcome in one transaction. A lease that runs
//! out, or whose process died, makes the job due again: its page is then fetched once more, which does no harm.

use rusqlite::{Connection, OptionalExtension, Row, Transaction};
use serde::Serialize;
use uuid::Uuid;

use super::moment;
use super::rejected::Rejected;
use toise_contract::listings::codes::Timestamp;
use toise_listings::adverts::identity::UrlDigest;
use toise_net::fetch::Trail;

/// Days that ended jobs are kept.
const KEPT_DAYS: i64 = 7;
/// Days after which an address that leads to another's listing is looked at again.
const ALIAS_DAYS: i64 = 30;
/// Rejections remembered, and addresses that lead to another's listing; past it the oldest are forgotten.
const REMEMBERED_MAX: i64 = 1_000_000;
const DAY_MS: i64 = 24 * 3_600_000;

/// Why a page is collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Someone asked for it.
    Url,
    /// A known advert is looked at again.
    Check,
}

impl Kind {
    /// As the store has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Url => "url",
            Kind::Check => "check",
        }
    }
}

/// A job to make.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Its identifier.
    pub id: Uuid,
    /// Who asked.
    pub account: Uuid,
    /// Why.
    pub kind: Kind,
    /// Digest of what identifies the address.
    pub digest: UrlDigest,
    /// The address.
    pub url: String,
    /// Its host.
    pub host: String,
}

/// A job that is due.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its number.
    pub number: i64,
    /// What it is to do.
    pub what: NewJob,
    /// When it is to be tried, Unix milliseconds.
    pub due_at_ms: i64,
    /// How often it was tried before.
    pub attempts: u32,
    /// How far this attempt has come.
    pub trail: Trail,
}

impl Job {
    /// The host that is asked next.
    pub fn host(&self) -> &str {
        self.trail.host().unwrap_or(&self.what.host)
    }
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The advert under this digest was taken.
    Collected(UrlDigest),
    /// The page was no listing; why.
    Rejected(Rejected),
}

/// What an attempt came to.
#[derive(Clone, Debug)]
pub enum Attempt {
    /// The job ended.
    Ended {
        /// How.
        ended: Ended,
        /// JSON: where each field was found.
        origins: Option<String>,
        /// Until when a rejection is remembered, Unix milliseconds.
        remembered_until_ms: i64,
    },
    /// It goes on at another host, when it is its turn there.
    Elsewhere(Trail),
    /// It is to be tried again.
    Again {
        /// When, Unix milliseconds.
        due_at_ms: i64,
        /// What went wrong.
        reason: String,
    },
}

/// Inserts a job, due now; `false` when its account has as many waiting as it may.
pub fn insert(
    transaction: &Transaction<'_>,
    job: &NewJob,
    now_ms: i64,
    waiting_max: u64,
) -> rusqlite::Result<bool> {
    let waiting: i64 = transaction
        .prepare_cached(
            "SELECT count(*) FROM jobs WHERE account_id = ?1 AND due_at_ms IS NOT NULL",
        )?
        .query_row([job.account.as_bytes()], |row| row.get(0))?;
    if waiting as u64 >= waiting_max {
        return Ok(false);
    }
    transaction
        .prepare_cached(
            "INSERT INTO jobs (job_id, account_id, kind, url_digest, url, host, created_at_ms, due_at_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)",
        )?
        .execute((
            job.id.as_bytes(),
            job.account.as_bytes(),
            job.kind.as_str(),
            job.digest,
            &job.url,
            &job.host,
            now_ms,
        ))?;
    Ok(true)
}

/// Whether a check of an address waits already: one under way may have read its page before this was asked.
pub fn check_waits(connection: &Connection, digest: &UrlDigest) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM jobs WHERE url_digest = ?1 AND kind = 'check' AND due_at_ms IS NOT NULL
               AND lease_until_ms IS NULL)",
        )?
        .query_row([digest], |row| row.get(0))
}

/// Jobs of an account for an address that somebody asked for and that have not ended, the oldest first.
pub fn waiting_for(
    connection: &Connection,
    account: Uuid,
    digest: &UrlDigest,
) -> rusqlite::Result<Vec<Uuid>> {
    let sql = "SELECT job_id FROM jobs WHERE url_digest = ?1 AND account_id = ?2 AND kind = 'url'
         AND due_at_ms IS NOT NULL ORDER BY job";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((digest, account.as_bytes()), |row| id(row, 0))?;
    rows.collect()
}

/// Jobs after a number, the oldest `limit` of them, that have not ended.
pub fn after(connection: &Connection, number: i64, limit: usize) -> rusqlite::Result<Vec<Job>> {
    let sql =
        "SELECT job, job_id, account_id, kind, url_digest, url, host, due_at_ms, attempts FROM jobs
         WHERE job > ?1 AND due_at_ms IS NOT NULL ORDER BY job LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((number, limit as i64), |row| {
        let kind: String = row.get(3)?;
        Ok(Job {
            number: row.get(0)?,
            what: NewJob {
                id: id(row, 1)?,
                account: id(row, 2)?,
                kind: if kind == Kind::Url.as_str() {
                    Kind::Url
                } else {
                    Kind::Check
                },
                digest: row.get(4)?,
                url: row.get(5)?,
                host: row.get(6)?,
            },
            due_at_ms: row.get(7)?,
            attempts: row.get(8)?,
            trail: Trail::default(),
        })
    })?;
    rows.collect()
}

/// Leases jobs that begin; one that goes on at another host is the same attempt.
pub fn lease(transaction: &Transaction<'_>, jobs: &[Job], until_ms: i64) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(
        "UPDATE jobs SET lease_until_ms = ?2, attempts = attempts + ?3 WHERE job = ?1 AND due_at_ms IS NOT NULL",
    )?;
    for job in jobs {
        let is_new = job.trail.host().is_none();
        statement.execute((job.number, until_ms, is_new))?;
    }
    Ok(())
}

/// Stores what an attempt came to.
pub fn record(
    transaction: &Transaction<'_>,
    job: &Job,
    attempt: &Attempt,
    now_ms: i64,
) -> rusqlite::Result<()> {
    let (ended, origins, until_ms) = match attempt {
        Attempt::Elsewhere(_) => return Ok(()),
        Attempt::Again { due_at_ms, reason } => {
            transaction
                .prepare_cached("UPDATE jobs SET lease_until_ms = NULL, due_at_ms = ?2, reason = ?3 WHERE job = ?1")?
                .execute((job.number, due_at_ms, reason))?;
            return Ok(());
        }
        Attempt::Ended {
            ended,
            origins,
            remembered_until_ms,
        } => (ended, origins, *remembered_until_ms),
    };
    let digest = &job.what.digest;
    let (outcome, reason) = match ended {
        Ended::Collected(_) => ("collected", None),
        Ended::Rejected(reason) => ("rejected", Some(reason.as_str())),
    };
    transaction
        .prepare_cached(
            "UPDATE jobs SET lease_until_ms = NULL, due_at_ms = NULL, ended_at_ms = ?2, outcome = ?3, reason = ?4,
               origins = ?5 WHERE job = ?1",
        )?
        .execute((job.number, now_ms, outcome, reason, origins))?;
    match ended {
        Ended::Collected(target) => {
            transaction
                .prepare_cached("DELETE FROM rejections WHERE url_digest = ?1")?
                .execute([digest])?;
            transaction
                .prepare_cached("DELETE FROM url_aliases WHERE url_digest = ?1")?
                .execute([digest])?;
            if target != digest {
                transaction
                    .prepare_cached(
                        "INSERT INTO url_aliases (url_digest, target_digest, found_at_ms) VALUES (?1, ?2, ?3)",
                    )?
                    .execute((digest, target, now_ms))?;
            }
        }
        Ended::Rejected(reason) => {
            transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO rejections (url_digest, reason, rejected_at_ms, until_ms)
                     VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute((digest, reason.as_str(), now_ms, until_ms))?;
        }
    }
    Ok(())
}

/// How a job ended; `None` while it has not, and when there is none.
pub fn ending(connection: &Connection, job: Uuid) -> rusqlite::Result<Option<Ended>> {
    let sql = "SELECT outcome, reason, coalesce(target_digest, jobs.url_digest) FROM jobs
         LEFT JOIN url_aliases ON url_aliases.url_digest = jobs.url_digest
         WHERE job_id = ?1 AND ended_at_ms IS NOT NULL";
    connection
        .prepare_cached(sql)?
        .query_row([job.as_bytes()], |row| {
            let outcome: String = row.get(0)?;
            Ok(match outcome == "collected" {
                true => Ended::Collected(row.get(2)?),
                false => Ended::Rejected(Rejected::stored(
                    row.get::<_, Option<String>>(1)?.unwrap_or_default(),
                )),
            })
        })
        .optional()
}

/// The rejection of an address that is remembered, and when it was.
pub fn rejection(
    connection: &Connection,
    digest: &UrlDigest,
    now_ms: i64,
) -> rusqlite::Result<Option<(Rejected, i64)>> {
    connection
        .prepare_cached(
            "SELECT reason, rejected_at_ms FROM rejections WHERE url_digest = ?1 AND until_ms > ?2",
        )?
        .query_row((digest, now_ms), |row| {
            Ok((Rejected::stored(row.get(0)?), row.get(1)?))
        })
        .optional()
}

/// The digest an address leads to, its own where it is no alias.
pub fn target(connection: &Connection, digest: &UrlDigest) -> rusqlite::Result<UrlDigest> {
    let found = connection
        .prepare_cached("SELECT target_digest FROM url_aliases WHERE url_digest = ?1")?
        .query_row([digest], |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or(*digest))
}

/// Removes what is old: jobs that ended days ago, what is not to be remembered any more.
pub fn prune(transaction: &Transaction<'_>, now_ms: i64) -> rusqlite::Result<()> {
    transaction.execute(
        "DELETE FROM jobs WHERE ended_at_ms < ?1",
        [now_ms - KEPT_DAYS * DAY_MS],
    )?;
    for (table, column, until_ms) in [
        ("rejections", "until_ms", now_ms),
        ("url_aliases", "found_at_ms", now_ms - ALIAS_DAYS * DAY_MS),
    ] {
        let oldest_kept = format!(
            "SELECT {column} FROM {table} ORDER BY {column} DESC LIMIT 1 OFFSET {REMEMBERED_MAX}"
        );
        transaction.execute(
            &format!(
                "DELETE FROM {table} WHERE {column} <= max(?1, coalesce(({oldest_kept}), ?1))"
            ),
            [until_ms],
        )?;
    }
    Ok(())
}

/// Jobs that have not ended.
pub fn waiting(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row(
        "SELECT count(*) FROM jobs WHERE due_at_ms IS NOT NULL",
        [],
        |row| row.get(0),
    )
}

/// A job for an operator.
#[derive(Clone, Debug, Serialize)]
pub struct Listed {
    /// Its identifier.
    pub job_id: Uuid,
    /// Who asked.
    pub account_id: Uuid,
    /// `url` or `check`.
    pub kind: String,
    /// The address.
    pub url: String,
    /// `waiting`, `running`, `collected` or `rejected`.
    pub status: String,
    /// Attempts so far.
    pub attempts: u32,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it is to be tried next.
    pub due_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Why it was rejected, or what went wrong last.
    pub reason: Option<String>,
    /// Where on the page each field was found.
    pub origins: Option<serde_json::Value>,
}

/// Jobs, the newest first; of one status where one is given.
pub fn list(
    connection: &Connection,
    status: Option<&str>,
    now_ms: i64,
    take: usize,
) -> rusqlite::Result<Vec<Listed>> {
    let sql = "SELECT * FROM (SELECT job_id, account_id, kind, url,
           CASE WHEN outcome IS NOT NULL THEN outcome WHEN lease_until_ms > ?1 THEN 'running' ELSE 'waiting' END AS status,
           attempts, created_at_ms, due_at_ms, ended_at_ms, reason, origins, job FROM jobs)
         WHERE ?2 IS NULL OR status = ?2 ORDER BY job DESC LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((now_ms, status, take as i64), |row| {
        let origins: Option<String> = row.get(10)?;
        Ok(Listed {
            job_id: id(row, 0)?,
            account_id: id(row, 1)?,
            kind: row.get(2)?,
            url: row.get(3)?,
            status: row.get(4)?,
            attempts: row.get(5)?,
            created_at: moment(row.get(6)?),
            due_at: row.get::<_, Option<i64>>(7)?.map(moment),
            ended_at: row.get::<_, Option<i64>>(8)?.map(moment),
            reason: row.get(9)?,
            origins: origins.and_then(|text| serde_json::from_str(&text).ok()),
        })
    })?;
    rows.collect()
}

fn id(row: &Row<'_>, column: usize) -> rusqlite::Result<Uuid> {
    Ok(Uuid::from_bytes(row.get(column)?))
}
