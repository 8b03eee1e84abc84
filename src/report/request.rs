//! Parses the request for a report: the home, with the names of a portfolio's columns, the language and the format.

use std::sync::LazyLock;

use chrono::NaiveDate;

use crate::language::Language;
use toise_contract::enums::{EnumPropertyGeneralCondition, WireEnum};
use toise_contract::fault::Fault;
use toise_contract::fields::{DefaultValue, Field, FieldKind};
use toise_estimate::Home;
use toise_estimate::request::fields::{FIELDS, HomeField, HomeInput, REQUIRED_COLUMNS};
use toise_estimate::request::parse_parameters;
use toise_geocode::Geocoder;
use toise_geocode::request::TEXT_CHARS;
use toise_geocode::resolve::{PostalAddress, Resolved};

/// Parameter with the address of the home.
const ADDRESS: &str = "address";
/// Parameter with the language.
const LANGUAGE: &str = "lang";
/// Parameter with the form of the answer.
const FORMAT: &str = "format";
/// Columns that give a position.
const POSITION: [&str; 2] = ["longitude", "latitude"];

toise_base::named! {
    /// Form of a report.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Format {
        /// JSON.
        #[default]
        Json = "json",
        /// A web page.
        Html = "html",
        /// Two pages of A4.
        Pdf = "pdf",
    }
}

/// The parameters of a report, for the reference.
pub fn parameters() -> &'static [Field] {
    static PARAMETERS: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let mut fields = vec![Field::optional(
            ADDRESS,
            FieldKind::Words(*TEXT_CHARS.end()),
            "Address in one line, with postal code and commune, instead of longitude and latitude. 422 if it is not \
             found with enough certainty",
        )];
        fields.extend(inputs().map(|input| Field {
            name: input.column,
            kind: match input.input {
                // A parameter is given once.
                HomeInput::Conditions => {
                    FieldKind::OneOf(EnumPropertyGeneralCondition::TABLE.values)
                }
                _ => input.field.kind,
            },
            example: (input.input == HomeInput::Class).then_some("CLASS_FLAT"),
            is_required: REQUIRED_COLUMNS.contains(&input.column)
                && !POSITION.contains(&input.column),
            ..input.field
        }));
        fields.push(
            Field::optional(
                LANGUAGE,
                FieldKind::OneOf(&Language::NAMES),
                "Language of HTML and PDF",
            )
            .or(DefaultValue::Word("fr")),
        );
        fields.push(
            Field::optional(
                FORMAT,
                FieldKind::OneOf(&Format::NAMES),
                "Form of the answer",
            )
            .or(DefaultValue::Word("json")),
        );
        fields
    });
    &PARAMETERS
}

/// The characteristics of the home that a report takes.
fn inputs() -> impl Iterator<Item = &'static HomeField> {
    FIELDS
        .iter()
        .filter(|field| !field.column.is_empty() && field.input != HomeInput::Date)
}

/// A valid request.
#[derive(Clone, Debug)]
pub struct HomeReportRequest {
    /// The home.
    pub home: Home,
    /// The result of locating its address; `None` if a position was given.
    pub located: Option<Resolved>,
    /// Language.
    pub language: Language,
    /// Form of the answer.
    pub format: Format,
}

/// Parses the parameters of a request, and finds the position of its address. `today` is the day of the report.
///
/// # Errors
/// The first parameter that is unknown or not valid, a missing one, or an address that is not found with enough
/// certainty.
pub fn parse_home_report<N: AsRef<str>, V: AsRef<str>>(
    parameters: &[(N, V)],
    geocoder: &Geocoder,
    today: NaiveDate,
) -> Result<HomeReportRequest, Fault> {
    let (mut language, mut format) = (Language::default(), Format::default());
    let mut address = None;
    let mut cells: Vec<(&'static HomeField, &str)> = Vec::new();
    for (name, value) in parameters {
        let (name, value) = (name.as_ref(), value.as_ref());
        let one_of =
            |names: &[&str]| Fault::new(name, format!("must be one of: {}", names.join(", ")));
        if value.trim().is_empty() {
            return Err(Fault::new(name, "must not be empty"));
        }
        match name {
            ADDRESS => address = Some(value),
            LANGUAGE => {
                language = Language::parse(value).ok_or_else(|| one_of(&Language::NAMES))?;
            }
            FORMAT => format = Format::parse(value).ok_or_else(|| one_of(&Format::NAMES))?,
            other => match inputs().find(|field| field.column == other) {
                Some(field) => cells.push((field, value)),
                None => {
                    let known: Vec<&str> =
                        self::parameters().iter().map(|field| field.name).collect();
                    let message =
                        format!("unknown parameter; must be one of: {}", known.join(", "));
                    return Err(Fault::new(name, message));
                }
            },
        }
    }
    let has_position = cells
        .iter()
        .any(|(field, _)| POSITION.contains(&field.column));
    let located = match address {
        Some(_) if has_position => None,
        Some(address) => {
            let found = geocoder.locate(PostalAddress::line(address));
            Some(found.map_err(|reason| Fault::new(ADDRESS, reason.to_string()))?)
        }
        None if !has_position => {
            let message = "is required, or longitude and latitude";
            return Err(Fault::new(ADDRESS, message));
        }
        None => None,
    };
    let position = located.as_ref().map(Resolved::position);
    let home = parse_parameters(cells.into_iter(), position, today)?;
    Ok(HomeReportRequest {
        home,
        located,
        language,
        format,
    })
}
