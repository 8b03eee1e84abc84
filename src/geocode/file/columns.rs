//! Defines the columns that results are written to.

use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::request::Operation;
use toise_contract::Fault;

/// A column of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultColumn {
    /// Latitude in degrees.
    Latitude,
    /// Longitude in degrees.
    Longitude,
    /// Probability of the result.
    Score,
    /// Probability of the next result.
    ScoreNext,
    /// Distance in metres.
    Distance,
    /// Address in one line.
    Label,
    /// Kind of result.
    Type,
    /// Identifier.
    Id,
    /// House number.
    HouseNumber,
    /// Number and street, street, place or commune.
    Name,
    /// Street.
    Street,
    /// Postal code.
    PostalCode,
    /// Commune.
    City,
    /// Department and region.
    Context,
    /// INSEE code.
    InseeCode,
    /// INSEE code of the former commune.
    FormerInseeCode,
    /// Former commune.
    FormerCity,
    /// Arrondissement.
    District,
    /// Status of the row.
    Status,
    /// Level of trust in the result.
    Confidence,
    /// Source of the result.
    Source,
    /// How the house number agrees.
    MatchedHouseNumber,
    /// How the street agrees.
    MatchedStreet,
    /// How the postal code agrees.
    MatchedPostalCode,
    /// How the commune agrees.
    MatchedCity,
    /// How far away the intended address may be, metres.
    Uncertainty,
}

use ResultColumn::*;

/// Every column with its name, in output order. Columns after [`Status`] are written only if a request names them.
const COLUMNS: [(ResultColumn, &str); 26] = [
    (Latitude, "latitude"),
    (Longitude, "longitude"),
    (Score, "result_score"),
    (ScoreNext, "result_score_next"),
    (Distance, "result_distance"),
    (Label, "result_label"),
    (Type, "result_type"),
    (Id, "result_id"),
    (HouseNumber, "result_housenumber"),
    (Name, "result_name"),
    (Street, "result_street"),
    (PostalCode, "result_postcode"),
    (City, "result_city"),
    (Context, "result_context"),
    (InseeCode, "result_citycode"),
    (FormerInseeCode, "result_oldcitycode"),
    (FormerCity, "result_oldcity"),
    (District, "result_district"),
    (Status, "result_status"),
    (Confidence, "result_confidence"),
    (Source, "result_source"),
    (MatchedHouseNumber, "result_matched_housenumber"),
    (MatchedStreet, "result_matched_street"),
    (MatchedPostalCode, "result_matched_postcode"),
    (MatchedCity, "result_matched_city"),
    (Uncertainty, "result_uncertainty_m"),
];

impl ResultColumn {
    /// Returns all columns.
    pub fn all() -> impl Iterator<Item = Self> {
        COLUMNS.iter().map(|(column, _)| *column)
    }

    /// Returns the default columns to append, in order.
    pub fn usual(operation: Operation) -> Vec<Self> {
        let status = COLUMNS.iter().position(|(column, _)| *column == Status);
        let asked = |column: &Self| match operation {
            Operation::Search => *column != Distance,
            Operation::Reverse => !matches!(column, Score | ScoreNext),
        };
        let usual = Self::all().take(status.map_or(0, |last| last + 1));
        usual.filter(asked).collect()
    }

    /// Returns the name in the contract; the name of a position column depends on the operation.
    pub fn name(self, operation: Operation) -> &'static str {
        match (self, operation) {
            (Latitude, Operation::Reverse) => return "result_latitude",
            (Longitude, Operation::Reverse) => return "result_longitude",
            _ => {}
        }
        let found = COLUMNS.iter().find(|(column, _)| *column == self);
        found.map_or("", |(_, name)| *name)
    }

    /// Returns the name of the column in a file with these columns, numbered if its own name is taken.
    pub fn free_name(self, operation: Operation, taken: &[String]) -> String {
        let name = self.name(operation);
        let is_taken = |wanted: &str| taken.iter().any(|column| column == wanted);
        let mut free = name.to_owned();
        let mut number = 2;
        while is_taken(&free) {
            free = format!("{name}_{number}");
            number += 1;
        }
        free
    }

    /// Returns whether its values are numbers.
    pub fn is_number(self) -> bool {
        matches!(
            self,
            Latitude | Longitude | Score | ScoreNext | Distance | Uncertainty
        )
    }

    /// Reads the columns that a request names.
    ///
    /// # Errors
    /// A name is not a result column.
    pub fn parse(names: &[String], operation: Operation) -> Result<Vec<Self>, Fault> {
        let column = |(index, name): (usize, &String)| {
            let found = Self::all().find(|column| column.name(operation) == name);
            found.ok_or_else(|| {
                let known: Vec<&str> = Self::all().map(|one| one.name(operation)).collect();
                let message = format!("must be one of: {}", known.join(", "));
                Fault::new(format!("result_columns[{index}]"), message)
            })
        };
        names.iter().enumerate().map(column).collect()
    }

    /// Returns the value of a result; empty if it has none. `next` is the score of the next result.
    pub fn value(self, address: &Address<'_>, next: Option<f64>) -> String {
        let properties = &address.properties;
        let text = |text: &Option<std::borrow::Cow<'_, str>>| {
            text.as_ref()
                .map_or_else(String::new, |text| text.to_string())
        };
        let part = |part: fn(&crate::search::Matched) -> crate::search::PartMatch| {
            let matched = properties.matched.as_ref();
            matched.map_or_else(String::new, |matched| part(matched).name().to_owned())
        };
        match self {
            Latitude => address.lat.to_string(),
            Longitude => address.lon.to_string(),
            Score => properties.score.to_string(),
            ScoreNext => next.map_or_else(String::new, |score| score.to_string()),
            Distance => properties
                .distance
                .map_or_else(String::new, |metres| metres.to_string()),
            Label => properties.label.clone(),
            Type => properties.kind.name().to_owned(),
            Id => properties.id.to_string(),
            HouseNumber => text(&properties.house_number),
            Name => properties.name.to_string(),
            Street => text(&properties.street),
            PostalCode => properties.postal_code.to_string(),
            City => properties.city.to_string(),
            Context => properties.context.clone(),
            InseeCode => properties.insee_code.to_string(),
            FormerInseeCode => text(&properties.former_insee_code),
            FormerCity => text(&properties.former_city),
            District => text(&properties.district),
            Status => RowStatus::Ok.name().to_owned(),
            Confidence => properties.confidence.name().to_owned(),
            Source => properties.source.name().to_owned(),
            MatchedHouseNumber => part(|matched| matched.house_number),
            MatchedStreet => part(|matched| matched.street),
            MatchedPostalCode => part(|matched| matched.postal_code),
            MatchedCity => part(|matched| matched.city),
            Uncertainty => properties
                .uncertainty_m
                .map_or_else(String::new, |metres| metres.to_string()),
        }
    }
}

/// Status of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowStatus {
    /// It has a result.
    Ok,
    /// Nothing was found.
    NotFound,
    /// Its cells are empty, so nothing was looked up.
    Skipped,
    /// It cannot be read, or it is not a valid query.
    Error,
}

impl RowStatus {
    /// Returns its name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            RowStatus::Ok => "ok",
            RowStatus::NotFound => "not-found",
            RowStatus::Skipped => "skipped",
            RowStatus::Error => "error",
        }
    }
}
