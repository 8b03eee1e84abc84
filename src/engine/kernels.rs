//! The kernels of clauses: each tests the values of a run and returns one bit per value, within the mask of earlier
//! clauses.

use arrow::array::{Array, ArrowPrimitiveType, Float64Array, PrimitiveArray};
use arrow::buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer};
use arrow::util::bit_util::set_bit;

/// A clause tests single rows if fewer than one row in this many remains.
pub(super) const SPARSE_SHARE: usize = 8;

/// A run of rows: the mask of earlier clauses, the first row and the number of rows.
pub(super) type MaskedRun = (Option<BooleanBuffer>, usize, usize);

/// Tests whole numbers between two bounds.
pub(super) fn whole<T>(
    column: &PrimitiveArray<T>,
    min: i64,
    max: i64,
    run: MaskedRun,
) -> BooleanBuffer
where
    T: ArrowPrimitiveType<Native: Into<i64>>,
{
    values(column, run, move |value: T::Native| {
        let value: i64 = value.into();
        (value >= min) & (value <= max)
    })
}

/// Tests the values of a column. `holds` should have no short circuit, so that the loop is vectorised.
pub(super) fn values<T: ArrowPrimitiveType>(
    column: &PrimitiveArray<T>,
    (mask, start, length): MaskedRun,
    holds: impl Fn(T::Native) -> bool + Copy,
) -> BooleanBuffer {
    let values = &column.values()[start..start + length];
    let all = || pack(values, holds);
    narrow(mask, start, length, [column.nulls(), None], all, |row| {
        holds(values[row])
    })
}

/// Tests the positions in a column of latitudes and one of longitudes.
pub(super) fn positions(
    [lats, lons]: [&Float64Array; 2],
    (mask, start, length): MaskedRun,
    holds: impl Fn(f64, f64) -> bool,
) -> BooleanBuffer {
    let nulls = [lats.nulls(), lons.nulls()];
    let [lats, lons] = [lats, lons].map(|column| &column.values()[start..start + length]);
    let holds = |row: usize| holds(lats[row], lons[row]);
    let all = || BooleanBuffer::collect_bool(length, holds);
    narrow(mask, start, length, nulls, all, holds)
}

/// Returns the rows of a run, counted from its start, that the mask selects, that are not null and that pass the test.
/// If the mask selects few rows, only those are tested, by `holds`; otherwise `all` tests every row.
pub(super) fn narrow(
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

/// Tests all values and returns one bit for each. Writes bytes first, then packs eight bytes into eight bits by one
/// multiplication: this lets the comparisons run as vector instructions, unlike shifting each bit into place (0.3 ns
/// per value instead of 1).
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
