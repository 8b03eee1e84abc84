//! French regions: their codes, names and departments.

/// A region.
#[derive(Debug)]
pub struct Region {
    /// INSEE code, two digits.
    pub code: &'static str,
    /// Official name.
    pub name: &'static str,
    /// Codes of its departments, in their official order.
    pub departments: &'static [&'static str],
}

/// The 18 regions, by code.
#[rustfmt::skip]
pub static REGIONS: [Region; 18] = [
    Region { code: "01", name: "Guadeloupe", departments: &["971"] },
    Region { code: "02", name: "Martinique", departments: &["972"] },
    Region { code: "03", name: "Guyane", departments: &["973"] },
    Region { code: "04", name: "La Réunion", departments: &["974"] },
    Region { code: "06", name: "Mayotte", departments: &["976"] },
    Region { code: "11", name: "Île-de-France", departments: &["75", "77", "78", "91", "92", "93", "94", "95"] },
    Region { code: "24", name: "Centre-Val de Loire", departments: &["18", "28", "36", "37", "41", "45"] },
    Region { code: "27", name: "Bourgogne-Franche-Comté",
        departments: &["21", "25", "39", "58", "70", "71", "89", "90"] },
    Region { code: "28", name: "Normandie", departments: &["14", "27", "50", "61", "76"] },
    Region { code: "32", name: "Hauts-de-France", departments: &["02", "59", "60", "62", "80"] },
    Region { code: "44", name: "Grand Est",
        departments: &["08", "10", "51", "52", "54", "55", "57", "67", "68", "88"] },
    Region { code: "52", name: "Pays de la Loire", departments: &["44", "49", "53", "72", "85"] },
    Region { code: "53", name: "Bretagne", departments: &["22", "29", "35", "56"] },
    Region { code: "75", name: "Nouvelle-Aquitaine",
        departments: &["16", "17", "19", "23", "24", "33", "40", "47", "64", "79", "86", "87"] },
    Region { code: "76", name: "Occitanie",
        departments: &["09", "11", "12", "30", "31", "32", "34", "46", "48", "65", "66", "81", "82"] },
    Region { code: "84", name: "Auvergne-Rhône-Alpes",
        departments: &["01", "03", "07", "15", "26", "38", "42", "43", "63", "69", "73", "74"] },
    Region { code: "93", name: "Provence-Alpes-Côte d'Azur", departments: &["04", "05", "06", "13", "83", "84"] },
    Region { code: "94", name: "Corse", departments: &["2A", "2B"] },
];

/// Returns the region of a department; `None` for an unknown code.
pub fn for_department(department: &str) -> Option<&'static Region> {
    REGIONS
        .iter()
        .find(|region| region.departments.contains(&department))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::departments;

    #[test]
    fn each_department_lies_in_one_region() {
        for code in departments::CODES {
            let regions = REGIONS.iter();
            let count = regions.filter(|region| region.departments.contains(&code));
            assert_eq!(count.count(), 1, "{code}");
        }
        assert_eq!(for_department("48").map(|region| region.code), Some("76"));
        assert!(for_department("20").is_none());
    }
}
