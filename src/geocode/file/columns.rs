//! Columns that geocoding appends to a file, and the status of a row.

use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::request::Operation;
use toise_contract::Fault;

toise_base::named! {
    /// A column of results, in the order of output. Columns after `Status` are written only if a request names them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ResultColumn {
        /// Latitude in degrees.
        Latitude = "latitude",
        /// Longitude in degrees.
        Longitude = "longitude",
        /// Probability of the result.
        Score = "result_score",
        /// Probability of the next result.
        ScoreNext = "result_score_next",
        /// Distance in metres.
        Distance = "result_distance",
        /// Address in one line.
        Label = "result_label",
        /// Kind of result.
        Type = "result_type",
        /// Identifier.
        Id = "result_id",
        /// House number.
        HouseNumber = "result_housenumber",
        /// Number and street, street, place or commune.
        Name = "result_name",
        /// Street.
        Street = "result_street",
        /// Postal code.
        PostalCode = "result_postcode",
        /// Commune.
        City = "result_city",
        /// Department and region.
        Context = "result_context",
        /// INSEE code.
        InseeCode = "result_citycode",
        /// INSEE code of the former commune.
        FormerInseeCode = "result_oldcitycode",
        /// Former commune.
        FormerCity = "result_oldcity",
        /// Arrondissement.
        District = "result_district",
        /// Status of the row.
        Status = "result_status",
        /// Level of trust in the result.
        Confidence = "result_confidence",
        /// Source of the result.
        Source = "result_source",
        /// How well the house number matches.
        MatchedHouseNumber = "result_matched_housenumber",
        /// How well the street matches.
        MatchedStreet = "result_matched_street",
        /// How well the postal code matches.
        MatchedPostalCode = "result_matched_postcode",
        /// How well the commune matches.
        MatchedCity = "result_matched_city",
        /// How far away the intended address may be, metres.
        Uncertainty = "result_uncertainty_m",
    }
}

use ResultColumn::*;

impl ResultColumn {
    /// Returns the default columns to append, in order.
    pub fn defaults(operation: Operation) -> Vec<Self> {
        let asked = |column: &Self| match operation {
            Operation::Search => *column != Distance,
            Operation::Reverse => !matches!(column, Score | ScoreNext),
        };
        let usual = Self::ALL.into_iter().take(Status as usize + 1);
        usual.filter(asked).collect()
    }

    /// Returns the name in the contract; the name of a position column depends on the operation.
    pub fn name(self, operation: Operation) -> &'static str {
        match (self, operation) {
            (Latitude, Operation::Reverse) => "result_latitude",
            (Longitude, Operation::Reverse) => "result_longitude",
            _ => self.as_str(),
        }
    }

    /// Returns a name for the column in a file that already has the columns `taken`; adds a number if needed.
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
    pub fn read(names: &[String], operation: Operation) -> Result<Vec<Self>, Fault> {
        let column = |(index, name): (usize, &String)| {
            let mut columns = Self::ALL.into_iter();
            let found = columns.find(|column| column.name(operation) == name);
            found.ok_or_else(|| {
                let known = Self::ALL.map(|one| one.name(operation));
                let message = format!("must be one of: {}", known.join(", "));
                Fault::new(format!("result_columns[{index}]"), message)
            })
        };
        names.iter().enumerate().map(column).collect()
    }

    /// Returns the value of this column for a result; empty if the result has none. `next` is the score of the next
    /// result.
    pub fn value(self, address: &Address<'_>, next: Option<f64>) -> String {
        let properties = &address.properties;
        let text = |text: &Option<std::borrow::Cow<'_, str>>| {
            text.as_ref()
                .map_or_else(String::new, |text| text.to_string())
        };
        let part = |part: fn(&crate::search::Matched) -> crate::search::PartMatch| {
            let matched = properties.matched.as_ref();
            matched.map_or_else(String::new, |matched| part(matched).as_str().to_owned())
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
            Type => properties.kind.as_str().to_owned(),
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
            Status => RowStatus::Ok.as_str().to_owned(),
            Confidence => properties.confidence.as_str().to_owned(),
            Source => properties.source.as_str().to_owned(),
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

toise_base::named! {
    /// Status of a row.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum RowStatus {
        /// It has a result.
        Ok = "ok",
        /// Nothing was found.
        NotFound = "not-found",
        /// Its cells are empty, so nothing was looked up.
        Skipped = "skipped",
        /// It cannot be read, or it is not a valid query.
        Error = "error",
    }
}
