//! Finds columns that no rule reads although their name says what no advert of the file has: a misspelt name in a mapping
//! otherwise only shows as adverts without a price.

use serde_json::Value;

use toise_contract::columns::{advert_meaning, fields};

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

    /// Returns a warning for each of the unread columns whose name means a field that is still missing.
    pub fn warnings(&self, unread: &[String]) -> Vec<String> {
        let named = unread.iter().filter_map(|column| {
            let field = advert_meaning(column)?.field;
            self.0.contains(&field).then(|| {
                format!(
                    "no advert has {field}, and no rule reads the column {column:?}; to read it, add --map \
                     {field}={column:?}"
                )
            })
        });
        named.collect()
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

    #[test]
    fn a_column_named_after_a_field_that_no_advert_has_is_a_warning() {
        let mut missing = MissingFields::new();
        missing.add(&json!({"currentPrice": {"value": null}, "location": {"city": "Lyon"}}));
        missing.add(&json!({"habitation": {"surface": {"total": 62}}}));
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
