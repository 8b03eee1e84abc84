//! French departments: their codes, names and order, and the department of a commune code or a postal code.

/// Codes of the 101 departments in their official order.
pub const CODES: [&str; 101] = [
    "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14", "15", "16",
    "17", "18", "19", "21", "22", "23", "24", "25", "26", "27", "28", "29", "2A", "2B", "30", "31",
    "32", "33", "34", "35", "36", "37", "38", "39", "40", "41", "42", "43", "44", "45", "46", "47",
    "48", "49", "50", "51", "52", "53", "54", "55", "56", "57", "58", "59", "60", "61", "62", "63",
    "64", "65", "66", "67", "68", "69", "70", "71", "72", "73", "74", "75", "76", "77", "78", "79",
    "80", "81", "82", "83", "84", "85", "86", "87", "88", "89", "90", "91", "92", "93", "94", "95",
    "971", "972", "973", "974", "976",
];

/// Names of the departments, in the order of [`CODES`].
#[rustfmt::skip]
pub const NAMES: [&str; 101] = [
    "Ain", "Aisne", "Allier", "Alpes-de-Haute-Provence", "Hautes-Alpes", "Alpes-Maritimes",
    "Ardèche", "Ardennes", "Ariège", "Aube", "Aude", "Aveyron", "Bouches-du-Rhône", "Calvados",
    "Cantal", "Charente", "Charente-Maritime", "Cher", "Corrèze", "Côte-d'Or", "Côtes-d'Armor",
    "Creuse", "Dordogne", "Doubs", "Drôme", "Eure", "Eure-et-Loir", "Finistère", "Corse-du-Sud",
    "Haute-Corse", "Gard", "Haute-Garonne", "Gers", "Gironde", "Hérault", "Ille-et-Vilaine", "Indre",
    "Indre-et-Loire", "Isère", "Jura", "Landes", "Loir-et-Cher", "Loire", "Haute-Loire",
    "Loire-Atlantique", "Loiret", "Lot", "Lot-et-Garonne", "Lozère", "Maine-et-Loire", "Manche",
    "Marne", "Haute-Marne", "Mayenne", "Meurthe-et-Moselle", "Meuse", "Morbihan", "Moselle",
    "Nièvre", "Nord", "Oise", "Orne", "Pas-de-Calais", "Puy-de-Dôme", "Pyrénées-Atlantiques",
    "Hautes-Pyrénées", "Pyrénées-Orientales", "Bas-Rhin", "Haut-Rhin", "Rhône", "Haute-Saône",
    "Saône-et-Loire", "Sarthe", "Savoie", "Haute-Savoie", "Paris", "Seine-Maritime",
    "Seine-et-Marne", "Yvelines", "Deux-Sèvres", "Somme", "Tarn", "Tarn-et-Garonne", "Var",
    "Vaucluse", "Vendée", "Vienne", "Haute-Vienne", "Vosges", "Yonne", "Territoire de Belfort",
    "Essonne", "Hauts-de-Seine", "Seine-Saint-Denis", "Val-de-Marne", "Val-d'Oise", "Guadeloupe",
    "Martinique", "Guyane", "La Réunion", "Mayotte",
];

/// Returns the name of a department; `None` for an unknown code.
pub fn name(code: &str) -> Option<&'static str> {
    let rank = usize::from(rank(code)).checked_sub(1)?;
    NAMES.get(rank).copied()
}

/// Returns the rank of a department in the sort order of files, from 1; 0 for an unknown code.
pub fn rank(code: &str) -> u8 {
    CODES
        .iter()
        .position(|known| *known == code)
        .map_or(0, |index| index as u8 + 1)
}

/// Returns the department of a commune code, which is its first two characters, or three overseas; `None` for an
/// unknown code.
///
/// Saint-Barthélemy and Saint-Martin (`977`, `978`) have been separate collectivities since 2007. They are filed under
/// Guadeloupe, as the post and most sources of addresses still do.
pub fn for_commune(insee_code: &str) -> Option<&'static str> {
    let length = if insee_code.starts_with("97") { 3 } else { 2 };
    let prefix = match insee_code.get(..length)? {
        "977" | "978" => "971",
        prefix => prefix,
    };
    CODES.iter().find(|known| **known == prefix).copied()
}

/// Returns the department of a postal code. It is wrong for a few border communes whose post is delivered from the
/// neighbouring department.
pub fn for_postal_code(postal_code: &str) -> Option<&'static str> {
    let department = match postal_code.get(..3)? {
        "200" | "201" => "2A",
        "202" | "206" => "2B",
        overseas if overseas.starts_with("97") => overseas,
        _ => postal_code.get(..2)?,
    };
    CODES.iter().find(|code| **code == department).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communes_name_their_department() {
        assert_eq!(for_commune("2A004"), Some("2A"));
        assert_eq!(for_commune("97411"), Some("974"));
        assert_eq!(for_commune("75113"), Some("75"));
        assert_eq!(for_commune("97801"), Some("971"));
        assert_eq!(for_commune("X"), None);
    }

    #[test]
    fn departments_have_names() {
        assert_eq!(name("48"), Some("Lozère"));
        assert_eq!(name("2A"), Some("Corse-du-Sud"));
        assert_eq!(name("976"), Some("Mayotte"));
        assert_eq!(name("20"), None);
    }

    #[test]
    fn a_postal_code_gives_its_department() {
        for (postal_code, department) in [
            ("75013", Some("75")),
            ("20000", Some("2A")),
            ("20200", Some("2B")),
            ("97410", Some("974")),
            ("00000", None),
            ("98000", None),
        ] {
            assert_eq!(for_postal_code(postal_code), department, "{postal_code}");
        }
    }
}
