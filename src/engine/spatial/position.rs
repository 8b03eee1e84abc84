//! Finds the columns of a result that hold its position.

use arrow::array::{AsArray, Float64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Schema};

use super::Error;

/// Names of the two columns, alone or after a prefix that both have.
const NAMES: [(&str, &str); 3] = [("lon", "lat"), ("longitude", "latitude"), ("lng", "lat")];

/// Columns of longitude and latitude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionColumns {
    longitude: usize,
    latitude: usize,
}

impl PositionColumns {
    /// Finds the position in a schema: columns named `lon` and `lat` or the like; otherwise the first pair with a
    /// prefix, such as `shop_lon` and `shop_lat`.
    ///
    /// # Errors
    /// There is no such pair of numbers.
    pub fn of(schema: &Schema) -> Result<Self, Error> {
        let number = |name: &str| {
            let found = schema.fields().iter().position(|field| {
                field.name().eq_ignore_ascii_case(name) && field.data_type().is_numeric()
            });
            found.filter(|_| !name.is_empty())
        };
        let pair = |longitude: &str, latitude: &str| {
            Some(Self {
                longitude: number(longitude)?,
                latitude: number(latitude)?,
            })
        };
        let alone = NAMES.iter().find_map(|(lon, lat)| pair(lon, lat));
        let mut names = schema.fields().iter().map(|field| field.name().as_str());
        let prefixed = || {
            names.find_map(|name| {
                NAMES.iter().find_map(|(lon, lat)| {
                    let prefix = name.strip_suffix(lon)?;
                    pair(name, &format!("{prefix}{lat}"))
                })
            })
        };
        alone.or_else(prefixed).ok_or_else(|| {
            let names = schema.fields().iter().map(|field| field.name().as_str());
            let columns = names.collect::<Vec<_>>().join(", ");
            Error::NoPosition { columns }
        })
    }

    /// Returns the position of each row, longitude first; `None` if a coordinate is missing or is not an angle.
    ///
    /// # Errors
    /// The columns are not numbers.
    pub(super) fn points(&self, batch: &RecordBatch) -> Result<Vec<Option<(f64, f64)>>, Error> {
        let numbers = |column: usize| -> Result<Float64Array, Error> {
            let cast = cast(batch.column(column), &DataType::Float64)?;
            Ok(cast.as_primitive::<Float64Type>().clone())
        };
        let (longitude, latitude) = (numbers(self.longitude)?, numbers(self.latitude)?);
        let points = longitude.iter().zip(&latitude).map(|(lon, lat)| {
            let (lon, lat) = (lon?, lat?);
            let is_angle = lon.abs() <= 180.0 && lat.abs() <= 90.0;
            is_angle.then_some((lon, lat))
        });
        debug_assert_eq!(longitude.len(), batch.num_rows());
        Ok(points.collect())
    }
}
