//! The best k rows by a sort column, ties by id, in bounded memory.
//!
//! Every sort value is mapped to an order-preserving 64-bit key (for texts, the first eight bytes), inverted for
//! descending order; missing values are last in both. Almost every row then costs one integer comparison with the
//! current k-th key. Texts and ids are only compared if keys are equal.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

use arrow::array::{Array, AsArray, StringArray};
use arrow::datatypes::{
    DataType, Date32Type, Float64Type, Int32Type, Int64Type, TimestampMillisecondType,
};

use super::cache::{Decoded, ZONE_ROWS, Zones};
use super::scan::Run;
use toise_contract::position::{Position, SortValue};

/// Key of a missing value, which sorts after all others.
const MISSING: u64 = u64::MAX;

/// Position of a row in the sort order: its key, its text if the sort value is a text, its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    key: u64,
    text: Option<String>,
    descending: bool,
    id: String,
}

impl Place {
    /// The place of a cursor's position.
    pub fn of(position: &Position, descending: bool) -> Self {
        let (key, text) = match &position.value {
            None => (MISSING, None),
            Some(value) => {
                let (key, text) = match value {
                    SortValue::Number(number) => (ordered(*number), None),
                    SortValue::Day(day) => (day_key(*day), None),
                    SortValue::Text(text) => (text_key(text), Some(text.clone())),
                };
                (if descending { !key } else { key }, text)
            }
        };
        Self {
            key,
            text,
            descending,
            id: position.id.clone(),
        }
    }

    fn compare(&self, key: u64, text: Option<&str>, id: &str) -> Ordering {
        let texts = || {
            let order = self.text.as_deref().cmp(&text);
            if self.descending {
                order.reverse()
            } else {
                order
            }
        };
        self.key
            .cmp(&key)
            .then_with(texts)
            .then_with(|| self.id.as_str().cmp(id))
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare(other.key, other.text.as_deref(), &other.id)
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A found row with its place in the order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// Place in the sort order.
    pub place: Place,
    /// Index of the chunk in the view.
    pub chunk: usize,
    /// Row in the chunk.
    pub row: usize,
}

impl Hit {
    /// Id of the row.
    pub fn id(&self) -> &str {
        &self.place.id
    }
}

/// The sort column of a chunk.
pub struct SortColumn<'a> {
    decoded: &'a Decoded,
    ids: &'a StringArray,
    descending: bool,
    /// Keys by dictionary code, for a category.
    code_keys: Vec<u64>,
}

impl<'a> SortColumn<'a> {
    /// Prepares a column for sorting; `ids` are the ids of the same chunk.
    pub fn new(decoded: &'a Decoded, ids: &'a StringArray, descending: bool) -> Self {
        let code_keys = match decoded.values.data_type() {
            DataType::Dictionary(..) => {
                let values = decoded.values.as_dictionary::<Int32Type>().values();
                values
                    .as_string::<i32>()
                    .iter()
                    .map(|text| text.map_or(MISSING, text_key))
                    .collect()
            }
            _ => Vec::new(),
        };
        Self {
            decoded,
            ids,
            descending,
            code_keys,
        }
    }

    fn directed(&self, key: u64) -> u64 {
        if self.descending { !key } else { key }
    }

    /// The best key that a zone can contain; 0 if unknown.
    fn best_key(&self, zone: usize) -> u64 {
        match &self.decoded.zones {
            Zones::Bounds(bounds) => match bounds.get(zone) {
                Some((least, greatest)) if least <= greatest => {
                    let best = if self.descending { *greatest } else { *least };
                    match self.decoded.values.data_type() {
                        DataType::Date32 => self.directed(day_key(best as i32)),
                        _ => self.directed(ordered(best)),
                    }
                }
                Some(_) => MISSING,
                None => 0,
            },
            _ => 0,
        }
    }

    fn text(&self, row: usize) -> Option<&str> {
        let values = &self.decoded.values;
        match values.data_type() {
            DataType::Utf8 => values
                .is_valid(row)
                .then(|| values.as_string::<i32>().value(row)),
            DataType::Dictionary(..) => {
                let column = values.as_dictionary::<Int32Type>();
                column
                    .key(row)
                    .map(|code| column.values().as_string::<i32>().value(code))
            }
            _ => None,
        }
    }

    /// The value of a row in the form a cursor carries.
    pub fn value(&self, row: usize) -> Option<SortValue> {
        let values = &self.decoded.values;
        if values.is_null(row) {
            return None;
        }
        match values.data_type() {
            DataType::Float64 => Some(SortValue::Number(
                values.as_primitive::<Float64Type>().value(row),
            )),
            DataType::Int64 => Some(SortValue::Number(
                values.as_primitive::<Int64Type>().value(row) as f64,
            )),
            DataType::Int32 => Some(SortValue::Number(
                values.as_primitive::<Int32Type>().value(row).into(),
            )),
            // Milliseconds of any four-digit year are exact in a double.
            DataType::Timestamp(..) => Some(SortValue::Number(
                values.as_primitive::<TimestampMillisecondType>().value(row) as f64,
            )),
            DataType::Date32 => Some(SortValue::Day(
                values.as_primitive::<Date32Type>().value(row),
            )),
            _ => self.text(row).map(|text| SortValue::Text(text.to_owned())),
        }
    }
}

/// Collects the best k rows that come after a given place.
pub struct TopK<'a> {
    limit: usize,
    after: Option<&'a Place>,
    heap: BinaryHeap<Hit>,
    /// The worst key that can still be among the best k, shared between threads.
    threshold: &'a AtomicU64,
}

