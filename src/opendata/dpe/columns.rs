//! The 230 published columns of a diagnostic: today's names, what they hold, and the names they had before.
//!
//! Read once from `data/dpe_columns.csv`: name, kind, use (`filter` or `record`), former display names (`|` between).

use std::sync::LazyLock;

use crate::lake::schema::Kind;

/// One published column.
#[derive(Debug)]
pub struct PublishedColumn {
    /// Today's snake_case name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether questions filter, sort or score on it.
    pub filterable: bool,
    /// Display names of older files.
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
                "category" => Kind::Category,
                "number" => Kind::Number,
                "date" => Kind::Date,
                _ => Kind::Text,
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

/// The published columns, in the order of the source.
pub fn all() -> &'static [PublishedColumn] {
    &COLUMNS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_column_is_known_once() {
        let mut names: Vec<_> = all().iter().map(|column| column.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 230);
    }
}
