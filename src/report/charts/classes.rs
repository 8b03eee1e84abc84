//! Draws how many diagnostics have each energy class.

use std::collections::BTreeMap;

use crate::figure::{Align, Color, Figure};
use crate::language::Language;

const ROW: f32 = 12.0;
const BAR: f32 = 10.0;
const SIZE: f32 = 7.5;
/// The classes with the colours of the official label.
const CLASSES: [(char, Color); 7] = [
    ('A', Color(0, 156, 109)),
    ('B', Color(82, 177, 83)),
    ('C', Color(120, 189, 118)),
    ('D', Color(244, 231, 15)),
    ('E', Color(240, 181, 15)),
    ('F', Color(235, 130, 53)),
    ('G', Color(215, 34, 31)),
];

/// Draws a bar for each class.
pub fn draw(counts: &BTreeMap<char, u64>, width: f32, language: Language) -> Figure {
    let about = language.choose(
        "Diagnostics par classe énergétique",
        "Diagnostics by energy class",
    );
    let mut figure = Figure::new(width, ROW * CLASSES.len() as f32, about);
    let most = counts.values().copied().max().unwrap_or(0).max(1);
    let (from, to) = (16.0, width - 24.0);
    for (nth, (class, color)) in CLASSES.into_iter().enumerate() {
        let count = counts.get(&class).copied().unwrap_or(0);
        let top = ROW * nth as f32;
        figure.bold(
            [2.0, top + 8.0],
            class.to_string(),
            SIZE,
            Color::INK,
            Align::Start,
        );
        let length = (count as f32 / most as f32 * (to - from)).max(1.0);
        figure.rectangle([from, top], length, BAR, color);
        if count > 0 {
            let at = [from + length + 4.0, top + 8.0];
            figure.text(at, count.to_string(), SIZE, Color::GREY, Align::Start);
        }
    }
    figure
}
