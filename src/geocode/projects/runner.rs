//! Processes projects on one thread, one after the other.
//!
//! Only one process per data folder does so at a time: the one that holds the lease [`NAME`] ([`toise_store::lease`]).
//! Each turn geocodes one block, flushes the result, and then records the progress. A project is resumed on a copy of
//! its output up to the last record, because a process that lost the lease while paused may still write to the file it
//! has open.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::record::{self, ProjectProgress};
use super::{Error, INPUT, OUTPUT, Project, Projects, plan};
use crate::file::csv::{CsvPlan, RowCounts, next_block};
use crate::file::records::RecordReader;
use crate::file::rows::RowGeocoder;
use crate::live::LiveGeocoder;
use crate::search::Geocoder;
use toise_base::missing::remove_folder;
use toise_base::supervise::Supervisor;
use toise_store::leader::{Leader, LeaderTask, Pace, Post};
use toise_store::lease::Lease;
use uuid::Uuid;

/// Name of the lease that the working process holds, and of its thread.
const NAME: &str = "geocoding-projects";
/// Every tick, the runner looks for projects that other processes started.
const PACE: Pace = Pace {
    tick: Duration::from_secs(1),
    lead_every: Duration::from_secs(1),
    error_pause: Duration::from_secs(1),
    stop_timeout: Duration::ZERO,
};
/// Interval between deletions of expired projects.
const UPKEEP_EVERY: Duration = Duration::from_secs(3_600);

impl Projects {
    /// Starts to process projects, on half of the cores, so that calls are still answered quickly. Dropping the leader
    /// stops it after its current block.
    ///
    /// # Errors
    /// A thread cannot be started, the file of locks cannot be opened, or processing was started before.
    pub fn run(&self, supervisor: &Supervisor, addresses: LiveGeocoder) -> io::Result<Leader> {
        let inbox = self.inbox.lock().take();
        let inbox =
            inbox.ok_or_else(|| io::Error::other("projects are already being processed"))?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = ThreadPoolBuilder::new()
            .num_threads(cores.div_ceil(2))
            .thread_name(|number| format!("geocoding-{number}"))
            .build()
            .map_err(io::Error::other)?;
        let post = Post {
            name: NAME,
            store: &self.store,
            pace: PACE,
        };
        let runner = RunnerLoop {
            projects: self.clone(),
            addresses,
            pool,
            current: None,
            is_paused: false,
            upkeep_at: Duration::ZERO,
        };
        Leader::start(supervisor, post, (self.notifier.clone(), inbox), runner)
    }
}

struct RunnerLoop {
    projects: Projects,
    addresses: LiveGeocoder,
    pool: ThreadPool,
    current: Option<OpenProject>,
    /// Whether processing is paused because the disk is nearly full.
    is_paused: bool,
    upkeep_at: Duration,
}

/// The project that is being processed.
struct OpenProject {
    project: Project,
    plan: CsvPlan,
    records: RecordReader<File>,
    rows: RowGeocoder,
    output: File,
    counts: RowCounts,
    output_at: u64,
    /// Maximum bytes of the result.
    output_bytes_max: u64,
    /// The edition of the index, the same for the whole project unless the process restarts.
    geocoder: Arc<Geocoder>,
}

impl LeaderTask for RunnerLoop {
    type Message = ();
    type Error = Error;

    fn step_back(&mut self) {
        self.current = None;
    }

    fn turn(&mut self, lease: &Lease) -> Result<(), Error> {
        self.clean_up()?;
        if self.current.is_none() {
            let next = self.projects.store.read(record::next)?;
            let Some(project) = next else {
                return Ok(());
            };
            match self.open(lease, &project) {
                Ok(open) => self.current = Some(open),
                Err(Error::Store(error)) => return Err(error.into()),
                Err(error) => return self.end(lease, &project, Some(error.to_string())),
            }
        }
        if self.is_disk_nearly_full() {
            return Ok(());
        }
        let Some(open) = self.current.as_mut() else {
            return Ok(());
        };
        match open.advance(&self.pool, lease) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let project = self.current.take().map(|open| open.project);
                project.map_or(Ok(()), |project| self.end(lease, &project, None))
            }
            // Work whose progress was not recorded is repeated.
            Err(Error::Store(error)) => {
                self.current = None;
                Err(error.into())
            }
            Err(Error::NotFound) => {
                self.current = None;
                Ok(())
            }
            Err(error) => {
                let project = self.current.take().map(|open| open.project);
                project.map_or(Ok(()), |project| {
                    self.end(lease, &project, Some(error.to_string()))
                })
            }
        }
    }

    fn next_in(&self) -> Option<Duration> {
        (self.current.is_some() && !self.is_paused).then_some(Duration::ZERO)
    }
}

