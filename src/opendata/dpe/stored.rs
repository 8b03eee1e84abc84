//! Reads a stored diagnostic back as text cells: its values stand in for the columns that a file lacks.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::placing::LOCATION_PRECISION;
use toise_lake::Error;

/// The values of a stored diagnostic, as text.
#[derive(Debug, Default)]
pub struct StoredDiagnostic<'r> {
    values: HashMap<&'r str, Cow<'r, str>>,
    /// Latitude and longitude, degrees.
    pub position: Option<(f64, f64)>,
}

#[derive(Deserialize)]
struct StoredLocation {
    lat: f64,
    lon: f64,
}

impl<'r> StoredDiagnostic<'r> {
    /// Reads a record of the table.
    ///
    /// # Errors
    /// The record is not an object of strings and numbers: the table is damaged.
    pub fn read(record: &'r [u8]) -> Result<Self, Error> {
        let damaged = |error| Error::damaged(Path::new(super::schema().name), error);
        let raw: HashMap<&str, &RawValue> = serde_json::from_slice(record).map_err(damaged)?;
        let mut stored = Self::default();
        for (name, value) in raw {
            let text = value.get();
            if name == "location" {
                let location: StoredLocation = serde_json::from_str(text).map_err(damaged)?;
                stored.position = Some((location.lat, location.lon));
                continue;
            }
            let inside = text
                .strip_prefix('"')
                .and_then(|text| text.strip_suffix('"'));
            let cell = match inside {
                Some(inside) if !inside.contains('\\') => Cow::Borrowed(inside),
                Some(_) => Cow::Owned(serde_json::from_str(text).map_err(damaged)?),
                None => Cow::Borrowed(text),
            };
            stored.values.insert(name, cell);
        }
        Ok(stored)
    }

    /// Returns the value of a published column; empty if there is none.
    pub fn value(&self, column: &str) -> &str {
        self.values.get(column).map_or("", |value| &**value)
    }

    /// Returns how precisely the position was found from the address; `None` if the register gave the position.
    pub fn precision(&self) -> Option<&str> {
        self.values.get(LOCATION_PRECISION).map(|value| &**value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_gives_its_cells_back() {
        let record = r#"{"numero_dpe":"A","adresse_ban":"4 rue \"B\"\né","besoin_ecs":848.1,"flx_id":7,"location":{"lat":45.5,"lon":4.25},"location_precision":"STREET"}"#;
        let stored = StoredDiagnostic::read(record.as_bytes()).unwrap();
        assert_eq!(stored.value("adresse_ban"), "4 rue \"B\"\né");
        assert_eq!(stored.value("besoin_ecs"), "848.1");
        assert_eq!(stored.value("etiquette_dpe"), "");
        assert_eq!(
            (stored.position, stored.precision()),
            (Some((45.5, 4.25)), Some("STREET"))
        );
        assert!(StoredDiagnostic::read(b"[]").is_err());
    }
}
