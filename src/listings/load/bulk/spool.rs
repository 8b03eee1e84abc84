//! Spool of property records: collects them as they are built and returns them in the order of their keys.
//!
//! In that order, neighbouring records become neighbours in the store's file, and each page is written once. Memory
//! holds one run while records are collected, and one buffer per run while they are merged. Runs are unnamed files,
//! which disappear with the process.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use rayon::slice::ParallelSliceMut;

use crate::properties::record_key::RecordKey;

/// Bytes of records that are sorted together into one run.
const RUN_BYTES_MAX: usize = 256 << 20;
/// Bytes written to or read from a run at once.
const BUFFER_BYTES: usize = 1 << 20;

/// Records being collected.
pub(super) struct Spool {
    folder: PathBuf,
    run_bytes_max: usize,
    gathered: Vec<(RecordKey, Vec<u8>)>,
    bytes: usize,
    runs: Vec<File>,
}

impl Spool {
    /// Creates an empty spool whose runs are written to `folder`.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            run_bytes_max: RUN_BYTES_MAX,
            gathered: Vec::new(),
            bytes: 0,
            runs: Vec::new(),
        }
    }

    /// Adds a record; no two records have the same key.
    pub fn push(&mut self, key: RecordKey, document: Vec<u8>) -> io::Result<()> {
        self.bytes += document.len();
        self.gathered.push((key, document));
        if self.bytes >= self.run_bytes_max {
            self.write_run()
        } else {
            Ok(())
        }
    }

    fn write_run(&mut self) -> io::Result<()> {
        self.gathered.par_sort_unstable_by_key(|(key, _)| *key);
        let file = tempfile::tempfile_in(&self.folder)?;
        let mut to = BufWriter::with_capacity(BUFFER_BYTES, file);
        for (key, document) in self.gathered.drain(..) {
            let length = u32::try_from(document.len()).map_err(io::Error::other)?;
            to.write_all(&key.0.to_le_bytes())?;
            to.write_all(&length.to_le_bytes())?;
            to.write_all(&document)?;
        }
        self.bytes = 0;
        let mut file = to.into_inner()?;
        file.rewind()?;
        self.runs.push(file);
        Ok(())
    }

    /// Passes all records to `put`, in the order of their keys.
    pub fn drain<E: From<io::Error>>(
        mut self,
        mut put: impl FnMut(RecordKey, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.write_run()?;
        let runs = self.runs.into_iter();
        let mut runs: Vec<SpoolRun> = runs
            .map(|file| SpoolRun {
                from: BufReader::with_capacity(BUFFER_BYTES, file),
                document: Vec::new(),
            })
            .collect();
        let mut next = BinaryHeap::with_capacity(runs.len());
        for (index, run) in runs.iter_mut().enumerate() {
            next.extend(run.advance()?.map(|key| Reverse((key, index))));
        }
        while let Some(Reverse((key, index))) = next.pop() {
            let run = &mut runs[index];
            put(key, &run.document)?;
            next.extend(run.advance()?.map(|key| Reverse((key, index))));
        }
        Ok(())
    }
}

/// A run being read.
struct SpoolRun {
    from: BufReader<File>,
    /// The current record.
    document: Vec<u8>,
}

impl SpoolRun {
    /// Moves to the next record and returns its key; `None` at the end.
    fn advance(&mut self) -> io::Result<Option<RecordKey>> {
        let mut key = [0; 8];
        match self.from.read_exact(&mut key) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let mut length = [0; 4];
        self.from.read_exact(&mut length)?;
        self.document.resize(u32::from_le_bytes(length) as usize, 0);
        self.from.read_exact(&mut self.document)?;
        Ok(Some(RecordKey(i64::from_le_bytes(key))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_in_order_whatever_runs_they_were_in() {
        for run_bytes_max in [1, 100, 1 << 20] {
            let folder = tempfile::tempdir().unwrap();
            let mut spool = Spool {
                run_bytes_max,
                ..Spool::new(folder.path())
            };
            // 7 is a generator modulo 101: each key occurs once, out of order.
            let keys: Vec<i64> = (0..100)
                .scan(1, |key, _| {
                    *key = *key * 7 % 101;
                    Some(*key)
                })
                .collect();
            for key in &keys {
                spool
                    .push(RecordKey(*key), vec![*key as u8; *key as usize % 13])
                    .unwrap();
            }
            let mut drained = Vec::new();
            spool
                .drain(|key, document| {
                    assert_eq!(document, vec![key.0 as u8; key.0 as usize % 13]);
                    drained.push(key.0);
                    Ok::<_, io::Error>(())
                })
                .unwrap();
            assert_eq!(drained, (1..=100).collect::<Vec<i64>>());
        }
    }
}
