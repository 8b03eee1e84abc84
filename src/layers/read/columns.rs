//! Finds and reads the geometries of a table: one column of WKB, WKT or GeoJSON, one column of `latitude, longitude`,
//! or two columns of coordinates.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Schema};
use geo::{Coord, Geometry, Point};
use toise_input::number::{self, LoneSeparator};

use super::geojson;
use crate::wkb;
use toise_geo::wkt;

/// Names of columns with a whole geometry in each cell, in lower case.
const GEOMETRY: [&str; 12] = [
    "geometry", "geom", "wkt", "wkt_geom", "the_geom", "wkb_geometry", "wkb", "geo_shape",
    "geo shape", "geojson", "geometrie", "shape",
];
/// Names of pairs of columns, in lower case: longitudes or eastings, then latitudes or northings.
#[rustfmt::skip]
const COORDINATES: [(&str, &str); 17] = [
    ("longitude", "latitude"), ("lon", "lat"), ("lng", "lat"), ("long", "lat"), ("stop_lon", "stop_lat"),
    ("longitude_wgs84", "latitude_wgs84"), ("lon_wgs84", "lat_wgs84"), ("x_wgs84", "y_wgs84"),
    ("geo_point_2d.lon", "geo_point_2d.lat"), ("coordonnee_x", "coordonnee_y"), ("coordx_origine", "coordy_origine"),
    ("coord_x", "coord_y"), ("x_l93", "y_l93"), ("lambert_x", "lambert_y"), ("x_lambert93", "y_lambert93"),
    ("coordxet", "coordyet"), ("x", "y"),
];
/// Names of columns with a latitude and a longitude in one cell, in lower case.
const POSITION: [&str; 7] = [
    "geo_point_2d",
    "geo point",
    "geo_point",
    "geolocalisation",
    "position",
    "position_geographique",
    "coordonnees",
];

/// The columns that hold the geometries, by index.
#[derive(Clone, Copy, Debug)]
pub(super) enum GeometryColumns {
    /// WKB, or text.
    Whole(usize),
    /// `latitude, longitude` in one cell.
    Position(usize),
    /// X (longitude or easting) and y (latitude or northing).
    Coordinates(usize, usize),
}

impl GeometryColumns {
    /// Returns the geometry column that the metadata of a GeoParquet file names.
    ///
    /// # Errors
    /// There is no such column.
    pub fn named(schema: &Schema, name: &str) -> Result<Self, String> {
        let place = schema.index_of(name);
        let place = place.map_err(|_| {
            format!("its GeoParquet metadata name the column {name:?}, which it lacks")
        })?;
        Ok(Self::Whole(place))
    }

    /// Finds the columns by their names.
    ///
    /// # Errors
    /// No column has one of the known names.
    pub fn find(schema: &Schema) -> Result<Self, String> {
        let names: Vec<String> = schema
            .fields()
            .iter()
            .map(|field| field.name().trim().to_lowercase())
            .collect();
        let place = |wanted: &str| names.iter().position(|name| name == wanted);
        if let Some(whole) = GEOMETRY.iter().find_map(|name| place(name)) {
            return Ok(Self::Whole(whole));
        }
        let coordinates = COORDINATES.iter();
        if let Some((x, y)) = coordinates
            .filter_map(|(x, y)| place(x).zip(place(y)))
            .next()
        {
            return Ok(Self::Coordinates(x, y));
        }
        if let Some(position) = POSITION.iter().find_map(|name| place(name)) {
            return Ok(Self::Position(position));
        }
        Err(format!(
            "no column with a geometry among: {}; name one geometry or wkt (WKT or GeoJSON), or two longitude and \
             latitude, or x and y in Lambert-93",
            names.join(", ")
        ))
    }

    /// Returns a batch without the column of whole geometries.
    pub fn without_geometry(self, batch: &RecordBatch) -> Result<RecordBatch, String> {
        let mut batch = batch.clone();
        if let Self::Whole(place) = self {
            batch.remove_column(place);
        }
        Ok(batch)
    }

