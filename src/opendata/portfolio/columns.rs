//! Maps the columns of a portfolio to fields, and selects the columns to copy to the output.

use super::{ADDRESS_FIELDS, Error, Portfolio};
use crate::source::Block;
use crate::source::cell::plain_name;
use toise_contract::columns::{
    self as names, ColumnMeaning, IDENTIFIER, REFERENCE, STREET, STREET_PARTS, meaning,
};
use toise_input::quantity::NumberKind;
use toise_input::reading::ColumnUse;

/// The mapping of the columns of a portfolio.
#[derive(Clone, Debug)]
pub struct PortfolioColumns {
    /// Input columns that hold fields, each with the index of its field in [`Portfolio::fields`].
    pub fields: Vec<(usize, usize)>,
    /// Names of the columns copied to the output.
    pub keys: Vec<String>,
    key_columns: Vec<usize>,
    /// Input columns that are read, in their order, with their fields.
    pub used: Vec<ColumnUse>,
    /// Input columns that are ignored.
    pub ignored: Vec<String>,
}

/// Maximum columns that a message lists.
const LISTED_MAX: usize = 20;
/// The field whose name says least: next to a column `Type de bien`, a column `Type` may hold `T4`.
pub(super) const VAGUE: &str = "type";
/// Name of the field of a column that is copied to the output.
const KEY: &str = "key";

/// Rank of the names of a reference among the names of an identifier.
const REFERENCE_RANK: usize = 1_000;

/// Names of columns in the official file of sales that are read as the characteristics of a sale which a match compares.
const OFFICIAL_NAMES: [(&str, &str); 2] = [
    ("valeur_fonciere", "price_eur"),
    ("nombre_pieces_principales", "main_rooms"),
];

/// Returns the field that a column holds by its name in the official file of sales.
fn official_field(column: &str) -> Option<&'static str> {
    let name = plain_name(column);
    let mut known = OFFICIAL_NAMES.iter();
    known
        .find(|(official, _)| *official == name)
        .map(|(_, field)| *field)
}

/// Returns the meaning of a name that is one field of an advert, a part of an address or an identifier. A reference
/// identifies a row too, unless a column has a name of an identifier.
fn meant(name: &str) -> Option<ColumnMeaning> {
    let meaning = meaning(name)?;
    if meaning.field == REFERENCE {
        return Some(ColumnMeaning {
            field: IDENTIFIER,
            rank: REFERENCE_RANK + meaning.rank,
        });
    }
    let mut known = names::fields().chain(STREET_PARTS).chain([IDENTIFIER]);
    known.any(|field| field == meaning.field).then_some(meaning)
}

/// Returns whether two names mean the same field.
fn mean_the_same(one: &str, other: &str) -> bool {
    let both = meant(one).zip(meant(other));
    both.is_some_and(|(one, other)| one.field == other.field)
}

/// Returns whether there is a column with a more usual name for what a column means.
fn has_better(columns: &[String], column: &str) -> bool {
    let own = meant(column);
    let mut all = columns.iter().filter_map(|one| meant(one));
    own.is_some_and(|own| all.any(|one| one.field == own.field && one.rank < own.rank))
}

/// Returns whether a column holds a field of a portfolio, by its name in any spelling or by the meaning of its name.
pub(super) fn gives(portfolio: &Portfolio, column: &str, field: &String) -> bool {
    let is_inferred = || portfolio.inferable.contains(field) && mean_the_same(column, field);
    column == field
        || plain_name(column) == plain_name(field)
        || official_field(column) == Some(field.as_str())
        || is_inferred()
}

/// Returns whether a column gives an inferable field that means the same as a field.
pub(super) fn gives_meaning(portfolio: &Portfolio, column: &str, field: &str) -> bool {
    let mut inferable = portfolio.inferable.iter();
    inferable.any(|other| mean_the_same(other, field) && gives(portfolio, column, other))
}

