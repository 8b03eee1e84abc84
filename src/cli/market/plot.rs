//! Draws a market report as lines over periods, one for each place and class, as SVG or PNG.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use crate::result::Failure;
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type};
use plotters::coord::Shift;
use plotters::prelude::*;
use toise_evaluation::font;

/// Size of the image, pixels.
const SIZE: (u32, u32) = (960, 540);
/// Maximum lines: more cannot be distinguished.
const LINES_MAX: usize = 8;
/// Bytes of a pixel.
const RGB_BYTES: usize = 3;
/// Height of a letter, pixels.
const LETTER: i32 = 13;
/// Gap around the chart, pixels.
const MARGIN: i32 = 16;
/// Width of the labels of the axis of values, and twice the height of those of the axis of periods, pixels.
const LABELS: u32 = 56;
/// Maximum labels on the axis of periods.
const PERIOD_LABELS: usize = 12;
/// Room above and below the lines, as a share of the highest and lowest value.
const ROOM: f64 = 0.05;
/// Columns that can be drawn, in order of preference, with their titles.
const DRAWN: [(&str, &str); 3] = [
    ("price_per_m2_median", "median recorded price, EUR/m2"),
    ("asking_price_per_m2", "median asking price, EUR/m2"),
    ("rent_per_m2", "median monthly rent, EUR/m2"),
];

/// Result of drawing; its errors cannot be sent between threads.
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// The line of a place and class.
#[derive(Default)]
struct Line {
    label: String,
    /// Number of sales and properties behind it.
    weight: i64,
    /// Index of the period, and value.
    points: Vec<(usize, f64)>,
}

/// Format of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImageFormat {
    Svg,
    Png,
}

impl ImageFormat {
    /// Returns the format of a file's extension.
    fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        match extension.to_ascii_lowercase().as_str() {
            "svg" => Some(Self::Svg),
            "png" => Some(Self::Png),
            _ => None,
        }
    }
}

/// Draws the report into an SVG or PNG file, at most eight lines: those of the places and classes with the most sales
/// and properties. Returns the number of lines drawn and the total number of lines.
///
/// # Errors
/// The file is neither SVG nor PNG, the rows have no periods or no value to draw, or the file cannot be written.
pub(super) fn draw(rows: &RecordBatch, path: &Path) -> Result<(usize, usize), Failure> {
    let Some(format) = ImageFormat::of(path) else {
        return Err(format!("{}: a plot is written as .svg or .png", path.display()).into());
    };
    let column = |name: &str| rows.column_by_name(name);
    let has_values = |name: &str| column(name).is_some_and(|of| of.null_count() < of.len());
    if !has_values("period") {
        return Err("a plot needs periods with rows: add --by month or --by quarter".into());
    }
    let mut drawn = DRAWN.into_iter();
    let Some((name, title)) = drawn.find(|(name, _)| has_values(name)) else {
        return Err("there is nothing to draw: every sample is too small".into());
    };
    let (periods, mut lines) = lines_of(rows, name)?;
    let all = lines.len();
    lines.sort_by(|one, other| {
        other
            .weight
            .cmp(&one.weight)
            .then(one.label.cmp(&other.label))
    });
    lines.truncate(LINES_MAX);
    font::register()?;
    let written = match format {
        ImageFormat::Svg => {
            let area = SVGBackend::new(path, SIZE).into_drawing_area();
            chart(&periods, &lines, title, &area)
        }
        ImageFormat::Png => write_png(path, |area| chart(&periods, &lines, title, area)),
    };
    written.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok((lines.len(), all))
}

/// Returns the periods in order, and the lines with at least one value.
fn lines_of(rows: &RecordBatch, name: &str) -> Result<(Vec<String>, Vec<Line>), Failure> {
    let column = |name: &str| {
        let found = rows.column_by_name(name);
        found.ok_or_else(|| Failure::from(format!("no column {name}")))
    };
    let text = |name: &str| Ok::<_, Failure>(column(name)?.as_string::<i32>());
    let (places, names) = (text("place")?, text("name")?);
    let (classes, in_period) = (text("type")?, text("period")?);
    let values = column(name)?.as_primitive::<Float64Type>();
    let weights = ["sales", "for_sale", "to_rent"].map(|name| {
        let found = rows.column_by_name(name);
        found.and_then(|column| column.as_primitive_opt::<Int64Type>())
    });
    let mut periods: Vec<String> = in_period.iter().flatten().map(str::to_owned).collect();
    periods.sort_unstable();
    periods.dedup();
    let mut lines: BTreeMap<(&str, &str), Line> = BTreeMap::new();
    for row in 0..rows.num_rows() {
        let period = in_period.value(row);
        let Ok(place) = periods.binary_search_by(|known| known.as_str().cmp(period)) else {
            continue;
        };
        let line = lines
            .entry((places.value(row), classes.value(row)))
            .or_default();
        if values.is_valid(row) {
            line.points.push((place, values.value(row)));
        }
        let counted = weights.iter().flatten();
        line.weight += counted
            .filter(|counts| counts.is_valid(row))
            .map(|counts| counts.value(row))
            .sum::<i64>();
        if line.label.is_empty() {
            let name = if names.is_valid(row) {
                names.value(row)
            } else {
                places.value(row)
            };
            let class = match classes.value(row) {
                "CLASS_FLAT" => "flats",
                _ => "houses",
            };
            line.label = format!("{name}, {class}");
        }
    }
    let lines = lines.into_values();
    Ok((
        periods,
        lines.filter(|line| !line.points.is_empty()).collect(),
    ))
}

/// Draws with `draw` and writes the pixels as a PNG file.
fn write_png(
    path: &Path,
    draw: impl FnOnce(&DrawingArea<BitMapBackend<'_>, Shift>) -> Drawn,
) -> Drawn {
    let (width, height) = SIZE;
    let mut pixels = vec![0; width as usize * height as usize * RGB_BYTES];
    draw(&BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area())?;
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(())
}

fn chart<Backend>(
    periods: &[String],
    lines: &[Line],
    title: &str,
    area: &DrawingArea<Backend, Shift>,
) -> Drawn
where
    Backend: DrawingBackend,
    Backend::ErrorType: 'static,
{
    let values = || {
        lines
            .iter()
            .flat_map(|line| line.points.iter().map(|(_, value)| *value))
    };
    let least = values().fold(f64::INFINITY, f64::min);
    let most = values().fold(f64::NEG_INFINITY, f64::max);
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", LETTER + 3))
        .margin(MARGIN)
        .x_label_area_size(LABELS / 2)
        .y_label_area_size(LABELS)
        .build_cartesian_2d(
            0..periods.len().saturating_sub(1).max(1),
            least * (1.0 - ROOM)..most * (1.0 + ROOM),
        )?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_labels(PERIOD_LABELS.min(periods.len()))
        .x_label_formatter(&|place| periods.get(*place).cloned().unwrap_or_default())
        .y_label_formatter(&|value| format!("{value:.0}"))
        .draw()?;
    for (rank, line) in lines.iter().enumerate() {
        let colour = Palette99::pick(rank).to_rgba();
        chart
            .draw_series(LineSeries::new(
                line.points.iter().copied(),
                colour.stroke_width(2),
            ))?
            .label(line.label.as_str())
            .legend(move |(x, y)| {
                PathElement::new([(x, y), (x + LETTER, y)], colour.stroke_width(2))
            });
        // A single value makes no line, so each value is also drawn as a dot.
        let dots = line.points.iter();
        chart.draw_series(dots.map(|point| Circle::new(*point, 2, colour.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .draw()?;
    area.present()?;
    Ok(())
}
