//! The official lists of values for columns of diagnostics. A value that is not in its list is imported as published
//! and counted in the import report; a letter that is not a class is left out and counted.

use super::{BUILDING_TYPES, CLASSES, CLIMATE_ZONES, CONSTRUCTION_PERIODS, INSULATION_QUALITIES};
use toise_geo::departments;

/// Official region codes.
const REGIONS: [&str; 18] = [
    "01", "02", "03", "04", "06", "11", "24", "27", "28", "32", "44", "52", "53", "75", "76", "84",
    "93", "94",
];
const INERTIA_CLASSES: [&str; 4] = ["Légère", "Moyenne", "Lourde", "Très lourde"];
const ALTITUDE_CLASSES: [&str; 3] = ["inférieur à 400m", "400-800m", "supérieur à 800m"];
const SUMMER_COMFORTS: [&str; 3] = ["insuffisant", "moyen", "bon"];
const INSTALLATION_TYPES: [&str; 3] = ["individuel", "collectif", "mixte (collectif-individuel)"];

/// Returns the official values of a published column; `None` for a column without a list.
pub fn values_of(column: &str) -> Option<&'static [&'static str]> {
    Some(match column {
        "etiquette_dpe" | "etiquette_ges" => &CLASSES,
        "type_batiment" => &BUILDING_TYPES,
        "periode_construction" => &CONSTRUCTION_PERIODS,
        "zone_climatique" => &CLIMATE_ZONES,
        "classe_inertie_batiment" => &INERTIA_CLASSES,
        "classe_altitude" => &ALTITUDE_CLASSES,
        "indicateur_confort_ete" => &SUMMER_COMFORTS,
        "type_installation_chauffage" | "type_installation_ecs" => &INSTALLATION_TYPES,
        "code_departement_ban" => &departments::CODES,
        "code_region_ban" => &REGIONS,
        quality if quality.starts_with("qualite_isolation_") => &INSULATION_QUALITIES,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::columns::all;
    use super::*;

    #[test]
    fn every_list_belongs_to_a_published_column() {
        let listed = all()
            .iter()
            .filter(|column| values_of(column.name).is_some());
        assert_eq!(listed.count(), 19);
        assert_eq!(values_of("numero_dpe"), None);
    }
}
