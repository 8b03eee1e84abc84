//! Names of French departments and of the regions they belong to.

use super::departments::CODES;

/// Name and region of each department, in the order of [`CODES`].
const NAMES: [(&str, &str); 101] = [
    ("Ain", ARA),
    ("Aisne", HDF),
    ("Allier", ARA),
    ("Alpes-de-Haute-Provence", PAC),
    ("Hautes-Alpes", PAC),
    ("Alpes-Maritimes", PAC),
    ("Ardèche", ARA),
    ("Ardennes", GES),
    ("Ariège", OCC),
    ("Aube", GES),
    ("Aude", OCC),
    ("Aveyron", OCC),
    ("Bouches-du-Rhône", PAC),
    ("Calvados", NOR),
    ("Cantal", ARA),
    ("Charente", NAQ),
    ("Charente-Maritime", NAQ),
    ("Cher", CVL),
    ("Corrèze", NAQ),
    ("Côte-d'Or", BFC),
    ("Côtes-d'Armor", BRE),
    ("Creuse", NAQ),
    ("Dordogne", NAQ),
    ("Doubs", BFC),
    ("Drôme", ARA),
    ("Eure", NOR),
    ("Eure-et-Loir", CVL),
    ("Finistère", BRE),
    ("Corse-du-Sud", COR),
    ("Haute-Corse", COR),
    ("Gard", OCC),
    ("Haute-Garonne", OCC),
    ("Gers", OCC),
    ("Gironde", NAQ),
    ("Hérault", OCC),
    ("Ille-et-Vilaine", BRE),
    ("Indre", CVL),
    ("Indre-et-Loire", CVL),
    ("Isère", ARA),
    ("Jura", BFC),
    ("Landes", NAQ),
    ("Loir-et-Cher", CVL),
    ("Loire", ARA),
    ("Haute-Loire", ARA),
    ("Loire-Atlantique", PDL),
    ("Loiret", CVL),
    ("Lot", OCC),
    ("Lot-et-Garonne", NAQ),
    ("Lozère", OCC),
    ("Maine-et-Loire", PDL),
    ("Manche", NOR),
    ("Marne", GES),
    ("Haute-Marne", GES),
    ("Mayenne", PDL),
    ("Meurthe-et-Moselle", GES),
    ("Meuse", GES),
    ("Morbihan", BRE),
    ("Moselle", GES),
    ("Nièvre", BFC),
    ("Nord", HDF),
    ("Oise", HDF),
    ("Orne", NOR),
    ("Pas-de-Calais", HDF),
    ("Puy-de-Dôme", ARA),
    ("Pyrénées-Atlantiques", NAQ),
    ("Hautes-Pyrénées", OCC),
    ("Pyrénées-Orientales", OCC),
    ("Bas-Rhin", GES),
    ("Haut-Rhin", GES),
    ("Rhône", ARA),
    ("Haute-Saône", BFC),
    ("Saône-et-Loire", BFC),
    ("Sarthe", PDL),
    ("Savoie", ARA),
    ("Haute-Savoie", ARA),
    ("Paris", IDF),
    ("Seine-Maritime", NOR),
    ("Seine-et-Marne", IDF),
    ("Yvelines", IDF),
    ("Deux-Sèvres", NAQ),
    ("Somme", HDF),
    ("Tarn", OCC),
    ("Tarn-et-Garonne", OCC),
    ("Var", PAC),
    ("Vaucluse", PAC),
    ("Vendée", PDL),
    ("Vienne", NAQ),
    ("Haute-Vienne", NAQ),
    ("Vosges", GES),
    ("Yonne", BFC),
    ("Territoire de Belfort", BFC),
    ("Essonne", IDF),
    ("Hauts-de-Seine", IDF),
    ("Seine-Saint-Denis", IDF),
    ("Val-de-Marne", IDF),
    ("Val-d'Oise", IDF),
    ("Guadeloupe", "Guadeloupe"),
    ("Martinique", "Martinique"),
    ("Guyane", "Guyane"),
    ("La Réunion", "La Réunion"),
    ("Mayotte", "Mayotte"),
];

const ARA: &str = "Auvergne-Rhône-Alpes";
const BFC: &str = "Bourgogne-Franche-Comté";
const BRE: &str = "Bretagne";
const COR: &str = "Corse";
const CVL: &str = "Centre-Val de Loire";
const GES: &str = "Grand Est";
const HDF: &str = "Hauts-de-France";
const IDF: &str = "Île-de-France";
const NAQ: &str = "Nouvelle-Aquitaine";
const NOR: &str = "Normandie";
const OCC: &str = "Occitanie";
const PAC: &str = "Provence-Alpes-Côte d'Azur";
const PDL: &str = "Pays de la Loire";

/// Name of a department and of its region; `None` for an unknown code.
pub fn department_and_region(code: &str) -> Option<(&'static str, &'static str)> {
    let index = CODES.iter().position(|known| *known == code)?;
    NAMES.get(index).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_the_order_of_codes() {
        for (code, name, region) in [
            ("01", "Ain", ARA),
            ("2A", "Corse-du-Sud", COR),
            ("48", "Lozère", OCC),
            ("69", "Rhône", ARA),
            ("75", "Paris", IDF),
            ("95", "Val-d'Oise", IDF),
            ("974", "La Réunion", "La Réunion"),
        ] {
            assert_eq!(department_and_region(code), Some((name, region)), "{code}");
        }
        assert_eq!(department_and_region("20"), None);
    }
}
