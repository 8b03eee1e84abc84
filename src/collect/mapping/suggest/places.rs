//! Drafts the rules for the location of a home, which files write in many ways: as codes, as towns, in one text, or as
//! an arrondissement.

use serde_json::Value;

use super::draft::{CONFIDENCE_MIN, Draft};
use super::fields::{FALLBACK_MIN, Sampled, covered};
use super::profile::ColumnProfile;
use toise_contract::columns::{
    ADDRESS, ARRONDISSEMENT, LATITUDE, LONGITUDE, PLACE, STREET, STREET_PARTS, meaning,
};
use toise_geo::communes;

/// Pattern of a town's name with its arrondissement, without a postal code or department number before or after it, a
/// quarter after it and punctuation at its end: `Paris-10e (75010)`, `paris-75`, `Lyon 2e - Presqu'île`.
const TOWN: &str = r"^(?:\d{5}[\s-]+)?(?:((?i:Paris|Lyon|Marseille)[ -](?:1\d|20|0?[1-9])[^\d(,]*?)(?:[\s-]*[(,].*|[\s-]+\d{2,5}.*|\s[–—-]\s.*)?[\s-]*|([^\d(,]*[^\d(,\s./:;|–—-])[\s./:;|–—-]*(?:[\d(,].*)?)$";
/// Pattern of a town's name alone between dashes: `Appartement à vendre - Bordeaux - 328 000 €`.
const TOWN_IN_TITLE: &str = r"\s[–—-]\s(\p{Lu}[\p{L}'’ -]*?)(?:\s[–—-]\s|$)";
/// Pattern of a postal code in a location. In a title only a code in brackets counts, because prices have the same
/// form.
const POSTAL_CODE: &str = r"\b\d{5}\b";
/// See [`POSTAL_CODE`].
const POSTAL_CODE_IN_TITLE: &str = r"\((\d{5})\)";
/// Number of arrondissements of Marseille; a higher number is in Paris.
const MARSEILLE_ARRONDISSEMENTS: u64 = 16;
/// Number of arrondissements of Paris.
const PARIS_ARRONDISSEMENTS: u64 = 20;

