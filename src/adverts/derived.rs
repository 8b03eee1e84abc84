//! Set of the fields of an advert that completion derived, stored as bits with the advert.

use serde_json::{Map, Value};

/// Fields of an advert that were derived; bit `n` stands for the `n`-th path of `PATHS`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DerivedFields(pub u32);

macro_rules! derived {
    ($($name:ident = $bit:literal: $path:expr;)+) => {
        impl DerivedFields {
            $(
                #[doc = concat!("`", stringify!($path), "` was derived.")]
                pub const $name: DerivedFields = DerivedFields(1 << $bit);
            )+
            /// The path of each bit's field. Bits are stored: append new ones at the end.
            const PATHS: &'static [&'static [&'static str]] = &[$(&$path),+];
        }
    };
}

derived! {
    CURRENCY = 0: ["currency"];
    SCOPE = 1: ["scope"];
    CITY = 2: ["location", "city"];
    CITY_COORDINATE = 3: ["location", "cityCoordinate"];
    DEPARTMENT = 4: ["location", "department"];
    INSEE_CODE = 5: ["location", "inseeCode"];
    IRIS_CODE = 6: ["location", "irisCode"];
    POSITION = 7: ["location", "locationCoordinate"];
    POSTAL_CODE = 8: ["location", "postalCode"];
    PRICE_PER_AREA = 9: ["currentPrice", "valuePerArea"];
    PRECISION = 10: ["location", "precision"];
    COLOCATION = 11: ["offer", "renting", "isColocation"];
}

impl DerivedFields {
    /// Returns whether a field was derived.
    pub fn contains(self, field: DerivedFields) -> bool {
        self.0 & field.0 != 0
    }

    pub(crate) fn add(&mut self, field: DerivedFields) {
        self.0 |= field.0;
    }

    /// Removes the derived fields from a record; what remains was given by the sender.
    pub fn remove_from(self, record: &mut Map<String, Value>) {
        for (bit, path) in Self::PATHS.iter().enumerate() {
            if self.0 & (1 << bit) == 0 {
                continue;
            }
            match path {
                [field] => {
                    record.shift_remove(*field);
                }
                [outer, field] => {
                    if let Some(Value::Object(outer)) = record.get_mut(*outer) {
                        outer.shift_remove(*field);
                    }
                }
                [outer, inner, field] => {
                    let Some(Value::Object(outer)) = record.get_mut(*outer) else {
                        continue;
                    };
                    if let Some(Value::Object(terms)) = outer.get_mut(*inner) {
                        terms.shift_remove(*field);
                        if terms.is_empty() {
                            outer.shift_remove(*inner);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}
