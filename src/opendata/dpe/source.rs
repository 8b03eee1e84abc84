//! Maps a file's columns to published columns: by current name, former display name, or another spelling of either.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::columns::all;
use crate::source::cell::plain_name;
use crate::source::{Error, Header, SourceLocation};

/// Published names, current and former, to the index of the published column.
static EXACT: LazyLock<HashMap<&'static str, usize>> = LazyLock::new(|| {
    let mut names = HashMap::new();
    for (index, column) in all().iter().enumerate() {
        for former in &column.former_names {
            names.entry(*former).or_insert(index);
        }
    }
    for (index, column) in all().iter().enumerate() {
        names.insert(column.name, index);
    }
    names
});

/// The same names normalised; current names take precedence over former ones.
static PLAIN: LazyLock<HashMap<String, usize>> = LazyLock::new(|| {
    let mut names = HashMap::new();
    for (index, column) in all().iter().enumerate() {
        names.insert(plain_name(column.name), index);
    }
    for (index, column) in all().iter().enumerate() {
        for former in &column.former_names {
            names.entry(plain_name(former)).or_insert(index);
        }
    }
    names
});

/// The columns of one file.
#[derive(Clone, Debug)]
pub struct DpeColumns {
    /// Position in the file of each published column.
    pub positions: Vec<Option<usize>>,
    /// Unknown columns, and further spellings of a known one.
    pub unknown: Vec<String>,
}

impl DpeColumns {
    /// Finds the published columns in a header.
    ///
    /// # Errors
    ///
    /// `numero_dpe` is missing under all its names: rows cannot be identified without it.
    pub fn find(header: &Header, file: &str) -> Result<Self, Error> {
        let mut positions = vec![None; all().len()];
        let mut taken = vec![false; header.names.len()];
        for exact in [true, false] {
            for (at, name) in header.names.iter().enumerate() {
                if taken[at] {
                    continue;
                }
                let known = if exact {
                    EXACT.get(name.as_str()).copied()
                } else {
                    PLAIN.get(&plain_name(name)).copied()
                };
                if let Some(index) = known.filter(|index| positions[*index].is_none()) {
                    positions[index] = Some(at);
                    taken[at] = true;
                }
            }
        }
        if positions[index_of("numero_dpe")].is_none() {
            let mut found: Vec<&str> = header.names.iter().map(String::as_str).take(8).collect();
            if header.names.len() > found.len() {
                found.push("…");
            }
            return Err(Error::MissingColumn {
                place: SourceLocation::line(file, 1).column("numero_dpe"),
                found: found.join(", "),
            });
        }
        let unknown = (0..header.names.len())
            .filter(|at| !taken[*at])
            .map(|at| header.names[at].clone())
            .collect();
        Ok(Self { positions, unknown })
    }
}

/// Index of a published column by its current name; 0 (`numero_dpe`) for an unknown name.
pub fn index_of(name: &str) -> usize {
    EXACT.get(name).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(names: &[&str]) -> Header {
        Header {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn current_former_and_misspelt_names_are_found() {
        let columns = DpeColumns::find(
            &header(&[
                "Etiquette_DPE",
                "N°DPE",
                "code_insee_ban",
                "NUMERO_ETAGE_APPARTEMENT",
                "extra",
            ]),
            "f.csv",
        )
        .unwrap();
        for (name, at) in [
            ("etiquette_dpe", 0),
            ("numero_dpe", 1),
            ("code_insee_ban", 2),
            ("numero_etage_appartement", 3),
        ] {
            assert_eq!(columns.positions[index_of(name)], Some(at), "{name}");
        }
        assert_eq!(columns.unknown, ["extra"]);
    }

    #[test]
    fn a_file_without_the_number_is_rejected() {
        let message = DpeColumns::find(&header(&["etiquette_dpe"]), "f.csv")
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("f.csv, line 1, column \"numero_dpe\""),
            "{message}"
        );
    }
}
