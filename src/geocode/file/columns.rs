//! The columns that results are written to.

use crate::address::Address;
use toise_contract::Fault;

/// What a file's rows ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Addresses to positions.
    Search,
    /// Positions to addresses.
    Reverse,
}

impl Operation {
    /// Its name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Search => "search",
            Operation::Reverse => "reverse",
        }
    }

    /// The columns appended unless a request names others, in order.
    pub fn default_columns(self) -> Vec<ResultColumn> {
        use ResultColumn::*;
        let head: &[ResultColumn] = match self {
            Operation::Search => &[Latitude, Longitude, Score, ScoreNext],
            Operation::Reverse => &[Latitude, Longitude, Distance],
        };
        let common = [
            Label,
            Type,
            Id,
            HouseNumber,
            Name,
            Street,
            PostalCode,
            City,
            Context,
            InseeCode,
            FormerInseeCode,
            FormerCity,
            District,
            Status,
        ];
        head.iter().copied().chain(common).collect()
    }
}

/// A column of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultColumn {
    /// Latitude in degrees.
    Latitude,
    /// Longitude in degrees.
    Longitude,
    /// Probability of the result.
    Score,
    /// Probability of the next.
    ScoreNext,
    /// Distance in metres.
    Distance,
    /// One line.
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
    /// What became of the row.
    Status,
    /// How far the result can be trusted.
    Confidence,
    /// Where the result comes from.
    Source,
    /// How the house number agrees.
    MatchedHouseNumber,
    /// How the street agrees.
    MatchedStreet,
    /// How the postal code agrees.
    MatchedPostalCode,
    /// How the commune agrees.
    MatchedCity,
}

use ResultColumn::*;

impl ResultColumn {
    /// All columns. Those after [`ResultColumn::Status`] are written only where a request names them.
    pub const ALL: [ResultColumn; 25] = [
        Latitude,
        Longitude,
        Score,
        ScoreNext,
        Distance,
        Label,
        Type,
        Id,
        HouseNumber,
        Name,
        Street,
        PostalCode,
        City,
        Context,
        InseeCode,
        FormerInseeCode,
        FormerCity,
        District,
        Status,
        Confidence,
        Source,
        MatchedHouseNumber,
        MatchedStreet,
        MatchedPostalCode,
        MatchedCity,
    ];

    /// The name in the contract; that of a position depends on the operation.
    pub fn name(self, operation: Operation) -> &'static str {
        match (self, operation) {
            (Latitude, Operation::Search) => "latitude",
            (Latitude, Operation::Reverse) => "result_latitude",
            (Longitude, Operation::Search) => "longitude",
            (Longitude, Operation::Reverse) => "result_longitude",
            (Score, _) => "result_score",
            (ScoreNext, _) => "result_score_next",
            (Distance, _) => "result_distance",
            (Label, _) => "result_label",
            (Type, _) => "result_type",
            (Id, _) => "result_id",
            (HouseNumber, _) => "result_housenumber",
            (Name, _) => "result_name",
            (Street, _) => "result_street",
            (PostalCode, _) => "result_postcode",
            (City, _) => "result_city",
            (Context, _) => "result_context",
            (InseeCode, _) => "result_citycode",
            (FormerInseeCode, _) => "result_oldcitycode",
            (FormerCity, _) => "result_oldcity",
            (District, _) => "result_district",
            (Status, _) => "result_status",
            (Confidence, _) => "result_confidence",
            (Source, _) => "result_source",
            (MatchedHouseNumber, _) => "result_matched_housenumber",
            (MatchedStreet, _) => "result_matched_street",
            (MatchedPostalCode, _) => "result_matched_postcode",
            (MatchedCity, _) => "result_matched_city",
        }
    }

    /// Whether its values are numbers.
    pub fn is_number(self) -> bool {
        matches!(self, Latitude | Longitude | Score | ScoreNext | Distance)
    }

    /// Reads the columns that a request names.
    ///
    /// # Errors
    /// A name that is no column of results.
    pub fn parse(names: &[String], operation: Operation) -> Result<Vec<Self>, Fault> {
        let column = |(index, name): (usize, &String)| {
            let found = Self::ALL
                .into_iter()
                .find(|column| column.name(operation) == name);
            found.ok_or_else(|| {
                let known: Vec<&str> = Self::ALL.iter().map(|one| one.name(operation)).collect();
                let message = format!("must be one of: {}", known.join(", "));
                Fault::new(format!("result_columns[{index}]"), message)
            })
        };
        names.iter().enumerate().map(column).collect()
    }

    /// The value of a result; empty where it has none. `next` is the score of the result after it.
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
        }
    }
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowStatus {
    /// It has a result.
    Ok,
    /// Nothing was found.
    NotFound,
    /// It asks nothing: its cells are empty.
    Skipped,
    /// It cannot be read or asked.
    Error,
}

impl RowStatus {
    /// Its name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            RowStatus::Ok => "ok",
            RowStatus::NotFound => "not-found",
            RowStatus::Skipped => "skipped",
            RowStatus::Error => "error",
        }
    }
}
