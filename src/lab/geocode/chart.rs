//! Draws the reliability plot as an image: one dot per bin of scores, larger for more results. It should be on the
//! diagonal. The format is SVG, which any browser shows.

use std::path::Path;

use plotters::prelude::*;

use super::calibration::Calibration;
use toise_evaluation::letters;

/// Side of the plot and margins around it, in pixels.
const SIDE: i32 = 480;
const MARGIN: i32 = 56;
/// Height of a letter, in pixels.
const LETTER: i32 = 13;
/// Number of intervals of the grid.
const LINES: i32 = 10;
/// Radius of the smallest and of the largest dot, in pixels.
const RADII: (f64, f64) = (3.0, 12.0);

type DrawResult = Result<(), Box<dyn std::error::Error>>;

/// Draws a calibration into an SVG file.
///
/// # Errors
/// The file cannot be written.
pub fn draw(calibration: &Calibration, path: &Path) -> DrawResult {
    letters::register()?;
    let size = (SIDE + 2 * MARGIN) as u32;
    let area = SVGBackend::new(path, (size, size)).into_drawing_area();
    area.fill(&WHITE)?;
    let grey = RGBColor(220, 220, 220);
    let place = |predicted: f64, right: f64| {
        let pixels = |share: f64| (share * f64::from(SIDE)).round() as i32;
        (MARGIN + pixels(predicted), MARGIN + SIDE - pixels(right))
    };
    let write = |at: (i32, i32), text: String| {
        let style = ("sans-serif", LETTER).into_font();
        area.draw(&Text::new(text, at, style))
    };
    for line in 0..=LINES {
        let share = f64::from(line) / f64::from(LINES);
        let across = vec![place(0.0, share), place(1.0, share)];
        let up = vec![place(share, 0.0), place(share, 1.0)];
        for points in [across, up] {
            area.draw(&PathElement::new(points, grey.stroke_width(1)))?;
        }
        let (x, y) = place(share, 0.0);
        write((x - 8, y + 6), format!("{share:.1}"))?;
        let (x, y) = place(0.0, share);
        write((x - 28, y - 6), format!("{share:.1}"))?;
    }
    let diagonal = vec![place(0.0, 0.0), place(1.0, 1.0)];
    area.draw(&PathElement::new(diagonal, BLACK.stroke_width(1)))?;
    let most = calibration.bins.iter().map(|bin| bin.n).max().unwrap_or(1);
    for bin in calibration.bins.iter().filter(|bin| bin.n > 0) {
        let part = (bin.n as f64 / most.max(1) as f64).sqrt();
        let radius = RADII.0 + (RADII.1 - RADII.0) * part;
        let at = place(bin.predicted, bin.right);
        area.draw(&Circle::new(at, radius.round() as i32, BLUE.filled()))?;
    }
    write(
        (MARGIN, 12),
        format!(
            "share right by stated score: {} first results, expected calibration error {:.3}",
            calibration.n, calibration.error
        ),
    )?;
    area.present()?;
    Ok(())
}
