//! The faults applied to the servers: steps drawn from a seed.

use crate::support::draw::Draw;

/// Something done to the servers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// SIGKILL, and a new server.
    Kill,
    /// SIGTERM, and a new server.
    Terminate,
    /// SIGKILL, a flipped bit in a file of an index, and a new server, which repairs it.
    DamagedIndex,
    /// SIGSTOP, and SIGCONT at the end.
    Stop,
    /// Writes fail because the disk is full.
    DiskFull,
    /// The disk is remounted read-only, and writable again at the end.
    ReadOnly,
    /// The memory of the process may grow by at most this many KiB. It may end, and is started again.
    Memory(u64),
    /// One write in so many fails.
    WriteErrors(i64),
    /// One sync in this many fails; the server may end and is started again.
    SyncErrors(i64),
    /// Every write is delayed by this many microseconds.
    SlowDisk(i64),
    /// The wall clock is off by this many milliseconds, and correct again at the end.
    Clock(i64),
    /// The wall clock is off by this many milliseconds, and corrected while the server is killed.
    ClockThenKill(i64),
    /// Syncs do not return until the end.
    HungDisk,
    /// At most this many descriptors may be open.
    Descriptors(u64),
    /// A second server on the folder; one of the two is killed at the end.
    SecondServer,
    /// Other programs read the files.
    ForeignReaders,
    /// A backup, restored to a separate folder and compared with everything acknowledged before it.
    Backup,
    /// A backup that is killed; only its owner may read what it leaves.
    KilledBackup,
    /// A file of adverts, ingested by the command while the server runs.
    Ingest,
    /// A file of sales, imported while the server runs, while the disk fails or until it is killed.
    Import,
    /// A model, trained in the same way.
    Train,
    /// `toise check`.
    Check,
}

impl Fault {
    /// Whether a server may end by itself: for lack of memory, or because a sync of the ledger failed, which may also
    /// happen during an import or a training.
    pub fn may_end_a_server(self) -> bool {
        matches!(
            self,
            Fault::SyncErrors(_) | Fault::Memory(_) | Fault::Import | Fault::Train
        )
    }

    /// Its name in the summary.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Kill => "SIGKILL",
            Fault::Terminate => "SIGTERM",
            Fault::DamagedIndex => "damaged index",
            Fault::Stop => "SIGSTOP, SIGCONT",
            Fault::DiskFull => "disk full",
            Fault::ReadOnly => "disk read-only",
            Fault::Memory(_) => "out of memory",
            Fault::WriteErrors(_) => "EIO at writes",
            Fault::SyncErrors(_) => "EIO at syncs",
            Fault::SlowDisk(_) => "slow disk",
            Fault::Clock(_) => "clock jump",
            Fault::ClockThenKill(_) => "clock jump, SIGKILL",
            Fault::HungDisk => "hung disk",
            Fault::Descriptors(_) => "descriptors",
            Fault::SecondServer => "second server",
            Fault::ForeignReaders => "foreign readers",
            Fault::Backup => "backup, restore",
            Fault::KilledBackup => "killed backup",
            Fault::Ingest => "ingest beside",
            Fault::Import => "import beside",
            Fault::Train => "training beside",
            Fault::Check => "check",
        }
    }
}

/// A fault and how long it lasts.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The fault.
    pub fault: Fault,
    /// Its duration, or the delay before it, in milliseconds.
    pub ms: u64,
}

/// Maximum jump of the clock, in milliseconds: both directions together are less than the time for which responses are
/// stored.
const JUMP_MS_MAX: usize = 11 * 3_600_000;

/// Draws a step.
pub fn draw(draw: &mut Draw) -> Step {
    let jump = |draw: &mut Draw| {
        let far = 60_000 + draw.below(JUMP_MS_MAX) as i64;
        if draw.once_in(2) { -far } else { far }
    };
    let fault = match draw.below(48) {
        0..8 => Fault::Kill,
        8 => Fault::Terminate,
        9..12 => Fault::Stop,
        12..15 => Fault::DiskFull,
        15..18 => Fault::WriteErrors(2 + draw.below(60) as i64),
        18..20 => Fault::SyncErrors(2 + draw.below(30) as i64),
        20..22 => Fault::SlowDisk(200 + draw.below(5_000) as i64),
        22..25 => Fault::Clock(jump(draw)),
        25..27 => Fault::ClockThenKill(jump(draw)),
        27..29 => Fault::Descriptors(40 + draw.below(60) as u64),
        29..31 => Fault::SecondServer,
        31 => Fault::ForeignReaders,
        32 => Fault::Backup,
        33 => Fault::KilledBackup,
        34 => Fault::Ingest,
        35 => Fault::Check,
        36..38 => Fault::ReadOnly,
        38..40 => Fault::HungDisk,
        40..43 => Fault::Import,
        43 => Fault::Train,
        44..46 => Fault::DamagedIndex,
        _ => Fault::Memory(draw.below(4_096) as u64),
    };
    let ms = 30 + draw.below(900) as u64;
    Step { fault, ms }
}
