//! The names that a query may use; finds those most similar to a name that does not exist.

use datafusion::prelude::SessionContext;

/// The tables and functions of a session.
#[derive(Clone, Debug, Default)]
pub struct KnownNames {
    /// Names of the tables, sorted.
    pub tables: Vec<String>,
    /// Names of all functions.
    pub functions: Vec<String>,
}

impl KnownNames {
    /// Returns the names that queries of a session may use.
    pub fn of(context: &SessionContext) -> Self {
        let state = context.state();
        let mut functions: Vec<String> = state.scalar_functions().keys().cloned().collect();
        functions.extend(state.aggregate_functions().keys().cloned());
        functions.extend(state.window_functions().keys().cloned());
        functions.extend(state.table_functions().keys().cloned());
        functions.sort();
        functions.dedup();
        let mut tables = Vec::new();
        for catalog in context.catalog_names() {
            let catalog = context.catalog(&catalog);
            let schemas = catalog.iter().flat_map(|catalog| {
                let names = catalog.schema_names().into_iter();
                names.filter_map(|name| catalog.schema(&name))
            });
            tables.extend(schemas.flat_map(|schema| schema.table_names()));
        }
        tables.sort();
        Self { tables, functions }
    }
}

/// Returns the names most similar to a mistyped one, best first, without dissimilar ones.
pub fn nearest(
    mistyped: &str,
    names: impl Iterator<Item = String>,
    count_max: usize,
) -> Vec<String> {
    /// Minimum similarity of a suggested name, from 0 to 1.
    const LIKENESS_MIN: f64 = 0.7;
    let mistyped = mistyped.to_lowercase();
    let mut ranked: Vec<(f64, String)> = names
        .map(|name| (likeness(&mistyped, &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .collect();
    ranked.sort_by(|(one, left), (other, right)| other.total_cmp(one).then(left.cmp(right)));
    ranked.dedup_by(|(_, one), (_, other)| one == other);
    ranked.truncate(count_max);
    ranked.into_iter().map(|(_, name)| name).collect()
}

/// Returns the similarity of two names from 0 to 1; a name is similar to each of its words.
fn likeness(mistyped: &str, name: &str) -> f64 {
    /// Similarity of a name that contains the mistyped one as a word.
    const CONTAINED: f64 = 0.9;
    /// Similarity of a name that shares a word with the mistyped one.
    const SHARED: f64 = 0.75;
    /// Minimum characters of a shared word.
    const WORD_CHARS_MIN: usize = 4;
    let of_letters = strsim::jaro_winkler(mistyped, name);
    let is_part = name.split('_').any(|word| word == mistyped);
    let mut words = mistyped
        .split('_')
        .filter(|word| word.len() >= WORD_CHARS_MIN);
    let shares_word = words.any(|word| name.split('_').any(|known| known == word));
    match (is_part, shares_word) {
        (true, _) => of_letters.max(CONTAINED),
        (false, true) => of_letters.max(SHARED),
        (false, false) => of_letters,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_nearest_to_a_mistyped_one_come_first() {
        let columns = ["price_eur", "surface_m2", "property_type", "id"];
        let names = || columns.iter().map(|name| (*name).to_owned());
        assert_eq!(nearest("price", names(), 1), ["price_eur"]);
        assert_eq!(nearest("Surface", names(), 1), ["surface_m2"]);
        assert_eq!(nearest("zzz", names(), 3), Vec::<String>::new());
    }
}
