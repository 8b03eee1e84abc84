//! Drafts the rules that a suggestion tries for each field, in the order in which they are written.

use std::cmp::Reverse;

use serde_json::{Value, json};

use super::super::row::Row;
use super::draft::{CONFIDENCE_MIN, Draft, PART_OF_NAME};
use super::profile::ColumnProfile;
use toise_contract::columns::{IDENTIFIER, folded};
use toise_contract::listings::advert_field::AdvertField;
use toise_input::number::{self, LoneSeparator};

/// The field of a price or rent.
const PRICE: &str = "currentPrice.value";
/// Codes of transactions: the whole cell is one of them.
const OFFER_CODES: &str = "^[VL]$";
/// The meaning of [`OFFER_CODES`].
const CODED_OFFERS: &str = "map = { \"V\" = \"OFFER_BUY\", \"L\" = \"OFFER_RENT\" }";
/// Fields that are read from one column each, with their conversion.
const PLAIN: [(&str, Option<&str>); 33] = [
    ("title", None),
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
/// Fields of scores, with the fields of their classes.
const SCORES: [(&str, &str); 2] = [
    (
        "habitation.climate.epcEnergyScore",
        "habitation.climate.epcEnergy",
    ),
    (
        "habitation.climate.epcClimateScore",
        "habitation.climate.epcClimate",
    ),
];
/// Words, folded, in names of columns with another value than that of the home today: `surface_sejour`, `loyer_estime`.
const OTHER_VALUES: [&str; 29] = [
    "estime",
    "estimee",
    "estimation",
    "moyen",
    "moyenne",
    "mediane",
    "ancien",
    "ancienne",
    "initial",
    "initiale",
    "old",
    "previous",
    "average",
    "mean",
    "min",
    "max",
    "sejour",
    "salon",
    "cuisine",
    "annexe",
    "annexes",
    "charges",
    "honoraires",
    "evolution",
    "date",
    "total",
    "totale",
    "immeuble",
    "batiment",
];
/// Minimum share of its values that a column must read whose name is known only in part.
const WHOLE_MIN: f64 = 0.99;
/// Words for classes that the `words` conversion does not know.
const CLASSES: &str = "map = { \"Propriété\" = \"CLASS_HOUSE\", \"Chalet\" = \"CLASS_HOUSE\", \"Ferme\" = \"CLASS_HOUSE\", \
\"Moulin\" = \"CLASS_HOUSE\", \"Demeure\" = \"CLASS_HOUSE\", \"Hôtel particulier\" = \"CLASS_HOUSE\", \"Programme\" = \
\"CLASS_PROGRAM\", \"castle\" = \"CLASS_HOUSE\", \"townhouse\" = \"CLASS_HOUSE\", \"apartments\" = \"CLASS_FLAT\", \
\"penthouse\" = \"CLASS_FLAT\", \"land\" = \"CLASS_LAND\", \"office\" = \"CLASS_OFFICE\", \"shop\" = \"CLASS_SHOP\", \
\"building\" = \"CLASS_BUILDING\", \"Housing estate\" = \"CLASS_BUILDING\" }";
/// Words for offers that the `words` conversion does not know.
const OFFERS: &str = "map = { \"rent\" = \"OFFER_RENT\", \"rental\" = \"OFFER_RENT\", \"rented\" = \"OFFER_RENT\", \
\"buy\" = \"OFFER_BUY\", \"sale\" = \"OFFER_BUY\", \"sold\" = \"OFFER_BUY\" }";
/// Pattern of the path in a URL, whose words show class and offer.
const URL_PATH: &str = r"^https?://[^/?#]+/([^?#]*)";
/// Minimum share of rows that a further source of a field must read.
pub(super) const FALLBACK_MIN: f64 = 0.3;
/// Minimum share of distinct values in a column that identifies adverts.
const DISTINCT_MIN: f64 = 0.95;
/// Minimum share of distinct values in a column of advert URLs. An advert may be in a file more than once, but the URL
/// of a result page is repeated for each of its adverts.
const DISTINCT_URLS_MIN: f64 = 0.2;
/// Median price from which prices cannot be monthly rents, EUR.
const SALE_EUR_MIN: f64 = 20_000.0;
/// Median price up to which prices cannot be those of sales, EUR.
const RENT_EUR_MAX: f64 = 8_000.0;

/// Returns whether the name of a column says that its amounts are in thousands, `Prix (k€)`, and its cells are such numbers.
fn is_in_thousands(column: &ColumnProfile) -> bool {
    let is_small = |cell: &String| {
        let number = number::read(cell, LoneSeparator::Decimals);
        number.is_some_and(|number| number < SALE_EUR_MIN)
    };
    if !column.samples.iter().all(is_small) {
        return false;
    }
    let name = column.path.to_lowercase();
    let words = name.split(|sign: char| !(sign.is_alphanumeric() || sign == '€'));
    words
        .into_iter()
        .any(|word| matches!(word, "k€" | "keur" | "keuros"))
}

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
    let price = drafts.iter().position(|draft| draft.field == PRICE);
    let rents = price.map_or_else(Vec::new, |at| file.rents(&drafts[at]));
    // A file with prices and rents has no usual offer.
    let single = price.filter(|_| rents.is_empty());
    let offers = file.offers(single.map(|at| &drafts[at]));
    if let Some(at) = price {
        drafts.splice(at + 1..at + 1, rents);
    }
    drafts.extend(offers);
    drafts.extend(file.places());
    for field in ["firstSeenAt", "lastSeenAt"] {
        drafts.extend(file.date(field));
    }
    drafts
}

