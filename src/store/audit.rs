//! Appends rows to the audit log. It is in this crate because the store itself also appends acts, such as its
//! encryption. The accounts crate reads and verifies the rows, and describes their purpose.
//!
//! Rows are chained: each holds a digest of its contents and of the row before it.

use rusqlite::{Connection, OptionalExtension, Transaction};

/// Maximum length of each text of an entry, bytes; longer texts are truncated.
pub const TEXT_BYTES_MAX: usize = 1_000;

/// Outcome recorded before an act is done.
pub const BEGUN: &str = "begun";
/// Outcome of an act at the command line that succeeded.
pub const DONE: &str = "done";

/// An administrative act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// Who did it: a key by its id, or a person at the command line.
    pub actor: String,
    /// The address it came from; `None` for this machine.
    pub origin: Option<String>,
    /// Name of the act.
    pub action: String,
    /// Which account or key it affected, if the action does not say.
    pub subject: Option<String>,
    /// How it ended.
    pub outcome: String,
}

impl Act {
    /// Creates an act that a person at the command line is about to do.
    pub fn at_command_line(action: &str) -> Self {
        let user = ["SUDO_USER", "USER", "LOGNAME"].iter();
        let mut user = user.filter_map(|name| std::env::var(name).ok());
        let user = user.next().unwrap_or_else(user_number);
        Self {
            actor: format!("command line of {user}"),
            origin: None,
            action: action.to_owned(),
            subject: None,
            outcome: BEGUN.to_owned(),
        }
    }

    /// Sets the account, key, alert or delivery that the act affects.
    pub fn on(self, subject: impl Into<Option<String>>) -> Self {
        Self {
            subject: subject.into(),
            ..self
        }
    }

    /// Sets how the act ended.
    pub fn ended(self, outcome: String) -> Self {
        Self { outcome, ..self }
    }

    fn bounded(mut self) -> Self {
        let texts = [&mut self.actor, &mut self.action, &mut self.outcome];
        for text in texts
            .into_iter()
            .chain(&mut self.origin)
            .chain(&mut self.subject)
        {
            text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        }
        self
    }
}

/// Returns the numeric user id of this process, for systems without user names, such as most containers.
fn user_number() -> String {
    format!("user {}", nix::unistd::getuid())
}

/// Returns the digest of an entry. `previous` is the digest of the entry before it, empty if there is none.
pub fn digest(previous: &[u8], number: i64, at_ms: i64, act: &Act) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let none = "";
    let parts = [
        act.actor.as_str(),
        act.origin.as_deref().unwrap_or(none),
        &act.action,
        act.subject.as_deref().unwrap_or(none),
        &act.outcome,
    ];
    hasher.update(&(previous.len() as u64).to_le_bytes());
    hasher.update(previous);
    hasher.update(&number.to_le_bytes());
    hasher.update(&at_ms.to_le_bytes());
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// Appends an act in a transaction; long texts are truncated.
///
/// # Errors
/// The store cannot be written.
pub fn append(transaction: &Transaction<'_>, at_ms: i64, act: Act) -> rusqlite::Result<()> {
    let act = act.bounded();
    let last = transaction
        .prepare_cached("SELECT entry, digest FROM audit ORDER BY entry DESC LIMIT 1")?
        .query_row([], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?))
        })
        .optional()?;
    // If entries were removed from the end, the numbers show a gap.
    let number = last_number(transaction)?.max(last.as_ref().map_or(0, |last| last.0)) + 1;
    let previous = last.map(|(_, digest)| digest).unwrap_or_default();
    let digest = digest(&previous, number, at_ms, &act);
    transaction
        .prepare_cached(
            "INSERT INTO audit (entry, at_ms, actor, origin, action, subject, outcome, digest)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute((
            number,
            at_ms,
            &act.actor,
            &act.origin,
            &act.action,
            &act.subject,
            &act.outcome,
            digest.as_slice(),
        ))?;
    Ok(())
}

/// Returns the number of the last entry that was ever appended.
///
/// # Errors
/// The store cannot be read.
pub fn last_number(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'audit'";
    let number = connection
        .prepare_cached(sql)?
        .query_row([], |row| row.get(0));
    Ok(number.optional()?.unwrap_or(0))
}
