//! The rules that a suggestion tries for each field, in the order in which they are written.

use std::cmp::Reverse;

use serde_json::Value;

use super::super::row::Row;
use super::draft::{Draft, PART_OF_NAME};
use super::profile::ColumnProfile;
use toise_contract::columns::{ARRONDISSEMENT, IDENTIFIER, LATITUDE, LONGITUDE, PLACE, folded};

/// Fields that are read from one column each, with how they are read.
const PLAIN: [(&str, Option<&str>); 32] = [
    ("title", None),
    ("description", Some("html")),
    ("currentPrice.value", Some("amount")),
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
    ("seller.name", None),
];
/// Words for classes that the reading of words does not know.
const CLASSES: &str = "map = { \"Propriété\" = \"CLASS_HOUSE\", \"Chalet\" = \"CLASS_HOUSE\", \"Ferme\" = \"CLASS_HOUSE\", \
\"Moulin\" = \"CLASS_HOUSE\", \"Demeure\" = \"CLASS_HOUSE\", \"Hôtel particulier\" = \"CLASS_HOUSE\", \"Programme\" = \
\"CLASS_PROGRAM\", \"castle\" = \"CLASS_HOUSE\", \"townhouse\" = \"CLASS_HOUSE\", \"apartments\" = \"CLASS_FLAT\", \
\"penthouse\" = \"CLASS_FLAT\", \"land\" = \"CLASS_LAND\", \"office\" = \"CLASS_OFFICE\", \"shop\" = \"CLASS_SHOP\", \
\"building\" = \"CLASS_BUILDING\", \"Housing estate\" = \"CLASS_BUILDING\" }";
/// Words for offers that the reading of words does not know.
const OFFERS: &str = "map = { \"rent\" = \"OFFER_RENT\", \"rental\" = \"OFFER_RENT\", \"rented\" = \"OFFER_RENT\", \
\"buy\" = \"OFFER_BUY\", \"sale\" = \"OFFER_BUY\", \"sold\" = \"OFFER_BUY\" }";
/// The path of an address on the web, whose words tell kind and offer.
const URL_PATH: &str = r"^https?://[^/?#]+/([^?#]*)";
/// A name that is a town's, without the number of an arrondissement's code or of a department.
const TOWN: &str = r"^((?:Paris|Lyon|Marseille) \d+\S*|[^\d(,]+?)\s*(?:[\d(,].*)?$";
/// A postal code as it stands in a place; in a title only between brackets, where prices have the same form.
const POSTAL_CODE: &str = r"\b\d{5}\b";
/// See [`POSTAL_CODE`].
const POSTAL_CODE_IN_TITLE: &str = r"\((\d{5})\)";
/// Part of the rows that a further source of a field must read.
const FALLBACK_MIN: f64 = 0.3;
/// Part of the rows that must have distinct values for a column to identify adverts.
const DISTINCT_MIN: f64 = 0.95;
/// Part of the rows that must have distinct addresses: the same advert may stand in a file more than once.
const DISTINCT_URLS_MIN: f64 = 0.5;
/// A median price above this is none of a month's rent, EUR.
const SALE_EUR_MIN: f64 = 20_000.0;
/// A median price below this is none of a sale, EUR.
const RENT_EUR_MAX: f64 = 8_000.0;
/// Arrondissements of Marseille: a number above is one of Paris.
const MARSEILLE_ARRONDISSEMENTS: u64 = 16;
/// Arrondissements of Paris.
const PARIS_ARRONDISSEMENTS: u64 = 20;

/// The columns and rows that rules are made for.
struct Sampled<'s> {
    columns: &'s [ColumnProfile],
    rows: &'s [Row],
}

/// The rules of a file, the sure ones and others; the latter only of fields without a sure one.
pub fn drafts(columns: &[ColumnProfile], rows: &[Row], host: &str) -> Vec<Draft> {
    let file = Sampled { columns, rows };
    let mut drafts = file.identity(host);
    drafts.extend(file.class());
    drafts.extend(
        PLAIN
            .iter()
            .filter_map(|(field, reading)| file.plain(field, *reading)),
    );
    let price = drafts
        .iter()
        .find(|draft| draft.field == "currentPrice.value");
    let offers = file.offers(price);
    drafts.extend(offers);
    drafts.extend(file.places());
    for field in ["firstSeenAt", "lastSeenAt"] {
        drafts.extend(file.date(field));
    }
    drafts
}

