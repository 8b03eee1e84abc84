//! Draws the median prices of the commune and the department by quarter.

use chrono::{Datelike, NaiveDate};

use super::steps;
use crate::figure::{Align, Color, Figure};
use crate::gather::first_day;
use crate::language::Language;
use crate::model::{PricePath, QuarterPrice};

const HEIGHT: f32 = 118.0;
const SIZE: f32 = 7.0;
const LEFT: f32 = 46.0;
const TOP: f32 = 16.0;
const BOTTOM: f32 = 14.0;
const LINES: usize = 4;
/// Days between two quarters whose medians are joined by a line; more means that a quarter is missing.
const JOINED_DAYS: i64 = 100;

/// Draws the price paths; `None` if there are fewer than two medians.
pub fn draw(paths: &[PricePath], width: f32, language: Language) -> Option<Figure> {
    let quarters = || paths.iter().flat_map(|path| &path.quarters);
    if quarters().count() < 2 {
        return None;
    }
    let about = language.choose("Prix médian par trimestre", "Median price by quarter");
    let mut figure = Figure::new(width, HEIGHT, about);
    let medians = || quarters().map(|quarter| quarter.median);
    let low = medians().fold(f64::INFINITY, f64::min);
    let high = medians().fold(0.0, f64::max);
    let lines = steps(low, high.max(low * 1.02), LINES);
    let (bottom, top) = (lines[0], lines[lines.len() - 1]);
    let days = || quarters().filter_map(|quarter| first_day(&quarter.period));
    let (first, last) = (days().min()?, days().max()?);
    let length = (last - first).num_days().max(1) as f32;
    let x = |day: NaiveDate| {
        LEFT + 6.0 + (day - first).num_days() as f32 / length * (width - LEFT - 14.0)
    };
    let y = |median: f64| {
        let share = ((median - bottom) / (top - bottom)) as f32;
        HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
    };
    for line in &lines {
        let at = y(*line);
        figure.line(vec![[LEFT, at], [width, at]], Color::RULE, 0.5);
        let label = language.euros(*line);
        figure.text([LEFT - 4.0, at + 2.5], label, SIZE, Color::GREY, Align::End);
    }
    for year in first.year()..=last.year() {
        let Some(start) = NaiveDate::from_ymd_opt(year, 1, 1).filter(|day| *day >= first) else {
            continue;
        };
        let at = x(start);
        figure.line(
            vec![[at, HEIGHT - BOTTOM], [at, HEIGHT - BOTTOM + 3.0]],
            Color::RULE,
            0.5,
        );
        figure.text(
            [at, HEIGHT - 2.0],
            year.to_string(),
            SIZE,
            Color::GREY,
            Align::Middle,
        );
    }
    let mut key = LEFT;
    for path in paths.iter().rev() {
        let (color, stroke) = match path.level {
            "commune" => (Color::MAIN, 1.6),
            _ => (Color::OTHER, 1.0),
        };
        for piece in pieces(&path.quarters) {
            let points: Vec<[f32; 2]> = piece
                .iter()
                .map(|(day, median)| [x(*day), y(*median)])
                .collect();
            if points.len() > 1 {
                figure.line(points.clone(), color, stroke);
            }
            figure.dots(points, 2.4, color);
        }
        figure.rectangle([key, 3.0], 10.0, 3.0, color);
        figure.text(
            [key + 14.0, 7.5],
            path.name.clone(),
            SIZE,
            Color::INK,
            Align::Start,
        );
        // The width of a letter is about 0.6 of the font size.
        key += 34.0 + path.name.chars().count() as f32 * SIZE * 0.6;
    }
    Some(figure)
}

/// Splits a path where a quarter is missing.
fn pieces(quarters: &[QuarterPrice]) -> Vec<Vec<(NaiveDate, f64)>> {
    let mut pieces: Vec<Vec<(NaiveDate, f64)>> = Vec::new();
    for quarter in quarters {
        let Some(day) = first_day(&quarter.period) else {
            continue;
        };
        match pieces.last_mut() {
            Some(piece)
                if piece
                    .last()
                    .is_some_and(|(last, _)| (day - *last).num_days() <= JOINED_DAYS) =>
            {
                piece.push((day, quarter.median));
            }
            _ => pieces.push(vec![(day, quarter.median)]),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quarter(period: &str, median: f64) -> QuarterPrice {
        QuarterPrice {
            period: period.to_owned(),
            median,
            sales: 9,
        }
    }

    #[test]
    fn a_missing_quarter_interrupts_the_line() {
        let quarters = [
            quarter("2023-Q4", 1.0),
            quarter("2024-Q1", 2.0),
            quarter("2024-Q3", 3.0),
        ];
        let lengths: Vec<usize> = pieces(&quarters).iter().map(Vec::len).collect();
        assert_eq!(lengths, [2, 1]);
    }

    #[test]
    fn a_lone_median_is_not_drawn() {
        let path = PricePath {
            level: "commune",
            name: "Mende".to_owned(),
            quarters: vec![quarter("2024-Q1", 1_500.0)],
        };
        assert_eq!(draw(&[path], 300.0, Language::French), None);
    }
}
