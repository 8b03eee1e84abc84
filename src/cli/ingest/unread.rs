//! Finds columns that are probably ignored by mistake. These are unread columns named like a field that every advert of
//! the file lacks, and columns of classes whose texts name no known class. Without these warnings, the user would only
//! notice adverts without a price or with a wrong class.

use serde_json::Value;

use super::convert::ConvertedRow;
use toise_collect::mapping::suggest::{converts_unit, may_name};
use toise_contract::columns::{advert_meaning, fields, units_fit};

/// The field of the price.
const PRICE: &str = "currentPrice.value";
/// Maximum examples in a warning.
const EXAMPLES_MAX: usize = 3;
/// Maximum length of an example, in characters.
const EXAMPLE_CHARS_MAX: usize = 40;

/// The fields that no advert of a file has so far.
pub struct MissingFields(Vec<&'static str>);

impl MissingFields {
    /// Starts before the first advert: all fields that columns can be named after.
    pub fn new() -> Self {
        Self(fields().collect())
    }

    /// Takes an advert into account. Takes a microsecond for each field that is still missing.
    pub fn add(&mut self, advert: &Value) {
        self.0.retain(|field| !has(advert, field));
    }

    /// Returns a warning for each of the unread columns whose name means a field that is still missing, or may mean the
    /// price.
    pub fn warnings(&self, unread: &[String]) -> Vec<String> {
        let named = unread.iter().filter_map(|column| {
            let Some(meaning) = advert_meaning(column) else {
                return self.possible_price(column);
            };
            let field = meaning.field;
            self.0.contains(&field).then(|| {
                format!(
                    "no advert has {field}, and no rule reads the column {column:?}; to read it, add --map \
                     {field}={column:?}"
                )
            })
        });
        named.collect()
    }

    /// Returns a warning for a column whose name contains a word for the price, if no advert has one.
    fn possible_price(&self, column: &str) -> Option<String> {
        if !self.0.contains(&PRICE) || !may_name(column, PRICE) {
            return None;
        }
        let how = if units_fit(column, PRICE) {
            format!("which may be it; to read it, add --map {PRICE}={column:?}")
        } else if converts_unit(column, PRICE) {
            "whose name has another unit; --suggest shows how it can be read".to_owned()
        } else {
            "whose name has another unit, which is not read".to_owned()
        };
        Some(format!(
            "no advert has {PRICE}, and no rule reads the column {column:?}, {how}"
        ))
    }
}

/// Counts the adverts of a file whose cell of classes names none.
#[derive(Debug, Default)]
pub struct UnreadClasses {
    rows: u64,
    unread: u64,
    /// The column of the first of them.
    column: String,
    /// The first distinct texts, with their lines.
    examples: Vec<(u64, String)>,
}

impl UnreadClasses {
    /// Takes a row into account.
    pub fn add(&mut self, row: &ConvertedRow) {
        self.rows += 1;
        let Some(cell) = &row.unread_class else {
            return;
        };
        if self.unread == 0 {
            self.column.clone_from(&cell.column);
        }
        self.unread += 1;
        let value: String = cell.value.chars().take(EXAMPLE_CHARS_MAX).collect();
        let is_known = self.examples.iter().any(|(_, known)| *known == value);
        if self.examples.len() < EXAMPLES_MAX && !is_known {
            self.examples.push((row.number, value));
        }
    }

    /// Returns a warning if no class was read from the column in more than half of the rows.
    pub fn warning(&self) -> Option<String> {
        if self.unread * 2 <= self.rows {
            return None;
        }
        let examples = self.examples.iter();
        let examples = examples.map(|(number, value)| format!("{value:?} in {number}"));
        Some(format!(
            "no class is read from the column {:?} in {} of {} rows: {}; a mapping may have a map for them",
            self.column,
            self.unread,
            self.rows,
            examples.collect::<Vec<_>>().join(", ")
        ))
    }
}

/// Returns whether an advert has a value at a path; for a path of a position, the position.
fn has(advert: &Value, field: &str) -> bool {
    let mut steps = field
        .split('.')
        .map(|step| step.split('[').next().unwrap_or(step));
    let found = steps.try_fold(advert, |value, step| value.get(step));
    found.is_some_and(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toise_collect::mapping::UnreadClass;

    #[test]
    fn a_column_of_classes_that_is_mostly_unread_is_a_warning_with_examples() {
        let mut classes = UnreadClasses::default();
        let mut add = |number: u64, text: Option<&str>| {
            classes.add(&ConvertedRow {
                number,
                advert: json!({}),
                left_out: Vec::new(),
                warnings: Vec::new(),
                unread_class: text.map(|text| UnreadClass {
                    column: "Type".into(),
                    value: text.into(),
                }),
            });
            classes.warning()
        };
        assert_eq!(add(2, None), None);
        assert_eq!(add(3, Some("Ancien")), None, "half of the rows");
        let warning = add(4, Some("Neuf")).unwrap();
        assert_eq!(
            warning,
            "no class is read from the column \"Type\" in 2 of 3 rows: \"Ancien\" in 3, \"Neuf\" in 4; a mapping may \
             have a map for them"
        );
    }

    #[test]
    fn a_column_named_after_a_field_that_no_advert_has_is_a_warning() {
        let mut missing = MissingFields::new();
        missing.add(&json!({"currentPrice": {"value": null}, "location": {"city": "Lyon"}}));
        missing.add(&json!({"habitation": {"surface": {"total": 62}}}));
        let others = [
            "Prix_de_vente_FAI",
            "Prix en k€",
            "Prix CHF",
            "Prix moyen",
            "Remarque",
        ];
        let warnings = missing.warnings(&others.map(str::to_owned));
        assert_eq!(
            warnings,
            [
                "no advert has currentPrice.value, and no rule reads the column \"Prix_de_vente_FAI\", which may be it; to \
                 read it, add --map currentPrice.value=\"Prix_de_vente_FAI\"",
                "no advert has currentPrice.value, and no rule reads the column \"Prix en k€\", whose name has another \
                 unit; --suggest shows how it can be read",
                "no advert has currentPrice.value, and no rule reads the column \"Prix CHF\", whose name has another \
                 unit, which is not read",
            ]
        );
        let unread = ["Prix_de_vente", "Ville", "Surface", "ID", "Commentaire"];
        let warnings = missing.warnings(&unread.map(str::to_owned));
        assert_eq!(
            warnings,
            [
                "no advert has currentPrice.value, and no rule reads the column \"Prix_de_vente\"; to read it, add --map \
                 currentPrice.value=\"Prix_de_vente\""
            ]
        );
    }
}
