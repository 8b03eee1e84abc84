//! The modelled columns: name, and how a certificate's value is written.

use super::super::lambert;
use super::super::text::{Day, push_digits, push_integer, push_number, push_text};
use super::certificate::{Certificate, Dwelling};
use super::energy::{ENERGIES, climate};
use super::number::Number;
use crate::opendata::dpe::{CLASSES, CONSTRUCTION_PERIODS, INSULATION_QUALITIES};

/// Writes one cell, or nothing where the value is missing.
pub type Writer = fn(&Certificate, &mut Vec<u8>);

/// Names of the three geocoding outcomes.
const GEOCODED: &str = "adresse géocodée ban à l'adresse";
const NOT_GEOCODED: &str = "adresse non géocodée ban car aucune correspondance trouvée";

/// Writers by column.
pub const WRITERS: [(&str, Writer); 104] = [
    ("numero_dpe", |it, out| number(Some(it.number), out)),
    ("numero_dpe_remplace", |it, out| number(it.replaced, out)),
    ("numero_dpe_immeuble_associe", |it, out| {
        number(it.building_number, out)
    }),
    ("date_etablissement_dpe", |it, out| it.established.push(out)),
    ("date_visite_diagnostiqueur", |it, out| it.visited.push(out)),
    ("date_reception_dpe", |it, out| it.received.push(out)),
    ("date_derniere_modification_dpe", |it, out| {
        it.modified.push(out)
    }),
    ("date_fin_validite_dpe", |it, out| it.expires().push(out)),
    ("version_dpe", |it, out| text(version(it.established), out)),
    ("modele_dpe", |_, out| {
        text("DPE 3CL 2021 méthode logement", out)
    }),
    ("etiquette_dpe", |it, out| {
        text(CLASSES[it.classes().0], out)
    }),
    ("etiquette_ges", |it, out| {
        text(CLASSES[it.classes().1], out)
    }),
    ("type_batiment", |it, out| {
        text(
            match it.dwelling {
                Dwelling::Flat => "appartement",
                Dwelling::House => "maison",
                Dwelling::Building => "immeuble",
            },
            out,
        )
    }),
    ("methode_application_dpe", |it, out| {
        text(
            match (it.dwelling, it.building_number) {
                (Dwelling::Flat, Some(_)) => {
                    "dpe appartement généré à partir des données DPE immeuble"
                }
                (Dwelling::Flat, None) => "dpe appartement individuel",
                (Dwelling::House, _) => "dpe maison individuelle",
                (Dwelling::Building, _) => "dpe immeuble collectif",
            },
            out,
        )
    }),
    ("annee_construction", |it, out| {
        if let Some(year) = it.year_built {
            push_integer(out, year)
        }
    }),
    ("periode_construction", |it, out| {
        text(CONSTRUCTION_PERIODS[it.building.period], out)
    }),
    ("surface_habitable_logement", |it, out| {
        if it.dwelling != Dwelling::Building {
            push_number(out, it.surface_m2, 1)
        }
    }),
    ("surface_habitable_immeuble", |it, out| match it.dwelling {
        Dwelling::Building => push_number(out, it.surface_m2, 1),
        // A building's area is stated on the flats assessed through it, and is the same on each.
        Dwelling::Flat if it.building_number.is_some() => push_number(out, building_area(it), 1),
        _ => {}
    }),
    ("hauteur_sous_plafond", |it, out| {
        push_number(
            out,
            2.5 + if it.building.period == 0 {
                (it.bits % 9) as f64 * 0.1
            } else {
                0.0
            },
            1,
        )
    }),
    ("nombre_niveau_logement", |it, out| {
        if it.dwelling != Dwelling::Building && !it.bits.is_multiple_of(80) {
            push_integer(out, i64::from(it.levels))
        }
    }),
    ("nombre_niveau_immeuble", |it, out| {
        if in_block(it) {
            push_integer(out, i64::from(it.building.floors))
        }
    }),
    ("nombre_appartement", |it, out| match it.dwelling {
        Dwelling::House => {
            if it.bits.is_multiple_of(4) {
                push_integer(out, 1)
            }
        }
        Dwelling::Flat if it.building_number.is_none() => push_integer(out, 1),
        _ => push_integer(out, i64::from(it.building.dwellings)),
    }),
    ("numero_etage_appartement", |it, out| {
        if it.dwelling == Dwelling::Flat {
            push_integer(out, i64::from(it.floor))
        }
    }),
    ("typologie_logement", |it, out| {
        if it.dwelling == Dwelling::Flat && it.bits % 10 < 3 {
            push_integer_after(out, b'T', 1 + (it.surface_m2 / 22.0) as i64)
        }
    }),
    ("appartement_non_visite", |it, out| {
        if it.building_number.is_some() {
            flag(it.bits & 1, out)
        }
    }),
    ("logement_traversant", |it, out| {
        if !it.bits.is_multiple_of(11) {
            flag(it.bits >> 1 & 1, out)
        }
    }),
    ("protection_solaire_exterieure", |it, out| {
        if !it.bits.is_multiple_of(11) {
            flag(it.bits >> 2 & 1, out)
        }
    }),
    ("presence_brasseur_air", |it, out| {
        if !it.bits.is_multiple_of(11) {
            flag(u64::from(it.bits >> 8 & 31 == 0), out)
        }
    }),
    ("classe_inertie_batiment", |it, out| {
        text(
            ["Légère", "Moyenne", "Lourde", "Très lourde"][it.address.bits(20) as usize % 4],
            out,
        )
    }),
    ("inertie_lourde", |it, out| {
        flag(u64::from(it.address.bits(20) % 4 > 1), out)
    }),
    ("adresse_ban", |it, out| {
        street_line(it, out);
        out.push(b' ');
        text(it.address.postal_code(), out);
        out.push(b' ');
        text(commune(it), out);
    }),
    ("numero_voie_ban", |it, out| {
        if has_house_number(it) {
            house_number(it, out)
        }
    }),
    ("nom_rue_ban", |it, out| street(it, out)),
    ("nom_commune_ban", |it, out| text(commune(it), out)),
    ("code_postal_ban", |it, out| {
        text(it.address.postal_code(), out)
    }),
    ("code_insee_ban", |it, out| {
        text(it.address.place.insee, out)
    }),
    ("identifiant_ban", |it, out| {
        text(it.address.place.insee, out);
        out.push(b'_');
        push_digits(out, it.address.street_code(), 4);
        if has_house_number(it) {
            out.push(b'_');
            push_digits(out, u64::from(it.address.number), 5);
            if it.address.suffix().is_some() {
                text("_bis", out);
            }
        }
    }),
    ("coordonnee_cartographique_x_ban", |it, out| {
        if let Some((x, _)) = plane(it) {
            push_number(out, x, 2)
        }
    }),
    ("coordonnee_cartographique_y_ban", |it, out| {
        if let Some((_, y)) = plane(it) {
            push_number(out, y, 2)
        }
    }),
    ("score_ban", |it, out| {
        push_number(
            out,
            if has_house_number(it) {
                0.72 + (it.bits % 26) as f64 * 0.01
            } else {
                0.42 + (it.bits % 30) as f64 * 0.01
            },
            2,
        )
    }),
    ("statut_geocodage", |it, out| {
        text(
            if it.bits % 6 == 1 {
                NOT_GEOCODED
            } else {
                GEOCODED
            },
            out,
        )
    }),
    ("code_departement_ban", |it, out| {
        text(it.address.place.department, out)
    }),
    ("code_region_ban", |it, out| {
        text(it.address.place.region, out)
    }),
    ("adresse_brut", |it, out| street_line(it, out)),
    ("nom_commune_brut", |it, out| text(commune(it), out)),
    ("code_postal_brut", |it, out| {
        text(it.address.postal_code(), out)
    }),
    ("complement_adresse_logement", |it, out| {
        if it.dwelling == Dwelling::Flat && it.bits % 10 < 7 {
            text("Etage ", out);
            push_integer(out, i64::from(it.floor));
            text("; Porte ", out);
            push_integer(out, 1 + (it.bits >> 9 & 7) as i64);
        }
    }),
    ("zone_climatique", |it, out| {
        text(climate(it.address.place.department).0, out)
    }),
    ("classe_altitude", |it, out| text(altitude(it), out)),
    ("conso_5_usages_ep", |it, out| {
        push_number(out, it.balance.primary.iter().sum(), 1)
    }),
    ("conso_5_usages_par_m2_ep", |it, out| {
        push_number(out, it.primary_per_m2(), 0)
    }),
    ("conso_chauffage_ep", |it, out| {
        push_number(out, it.balance.primary[0], 1)
    }),
    ("conso_ecs_ep", |it, out| {
        push_number(out, it.balance.primary[1], 1)
    }),
    ("conso_refroidissement_ep", |it, out| {
        push_number(out, it.balance.primary[2], 1)
    }),
    ("conso_eclairage_ep", |it, out| {
        push_number(out, it.balance.primary[3], 1)
    }),
    ("conso_auxiliaires_ep", |it, out| {
        push_number(out, it.balance.primary[4], 1)
    }),
    ("conso_5_usages_ef", |it, out| {
        push_number(out, it.balance.last.iter().sum(), 1)
    }),
    ("conso_5_usages_par_m2_ef", |it, out| {
        push_number(out, it.last_per_m2(), 0)
    }),
    ("conso_chauffage_ef", |it, out| {
        push_number(out, it.balance.last[0], 1)
    }),
    ("conso_ecs_ef", |it, out| {
        push_number(out, it.balance.last[1], 1)
    }),
    ("conso_refroidissement_ef", |it, out| {
        push_number(out, it.balance.last[2], 1)
    }),
    ("conso_eclairage_ef", |it, out| {
        push_number(out, it.balance.last[3], 1)
    }),
    ("conso_auxiliaires_ef", |it, out| {
        push_number(out, it.balance.last[4], 1)
    }),
    ("conso_chauffage_ef_energie_n1", |it, out| {
        push_number(out, it.balance.last[0], 1)
    }),
    ("conso_ecs_ef_energie_n1", |it, out| {
        push_number(
            out,
            if it.water == it.heating {
                it.balance.last[1]
            } else {
                0.0
            },
            1,
        )
    }),
    ("conso_refroidissement_annuel", |it, out| {
        if it.cooled {
            push_number(out, it.balance.last[2], 1)
        }
    }),
    ("emission_ges_5_usages", |it, out| {
        push_number(out, it.balance.emission.iter().sum(), 1)
    }),
    ("emission_ges_5_usages_par_m2", |it, out| {
        push_number(out, it.emission_per_m2(), 0)
    }),
    ("emission_ges_chauffage", |it, out| {
        push_number(out, it.balance.emission[0], 1)
    }),
    ("emission_ges_ecs", |it, out| {
        push_number(out, it.balance.emission[1], 1)
    }),
    ("emission_ges_refroidissement", |it, out| {
        push_number(out, it.balance.emission[2], 1)
    }),
    ("emission_ges_eclairage", |it, out| {
        push_number(out, it.balance.emission[3], 1)
    }),
    ("emission_ges_auxiliaires", |it, out| {
        push_number(out, it.balance.emission[4], 1)
    }),
    ("cout_total_5_usages", |it, out| {
        push_number(out, it.balance.cost.iter().sum(), 1)
    }),
    ("cout_chauffage", |it, out| {
        push_number(out, it.balance.cost[0], 1)
    }),
    ("cout_ecs", |it, out| {
        push_number(out, it.balance.cost[1], 1)
    }),
    ("cout_refroidissement", |it, out| {
        push_number(out, it.balance.cost[2], 1)
    }),
    ("cout_eclairage", |it, out| {
        push_number(out, it.balance.cost[3], 1)
    }),
    ("cout_auxiliaires", |it, out| {
        push_number(out, it.balance.cost[4], 1)
    }),
    ("deperditions_enveloppe", |it, out| {
        push_number(out, it.needs.heating / 55.0, 1)
    }),
    ("deperditions_murs", |it, out| {
        push_number(out, it.needs.heating / 160.0, 1)
    }),
    ("ubat_w_par_m2_k", |it, out| {
        push_number(out, (it.needs.heating / it.surface_m2 / 110.0).max(0.2), 2)
    }),
    ("besoin_chauffage", |it, out| {
        push_number(out, it.needs.heating, 1)
    }),
    ("besoin_ecs", |it, out| push_number(out, it.needs.water, 1)),
    ("besoin_refroidissement", |it, out| {
        push_number(out, it.needs.cooling, 1)
    }),
    ("qualite_isolation_enveloppe", |it, out| {
        if !it.bits.is_multiple_of(300) {
            quality(it, 0, out)
        }
    }),
    ("isolation_toiture", |it, out| {
        if !it.bits.is_multiple_of(11) {
            flag(u64::from(it.qualities[2] >= 2), out)
        }
    }),
    ("qualite_isolation_murs", |it, out| quality(it, 1, out)),
    ("qualite_isolation_plancher_haut_comble_perdu", |it, out| {
        if it.address.bits(21) % 10 < 4 {
            quality(it, 2, out)
        }
    }),
    ("qualite_isolation_plancher_bas", |it, out| {
        if !it.bits.is_multiple_of(30) {
            quality(it, 3, out)
        }
    }),
    ("qualite_isolation_menuiseries", |it, out| {
        if !it.bits.is_multiple_of(400) {
            quality(it, 4, out)
        }
    }),
    ("indicateur_confort_ete", |it, out| {
        if !it.bits.is_multiple_of(11) {
            text(
                ["insuffisant", "moyen", "moyen", "bon"][it.bits as usize >> 3 & 3],
                out,
            )
        }
    }),
    ("type_energie_n1", |it, out| {
        text(ENERGIES[it.heating].name, out)
    }),
    ("type_energie_n2", |it, out| {
        if !ENERGIES[it.heating].electric {
            text("Électricité", out)
        }
    }),
    ("type_energie_principale_chauffage", |it, out| {
        text(ENERGIES[it.heating].name, out)
    }),
    ("type_generateur_chauffage_principal", |it, out| {
        push_text(out, ENERGIES[it.heating].generator)
    }),
    ("type_installation_chauffage", |it, out| {
        text(plant(it, it.heating), out)
    }),
    ("type_installation_ecs", |it, out| {
        text(plant(it, it.water), out)
    }),
    ("type_energie_principale_ecs", |it, out| {
        text(ENERGIES[it.water].name, out)
    }),
    ("type_ventilation", |it, out| {
        text(
            if it.building.period < 2 {
                "Ventilation par ouverture des fenêtres"
            } else if it.building.period < 6 {
                "VMC SF Auto réglable avant 1982"
            } else {
                "VMC SF Hygro B de 2001 à 2012"
            },
            out,
        )
    }),
    ("surface_ventilee", |it, out| {
        if it.bits % 10 < 6 {
            push_number(out, it.surface_m2, 1)
        }
    }),
    ("type_energie_climatisation", |it, out| {
        if it.cooled {
            text("Électricité", out)
        }
    }),
    ("categorie_enr", |it, out| {
        if it.heating == 1 {
            text("pompe à chaleur", out)
        } else if matches!(it.heating, 4 | 5) {
            text("chauffage au bois", out)
        }
    }),
    ("_geopoint", |it, out| {
        let (lat, lon) = it.address.position();
        out.push(b'"');
        push_number(out, lat, 7);
        out.push(b',');
        push_number(out, lon, 7);
        out.push(b'"');
    }),
];

