//! Drafts the rules that a suggestion tries for each field, in the order in which they are written.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde_json::{Value, json};

use super::super::row::{Row, RowPath};
use super::draft::{CONFIDENCE_MIN, Draft, PART_OF_NAME};
use super::energy_classes::{CLIMATE_CLASS, ENERGY_CLASS, SCORES, class_numbers, has_scores};
use super::profile::ColumnProfile;
use super::units::{NamedUnit, is_yearly_rent, means_without_unit, named_unit};
use toise_contract::columns::{CITY, IDENTIFIER, OFFER, PLACE, POSTAL_CODE, REFERENCE, folded};
use toise_contract::listings::advert_field::AdvertField;
use toise_input::words::names_class;

/// The field of a price or rent.
pub(super) const PRICE: &str = "currentPrice.value";
/// The field of the title.
pub(super) const TITLE: &str = "title";
/// The field of the class.
const CLASS: &str = "type";
/// The field of a quarter.
const DISTRICT: &str = "location.district";
/// Words that link the parts of a column's name.
const LINKS: [&str; 4] = ["et", "and", "ou", "de"];
/// Meanings of columns that identify an advert, and so hold no text.
const IDENTITIES: [&str; 3] = ["url", IDENTIFIER, REFERENCE];
/// Pattern of a quarter, without the town and postal code after it: `Cap Brun , Toulon (83000)`.
const QUARTER: &str =
    r"^(?:(.+?)\s*,[^,]*\((?:\d{2,5}|2[ABab])\)|(.*[^)\s]|.*\((?:\D|\d+\s*\D)[^)]*\)))\s*$";
