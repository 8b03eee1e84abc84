//! Leases decide which of the processes that share a data folder runs a worker that must run only once.
//!
//! A lease is a row of the store with a counter. Its holder increments the counter with each of its writes and at least
//! every [`RENEW_EVERY`]. Candidates watch the counter with their own monotonic clocks, so setting the machine's clock
//! neither ends nor prolongs a lease. A candidate takes the lease over when
//!
//! - the holder gave it up,
//! - the holder's process has ended, which its byte lock shows immediately ([`ByteLocks`]), or
//! - the counter has not changed for [`EXPIRES_AFTER`]: the process is stopped, or hangs.
//!
//! Each holder has a higher fencing number than the previous one. [`Lease::write`] compares it in the transaction of
//! the change, so a process that resumes after a stop can no longer change anything, and learns that it lost the lease.
//!
//! A process that is stopped in the middle of a commit also keeps SQLite's own lock. No process can then write until it
//! resumes or ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Transaction};
use uuid::Uuid;

use super::byte_locks::{ByteLock, ByteLocks};
use super::{Error, Result, Store};

/// Time without a renewal after which others may take a lease over.
pub const EXPIRES_AFTER: Duration = Duration::from_secs(15);
/// Maximum time between two renewals of a holder that is alive and has nothing else to write.
pub const RENEW_EVERY: Duration = Duration::from_secs(4);

/// The holder's side of a lease. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Lease {
    store: Store,
    term: Term,
    /// When the last write began that found the lease still held.
    renewed: Arc<Mutex<Instant>>,
}

/// The term of one holder.
#[derive(Clone, Copy, Debug)]
struct Term {
    name: &'static str,
    holder: Uuid,
    fence: i64,
}

impl Lease {
    /// Returns the fencing number.
    pub fn fence(&self) -> i64 {
        self.term.fence
    }

    /// Renews the lease and makes a change, in one transaction. Blocks.
    ///
    /// # Errors
    /// [`Error::LeaseLost`] if another process has taken the lease over; otherwise as for
    /// [`Database::write`](super::Database::write).
    pub fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let (term, began) = (self.term, Instant::now());
        let outcome = self.store.write_with(move |transaction| {
            term.renew(transaction)?;
            Ok::<_, Error>(change(transaction)?)
        })?;
        *self.renewed.lock() = began;
        Ok(outcome)
    }

    /// Renews the lease. Blocks.
    ///
    /// # Errors
    /// As for [`Lease::write`].
    pub fn renew(&self) -> Result<()> {
        self.write(|_| Ok(()))
    }

    /// Returns whether the lease should be renewed now.
    pub fn is_due(&self) -> bool {
        self.renewed.lock().elapsed() >= RENEW_EVERY
    }

    /// Returns whether it is certain that no other process has taken the lease over yet. Does not access the store.
    pub fn is_certain(&self) -> bool {
        self.renewed.lock().elapsed() < EXPIRES_AFTER
    }

    /// Gives the lease up, so that the next process does not have to wait. Blocks.
    ///
    /// # Errors
    /// As for [`Lease::write`].
    pub fn release(&self) -> Result<()> {
        let name = self.term.name;
        self.write(move |transaction| {
            transaction.execute("UPDATE leases SET holder = NULL WHERE name = ?1", [name])
        })?;
        Ok(())
    }
}

impl Term {
    /// Increments the counter of renewals, if the term has not ended.
    fn renew(self, transaction: &Transaction<'_>) -> Result<()> {
        let renewed = transaction
            .prepare_cached(
                "UPDATE leases SET renewals = renewals + 1 WHERE name = ?1 AND holder = ?2 AND fence = ?3",
            )?
            .execute((self.name, self.holder.as_bytes(), self.fence))?;
        match renewed {
            1 => Ok(()),
            _ => Err(Error::LeaseLost(self.name)),
        }
    }
}

/// The row of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LeaseRow {
    holder: Option<[u8; 16]>,
    process: u32,
    fence: i64,
    renewals: i64,
}

impl LeaseRow {
    fn read(connection: &Connection, name: &str) -> rusqlite::Result<Option<Self>> {
        connection
            .prepare_cached("SELECT holder, process, fence, renewals FROM leases WHERE name = ?1")?
            .query_row([name], |row| {
                Ok(Self {
                    holder: row.get(0)?,
                    process: row.get(1)?,
                    fence: row.get(2)?,
                    renewals: row.get(3)?,
                })
            })
            .optional()
    }
}

/// The holder that a candidate waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherHolder {
    /// Identifier of its process.
    pub process: u32,
    /// Time since its last renewal that this process saw.
    pub silent: Duration,
}

/// Outcome of an attempt to take a lease.
#[derive(Debug)]
pub enum Attempt {
    /// This process holds the lease now.
    Taken(Lease),
    /// Another process holds it.
    Held(OtherHolder),
}

/// A process that wants a lease, for the first time or after losing it.
#[derive(Debug)]
pub struct Candidate {
    store: Store,
    name: &'static str,
    holder: Uuid,
    /// The locks that show which holders are alive; `None` on systems without byte locks.
    locks: Option<ByteLocks>,
    /// Shows to others that this process is alive.
    _alive: Option<ByteLock>,
    /// The row as last seen, and the time at which this version of it was first seen.
    seen: Option<(LeaseRow, Instant)>,
    expires_after: Duration,
}

