//! Parses market requests, for HTTP and the command line: the fields of a body, and the validated request.

use std::sync::Arc;

use serde_json::Value;

use crate::period::Division;
use crate::place::Level;
use toise_contract::dates::DateOrInstant;
use toise_contract::enums::{EnumPropertyClass, EnumPropertyOfferType, WireEnum};
use toise_contract::fault::Fault;
use toise_contract::fields::{self, Field, FieldKind, ListOf, Naming, Taken, Values};
use toise_contract::filter::{Clause, ClauseTest, Filter, LayerTest, POSITION};
use toise_contract::walk::JsonPath;
use toise_estimate::HomeClass;
use toise_geo::area::Area;
use toise_geo::communes::codes_within;
use toise_geo::departments;
use toise_geo::plausible::{PositionFault, is_swapped};

/// Field with the conditions on the place.
pub(crate) const LOCATION_FIELD: &str = "location";
/// Maximum departments or communes of a request.
pub const PLACES_MAX: usize = 200;
/// Characters of an INSEE code.
const COMMUNE_CHARS: usize = 5;
/// Values of `type`.
pub const CLASSES: [&str; 2] = ["CLASS_FLAT", "CLASS_HOUSE"];
/// Values of `offer`.
pub const OFFERS: [&str; 2] = ["OFFER_BUY", "OFFER_RENT"];
/// Values of `by`.
pub const DIVISIONS: [&str; 2] = ["month", "quarter"];

static DEPARTMENT: Naming = Naming {
    chars_max: 3,
    is: |code| departments::name(code).is_some(),
    rule: "must be the code of a department, such as \"48\" or \"2A\"",
};
static COMMUNE: Naming = Naming {
    chars_max: COMMUNE_CHARS,
    is: |code| {
        code.len() == COMMUNE_CHARS
            && (code.bytes()).all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
    },
    rule: "must be the INSEE code of a commune, such as \"48095\"",
};
static DEPARTMENTS: ListOf = places(FieldKind::Named(&DEPARTMENT));
static COMMUNES: ListOf = places(FieldKind::Named(&COMMUNE));

const fn places(item: FieldKind) -> ListOf {
    ListOf {
        item,
        least: 1,
        most: Some(PLACES_MAX),
    }
}

static LOCATION: [Field; 5] = [
    Field::optional(
        "departments",
        FieldKind::List(&DEPARTMENTS),
        "Within one of these departments",
    ),
    Field::optional(
        "communes",
        FieldKind::List(&COMMUNES),
        "In one of these communes, by INSEE code; 75056, 69123 and 13055 mean all arrondissements",
    ),
    Field::optional(
        "around",
        FieldKind::Place,
        "Within a distance of a position, metres",
    ),
    Field::optional("area", FieldKind::Area, "In an area"),
    Field::optional(
        "layer",
        FieldKind::Layer,
        "Inside or outside a layer, or within a distance of it",
    ),
];

/// The body of a market request.
pub static BODY: [Field; 7] = [
    Field::required(
        "level",
        FieldKind::OneOf(&Level::NAMES),
        "Kind of place that each row describes; a cell is a square of 1 km",
    ),
    Field::optional(
        "type",
        FieldKind::OneOf(&CLASSES),
        "Only flats, or only houses",
    ),
    Field::optional(
        "offer",
        FieldKind::OneOf(&OFFERS),
        "Only the indicators of sales (recorded and asking prices), or only those of rents",
    ),
    Field::optional("from", FieldKind::Moment, "First day"),
    Field::optional("to", FieldKind::Moment, "Last day"),
    Field::optional(
        "by",
        FieldKind::OneOf(&DIVISIONS),
        "Length of a period; without it all days form one period",
    ),
    Field::optional(
        LOCATION_FIELD,
        FieldKind::Object(&LOCATION),
        "The places to include; all conditions must hold. Required over HTTP if level is cell",
    ),
];

/// A validated market request.
#[derive(Clone, Debug, PartialEq)]
pub struct MarketRequest {
    /// The kind of place that each row describes.
    pub level: Level,
    /// The class; both if absent.
    pub class: Option<HomeClass>,
    /// Whether indicators of sales are requested.
    pub has_sale: bool,
    /// Whether indicators of rents are requested.
    pub has_rent: bool,
    /// First day, days since 1970-01-01.
    pub from: Option<i32>,
    /// Last day, days since 1970-01-01.
    pub to: Option<i32>,
    /// How the days are divided.
    pub by: Division,
    /// Codes of departments; any if empty.
    pub departments: Vec<String>,
    /// Codes of communes; any if empty.
    pub communes: Vec<String>,
    /// Latitude and longitude in degrees, and radius in metres.
    pub around: Option<(f64, f64, f64)>,
    /// The area.
    pub area: Option<Arc<Area>>,
    /// The relation to a layer, which must be resolved before a report is made.
    pub layer: Option<LayerTest>,
}

impl MarketRequest {
    /// Creates a request for all indicators of a level, over all days as one period.
    pub fn of_level(level: Level) -> Self {
        Self {
            level,
            class: None,
            has_sale: true,
            has_rent: true,
            from: None,
            to: None,
            by: Division::Whole,
            departments: Vec::new(),
            communes: Vec::new(),
            around: None,
            area: None,
            layer: None,
        }
    }

    /// Returns whether there is a condition on the place.
    pub fn has_place(&self) -> bool {
        !self.departments.is_empty()
            || !self.communes.is_empty()
            || self.around.is_some()
            || self.area.is_some()
            || self.layer.is_some()
    }

