//! Reads and writes projects in the store.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row};
use uuid::Uuid;

use super::{KEPT_FOR, PER_ACCOUNT_MAX, Project, ProjectStatus};
use crate::file::csv::RowCounts;
use crate::file::request::FileRequest;
use toise_input::FileForm;
use toise_store::columns::uuid;
use toise_store::lease::Lease;
use toise_store::new_id::{NewId, Settled};
use toise_store::{self as store, Store};

/// Columns in the order that [`project`] reads.
const COLUMNS: &str = "project_id, status, request, input_name, input_bytes, rows, counts, created_at_ms, ended_at_ms, \
                       error, token_digest, input_at, output_at, input_form";

/// Inserts a project and returns its identifier; `None` if its account already has the maximum.
pub(super) fn insert(
    store: &Store,
    id: NewId,
    account: Uuid,
    digest: [u8; 32],
    now: DateTime<Utc>,
) -> store::Result<Option<Uuid>> {
    store.write(move |transaction| {
        let made_at = "SELECT created_at_ms FROM geocoding_projects WHERE project_id = ?1";
        let id = match id.settle(transaction, made_at, |id| id.to_string())? {
            Settled::New(id) => id,
            Settled::Made(id) => {
                // This call is a repeat, so the client never received the first token.
                transaction.execute(
                    "UPDATE geocoding_projects SET token_digest = ?2 WHERE project_id = ?1",
                    (id.to_string(), digest),
                )?;
                return Ok(Some(id));
            }
        };
        let kept_since = now.timestamp_millis() - KEPT_FOR.as_millis() as i64;
        let count: i64 = transaction
            .prepare_cached(
                "SELECT count(*) FROM geocoding_projects WHERE account_id = ?1 AND created_at_ms > ?2",
            )?
            .query_row((account.to_string(), kept_since), |row| row.get(0))?;
        if count >= PER_ACCOUNT_MAX as i64 {
            return Ok(None);
        }
        transaction
            .prepare_cached(
                "INSERT INTO geocoding_projects (project_id, account_id, token_digest, status, created_at_ms)
                 VALUES (?1, ?2, ?3, 'idle', ?4)",
            )?
            .execute((
                id.to_string(),
                account.to_string(),
                digest,
                now.timestamp_millis(),
            ))?;
        Ok(Some(id))
    })
}

/// Finds a project of an account.
pub(super) fn find(
    connection: &Connection,
    account: Uuid,
    id: Uuid,
) -> rusqlite::Result<Option<Project>> {
    let query = format!(
        "SELECT {COLUMNS} FROM geocoding_projects WHERE project_id = ?1 AND account_id = ?2"
    );
    connection
        .prepare_cached(&query)?
        .query_row((id.to_string(), account.to_string()), project)
        .optional()
}

/// Finds the project to process next: the one that was started first.
pub(super) fn next(connection: &Connection) -> rusqlite::Result<Option<Project>> {
    let query = format!(
        "SELECT {COLUMNS} FROM geocoding_projects WHERE status IN ('waiting', 'processing')
         ORDER BY started_at_ms, project_id LIMIT 1"
    );
    connection
        .prepare_cached(&query)?
        .query_row([], project)
        .optional()
}

/// Returns the bytes of the files and results of an account.
pub(super) fn account_bytes(connection: &Connection, account: Uuid) -> rusqlite::Result<u64> {
    let bytes: i64 = connection
        .prepare_cached(
            "SELECT coalesce(sum(coalesce(input_bytes, 0) + output_at), 0) FROM geocoding_projects
             WHERE account_id = ?1",
        )?
        .query_row([account.to_string()], |row| row.get(0))?;
    Ok(bytes.max(0).unsigned_abs())
}

/// Returns the bytes of files and results that a project's account has, excluding the result of this project.
pub(super) fn bytes_except(connection: &Connection, id: Uuid) -> rusqlite::Result<u64> {
    let bytes: i64 = connection
        .prepare_cached(
            "SELECT coalesce(sum(coalesce(input_bytes, 0) + iif(project_id = ?1, 0, output_at)), 0)
             FROM geocoding_projects
             WHERE account_id = (SELECT account_id FROM geocoding_projects WHERE project_id = ?1)",
        )?
        .query_row([id.to_string()], |row| row.get(0))?;
    Ok(bytes.max(0).unsigned_abs())
}

/// Returns the identifiers of projects that have expired.
pub(super) fn expired(connection: &Connection, now: DateTime<Utc>) -> rusqlite::Result<Vec<Uuid>> {
    let until = now.timestamp_millis() - KEPT_FOR.as_millis() as i64;
    connection
        .prepare_cached("SELECT project_id FROM geocoding_projects WHERE created_at_ms <= ?1")?
        .query_map([until], |row| uuid(row, 0))?
        .collect()
}

/// Returns whether a project still exists.
pub(super) fn exists(connection: &Connection, id: Uuid) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM geocoding_projects WHERE project_id = ?1")?
        .exists([id.to_string()])
}

