//! Draws what adds to a value and what subtracts from it.

use crate::figure::{Align, Color, Figure};
use crate::language::Language;
use crate::model::ValuePart;

/// The base of a value: the value of a typical home.
const BASE: &str = "typicalHome";
/// Maximum parts drawn; the smallest ones are combined.
const PARTS_MAX: usize = 7;
const ROW: f32 = 13.5;
const BAR: f32 = 8.0;
const SIZE: f32 = 7.5;
/// Share of the width for names.
const NAMES: f32 = 0.40;
/// Room for an amount, points.
const AMOUNT: f32 = 58.0;

/// Returns the name of an input of an estimate.
pub fn name(feature: &str, language: Language) -> String {
    let (french, english) = match feature {
        BASE => ("Bien moyen", "Typical home"),
        "location" => ("Emplacement", "Location"),
        "comparables" => ("Ventes comparables", "Comparable sales"),
        "surface" => ("Surface", "Surface"),
        "roomCount" => ("Nombre de pièces", "Number of rooms"),
        "landSurface" => ("Terrain", "Land"),
        "epcEnergy" => ("Classe énergétique", "Energy class"),
        "constructionYear" => ("Année de construction", "Year of construction"),
        "date" => ("Évolution des prix", "Price changes"),
        "generalConditions" => ("État général", "Condition"),
        "furniture" => ("Mobilier", "Furniture"),
        "hasBalcony" => ("Balcon", "Balcony"),
        "hasCellar" => ("Cave", "Cellar"),
        "hasGarage" => ("Garage", "Garage"),
        "hasLift" => ("Ascenseur et étage", "Lift and storey"),
        "hasParking" => ("Stationnement", "Parking"),
        "hasPool" => ("Piscine", "Pool"),
        "hasTerrace" => ("Terrasse", "Terrace"),
        "others" => ("Autres", "Others"),
        other => return other.to_owned(),
    };
    language.choose(french, english).to_owned()
}

/// Draws the parts of a value, from the value of a typical home to the value itself.
pub fn draw(parts: &[ValuePart], price: f64, width: f32, language: Language) -> Figure {
    let base = parts.iter().find(|part| part.feature == BASE);
    let base = base.map_or(0.0, |part| part.eur);
    let rows = drawn(parts);
    let height = ROW * (rows.len() + 2) as f32 + 2.0;
    let about = language.choose("Composition de la valeur", "Parts of the value");
    let mut figure = Figure::new(width, height, about);
    // Bars begin at zero, so that their lengths can be compared.
    let (mut least, mut most) = (0.0_f64, base.max(price));
    let mut sum = base;
    for part in &rows {
        sum += part.eur;
        least = least.min(sum);
        most = most.max(sum);
    }
    let range = (most - least).max(1.0);
    let (from, to) = (width * NAMES, width - AMOUNT);
    let at = |eur: f64| from + ((eur - least) / range) as f32 * (to - from);
    let row = |figure: &mut Figure,
               nth: usize,
               label: String,
               amount: String,
               bar: [f32; 2],
               color,
               is_total| {
        let top = ROW * nth as f32;
        let base_line = top + BAR;
        let [low, high] = [bar[0].min(bar[1]), bar[0].max(bar[1])];
        figure.rectangle([low, top + 1.5], (high - low).max(0.7), BAR, color);
        let text = if is_total { Figure::bold } else { Figure::text };
        text(
            figure,
            [0.0, base_line],
            label,
            SIZE,
            Color::INK,
            Align::Start,
        );
        text(
            figure,
            [width, base_line],
            amount,
            SIZE,
            Color::INK,
            Align::End,
        );
    };
    let total = Color::MAIN;
    row(
        &mut figure,
        0,
        name(BASE, language),
        language.euros(base),
        [at(0.0), at(base)],
        Color(150, 186, 220),
        false,
    );
    let mut sum = base;
    for (nth, part) in rows.iter().enumerate() {
        let bar = [at(sum), at(sum + part.eur)];
        sum += part.eur;
        let color = if part.eur < 0.0 {
            Color::LOSS
        } else {
            Color::GAIN
        };
        row(
            &mut figure,
            nth + 1,
            name(part.feature, language),
            language.change(part.eur),
            bar,
            color,
            false,
        );
    }
    let label = language.choose("Valeur", "Value").to_owned();
    row(
        &mut figure,
        rows.len() + 1,
        label,
        language.euros(price),
        [at(0.0), at(price)],
        total,
        true,
    );
    figure
}

/// Returns the parts other than the base, largest first, with the smallest ones combined.
fn drawn(parts: &[ValuePart]) -> Vec<ValuePart> {
    let others = parts
        .iter()
        .filter(|part| part.feature != BASE && part.eur != 0.0);
    let mut rows: Vec<ValuePart> = others.cloned().collect();
    rows.sort_by(|one, other| other.eur.abs().total_cmp(&one.eur.abs()));
    if rows.len() > PARTS_MAX {
        let rest = rows.split_off(PARTS_MAX - 1);
        rows.push(ValuePart {
            feature: "others",
            eur: rest.iter().map(|part| part.eur).sum(),
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Item;

    #[test]
    fn the_smallest_parts_are_drawn_as_one_and_the_sum_stays() {
        let features = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        let parts = features.iter().enumerate().map(|(nth, feature)| ValuePart {
            feature,
            eur: (nth as f64 + 1.0) * 100.0,
        });
        let parts: Vec<ValuePart> = parts.collect();
        let rows = drawn(&parts);
        assert_eq!(rows.len(), PARTS_MAX);
        assert_eq!(rows[0].feature, "i");
        let sum: f64 = rows.iter().map(|part| part.eur).sum();
        assert_eq!(sum, 4_500.0);
        assert_eq!(rows[PARTS_MAX - 1].eur, 600.0);
    }

    #[test]
    fn the_length_of_a_bar_is_its_amount() {
        let part = |feature, eur| ValuePart { feature, eur };
        let parts = [
            part(BASE, 200_000.0),
            part("surface", 100_000.0),
            part("location", -50_000.0),
        ];
        let figure = draw(&parts, 250_000.0, 240.0, Language::French);
        let lengths = figure.items.iter().filter_map(|item| match item {
            Item::Area { points, .. } => {
                let across = points.iter().map(|[x, _]| *x);
                Some(across.clone().fold(f32::MIN, f32::max) - across.fold(f32::MAX, f32::min))
            }
            _ => None,
        });
        let lengths: Vec<f32> = lengths.collect();
        let shares: Vec<f32> = lengths
            .iter()
            .map(|length| (length / lengths[0] * 100.0).round())
            .collect();
        assert_eq!(shares, [100.0, 50.0, 25.0, 125.0]);
    }
}
