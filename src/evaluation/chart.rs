//! Draws the report card as an image: the error of the estimator and of each baseline as a bar, the coverage of each
//! segment as a dot over its allowed range. The format is SVG, which any browser shows.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::ReportCard;
use super::metrics::{SEGMENT_MIN, SegmentMetrics};
use crate::font;

/// Height of a letter, and of a line of text, in pixels.
const LETTER: i32 = 13;
const LINE: i32 = 18;
const WIDTH: i32 = 960;
const MARGIN: i32 = 24;
/// Gap between a bar and its number, in pixels.
const GAP: i32 = 6;
/// Left end and maximum length of bars and ranges, in pixels.
const LEFT: i32 = 260;
const LENGTH: i32 = WIDTH - LEFT - 4 * MARGIN;
/// Coverage at both ends of the lower chart, percent.
const COVERAGES: (f64, f64) = (65.0, 95.0);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type DrawResult = Result<(), Box<dyn std::error::Error>>;

/// Draws a report into an SVG file.
///
/// # Errors
/// The file cannot be written.
pub fn draw(report: &ReportCard, path: &Path) -> DrawResult {
    font::register()?;
    let judged = report.segments.iter();
    let judged: Vec<_> = judged
        .filter(|segment| segment.quality.sales >= SEGMENT_MIN)
        .collect();
    let means: Vec<(&str, f64)> = std::iter::once(("estimator", report.all.mdape))
        .chain(
            report
                .baselines
                .iter()
                .map(|(name, quality)| (name.as_str(), quality.mdape)),
        )
        .collect();
    let lines = (means.len() + judged.len() + 6) as i32;
    let size = (WIDTH as u32, (lines * LINE + 2 * MARGIN) as u32);
    let area = SVGBackend::new(path, size).into_drawing_area();
    area.fill(&WHITE)?;
    let mut line = MARGIN;
    let title = format!(
        "median error in % of the price: {} sales from {} to {}",
        report.all.sales, report.test[0], report.test[1]
    );
    write(&area, (MARGIN, line), &title)?;
    line += 2 * LINE;
    draw_means(&area, &means, line)?;
    line += (means.len() as i32 + 1) * LINE;
    let stated = 100.0 * report.coverage;
    let title = format!("% of sales in their interval: stated {stated:.0} and what chance allows");
    write(&area, (MARGIN, line), &title)?;
    line += 2 * LINE;
    draw_coverage(&area, &judged, stated, line)?;
    area.present()?;
    Ok(())
}

/// Draws a bar for each error, the estimator's first, starting at the vertical position `line`.
fn draw_means(area: &Area<'_>, means: &[(&str, f64)], mut line: i32) -> DrawResult {
    let longest = means.iter().map(|(_, error)| *error).fold(1.0, f64::max);
    for (rank, (name, error)) in means.iter().enumerate() {
        write(area, (MARGIN, line), name)?;
        let end = LEFT + (f64::from(LENGTH) * error / longest) as i32;
        let colour = if rank == 0 {
            BLUE
        } else {
            RGBColor(160, 160, 160)
        };
        area.draw(&Rectangle::new(
            [(LEFT, line - 2), (end, line + 9)],
            colour.filled(),
        ))?;
        write(area, (end + GAP, line), &format!("{error:.2}"))?;
        line += LINE;
    }
    Ok(())
}

/// Draws the coverage of each segment over the range allowed around the target, percent, starting at the vertical
/// position `line`.
fn draw_coverage(
    area: &Area<'_>,
    judged: &[&SegmentMetrics],
    stated: f64,
    mut line: i32,
) -> DrawResult {
    let place = |percent: f64| {
        let share = (percent - COVERAGES.0) / (COVERAGES.1 - COVERAGES.0);
        LEFT + (f64::from(LENGTH) * share.clamp(0.0, 1.0)) as i32
    };
    for segment in judged {
        let held = segment.quality.coverage.unwrap_or(f64::NAN);
        write(
            area,
            (MARGIN, line),
            &format!("{} {}", segment.factor, segment.name),
        )?;
        let span = [
            (place(stated - segment.allowed), line),
            (place(stated + segment.allowed), line + 6),
        ];
        area.draw(&Rectangle::new(span, RGBColor(220, 220, 220).filled()))?;
        let colour = if segment.is_covered { BLUE } else { RED };
        area.draw(&Circle::new((place(held), line + 3), 4, colour.filled()))?;
        write(area, (LEFT + LENGTH + GAP, line), &format!("{held:.1}"))?;
        line += LINE;
    }
    Ok(())
}

fn write(area: &Area<'_>, at: (i32, i32), text: &str) -> DrawResult {
    area.draw(&Text::new(
        text.to_owned(),
        at,
        ("sans-serif", LETTER).into_font(),
    ))?;
    Ok(())
}
