//! Writes the cells of an energy diagnostic about consumption, emissions, cost, insulation and equipment.

use super::super::text::{push_number, push_text};
use super::certificate::{Certificate, Dwelling};
use super::energy::ENERGIES;
use super::writers::{CellWriter, figure, flag, label, text};
use toise_opendata::dpe::INSULATION_QUALITIES;

/// Writers by column name.
pub const WRITERS: [(&str, CellWriter); 54] = [
    figure!("conso_5_usages_ep", it => it.balance.primary.iter().sum(), 1),
    figure!("conso_5_usages_par_m2_ep", it => it.primary_per_m2(), 0),
    figure!("conso_chauffage_ep", it => it.balance.primary[0], 1),
    figure!("conso_ecs_ep", it => it.balance.primary[1], 1),
    figure!("conso_refroidissement_ep", it => it.balance.primary[2], 1),
    figure!("conso_eclairage_ep", it => it.balance.primary[3], 1),
    figure!("conso_auxiliaires_ep", it => it.balance.primary[4], 1),
    figure!("conso_5_usages_ef", it => it.balance.last.iter().sum(), 1),
    figure!("conso_5_usages_par_m2_ef", it => it.last_per_m2(), 0),
    figure!("conso_chauffage_ef", it => it.balance.last[0], 1),
    figure!("conso_ecs_ef", it => it.balance.last[1], 1),
    figure!("conso_refroidissement_ef", it => it.balance.last[2], 1),
    figure!("conso_eclairage_ef", it => it.balance.last[3], 1),
    figure!("conso_auxiliaires_ef", it => it.balance.last[4], 1),
    figure!("conso_chauffage_ef_energie_n1", it => it.balance.last[0], 1),
    figure!("conso_ecs_ef_energie_n1", it => if it.water == it.heating { it.balance.last[1] } else { 0.0 }, 1),
    ("conso_refroidissement_annuel", |it, out| {
        if it.cooled {
            push_number(out, it.balance.last[2], 1)
        }
    }),
    figure!("emission_ges_5_usages", it => it.balance.emission.iter().sum(), 1),
    figure!("emission_ges_5_usages_par_m2", it => it.emission_per_m2(), 0),
    figure!("emission_ges_chauffage", it => it.balance.emission[0], 1),
    figure!("emission_ges_ecs", it => it.balance.emission[1], 1),
    figure!("emission_ges_refroidissement", it => it.balance.emission[2], 1),
    figure!("emission_ges_eclairage", it => it.balance.emission[3], 1),
    figure!("emission_ges_auxiliaires", it => it.balance.emission[4], 1),
    figure!("cout_total_5_usages", it => it.balance.cost.iter().sum(), 1),
    figure!("cout_chauffage", it => it.balance.cost[0], 1),
    figure!("cout_ecs", it => it.balance.cost[1], 1),
    figure!("cout_refroidissement", it => it.balance.cost[2], 1),
    figure!("cout_eclairage", it => it.balance.cost[3], 1),
    figure!("cout_auxiliaires", it => it.balance.cost[4], 1),
    figure!("deperditions_enveloppe", it => it.needs.heating / 55.0, 1),
    figure!("deperditions_murs", it => it.needs.heating / 160.0, 1),
    figure!("ubat_w_par_m2_k", it => (it.needs.heating / it.surface_m2 / 110.0).max(0.2), 2),
    figure!("besoin_chauffage", it => it.needs.heating, 1),
    figure!("besoin_ecs", it => it.needs.water, 1),
    figure!("besoin_refroidissement", it => it.needs.cooling, 1),
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
    label!("type_energie_n1", it => ENERGIES[it.heating].name),
    ("type_energie_n2", |it, out| {
        if !ENERGIES[it.heating].electric {
            text("Électricité", out)
        }
    }),
    label!("type_energie_principale_chauffage", it => ENERGIES[it.heating].name),
    ("type_generateur_chauffage_principal", |it, out| {
        push_text(out, ENERGIES[it.heating].generator)
    }),
    label!("type_installation_chauffage", it => plant(it, it.heating)),
    label!("type_installation_ecs", it => plant(it, it.water)),
    label!("type_energie_principale_ecs", it => ENERGIES[it.water].name),
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
];

fn quality(it: &Certificate, part: usize, out: &mut Vec<u8>) {
    text(INSULATION_QUALITIES[it.qualities[part]], out);
}

/// Returns whether a heating system is shared, in the source's spelling. In blocks of flats, district heating is always
/// shared, electric heating never is, and any other system is shared in a third of the buildings.
fn plant(it: &Certificate, energy: usize) -> &'static str {
    let shared = match (it.dwelling, energy) {
        (Dwelling::House, _) | (_, 0 | 1) => false,
        (_, 6) => true,
        _ => it.address.bits(24).is_multiple_of(3),
    };
    if shared { "collectif" } else { "individuel" }
}
