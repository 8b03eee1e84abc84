//! Parses requests for the history of a parcel or of a building: the identifier in the path, then the page.

use super::bodies::{SEARCH_SIZE_DEFAULT, SEARCH_SIZE_MAX};
use crate::dpe;
use crate::history::{HistoryRequest, Place};
use toise_contract::cursor::CursorKey;
use toise_contract::fault::Fault;
use toise_contract::fields::{CodeFormat, DefaultValue, Field, FieldKind, read_query};
use toise_contract::listings::codes::{ParcelId, RnbId};

/// Name of the parcel in a path.
pub const PARCEL: &str = "parcel_id";
/// Name of the building in a path.
pub const BUILDING: &str = dpe::BUILDING;

/// The query of a page of events.
pub static PAGE: [Field; 2] = [
    Field::optional(
        "size",
        FieldKind::Integer(1, SEARCH_SIZE_MAX as i64),
        "Maximum number of events",
    )
    .or(DefaultValue::Integer(SEARCH_SIZE_DEFAULT as i64)),
    Field::optional(
        "cursor",
        FieldKind::Text,
        "Cursor from a previous answer for the same place; the size may differ",
    ),
];

impl Place {
    /// Parses the identifier of a parcel.
    ///
    /// # Errors
    /// The string is not a parcel identifier.
    pub fn parcel(text: &str) -> Result<Self, Fault> {
        let id = ParcelId::parse(text).map(Self::Parcel);
        id.ok_or_else(|| refusal(PARCEL, &ParcelId::FORMAT, text))
    }

    /// Parses the identifier of a building.
    ///
    /// # Errors
    /// The string is not a building identifier.
    pub fn building(text: &str) -> Result<Self, Fault> {
        let id = RnbId::parse(text).map(Self::Building);
        id.ok_or_else(|| refusal(BUILDING, &RnbId::FORMAT, text))
    }
}

fn refusal(name: &str, format: &CodeFormat, text: &str) -> Fault {
    Fault::new(name, (format.refusal)(text).unwrap_or_default())
}

/// Parses the query of a request for the history of a place; `cursors` decodes its cursor.
///
/// # Errors
/// The first fault in the order of the query.
pub fn parse_history(
    place: Place,
    query: &[(String, String)],
    cursors: &CursorKey,
) -> Result<HistoryRequest, Fault> {
    let mut values = read_query(query, &PAGE)?;
    let cursor = values.take::<&str>("cursor");
    let after = cursor.map(|cursor| {
        let position = cursors.decode(cursor, &place.digest());
        position.map_err(|fault| Fault::new("cursor", fault.to_string()))
    });
    Ok(HistoryRequest {
        size: values.take("size").unwrap_or(SEARCH_SIZE_DEFAULT),
        after: after.transpose()?,
        place,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CursorPosition, SortValue};

    fn query(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect()
    }

    #[test]
    fn an_identifier_is_taken_or_refused_by_its_name() {
        for valid in [
            "83137000CM0123", "2A0040000B0012", "13201801AB0012", "670010000A0001",
        ] {
            assert_eq!(Place::parcel(valid).unwrap().id(), valid);
        }
        let refused = [
            "",
            "83137000CM012",
            "83137000cm0123",
            "83137000CM01234",
            "8313700éCM012",
            "2C004000AB0012",
        ];
        for invalid in refused {
            assert_eq!(
                Place::parcel(invalid).unwrap_err().to_string(),
                "parcel_id: must be the identifier of a parcel, 14 characters, such as \"83137000CM0123\"",
                "{invalid}"
            );
        }
        assert_eq!(
            Place::building("8XBEW7VVWG47").unwrap().id(),
            "8XBEW7VVWG47"
        );
        for invalid in [
            "8XBE-W7VV-WG47", "8XBEW7VVWG4", "8xbew7vvwg47", "8XBEW7VVWGO0", "ÉÉÉÉÉÉ",
        ] {
            let message = Place::building(invalid).unwrap_err().to_string();
            assert!(
                message.starts_with("id_rnb: must be the RNB identifier"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_cursor_opens_only_for_its_own_place() {
        let key = CursorKey::new([7; 32]);
        let parcel = || Place::parcel("83137000CM0123").unwrap();
        let position = CursorPosition {
            value: Some(SortValue::Day(19_000)),
            id: "0a".into(),
            state: None,
        };
        let cursor = key.encode(&position, &parcel().digest());
        let asked = query(&[("cursor", &cursor), ("size", "3")]);
        let request = parse_history(parcel(), &asked, &key).unwrap();
        assert_eq!((request.size, request.after), (3, Some(position)));
        let other = Place::parcel("83137000CM0124").unwrap();
        let fault = parse_history(other, &asked, &key).unwrap_err();
        assert_eq!(fault.path, "cursor");
        let fault = parse_history(parcel(), &query(&[("size", "101")]), &key).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "size: must be an integer between 1 and 100"
        );
        assert_eq!(parse_history(parcel(), &[], &key).unwrap().size, 20);
    }
}