/// The field of the storey.
pub(super) const FLOOR: &str = "habitation.floor";
/// The field of the area.
pub(super) const SURFACE: &str = "habitation.surface.total";
/// The field of the number of rooms.
const ROOMS: &str = "habitation.roomCount";
/// The field of the plot.
const LAND: &str = "land.surface";
/// Pattern of a cell with two areas: `86 m² (165 m²)`.
const TWO_AREAS: &str = r"(?i)^[^/|;(]*(?:m[²2]|ha)\s*[/|;(].*(?:m[²2]|ha)\s*\)?\s*$";
/// The class of flats.
pub(super) const FLAT: &str = "CLASS_FLAT";
/// The class of houses.
const HOUSE: &str = "CLASS_HOUSE";
/// The class of land.
const PLOT: &str = "CLASS_LAND";
/// Fields that are read from one column each, with their conversion.
const PLAIN: [(&str, Option<&str>); 33] = [
    (TITLE, None),
    ("description", Some("html")),
    (PRICE, Some("amount")),
    ("currentPrice.valuePerArea", Some("amount")),
    ("habitation.surface.total", None),
    ("land.surface", None),
    ("habitation.roomCount", None),
    ("habitation.bedroomCount", None),
    ("habitation.bathroomCount", None),
    ("habitation.floor", Some("floor")),
    ("habitation.features.propertyTotalFloor", None),
    ("habitation.propertyCondition.constructionYear", None),
    ("habitation.climate.epcEnergy", Some("energy-class")),
    ("habitation.climate.epcClimate", Some("climate-class")),
    ("habitation.climate.epcEnergyScore", None),
    ("habitation.climate.epcClimateScore", None),
    ("habitation.characteristics.hasLift", None),
    ("habitation.characteristics.hasBalcony", None),
    ("habitation.characteristics.hasTerrace", None),
    ("habitation.characteristics.hasCellar", None),
    ("habitation.characteristics.hasParking", None),
    ("habitation.characteristics.hasGarage", None),
    ("habitation.characteristics.hasGarden", None),
    ("habitation.characteristics.hasPool", None),
    ("habitation.characteristics.hasConcierge", None),
    ("habitation.characteristics.hasInterphone", None),
    ("habitation.characteristics.hasDigicode", None),
    ("habitation.characteristics.hasAlarm", None),
    ("habitation.characteristics.hasFireplace", None),
    ("location.inseeCode", None),
    ("location.district", None),
    ("medias.images", None),
    ("seller.name", None),
];
/// Words, folded, in names of columns whose value is not the current one of the whole home: `surface_sejour`,
/// `loyer_estime`.
const OTHER_VALUES: [&str; 53] = [
    "estime", "estimee", "estimation", "moyen", "moyenne", "mediane", "ancien", "ancienne",
    "initial", "initiale", "old", "previous", "average", "mean", "min", "max", "sejour", "salon",
    "cuisine", "annexe", "annexes", "charges", "honoraires", "evolution", "date", "total",
    "totale", "immeuble", "batiment", "annuel", "annuelle", "annual", "yearly", "year", "an",
    "semaine", "nuit", "jour", "travaux", "achat", "revient", "reserve", "potentiel", "eau",
    "jointes", "chambre", "cadastrale", "constructible", "sous", "sol", "veranda", "loggia", "lot",
];
/// Months of a year.
const MONTHS: f64 = 12.0;
/// Minimum share of its values that a column must read whose name is known only in part.
const WHOLE_MIN: f64 = 0.99;
/// Words for classes that the `words` conversion does not know.
const CLASSES: &str = "map = { \"Propriété\" = \"CLASS_HOUSE\", \"Chalet\" = \"CLASS_HOUSE\", \"Ferme\" = \"CLASS_HOUSE\", \
\"Moulin\" = \"CLASS_HOUSE\", \"Demeure\" = \"CLASS_HOUSE\", \"Hôtel particulier\" = \"CLASS_HOUSE\", \"Programme\" = \
\"CLASS_PROGRAM\", \"castle\" = \"CLASS_HOUSE\", \"townhouse\" = \"CLASS_HOUSE\", \"apartments\" = \"CLASS_FLAT\", \
\"penthouse\" = \"CLASS_FLAT\", \"land\" = \"CLASS_LAND\", \"office\" = \"CLASS_OFFICE\", \"shop\" = \"CLASS_SHOP\", \
\"building\" = \"CLASS_BUILDING\", \"Housing estate\" = \"CLASS_BUILDING\" }";
/// Factor for the confidence of a class that is read from a text.
const WORTH_OF_TEXT: f64 = 0.9;
/// Minimum share of rows whose class is read from a column of classes or a title, for a rule that rejects the others.
const CLASSED_MIN: f64 = 0.5;
/// Pattern of the path in a URL, whose words show class and offer.
const URL_PATH: &str = r"^https?://[^/?#]+/([^?#]*)";
/// Minimum share of rows that a further source of a field must read.
pub(super) const FALLBACK_MIN: f64 = 0.3;
/// Minimum number of fields that must differ between two rows with the same identifier to refuse its column.
const COMPARED_FIELDS_MIN: usize = 2;
/// Beginnings of the dates that programs write for an empty value.
const ZERO_DATES: [&str; 2] = ["1970-01-01", "01/01/1970"];
/// Minimum share of distinct values in a column that identifies adverts.
pub(super) const DISTINCT_MIN: f64 = 0.95;
/// Minimum share of distinct values in a column of advert URLs. An advert may be in a file more than once, but the URL
/// of a result page is repeated for each of its adverts.
const DISTINCT_URLS_MIN: f64 = 0.2;

/// The columns and rows that rules are drafted for.
pub(super) struct Sampled<'s> {
    pub(super) columns: &'s [ColumnProfile],
    pub(super) rows: &'s [Row],
}

