//! Runs a predicate over a view and hands the rows it selects, chunk by chunk, to a visitor.
//!
//! Both search and match go through here, so both see the same rows. Small questions run on the calling thread, large
//! ones on all threads of the rayon pool the caller is on. Cost: 0.2–2 ns a row and clause in memory; zones and row
//! groups that cannot match cost nothing.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer};
use arrow::datatypes::{Float64Type, Int32Type};
use arrow::util::bit_util::set_bit;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::cache::{Decoded, ZONE_ROWS, Zones};
use super::interrupt::Interrupt;
use super::predicate::{CompiledClause, Kernel, Predicate};
use super::view::{Chunk, TableView};
use super::{Engine, Error};
use crate::geo::distance::planar_distance_m;

/// Rows left after pruning from which a scan uses all threads.
const PARALLEL_ROWS_MIN: u64 = 262_144;
/// A clause tests single rows where fewer than one in this many is left.
const SPARSE_SHARE: usize = 8;

/// Rows of a chunk that the predicate selects: runs of whole zones, each with its mask.
#[derive(Debug, Default)]
pub struct Selected {
    /// Runs in row order.
    pub runs: Vec<Run>,
}

/// Neighbouring rows of a chunk.
#[derive(Debug)]
pub struct Run {
    /// First row in the chunk; the start of a zone.
    pub start: usize,
    /// Rows in the run.
    pub rows: usize,
    /// Which of them are selected; `None`: all.
    pub mask: Option<BooleanBuffer>,
}

impl Run {
    /// Selected rows in it.
    pub fn count(&self) -> u64 {
        self.mask
            .as_ref()
            .map_or(self.rows, BooleanBuffer::count_set_bits) as u64
    }

    /// Calls `visit` with each selected row of `first..last`, counted in the chunk.
    pub fn for_each_in(&self, first: usize, last: usize, mut visit: impl FnMut(usize)) {
        let (first, last) = (first.max(self.start), last.min(self.start + self.rows));
        if first >= last {
            return;
        }
        match &self.mask {
            None => (first..last).for_each(visit),
            Some(mask) => {
                for row in mask.slice(first - self.start, last - first).set_indices() {
                    visit(first + row);
                }
            }
        }
    }
}

impl Selected {
    /// Selected rows.
    pub fn count(&self) -> u64 {
        self.runs.iter().map(Run::count).sum()
    }

    /// Calls `visit` with each selected row, counted in the chunk.
    pub fn for_each(&self, mut visit: impl FnMut(usize)) {
        for run in &self.runs {
            run.for_each_in(run.start, run.start + run.rows, &mut visit);
        }
    }
}

/// A chunk with the rows selected in it.
pub struct Visited<'a> {
    /// The chunk.
    pub chunk: &'a Chunk,
    /// Its number in the view.
    pub index: usize,
    /// Rows selected in it, at least one.
    pub selected: &'a Selected,
    /// The view.
    pub view: &'a TableView,
    engine: &'a Engine,
}

impl Visited<'_> {
    /// A column of the chunk.
    pub fn column(&self, column: usize) -> Result<Arc<Decoded>, Error> {
        Ok(self.view.column(&self.engine.cache, self.chunk, column)?)
    }
}

impl Engine {
    /// Visits the chunks that hold rows the predicate selects. Each thread starts its own state with `start`; the
    /// states are returned in no particular order. Between two chunks it looks whether the question still matters.
    pub fn scan<S: Send>(
        &self,
        view: &TableView,
        predicate: &Predicate,
        interrupt: &Interrupt,
        start: impl Fn() -> S + Sync,
        visit: impl Fn(&mut S, &Visited) -> Result<(), Error> + Sync,
    ) -> Result<Vec<S>, Error> {
        let chunks: Vec<usize> = (0..view.chunks().len())
            .filter(|index| predicate.may_match(&view.chunks()[*index]))
            .collect();
        let one = |state: &mut S, index: usize| -> Result<(), Error> {
            interrupt.check()?;
            let chunk = &view.chunks()[index];
            let selected = select(self, view, predicate, chunk)?;
            if selected.runs.is_empty() {
                return Ok(());
            }
            visit(
                state,
                &Visited {
                    chunk,
                    index,
                    selected: &selected,
                    view,
                    engine: self,
                },
            )
        };
        let rows: u64 = chunks
            .iter()
            .map(|index| u64::from(view.chunks()[*index].rows))
            .sum();
        if rows < PARALLEL_ROWS_MIN {
            let mut state = start();
            for index in chunks {
                one(&mut state, index)?;
            }
            return Ok(vec![state]);
        }
        chunks
            .par_iter()
            .try_fold(&start, |mut state, index| {
                one(&mut state, *index)?;
                Ok(state)
            })
            .collect()
    }
}

