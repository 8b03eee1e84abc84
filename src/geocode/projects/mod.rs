//! Geocodes files in the background, as projects of an account that survive a restart.
//!
//! A project is created, given its request and its file, and started. Progress is recorded after the bytes of each
//! block are written. A process that is killed at any moment continues from the last record, so that no row is lost and
//! none is written twice. Files and results are kept for a bounded time.

mod record;
mod room;
mod runner;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::file::csv::{self, CsvPlan, RowCounts};
use crate::file::received::{explained, unpacked};
use crate::file::request::FileRequest;
use crate::file::text::TextEncoding;
use toise_base::clock::Clock;
use toise_base::missing::remove_folder;
use toise_contract::Fault;
use toise_input::{FileForm, Input};
use toise_store::leader::{Inbox, Notifier, inbox};
use toise_store::new_id::NewId;
use toise_store::{self as store, Store};

pub use room::{ACCOUNT_BYTES_MAX, DRAFTS_PER_ACCOUNT_MAX, RESULT_BYTES_MAX};
use room::{DiskRoom, DraftRoom};

/// How long a project is kept.
pub const KEPT_FOR: Duration = Duration::from_secs(14 * 86_400);
/// Maximum number of projects per account.
pub const PER_ACCOUNT_MAX: usize = 50;
/// Maximum bytes of a file.
pub const INPUT_BYTES_MAX: usize = 1 << 30;
/// Folder of the projects' files in the data folder.
const FOLDER: &str = "geocoding";
/// Name of a project's input file.
const INPUT: &str = "input.csv";
/// Name of a project's result file.
const OUTPUT: &str = "output.csv";

toise_base::named! {
    /// The state of a project.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ProjectStatus {
        /// It is being prepared.
        Idle = "idle",
        /// It was started and is waiting in the queue.
        Waiting = "waiting",
        /// Its rows are being geocoded.
        Processing = "processing",
        /// It cannot be finished.
        Failed = "failed",
        /// Its result is available.
        Completed = "completed",
    }
}

/// A project.
#[derive(Clone, Debug)]
pub struct Project {
    /// Identifier.
    pub id: Uuid,
    /// State.
    pub status: ProjectStatus,
    /// The request to apply to the file.
    pub request: Option<FileRequest>,
    /// Name of the file as its sender gave it.
    pub input_name: Option<String>,
    /// Length of the file, bytes.
    pub input_bytes: Option<u64>,
    /// Rows of the file.
    pub rows: Option<u64>,
    /// Rows geocoded so far.
    pub counts: RowCounts,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When it was finished.
    pub ended_at: Option<DateTime<Utc>>,
    /// Why it failed.
    pub error: Option<String>,
    token_digest: Vec<u8>,
    input_at: u64,
    output_at: u64,
    input_form: FileForm,
}

impl Project {
    /// Returns the time at which it is deleted.
    pub fn expires_at(&self) -> DateTime<Utc> {
        self.created_at + KEPT_FOR
    }
}

