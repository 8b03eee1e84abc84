//! A synthetic national address base: a file of addresses and one of named places for each department, in the official
//! format.
//!
//! Communes, postal codes, populations and former communes are the real ones of [`toise_geo::places`]; streets, house
//! numbers and positions are invented. Everything in a commune is drawn from the seed and the commune's code, and each
//! street has its own stream. A department's files are therefore the same if it is generated alone or with all others,
//! with any number of threads.
//!
//! Cost: the whole country, 26 million addresses on three million streets, takes 38 s of processor time including
//! compression, and 40 MB of memory: the streets of one commune and a buffer of `BUFFER_BYTES` for each file being
//! written.
//!
//! Structure: [`communes`] divides the addresses among communes; [`streets`] draws the streets of a commune with
//! [`names`], which compose what [`words`], [`types`] and [`regions`] list; [`houses`] numbers a street; [`rows`]
//! writes.

pub mod afnor;
pub mod communes;
pub mod houses;
pub mod names;
pub mod regions;
pub mod rows;
pub mod streets;
pub mod types;
pub mod words;

use std::io::{self, Write};

use super::blocks::Summary;
use communes::BanCommune;

/// Bytes that are collected before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// A request for synthetic addresses.
#[derive(Clone, Debug, Default)]
pub struct BanRequest {
    /// Number of addresses in all departments generated; by default as many as the country has, or their share of it.
    pub addresses: Option<u64>,
    /// Departments; empty for all.
    pub departments: Vec<String>,
    /// Random seed; equal seeds give equal bytes.
    pub seed: u64,
}

/// The two files of a department.
#[derive(Debug)]
pub struct DepartmentFiles {
    /// Code of the department.
    pub department: &'static str,
    seed: u64,
    communes: Vec<BanCommune>,
}

/// Returns the departments of a request, in their official order. Reads the table of places, which takes about 0.1 s.
pub fn departments(request: &BanRequest) -> Vec<DepartmentFiles> {
    let communes = communes::communes(&request.departments, request.addresses);
    let made = communes
        .into_iter()
        .map(|(department, communes)| DepartmentFiles {
            department,
            seed: request.seed,
            communes,
        });
    made.collect()
}

impl DepartmentFiles {
    /// Number of addresses.
    pub fn addresses(&self) -> u64 {
        self.communes.iter().map(|commune| commune.addresses).sum()
    }

    /// Name of the file of addresses, without compression.
    pub fn address_file(&self) -> String {
        format!("adresses-{}.csv", self.department)
    }

    /// Name of the file of named places, without compression.
    pub fn place_file(&self) -> String {
        format!("lieux-dits-{}-beta.csv", self.department)
    }

    /// Writes the file of addresses; items are streets. `progress` is called with the number of addresses since the
    /// last call.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn write_addresses(
        &self,
        out: &mut dyn Write,
        progress: &dyn Fn(u64),
    ) -> io::Result<Summary> {
        let mut writing = Writing::new(out, rows::ADDRESS_COLUMNS);
        for commune in &self.communes {
            let drawn = streets::draw(commune, self.seed);
            for street in &drawn.streets {
                rows::street(commune, &drawn, street, &mut writing.buffer);
                writing.flush_beyond(BUFFER_BYTES)?;
                writing.summary.rows += street.houses;
            }
            writing.summary.items += drawn.streets.len() as u64;
            progress(commune.addresses);
        }
        writing.end()
    }

    /// Writes the file of named places; an item is a row.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn write_places(&self, out: &mut dyn Write) -> io::Result<Summary> {
        let mut writing = Writing::new(out, rows::PLACE_COLUMNS);
        for commune in &self.communes {
            let drawn = streets::draw(commune, self.seed);
            for hamlet in &drawn.hamlets {
                rows::hamlet(commune, &drawn, hamlet, &mut writing.buffer);
            }
            writing.flush_beyond(BUFFER_BYTES)?;
            writing.summary.rows += drawn.hamlets.len() as u64;
        }
        writing.summary.items = writing.summary.rows;
        writing.end()
    }
}

/// A file being written.
struct Writing<'o> {
    out: &'o mut dyn Write,
    buffer: Vec<u8>,
    summary: Summary,
}

impl<'o> Writing<'o> {
    fn new(out: &'o mut dyn Write, header: &str) -> Self {
        Self {
            out,
            buffer: header.as_bytes().to_vec(),
            summary: Summary::default(),
        }
    }

    /// Writes the buffer if it has more than `bytes` bytes.
    fn flush_beyond(&mut self, bytes: usize) -> io::Result<()> {
        if self.buffer.len() > bytes {
            self.out.write_all(&self.buffer)?;
            self.summary.bytes += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }

    fn end(mut self) -> io::Result<Summary> {
        self.flush_beyond(0)?;
        Ok(self.summary)
    }
}

#[cfg(test)]
mod tests;