/// Rows of a chunk on which every clause is true.
fn select(
    engine: &Engine,
    view: &TableView,
    predicate: &Predicate,
    chunk: &Chunk,
) -> Result<Selected, Error> {
    let rows = chunk.rows as usize;
    let zone_count = rows.div_ceil(ZONE_ROWS);
    let mut zones = if zone_count >= 64 {
        u64::MAX
    } else {
        (1 << zone_count) - 1
    };
    let mut ready: Vec<Ready> = Vec::with_capacity(predicate.clauses.len());
    for clause in &predicate.clauses {
        let mut columns = Vec::with_capacity(clause.columns.len());
        for (nth, column) in clause.columns.iter().enumerate() {
            let decoded = view.column(&engine.cache, chunk, *column)?;
            if let (Zones::Bounds(bounds), Some((min, max))) = (&decoded.zones, clause.range(nth)) {
                for (zone, (least, greatest)) in bounds.iter().enumerate() {
                    if *greatest < min || *least > max || least > greatest {
                        zones &= !(1 << zone);
                    }
                }
            }
            columns.push(decoded);
        }
        let true_codes = match &columns[..] {
            [decoded] if clause.by_value => {
                let truth = true_codes(clause, decoded)?;
                if let Zones::Codes(codes) = &decoded.zones {
                    let mut holding = 0;
                    for (code, holds) in truth.iter().enumerate() {
                        if *holds {
                            holding |= codes[code];
                        }
                    }
                    zones &= holding;
                }
                Some(truth)
            }
            _ => None,
        };
        if zones == 0 {
            return Ok(Selected::default());
        }
        ready.push(Ready {
            clause,
            columns,
            true_codes,
        });
    }
    let mut runs = Vec::new();
    let mut zone = 0;
    while zone < zone_count {
        if zones & 1 << zone == 0 {
            zone += 1;
            continue;
        }
        let first = zone;
        while zone < zone_count && zones & 1 << zone != 0 {
            zone += 1;
        }
        let start = first * ZONE_ROWS;
        let length = (zone * ZONE_ROWS).min(rows) - start;
        if let Some(run) = evaluate_run(&ready, start, length)? {
            runs.push(run);
        }
    }
    Ok(Selected { runs })
}

/// A clause with the columns of one chunk.
struct Ready<'a> {
    clause: &'a CompiledClause,
    columns: Vec<Arc<Decoded>>,
    /// For a category: whether the clause holds on each distinct value.
    true_codes: Option<Vec<bool>>,
}

/// Whether a clause holds on each distinct value of a category.
fn true_codes(clause: &CompiledClause, decoded: &Decoded) -> Result<Vec<bool>, Error> {
    let values = decoded.values.as_dictionary::<Int32Type>().values();
    Ok(clause.holds_on(values)?)
}

fn evaluate_run(ready: &[Ready], start: usize, length: usize) -> Result<Option<Run>, Error> {
    let mut mask: Option<BooleanBuffer> = None;
    for clause in ready {
        let both = clause.narrow(mask, start, length)?;
        if both.count_set_bits() == 0 {
            return Ok(None);
        }
        mask = Some(both);
    }
    Ok(Some(Run {
        start,
        rows: length,
        mask,
    }))
}