/// Errors of operations on projects.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no project with this identifier, or it belongs to another account.
    #[error("no such project")]
    NotFound,
    /// The project is not in the state that the operation requires.
    #[error("{0}")]
    WrongState(String),
    /// The request is not valid, or does not fit the file.
    #[error(transparent)]
    Request(#[from] Fault),
    /// The account is already sending the maximum number of files.
    #[error("the account is already sending {DRAFTS_PER_ACCOUNT_MAX} files")]
    TooManyDrafts,
    /// The disk of the data folder has too little free space.
    #[error("the disk of the data folder is nearly full")]
    DiskFull,
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A file cannot be read or written.
    #[error("geocoding projects: {0}")]
    Io(#[from] io::Error),
}

impl From<csv::Error> for Error {
    fn from(error: csv::Error) -> Self {
        match error {
            csv::Error::Request(fault) => Error::Request(fault),
            csv::Error::Io(error) => Error::Io(error),
        }
    }
}

/// The projects of a data folder. Cheap to clone.
#[derive(Clone)]
pub struct Projects {
    store: Store,
    clock: Clock,
    folder: PathBuf,
    room: DiskRoom,
    notifier: Notifier<()>,
    inbox: std::sync::Arc<parking_lot::Mutex<Option<Inbox<()>>>>,
}

impl Projects {
    /// Opens the projects of a data folder.
    pub fn new(data: &Path, store: Store, clock: Clock) -> Self {
        let (notifier, inbox) = inbox();
        Self {
            store,
            clock,
            folder: data.join(FOLDER),
            room: DiskRoom::new(data),
            notifier,
            inbox: std::sync::Arc::new(parking_lot::Mutex::new(Some(inbox))),
        }
    }

    /// Sets the limits on disk space. Below `not_ready_below` free bytes the service reports not ready, so projects
    /// keep more than that free. An account may have `account_bytes_max` bytes of files and results, usually
    /// [`ACCOUNT_BYTES_MAX`].
    pub fn within(self, not_ready_below: u64, account_bytes_max: u64) -> Self {
        let room = self.room.with_bounds(not_ready_below, account_bytes_max);
        Self { room, ..self }
    }

    /// Creates a project; returns its identifier and the token with which its result is read. A repeated call returns
    /// the same project with a new token.
    ///
    /// # Errors
    /// The account has too many projects.
    pub fn create(&self, account: Uuid, id: NewId) -> Result<(Uuid, String), Error> {
        let token = token();
        let now = self.clock.now();
        match record::insert(&self.store, id, account, digest(&token), now)? {
            Some(id) => Ok((id, token)),
            None => Err(Error::WrongState(format!(
                "the account has {PER_ACCOUNT_MAX} projects; delete one first"
            ))),
        }
    }

    /// Returns a project of an account.
    ///
    /// # Errors
    /// The project does not exist or has expired.
    pub fn get(&self, account: Uuid, id: Uuid) -> Result<Project, Error> {
        let now = self.clock.now();
        let found = self
            .store
            .read(|connection| record::find(connection, account, id))?;
        let found = found.filter(|project| project.expires_at() > now);
        found.ok_or(Error::NotFound)
    }

    /// Sets the request to apply to a project's file.
    ///
    /// # Errors
    /// The request is not valid, or the project was started.
    pub fn set_request(&self, account: Uuid, id: Uuid, request: &FileRequest) -> Result<(), Error> {
        request.check()?;
        self.idle(account, id)?;
        let is_set = record::set_request(&self.store, id, request)?;
        is_set.then_some(()).ok_or_else(started)
    }

    /// Creates a new file to write a project's input to.
    ///
    /// # Errors
    /// The project was started, the account is already sending the maximum number of files, or the file cannot be
    /// created.
    pub fn draft(&self, account: Uuid, id: Uuid) -> Result<InputDraft, Error> {
        self.idle(account, id)?;
        let stored = self
            .store
            .read(|connection| record::account_bytes(connection, account))?;
        let room = self.room.begin(account, stored)?;
        let folder = self.folder_of(id);
        fs::create_dir_all(&folder)?;
        // Two concurrent senders write separate files; the one that finishes last wins.
        let path = folder.join(format!("{}.draft", Uuid::now_v7()));
        Ok(InputDraft {
            file: File::create(&path)?,
            path,
            room,
        })
    }

    /// Unpacks a completely written file and makes it the input of a project; returns its unpacked length in bytes.
    ///
    /// # Errors
    /// The project was started, the file is not a table or expands to more than [`INPUT_BYTES_MAX`], or it cannot be
    /// flushed.
    pub fn set_input(
        &self,
        account: Uuid,
        id: Uuid,
        draft: InputDraft,
        name: &str,
    ) -> Result<u64, Error> {
        self.idle(account, id)?;
        let (draft, form) = draft.unpacked()?;
        draft.file.sync_all()?;
        let bytes = draft.file.metadata()?.len();
        fs::rename(&draft.path, self.folder_of(id).join(INPUT))?;
        let is_set = record::set_input(&self.store, id, name, bytes, &form)?;
        is_set.then_some(bytes).ok_or_else(started)
    }

    /// Starts a project. Reads its file once to check that the request fits it.
    ///
    /// # Errors
    /// Something is missing or does not fit, or the project was already started.
    pub fn start(&self, account: Uuid, id: Uuid) -> Result<(), Error> {
        let project = self.idle(account, id)?;
        let missing = |what| Error::WrongState(format!("the project has no {what} yet"));
        let request = project.request.ok_or_else(|| missing("pipeline"))?;
        project.input_bytes.ok_or_else(|| missing("input-file"))?;
        let input = self.folder_of(id).join(INPUT);
        let plan = plan(&input, request, &project.input_form)?;
        let mut records = File::open(&input)?;
        io::Seek::seek(&mut records, io::SeekFrom::Start(plan.first_record_at()))?;
        let rows = plan.count(records)?;
        if !record::start(&self.store, id, rows, self.clock.now())? {
            return Err(started());
        }
        self.notifier.notify(());
        Ok(())
    }

    /// Opens the result of a project, and returns it with the project.
    ///
    /// # Errors
    /// The project is not completed, or the token is not its own.
    pub fn output(&self, account: Uuid, id: Uuid, token: &str) -> Result<(File, Project), Error> {
        let project = self.get(account, id)?;
        let is_token = blake3::Hash::from_slice(&project.token_digest)
            .is_ok_and(|own| own == blake3::hash(token.as_bytes()));
        if !is_token {
            return Err(Error::NotFound);
        }
        if project.status != ProjectStatus::Completed {
            return Err(Error::WrongState(format!(
                "the project is {}; its result is available once it is completed",
                project.status.as_str()
            )));
        }
        Ok((File::open(self.folder_of(id).join(OUTPUT))?, project))
    }

    /// Deletes a project and its files. A project that is being processed ends after its current block.
    ///
    /// # Errors
    /// The project does not exist.
    pub fn delete(&self, account: Uuid, id: Uuid) -> Result<(), Error> {
        self.get(account, id)?;
        record::delete(&self.store, id)?;
        remove_folder(&self.folder_of(id))?;
        Ok(())
    }

    fn idle(&self, account: Uuid, id: Uuid) -> Result<Project, Error> {
        let project = self.get(account, id)?;
        match project.status {
            ProjectStatus::Idle => Ok(project),
            _ => Err(started()),
        }
    }

    fn folder_of(&self, id: Uuid) -> PathBuf {
        self.folder.join(id.to_string())
    }
}

/// A file that is being received. It is deleted if it is dropped before it becomes the input.
#[derive(Debug)]
pub struct InputDraft {
    /// The file to write to.
    pub file: File,
    path: PathBuf,
    room: DraftRoom,
}

impl InputDraft {
    /// Returns the number of bytes that may be written; call [`Self::reserve`] before writing more.
    pub fn reserved(&self) -> u64 {
        self.room.bytes()
    }

    /// Reserves space for this many bytes in total. Blocks for a system call.
    ///
    /// # Errors
    /// The account would exceed its limit, or the disk is nearly full.
    pub fn reserve(&mut self, bytes: u64) -> Result<(), Error> {
        self.room.grow(bytes)
    }

    /// Replaces a file that is packed, a spreadsheet or UTF-16 by its text; returns its detected form.
    fn unpacked(mut self) -> Result<(Self, FileForm), Error> {
        let packed = unpacked(&mut File::open(&self.path)?, INPUT_BYTES_MAX as u64)?;
        let Some(Input {
            mut reader, form, ..
        }) = packed
        else {
            return Ok((self, FileForm::default()));
        };
        let received = self.file.metadata()?.len();
        // Both files exist until the unpacked one replaces the other.
        let folder = self.path.parent().unwrap_or(&self.path);
        let mut text = tempfile::NamedTempFile::new_in(folder)?;
        let mut written = 0;
        loop {
            let piece = reader.fill_buf().map_err(explained)?;
            let length = piece.len();
            if length == 0 {
                break;
            }
            written += length as u64;
            self.room.grow(received + written)?;
            text.write_all(piece)?;
            reader.consume(length);
        }
        self.file = text.persist(&self.path).map_err(|error| error.error)?;
        Ok((self, form.found()))
    }
}

impl Drop for InputDraft {
    fn drop(&mut self) {
        // After the rename the path no longer exists. A file that cannot be deleted now is deleted with its project.
        let _ = fs::remove_file(&self.path);
    }
}

fn started() -> Error {
    Error::WrongState("the project was started and cannot be changed".to_owned())
}

fn plan(input: &Path, request: FileRequest, form: &FileForm) -> Result<CsvPlan, Error> {
    let encoding = TextEncoding::detect(File::open(input)?)?;
    let request = request.of_converted(form);
    Ok(CsvPlan::read(File::open(input)?, &request, encoding)?)
}

fn token() -> String {
    let bytes: [u8; 16] = rand::random();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn digest(token: &str) -> [u8; 32] {
    *blake3::hash(token.as_bytes()).as_bytes()
}