/// Assigns the columns that no field has as its name to the fields that mean the same ([`names`]). If several columns
/// fit one field, the one with the most usual name is used.
fn infer(
    (fields, inferable): (&[String], &[String]),
    columns: &[String],
    ignored: &[usize],
    found: &[(usize, usize)],
) -> Vec<(usize, usize)> {
    let is_free = |field: usize| {
        let mut taken = found.iter().map(|(_, taken)| *taken);
        !taken.any(|taken| taken == field || mean_the_same(&fields[taken], &fields[field]))
    };
    let mut candidates: Vec<(usize, usize, usize)> = Vec::new();
    for index in ignored {
        let Some(meaning) = meant(&columns[*index]) else {
            continue;
        };
        let field = fields.iter().position(|field| {
            inferable.contains(field)
                && meant(field).is_some_and(|other| other.field == meaning.field)
        });
        if let Some(field) = field.filter(|field| is_free(*field)) {
            candidates.push((field, meaning.rank, *index));
        }
    }
    candidates.sort_unstable();
    candidates.dedup_by_key(|(field, ..)| *field);
    let mut inferred: Vec<(usize, usize)> = candidates
        .into_iter()
        .map(|(field, _, index)| (index, field))
        .collect();
    inferred.sort_unstable();
    inferred
}

/// Assigns columns with official names to the fields that no column has ([`official_field`]).
fn official(
    fields: &[String],
    columns: &[String],
    ignored: &[usize],
    found: &[(usize, usize)],
) -> Vec<(usize, usize)> {
    let mut official: Vec<(usize, usize)> = Vec::new();
    for index in ignored {
        let wanted = official_field(&columns[*index]);
        let field = wanted.and_then(|wanted| fields.iter().position(|field| field == wanted));
        let Some(field) = field else {
            continue;
        };
        let mut taken = found.iter().chain(&official);
        if !taken.any(|(_, other)| *other == field) {
            official.push((*index, field));
        }
    }
    official
}

/// Returns the columns of parts of an address that are not to be read: those next to a whole address, and those without
/// a street, whose names may mean anything. A column that the user renamed is read.
fn useless_parts(
    found: &[(usize, usize)],
    fields: &[String],
    is_renamed: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let has = |wanted: &str| found.iter().any(|(_, field)| fields[*field] == wanted);
    if has(STREET) && !has(ADDRESS_FIELDS[0]) {
        return Vec::new();
    }
    let parts = found.iter().filter(|(column, field)| {
        STREET_PARTS.contains(&fields[*field].as_str()) && !is_renamed(*column)
    });
    parts.map(|(column, _)| *column).collect()
}

/// Returns the position of a name: as written, otherwise in any case and with or without accents.
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
        row_noun,
        fields,
        renames,
        ..
    } = portfolio;
    for (column, field) in renames {
        let option = format!("--map {field}={column}");
        if position_of(columns.iter(), column).is_none() {
            return Err(Error::Option(format!(
                "{option}: the portfolio has no column {column}; it has {}",
                columns.join(", ")
            )));
        }
        if !fields.contains(field) {
            return Err(Error::Option(format!(
                "{option}: {field} is not a field of {row_noun}; fields are {}",
                fields.join(", ")
            )));
        }
    }
    Ok(())
}