fn text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
}

fn number(number: Option<Number>, out: &mut Vec<u8>) {
    if let Some(number) = number {
        out.extend_from_slice(number.as_bytes());
    }
}

fn flag(bit: u64, out: &mut Vec<u8>) {
    out.push(if bit == 0 { b'0' } else { b'1' });
}

fn push_integer_after(out: &mut Vec<u8>, letter: u8, value: i64) {
    out.push(letter);
    push_integer(out, value.min(6));
}

fn quality(it: &Certificate, part: usize, out: &mut Vec<u8>) {
    text(INSULATION_QUALITIES[it.qualities[part]], out);
}

/// Floors are stated for buildings, for the flats assessed through them and a few others.
fn in_block(it: &Certificate) -> bool {
    match it.dwelling {
        Dwelling::House => it.bits.is_multiple_of(5),
        Dwelling::Flat => it.building_number.is_some() || it.bits % 10 < 3,
        Dwelling::Building => true,
    }
}

fn building_area(it: &Certificate) -> f64 {
    f64::from(it.building.dwellings) * (52.0 + 12.0 * it.address.unit(22))
}

/// Four addresses in five are found to the house number, the others to the street.
fn has_house_number(it: &Certificate) -> bool {
    it.bits % 6 != 1 && it.address.unit(23) < 0.95
}

