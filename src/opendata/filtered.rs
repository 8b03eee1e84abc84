//! Recognises files that lack rows of sales, such as that of the cellar of a flat. The identifier of such a sale
//! differs from that of the complete sale, so both are in the table afterwards.
//!
//! Counts the homes sold with a single row, of which complete files have few. If there are stored sales, also compares
//! the imported sales with them in the values that missing rows do not change: the mutation number, the day, the price,
//! the commune and the kind. A sale with fewer rows but the same surfaces, rooms and lots lacks no row: only repeated
//! rows were left out. Memory: 32 bytes per imported sale. Reads eleven columns of the files with these departments,
//! once per import.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, RecordBatch};
use arrow::datatypes::{Date32Type, Float64Type, Int64Type};

use toise_lake::schema::TableSchema;
use toise_lake::{Error, StoredRows};

/// Maximum mutation numbers named as examples.
const EXAMPLES_MAX: usize = 3;
/// Columns read of each sale.
const COLUMNS: [&str; 11] = [
    "mutation_id",
    "property_type",
    "insee_code",
    "id",
    "transaction_date",
    "price_eur",
    "rows",
    "lots",
    "surface_m2",
    "main_rooms",
    "land_surface_m2",
];

/// Minimum homes for their rows to show anything.
const HOMES_MIN: u64 = 200;
/// Minimum share of homes sold with a single row by which a file looks filtered. Complete files have about a third, files
/// of homes alone more than nine tenths.
const SINGLE_SHARE_MIN: f64 = 0.8;
/// Share of the flats that a complete file has with a single row (Toulon, 2023).
const SINGLE_FLATS: f64 = 0.26;
/// Share of the houses that a complete file has with a single row (Toulon, 2023).
const SINGLE_HOUSES: f64 = 0.45;

/// Numbers of the homes in an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SoldHomes {
    flats: u64,
    houses: u64,
    /// Flats and houses sold with a single row.
    single: u64,
}

impl SoldHomes {
    /// Adds the sales of a batch.
    pub fn add(&mut self, batch: &RecordBatch) {
        let columns = (
            batch.column_by_name("property_type"),
            batch.column_by_name("rows"),
        );
        let (Some(kinds), Some(rows)) = columns else {
            return;
        };
        let kinds = kinds.as_string_opt::<i32>();
        let Some((kinds, rows)) = kinds.zip(rows.as_primitive_opt::<Int64Type>()) else {
            return;
        };
        for (kind, rows) in kinds.iter().zip(rows) {
            let homes = match kind {
                Some("Appartement") => &mut self.flats,
                Some("Maison") => &mut self.houses,
                _ => continue,
            };
            *homes += 1;
            self.single += u64::from(rows == Some(1));
        }
    }

    /// Returns a note if most of the homes seem to lack rows, with the share of those that do.
    pub fn note(&self) -> Option<String> {
        let homes = self.flats + self.houses;
        if homes < HOMES_MIN {
            return None;
        }
        let single = self.single as f64 / homes as f64;
        let usual =
            (self.flats as f64 * SINGLE_FLATS + self.houses as f64 * SINGLE_HOUSES) / homes as f64;
        (single >= SINGLE_SHARE_MIN).then(|| {
            format!(
                "of {homes} sales of flats and houses, {} have a single row ({:.0} %; about {:.0} % in complete files); the \
                 files look filtered by row, and other rows of about {:.0} % of these sales seem to be missing, such as \
                 that of a cellar; import complete files, and select afterwards",
                self.single,
                100.0 * single,
                100.0 * usual,
                100.0 * (single - usual)
            )
        })
    }
}

/// Digests of a record.
#[derive(Clone, Copy, Debug)]
struct Sale {
    /// Of what the record shares with one made from fewer rows.
    shared: u64,
    id: u64,
    rows: i64,
    /// Of the values that a missing row changes.
    sums: u64,
}

/// Sales of an import into a table that has sales.
#[derive(Clone, Debug, Default)]
pub struct ImportedSales {
    sales: Vec<Sale>,
    communes: BTreeSet<String>,
}

impl ImportedSales {
    /// Adds the sales of a batch.
    pub fn add(&mut self, batch: &RecordBatch) {
        let columns: Vec<ArrayRef> = COLUMNS
            .iter()
            .filter_map(|name| batch.column_by_name(name).cloned())
            .collect();
        let Self { sales, communes } = self;
        each_sale(&columns, |sale, _, commune| {
            sales.push(sale);
            if !communes.contains(commune) {
                communes.insert(commune.to_owned());
            }
        });
    }

