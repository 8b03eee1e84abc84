//! Address columns of a portfolio: finds them, reads the address of a row, and builds the output columns that say how
//! the address was understood.
//!
//! A row may give an address instead of a position. Rows of a block with the same address are searched once.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Builder, StringBuilder};
use arrow::datatypes::{DataType, Field};

use crate::source::Block;
use toise_geocode::resolve::{PostalAddress, Resolved};

/// Fields of an address, as columns: the line with number and street, the postal code under two names, the commune.
pub const ADDRESS_FIELDS: [&str; 4] = ["address", "postcode", "postal_code", "city"];

/// The columns of a portfolio that give an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressColumns {
    /// House number and street, or the whole address.
    pub address: Option<usize>,
    /// Postal code.
    pub postal_code: Option<usize>,
    /// Commune.
    pub city: Option<usize>,
    /// INSEE code of the commune that the address must be in.
    pub insee_code: Option<usize>,
}

impl AddressColumns {
    /// Finds the address columns among named columns; `postcode` takes precedence over `postal_code`.
    pub fn find<'n>(named: impl Iterator<Item = (usize, &'n str)> + Clone) -> Self {
        let of = |wanted: &str| {
            let mut columns = named.clone();
            let found = columns.find(|(_, name)| *name == wanted);
            found.map(|(column, _)| column)
        };
        Self {
            address: of("address"),
            postal_code: of("postcode").or_else(|| of("postal_code")),
            city: of("city"),
            insee_code: None,
        }
    }

    /// Returns whether there are any.
    pub fn are_given(&self) -> bool {
        self.address.is_some() || self.postal_code.is_some() || self.city.is_some()
    }

    /// Returns the address of a row; a part is empty if its cell is empty or there is no column.
    pub fn of_row<'b>(&self, block: &'b Block, row: usize) -> PostalAddress<'b> {
        let cell =
            |column: Option<usize>| column.map_or("", |column| block.cell(row, column).trim());
        PostalAddress {
            address: cell(self.address),
            postal_code: cell(self.postal_code),
            city: cell(self.city),
            insee_code: cell(self.insee_code),
        }
    }
}

/// Builder of the output columns `address_label`, `address_score`, `address_confidence` and `address_precision`.
#[derive(Default)]
pub struct AddressAnswerBuilder {
    labels: StringBuilder,
    scores: Float64Builder,
    confidences: StringBuilder,
    precisions: StringBuilder,
}

impl AddressAnswerBuilder {
    /// Returns the fields of the columns.
    pub fn fields() -> [Field; 4] {
        [
            Field::new("address_label", DataType::Utf8, true),
            Field::new("address_score", DataType::Float64, true),
            Field::new("address_confidence", DataType::Utf8, true),
            Field::new("address_precision", DataType::Utf8, true),
        ]
    }

    /// Adds a row: the result of geocoding its address, or nulls if no address was used.
    pub fn push(&mut self, found: Option<&Resolved>) {
        self.labels.append_option(found.map(|found| &found.label));
        self.scores
            .append_option(found.map(|found| found.probability));
        self.confidences
            .append_option(found.map(|found| found.confidence.name()));
        self.precisions
            .append_option(found.map(|found| found.precision.name()));
    }

    /// Returns the finished columns.
    pub fn finish(&mut self) -> [ArrayRef; 4] {
        [
            Arc::new(self.labels.finish()),
            Arc::new(self.scores.finish()),
            Arc::new(self.confidences.finish()),
            Arc::new(self.precisions.finish()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_an_address_are_found_by_name() {
        let found = |names: &[&str]| AddressColumns::find(names.iter().copied().enumerate());
        let both = found(&["id", "postal_code", "postcode", "city"]);
        assert_eq!((both.postal_code, both.city), (Some(2), Some(3)));
        assert!(both.are_given() && both.address.is_none());
        assert!(!found(&["lat", "lon"]).are_given());
        assert_eq!(found(&["postal_code"]).postal_code, Some(0));
    }
}
