//! Maps the columns of a portfolio to fields, and selects the columns to copy to the output.

use super::{Error, Portfolio};
use crate::source::Block;
use crate::source::cell::plain_name;

/// The mapping of the columns of a portfolio.
#[derive(Clone, Debug)]
pub struct PortfolioColumns {
    /// Input columns that hold fields, each with the index of its field in [`Portfolio::fields`].
    pub fields: Vec<(usize, usize)>,
    /// Names of the columns copied to the output.
    pub keys: Vec<String>,
    key_columns: Vec<usize>,
    /// Input columns that are ignored.
    pub ignored: Vec<String>,
}

/// Returns the position of a name: as written, else in any case and with or without accents.
fn position_of<'n>(
    mut names: impl Iterator<Item = &'n String> + Clone,
    wanted: &str,
) -> Option<usize> {
    names.clone().position(|name| name == wanted).or_else(|| {
        let plain = plain_name(wanted);
        names.position(|name| plain_name(name) == plain)
    })
}

/// Checks that each rename maps a column of the portfolio to a field.
fn check_renames(portfolio: &Portfolio, columns: &[String]) -> Result<(), Error> {
    let Portfolio {
        what,
        fields,
        renames,
        ..
    } = portfolio;
    for (ours, theirs) in renames {
        if position_of(columns.iter(), ours).is_none() {
            return Err(Error::Option(format!(
                "--map {ours}={theirs}: the portfolio has no column {ours}; it has {}",
                columns.join(", ")
            )));
        }
        if !fields.iter().any(|field| field == theirs) {
            return Err(Error::Option(format!(
                "--map {ours}={theirs}: {theirs} is not a field of {what}; fields are {}",
                fields.join(", ")
            )));
        }
    }
    Ok(())
}

impl PortfolioColumns {
    /// Maps the columns of a portfolio. A key column is not a field unless it is renamed to one: a portfolio's own `id`
    /// is not the `id` of a sale.
    ///
    /// # Errors
    /// A named column is missing, two columns give the same field, or no column gives a field.
    pub fn new(portfolio: &Portfolio, columns: &[String]) -> Result<Self, Error> {
        check_renames(portfolio, columns)?;
        let Portfolio {
            what,
            fields,
            renames,
            ..
        } = portfolio;
        let position = |name: &str| position_of(columns.iter(), name);
        let renamed: Vec<(Option<usize>, &String)> = renames
            .iter()
            .map(|(ours, theirs)| (position(ours), theirs))
            .collect();
        let keys: Vec<String> = if portfolio.keys.is_empty() {
            let mut defaults = portfolio.default_keys.iter();
            let default = defaults.find(|name| position(name).is_some());
            default.into_iter().map(|name| (*name).to_owned()).collect()
        } else {
            portfolio.keys.clone()
        };
        let mut key_columns = Vec::with_capacity(keys.len());
        for key in &keys {
            key_columns.push(position(key).ok_or_else(|| {
                Error::Option(format!(
                    "--key {key}: the portfolio has no such column; it has {}",
                    columns.join(", ")
                ))
            })?);
        }
        let mut found: Vec<(usize, usize)> = Vec::new();
        let mut ignored = Vec::new();
        for (index, column) in columns.iter().enumerate() {
            let rename = renamed.iter().find(|(ours, _)| *ours == Some(index));
            if rename.is_none() && key_columns.contains(&index) {
                continue;
            }
            let name = rename.map_or(column, |(_, theirs)| theirs);
            let Some(field) = position_of(fields.iter(), name) else {
                ignored.push(column.clone());
                continue;
            };
            if let Some((other, _)) = found.iter().find(|(_, other)| *other == field) {
                return Err(Error::Option(format!(
                    "the columns {} and {column} both give {name}",
                    columns[*other]
                )));
            }
            found.push((index, field));
        }
        if found.is_empty() {
            return Err(Error::Option(format!(
                "no column of the portfolio is a field of {what}: it has {}; fields are {} (see --map)",
                columns.join(", "),
                fields.join(", ")
            )));
        }
        Ok(Self {
            fields: found,
            keys,
            key_columns,
            ignored,
        })
    }

    /// Returns the values of a row's key columns.
    pub fn key<'b>(
        &self,
        block: &'b Block,
        row: usize,
    ) -> impl Iterator<Item = &'b str> + use<'b, '_> {
        let columns = self.key_columns.iter();
        columns.map(move |column| block.cell(row, *column))
    }
}