/// Drafts the rules of a file, sure and unsure ones.
pub fn drafts(columns: &[ColumnProfile], rows: &[Row], host: &str) -> Vec<Draft> {
    let file = Sampled { columns, rows };
    let mut drafts = file.identity(host);
    drafts.extend(file.class());
    drafts.extend(
        PLAIN
            .iter()
            .filter_map(|(field, reading)| file.plain(field, *reading)),
    );
    for field in [ROOMS, "habitation.bedroomCount"] {
        let twins = file.twins(field, &drafts);
        drafts.extend(twins);
    }
    let storey = file.storey_by_values(&drafts);
    drafts.extend(storey);
    file.check_total_floors(&mut drafts);
    let storeys = file.storeys_in_texts(&drafts);
    drafts.extend(storeys);
    let land = file.area_of_land(&drafts);
    let plot = file.second_area(&drafts);
    drafts.extend(land.into_iter().chain(plot));
    let price = drafts.iter().position(|draft| draft.field == PRICE);
    let rents = price.map_or_else(Vec::new, |at| file.rents(&drafts[at]));
    let prices = price.map(|at| drafts[at].clone());
    let prices: Vec<Draft> = prices.into_iter().chain(rents.iter().cloned()).collect();
    let offers = file.offers(&prices);
    if let Some(at) = price {
        drafts.splice(at + 1..at + 1, rents);
    }
    drafts.extend(offers);
    drafts.extend(file.places());
    for field in ["firstSeenAt", "lastSeenAt"] {
        drafts.extend(file.date(field));
    }
    let measures = file.measures_in_texts(&drafts);
    drafts.extend(measures);
    drafts
}