impl<'a> TopK<'a> {
    /// Collects `limit` hits; `threshold` starts at `u64::MAX` and is shared by all threads of one query.
    pub fn new(limit: usize, after: Option<&'a Place>, threshold: &'a AtomicU64) -> Self {
        Self {
            limit,
            after,
            heap: BinaryHeap::with_capacity(limit + 1),
            threshold,
        }
    }

    /// Offers the selected rows of a run.
    pub fn consider(&mut self, chunk: usize, run: &Run, sort: &SortColumn) {
        let values = &sort.decoded.values;
        let nulls = values.nulls();
        macro_rules! with_key {
            ($key:expr) => {
                self.consider_keys(chunk, run, sort, |row| match nulls {
                    Some(nulls) if nulls.is_null(row) => MISSING,
                    _ => sort.directed($key(row)),
                })
            };
        }
        match values.data_type() {
            DataType::Float64 => {
                let column = values.as_primitive::<Float64Type>().values();
                with_key!(|row: usize| ordered(column[row]))
            }
            DataType::Int64 => {
                let column = values.as_primitive::<Int64Type>().values();
                with_key!(|row: usize| ordered(column[row] as f64))
            }
            DataType::Int32 => {
                let column = values.as_primitive::<Int32Type>().values();
                with_key!(|row: usize| ordered(f64::from(column[row])))
            }
            DataType::Timestamp(..) => {
                let column = values.as_primitive::<TimestampMillisecondType>().values();
                with_key!(|row: usize| ordered(column[row] as f64))
            }
            DataType::Date32 => {
                let column = values.as_primitive::<Date32Type>().values();
                with_key!(|row: usize| day_key(column[row]))
            }
            DataType::Dictionary(..) => {
                let codes = values.as_dictionary::<Int32Type>().keys().values();
                with_key!(|row: usize| sort.code_keys[codes[row] as usize])
            }
            _ => {
                let column = values.as_string::<i32>();
                with_key!(|row: usize| text_key(column.value(row)))
            }
        }
    }

    fn consider_keys(
        &mut self,
        chunk: usize,
        run: &Run,
        sort: &SortColumn,
        key: impl Fn(usize) -> u64,
    ) {
        let first_zone = run.start / ZONE_ROWS;
        let last_zone = (run.start + run.rows).div_ceil(ZONE_ROWS);
        for zone in first_zone..last_zone {
            let mut threshold = self.threshold.load(Memory::Relaxed);
            if sort.best_key(zone) > threshold {
                continue;
            }
            run.for_each_in(zone * ZONE_ROWS, (zone + 1) * ZONE_ROWS, |row| {
                let key = key(row);
                if key <= threshold {
                    self.offer(chunk, row, key, sort.text(row), sort.ids, sort.descending);
                    threshold = self.threshold.load(Memory::Relaxed);
                }
            });
        }
    }

    /// Offers one row with a key from [`number_key`] that is not in a column.
    pub fn consider_one(&mut self, chunk: usize, row: usize, key: u64, ids: &StringArray) {
        if key <= self.threshold.load(Memory::Relaxed) {
            // The direction matters only for texts.
            self.offer(chunk, row, key, None, ids, false);
        }
    }

    fn offer(
        &mut self,
        chunk: usize,
        row: usize,
        key: u64,
        text: Option<&str>,
        ids: &StringArray,
        descending: bool,
    ) {
        let id = ids.value(row);
        if let Some(after) = self.after
            && after.compare(key, text, id) != Ordering::Less
        {
            return;
        }
        if self.heap.len() >= self.limit {
            match self.heap.peek() {
                Some(worst) if worst.place.compare(key, text, id) == Ordering::Greater => {
                    self.heap.pop();
                }
                _ => return,
            }
        }
        let place = Place {
            key,
            text: text.map(str::to_owned),
            descending,
            id: id.to_owned(),
        };
        self.heap.push(Hit { place, chunk, row });
        if self.heap.len() >= self.limit
            && let Some(worst) = self.heap.peek()
        {
            self.threshold.fetch_min(worst.place.key, Memory::Relaxed);
        }
    }

    /// The hits, in no particular order.
    pub fn into_hits(self) -> Vec<Hit> {
        self.heap.into_vec()
    }
}

/// Sort key of a number, for [`TopK::consider_one`].
pub fn number_key(number: f64, descending: bool) -> u64 {
    let key = ordered(number);
    if descending { !key } else { key }
}

/// Order-preserving key of a number: flips the sign bit of positive numbers and all bits of negative ones.
fn ordered(number: f64) -> u64 {
    // Minus zero must equal zero.
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 0 {
        bits | 1 << 63
    } else {
        !bits
    }
}

fn day_key(day: i32) -> u64 {
    (i64::from(day) - i64::from(i32::MIN)) as u64 + 1
}

fn text_key(text: &str) -> u64 {
    let mut first = [0u8; 8];
    for (to, from) in first.iter_mut().zip(text.bytes()) {
        *to = from;
    }
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_keep_the_order_of_numbers(a in -1e12f64..1e12, b in -1e12f64..1e12) {
            prop_assert_eq!(ordered(a).cmp(&ordered(b)), a.partial_cmp(&b).unwrap());
        }

        #[test]
        fn keys_keep_the_order_of_days(a: i32, b: i32) {
            prop_assert_eq!(day_key(a).cmp(&day_key(b)), a.cmp(&b));
        }

        #[test]
        fn keys_never_contradict_the_order_of_texts(a in "\\PC{0,12}", b in "\\PC{0,12}") {
            if text_key(&a) != text_key(&b) && !a.contains('\0') && !b.contains('\0') {
                prop_assert_eq!(text_key(&a).cmp(&text_key(&b)), a.cmp(&b));
            }
        }
    }
}
