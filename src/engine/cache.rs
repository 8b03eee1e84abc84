//! A memory-bounded cache of decoded columns, with their zone maps.
//!
//! The unit is one column of one row group ([`super::decoded`]). Decoding a unit costs 0.3–1 ms. A hit in the shared
//! cache costs 0.2 µs, which a bulk match pays a dozen times per row. Each thread therefore holds weak references to
//! the columns it used last, and mostly needs no lookup.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use moka::sync::Cache;

pub use super::decoded::{DecodedColumn, ZONE_ROWS, ZoneMap};
use toise_lake::data_file::DataFile;
use toise_lake::{self as lake};

/// Columns to which a thread holds references; a power of two.
const THREAD_CACHE_SLOTS: usize = 4_096;
/// A thread looks a remembered column up in the shared cache every 32 uses, so that the cache does not evict columns in
/// use.
const USES_PER_REPORT: u32 = 32;

/// A column that a thread used: key, weak reference, and uses since the last lookup in the shared cache.
type ThreadCacheEntry = (ColumnKey, Weak<DecodedColumn>, u32);

thread_local! {
    static THREAD_CACHE: RefCell<Vec<Option<ThreadCacheEntry>>> = const { RefCell::new(Vec::new()) };
}

/// Identifies one column of one row group of one open data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColumnKey {
    /// Number assigned to the data file when it was opened; never reused.
    pub data_file: u32,
    /// Row group in the data file.
    pub group: u16,
    /// Column of the table, or field of a list of structs.
    pub column: u16,
}

/// Decoded columns by key; the least valuable entries are evicted when the budget is exceeded.
#[derive(Debug)]
pub struct ColumnCache {
    columns: Cache<ColumnKey, Arc<DecodedColumn>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl ColumnCache {
    /// Creates a cache of at most `bytes` bytes of decoded values.
    pub fn new(bytes: u64) -> Self {
        let columns = Cache::builder()
            .max_capacity(bytes)
            .weigher(|_, column: &Arc<DecodedColumn>| column.bytes())
            .build();
        Self {
            columns,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Returns a column of a row group; decodes it if it is not cached. One thread decodes while others wait for it.
    pub fn get(
        &self,
        key: ColumnKey,
        data_file: &DataFile,
    ) -> Result<Arc<DecodedColumn>, lake::Error> {
        if let Some(column) = thread_cache_get(key) {
            return Ok(column);
        }
        let column = self.shared(key, data_file)?;
        thread_cache_insert(key, &column);
        Ok(column)
    }

    fn shared(
        &self,
        key: ColumnKey,
        data_file: &DataFile,
    ) -> Result<Arc<DecodedColumn>, lake::Error> {
        if let Some(column) = self.columns.get(&key) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(column);
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let decode = || {
            data_file
                .read_column(key.group.into(), key.column.into())
                .map(|values| Arc::new(DecodedColumn::new(values)))
        };
        // The error is shared between the waiting threads, so decode again to get an owned one.
        let shared = self.columns.try_get_with(key, decode);
        shared.or_else(|_: Arc<lake::Error>| decode())
    }

    /// Returns the current size, in bytes.
    pub fn bytes(&self) -> u64 {
        self.columns.weighted_size()
    }

    /// Returns the number of lookups that hit since the start; uses that a thread serves from its own references are
    /// not counted.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Returns the number of lookups that missed since the start.
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }
}

/// Returns the slot of a key among the columns to which a thread holds references.
fn slot(key: ColumnKey) -> usize {
    let packed =
        u64::from(key.data_file) << 32 | u64::from(key.group) << 16 | u64::from(key.column);
    // Multiplicative hashing (Knuth): the upper bits are well mixed.
    (packed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize % THREAD_CACHE_SLOTS
}

fn thread_cache_get(key: ColumnKey) -> Option<Arc<DecodedColumn>> {
    THREAD_CACHE.with_borrow_mut(|recent| match recent.get_mut(slot(key))? {
        Some((known, column, uses)) if *known == key && *uses < USES_PER_REPORT => {
            *uses += 1;
            column.upgrade()
        }
        _ => None,
    })
}

fn thread_cache_insert(key: ColumnKey, column: &Arc<DecodedColumn>) {
    THREAD_CACHE.with_borrow_mut(|recent| {
        if recent.is_empty() {
            recent.resize_with(THREAD_CACHE_SLOTS, || None);
        }
        recent[slot(key)] = Some((key, Arc::downgrade(column), 0));
    });
}