impl Sampled<'_> {
    /// Drafts the rules for the location of a home: postal code, town, department, address and position.
    pub(super) fn places(&self) -> Vec<Draft> {
        let mut drafts = Vec::new();
        let postal = self.of("location.postalCode");
        let texts = [
            PLACE,
            ADDRESS,
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
            let whole = || Draft::new("location.city").from(&[&column.path]);
            let part = whole().with("pattern", TOWN);
            let [whole, part] =
                [whole(), part].map(|draft| draft.tried(self.rows, column.filled, 1.0));
            let [of_whole, of_part] = [&whole, &part].map(|draft| self.towns(draft));
            let is_better = of_part > of_whole || of_whole == 0;
            cities.push(if is_better { part } else { whole });
        }
        for column in texts.iter().chain(&titles) {
            let draft = Draft::new("location.city")
                .from(&[&column.path])
                .with("as", "words");
            self.push_if_it_adds(draft.tried(self.rows, column.filled, 1.0), &mut cities);
        }
        // A place may be the name of a town alone, which is not sure in a text.
        for column in self.of(PLACE) {
            let draft = Draft::new("location.city").from(&[&column.path]);
            let draft = draft.with("pattern", TOWN);
            let mut draft = draft.tried(self.rows, column.filled, 1.0);
            draft.confidence = self.towns(&draft) as f64 / column.filled.max(1) as f64;
            if draft.is_sure() {
                self.push_if_it_adds(draft, &mut cities);
            }
        }
        // A part of a title may be anything, so nearly all parts must be towns.
        for column in &titles {
            let draft = Draft::new("location.city").from(&[&column.path]);
            let draft = draft.with("pattern", TOWN_IN_TITLE);
            let mut draft = draft.tried(self.rows, 0, 1.0);
            draft.confidence = self.towns(&draft) as f64 / draft.read.max(1) as f64;
            if draft.is_sure() {
                self.push_if_it_adds(draft, &mut cities);
            }
        }
        drafts.extend(cities);
        // A quarter stands before its town, unless it has a column of its own.
        if self.of("location.district").is_empty() {
            let mut quarters = Vec::new();
            for column in self.of(PLACE) {
                let draft = Draft::new("location.district").from(&[&column.path]);
                let draft = draft.with("as", "words").tried(self.rows, 0, 1.0);
                self.push_if_it_adds(draft, &mut quarters);
            }
            drafts.extend(quarters);
        }
        drafts.extend(self.plain("location.department", None));
        drafts.extend(self.address());
        if let (Some(latitude), Some(longitude)) =
            (self.of(LATITUDE).first(), self.of(LONGITUDE).first())
        {
            let latitude_line = format!("latitude = {}", quoted(&latitude.path));
            let draft = Draft::new("location.locationCoordinate.location")
                .reading(&[&latitude.path, &longitude.path])
                .with_line(&latitude_line)
                .with("longitude", &longitude.path);
            drafts.push(draft.tried(self.rows, latitude.filled, 1.0));
        }
        drafts
    }

    /// Returns the number of rows from which a draft reads the name of a commune.
    fn towns(&self, draft: &Draft) -> usize {
        let values = draft.values(self.rows).into_iter().flatten();
        values
            .filter(|value| value.as_str().is_some_and(is_town))
            .count()
    }

    /// Drafts the address, from one column or, if that is only the street, from it and the columns with the other parts of
    /// the line.
    fn address(&self) -> Option<Draft> {
        let parts = STREET_PARTS.map(|part| {
            let columns = self.columns.iter().filter(|column| column.is_nameable);
            let named = columns.filter(|column| column.filled > 0);
            let ranked = named.filter_map(|column| {
                let found = meaning(&column.path).filter(|found| found.field == part)?;
                Some((found.rank, column))
            });
            let best = ranked.min_by_key(|(rank, _)| *rank);
            best.map(|(_, column)| (part, column))
        });
        let parts: Vec<(&str, &ColumnProfile)> = parts.into_iter().flatten().collect();
        let best = self.of(ADDRESS).first().copied();
        let street = parts.iter().find(|(part, column)| {
            *part == STREET && best.is_some_and(|best| best.path == column.path)
        });
        let Some((_, street)) = street.filter(|_| parts.len() > 1) else {
            return self.plain(ADDRESS, None);
        };
        let cells = parts.iter().map(|(part, column)| match *part {
            STREET => format!("{{{}}}", column.path),
            _ => format!("{{{}?}}", column.path),
        });
        let template = cells.collect::<Vec<_>>().join(" ");
        let paths: Vec<&str> = parts
            .iter()
            .map(|(_, column)| column.path.as_str())
            .collect();
        let draft = Draft::new(ADDRESS)
            .reading(&paths)
            .with("template", &template);
        Some(draft.tried(self.rows, street.filled, 1.0)).filter(|draft| draft.read > 0)
    }

    /// Adds a further source of a field if it reads enough rows that the others miss. If it is certain, one such row is
    /// enough.
    pub(super) fn push_if_it_adds(&self, mut draft: Draft, drafts: &mut Vec<Draft>) {
        let before = covered(drafts, self.rows);
        let both = [drafts.as_slice(), std::slice::from_ref(&draft)].concat();
        let adds = covered(&both, self.rows) - before;
        if adds >= FALLBACK_MIN || (before > 0.0 && adds > 0.0 && draft.is_sure()) {
            // Rows that the draft does not read do not count against it, because other rules read them.
            draft.confidence = draft.confidence.max(CONFIDENCE_MIN);
            drafts.push(draft);
        }
    }

    /// Drafts postal codes from the numbers of arrondissements: with the town if a column names it, otherwise as codes
    /// of Paris.
    fn arrondissements(&self, drafts: &[Draft]) -> Option<Draft> {
        let columns = self.of(ARRONDISSEMENT);
        let column = *columns.first()?;
        if covered(drafts, self.rows) >= FALLBACK_MIN {
            return None;
        }
        if let Some(city) = self.of("location.city").first() {
            let template = format!("{{{}}} {{{}}}", city.path, column.path);
            let draft = Draft::new("location.postalCode").reading(&[&city.path, &column.path]);
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
        if highest > MARSEILLE_ARRONDISSEMENTS {
            draft.reason = format!("Only Paris has {highest} arrondissements.")
        } else {
            draft.confidence = 0.5;
            draft.reason = "The town is not given: these are the codes of Paris.".into();
        }
        Some(draft).filter(|draft| draft.read > 0)
    }
}

/// Returns whether a text is the name of a commune, or of a city with arrondissements.
fn is_town(name: &str) -> bool {
    communes::named_once(name).is_some()
        || communes::divided_city(name).is_some()
        || !communes::all_named(name).is_empty()
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
