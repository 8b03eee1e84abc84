//! Stores collection jobs, which are pages to collect, so that no job is lost when a process ends.
//!
//! A job waits until it is due and is leased while it runs; its end and its outcome are stored in one transaction. If
//! its lease expires or its process has died, the job is due again; its page is then fetched a second time, which is
//! harmless.

use rusqlite::{Connection, OptionalExtension, Row, Transaction};
use serde::Serialize;
use uuid::Uuid;

use super::moment::moment;
use super::rejected::Rejected;
use toise_contract::listings::codes::Timestamp;
use toise_listings::adverts::identity::UrlDigest;
use toise_net::fetch::RedirectTrail;

/// Retention of ended jobs, in days.
const KEPT_DAYS: i64 = 7;
/// Validity of an alias (a URL that leads to another listing), in days.
const ALIAS_DAYS: i64 = 30;
/// Maximum number of remembered rejections and aliases; beyond it the oldest are deleted.
const REMEMBERED_MAX: i64 = 1_000_000;
/// Maximum difference between the clocks of processes that share a store, in milliseconds.
const CLOCK_DIFFERENCE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 3_600_000;

toise_base::named! {
    /// Reason why a page is collected.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum JobKind {
        /// A call requested the URL.
        Url = "url",
        /// A known advert is checked.
        Check = "check",
    }
}

/// A job to be created.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Identifier of the job.
    pub id: Uuid,
    /// Account that requested it.
    pub account: Uuid,
    /// Whether alerts of other accounts may always match the advert of the page. If not, the settings decide.
    pub is_shared: bool,
    /// Reason for the collection.
    pub kind: JobKind,
    /// Digest of the identifying parts of the URL.
    pub digest: UrlDigest,
    /// URL of the page.
    pub url: String,
    /// Host of the URL.
    pub host: String,
}

/// A job that is due.
#[derive(Clone, Debug)]
pub struct Job {
    /// Row number in the store.
    pub number: i64,
    /// The job as it was requested.
    pub request: NewJob,
    /// Time of the next attempt, Unix milliseconds.
    pub due_at_ms: i64,
    /// Number of earlier attempts.
    pub attempts: u32,
    /// Redirects followed so far in this attempt.
    pub trail: RedirectTrail,
}

impl Job {
    /// Returns the host of the next request.
    pub fn host(&self) -> &str {
        self.trail.host().unwrap_or(&self.request.host)
    }
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// The advert with this digest was ingested.
    Collected(UrlDigest),
    /// The URL was rejected, for this reason.
    Rejected(Rejected),
}

/// Outcome of an attempt.
#[derive(Clone, Debug)]
pub enum AttemptOutcome {
    /// The job ended.
    Ended {
        /// How it ended.
        ended: JobOutcome,
        /// Origin of each field, as JSON.
        origins: Option<String>,
        /// Time until which a rejection is remembered, Unix milliseconds.
        remembered_until_ms: i64,
    },
    /// The attempt continues on another host and waits in that host's queue.
    OtherHost(RedirectTrail),
    /// The job is to be retried.
    Retry {
        /// Time of the retry, Unix milliseconds.
        due_at_ms: i64,
        /// The error.
        reason: String,
        /// Whether not even a connection to the portal could be made.
        is_unreachable: bool,
        /// Whether this service failed rather than the portal; such an attempt does not count.
        is_own_failure: bool,
    },
}

/// Inserts a job that is due now; returns false if its account has the maximum number of waiting jobs.
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
            "INSERT INTO jobs (job_id, account_id, kind, url_digest, url, host, created_at_ms, due_at_ms, waits_since_ms,
               is_shared)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?7, ?8)",
        )?
        .execute((
            job.id.as_bytes(),
            job.account.as_bytes(),
            job.kind.as_str(),
            job.digest,
            &job.url,
            &job.host,
            now_ms,
            job.is_shared,
        ))?;
    Ok(true)
}

/// Returns whether a check of a URL is already waiting. A running check does not count: it may have read the page
/// before this request.
pub fn check_waits(connection: &Connection, digest: &UrlDigest) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM jobs WHERE url_digest = ?1 AND kind = 'check' AND due_at_ms IS NOT NULL
               AND lease_until_ms IS NULL)",
        )?
        .query_row([digest], |row| row.get(0))
}

