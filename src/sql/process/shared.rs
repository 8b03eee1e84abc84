//! Memory that a process shares with the server to pass the pieces of its results: a file of the memory file system,
//! with slots for a few pieces. A pipe takes five times as long for the same bytes.
//!
//! The process writes a piece to a free slot and reports it; the server copies the piece and frees the slot. If the
//! system has no such file system, all pieces go through the pipe.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tempfile::TempPath;

use super::SPILL_PREFIX;

/// Maximum bytes of a piece.
pub(super) const PIECE_BYTES: usize = 1 << 20;
/// Pieces shorter than this go through the pipe, which needs no slot.
const SHARED_BYTES_MIN: usize = 64 << 10;
/// Slots of a file: one is written while the others wait for the server.
const PLACES: u32 = 4;
/// Folder of the memory file system on Linux.
const FOLDER: &str = "/dev/shm";

/// Where a piece is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Place {
    /// Index of the slot.
    pub index: u32,
    /// Bytes of the piece.
    pub bytes: usize,
}

/// The server's end of the shared memory.
pub(super) struct SharedReader {
    file: File,
    path: TempPath,
}

impl SharedReader {
    /// Creates a file; `None` where the system has no memory file system.
    pub fn create() -> Option<Self> {
        let made = tempfile::Builder::new()
            .prefix(SPILL_PREFIX)
            .tempfile_in(FOLDER);
        let (file, path) = made.ok()?.into_parts();
        Some(Self { file, path })
    }

    /// Returns the path, which the process deletes when it has opened the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Copies a piece.
    ///
    /// # Errors
    /// There is no such piece.
    pub fn read(&self, place: Place) -> io::Result<Bytes> {
        if place.index >= PLACES || place.bytes > PIECE_BYTES {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut file = &self.file;
        file.seek(SeekFrom::Start(start(place.index)))?;
        let mut piece = Vec::with_capacity(place.bytes);
        file.take(place.bytes as u64).read_to_end(&mut piece)?;
        if piece.len() < place.bytes {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(Bytes::from(piece))
    }
}

/// The process's end of the shared memory.
#[derive(Debug)]
pub(super) struct SharedWriter {
    /// The file, and the slots that are free.
    writing: Mutex<(File, Receiver<u32>)>,
    freed: Sender<u32>,
}

impl SharedWriter {
    /// Opens a file of the server and deletes its name, so that the file disappears with the two processes.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).open(path)?;
        std::fs::remove_file(path)?;
        let (freed, free) = channel();
        for place in 0..PLACES {
            // The receiver is here.
            let _ = freed.send(place);
        }
        Ok(Self {
            writing: Mutex::new((file, free)),
            freed,
        })
    }

    /// Returns whether a piece is long enough to be shared.
    pub fn takes(piece: &[u8]) -> bool {
        (SHARED_BYTES_MIN..=PIECE_BYTES).contains(&piece.len())
    }

    /// Writes a piece. Blocks until a slot is free.
    ///
    /// # Errors
    /// The memory file system is full.
    pub fn write(&self, piece: &[u8]) -> io::Result<Place> {
        let mut writing = self.writing.lock();
        let (file, free) = &mut *writing;
        let index = free.recv().map_err(io::Error::other)?;
        let written = file
            .seek(SeekFrom::Start(start(index)))
            .and_then(|_| file.write_all(piece));
        if let Err(error) = written {
            self.free(index);
            return Err(error);
        }
        Ok(Place {
            index,
            bytes: piece.len(),
        })
    }

    /// Frees a slot, whose piece the server has copied.
    pub fn free(&self, index: u32) {
        // The receiver is here.
        let _ = self.freed.send(index);
    }
}

/// Returns the offset of a slot in the file.
fn start(index: u32) -> u64 {
    u64::from(index) * PIECE_BYTES as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_arrive_as_they_were_written_in_places_that_were_freed() {
        let Some(reader) = SharedReader::create() else {
            return;
        };
        let writer = SharedWriter::open(reader.path()).unwrap();
        assert!(!reader.path().exists());
        for round in 0..20_u8 {
            let piece = vec![round; PIECE_BYTES - usize::from(round)];
            assert!(SharedWriter::takes(&piece));
            let place = writer.write(&piece).unwrap();
            assert_eq!(reader.read(place).unwrap(), piece);
            writer.free(place.index);
        }
        for (index, bytes) in [(PLACES, 1), (0, PIECE_BYTES + 1)] {
            assert!(reader.read(Place { index, bytes }).is_err());
        }
    }
}