    /// Appends the geometry of each row of a batch to `geometries`.
    ///
    /// # Errors
    /// A cell cannot be read; the message names the feature.
    pub fn read(
        self,
        batch: &RecordBatch,
        geometries: &mut Vec<Option<Geometry>>,
    ) -> Result<(), String> {
        let column = |place: usize| (batch.schema_ref().field(place).name(), batch.column(place));
        let before = geometries.len();
        let of_row = |row: usize, name: &str, reason: String| {
            format!("feature {}, column {name:?}: {reason}", before + row + 1)
        };
        match self {
            Self::Whole(place) => {
                let (name, cells) = column(place);
                let read = whole(cells).map_err(|reason| format!("column {name:?}: {reason}"))?;
                for row in 0..batch.num_rows() {
                    geometries.push(read(row).map_err(|reason| of_row(row, name, reason))?);
                }
            }
            Self::Position(place) => {
                let (name, cells) = column(place);
                let texts = text(cells)?;
                let texts = texts.as_string::<i32>();
                for (row, cell) in texts.iter().enumerate() {
                    let position = cell.filter(|cell| !cell.trim().is_empty());
                    let position = position.map(position_of).transpose();
                    let position = position.map_err(|reason| of_row(row, name, reason))?;
                    geometries.push(position.map(|position| Point(position).into()));
                }
            }
            Self::Coordinates(x, y) => {
                let ((x_name, x), (y_name, y)) = (column(x), column(y));
                let (x, y) = (Numbers::of(x)?, Numbers::of(y)?);
                for row in 0..batch.num_rows() {
                    let x = x.at(row).map_err(|reason| of_row(row, x_name, reason))?;
                    let y = y.at(row).map_err(|reason| of_row(row, y_name, reason))?;
                    let position = x.zip(y).map(|(x, y)| Point(Coord { x, y }).into());
                    geometries.push(position);
                }
            }
        }
        Ok(())
    }
}

/// A function that reads the geometry of a row, given its index.
type RowReader<'c> = Box<dyn Fn(usize) -> Result<Option<Geometry>, String> + 'c>;

/// Returns the reader of a column of whole geometries.
fn whole(column: &ArrayRef) -> Result<RowReader<'_>, String> {
    match column.data_type() {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            let cells = cast(column, &DataType::LargeBinary).map_err(|error| error.to_string())?;
            Ok(Box::new(move |row| {
                let cells = cells.as_binary::<i64>();
                if cells.is_valid(row) {
                    wkb::read(cells.value(row))
                } else {
                    Ok(None)
                }
            }))
        }
        _ => {
            let cells = text(column)?;
            Ok(Box::new(move |row| {
                let cells = cells.as_string::<i32>();
                let cell = if cells.is_valid(row) {
                    cells.value(row).trim()
                } else {
                    ""
                };
                match cell.chars().next() {
                    None => Ok(None),
                    Some('{') => geojson::read_geometry(cell),
                    Some(_) => wkt::read(cell),
                }
            }))
        }
    }
}

fn text(column: &ArrayRef) -> Result<ArrayRef, String> {
    cast(column, &DataType::Utf8).map_err(|error| error.to_string())
}

/// Reads a latitude and a longitude, separated by a comma or a space, with or without brackets.
fn position_of(cell: &str) -> Result<Coord, String> {
    let signs: &[char] = &['(', ')', '[', ']', ' '];
    let cell = cell.trim_matches(signs);
    let (lat, lon) = cell
        .split_once(',')
        .or_else(|| cell.split_once(' '))
        .ok_or_else(|| format!("{cell:?} is not a latitude and a longitude"))?;
    let number = |text: &str| {
        let text = text.trim();
        text.parse::<f64>()
            .map_err(|_| format!("{text:?} is not a number"))
    };
    Ok(Coord {
        x: number(lon)?,
        y: number(lat)?,
    })
}

/// A column of coordinates: numbers, or strings with decimal commas or points.
enum Numbers {
    Numbers(ArrayRef),
    Texts(ArrayRef),
}

impl Numbers {
    fn of(column: &ArrayRef) -> Result<Self, String> {
        let failed = |error: arrow::error::ArrowError| error.to_string();
        Ok(if column.data_type().is_numeric() {
            Self::Numbers(cast(column, &DataType::Float64).map_err(failed)?)
        } else {
            Self::Texts(text(column)?)
        })
    }

    fn at(&self, row: usize) -> Result<Option<f64>, String> {
        match self {
            Self::Numbers(numbers) => {
                let numbers = numbers.as_primitive::<Float64Type>();
                Ok(numbers.is_valid(row).then(|| numbers.value(row)))
            }
            Self::Texts(texts) => {
                let texts = texts.as_string::<i32>();
                let cell = texts.is_valid(row).then(|| texts.value(row).trim());
                let Some(cell) = cell.filter(|cell| !toise_input::missing::is_missing(cell)) else {
                    return Ok(None);
                };
                number::read(cell, LoneSeparator::Decimals)
                    .map(Some)
                    .ok_or_else(|| format!("{cell:?} is not a number"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_in_one_cell_are_read() {
        for cell in ["48.5, 2.25", "48.5,2.25", "(48.5, 2.25)", "[48.5 2.25]"] {
            let position = position_of(cell).unwrap();
            assert_eq!((position.x, position.y), (2.25, 48.5), "{cell}");
        }
        assert!(position_of("48.5").is_err() && position_of("48,5, 2,25").is_err());
    }
}