    /// Returns whether a class is requested.
    pub fn includes(&self, class: HomeClass) -> bool {
        self.class.is_none_or(|wanted| wanted == class)
    }

    /// Builds the conditions on the place, for columns with these names.
    pub(crate) fn place_filter(&self, department: &'static str, commune: &'static str) -> Filter {
        let mut filter = Filter::new();
        let communes = self.communes.iter().flat_map(|code| codes_within(code));
        for (column, codes) in [
            (department, self.departments.clone()),
            (commune, communes.collect()),
        ] {
            if !codes.is_empty() {
                filter.push(Clause::new(column, ClauseTest::OneOf(codes)));
            }
        }
        if let Some((lat, lon, radius_m)) = self.around {
            let test = ClauseTest::Within { lat, lon, radius_m };
            filter.push(Clause::new(POSITION, test));
        }
        if let Some(area) = &self.area {
            let test = ClauseTest::InArea(Arc::clone(area));
            filter.push(Clause::new(POSITION, test));
        }
        if let Some(test) = &self.layer {
            filter.push(Clause::new(POSITION, ClauseTest::InLayer(test.clone())));
        }
        filter
    }
}

/// Parses the body of a market request.
///
/// # Errors
/// The first invalid field in document order; otherwise `from` after `to`, or swapped coordinates in `around`.
pub fn parse_market(body: &Value) -> Result<MarketRequest, Fault> {
    let at = JsonPath::Body;
    let mut values = fields::read(body, &BODY, at)?;
    let level = values.word("level").and_then(Level::parse);
    let mut request =
        MarketRequest::of_level(level.ok_or_else(|| Fault::new("level", "is required"))?);
    request.class = match values.word("type").and_then(EnumPropertyClass::parse) {
        Some(EnumPropertyClass::Flat) => Some(HomeClass::Flat),
        Some(EnumPropertyClass::House) => Some(HomeClass::House),
        _ => None,
    };
    let offer = values.word("offer").and_then(EnumPropertyOfferType::parse);
    request.has_sale = offer != Some(EnumPropertyOfferType::Rent);
    request.has_rent = offer != Some(EnumPropertyOfferType::Buy);
    request.by = match values.word("by") {
        Some("month") => Division::Month,
        Some("quarter") => Division::Quarter,
        _ => Division::Whole,
    };
    request.from = (values.take::<DateOrInstant>("from")).map(DateOrInstant::first_day);
    request.to = (values.take::<DateOrInstant>("to")).map(DateOrInstant::last_day);
    if let (Some(from), Some(to)) = (request.from, request.to)
        && from > to
    {
        return Err(Fault::new("from", "must not be after to"));
    }
    if let Some(mut location) = values.take::<Values<'_>>(LOCATION_FIELD) {
        request.departments = codes(&mut location, "departments");
        request.communes = codes(&mut location, "communes");
        if let Some(Taken::Place { lat, lon, radius_m }) = location.take("around") {
            if is_swapped(lat, lon) {
                let fault = PositionFault::CoordinatesSwapped.to_string();
                return Err(Fault::new("location.around", fault));
            }
            request.around = Some((lat, lon, radius_m));
        }
        request.area = location.take("area");
        request.layer = location.take("layer");
    }
    Ok(request)
}

fn codes(location: &mut Values<'_>, name: &str) -> Vec<String> {
    let Some(Taken::List(items)) = location.take(name) else {
        return Vec::new();
    };
    let texts = items.into_iter().filter_map(|item| match item {
        Taken::Text(text) => Some(text.to_owned()),
        _ => None,
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_body_is_read_and_its_faults_are_named() {
        let request = parse_market(&json!({
            "level": "commune", "type": "CLASS_FLAT", "offer": "OFFER_BUY", "by": "quarter",
            "from": "2023-01-01", "to": "2023-12-31", "location": {"departments": ["48", "2A"]},
        }));
        let request = request.unwrap();
        assert_eq!(request.class, Some(HomeClass::Flat));
        assert!(request.has_sale && !request.has_rent);
        assert_eq!(request.departments, ["48", "2A"]);
        assert_eq!((request.from, request.to), (Some(19_358), Some(19_722)));
        for (body, path) in [
            (json!({}), "level"),
            (json!({"level": "city"}), "level"),
            (
                json!({"level": "iris", "from": "2024-02-01", "to": "2024-01-01"}),
                "from",
            ),
            (json!({"level": "iris", "by": "week"}), "by"),
            (
                json!({"level": "iris", "location": {"departments": ["99"]}}),
                "location.departments[0]",
            ),
            (
                json!({"level": "iris", "location": {"communes": ["Mende"]}}),
                "location.communes[0]",
            ),
        ] {
            let fault = parse_market(&body).unwrap_err();
            assert!(fault.to_string().starts_with(path), "{fault}");
        }
    }

    #[test]
    fn the_code_of_a_divided_city_means_its_arrondissements() {
        for (code, parts, last) in [("75056", 20, "75120"), ("13055", 16, "13216")] {
            let body = json!({"level": "commune", "location": {"communes": [code]}});
            let filter = parse_market(&body).unwrap();
            let filter = filter.place_filter("department", "commune");
            let ClauseTest::OneOf(codes) = &filter[0].test else {
                panic!("{filter:?}");
            };
            assert_eq!(
                (codes.len(), &*codes[0], &*codes[parts]),
                (1 + parts, code, last)
            );
        }
    }
}
