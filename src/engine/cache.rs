//! A memory-bounded cache of decoded columns, with their zone maps.
//!
//! The unit is one column of one row group ([`super::decoded`]). Decoding a unit costs 0.3–1 ms. A hit in the shared
//! cache costs 0.2 µs, which a bulk match pays a dozen times per row. Each thread therefore holds weak references to
//! the columns it used last, and mostly needs no lookup.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use moka::sync::Cache;

pub use super::decoded::{Decoded, ZONE_ROWS, Zones};
use toise_lake::part::Part;
use toise_lake::{self as lake};

/// Columns that a thread remembers; a power of two.
const REMEMBERED: usize = 4_096;
/// A thread looks a remembered column up in the shared cache every 32 uses, so that the cache does not evict columns in
/// use.
const USES_PER_REPORT: u32 = 32;

/// A column that a thread used: key, weak reference, and uses since the last lookup in the shared cache.
type Remembered = (ColumnKey, Weak<Decoded>, u32);

thread_local! {
    static RECENT: RefCell<Vec<Option<Remembered>>> = const { RefCell::new(Vec::new()) };
}

/// Identifies one column of one row group of one open data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColumnKey {
    /// Number assigned to the data file when it was opened; never reused.
    pub part: u32,
    /// Row group in the data file.
    pub group: u16,
    /// Column of the table, or field of a list of structs.
    pub column: u16,
}

/// Decoded columns by key; the least valuable entries are evicted when the budget is exceeded.
#[derive(Debug)]
pub struct ColumnCache {
    columns: Cache<ColumnKey, Arc<Decoded>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl ColumnCache {
    /// Creates a cache of at most `bytes` bytes of decoded values.
    pub fn new(bytes: u64) -> Self {
        let columns = Cache::builder()
            .max_capacity(bytes)
            .weigher(|_, column: &Arc<Decoded>| column.bytes())
            .build();
        Self {
            columns,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Returns a column of a row group; decodes it if it is not cached. One thread decodes while others wait for it.
    pub fn get(&self, key: ColumnKey, part: &Part) -> Result<Arc<Decoded>, lake::Error> {
        if let Some(column) = remembered(key) {
            return Ok(column);
        }
        let column = self.shared(key, part)?;
        remember(key, &column);
        Ok(column)
    }

    fn shared(&self, key: ColumnKey, part: &Part) -> Result<Arc<Decoded>, lake::Error> {
        if let Some(column) = self.columns.get(&key) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(column);
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        // The error is shared between the waiting threads, so decode again to get an owned one.
        self.columns
            .try_get_with(key, || {
                part.read_column(key.group.into(), key.column.into())
                    .map(|values| Arc::new(Decoded::new(values)))
            })
            .or_else(|_: Arc<lake::Error>| {
                part.read_column(key.group.into(), key.column.into())
                    .map(|values| Arc::new(Decoded::new(values)))
            })
    }

    /// Current size, in bytes.
    pub fn bytes(&self) -> u64 {
        self.columns.weighted_size()
    }

    /// Number of lookups that hit since the start; uses that a thread serves from its own references are not counted.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Number of lookups that missed since the start.
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }
}

/// Slot of a key among the columns that a thread remembers.
fn slot(key: ColumnKey) -> usize {
    let packed = u64::from(key.part) << 32 | u64::from(key.group) << 16 | u64::from(key.column);
    // Multiplicative hashing (Knuth): the upper bits are well mixed.
    (packed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize % REMEMBERED
}

fn remembered(key: ColumnKey) -> Option<Arc<Decoded>> {
    RECENT.with_borrow_mut(|recent| match recent.get_mut(slot(key))? {
        Some((known, column, uses)) if *known == key && *uses < USES_PER_REPORT => {
            *uses += 1;
            column.upgrade()
        }
        _ => None,
    })
}

fn remember(key: ColumnKey, column: &Arc<Decoded>) {
    RECENT.with_borrow_mut(|recent| {
        if recent.is_empty() {
            recent.resize_with(REMEMBERED, || None);
        }
        recent[slot(key)] = Some((key, Arc::downgrade(column), 0));
    });
}
