//! Numbers of listings, each with its unit and range; values out of range are refused.
//!
//! All are JSON numbers, written as integers if they are whole. Ranges are wide enough for any real listing. They
//! exclude nonsense from sums and columns; doubtful prices are left to the anomaly rules.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

/// Largest integer up to which all integers are exact in a double.
const EXACT_INTEGER_MAX: f64 = 9_007_199_254_740_992.0;

/// Writes a number; whole numbers without `.0`.
pub(super) fn write_number<S: Serializer>(number: f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.fract() == 0.0 && number.abs() <= EXACT_INTEGER_MAX {
        serializer.serialize_i64(number as i64)
    } else {
        serializer.serialize_f64(number)
    }
}

/// A number with a unit and a range.
trait Bounded: Sized {
    /// The rule, as it follows "must be".
    const RULE: &'static str;

    fn new(number: f64) -> Option<Self>;
}

struct NumberOf<T>(PhantomData<T>);

impl<T: Bounded> Visitor<'_> for NumberOf<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(T::RULE)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        T::new(number).ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_f64(number as f64)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_f64(number as f64)
    }
}

macro_rules! numbers {
    ($(
        $(#[doc = $about:literal])+
        $name:ident: $kind:ident, $article:literal, $least:literal to $greatest:literal;
    )+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        pub struct $name(f64);

        impl $name {
            /// Minimum value.
            pub const LEAST: i64 = $least;
            /// Maximum value.
            pub const GREATEST: i64 = $greatest;

            /// Creates the value; `None` if the number is out of range.
            pub fn new(number: f64) -> Option<Self> {
                <Self as Bounded>::new(number)
            }

            /// The number.
            pub fn get(self) -> f64 {
                self.0
            }
        }

        impl Bounded for $name {
            const RULE: &'static str = concat!($article, " between ", $least, " and ", $greatest);

            fn new(number: f64) -> Option<Self> {
                let whole = matches!(Type::$kind, Type::Integer);
                let fits = (Self::LEAST as f64..=Self::GREATEST as f64).contains(&number)
                    && (!whole || number.fract() == 0.0);
                // Adding zero turns negative zero into zero.
                fits.then_some(Self(number + 0.0))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                write_number(self.0, serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_f64(NumberOf(PhantomData))
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new()
                    .schema_type(Type::$kind)
                    .minimum(Some(Self::LEAST as f64))
                    .maximum(Some(Self::GREATEST as f64))
                    .description(Some(concat!($($about),+).trim()))
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {}
    )+};
}

numbers! {
    /// An amount, EUR.
    Eur: Number, "a number", 0 to 1_000_000_000_000;
    /// A change of an amount, EUR; below 0 for a fall.
    EurChange: Number, "a number", -1_000_000_000_000 to 1_000_000_000_000;
    /// A price per square metre, EUR.
    EurPerSquareMetre: Number, "a number", 0 to 1_000_000_000;
    /// A change in percent; below 0 for a fall.
    Percent: Number, "a number", -100 to 1_000_000_000;
    /// An area, square metres.
    SquareMetres: Number, "a number", 0 to 1_000_000_000;
    /// Primary energy a dwelling uses, kWh per square metre and year.
    EnergyPerArea: Number, "a number", 0 to 100_000;
    /// Greenhouse gas a dwelling emits, kg of CO2 per square metre and year.
    CarbonPerArea: Number, "a number", 0 to 100_000;
    /// A count.
    Count: Integer, "an integer", 0 to 100_000;
    /// A storey; 0 is the ground floor, negative numbers are below it.
    Floor: Integer, "an integer", -10 to 200;
    /// A year of the common era.
    Year: Integer, "an integer", 1 to 2_200;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::read;
    use serde_json::json;

    #[test]
    fn whole_numbers_are_written_without_a_fraction() {
        for (given, written) in [
            (json!(250_000.0), "250000"),
            (json!(250_000), "250000"),
            (json!(61.35), "61.35"),
            (json!(-0.0), "0"),
            (json!(1e12), "1000000000000"),
        ] {
            let amount: Eur = read(&given).unwrap();
            assert_eq!(serde_json::to_string(&amount).unwrap(), written);
        }
    }

    proptest::proptest! {
        #[test]
        fn numbers_survive_the_round_trip_through_text(number in -1e9..1e9_f64) {
            let change = EurChange::new(number).unwrap();
            let text = serde_json::to_string(&change).unwrap();
            let read_back: EurChange = serde_json::from_str(&text).unwrap();
            proptest::prop_assert_eq!(read_back, change, "{}", text);
        }
    }

    #[test]
    fn a_number_out_of_range_is_refused_with_the_range() {
        let fault = |value| read::<Count>(&value).unwrap_err().message;
        let rule = "must be an integer between 0 and 100000";
        for value in [
            json!(-1),
            json!(2.5),
            json!(100_001),
            json!("2"),
            json!(null),
            json!([1]),
        ] {
            assert_eq!(fault(value.clone()), rule, "{value}");
        }
        let fault = read::<Percent>(&json!(-100.5)).unwrap_err();
        assert_eq!(
            fault.message,
            "must be a number between -100 and 1000000000"
        );
    }
}