    /// Returns the codes of the communes of the sales.
    pub fn communes(&self) -> impl Iterator<Item = &str> {
        self.communes.iter().map(String::as_str)
    }

    /// Compares the sales with those of their departments that were stored before the import, in a table of `schema`.
    /// Returns a note if some seem to lack rows.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn note(
        self,
        stored: &StoredRows,
        schema: &TableSchema,
        departments: &[String],
    ) -> Result<Option<String>, Error> {
        let mut imported = self.sales;
        if imported.is_empty() {
            return Ok(None);
        }
        imported.sort_unstable_by_key(|sale| (sale.shared, sale.id));
        imported.dedup_by_key(|sale| (sale.shared, sale.id));
        let group = |shared: u64| {
            let start = imported.partition_point(|sale| sale.shared < shared);
            let end = imported.partition_point(|sale| sale.shared <= shared);
            start..end
        };
        let mut is_stored = vec![false; imported.len()];
        let mut shortened = 0_u64;
        // Mutation numbers of stored sales that the import lacks, by what they share with imported ones.
        let mut lacking: BTreeMap<u64, String> = BTreeMap::new();
        stored.columns(schema, &COLUMNS, departments, &mut |columns| {
            each_sale(columns, |old, mutation, _| {
                let mut others = group(old.shared);
                if others.is_empty() {
                    return;
                }
                let Some(same) = others.find(|at| imported[*at].id == old.id) else {
                    lacking.insert(old.shared, mutation.to_owned());
                    return;
                };
                is_stored[same] = true;
                let new = imported[same];
                shortened += u64::from(new.rows < old.rows && new.sums != old.sums);
            });
        })?;
        let mut doubled = 0;
        let mut examples: Vec<&str> = Vec::new();
        for (shared, mutation) in &lacking {
            let added = group(*shared).filter(|at| !is_stored[*at]).count();
            doubled += added;
            if added > 0 && examples.len() < EXAMPLES_MAX {
                examples.push(mutation);
            }
        }
        if doubled == 0 && shortened == 0 {
            return Ok(None);
        }
        let mut found = Vec::new();
        if doubled > 0 {
            found.push(format!(
                "sales already stored with other rows, which are now in the table twice: {doubled} (mutations {})",
                examples.join(", ")
            ));
        }
        if shortened > 0 {
            found.push(format!("sales with fewer rows than stored: {shortened}"));
        }
        Ok(Some(format!(
            "{}; the files look filtered by row; import the complete files with --edition, which also removes the sales \
             that they do not contain",
            found.join("; ")
        )))
    }
}

/// Calls `take` with each sale that has a mutation number, that number, and the commune. The columns are [`COLUMNS`].
fn each_sale(columns: &[ArrayRef], mut take: impl FnMut(Sale, &str, &str)) {
    let Some(([mutation, kind, commune, id, day, price, rows, lots], sums)) =
        columns.split_first_chunk::<8>()
    else {
        return;
    };
    let texts = [mutation, kind, commune, id].map(|column| column.as_string_opt::<i32>());
    let [Some(mutation), Some(kind), Some(commune), Some(id)] = texts else {
        return;
    };
    let Some(day) = day.as_primitive_opt::<Date32Type>() else {
        return;
    };
    let Some(price) = price.as_primitive_opt::<Float64Type>() else {
        return;
    };
    let integers = [rows, lots].map(|column| column.as_primitive_opt::<Int64Type>());
    let [Some(rows), Some(lots)] = integers else {
        return;
    };
    let sums: Vec<_> = sums
        .iter()
        .filter_map(|column| column.as_primitive_opt::<Float64Type>())
        .collect();
    for row in (0..id.len()).filter(|row| mutation.is_valid(*row)) {
        // Numbers of some editions are in single precision.
        let single = |numbers: &PrimitiveArray<Float64Type>| {
            let number = numbers.is_valid(row).then(|| numbers.value(row));
            number.map(|number| (number as f32).to_bits())
        };
        let price = single(price);
        let sums: Vec<Option<u32>> = sums.iter().map(|column| single(column)).collect();
        let (mutation, commune) = (mutation.value(row), commune.value(row));
        let shared = (mutation, day.value(row), price, commune, kind.value(row));
        let sale = Sale {
            shared: digest(&shared),
            id: digest(&id.value(row)),
            rows: rows.value(row),
            sums: digest(&(lots.value(row), sums)),
        };
        take(sale, mutation, commune);
    }
}

fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
