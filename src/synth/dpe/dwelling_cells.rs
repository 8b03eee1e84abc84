//! The columns of the synthetic diagnostics that describe the dwelling, its dates and its address, as ADEME spells
//! them.
//!
//! Values without a model are drawn from the certificate's random bits (`bits`), or from the address
//! (`address.bits(n)`, `address.unit(n)`) where all diagnostics of one building must agree. The number n only keeps
//! such draws independent of each other.

use super::super::lambert;
use super::super::text::{Day, push_digits, push_integer, push_number};
use super::certificate::{Certificate, Dwelling};
use super::energy::climate;
use super::writers::{CellWriter, flag, label, number, text};
use toise_opendata::dpe::{CLASSES, CONSTRUCTION_PERIODS};

/// Result of the geocoding of an address that was found in the address base.
const GEOCODED: &str = "adresse géocodée ban à l'adresse";
/// Result for an address that was not found; it is then given without house number.
const NOT_GEOCODED: &str = "adresse non géocodée ban car aucune correspondance trouvée";

/// Column names and the functions that write their cells.
pub const WRITERS: [(&str, CellWriter); 50] = [
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
    label!("modele_dpe", _it => "DPE 3CL 2021 méthode logement"),
    label!("etiquette_dpe", it => CLASSES[it.classes().0]),
    label!("etiquette_ges", it => CLASSES[it.classes().1]),
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
    label!("periode_construction", it => CONSTRUCTION_PERIODS[it.building.period]),
    ("surface_habitable_logement", |it, out| {
        if it.dwelling != Dwelling::Building {
            push_number(out, it.surface_m2, 1)
        }
    }),
    ("surface_habitable_immeuble", |it, out| match it.dwelling {
        Dwelling::Building => push_number(out, it.surface_m2, 1),
        // A flat assessed with its building carries the area of the building too.
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
        if has_building_levels(it) {
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
            out.push(b'T');
            push_integer(out, main_rooms(it).min(6))
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
    label!("code_postal_ban", it => it.address.postal_code()),
    label!("code_insee_ban", it => it.address.place.insee),
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
        if let Some((x, _)) = lambert_93(it) {
            push_number(out, x, 2)
        }
    }),
    ("coordonnee_cartographique_y_ban", |it, out| {
        if let Some((_, y)) = lambert_93(it) {
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
    label!("statut_geocodage", it => if is_geocoded(it) { GEOCODED } else { NOT_GEOCODED }),
    label!("code_departement_ban", it => it.address.place.department),
    label!("code_region_ban", it => it.address.place.region),
    ("adresse_brut", |it, out| street_line(it, out)),
    ("nom_commune_brut", |it, out| text(commune(it), out)),
    label!("code_postal_brut", it => it.address.postal_code()),
    ("complement_adresse_logement", |it, out| {
        if it.dwelling == Dwelling::Flat && it.bits % 10 < 7 {
            text("Etage ", out);
            push_integer(out, i64::from(it.floor));
            text("; Porte ", out);
            push_integer(out, 1 + (it.bits >> 9 & 7) as i64);
        }
    }),
    label!("zone_climatique", it => climate(it.address.place.department).0),
    ("classe_altitude", |it, out| text(altitude(it), out)),
    ("_geopoint", |it, out| {
        let (lat, lon) = it.address.position();
        out.push(b'"');
        push_number(out, lat, 7);
        out.push(b',');
        push_number(out, lon, 7);
        out.push(b'"');
    }),
];

/// Number of main rooms that a flat of this area would have.
fn main_rooms(it: &Certificate) -> i64 {
    1 + (it.surface_m2 / 22.0) as i64
}

/// Whether the number of storeys of the building is given: for buildings, the flats assessed with them and a few
/// others.
fn has_building_levels(it: &Certificate) -> bool {
    match it.dwelling {
        Dwelling::House => it.bits.is_multiple_of(5),
        Dwelling::Flat => it.building_number.is_some() || it.bits % 10 < 3,
        Dwelling::Building => true,
    }
}

/// Habitable area of the building, square metres; the same for all its flats, as it depends on the address alone.
fn building_area(it: &Certificate) -> f64 {
    f64::from(it.building.dwellings) * (52.0 + 12.0 * it.address.unit(22))
}

/// Whether the address has a house number (four in five); never if it is not geocoded (one in six).
fn has_house_number(it: &Certificate) -> bool {
    is_geocoded(it) && it.address.unit(23) < 0.95
}

/// Whether the address was found in the address base.
fn is_geocoded(it: &Certificate) -> bool {
    it.bits % 6 != 1
}

/// House number; any suffix is written as `bis`.
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

/// House number, if there is one, and street.
fn street_line(it: &Certificate, out: &mut Vec<u8>) {
    if has_house_number(it) {
        house_number(it, out);
        out.push(b' ');
    }
    street(it, out);
}

/// Name of the commune; for the districts of the three largest cities, the city's name.
fn commune(it: &Certificate) -> &'static str {
    let name = it.address.place.name;
    match name.split_once(' ') {
        Some((city, rest)) if rest.ends_with("Arrondissement") => city,
        _ => name,
    }
}

/// Lambert-93 coordinates, metres; `None` overseas, where other projections are used.
fn lambert_93(it: &Certificate) -> Option<(f64, f64)> {
    if it.address.place.department.starts_with("97") {
        return None;
    }
    let (lat, lon) = it.address.position();
    Some(lambert::from_degrees(lat, lon))
}

/// Altitude class, guessed from the department and, in six mountain departments, from the population of the commune.
fn altitude(it: &Certificate) -> &'static str {
    match it.address.place.department {
        "05" | "73" | "74" | "48" | "15" | "38" if it.address.place.population < 6_000.0 => {
            "supérieur à 800m"
        }
        "05" | "48" | "15" | "43" | "63" | "12" | "04" => "400-800m",
        _ => "inférieur à 400m",
    }
}

/// Version of the DPE format in force on the day of issue; the diagnostics drawn are from 2021 on.
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
