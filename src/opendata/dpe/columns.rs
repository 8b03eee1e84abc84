//! The 230 published columns of a diagnostic: current names, types and former names.
//!
//! Read once from `data/dpe_columns.csv`: name, kind, use (`filter` or `record`), former display names (separated by
//! `|`).

use std::sync::LazyLock;

use toise_lake::schema::ColumnKind;

/// One published column.
#[derive(Debug)]
pub struct PublishedColumn {
    /// Current snake_case name.
    pub name: &'static str,
    /// Type of its values.
    pub kind: ColumnKind,
    /// Whether queries can filter, sort or score on it.
    pub filterable: bool,
    /// Display names in older files.
    pub former_names: Vec<&'static str>,
}

static COLUMNS: LazyLock<Vec<PublishedColumn>> = LazyLock::new(|| {
    include_str!("../../../data/dpe_columns.csv")
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut fields = line.splitn(4, ',');
            let (name, kind) = (fields.next()?, fields.next()?);
            let filterable = fields.next()? == "filter";
            let former_names = fields
                .next()?
                .split('|')
                .filter(|former| !former.is_empty())
                .collect();
            let kind = match kind {
                "category" => ColumnKind::Category,
                "number" => ColumnKind::Number,
                "date" => ColumnKind::Date,
                _ => ColumnKind::Text,
            };
            Some(PublishedColumn {
                name,
                kind,
                filterable,
                former_names,
            })
        })
        .collect()
});

/// Returns the published columns, in the order of the source.
pub fn all() -> &'static [PublishedColumn] {
    &COLUMNS
}

/// Units of numeric columns by prefix and suffix of their names; the first match applies.
#[rustfmt::skip]
const UNITS: [(&str, &str, &str); 19] = [
    ("ubat_", "", "W/m2/K"), ("conso_5_usages_par_m2", "", "kWh/m2/year"),
    ("conso_", "_ep", "kWh of primary energy a year"), ("conso_", "", "kWh of final energy a year"),
    ("emission_ges_5_usages_par_m2", "", "kgCO2/m2/year"), ("emission_ges_", "", "kgCO2/year"),
    ("cout_", "", "EUR/year"), ("deperditions_", "", "W/K"), ("besoin_", "", "kWh/year"), ("surface_", "", "m2"),
    ("hauteur_", "", "m"), ("volume_", "", "litres"), ("facteur_", "", "share of the need, 0 to 1"),
    ("production_", "", "kWh/year"), ("electricite_", "", "kWh/year"),
    ("coordonnee_", "", "m, Lambert-93 in metropolitan France"), ("score_", "", "0 to 1"), ("annee_", "", "year"),
    ("nombre_", "", "count"),
];

impl PublishedColumn {
    /// Describes the column: its label in the register, and the unit of a number.
    pub fn about(&self) -> String {
        let label = self
            .former_names
            .first()
            .map_or_else(|| self.name.to_owned(), |name| name.replace('_', " "));
        let unit = UNITS
            .iter()
            .filter(|_| self.kind == ColumnKind::Number)
            .find(|(start, end, _)| self.name.starts_with(start) && self.name.ends_with(end))
            .map_or_else(String::new, |(_, _, unit)| format!(", {unit}"));
        format!("As published by the register: {label}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_described_by_its_label_and_unit() {
        let about = |name: &str| {
            let column = all().iter().find(|column| column.name == name).unwrap();
            column.about()
        };
        assert!(about("conso_chauffage_ep").ends_with(", kWh of primary energy a year"));
        assert!(about("cout_ecs").ends_with(", EUR/year"));
        assert!(!about("nom_rue_ban").contains(", "));
    }

    #[test]
    fn every_published_column_is_listed_once() {
        let mut names: Vec<_> = all().iter().map(|column| column.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 230);
    }
}
