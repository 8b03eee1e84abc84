//! GeoJSON (RFC 7946): one feature collection, written row by row.

use std::io::Write;

use arrow::array::RecordBatch;

use super::position::PositionColumns;
use super::{Error, json_rows};

/// Writes a feature collection; every column is a property of its feature.
pub struct GeoJsonWriter<W: Write> {
    out: W,
    position: PositionColumns,
    is_empty: bool,
}

impl<W: Write> GeoJsonWriter<W> {
    pub(super) fn start(mut out: W, position: PositionColumns) -> Result<Self, Error> {
        out.write_all(b"{\"type\":\"FeatureCollection\",\"features\":[")?;
        Ok(Self {
            out,
            position,
            is_empty: true,
        })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let points = self.position.points(batch)?;
        let text = json_rows::lines(batch)?;
        for (point, properties) in points.iter().zip(json_rows::each(&text)) {
            let separator = if self.is_empty { "\n" } else { ",\n" };
            self.is_empty = false;
            write!(self.out, "{separator}{{\"type\":\"Feature\",\"geometry\":")?;
            match point {
                // The shortest decimals that read back as the same number.
                Some((lon, lat)) => write!(
                    self.out,
                    "{{\"type\":\"Point\",\"coordinates\":[{lon},{lat}]}}"
                )?,
                None => self.out.write_all(b"null")?,
            }
            self.out.write_all(b",\"properties\":")?;
            self.out.write_all(properties)?;
            self.out.write_all(b"}")?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<W, Error> {
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()?;
        Ok(self.out)
    }
}