impl Sampled<'_> {
    /// Returns the columns of a meaning, best rank first.
    pub(super) fn of(&self, field: &str) -> Vec<&ColumnProfile> {
        let columns = self.columns.iter().filter(|column| column.means(field));
        let mut columns: Vec<_> = columns.collect();
        columns.sort_by_key(|column| column.meaning.map(|meaning| meaning.rank));
        columns
    }

    fn share(&self, count: usize) -> f64 {
        count as f64 / self.rows.len().max(1) as f64
    }

    /// Drafts the rule of a field that is read from one column: the best column with a known name, else the best one
    /// whose name contains a known one.
    pub(super) fn plain(&self, field: &'static str, reading: Option<&str>) -> Option<Draft> {
        let draft =
            |column: &ColumnProfile, worth: f64| self.of_column(field, reading, column, worth);
        let known = self.of(field).into_iter().map(|column| draft(column, 1.0));
        // A column that is named after a class may hold the score.
        let scores = SCORES.iter().filter(|(score, _)| *score == field);
        let scores = scores.flat_map(|(_, class)| self.of(class));
        let scores = scores.map(|column| draft(column, 1.0));
        let known = known.chain(scores.filter(Draft::is_sure));
        let mut known: Vec<Draft> = known.collect();
        // Among equally sure columns, the best-ranked name is used.
        known.sort_by_key(|draft| Reverse(draft.is_sure()));
        let by_part = || {
            let columns = self.columns.iter().filter(|column| {
                column.meaning.is_none() && column.is_nameable && has_part(&column.path, field)
            });
            let worth = |column: &ColumnProfile| {
                if is_in_thousands(column) {
                    1.0
                } else {
                    PART_OF_NAME
                }
            };
            let drafts = columns.map(|column| draft(column, worth(column)));
            let mut drafts: Vec<Draft> = drafts.filter(|draft| draft.read > 0).collect();
            if let [only] = drafts.as_mut_slice()
                && only.read as f64 >= WHOLE_MIN * only.filled as f64
                && only.columns.iter().all(|name| tells_only(name, field))
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

    /// Drafts the rule of a field that is read from a column.
    fn of_column(
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
        if reading == Some("amount") && is_in_thousands(column) {
            draft = draft.with_line("scale = 1000");
        }
        if reading == Some("amount")
            && let Some(sign) = decimal(&column.samples)
        {
            draft = draft.with("decimal", sign);
        }
        draft.tried(self.rows, column.filled, worth)
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

    /// Drafts how adverts are identified: by their URL, by an identifier, else by their content.
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
                    .of(&[&column.path])
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
        let identifiers = self.of(IDENTIFIER).into_iter().chain(self.of("reference"));
        let mut identifiers = identifiers.filter(|column| {
            self.share(column.filled) >= DISTINCT_MIN
                && column.distinct as f64 >= DISTINCT_MIN * column.filled as f64
        });
        let draft = match identifiers.next() {
            Some(column) => Draft::new("url")
                .of(&[&column.path])
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

    /// Drafts the class, from a column of kinds, then from the words of title, address and description.
    fn class(&self) -> Vec<Draft> {
        let mut drafts = self.by_words("type", CLASSES, &["type", "title", "url", "description"]);
        let covered = covered(&drafts, self.rows);
        for draft in &mut drafts {
            // The drafts are judged together: if they cover nearly all rows, the remaining rows are taken to be of
            // another class.
            draft.confidence = draft.confidence.max(covered);
        }
        if drafts.iter().any(Draft::is_sure) {
            let other = Draft::new("type").with("value", "CLASS_OTHER");
            let other = other.because("For rows that give no other class.");
            drafts.push(other.tried(self.rows, 0, 1.0));
        }
        drafts
    }

    /// Drafts rules that read a field from the words of columns, one for each column whose words give it in enough
    /// rows.
    fn by_words(&self, field: &'static str, map: &str, meanings: &[&str]) -> Vec<Draft> {
        let mut drafts: Vec<Draft> = Vec::new();
        let columns = meanings.iter().filter_map(|meaning| {
            let column = *self.of(meaning).first()?;
            Some((*meaning, column))
        });
        for (meaning, column) in columns {
            if covered(&drafts, self.rows) >= DISTINCT_MIN {
                break;
            }
            let mut draft = Draft::new(field).from(&[&column.path]).with("as", "words");
            if meaning == "url" {
                draft = draft.with("pattern", URL_PATH);
            } else {
                draft = draft.with_line(map);
            }
            let draft = draft.tried(self.rows, self.rows.len(), 1.0);
            if self.share(draft.read) >= FALLBACK_MIN {
                drafts.push(draft);
            }
        }
        drafts
    }

    /// Drafts the offer, sale or rent, from columns, else from the price.
    fn offers(&self, price: Option<&Draft>) -> Vec<Draft> {
        let meanings = ["offer.type", "type", "title", "url"];
        let mut drafts = self.by_words("offer.type", OFFERS, &meanings);
        if let Some(column) = self.of("offer.type").first() {
            let codes = Draft::new("offer.type").from(&[&column.path]);
            let codes = codes.with("pattern", OFFER_CODES).with_line(CODED_OFFERS);
            let codes = codes.tried(self.rows, column.filled, 1.0);
            if self.share(codes.read) >= FALLBACK_MIN {
                drafts.insert(0, codes);
            }
        }
        for draft in &mut drafts {
            // A word for an offer never occurs by chance.
            draft.confidence = 1.0;
        }
        if covered(&drafts, self.rows) < 1.0 {
            let rest = self
                .usual_offer(&drafts)
                .or_else(|| self.offer_by_price(price?));
            drafts.extend(rest);
        }
        drafts
    }

    /// Drafts the offer of rows whose words name none, if the words of nearly all others name the same one.
    fn usual_offer(&self, said: &[Draft]) -> Option<Draft> {
        if covered(said, self.rows) < FALLBACK_MIN {
            return None;
        }
        let offers = said
            .iter()
            .flat_map(|draft| draft.values(self.rows))
            .flatten();
        let offers: Vec<Value> = offers.collect();
        let first = offers.first()?;
        let same = offers.iter().filter(|offer| *offer == first).count();
        let offer = first
            .as_str()
            .filter(|_| same as f64 >= DISTINCT_MIN * offers.len() as f64)?;
        let mut draft = Draft::new("offer.type").with("value", offer);
        draft.confidence = 1.0;
        draft.reason = "For rows that do not say: nearly all others have this value.".into();
        Some(draft)
    }

    /// Drafts a constant offer that fits the median price.
    fn offer_by_price(&self, price: &Draft) -> Option<Draft> {
        if !price.is_sure() {
            return None;
        }
        let prices = price.values(self.rows).into_iter().flatten();
        let mut prices: Vec<f64> = prices.filter_map(|price| price.as_f64()).collect();
        prices.sort_by(f64::total_cmp);
        let median = prices.get(prices.len() / 2).copied()?;
        let column = price.columns.first().map(|column| folded(column));
        let is_named_rent =
            column.is_some_and(|name| name.contains("loyer") || name.contains("rent"));
        let (offer, confidence) = match median {
            _ if is_named_rent => ("OFFER_RENT", 1.0),
            median if median >= SALE_EUR_MIN => ("OFFER_BUY", 1.0),
            median if median <= RENT_EUR_MAX => ("OFFER_RENT", 1.0),
            _ => ("OFFER_RENT", 0.5),
        };
        let mut draft = Draft::new("offer.type").with("value", offer);
        draft.confidence = confidence;
        draft.reason = format!("The median price is {median:.0} €.");
        Some(draft)
    }

    /// Drafts a date or time, in the format that reads the most values, the first one of several.
    fn date(&self, field: &'static str) -> Option<Draft> {
        let columns = self.of(field);
        let column = *columns.first()?;
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
            draft.tried(self.rows, column.filled, 1.0)
        });
        let drafts: Vec<Draft> = drafts.collect();
        let best = drafts.iter().map(|draft| draft.read).max()?;
        let found = drafts.into_iter().find(|draft| draft.read == best)?;
        Some(found).filter(|draft| draft.read > 0)
    }
}

/// Returns the share of rows from which at least one of the rules reads a value.
pub(super) fn covered(drafts: &[Draft], rows: &[Row]) -> f64 {
    let values: Vec<Vec<Option<Value>>> = drafts.iter().map(|draft| draft.values(rows)).collect();
    let is_read = |row: &usize| {
        values
            .iter()
            .any(|values| values.get(*row).is_some_and(Option::is_some))
    };
    let read = (0..rows.len()).filter(is_read).count();
    read as f64 / rows.len().max(1) as f64
}

/// Returns whether a column's name contains a name of the field as a separate word: `prix_detaille`.
fn has_part(column: &str, field: &str) -> bool {
    let words = column.split(|sign: char| !sign.is_alphanumeric());
    words.filter(|word| word.chars().count() > 2).any(|word| {
        toise_contract::columns::advert_meaning(word).is_some_and(|meaning| meaning.field == field)
    })
}

/// Returns whether the name of a column, of which a part names the field, says nothing else, and the field does not take
/// any text: then the values show that the column is meant.
fn tells_only(column: &str, field: &str) -> bool {
    let takes_any = AdvertField::parse(field).is_ok_and(|field| field.fits(&json!("-")));
    let mut words = column
        .split(|sign: char| !sign.is_alphanumeric())
        .map(folded);
    !takes_any
        && words.all(|word| {
            let meaning = toise_contract::columns::advert_meaning(&word);
            meaning.is_none_or(|meaning| meaning.field == field)
                && !OTHER_VALUES.contains(&word.as_str())
        })
}

/// Returns the decimal sign of amounts whose thousands are grouped with a point or a comma; `None` if they use neither
/// or both.
fn decimal(samples: &[String]) -> Option<&'static str> {
    let groups = |sign: char| {
        samples.iter().any(|value| {
            let mut parts = value.split(sign);
            let first = parts.next().unwrap_or_default();
            first.ends_with(|sign: char| sign.is_ascii_digit())
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
