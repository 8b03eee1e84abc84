//! Generates blocks of rows in parallel and returns them in order.
//!
//! A producer thread generates one window of blocks at a time on rayon's pool and sends them through a bounded channel,
//! so at most two windows are in memory regardless of the total. Each block has its own pseudo-random stream: the bytes
//! do not depend on the number of threads.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use rayon::prelude::*;

/// Number of items (sales, diagnostics or adverts) per block.
pub const BLOCK_ITEMS: u64 = 2_048;

/// The totals of what a generator has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of items.
    pub items: u64,
    /// Number of rows, without the header.
    pub rows: u64,
    /// Number of bytes before compression.
    pub bytes: u64,
}

/// A generator of the blocks of a file.
pub trait Generator: Send + Sync + 'static {
    /// Number of items in the whole file.
    fn items(&self) -> u64;
    /// Appends the header line.
    fn header(&self, out: &mut Vec<u8>);
    /// Appends the rows of items `from..to`, which form block number `block`, and returns the number of rows.
    fn block(&self, block: u64, from: u64, to: u64, out: &mut Vec<u8>) -> u64;
}

struct GeneratedBlock {
    bytes: Vec<u8>,
    items: u64,
    rows: u64,
}

enum BlockMessage {
    Block(GeneratedBlock),
    End,
}

/// The counts of what a [`SynthReader`] has delivered; readable from another thread.
#[derive(Clone, Debug, Default)]
pub struct ReadProgress {
    items: Arc<AtomicU64>,
    rows: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
}

impl ReadProgress {
    /// Returns the totals of what has been read so far.
    pub fn summary(&self) -> Summary {
        Summary {
            items: self.items.load(Ordering::Relaxed),
            rows: self.rows.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }
}

/// Reader of a generated CSV file, whose bytes are generated while they are read.
#[derive(Debug)]
pub struct SynthReader {
    blocks: Receiver<BlockMessage>,
    current: Vec<u8>,
    offset: usize,
    ended: bool,
    delivered: ReadProgress,
}

impl SynthReader {
    /// Starts the generation; it stops early when the reader is dropped.
    ///
    /// # Errors
    ///
    /// The operating system cannot start a thread.
    pub fn start(generator: impl Generator) -> io::Result<Self> {
        let window = (rayon::current_num_threads() * 2) as u64;
        let (sender, blocks) = sync_channel(window as usize);
        thread::Builder::new()
            .name("synth".into())
            .spawn(move || produce(&generator, window, &sender))?;
        Ok(Self {
            blocks,
            current: Vec::new(),
            offset: 0,
            ended: false,
            delivered: ReadProgress::default(),
        })
    }

    /// Returns the counts of what is read, for a progress bar or a report.
    pub fn delivered(&self) -> ReadProgress {
        self.delivered.clone()
    }

    /// Copies everything to a writer and calls `progress` after each block.
    pub fn copy_to(
        mut self,
        writer: &mut (impl Write + ?Sized),
        mut progress: impl FnMut(Summary),
    ) -> io::Result<Summary> {
        while self.advance()? {
            writer.write_all(&self.current)?;
            progress(self.delivered.summary());
        }
        Ok(self.delivered.summary())
    }

    /// Advances to the next block; returns false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        match self.blocks.recv() {
            Ok(BlockMessage::Block(block)) => {
                let delivered = &self.delivered;
                delivered.items.fetch_add(block.items, Ordering::Relaxed);
                delivered.rows.fetch_add(block.rows, Ordering::Relaxed);
                delivered
                    .bytes
                    .fetch_add(block.bytes.len() as u64, Ordering::Relaxed);
                self.current = block.bytes;
                self.offset = 0;
                Ok(true)
            }
            Ok(BlockMessage::End) => {
                self.ended = true;
                self.current = Vec::new();
                self.offset = 0;
                Ok(false)
            }
            // The producer ended without its end message: never present a truncated file as complete.
            Err(_) => Err(io::Error::other("the generator stopped unexpectedly")),
        }
    }
}

impl Read for SynthReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.offset == self.current.len() {
            if !self.advance()? {
                return Ok(0);
            }
        }
        let length = buffer.len().min(self.current.len() - self.offset);
        buffer[..length].copy_from_slice(&self.current[self.offset..self.offset + length]);
        self.offset += length;
        Ok(length)
    }
}

fn produce(generator: &impl Generator, window: u64, sender: &SyncSender<BlockMessage>) {
    let mut header = GeneratedBlock {
        bytes: Vec::new(),
        items: 0,
        rows: 0,
    };
    generator.header(&mut header.bytes);
    if sender.send(BlockMessage::Block(header)).is_err() {
        return;
    }
    let items = generator.items();
    let block_count = items.div_ceil(BLOCK_ITEMS);
    let mut first = 0;
    while first < block_count {
        let last = (first + window).min(block_count);
        let made: Vec<GeneratedBlock> = (first..last)
            .into_par_iter()
            .map(|block| {
                let from = block * BLOCK_ITEMS;
                let to = (from + BLOCK_ITEMS).min(items);
                let mut bytes = Vec::with_capacity(1 << 20);
                let rows = generator.block(block, from, to, &mut bytes);
                GeneratedBlock {
                    bytes,
                    items: to - from,
                    rows,
                }
            })
            .collect();
        for block in made {
            // The reader has been dropped: the rest is not needed.
            if sender.send(BlockMessage::Block(block)).is_err() {
                return;
            }
        }
        first = last;
    }
    // The reader may have been dropped, so a send error is ignored.
    let _ = sender.send(BlockMessage::End);
}
