//! Lists titles and first names, which people often omit from a street's name or write as an initial.
//!
//! `Avenue du Maréchal Foch` is called `avenue Foch`, and `Rue Jean Moulin` `rue Moulin`. The name that follows them
//! distinguishes the street from others.

/// Titles, in ascending order. Saints are not included: `Rue Saint-Martin` is not `rue Martin`.
#[rustfmt::skip]
const TITLES: &[&str] = &[
    "abbe", "adjudant", "amiral", "archiduc", "baron", "baronne", "brigadier", "capitaine", "caporal", "cardinal",
    "cdt", "chanoine", "chevalier", "col", "colonel", "commandant", "comte", "comtesse", "cpt", "cure", "depute",
    "docteur", "dr", "duc", "duchesse", "empereur", "frere", "gal", "gen", "general", "imperatrice", "ingenieur",
    "lieutenant", "lt", "madame", "mademoiselle", "maire", "maitre", "major", "mal", "marechal", "marquis",
    "marquise", "messire", "mgr", "ministre", "monseigneur", "monsieur", "pape", "pasteur", "pdt", "pere",
    "president", "prince", "princesse", "prof", "professeur", "reine", "reverend", "roi", "senateur", "sergent",
    "soeur", "vicomte",
];

/// First names that streets are often named with, in ascending order.
#[rustfmt::skip]
const FIRST_NAMES: &[&str] = &[
    "abel", "achille", "adele", "adolphe", "adrien", "agnes", "aime", "alain", "albert", "alexandre", "alexis",
    "alfred", "alice", "aline", "alphonse", "amedee", "anatole", "andre", "angele", "anna", "anne", "antoine",
    "antonin", "antony", "aristide", "armand", "arnaud", "arsene", "arthur", "auguste", "augustin", "baptiste",
    "barthelemy", "basile", "benjamin", "benoit", "bernard", "berthe", "bertrand", "blaise", "boris", "camille",
    "caroline", "casimir", "catherine", "cecile", "celestin", "cesar", "charles", "charlotte", "christian",
    "christine", "christophe", "claire", "claude", "clement", "clovis", "cyprien", "cyrille", "daniel", "danielle",
    "david", "denis", "denise", "desire", "didier", "dominique", "edgar", "edgard", "edith", "edmond", "edouard",
    "eleonore", "elie", "elisabeth", "elise", "eloi", "emile", "emilie", "emma", "emmanuel", "eric", "ernest",
    "etienne", "eugene", "eugenie", "fabien", "felicien", "felix", "ferdinand", "fernand", "firmin", "florent",
    "francis", "franck", "francois", "francoise", "franklin", "frederic", "gabriel", "gabrielle", "gaetan", "gaspard",
    "gaston", "genevieve", "george", "georges", "gerard", "germain", "germaine", "gilbert", "gilles", "gregoire",
    "guillaume", "gustave", "guy", "hector", "helene", "henri", "henriette", "henry", "herve", "hilaire", "hippolyte",
    "honore", "hubert", "hugues", "ignace", "irene", "isaac", "isabelle", "ivan", "jacqueline", "jacques", "james",
    "jean", "jeanne", "jerome", "joachim", "joseph", "josephine", "jules", "julie", "julien", "juliette", "justin",
    "leo", "leon", "leonard", "leonie", "leopold", "lionel", "louis", "louise", "luc", "lucas", "lucie", "lucien",
    "lucienne", "ludovic", "madeleine", "magdeleine", "marc", "marcel", "marcelin", "marcelle", "marcellin",
    "marguerite", "maria", "marie", "marius", "marthe", "martial", "martin", "mathieu", "mathilde", "maurice", "max",
    "maxime", "maximilien", "mehdi", "michel", "michele", "mireille", "nelson", "nicolas", "nicole", "nina", "octave",
    "odette", "olivier", "olympe", "oscar", "pablo", "pascal", "patrice", "paul", "paule", "paulette", "paulin",
    "pauline", "philippe", "pierre", "pol", "prosper", "raoul", "raphael", "raymond", "raymonde", "rene", "renee",
    "richard", "robert", "roger", "roland", "romain", "rosa", "rosalie", "sadi", "salvador", "samuel", "sebastien",
    "serge", "simon", "simone", "sophie", "stanislas", "stephane", "suzanne", "sylvain", "theodore", "theophile",
    "therese", "thierry", "thomas", "urbain", "valery", "victor", "victorin", "vincent", "vital", "vladimir",
    "wolfgang", "xavier", "yves", "yvette", "yvon", "yvonne", "zoe",
];

/// Returns whether a word is a title.
pub fn is_title(word: &str) -> bool {
    TITLES.binary_search(&word).is_ok()
}

/// Returns whether a word is a first name.
pub fn is_first_name(word: &str) -> bool {
    FIRST_NAMES.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_in_the_order_they_are_searched_in() {
        assert!(TITLES.is_sorted() && FIRST_NAMES.is_sorted());
    }

    #[test]
    fn titles_and_first_names_are_known() {
        assert!(is_title("marechal") && is_first_name("jean"));
        for name in ["foch", "saint", "moulin"] {
            assert!(!is_title(name) && !is_first_name(name), "{name}");
        }
    }
}
