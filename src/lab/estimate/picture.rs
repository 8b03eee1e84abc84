//! The report card as a picture: the error of each means as a bar, the coverage of each segment as a dot over what
//! chance allows. Letters are drawn from a table of five by seven dots, so no font has to be installed.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::Report;
use super::judged::SEGMENT_MIN;

/// Columns of dots of each sign, lowest bit on top.
const SIGNS: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.-+%:";
const DOTS: [[u8; 5]; 41] = [
    [0x3e, 0x51, 0x49, 0x45, 0x3e],
    [0x00, 0x42, 0x7f, 0x40, 0x00],
    [0x42, 0x61, 0x51, 0x49, 0x46],
    [0x21, 0x41, 0x45, 0x4b, 0x31],
    [0x18, 0x14, 0x12, 0x7f, 0x10],
    [0x27, 0x45, 0x45, 0x45, 0x39],
    [0x3c, 0x4a, 0x49, 0x49, 0x30],
    [0x01, 0x71, 0x09, 0x05, 0x03],
    [0x36, 0x49, 0x49, 0x49, 0x36],
    [0x06, 0x49, 0x49, 0x29, 0x1e],
    [0x7e, 0x11, 0x11, 0x11, 0x7e],
    [0x7f, 0x49, 0x49, 0x49, 0x36],
    [0x3e, 0x41, 0x41, 0x41, 0x22],
    [0x7f, 0x41, 0x41, 0x22, 0x1c],
    [0x7f, 0x49, 0x49, 0x49, 0x41],
    [0x7f, 0x09, 0x09, 0x09, 0x01],
    [0x3e, 0x41, 0x49, 0x49, 0x7a],
    [0x7f, 0x08, 0x08, 0x08, 0x7f],
    [0x00, 0x41, 0x7f, 0x41, 0x00],
    [0x20, 0x40, 0x41, 0x3f, 0x01],
    [0x7f, 0x08, 0x14, 0x22, 0x41],
    [0x7f, 0x40, 0x40, 0x40, 0x40],
    [0x7f, 0x02, 0x0c, 0x02, 0x7f],
    [0x7f, 0x04, 0x08, 0x10, 0x7f],
    [0x3e, 0x41, 0x41, 0x41, 0x3e],
    [0x7f, 0x09, 0x09, 0x09, 0x06],
    [0x3e, 0x41, 0x51, 0x21, 0x5e],
    [0x7f, 0x09, 0x19, 0x29, 0x46],
    [0x46, 0x49, 0x49, 0x49, 0x31],
    [0x01, 0x01, 0x7f, 0x01, 0x01],
    [0x3f, 0x40, 0x40, 0x40, 0x3f],
    [0x1f, 0x20, 0x40, 0x20, 0x1f],
    [0x3f, 0x40, 0x38, 0x40, 0x3f],
    [0x63, 0x14, 0x08, 0x14, 0x63],
    [0x07, 0x08, 0x70, 0x08, 0x07],
    [0x61, 0x51, 0x49, 0x45, 0x43],
    [0x00, 0x60, 0x60, 0x00, 0x00],
    [0x08, 0x08, 0x08, 0x08, 0x08],
    [0x08, 0x08, 0x3e, 0x08, 0x08],
    [0x23, 0x13, 0x08, 0x64, 0x62],
    [0x00, 0x36, 0x36, 0x00, 0x00],
];
/// Pixels from one sign to the next, and of a line of text.
const SIGN: i32 = 6;
const LINE: i32 = 18;
const WIDTH: i32 = 960;
const MARGIN: i32 = 24;
/// Where bars and spans begin, and their greatest length.
const LEFT: i32 = 260;
const LENGTH: i32 = WIDTH - LEFT - 4 * MARGIN;
/// Coverages at both ends of the lower part, percent.
const COVERAGES: (f64, f64) = (65.0, 95.0);

type Area<'a> = DrawingArea<BitMapBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Draws a report into a PNG file.
///
/// # Errors
/// The file cannot be written.
pub fn draw(report: &Report, path: &Path) -> Drawn {
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
    let area = BitMapBackend::new(path, size).into_drawing_area();
    area.fill(&WHITE)?;
    let mut line = MARGIN;
    let title = format!(
        "median error in % of the price: {} sales from {} to {}",
        report.all.sales, report.test[0], report.test[1]
    );
    write(&area, (MARGIN, line), &title)?;
    line += 2 * LINE;
    let longest = means.iter().map(|(_, error)| *error).fold(1.0, f64::max);
    for (rank, (name, error)) in means.iter().enumerate() {
        write(&area, (MARGIN, line), name)?;
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
        write(&area, (end + SIGN, line), &format!("{error:.2}"))?;
        line += LINE;
    }
    line += LINE;
    let stated = 100.0 * report.coverage;
    let title = format!("% of sales in their interval: stated {stated:.0} and what chance allows");
    write(&area, (MARGIN, line), &title)?;
    line += 2 * LINE;
    let place = |percent: f64| {
        let share = (percent - COVERAGES.0) / (COVERAGES.1 - COVERAGES.0);
        LEFT + (f64::from(LENGTH) * share.clamp(0.0, 1.0)) as i32
    };
    for segment in judged {
        let held = segment.quality.coverage.unwrap_or(f64::NAN);
        write(
            &area,
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
        write(&area, (LEFT + LENGTH + SIGN, line), &format!("{held:.1}"))?;
        line += LINE;
    }
    area.present()?;
    Ok(())
}

fn write(area: &Area<'_>, at: (i32, i32), text: &str) -> Drawn {
    for (sign, place) in text.to_uppercase().chars().zip(0..) {
        let Some(dots) = SIGNS.chars().position(|known| known == sign) else {
            continue;
        };
        for (column, east) in DOTS[dots].iter().zip(0..) {
            for south in (0..7).filter(|south| column >> south & 1 == 1) {
                area.draw_pixel((at.0 + place * SIGN + east, at.1 + south), &BLACK)?;
            }
        }
    }
    Ok(())
}