impl Sampled<'_> {
    /// Columns of a meaning, those that count first first.
    fn of(&self, field: &str) -> Vec<&ColumnProfile> {
        let columns = self.columns.iter().filter(|column| column.means(field));
        let mut columns: Vec<_> = columns.collect();
        columns.sort_by_key(|column| column.meaning.map(|meaning| meaning.rank));
        columns
    }

    fn share(&self, count: usize) -> f64 {
        count as f64 / self.rows.len().max(1) as f64
    }

    /// The rule of a field that one column gives: the best of those whose name is known, else of those that have a known
    /// name in theirs.
    fn plain(&self, field: &'static str, reading: Option<&str>) -> Option<Draft> {
        let draft = |column: &ColumnProfile, worth: f64| {
            let mut draft = Draft::new(field).from(&[&column.path]);
            if let Some(reading) = reading {
                draft = draft.with("as", reading);
            }
            if reading == Some("amount")
                && let Some(sign) = decimal(&column.samples)
            {
                draft = draft.with("decimal", sign);
            }
            draft.tried(self.rows, column.filled, worth)
        };
        let known = self.of(field).into_iter().map(|column| draft(column, 1.0));
        let mut known: Vec<Draft> = known.collect();
        // Of equally sure columns the first name counts.
        known.sort_by_key(|draft| Reverse(draft.is_sure()));
        let by_part = || {
            let columns = self.columns.iter().filter(|column| {
                column.meaning.is_none() && column.is_nameable && has_part(&column.path, field)
            });
            let drafts = columns.map(|column| draft(column, PART_OF_NAME));
            drafts.max_by(|one, other| one.confidence.total_cmp(&other.confidence))
        };
        let found = known.into_iter().next().or_else(by_part);
        found.filter(|draft| draft.read > 0)
    }

    /// How adverts are identified: by their address, by an identifier, else by their content.
    fn identity(&self, host: &str) -> Vec<Draft> {
        let mut drafts = Vec::new();
        let named = self.of("url");
        let is_address = |column: &&ColumnProfile| {
            column.is_nameable && column.samples.iter().all(|value| is_page(value))
        };
        let filled = self.columns.iter().filter(|column| column.filled > 0);
        let column = named
            .first()
            .copied()
            .or_else(|| filled.clone().find(is_address));
        if let Some(column) = column {
            let distinct = column.distinct as f64 / column.filled.max(1) as f64;
            let is_relative = column.samples.iter().all(|value| value.starts_with('/'));
            let draft = match is_relative {
                true => Draft::new("url")
                    .of(&[&column.path])
                    .with("template", &format!("https://{host}{{{}}}", column.path))
                    .because(format!("Put the portal in place of {host}.")),
                false => Draft::new("url").from(&[&column.path]),
            };
            let mut draft = draft.tried(self.rows, column.filled, 1.0);
            if distinct < DISTINCT_URLS_MIN {
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
                    "The file has neither addresses nor identifiers: an advert is its row, so one with another price is \
                     another advert.",
                ),
        };
        drafts.push(draft.tried(self.rows, 0, 1.0));
        drafts
    }

    /// What is offered: a column of kinds, then the words of title, address and description.
    fn class(&self) -> Vec<Draft> {
        let mut drafts = self.by_words("type", CLASSES, &["type", "title", "url", "description"]);
        let covered = covered(&drafts, self.rows);
        for draft in &mut drafts {
            // Together they say it of nearly all rows; those of which none says it are of another kind.
            draft.confidence = draft.confidence.max(covered);
        }
        if drafts.iter().any(Draft::is_sure) {
            let other = Draft::new("type").with("value", "CLASS_OTHER");
            let other = other.because("Rows that say nothing else.");
            drafts.push(other.tried(self.rows, 0, 1.0));
        }
        drafts
    }

    /// Rules that read a field from the words of columns, one for each column that says it of some rows.
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

    /// Sale or rent: what columns say, else what the price says.
    fn offers(&self, price: Option<&Draft>) -> Vec<Draft> {
        let meanings = ["offer.type", "type", "title", "url"];
        let mut drafts = self.by_words("offer.type", OFFERS, &meanings);
        for draft in &mut drafts {
            // A word for an offer is never there by chance.
            draft.confidence = 1.0;
        }
        let price = price.filter(|price| price.is_sure());
        let Some(price) = price.filter(|_| covered(&drafts, self.rows) < DISTINCT_MIN) else {
            return drafts;
        };
        let prices = price.values(self.rows).into_iter().flatten();
        let mut prices: Vec<f64> = prices.filter_map(|price| price.as_f64()).collect();
        prices.sort_by(f64::total_cmp);
        let Some(median) = prices.get(prices.len() / 2).copied() else {
            return drafts;
        };
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
        drafts.push(draft);
        drafts
    }

    fn places(&self) -> Vec<Draft> {
        let mut drafts = Vec::new();
        let postal = self.of("location.postalCode");
        let texts = [
            PLACE,
            "location.address",
            "location.city",
            ARRONDISSEMENT,
            "location.district",
        ];
        let texts: Vec<&ColumnProfile> = texts.iter().flat_map(|field| self.of(field)).collect();
        for column in &postal {
            let draft = Draft::new("location.postalCode").from(&[&column.path]);
            let draft = draft.with("pattern", POSTAL_CODE);
            drafts.push(draft.tried(self.rows, column.filled, 1.0));
        }
        let further = texts.iter().map(|column| (column, POSTAL_CODE));
        let titles = self.of("title");
        let further = further.chain(titles.iter().map(|column| (column, POSTAL_CODE_IN_TITLE)));
        for (column, pattern) in further {
            let draft = Draft::new("location.postalCode").from(&[&column.path]);
            let draft = draft
                .with("pattern", pattern)
                .tried(self.rows, column.filled, 1.0);
            self.push_if_it_adds(draft, &mut drafts);
        }
        drafts.extend(self.arrondissements(&drafts));
        let mut cities = Vec::new();
        for column in self.of("location.city") {
            let draft = Draft::new("location.city")
                .from(&[&column.path])
                .with("pattern", TOWN);
            cities.push(draft.tried(self.rows, column.filled, 1.0));
        }
        for column in texts.iter().chain(&titles) {
            let draft = Draft::new("location.city")
                .from(&[&column.path])
                .with("as", "words");
            self.push_if_it_adds(draft.tried(self.rows, column.filled, 1.0), &mut cities);
        }
        drafts.extend(cities);
        for (field, reading) in [("location.department", None), ("location.address", None)] {
            drafts.extend(self.plain(field, reading));
        }
        if let (Some(latitude), Some(longitude)) =
            (self.of(LATITUDE).first(), self.of(LONGITUDE).first())
        {
            let latitude_line = format!("latitude = {}", quoted(&latitude.path));
            let draft = Draft::new("location.locationCoordinate.location")
                .of(&[&latitude.path, &longitude.path])
                .with_line(&latitude_line)
                .with("longitude", &longitude.path);
            drafts.push(draft.tried(self.rows, latitude.filled, 1.0));
        }
        drafts
    }

    /// Adds a further source of a field if it reads enough rows of which the others say nothing.
    fn push_if_it_adds(&self, mut draft: Draft, drafts: &mut Vec<Draft>) {
        let before = covered(drafts, self.rows);
        let both = [drafts.as_slice(), std::slice::from_ref(&draft)].concat();
        let adds = covered(&both, self.rows) - before;
        if adds >= FALLBACK_MIN || (before > 0.0 && adds > 0.0 && draft.is_sure()) {
            // What it reads is right, and where it reads nothing it says nothing.
            draft.confidence = draft.confidence.max(super::draft::CONFIDENCE_MIN);
            drafts.push(draft);
        }
    }

    /// Postal codes of Paris from the number of an arrondissement, with the town where a column names it.
    fn arrondissements(&self, drafts: &[Draft]) -> Option<Draft> {
        let columns = self.of(ARRONDISSEMENT);
        let column = *columns.first()?;
        if covered(drafts, self.rows) >= FALLBACK_MIN {
            return None;
        }
        if let Some(city) = self.of("location.city").first() {
            let template = format!("{{{}}} {{{}}}", city.path, column.path);
            let draft = Draft::new("location.postalCode").of(&[&city.path, &column.path]);
            let draft = draft.with("template", &template).with("as", "words");
            let draft = draft.tried(self.rows, column.filled, 1.0);
            if draft.is_sure() {
                return Some(draft);
            }
        }
        let numbers = (1..=PARIS_ARRONDISSEMENTS)
            .map(|number| format!("\"{number}\" = \"{}\"", 75_000 + number));
        let map = format!("map = {{ {} }}", numbers.collect::<Vec<_>>().join(", "));
        let draft = Draft::new("location.postalCode")
            .from(&[&column.path])
            .with_line(&map);
        let mut draft = draft.tried(self.rows, column.filled, 1.0);
        let code = |value: Value| value.as_str().and_then(|code| code.parse::<u64>().ok());
        let codes = draft
            .values(self.rows)
            .into_iter()
            .flatten()
            .filter_map(code);
        let highest = codes.max().unwrap_or_default().saturating_sub(75_000);
        match highest > MARSEILLE_ARRONDISSEMENTS {
            true => draft.reason = format!("Only Paris has {highest} arrondissements."),
            false => {
                draft.confidence = 0.5;
                draft.reason = "The town is not said: these are the codes of Paris.".into();
            }
        }
        Some(draft).filter(|draft| draft.read > 0)
    }

    /// A moment, in the first form that reads nearly all values.
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

/// The part of the rows of which one of the rules reads a value.
fn covered(drafts: &[Draft], rows: &[Row]) -> f64 {
    let values: Vec<Vec<Option<Value>>> = drafts.iter().map(|draft| draft.values(rows)).collect();
    let is_read = |row: &usize| {
        values
            .iter()
            .any(|values| values.get(*row).is_some_and(Option::is_some))
    };
    let read = (0..rows.len()).filter(is_read).count();
    read as f64 / rows.len().max(1) as f64
}

/// Whether a column's name has a name of the field in it as a word of its own: `prix_detaille`.
fn has_part(column: &str, field: &str) -> bool {
    let words = column.split(|sign: char| !sign.is_alphanumeric());
    words.filter(|word| word.chars().count() > 2).any(|word| {
        toise_contract::columns::meaning(&folded(word))
            .is_some_and(|meaning| meaning.field == field)
    })
}

fn is_page(value: &str) -> bool {
    let is_picture = [".jpg", ".jpeg", ".png", ".webp"]
        .iter()
        .any(|ending| value.to_lowercase().contains(ending));
    value.starts_with("http") && !is_picture
}

/// The decimal sign of amounts whose thousands are grouped with a point or a comma; `None` if none is.
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

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