/// Returns the unfinished URL jobs with the account, URL and sharing of another job, oldest first.
pub fn waiting_like(connection: &Connection, job: &NewJob) -> rusqlite::Result<Vec<Uuid>> {
    let sql = "SELECT job_id FROM jobs WHERE url_digest = ?1 AND account_id = ?2 AND kind = 'url'
         AND is_shared = ?3 AND due_at_ms IS NOT NULL ORDER BY job";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((job.digest, job.account.as_bytes(), job.is_shared), |row| {
        id(row, 0)
    })?;
    rows.collect()
}

/// Returns the oldest `limit` unfinished jobs after a row number.
pub fn after(connection: &Connection, number: i64, limit: usize) -> rusqlite::Result<Vec<Job>> {
    let sql =
        "SELECT job, job_id, account_id, kind, url_digest, url, host, due_at_ms, attempts, is_shared FROM jobs
         WHERE job > ?1 AND due_at_ms IS NOT NULL ORDER BY job LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((number, limit as i64), |row| {
        let kind: String = row.get(3)?;
        let kind = JobKind::parse(&kind).unwrap_or(JobKind::Check);
        Ok(Job {
            number: row.get(0)?,
            request: NewJob {
                id: id(row, 1)?,
                account: id(row, 2)?,
                is_shared: row.get(9)?,
                kind,
                digest: row.get(4)?,
                url: row.get(5)?,
                host: row.get(6)?,
            },
            due_at_ms: row.get(7)?,
            attempts: row.get(8)?,
            trail: RedirectTrail::default(),
        })
    })?;
    rows.collect()
}

/// Leases jobs that start. Continuing on another host does not count as a new attempt.
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

/// Corrects waits after the clock was set back: a wait that begins in the future starts now with the same length, and a
/// lease that lasts longer than `lease_ms` from now is ended.
pub fn bound_waits(
    transaction: &Transaction<'_>,
    now_ms: i64,
    lease_ms: i64,
) -> rusqlite::Result<usize> {
    transaction.execute(
        "UPDATE jobs SET lease_until_ms = NULL WHERE due_at_ms IS NOT NULL AND lease_until_ms > ?1",
        [now_ms + lease_ms],
    )?;
    transaction.execute(
        "UPDATE jobs SET due_at_ms = ?1 + max(due_at_ms - waits_since_ms, 0), waits_since_ms = ?1
         WHERE due_at_ms IS NOT NULL AND waits_since_ms > ?1",
        [now_ms],
    )
}