impl Sampled<'_> {
    /// Returns the columns of a meaning, best rank first. Columns of titles that repeat more than others come last: they
    /// hold kinds, such as `Appartement à louer`. So do columns of classes most of whose values name no class. Without a
    /// column of titles or places, those are returned that hold them with other values: `Titre_Lieu`.
    pub(super) fn of(&self, field: &str) -> Vec<&ColumnProfile> {
        let columns = self.columns.iter().filter(|column| column.means(field));
        let mut columns: Vec<_> = columns.collect();
        columns.sort_by_key(|column| column.meaning.map(|meaning| meaning.rank));
        if field == TITLE {
            let distinct = columns.iter().map(|column| column.distinct);
            let most = distinct.max().unwrap_or_default() as f64;
            columns.sort_by_key(|column| (column.distinct as f64) < DISTINCT_MIN * most);
        }
        if field == CLASS {
            // A column of room counts, `T2` or `Grand (T4+)`, says less than one of classes.
            columns.sort_by_key(|column| 2 * classes_named(column) < column.samples.len());
        }
        if columns.is_empty() && [TITLE, PLACE].contains(&field) {
            let joined = self.columns.iter();
            columns.extend(joined.filter(|column| joins_text(column, field)));
        }
        columns
    }

    pub(super) fn share(&self, count: usize) -> f64 {
        count as f64 / self.rows.len().max(1) as f64
    }

    /// Drafts the rule of a field that is read from one column: the best column with a known name, or otherwise the
    /// best one whose name contains a known one.
    pub(super) fn plain(&self, field: &'static str, reading: Option<&str>) -> Option<Draft> {
        let is_score = SCORES.iter().any(|(score, _)| *score == field);
        let draft = |column: &ColumnProfile, worth: f64| {
            let mut draft = self.of_column(field, reading, column, worth);
            if is_score && class_numbers(column).is_some() {
                draft.confidence = 0.0;
                draft.reason =
                    "All values are whole numbers from 1 to 7, so they may be classes.".into();
            }
            draft
        };
        let known = self.of(field).into_iter().map(|column| draft(column, 1.0));
        // A column that is named after a class may hold the score.
        let scores = SCORES.iter().filter(|(score, _)| *score == field);
        let scores = scores.flat_map(|(_, class)| self.of(class));
        let scores = scores.filter(|column| has_scores(&column.samples));
        let scores = scores.map(|column| draft(column, 1.0));
        let known = known.chain(scores.filter(Draft::is_sure));
        let numbered = self.of(field).into_iter();
        let numbered = numbered.filter_map(|column| self.numbered_classes(field, column));
        let mut known: Vec<Draft> = known.chain(numbered).collect();
        // Among equally sure columns, the best-ranked name is used.
        known.sort_by_key(|draft| (Reverse(draft.is_sure()), draft.read == 0));
        let by_part = || {
            let columns = self.columns.iter().filter(|column| {
                // The words of a list's path name no field: `attributes`, `value`.
                let is_unknown = column.meaning.is_none() && !column.is_item;
                is_unknown && column.is_nameable && has_part(&column.path, field)
            });
            let worth = |column: &ColumnProfile| match named_unit(column, field) {
                NamedUnit::Times(_) if means_without_unit(column, field) => 1.0,
                _ => PART_OF_NAME,
            };
            let drafts = columns.map(|column| draft(column, worth(column)));
            let mut drafts: Vec<Draft> = drafts.filter(|draft| draft.read > 0).collect();
            if let [only] = drafts.as_mut_slice()
                && only.confidence > 0.0
                && only.read as f64 >= WHOLE_MIN * only.filled as f64
                && only.columns.iter().all(|name| names_only(name, field))
            {
                only.confidence = only.confidence.max(CONFIDENCE_MIN);
            }
            drafts
                .into_iter()
                .max_by(|one, other| one.confidence.total_cmp(&other.confidence))
        };
        let found = known.into_iter().next().or_else(by_part);
        found.filter(|draft| draft.read > 0)
    }

    /// Drafts further columns of counts whose names are the singular or plural of the first: portals write `Pièce` before
    /// 1 and `Pièces` before other numbers.
    fn twins(&self, field: &'static str, drafts: &[Draft]) -> Vec<Draft> {
        let sure = drafts.iter();
        let sure = sure.filter(|draft| draft.field == field && draft.is_sure());
        let mut found: Vec<Draft> = sure.cloned().collect();
        let sure_count = found.len();
        let singular = |name: &str| folded(name).trim_end_matches('s').to_owned();
        let Some(name) = found
            .first()
            .and_then(|draft| draft.columns.first())
            .cloned()
        else {
            return Vec::new();
        };
        for column in self.of(field) {
            if column.path != name && singular(&column.path) == singular(&name) {
                self.push_if_it_adds(self.of_column(field, None, column, 1.0), &mut found);
            }
        }
        found.split_off(sure_count)
    }

    /// Drafts the rule of a field that is read from a column.
    pub(super) fn of_column(
        &self,
        field: &'static str,
        reading: Option<&str>,
        column: &ColumnProfile,
        worth: f64,
    ) -> Draft {
        let mut draft = Draft::new(field).from(&[&column.path]);
        if let Some(reading) = reading {
            draft = draft.with("as", reading);
        }
        if reading == Some("floor") {
            draft = draft.with_line("map = { \"Ground floor\" = 0 }");
        }
        if field == DISTRICT {
            // A cell with the town alone is not about a quarter.
            let draft = draft.with("pattern", QUARTER);
            return draft.tried(self.rows, 0, worth);
        }
        let unit = named_unit(column, field);
        if let NamedUnit::Times(factor) = unit {
            draft = draft.with_line(&format!("scale = {factor}"));
        } else if field == PRICE && is_yearly_rent(&column.path) {
            draft = draft
                .with_line(&format!("scale = {}", 1.0 / MONTHS))
                .because("The rent of a year; a twelfth is the rent of a month.");
        }
        if reading == Some("amount")
            && let Some(sign) = decimal(&column.samples)
        {
            draft = draft.with("decimal", sign);
        }
        let filled = if [ENERGY_CLASS, CLIMATE_CLASS].contains(&field) {
            draft.answered(self.rows)
        } else {
            column.filled
        };
        let mut draft = draft.tried(self.rows, filled, worth);
        if unit == NamedUnit::Other {
            draft.confidence = 0.0;
            draft.reason =
                "The name of the column has a unit that the field or the values do not have."
                    .into();
        }
        draft
    }

    /// Drafts the area of adverts of land from the column of surfaces, if no column has plots.
    fn area_of_land(&self, drafts: &[Draft]) -> Option<Draft> {
        if is_sure(drafts, LAND) {
            return None;
        }
        let mut surfaces = drafts.iter().filter(|draft| draft.field == SURFACE);
        let surface = surfaces.find(|draft| draft.is_sure())?;
        let columns = self.of(SURFACE);
        let column = columns
            .into_iter()
            .find(|column| surface.columns == [column.path.as_str()])?;
        let sure = drafts.iter();
        let sure = sure.filter(|draft| draft.field == CLASS && draft.is_sure());
        let classes = first_values(&sure.cloned().collect::<Vec<_>>(), self.rows);
        let mut draft = self.of_column(LAND, None, column, 1.0);
        let areas = classes.into_iter().zip(draft.values(self.rows));
        let land = Some(json!(PLOT));
        draft.read = areas
            .filter(|(class, area)| *class == land && area.is_some())
            .count();
        draft.filled = draft.read;
        draft.confidence = surface.confidence;
        let draft = draft.because("For land: the surface is that of the plot.");
        (draft.read > 0).then(|| draft.with("when", &format!("type={PLOT}")))
    }

    /// Drafts the plot of houses from the second area in the cells of the surface, if no column has it.
    fn second_area(&self, drafts: &[Draft]) -> Option<Draft> {
        if is_sure(drafts, LAND) {
            return None;
        }
        let mut surfaces = drafts.iter().filter(|draft| draft.field == SURFACE);
        let surface = surfaces.find(|draft| draft.is_sure())?;
        let [column] = surface.columns.as_slice() else {
            return None;
        };
        let draft = Draft::new(LAND)
            .from(&[column])
            .with("pattern", TWO_AREAS)
            .tried(self.rows, 0, 1.0)
            .because("For houses: the second area of a cell, if it is larger than the first.");
        if draft.read == 0 {
            return None;
        }
        let is_class_known = is_sure(drafts, "type");
        let mut draft = draft.with("when", &format!("type={HOUSE}"));
        if !is_class_known {
            draft.confidence = 0.0;
        }
        Some(draft)
    }

    /// Drafts further columns of prices, for rows without a value in the first: the rents of a file of sales and rentals.
    fn rents(&self, price: &Draft) -> Vec<Draft> {
        let mut prices = vec![price.clone()];
        for column in self.of(PRICE) {
            if !price.columns.contains(&column.path) {
                let draft = self.of_column(PRICE, Some("amount"), column, 1.0);
                self.push_if_it_adds(draft, &mut prices);
            }
        }
        prices.split_off(1)
    }

    /// Drafts how adverts are identified: by their URL, by an identifier, otherwise by their content.
    fn identity(&self, host: &str) -> Vec<Draft> {
        let mut drafts = Vec::new();
        let addresses = self.columns.iter().filter(|column| column.may_be_address());
        let mut addresses: Vec<&ColumnProfile> = addresses.collect();
        addresses.sort_by_key(|column| column.address_rank());
        let share = |column: &ColumnProfile| column.distinct as f64 / column.filled.max(1) as f64;
        let distinct = |column: &&&ColumnProfile| share(column) >= DISTINCT_URLS_MIN;
        let column = addresses.iter().find(distinct).or(addresses.first());
        if let Some(column) = column {
            let is_relative = column.samples.iter().all(|value| value.starts_with('/'));
            let draft = if is_relative {
                Draft::new("url")
                    .reading(&[&column.path])
                    .with("template", &format!("https://{host}{{{}}}", column.path))
                    .because(format!("Put the portal in place of {host}."))
            } else {
                Draft::new("url").from(&[&column.path])
            };
            let mut draft = draft.tried(self.rows, column.filled, 1.0);
            if share(column) < DISTINCT_URLS_MIN {
                draft.confidence = 0.0;
                draft.reason = format!(
                    "It has only {} values, so it does not identify adverts.",
                    column.distinct
                );
            }
            let is_sure = draft.is_sure();
            drafts.push(draft);
            if is_sure {
                return drafts;
            }
        }
        let identifiers = self.of(IDENTIFIER).into_iter().chain(self.of(REFERENCE));
        let mut identifiers = identifiers.filter(|column| {
            self.share(column.filled) >= DISTINCT_MIN
                && column.distinct as f64 >= DISTINCT_MIN * column.filled as f64
                && !self.names_different_homes(column)
        });
        let draft = match identifiers.next() {
            Some(column) => Draft::new("url")
                .reading(&[&column.path])
                .with("template", &format!("https://{host}/{{{}}}", column.path))
                .because(format!(
                    "The file has no addresses; {} identifies the adverts. Put the portal in place of {host}.",
                    column.path
                )),
            None => Draft::new("url")
                .with("template", &format!("https://{host}/{{digest}}"))
                .because(
                    "The file has neither addresses nor identifiers: each row is an advert, so a row with another \
                     price is another advert.",
                ),
        };
        drafts.push(draft.tried(self.rows, 0, 1.0));
        drafts
    }

    /// Returns whether two rows with the same value in a column are about different homes: their towns, rooms and titles
    /// all differ. Two agencies may use the same reference.
    fn names_different_homes(&self, column: &ColumnProfile) -> bool {
        let path = |column: &ColumnProfile| RowPath::parse(&column.path).ok();
        let Some(key) = path(column) else {
            return false;
        };
        let fields: [&[&str]; 3] = [&[POSTAL_CODE, CITY], &[ROOMS], &[TITLE]];
        let paths = fields.iter().filter_map(|fields| {
            let mut columns = fields.iter().flat_map(|field| self.of(field));
            columns.next().and_then(path)
        });
        let paths: Vec<RowPath> = paths.collect();
        if paths.len() < COMPARED_FIELDS_MIN {
            return false;
        }
        let differ = |one: &Row, other: &Row| {
            paths.iter().all(|path| {
                let (one, other) = (cell_text(one, path), cell_text(other, path));
                one.is_some() && other.is_some() && one != other
            })
        };
        let mut first: HashMap<String, &Row> = HashMap::new();
        self.rows.iter().any(|row| {
            cell_text(row, &key).is_some_and(|key| differ(first.entry(key).or_insert(row), row))
        })
    }

    /// Drafts the class, from a column of kinds, then from the words of title, address and description.
    fn class(&self) -> Vec<Draft> {
        let kinds = self.kinds();
        let mut drafts = self.by_words("type", CLASSES, &[kinds, "title", "url", "description"]);
        let covered = covered(&drafts, self.rows);
        let cells = self.of(kinds);
        let titles = self.of(TITLE);
        let is_of = |draft: &Draft, columns: &[&ColumnProfile]| {
            let mut columns = columns.iter();
            columns.any(|column| draft.columns == [column.path.as_str()])
        };
        for draft in &mut drafts {
            // The drafts are judged together: if they cover nearly all rows, the remaining rows are taken to be of
            // another class. A text is less certain than a column of classes.
            let is_cell = is_of(draft, &cells);
            let worth = if is_cell { 1.0 } else { WORTH_OF_TEXT };
            let judged = draft.confidence.max(covered);
            // One unknown word in many rows must not cost the rows whose class is known.
            let is_partial = (CLASSED_MIN..CONFIDENCE_MIN).contains(&covered)
                && (is_cell || is_of(draft, &titles));
            if is_partial {
                draft.reason = "Rows that name no known class are rejected.".into();
            }
            let least = if is_partial || judged >= CONFIDENCE_MIN {
                CONFIDENCE_MIN
            } else {
                0.0
            };
            draft.confidence = (worth * judged).max(least);
        }
        if covered >= CONFIDENCE_MIN && drafts.iter().any(Draft::is_sure) {
            let other = Draft::new("type").with("value", "CLASS_OTHER");
            let other = other.because("For rows that give no other class.");
            drafts.push(other.tried(self.rows, 0, 1.0));
        }
        drafts
    }

    /// Returns the meaning of the column of classes. A column `Nature` usually holds the offer. It holds the class if
    /// more of its values name one than those of a column `Type`, which then holds `T4` or `Ancien`.
    fn kinds(&self) -> &'static str {
        let classes = |meaning: &str| {
            let columns = self.of(meaning);
            columns.first().map_or(0, |column| classes_named(column))
        };
        // Of the offers `Location` and `Colocation`, one names a class.
        let columns = self.of(OFFER);
        let has_classes = columns
            .first()
            .is_some_and(|column| 2 * classes_named(column) > column.samples.len());
        if has_classes && classes(OFFER) > classes("type") {
            OFFER
        } else {
            "type"
        }
    }

    /// Drafts rules that read a field from the words of columns, one for each column whose words give it in enough
    /// rows. All columns of titles are tried, and the best column of any other meaning.
    pub(super) fn by_words(&self, field: &'static str, map: &str, meanings: &[&str]) -> Vec<Draft> {
        let mut drafts: Vec<Draft> = Vec::new();
        let columns = meanings.iter().flat_map(|meaning| {
            let columns = self.of(meaning);
            let tried = if *meaning == TITLE { columns.len() } else { 1 };
            let columns = columns.into_iter().take(tried);
            columns.map(move |column| (*meaning, column))
        });
        for (meaning, column) in columns {
            // A column with codes for the rarer classes leaves these to the title: `appartement`, `4`.
            let enough = if field == CLASS && meaning == TITLE {
                1.0
            } else {
                DISTINCT_MIN
            };
            if covered(&drafts, self.rows) >= enough {
                break;
            }
            let mut draft = Draft::new(field).from(&[&column.path]).with("as", "words");
            if meaning == "url" {
                draft = draft.with("pattern", URL_PATH);
            } else if field != "type" || ["type", OFFER].contains(&meaning) {
                // The words of the map are those of cells; in a text they may be about something else.
                draft = draft.with_line(map);
            }
            let draft = draft.tried(self.rows, self.rows.len(), 1.0);
            if self.share(draft.read) >= FALLBACK_MIN {
                drafts.push(draft);
            }
        }
        drafts
    }

    /// Returns the number of rows whose date is the first day of 1970, which stands for no date.
    fn zero_dates(&self, column: &ColumnProfile) -> usize {
        let Ok(path) = RowPath::parse(&column.path) else {
            return 0;
        };
        let is_zero = |value: &Value| {
            let text = value.as_str().unwrap_or_default().trim();
            ZERO_DATES.iter().any(|zero| text.starts_with(zero))
        };
        let rows = self.rows.iter();
        rows.filter(|row| path.find(row).iter().any(|(_, value)| is_zero(value)))
            .count()
    }

    /// Drafts a date or time, in the format that reads the most values, the first one of several.
    fn date(&self, field: &'static str) -> Option<Draft> {
        let columns = self.of(field);
        let column = *columns.first()?;
        let filled = column.filled.saturating_sub(self.zero_dates(column));
        let formats = [
            None,
            Some("%d/%m/%Y"),
            Some("%m/%d/%Y"),
            Some("%d-%m-%Y"),
            Some("unix"),
            Some("unix-ms"),
        ];
        let drafts = formats.iter().map(|format| {
            let draft = Draft::new(field).from(&[&column.path]);
            let draft = match format {
                None => draft,
                Some(format) => draft.with("format", format),
            };
            draft.tried(self.rows, filled, 1.0)
        });
        let drafts: Vec<Draft> = drafts.collect();
        let best = drafts.iter().map(|draft| draft.read).max()?;
        let found = drafts.into_iter().find(|draft| draft.read == best)?;
        Some(found).filter(|draft| draft.read > 0)
    }
}

