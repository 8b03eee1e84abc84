//! Cells about the dwelling, its dates and its address.

use super::super::lambert;
use super::super::text::{Day, push_digits, push_integer, push_number};
use super::certificate::{Certificate, Dwelling};
use super::energy::climate;
use super::writers::{CellWriter, flag, number, text};
use toise_opendata::dpe::{CLASSES, CONSTRUCTION_PERIODS};

/// Geocoding results: address found, and not found.
const GEOCODED: &str = "adresse géocodée ban à l'adresse";
const NOT_GEOCODED: &str = "adresse non géocodée ban car aucune correspondance trouvée";

/// Writers by column name.
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
        // The area of a building is given on the flats assessed with it, with the same value on each.
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
    ("_geopoint", |it, out| {
        let (lat, lon) = it.address.position();
        out.push(b'"');
        push_number(out, lat, 7);
        out.push(b',');
        push_number(out, lon, 7);
        out.push(b'"');
    }),
];

fn push_integer_after(out: &mut Vec<u8>, letter: u8, value: i64) {
    out.push(letter);
    push_integer(out, value.min(6));
}

/// Whether the floor is given: for buildings, for the flats assessed with them and a few others.
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

/// Whether the address is located by house number (four in five) or by street.
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

/// Name of the commune; for the districts of the three largest cities, the city's name.
fn commune(it: &Certificate) -> &'static str {
    let name = it.address.place.name;
    match name.split_once(' ') {
        Some((city, rest)) if rest.ends_with("Arrondissement") => city,
        _ => name,
    }
}

/// Lambert-93 coordinates, metres; `None` overseas, where other projections are used.
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
