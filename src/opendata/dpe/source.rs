//! Maps a file's columns to published columns: by current name, former display name, or another spelling of either.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::columns::all;
use crate::source::cell::plain_name;
use crate::source::{Error, Header, SourceLocation};

/// Index of each published column by its current and former names, as published.
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

/// The same by normalised names.
static PLAIN: LazyLock<HashMap<String, usize>> = LazyLock::new(|| index_by(plain_name));

/// The same by the letters that all spellings have in common.
static LOOSE: LazyLock<HashMap<String, usize>> = LazyLock::new(|| index_by(loose_name));

/// Returns the index of each published column by its normalised names; current names take precedence over former ones.
fn index_by(normalise: fn(&str) -> String) -> HashMap<String, usize> {
    let mut names = HashMap::new();
    for (index, column) in all().iter().enumerate() {
        names.entry(normalise(column.name)).or_insert(index);
    }
    for (index, column) in all().iter().enumerate() {
        for former in &column.former_names {
            names.entry(normalise(former)).or_insert(index);
        }
    }
    names
}

/// Word that some versions of the register leave out of names: `Coût_par_énergie` is also `Coût_énergie`.
const OPTIONAL_WORD: &str = "par";
/// Start of a word that a program made of `n°`.
const NUMBER_SIGN: &str = "ndeg";

/// Normalises a column name further than [`plain_name`]: versions of the register differ in plurals and genders, double
/// letters, spaces around `n°` and the word `par`.
fn loose_name(name: &str) -> String {
    let mut loose = String::new();
    let plain = plain_name(name);
    for word in plain.split('_').filter(|word| *word != OPTIONAL_WORD) {
        let word = match word.strip_prefix(NUMBER_SIGN) {
            Some(number) => format!("n{number}"),
            None => word.to_owned(),
        };
        let stem = word.trim_end_matches('s');
        let stem = stem.strip_suffix('e').unwrap_or(stem);
        for character in stem.chars() {
            if character.is_ascii_digit() || !loose.ends_with(character) {
                loose.push(character);
            }
        }
    }
    loose
}

/// The columns of one file.
#[derive(Clone, Debug)]
pub struct DpeColumns {
    /// Position in the file of each published column.
    pub positions: Vec<Option<usize>>,
    /// The same of a second column, under another published name, that counts where the first is empty. Exports of the
    /// former register have `Conso_5_usages_énergie_n°1`, which is empty, and `Conso_5_usages_é_finale_énergie_n°1`.
    pub seconds: Vec<Option<usize>>,
    /// Unknown columns, and columns that repeat a known one in another spelling.
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
        let searches: [fn(&str) -> Option<usize>; 3] = [
            |name| EXACT.get(name).copied(),
            |name| PLAIN.get(&plain_name(name)).copied(),
            |name| LOOSE.get(&loose_name(name)).copied(),
        ];
        for search in searches {
            for (at, name) in header.names.iter().enumerate() {
                if taken[at] {
                    continue;
                }
                if let Some(index) = search(name).filter(|index| positions[*index].is_none()) {
                    positions[index] = Some(at);
                    taken[at] = true;
                }
            }
        }
        let mut seconds = vec![None; all().len()];
        for (at, name) in header.names.iter().enumerate() {
            if taken[at] {
                continue;
            }
            if let Some(index) = EXACT.get(name.as_str()) {
                taken[at] = seconds[*index].is_none();
                seconds[*index] = seconds[*index].or(Some(at));
            }
        }
        let columns = Self {
            unknown: (0..header.names.len())
                .filter(|at| !taken[*at])
                .map(|at| header.names[at].clone())
                .collect(),
            positions,
            seconds,
        };
        if let Some(column) = former_register(header) {
            return Err(Error::malformed(
                SourceLocation::line(file, 1).column(column),
                "these diagnostics are of before July 2021, from another register with other classes, and are not read; \
                 import the register \"DPE Logements existants (depuis juillet 2021)\"",
            ));
        }
        if !columns.has("numero_dpe") {
            Error::check_missing(file, &["numero_dpe"], header)?;
        }
        Ok(columns)
    }

    /// Returns whether the file has a published column.
    pub fn has(&self, name: &str) -> bool {
        index_of(name).is_some_and(|index| self.positions[index].is_some())
    }

    /// Returns the number of published columns in the file.
    pub fn count(&self) -> usize {
        self.positions.iter().flatten().count()
    }

    /// Returns whether the file has every published column.
    pub fn is_complete(&self) -> bool {
        self.count() == self.positions.len()
    }

    /// Describes what the file lacks to add a diagnostic that is not stored yet; `None` if it lacks nothing.
    pub fn lacking(&self) -> Option<String> {
        let mut lacking: Vec<&str> = DESCRIPTION.to_vec();
        lacking.retain(|name| !self.has(name));
        if !PLACE.iter().any(|name| self.has(name)) {
            lacking.push("a place");
        }
        let is_small = self.count() < COLUMNS_TO_ADD_MIN;
        if lacking.is_empty() && !is_small {
            return None;
        }
        let columns = format!("{} of {} columns", self.count(), self.positions.len());
        Some(if lacking.is_empty() {
            format!("{columns}, fewer than {COLUMNS_TO_ADD_MIN}")
        } else {
            format!("{columns}, without {}", lacking.join(", "))
        })
    }
}

/// Columns that exist only in the register used before July 2021.
const FORMER_REGISTER: [&str; 4] = [
    "classe_consommation_energie",
    "classe_estimation_ges",
    "tr001_modele_dpe_id",
    "tr002_type_batiment_id",
];