impl Candidate {
    /// Prepares to take the lease with a name.
    ///
    /// # Errors
    /// The file of locks cannot be opened.
    pub fn new(store: &Store, name: &'static str) -> std::io::Result<Self> {
        let holder = Uuid::now_v7();
        let locks = ByteLocks::open(store.folder())?;
        let alive = match &locks {
            Some(locks) => locks.try_hold(&place(holder.as_bytes()))?,
            None => None,
        };
        Ok(Self {
            store: store.clone(),
            name,
            holder,
            locks,
            _alive: alive,
            seen: None,
            expires_after: EXPIRES_AFTER,
        })
    }

    /// Takes the lease if nobody holds it or its holder has ended or is silent. Does not wait for the holder.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn attempt(&mut self) -> Result<Attempt> {
        let name = self.name;
        let row = self
            .store
            .read(|connection| LeaseRow::read(connection, name))?;
        if let Some(held) = row.and_then(|row| self.other_holder(row)) {
            return Ok(Attempt::Held(held));
        }
        let began = Instant::now();
        let (holder, process) = (self.holder, std::process::id());
        let taken = self.store.write(move |transaction| {
            // Nobody else may have taken or renewed it since it was judged.
            let current = LeaseRow::read(transaction, name)?;
            if current != row {
                return Ok(Err(current));
            }
            let fence = current.map_or(0, |row| row.fence) + 1;
            transaction.execute(
                "INSERT OR REPLACE INTO leases (name, holder, process, fence, renewals) VALUES (?1, ?2, ?3, ?4, 0)",
                (name, holder.as_bytes(), process, fence),
            )?;
            Ok(Ok(fence))
        })?;
        match taken {
            Ok(fence) => {
                self.seen = None;
                Ok(Attempt::Taken(Lease {
                    store: self.store.clone(),
                    term: Term {
                        name,
                        holder,
                        fence,
                    },
                    renewed: Arc::new(Mutex::new(began)),
                }))
            }
            Err(current) => Ok(Attempt::Held(OtherHolder {
                process: current.map_or(0, |row| row.process),
                silent: Duration::ZERO,
            })),
        }
    }

    /// Returns the holder of a row if the candidate must wait for it.
    fn other_holder(&mut self, row: LeaseRow) -> Option<OtherHolder> {
        let since = match self.seen {
            Some((seen, since)) if seen == row => since,
            _ => Instant::now(),
        };
        self.seen = Some((row, since));
        let holder = row.holder?;
        let silent = since.elapsed();
        let may_hold = silent < self.expires_after && !self.has_ended(&holder);
        may_hold.then_some(OtherHolder {
            process: row.process,
            silent,
        })
    }

    /// Returns whether the process of a holder has ended; `false` on systems without byte locks, which cannot show it.
    fn has_ended(&self, holder: &[u8; 16]) -> bool {
        // This process itself, whose last term ended without a release.
        if holder == self.holder.as_bytes() {
            return true;
        }
        let Some(locks) = &self.locks else {
            return false;
        };
        match locks.try_hold(&place(holder)) {
            Ok(free) => free.is_some(),
            Err(error) => {
                tracing::warn!(%error, "cannot check whether the holder of a lease is alive");
                false
            }
        }
    }
}

/// Returns the name of the lock that a holder keeps while its process is alive.
fn place(holder: &[u8; 16]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("toise holders of leases");
    hasher.update(holder);
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(300);

    fn candidate(store: &Store) -> Candidate {
        let mut candidate = Candidate::new(store, "work").unwrap();
        candidate.expires_after = SHORT;
        candidate
    }

    fn taken(candidate: &mut Candidate) -> Lease {
        match candidate.attempt().unwrap() {
            Attempt::Taken(lease) => lease,
            Attempt::Held(held) => panic!("held by {held:?}"),
        }
    }

    fn is_held(candidate: &mut Candidate) -> bool {
        matches!(candidate.attempt().unwrap(), Attempt::Held(_))
    }

    #[test]
    fn a_silent_holder_is_replaced_and_writes_nothing_more() {
        let folder = tempfile::tempdir().unwrap();
        let (here, there) = (
            Store::open(folder.path()).unwrap(),
            Store::open(folder.path()).unwrap(),
        );
        let (mut first, mut second) = (candidate(&here), candidate(&there));
        let stopped = taken(&mut first);
        let since = Instant::now();
        while since.elapsed() < 2 * SHORT {
            stopped.renew().unwrap();
            assert!(is_held(&mut second), "it is alive");
        }
        std::thread::sleep(SHORT);
        let next = taken(&mut second);
        assert!(next.fence() > stopped.fence());
        let insert = "INSERT INTO accounts VALUES ('a', 'a', 0)";
        let late = stopped.write(|transaction| transaction.execute(insert, []));
        assert!(matches!(late, Err(Error::LeaseLost("work"))), "{late:?}");
        assert!(stopped.release().is_err(), "it is another's now");
        next.write(|transaction| transaction.execute(insert, []))
            .unwrap();
        assert!(is_held(&mut first));
    }

    #[test]
    fn a_lease_given_up_or_of_an_ended_process_is_taken_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let [mut first, mut second, mut third] = [(); 3].map(|()| candidate(&store));
        third.expires_after = EXPIRES_AFTER;
        second.expires_after = EXPIRES_AFTER;
        taken(&mut first).release().unwrap();
        let _kept = taken(&mut second);
        assert!(is_held(&mut third));
        // Simulates the end of its process: the system frees the lock.
        drop(second);
        assert_eq!(taken(&mut third).fence(), 3);
    }
}