/// Stores the outcome of an attempt.
pub fn record(
    transaction: &Transaction<'_>,
    job: &Job,
    attempt: &AttemptOutcome,
    now_ms: i64,
) -> rusqlite::Result<()> {
    let (ended, origins, until_ms) = match attempt {
        AttemptOutcome::OtherHost(_) => return Ok(()),
        AttemptOutcome::Retry {
            due_at_ms,
            reason,
            is_own_failure,
            is_unreachable,
        } => {
            transaction
                .prepare_cached(
                    "UPDATE jobs SET lease_until_ms = NULL, due_at_ms = ?2, reason = ?3, attempts = max(attempts - ?4, 0),
                       is_unreachable = ?5, waits_since_ms = ?6
                     WHERE job = ?1",
                )?
                .execute((
                    job.number,
                    due_at_ms,
                    reason,
                    is_own_failure,
                    is_unreachable,
                    now_ms,
                ))?;
            return Ok(());
        }
        AttemptOutcome::Ended {
            ended,
            origins,
            remembered_until_ms,
        } => (ended, origins, *remembered_until_ms),
    };
    let digest = &job.request.digest;
    let (outcome, reason) = match ended {
        JobOutcome::Collected(_) => ("collected", None),
        JobOutcome::Rejected(reason) => ("rejected", Some(reason.as_str())),
    };
    transaction
        .prepare_cached(
            "UPDATE jobs SET lease_until_ms = NULL, due_at_ms = NULL, ended_at_ms = ?2, outcome = ?3, reason = ?4,
               origins = ?5 WHERE job = ?1",
        )?
        .execute((job.number, now_ms, outcome, reason, origins))?;
    match ended {
        JobOutcome::Collected(target) => {
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
        JobOutcome::Rejected(reason) => {
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

/// Returns when the next attempt at a job is due, Unix milliseconds, and whether the last attempt could not even
/// connect to the portal; `None` during an attempt and after the end of the job.
pub fn next_attempt(
    connection: &Connection,
    job: Uuid,
    now_ms: i64,
) -> rusqlite::Result<Option<(i64, bool)>> {
    let sql = "SELECT due_at_ms, is_unreachable FROM jobs
         WHERE job_id = ?1 AND due_at_ms IS NOT NULL AND coalesce(lease_until_ms, 0) <= ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let next = statement.query_row((job.as_bytes(), now_ms), |row| {
        Ok((row.get(0)?, row.get(1)?))
    });
    next.optional()
}

/// Returns how a job ended; `None` if it has not ended or does not exist.
pub fn find_outcome(connection: &Connection, job: Uuid) -> rusqlite::Result<Option<JobOutcome>> {
    let sql = "SELECT outcome, reason, coalesce(target_digest, jobs.url_digest) FROM jobs
         LEFT JOIN url_aliases ON url_aliases.url_digest = jobs.url_digest
         WHERE job_id = ?1 AND ended_at_ms IS NOT NULL";
    connection
        .prepare_cached(sql)?
        .query_row([job.as_bytes()], |row| {
            let outcome: String = row.get(0)?;
            if outcome == "collected" {
                return Ok(JobOutcome::Collected(row.get(2)?));
            }
            let reason: Option<String> = row.get(1)?;
            let rejected = Rejected::stored(reason.unwrap_or_default());
            Ok(JobOutcome::Rejected(rejected))
        })
        .optional()
}

/// Returns the remembered rejection of a URL and its time in Unix milliseconds.
pub fn rejection(
    connection: &Connection,
    digest: &UrlDigest,
    now_ms: i64,
) -> rusqlite::Result<Option<(Rejected, i64)>> {
    connection
        .prepare_cached(
            "SELECT reason, rejected_at_ms FROM rejections
             WHERE url_digest = ?1 AND until_ms > ?2 AND rejected_at_ms <= ?3",
        )?
        // Ignores rejections from the future. A wrong clock dated them, and they would stay valid too long.
        .query_row((digest, now_ms, now_ms + CLOCK_DIFFERENCE_MS), |row| {
            Ok((Rejected::stored(row.get(0)?), row.get(1)?))
        })
        .optional()
}

/// Returns the digest that a URL leads to: its own, unless it is an alias.
pub fn target(connection: &Connection, digest: &UrlDigest) -> rusqlite::Result<UrlDigest> {
    let found = connection
        .prepare_cached("SELECT target_digest FROM url_aliases WHERE url_digest = ?1")?
        .query_row([digest], |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or(*digest))
}

/// Deletes ended jobs past their retention, and expired or excess rejections and aliases.
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

/// Returns the number of unfinished jobs.
pub fn waiting(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row(
        "SELECT count(*) FROM jobs WHERE due_at_ms IS NOT NULL",
        [],
        |row| row.get(0),
    )
}

/// A job as operators see it.
#[derive(Clone, Debug, Serialize)]
pub struct JobSummary {
    /// Identifier of the job.
    pub job_id: Uuid,
    /// Account that requested it.
    pub account_id: Uuid,
    /// `url` or `check`.
    pub kind: String,
    /// URL of the page.
    pub url: String,
    /// `waiting`, `running`, `collected` or `rejected`.
    pub status: String,
    /// Number of attempts so far.
    pub attempts: u32,
    /// Time of the request.
    pub created_at: Timestamp,
    /// Time of the next attempt.
    pub due_at: Option<Timestamp>,
    /// Time of its end.
    pub ended_at: Option<Timestamp>,
    /// Reason of the rejection, or the last error.
    pub reason: Option<String>,
    /// Origin of each field.
    pub origins: Option<serde_json::Value>,
}

/// Returns jobs, newest first, optionally of one status.
pub fn list(
    connection: &Connection,
    status: Option<&str>,
    now_ms: i64,
    take: usize,
) -> rusqlite::Result<Vec<JobSummary>> {
    let sql = "SELECT * FROM (SELECT job_id, account_id, kind, url,
           CASE WHEN outcome IS NOT NULL THEN outcome WHEN lease_until_ms > ?1 THEN 'running' ELSE 'waiting' END AS status,
           attempts, created_at_ms, due_at_ms, ended_at_ms, reason, origins, job FROM jobs)
         WHERE ?2 IS NULL OR status = ?2 ORDER BY job DESC LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((now_ms, status, take as i64), |row| {
        let origins: Option<String> = row.get(10)?;
        Ok(JobSummary {
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

#[cfg(test)]
mod tests {
    use super::*;
    use toise_store::Store;

    const NOW_MS: i64 = 1_000_000;

    fn only(store: &Store) -> Job {
        let jobs = store.read(|connection| after(connection, 0, 10)).unwrap();
        let [job] = <[Job; 1]>::try_from(jobs).unwrap();
        job
    }

    fn retry(due_at_ms: i64, is_own_failure: bool) -> AttemptOutcome {
        AttemptOutcome::Retry {
            due_at_ms,
            reason: "it failed".into(),
            is_unreachable: false,
            is_own_failure,
        }
    }

    fn new_job(number: u8) -> NewJob {
        NewJob {
            id: Uuid::now_v7(),
            account: Uuid::now_v7(),
            is_shared: true,
            kind: JobKind::Url,
            digest: [number; 16],
            url: format!("https://portal.example/{number}"),
            host: "portal.example".into(),
        }
    }

    #[test]
    fn waits_keep_their_length_when_the_clock_is_set_back_by_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let (ahead_ms, lease_ms) = (NOW_MS + DAY_MS, 60_000);
        let jobs = store.write(move |transaction| {
            // One is due, one waits for a minute after a failure, and one runs. All were written with a clock that was
            // a day ahead.
            for number in 1..=3 {
                assert!(insert(transaction, &new_job(number), ahead_ms, 10)?);
            }
            let jobs = after(transaction, 0, 10)?;
            record(
                transaction,
                &jobs[1],
                &retry(ahead_ms + 60_000, false),
                ahead_ms,
            )?;
            lease(transaction, &jobs[2..], ahead_ms + lease_ms)?;
            bound_waits(transaction, NOW_MS, lease_ms)?;
            Ok(jobs)
        });
        let jobs = jobs.unwrap();
        let next = |number: usize| {
            let id = jobs[number].request.id;
            store
                .read(|connection| next_attempt(connection, id, NOW_MS))
                .unwrap()
        };
        assert_eq!(next(0), Some((NOW_MS, false)));
        assert_eq!(next(1), Some((NOW_MS + 60_000, false)));
        assert_eq!(next(2), Some((NOW_MS, false)), "its attempt is over");
        let due: Vec<i64> = store
            .read(|connection| after(connection, 0, 10))
            .unwrap()
            .iter()
            .map(|job| job.due_at_ms - NOW_MS)
            .collect();
        assert_eq!(due, [0, 60_000, 0]);
        // Waits that began in the past are unchanged.
        let changed =
            store.write(move |transaction| bound_waits(transaction, NOW_MS + 10, lease_ms));
        assert_eq!(changed.unwrap(), 0);
    }

    #[test]
    fn attempts_that_this_service_failed_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let new = new_job(1);
        let made = store.write(move |transaction| insert(transaction, &new, NOW_MS, 10));
        assert!(made.unwrap());
        for (is_own_failure, attempts) in [(true, 0), (false, 1), (true, 1), (true, 1), (false, 2)]
        {
            let job = only(&store);
            let attempt = move |transaction: &Transaction<'_>| {
                lease(transaction, std::slice::from_ref(&job), NOW_MS)?;
                record(transaction, &job, &retry(NOW_MS, is_own_failure), NOW_MS)
            };
            store.write(attempt).unwrap();
            assert_eq!(only(&store).attempts, attempts);
        }
    }
}