/// Returns the text or number in the cell at a path; `None` if it has neither.
fn cell_text(row: &Row, path: &RowPath) -> Option<String> {
    let (_, value) = path.find(row).into_iter().next()?;
    match value.as_ref() {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns whether the name of a column joins the names of several values, one of which is a field of texts:
/// `Titre_Lieu`, `Lieu_Surface`.
fn joins_text(column: &ColumnProfile, field: &str) -> bool {
    let words = column
        .path
        .split(|character: char| !character.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty() && !LINKS.contains(word));
    let meanings = words.map(|word| {
        let meaning = toise_contract::columns::advert_meaning(word)?;
        (!IDENTITIES.contains(&meaning.field)).then_some(meaning.field)
    });
    let Some(fields) = meanings.collect::<Option<Vec<&str>>>() else {
        return false;
    };
    let is_text = column.meaning.is_none() && !column.is_item && !column.is_files;
    let is_given = column.is_nameable && column.filled > 0;
    is_text && is_given && fields.len() > 1 && fields.contains(&field)
}

/// Returns the number of shown values of a column that name a class.
fn classes_named(column: &ColumnProfile) -> usize {
    let values = column.samples.iter();
    values.filter(|value| names_class(value)).count()
}

/// Returns whether a sure rule gives a field.
pub(super) fn is_sure(drafts: &[Draft], field: &str) -> bool {
    let mut of_field = drafts.iter().filter(|draft| draft.field == field);
    of_field.any(Draft::is_sure)
}

/// Returns the share of rows from which at least one of the rules reads a value.
pub(super) fn covered(drafts: &[Draft], rows: &[Row]) -> f64 {
    let read = first_values(drafts, rows).iter().flatten().count();
    read as f64 / rows.len().max(1) as f64
}

/// Returns the value of each row that the first of the rules gives that reads one.
pub(super) fn first_values(drafts: &[Draft], rows: &[Row]) -> Vec<Option<Value>> {
    let mut values = vec![None; rows.len()];
    for draft in drafts {
        for (first, value) in values.iter_mut().zip(draft.values(rows)) {
            *first = first.take().or(value);
        }
    }
    values
}

/// Returns whether a column's name contains a name of the field as a separate word: `prix_detaille`.
pub(super) fn has_part(column: &str, field: &str) -> bool {
    let words = column.split(|character: char| !character.is_alphanumeric());
    words.filter(|word| word.chars().count() > 2).any(|word| {
        toise_contract::columns::advert_meaning(word).is_some_and(|meaning| meaning.field == field)
    })
}

/// Returns whether a column's name consists only of words for the field, and the field does not accept any text. The
/// values then show whether the column has the field.
fn names_only(column: &str, field: &str) -> bool {
    let takes_any = AdvertField::parse(field).is_ok_and(|field| field.fits(&json!("-")));
    let mut words = column
        .split(|character: char| !character.is_alphanumeric())
        .map(folded);
    !takes_any
        && words.all(|word| {
            let meaning = toise_contract::columns::advert_meaning(&word);
            meaning.is_none_or(|meaning| meaning.field == field)
                && !OTHER_VALUES.contains(&word.as_str())
        })
}

/// Returns whether a word in the name of a column says that its value is not the current one of the whole home.
pub(super) fn is_of_other_value(column: &str) -> bool {
    let words = column.split(|character: char| !character.is_alphanumeric());
    words
        .map(folded)
        .any(|word| OTHER_VALUES.contains(&word.as_str()))
}

/// Returns the decimal mark of amounts whose thousands are grouped with a point or a comma; `None` if they use neither
/// or both.
fn decimal(samples: &[String]) -> Option<&'static str> {
    let groups = |sign: char| {
        samples.iter().any(|value| {
            let mut parts = value.split(sign);
            let first = parts.next().unwrap_or_default();
            first.ends_with(|character: char| character.is_ascii_digit())
                && parts.clone().next().is_some()
                && parts.all(|part| part.chars().take_while(char::is_ascii_digit).count() == 3)
        })
    };
    match (groups('.'), groups(',')) {
        (true, false) => Some(","),
        (false, true) => Some("."),
        _ => None,
    }
}