fn house_number(it: &Certificate, out: &mut Vec<u8>) {
    push_integer(out, i64::from(it.address.number));
    if it.address.suffix().is_some() {
        text("bis", out);
    }
}

fn street(it: &Certificate, out: &mut Vec<u8>) {
    let (kind, name) = it.address.street_name();
    text(kind, out);
    out.push(b' ');
    text(name, out);
}

fn street_line(it: &Certificate, out: &mut Vec<u8>) {
    if has_house_number(it) {
        house_number(it, out);
        out.push(b' ');
    }
    street(it, out);
}

/// Communes go by their own name; the districts of the three largest by the city's.
fn commune(it: &Certificate) -> &'static str {
    let name = it.address.place.name;
    match name.split_once(' ') {
        Some((city, rest)) if rest.ends_with("Arrondissement") => city,
        _ => name,
    }
}

/// Lambert-93 coordinates; overseas departments use projections of their own and are left empty.
fn plane(it: &Certificate) -> Option<(f64, f64)> {
    if it.address.place.department.starts_with("97") {
        return None;
    }
    let (lat, lon) = it.address.position();
    Some(lambert::from_degrees(lat, lon))
}

fn altitude(it: &Certificate) -> &'static str {
    match it.address.place.department {
        "05" | "73" | "74" | "48" | "15" | "38" if it.address.place.population < 6_000.0 => {
            "supérieur à 800m"
        }
        "05" | "48" | "15" | "43" | "63" | "12" | "04" => "400-800m",
        _ => "inférieur à 400m",
    }
}

/// Blocks with gas or district heat mostly share one plant.
fn plant(it: &Certificate, energy: usize) -> &'static str {
    let shared = match (it.dwelling, energy) {
        (Dwelling::House, _) | (_, 0 | 1) => false,
        (_, 6) => true,
        _ => it.address.bits(24).is_multiple_of(3),
    };
    if shared { "collectif" } else { "individuel" }
}

fn version(established: Day) -> &'static str {
    match established.civil() {
        (2021, ..) => "1.1",
        (2022, ..7, _) => "2.1",
        (2022, ..) => "2.2",
        (2023, ..) => "2.3",
        (2024, ..) => "2.4",
        _ => "2.5",
    }
}
