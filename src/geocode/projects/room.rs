//! Limits the disk space of projects: a maximum per account, and free space that is left for others.
//!
//! Files and results are counted in the store; files that are being received are counted here. A file reserves its
//! space in steps before it is written. Processes that share a data folder do not see each other's incoming files, so
//! each may allow an account [`DRAFTS_PER_ACCOUNT_MAX`] of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use uuid::Uuid;

use super::Error;
use toise_base::disk::free_bytes;

/// Maximum bytes of all files and results of an account.
pub const ACCOUNT_BYTES_MAX: u64 = 12 << 30;
/// Maximum bytes of the result of a project. A file of the maximum length whose rows are addresses stays below it.
pub const RESULT_BYTES_MAX: u64 = 8 << 30;
/// Maximum number of files that are received from an account at a time.
pub const DRAFTS_PER_ACCOUNT_MAX: usize = 2;
/// Bytes that are reserved at a time.
const STEP_BYTES: u64 = 32 << 20;
/// Bytes left free on top of the minimum at which the service is ready.
const MARGIN_BYTES: u64 = 256 << 20;

/// The disk space of a data folder. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct DiskRoom {
    data: PathBuf,
    /// Bytes that must stay free.
    free_min_bytes: u64,
    account_bytes_max: u64,
    drafts: Arc<Mutex<HashMap<Uuid, Drafts>>>,
}

/// The files of an account that are being received.
#[derive(Debug, Default)]
struct Drafts {
    count: usize,
    bytes: u64,
}

impl DiskRoom {
    pub(super) fn new(data: &Path) -> Self {
        Self {
            data: data.to_owned(),
            free_min_bytes: 0,
            account_bytes_max: ACCOUNT_BYTES_MAX,
            drafts: Arc::default(),
        }
    }

    /// Sets other limits.
    pub(super) fn with_bounds(self, not_ready_below: u64, account_bytes_max: u64) -> Self {
        Self {
            free_min_bytes: not_ready_below + MARGIN_BYTES,
            account_bytes_max,
            ..self
        }
    }

    /// Returns whether writing more would leave too little for others. Makes one system call.
    pub(super) fn is_nearly_full(&self) -> bool {
        // If the free space cannot be read, writing to a full disk still fails with an error.
        free_bytes(&self.data).is_ok_and(|free| free < self.free_min_bytes)
    }

    /// Returns the maximum bytes of a project's result, if its account already uses `others` bytes.
    pub(super) fn result_bytes_max(&self, others: u64) -> u64 {
        RESULT_BYTES_MAX.min(self.account_bytes_max.saturating_sub(others))
    }

    /// Begins to receive a file of an account that already has `stored` bytes.
    ///
    /// # Errors
    /// The account is already sending the maximum number of files.
    pub(super) fn begin(&self, account: Uuid, stored: u64) -> Result<DraftRoom, Error> {
        let mut drafts = self.drafts.lock();
        let own = drafts.entry(account).or_default();
        if own.count == DRAFTS_PER_ACCOUNT_MAX {
            return Err(Error::TooManyDrafts);
        }
        own.count += 1;
        Ok(DraftRoom {
            room: self.clone(),
            account,
            stored,
            bytes: 0,
        })
    }
}

/// The space reserved for a file that is being received. It is released on drop.
#[derive(Debug)]
pub(super) struct DraftRoom {
    room: DiskRoom,
    account: Uuid,
    stored: u64,
    bytes: u64,
}

impl DraftRoom {
    /// Returns the number of bytes that may be written.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reserves space for a file of `bytes` bytes in total.
    ///
    /// # Errors
    /// The account would exceed its limit, or the disk is nearly full.
    pub(super) fn grow(&mut self, bytes: u64) -> Result<(), Error> {
        if bytes <= self.bytes {
            return Ok(());
        }
        if self.room.is_nearly_full() {
            return Err(Error::DiskFull);
        }
        let wanted = bytes.next_multiple_of(STEP_BYTES);
        let mut drafts = self.room.drafts.lock();
        let own = drafts.entry(self.account).or_default();
        let others = own.bytes - self.bytes;
        let most = self.room.account_bytes_max;
        if self.stored + others + bytes > most {
            return Err(Error::WrongState(format!(
                "the files and results of the account would take more than {most} bytes; delete a project first"
            )));
        }
        own.bytes = others + wanted;
        self.bytes = wanted;
        Ok(())
    }
}

impl Drop for DraftRoom {
    fn drop(&mut self) {
        let mut drafts = self.room.drafts.lock();
        if let Some(own) = drafts.get_mut(&self.account) {
            own.count -= 1;
            own.bytes -= self.bytes;
            if own.count == 0 {
                drafts.remove(&self.account);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_bounded_room_and_gets_it_back() {
        let folder = tempfile::tempdir().unwrap();
        let room = DiskRoom {
            account_bytes_max: 100,
            ..DiskRoom::new(folder.path())
        };
        let account = Uuid::now_v7();
        let mut first = room.begin(account, 50).unwrap();
        assert!(first.grow(40).is_ok() && first.bytes() >= 40);
        let full = first.grow(STEP_BYTES + 1);
        assert!(matches!(full, Err(Error::WrongState(_))), "{full:?}");
        let mut second = room.begin(account, 50).unwrap();
        assert!(matches!(second.grow(1), Err(Error::WrongState(_))));
        let third = room.begin(account, 50);
        assert!(matches!(third, Err(Error::TooManyDrafts)));
        assert!(room.begin(Uuid::now_v7(), 0).is_ok());
        drop((first, second));
        assert!(room.drafts.lock().is_empty());
        assert_eq!(room.result_bytes_max(60), 40);
        assert_eq!(room.result_bytes_max(160), 0);
    }

    #[test]
    fn the_last_of_the_disk_is_left_to_others() {
        let folder = tempfile::tempdir().unwrap();
        let room = DiskRoom::new(folder.path());
        assert!(!room.is_nearly_full());
        let room = room.with_bounds(u64::MAX - MARGIN_BYTES, ACCOUNT_BYTES_MAX);
        assert!(room.is_nearly_full());
        let mut draft = room.begin(Uuid::now_v7(), 0).unwrap();
        assert!(matches!(draft.grow(1), Err(Error::DiskFull)));
    }
}