impl PortfolioColumns {
    /// Maps the columns of a portfolio by their names, otherwise by the meaning of their names. A key column is not a
    /// field unless it is renamed to one: a portfolio's own `id` is not the `id` of a sale.
    ///
    /// # Errors
    /// A named column is missing, two columns give the same field, or no column gives a field.
    pub fn new(portfolio: &Portfolio, columns: &[String]) -> Result<Self, Error> {
        check_renames(portfolio, columns)?;
        let Portfolio {
            row_noun,
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
        let is_class_renamed = renames.iter().any(|(_, field)| field == VAGUE);
        let mut found: Vec<(usize, usize)> = Vec::new();
        let mut unnamed = Vec::new();
        for (index, column) in columns.iter().enumerate() {
            let rename = renamed.iter().find(|(ours, _)| *ours == Some(index));
            if rename.is_none() && key_columns.contains(&index) {
                continue;
            }
            let name = rename.map_or(column, |(_, theirs)| theirs);
            let gives_way = rename.is_none()
                && portfolio.inferable.iter().any(|field| field == VAGUE)
                && plain_name(column) == VAGUE
                && (is_class_renamed || column != VAGUE && has_better(columns, column));
            let field = position_of(fields.iter(), name).filter(|_| !gives_way);
            let Some(field) = field else {
                unnamed.push(index);
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
        let mut inferred = infer((fields, &portfolio.inferable), columns, &unnamed, &found);
        inferred.extend(official(fields, columns, &unnamed, &found));
        unnamed.retain(|index| !inferred.iter().any(|(column, _)| column == index));
        found.extend(&inferred);
        let is_renamed = |column: usize| renamed.iter().any(|(ours, _)| *ours == Some(column));
        let useless = useless_parts(&found, fields, is_renamed);
        found.retain(|(column, _)| !useless.contains(column));
        unnamed.extend(useless);
        unnamed.sort_unstable();
        if found.is_empty() {
            return Err(Error::Option(format!(
                "no column of the portfolio is a field of {row_noun}: it has {}; fields are {} (see --map)",
                columns.join(", "),
                fields.join(", ")
            )));
        }
        let mut used: Vec<(usize, &str)> = found
            .iter()
            .map(|(column, field)| (*column, fields[*field].as_str()))
            .chain(key_columns.iter().map(|column| (*column, KEY)))
            .collect();
        used.sort_unstable();
        let used = used.into_iter().map(|(column, field)| ColumnUse {
            column: columns[column].clone(),
            field: field.to_owned(),
        });
        Ok(Self {
            used: used.collect(),
            fields: found,
            keys,
            key_columns,
            ignored: unnamed
                .into_iter()
                .map(|index| columns[index].clone())
                .collect(),
        })
    }

    /// Lists the columns of the file for a message: those that are read, then the others, at most 20.
    pub fn listed(&self) -> String {
        let used = self.used.iter().map(|used| &used.column);
        let names: Vec<&str> = used.chain(&self.ignored).map(String::as_str).collect();
        let shown = &names[..names.len().min(LISTED_MAX)];
        match names.len() - shown.len() {
            0 => shown.join(", "),
            more => format!("{} and {more} more", shown.join(", ")),
        }
    }

    /// Returns what the numbers of each of a file's columns are; `None` for columns of other values.
    pub(super) fn number_kinds(
        &self,
        portfolio: &Portfolio,
        width: usize,
    ) -> Vec<Option<NumberKind>> {
        let mut kinds = vec![None; width];
        for (column, field) in &self.fields {
            let field = &portfolio.fields[*field];
            let kind = NumberKind::of_field(field);
            if kind == NumberKind::Day || portfolio.numbers.contains(field) {
                kinds[*column] = Some(kind);
            }
        }
        kinds
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

#[cfg(test)]
mod tests {
    use super::*;

    fn portfolio(fields: &[&str]) -> Portfolio {
        Portfolio {
            input: "p.csv".into(),
            row_noun: "a home".into(),
            fields: fields.iter().map(|field| (*field).to_owned()).collect(),
            inferable: fields[1..]
                .iter()
                .map(|field| (*field).to_owned())
                .collect(),
            only_if_named: Vec::new(),
            numbers: Vec::new(),
            renames: Vec::new(),
            keys: Vec::new(),
            default_keys: &["id", "ref"],
        }
    }

    fn read(fields: &[&str], columns: &[&str]) -> Result<PortfolioColumns, Error> {
        let columns: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
        PortfolioColumns::new(&portfolio(fields), &columns)
    }

    #[test]
    fn a_column_is_read_as_the_field_that_its_name_means() {
        let fields = [
            "postal_code", "type", "surface_m2", "address", "postcode", "city",
        ];
        let found = read(
            &fields,
            &[
                "Réf",
                "Adresse",
                "CP",
                "Ville",
                "Surface habitable",
                "Type",
                "Notes",
            ],
        )
        .unwrap();
        let used: Vec<(&str, &str)> = found
            .used
            .iter()
            .map(|one| (one.column.as_str(), one.field.as_str()))
            .collect();
        assert_eq!(
            used,
            [
                ("Réf", "key"),
                ("Adresse", "address"),
                ("CP", "postcode"),
                ("Ville", "city"),
                ("Surface habitable", "surface_m2"),
                ("Type", "type"),
            ]
        );
        assert_eq!(found.fields, [(5, 1), (1, 3), (2, 4), (3, 5), (4, 2)]);
        assert_eq!(found.keys, ["ref"]);
        assert_eq!(found.ignored, ["Notes"]);
    }

    #[test]
    fn official_names_of_sales_are_read_as_what_a_match_compares() {
        let sales = |renames: Vec<(String, String)>| Portfolio {
            renames,
            inferable: Vec::new(),
            ..portfolio(&["id", "lat", "main_rooms", "price_eur"])
        };
        let used = |columns: &[&str], renames| {
            let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
            let used = PortfolioColumns::new(&sales(renames), &columns)
                .unwrap()
                .used;
            let used = used
                .iter()
                .map(|one| format!("{}={}", one.column, one.field));
            used.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            used(
                &["Valeur fonciere", "nombre_pieces_principales", "prix"],
                Vec::new()
            ),
            "Valeur fonciere=price_eur nombre_pieces_principales=main_rooms"
        );
        assert_eq!(
            used(&["valeur_fonciere", "price_eur"], Vec::new()),
            "price_eur=price_eur"
        );
        let rename = vec![("valeur_fonciere".to_owned(), "lat".to_owned())];
        assert_eq!(used(&["valeur_fonciere"], rename), "valeur_fonciere=lat");
    }

    #[test]
    fn a_column_type_gives_way_to_one_that_says_more() {
        for (columns, read_as_type) in [
            (["Type", "Type de bien"], "Type de bien"),
            (["type_local", "TYPE"], "type_local"),
            (["Nature", "Type"], "Type"),
            (["Type de bien", "type"], "type"),
            (["Notes", "Type"], "Type"),
        ] {
            let used = read(&["id", "type"], &columns).unwrap().used;
            let used: Vec<&str> = used.iter().map(|one| one.column.as_str()).collect();
            assert_eq!(used, [read_as_type]);
        }
    }

    #[test]
    fn the_parts_of_an_address_are_read_if_there_is_no_whole_one() {
        let fields: Vec<&str> = ["id", "type", "surface_m2"]
            .into_iter()
            .chain(super::super::ADDRESS_COLUMNS)
            .collect();
        let used = |columns: &str| {
            let columns: Vec<&str> = columns.split(';').collect();
            let used = read(&fields, &columns).unwrap().used;
            let used = used
                .iter()
                .map(|one| format!("{}={}", one.column, one.field));
            used.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            used("numero;voie;code postal;commune"),
            "numero=house_number voie=street code postal=postcode commune=city"
        );
        assert_eq!(
            used("adresse_numero;adresse_suffixe;adresse_nom_voie;nom_commune"),
            "adresse_numero=house_number adresse_suffixe=house_number_suffix adresse_nom_voie=street nom_commune=city"
        );
        assert_eq!(used("N°;Rue"), "N°=house_number Rue=street");
        assert_eq!(used("Voie;INSEE"), "Voie=street INSEE=insee_code");
        assert_eq!(
            used("N°;Adresse;Rue;CP"),
            "Adresse=address CP=postcode",
            "a whole address"
        );
        assert_eq!(used("N°;CP"), "CP=postcode", "a number alone");
    }

    #[test]
    fn a_reference_is_read_as_the_identifier_if_there_is_no_column_of_it() {
        let used = |columns: &[&str]| {
            let mut homes = portfolio(&["id", "surface_m2"]);
            homes.inferable = homes.fields.clone();
            homes.default_keys = &[];
            let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
            let used = PortfolioColumns::new(&homes, &columns).unwrap().used;
            let used = used.into_iter().filter(|one| one.field == "id");
            used.map(|one| one.column).collect::<Vec<_>>()
        };
        for name in ["Référence", "Reference", "Ref", "Réf.", "identifiant"] {
            assert_eq!(used(&[name, "surface"]), [name]);
        }
        assert_eq!(used(&["Référence", "id"]), ["id"]);
        assert_eq!(used(&["Référence", "Identifiant"]), ["Identifiant"]);
    }

    #[test]
    fn a_message_lists_some_of_the_columns() {
        let columns: Vec<String> = (0..LISTED_MAX + 3)
            .map(|number| format!("c{number}"))
            .collect();
        let mut columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        columns.push("surface_m2");
        let listed = read(&["postal_code", "surface_m2"], &columns)
            .unwrap()
            .listed();
        assert!(listed.starts_with("surface_m2, c0, c1, "), "{listed}");
        assert!(listed.ends_with("c18 and 4 more"), "{listed}");
    }

    #[test]
    fn a_field_with_its_own_column_takes_no_other() {
        let fields = ["postal_code", "surface_m2", "postcode"];
        let found = read(
            &fields,
            &["superficie", "surface_m2", "cp", "postal_code", "id"],
        )
        .unwrap();
        let is_named = |one: &ColumnUse| one.column == one.field || one.field == KEY;
        assert!(found.used.iter().all(is_named));
        assert_eq!(found.ignored, ["superficie", "cp"]);
        // If two names fit, the more usual one is taken.
        let found = read(&fields, &["superficie", "surface"]).unwrap();
        assert_eq!(found.fields, [(1, 1)]);
        assert_eq!(found.ignored, ["superficie"]);
        assert!(read(&fields, &["colour"]).is_err());
    }
}