fn project(row: &Row<'_>) -> rusqlite::Result<Project> {
    let moment = |at: usize| -> rusqlite::Result<Option<DateTime<Utc>>> {
        let millis: Option<i64> = row.get(at)?;
        Ok(millis.and_then(DateTime::from_timestamp_millis))
    };
    let whole = |at: usize| -> rusqlite::Result<Option<u64>> {
        let value: Option<i64> = row.get(at)?;
        Ok(value.map(|value| value.max(0) as u64))
    };
    let status: String = row.get(1)?;
    let request: Option<String> = row.get(2)?;
    let counts: String = row.get(6)?;
    let form: Option<String> = row.get(13)?;
    Ok(Project {
        id: uuid(row, 0)?,
        // The database table allows no other names.
        status: ProjectStatus::parse(&status).unwrap_or(ProjectStatus::Failed),
        // A request written by a later version may be unreadable; it then counts as absent.
        request: request.and_then(|text| serde_json::from_str(&text).ok()),
        input_name: row.get(3)?,
        input_bytes: whole(4)?,
        rows: whole(5)?,
        counts: serde_json::from_str(&counts).unwrap_or_default(),
        created_at: moment(7)?.unwrap_or_default(),
        ended_at: moment(8)?,
        error: row.get(9)?,
        token_digest: row.get(10)?,
        input_at: whole(11)?.unwrap_or_default(),
        output_at: whole(12)?.unwrap_or_default(),
        input_form: form
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default(),
    })
}

/// Stores the request of a project; `false` if the project was started in the meantime.
pub(super) fn set_request(store: &Store, id: Uuid, request: &FileRequest) -> store::Result<bool> {
    let text = serde_json::to_string(request).unwrap_or_default();
    store.write(move |transaction| {
        let changed = transaction
            .prepare_cached(
                "UPDATE geocoding_projects SET request = ?2 WHERE project_id = ?1 AND status = 'idle'",
            )?
            .execute((id.to_string(), text))?;
        Ok(changed == 1)
    })
}

/// Stores name, length and form of the file; `false` if the project was started in the meantime.
pub(super) fn set_input(
    store: &Store,
    id: Uuid,
    name: &str,
    bytes: u64,
    form: &FileForm,
) -> store::Result<bool> {
    let name = name.to_owned();
    let form = serde_json::to_string(form).unwrap_or_default();
    store.write(move |transaction| {
        let changed = transaction
            .prepare_cached(
                "UPDATE geocoding_projects SET input_name = ?2, input_bytes = ?3, input_form = ?4
                 WHERE project_id = ?1 AND status = 'idle'",
            )?
            .execute((id.to_string(), name, bytes as i64, form))?;
        Ok(changed == 1)
    })
}

/// Puts a project in the queue; `false` if it was already started.
pub(super) fn start(store: &Store, id: Uuid, rows: u64, now: DateTime<Utc>) -> store::Result<bool> {
    store.write(move |transaction| {
        let changed = transaction
            .prepare_cached(
                "UPDATE geocoding_projects SET status = 'waiting', rows = ?2, started_at_ms = ?3
                 WHERE project_id = ?1 AND status = 'idle'",
            )?
            .execute((id.to_string(), rows as i64, now.timestamp_millis()))?;
        Ok(changed == 1)
    })
}

/// Progress of a project.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProjectProgress {
    pub counts: RowCounts,
    pub input_at: u64,
    pub output_at: u64,
}

/// Records the progress of a project; `false` if it was deleted in the meantime.
pub(super) fn advance(lease: &Lease, id: Uuid, progress: ProjectProgress) -> store::Result<bool> {
    let counts = serde_json::to_string(&progress.counts).unwrap_or_default();
    lease.write(move |transaction| {
        let changed = transaction
            .prepare_cached(
                "UPDATE geocoding_projects
                 SET status = 'processing', counts = ?2, input_at = ?3, output_at = ?4 WHERE project_id = ?1",
            )?
            .execute((
                id.to_string(),
                counts,
                progress.input_at as i64,
                progress.output_at as i64,
            ))?;
        Ok(changed == 1)
    })
}

/// Records the end of a project, with the reason if it failed. The result of a failed project no longer counts as used
/// space.
pub(super) fn end(
    lease: &Lease,
    id: Uuid,
    error: Option<String>,
    now: DateTime<Utc>,
) -> store::Result<()> {
    let status = match error {
        None => ProjectStatus::Completed,
        Some(_) => ProjectStatus::Failed,
    };
    lease.write(move |transaction| {
        transaction
            .prepare_cached(
                "UPDATE geocoding_projects SET status = ?2, error = ?3, ended_at_ms = ?4,
                     output_at = iif(?3 IS NULL, output_at, 0)
                 WHERE project_id = ?1",
            )?
            .execute((
                id.to_string(),
                status.as_str(),
                error,
                now.timestamp_millis(),
            ))?;
        Ok(())
    })
}

/// Deletes a project.
pub(super) fn delete(store: &Store, id: Uuid) -> store::Result<()> {
    store.write(move |transaction| {
        transaction
            .prepare_cached("DELETE FROM geocoding_projects WHERE project_id = ?1")?
            .execute([id.to_string()])?;
        Ok(())
    })
}