impl Ready<'_> {
    /// The rows of a run that a mask leaves and on which the clause is true.
    fn narrow(
        &self,
        mask: Option<BooleanBuffer>,
        start: usize,
        length: usize,
    ) -> Result<BooleanBuffer, Error> {
        let nulls = |nth: usize| self.columns[nth].values.nulls();
        let numbers = |nth: usize| {
            let values = self.columns[nth].values.as_primitive::<Float64Type>();
            &values.values()[start..start + length]
        };
        if let Some(holds) = &self.true_codes {
            let column = self.columns[0].values.as_dictionary::<Int32Type>();
            let codes = &column.keys().values()[start..start + length];
            let missing = [column.keys().nulls(), None];
            let mut true_codes = (0..).zip(holds).filter(|(_, holds)| **holds);
            // One code is the rule (a commune, a kind of building), and comparing with a constant runs in vectors.
            return Ok(match (true_codes.next(), true_codes.next()) {
                (Some((sought, _)), None) => {
                    let holds = |code: i32| code == sought;
                    let all = || pack(codes, holds);
                    narrow(mask, start, length, missing, all, |row| holds(codes[row]))
                }
                _ => {
                    let holds = |code: i32| holds.get(code as usize).copied().unwrap_or(false);
                    let all = || pack(codes, holds);
                    narrow(mask, start, length, missing, all, |row| holds(codes[row]))
                }
            });
        }
        Ok(match self.clause.kernel {
            Kernel::Between(min, max) => {
                let values = numbers(0);
                // No short circuit, so that the loop runs in vectors.
                let holds = |value: f64| (value >= min) & (value <= max);
                let all = || pack(values, holds);
                narrow(mask, start, length, [nulls(0), None], all, |row| {
                    holds(values[row])
                })
            }
            Kernel::Within {
                lat,
                lon,
                lat_span,
                lon_span,
                radius_m,
            } => {
                let (lats, lons) = (numbers(0), numbers(1));
                let lat_bounds = (lat - lat_span)..=(lat + lat_span);
                let lon_bounds = (lon - lon_span)..=(lon + lon_span);
                let holds = |row: usize| {
                    lat_bounds.contains(&lats[row])
                        && lon_bounds.contains(&lons[row])
                        && planar_distance_m(lat, lon, lats[row], lons[row]) <= radius_m
                };
                let all = || BooleanBuffer::collect_bool(length, holds);
                narrow(mask, start, length, [nulls(0), nulls(1)], all, holds)
            }
            Kernel::Among | Kernel::Expression { .. } => {
                let columns = self.columns.iter();
                let truth = self.clause.evaluate(
                    columns
                        .map(|column| column.values.slice(start, length))
                        .collect(),
                )?;
                match mask {
                    None => truth,
                    Some(mask) => &mask & &truth,
                }
            }
        })
    }
}

/// Rows of a run, counted in it, that a mask leaves, that are not missing and on which a test holds. Where the mask
/// leaves few rows only those are tested, by `holds`; else `all` tests every one.
fn narrow(
    mask: Option<BooleanBuffer>,
    start: usize,
    length: usize,
    nulls: [Option<&NullBuffer>; 2],
    all: impl FnOnce() -> BooleanBuffer,
    holds: impl Fn(usize) -> bool,
) -> BooleanBuffer {
    if let Some(mask) = &mask
        && mask.count_set_bits() * SPARSE_SHARE < length
    {
        let mut kept = MutableBuffer::new_null(length);
        let valid = |row: usize| {
            let mut nulls = nulls.iter().flatten();
            nulls.all(|nulls| nulls.is_valid(start + row))
        };
        for row in mask.set_indices() {
            if valid(row) && holds(row) {
                set_bit(kept.as_slice_mut(), row);
            }
        }
        return BooleanBuffer::new(kept.into(), 0, length);
    }
    let mut truth = all();
    for nulls in nulls.into_iter().flatten() {
        truth = &truth & &nulls.inner().slice(start, length);
    }
    match mask {
        None => truth,
        Some(mask) => &mask & &truth,
    }
}

/// One bit per value on which a test holds. Bytes first, then eight of them to as many bits by one multiplication: the
/// comparisons run in vectors, which they do not while each bit is shifted to its place (0.3 ns a value instead of 1).
fn pack<T: Copy>(values: &[T], holds: impl Fn(T) -> bool) -> BooleanBuffer {
    /// Moves the lowest bit of byte i to bit 56 + i.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut words: Vec<u64> = Vec::with_capacity(values.len().div_ceil(64));
    for values in values.chunks(64) {
        let mut bytes = [0u8; 64];
        for (byte, value) in bytes.iter_mut().zip(values) {
            *byte = u8::from(holds(*value));
        }
        let mut word = 0;
        for (nth, eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
            word |= (u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56) << (8 * nth);
        }
        words.push(word);
    }
    BooleanBuffer::new(Buffer::from_vec(words), 0, values.len())
}

/// A clause with a kernel of its own over whole columns, for tests that hold it against its expression.
#[cfg(test)]
pub(super) fn narrow_column(
    clause: &CompiledClause,
    columns: &[Arc<Decoded>],
    mask: Option<BooleanBuffer>,
) -> Result<BooleanBuffer, Error> {
    let true_codes = match clause.by_value {
        true => Some(true_codes(clause, &columns[0])?),
        false => None,
    };
    let ready = Ready {
        clause,
        columns: columns.to_vec(),
        true_codes,
    };
    ready.narrow(mask, 0, columns[0].values.len())
}