/// Returns a column of the former register, if the file has one.
fn former_register(header: &Header) -> Option<&String> {
    let is_former = |name: &&String| FORMER_REGISTER.contains(&plain_name(name).as_str());
    header.names.iter().find(is_former)
}

/// Minimum number of published columns that a file needs to add a diagnostic, including the diagnostic's number.
pub const COLUMNS_TO_ADD_MIN: usize = 12;
/// Columns that a file needs to add a diagnostic.
const DESCRIPTION: [&str; 3] = ["date_etablissement_dpe", "etiquette_dpe", "type_batiment"];
/// Columns that locate the dwelling; a file needs at least one of them to add a diagnostic.
const PLACE: [&str; 6] = [
    "code_insee_ban",
    "code_postal_ban",
    "adresse_ban",
    "adresse_brut",
    "_geopoint",
    "coordonnee_cartographique_x_ban",
];

/// Returns the index of a published column by its current name; `None` for an unknown name.
pub fn index_of(name: &str) -> Option<usize> {
    all().iter().position(|column| column.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(names: &[&str]) -> Header {
        Header::new(names.iter().map(|name| (*name).to_owned()).collect())
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
            assert_eq!(
                columns.positions[index_of(name).unwrap()],
                Some(at),
                "{name}"
            );
        }
        assert_eq!(columns.unknown, ["extra"]);
    }

    #[test]
    fn names_of_every_version_of_the_register_are_found() {
        let names = [
            ("N°DPE", "numero_dpe"),
            (
                "Apports_internes_saison_froid",
                "apport_interne_saison_froide",
            ),
            (
                "Apports_internes_saison_chauffe_",
                "apport_interne_saison_chauffe",
            ),
            (
                "Apports_solaires_saison_froid",
                "apport_solaire_saison_froide",
            ),
            (
                "Coût_total_5_usages_énergie_n°1",
                "cout_total_5_usages_energie_n1",
            ),
            ("cout_ecs_energie_ndeg3", "cout_ecs_energie_n3"),
            (
                "Emission_GES_chauffage_énergie_n°2",
                "emission_ges_chauffage_energie_n2",
            ),
            (
                "Emission_GES_ECS_énergie_n°1",
                "emission_ges_ecs_energie_n1",
            ),
            (
                "Description_générateur_chauffage_n°2_installation_n°1",
                "description_generateur_chauffage_n2_installation_n1",
            ),
            (
                "Production_électricité_PV_(kWhep/an)",
                "production_electricite_pv_kwhep_par_an",
            ),
            (
                "Qualité_isolation_plancher_haut_toit_terrase",
                "qualite_isolation_plancher_haut_toit_terrasse",
            ),
            (
                "Date_installation_générateur_ECS_n°1",
                "date_installation_generateur_n1_ecs_n1",
            ),
            ("Type_installation_ECS", "type_installation_ecs_n1"),
            ("Type_installation_ECS_(général)", "type_installation_ecs"),
            (
                "Conso_5_usages_é_finale_énergie_n°1",
                "conso_5_usages_ef_energie_n1",
            ),
        ];
        let columns = DpeColumns::find(&header(&names.map(|(name, _)| name)), "f.csv").unwrap();
        assert_eq!(columns.unknown, [""; 0]);
        for (at, (_, name)) in names.iter().enumerate() {
            assert_eq!(
                columns.positions[index_of(name).unwrap()],
                Some(at),
                "{name}"
            );
        }
        let whole = [
            "N°DPE",
            "Conso_5_usages_énergie_n°1",
            "Conso_5_usages_é_finale_énergie_n°1",
        ];
        let columns = DpeColumns::find(&header(&whole), "f.csv").unwrap();
        let index = index_of("conso_5_usages_ef_energie_n1").unwrap();
        assert_eq!(columns.positions[index], Some(1));
        assert_eq!(columns.seconds[index], Some(2));
        assert_eq!(columns.unknown, [""; 0]);
        let others = ["N°DPE", "Coût_ECS_dépensier", "Cage_d'escalier", "_score"];
        let columns = DpeColumns::find(&header(&others), "f.csv").unwrap();
        assert_eq!(columns.unknown, others[1..]);
    }

    #[test]
    fn loose_names_are_distinct() {
        let names = all().iter().map(|column| loose_name(column.name));
        let names: std::collections::BTreeSet<String> = names.collect();
        assert_eq!(names.len(), all().len());
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

    #[test]
    fn the_former_register_is_refused_by_name() {
        let names = [
            "numero_dpe",
            "classe_consommation_energie",
            "consommation_energie",
        ];
        let message = DpeColumns::find(&header(&names), "f.csv").unwrap_err();
        let message = message.to_string();
        assert!(message.contains("of before July 2021"), "{message}");
    }

    #[test]
    fn a_file_says_what_it_lacks_to_add_a_diagnostic() {
        let find = |names: &[&str]| DpeColumns::find(&header(names), "f.csv").unwrap();
        let few = ["numero_dpe", "etiquette_dpe"];
        assert_eq!(
            find(&few).lacking().unwrap(),
            "2 of 230 columns, without date_etablissement_dpe, type_batiment, a place"
        );
        let mut names: Vec<&str> = vec!["numero_dpe", "code_insee_ban"];
        names.extend(DESCRIPTION);
        assert_eq!(
            find(&names).lacking().unwrap(),
            "5 of 230 columns, fewer than 12"
        );
        names.extend(all().iter().skip(20).take(10).map(|column| column.name));
        assert_eq!(find(&names).lacking(), None);
        assert_eq!(index_of("no such column"), None);
    }
}
