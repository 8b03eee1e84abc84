//! Faults of the operating system: a library preloaded into servers (`faults.c`), which the test compiles, and the file
//! that controls it.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use toise::listings::search::texts;

use crate::support::draw::Draw;
use crate::support::skip::skipped;

/// Words of the control file, in the order of `faults.c`.
#[derive(Clone, Copy, Debug)]
pub enum Word {
    /// Whether writes fail because the disk is full.
    Full,
    /// One write in this many fails.
    WriteErrors,
    /// One sync in this many fails.
    SyncErrors,
    /// Offset of the wall clock, in milliseconds.
    ClockMs,
    /// Delay of each write, in microseconds.
    SlowUs,
    /// Faults made so far.
    Made,
    /// State of the generator of random numbers.
    Random,
    /// Whether the disk is read-only.
    ReadOnly,
    /// Whether syncs do not return.
    Hang,
}

const WORDS: u64 = Word::Hang as u64 + 1;
const WORD_BYTES: u64 = 8;

/// The library and its control file.
pub struct Faults {
    library: PathBuf,
    steering: PathBuf,
    file: File,
}

impl Faults {
    /// Compiles the library into a folder; if there is no C compiler, reports it and returns `None`.
    pub fn compile(into: &Path, seed: u64) -> Option<Self> {
        let library = into.join("faults.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/torture/faults.c");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &source])
            .arg("-ldl")
            .stdout(Stdio::null())
            .status();
        match compiled {
            Ok(status) => assert!(status.success(), "faults.c does not compile"),
            Err(error) => {
                skipped(&format!(
                    "there is no C compiler for tests/torture/faults.c ({error})"
                ));
                return None;
            }
        }
        let steering = into.join("faults");
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(true).read(true).write(true);
        let file = options.open(&steering).unwrap();
        file.set_len(WORDS * WORD_BYTES).unwrap();
        let faults = Self {
            library,
            steering,
            file,
        };
        faults.set(Word::Random, seed as i64);
        Some(faults)
    }

    /// Compiles the library into a new folder, with the path of a data folder in it.
    pub fn in_new_folder() -> Option<(TempDir, PathBuf, Self)> {
        let folder = tempfile::tempdir().unwrap();
        let outer = folder.path().canonicalize().unwrap();
        let faults = Self::compile(&outer, 1)?;
        Some((folder, outer.join("data"), faults))
    }

    /// Preloads the library into a process. Faults apply to its files below `folder`.
    pub fn preload(&self, command: &mut Command, folder: &Path) {
        command
            .env("LD_PRELOAD", &self.library)
            .env("TOISE_TORTURE_FAULTS", &self.steering)
            .env("TOISE_TORTURE_FOLDER", folder);
    }

    /// Sets a word; running processes see it at once.
    pub fn set(&self, word: Word, value: i64) {
        let at = word as u64 * WORD_BYTES;
        self.file.write_all_at(&value.to_ne_bytes(), at).unwrap();
    }

    /// Reads a word.
    pub fn get(&self, word: Word) -> i64 {
        let mut bytes = [0; WORD_BYTES as usize];
        let at = word as u64 * WORD_BYTES;
        self.file.read_exact_at(&mut bytes, at).unwrap();
        i64::from_ne_bytes(bytes)
    }

    /// Ends all faults.
    pub fn end(&self) {
        for word in [
            Word::Full,
            Word::WriteErrors,
            Word::SyncErrors,
            Word::ClockMs,
            Word::SlowUs,
            Word::ReadOnly,
            Word::Hang,
        ] {
            self.set(word, 0);
        }
    }
}

/// Flips a bit in a file of the current text index.
pub fn damage_index(data: &Path, draw: &mut Draw) {
    let folders = std::fs::read_dir(data.join(texts::FOLDER)).unwrap();
    let paths = folders.map(|entry| entry.unwrap().path());
    let is_numbered = |path: &PathBuf| path.is_dir() && !path.ends_with("damaged");
    // The one with the highest number.
    let Some(current) = paths.filter(is_numbered).max() else {
        return;
    };
    let files = std::fs::read_dir(current).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some()).collect();
    files.sort();
    let path = &files[draw.below(files.len())];
    let mut bytes = std::fs::read(path).unwrap();
    if !bytes.is_empty() {
        let at = draw.below(bytes.len());
        bytes[at] ^= 1 << draw.below(8);
        std::fs::write(path, bytes).unwrap();
    }
}
