//! Draws the value of a home within its interval.

use crate::figure::{Align, Color, Figure};
use crate::language::Language;
use crate::model::ReportedEstimate;

const HEIGHT: f32 = 46.0;
const BAR_TOP: f32 = 20.0;
const BAR_HEIGHT: f32 = 8.0;
const SIZE: f32 = 8.0;
/// Margin on each side of the interval, as a share of the width.
const MARGIN: f32 = 0.08;

/// Draws the interval of an estimate with the value in it.
pub fn draw(estimate: &ReportedEstimate, width: f32, language: Language) -> Figure {
    let about = language.choose("Intervalle de la valeur", "Interval of the value");
    let mut figure = Figure::new(width, HEIGHT, about);
    let (from, to) = (width * MARGIN, width * (1.0 - MARGIN));
    let range = (estimate.upper - estimate.lower).max(1.0);
    let at = |eur: f64| from + ((eur - estimate.lower) / range) as f32 * (to - from);
    figure.rectangle([0.0, BAR_TOP], width, BAR_HEIGHT, Color::PALE);
    figure.rectangle([from, BAR_TOP], to - from, BAR_HEIGHT, Color(150, 186, 220));
    let center = [at(estimate.price), BAR_TOP + BAR_HEIGHT / 2.0];
    figure.circle(center, 6.0, Color::MAIN, Some(Color::WHITE));
    let price = language.euros(estimate.price);
    figure.bold(
        [center[0], BAR_TOP - 8.0],
        price,
        SIZE,
        Color::MAIN,
        Align::Middle,
    );
    let below = BAR_TOP + BAR_HEIGHT + 12.0;
    for (eur, align, x) in [
        (estimate.lower, Align::Start, 0.0),
        (estimate.upper, Align::End, width),
    ] {
        figure.text([x, below], language.euros(eur), SIZE, Color::GREY, align);
    }
    figure
}