impl RunnerLoop {
    /// Returns whether the disk is nearly full; logs when that changes.
    fn is_disk_nearly_full(&mut self) -> bool {
        let is_full = self.projects.room.is_nearly_full();
        if is_full != self.is_paused {
            if is_full {
                tracing::warn!("geocoding projects paused: the disk is nearly full")
            } else {
                tracing::info!("geocoding projects resumed")
            }
        }
        self.is_paused = is_full;
        is_full
    }

    fn open(&self, lease: &Lease, project: &Project) -> Result<OpenProject, Error> {
        let folder = self.projects.folder_of(project.id);
        let missing = || Error::WrongState("the project has no pipeline".to_owned());
        let request = project.request.clone().ok_or_else(missing)?;
        let plan = plan(&folder.join(INPUT), request, &project.input_form)?;
        let mut output = resumed(lease, &folder, project.output_at)?;
        let (mut input_at, mut output_at) = (project.input_at, project.output_at);
        if output_at == 0 {
            output.write_all(plan.header())?;
            output_at = plan.header().len() as u64;
            input_at = plan.first_record_at();
        }
        let other_bytes = self
            .projects
            .store
            .read(|connection| record::bytes_except(connection, project.id))?;
        let mut input = File::open(folder.join(INPUT))?;
        input.seek(SeekFrom::Start(input_at))?;
        Ok(OpenProject {
            project: project.clone(),
            records: plan.records(input, input_at),
            rows: plan.rows()?,
            plan,
            output,
            counts: project.counts,
            output_at,
            output_bytes_max: self.projects.room.result_bytes_max(other_bytes),
            geocoder: self.addresses.geocoder(),
        })
    }

    fn end(&self, lease: &Lease, project: &Project, error: Option<String>) -> Result<(), Error> {
        let id = project.id;
        match &error {
            None => tracing::info!(%id, "geocoding project completed"),
            Some(error) => tracing::warn!(%id, error, "geocoding project failed"),
        }
        let is_failed = error.is_some();
        record::end(lease, id, error, self.projects.clock.now())?;
        if is_failed {
            // Nobody reads a failed project's output. If the process is killed here, the file is deleted with the
            // project.
            let _ = fs::remove_file(self.projects.folder_of(id).join(OUTPUT));
        }
        Ok(())
    }

    /// Deletes expired projects, and folders that belong to no project.
    fn clean_up(&mut self) -> Result<(), Error> {
        let now = self.projects.clock.monotonic();
        if now < self.upkeep_at {
            return Ok(());
        }
        self.upkeep_at = now + UPKEEP_EVERY;
        let store = &self.projects.store;
        let today = self.projects.clock.now();
        for id in store.read(|connection| record::expired(connection, today))? {
            record::delete(store, id)?;
        }
        let Ok(folders) = fs::read_dir(&self.projects.folder) else {
            return Ok(());
        };
        for folder in folders.flatten() {
            let name = folder.file_name();
            let id = name.to_str().and_then(|name| name.parse().ok());
            let Some(id) = id else { continue };
            if !store.read(|connection| record::exists(connection, id))? {
                remove_folder(&folder.path())?;
            }
        }
        Ok(())
    }
}

impl OpenProject {
    /// Geocodes one block; `false` at the end of the file.
    fn advance(&mut self, pool: &ThreadPool, lease: &Lease) -> Result<bool, Error> {
        let Self {
            plan,
            records,
            rows,
            geocoder,
            ..
        } = self;
        let block = pool.install(|| next_block(plan, records, rows, &**geocoder))?;
        let is_end = block.is_none();
        if let Some(block) = block {
            if self.output_at + block.text.len() as u64 > self.output_bytes_max {
                return Err(Error::WrongState(format!(
                    "the result exceeds {} bytes; split the file, or delete other projects",
                    self.output_bytes_max
                )));
            }
            self.output.write_all(&block.text)?;
            self.output_at += block.text.len() as u64;
            self.counts.add(&block.counts);
        }
        self.output.sync_data()?;
        let progress = ProjectProgress {
            counts: self.counts,
            input_at: self.records.position(),
            output_at: self.output_at,
        };
        if record::advance(lease, self.project.id, progress)? {
            Ok(!is_end)
        } else {
            Err(Error::NotFound)
        }
    }
}

/// Replaces the output of a project by a new file with its first `bytes` bytes, open at its end.
fn resumed(lease: &Lease, folder: &Path, bytes: u64) -> Result<File, Error> {
    let (draft, path) = (
        folder.join(format!("{}.draft", Uuid::now_v7())),
        folder.join(OUTPUT),
    );
    let mut output = File::create(&draft)?;
    if bytes > 0 {
        let copied = io::copy(&mut File::open(&path)?.take(bytes), &mut output)?;
        if copied < bytes {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        output.sync_all()?;
    }
    // If this process was paused in between, another one may have replaced the file.
    if !lease.is_certain() {
        lease.renew()?;
    }
    fs::rename(&draft, &path)?;
    File::open(folder)?.sync_all()?;
    Ok(output)
}
