//! The report card as files: JSON for machines, Markdown for readers, a picture for both.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use plotters::prelude::*;

use super::{Quality, Report};
use crate::estimate::model::Error;

/// Size of the picture, pixels.
const SIZE: (u32, u32) = (1_200, 700);

impl Report {
    /// Writes `<name>.json`, `.md` and `.png` into a folder and says where.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write(&self, folder: &Path, name: &str) -> Result<Vec<PathBuf>, Error> {
        let at = |path: &Path, source: std::io::Error| Error::Io {
            path: path.display().to_string(),
            source,
        };
        fs::create_dir_all(folder).map_err(|error| at(folder, error))?;
        let path = |ending: &str| folder.join(format!("{name}.{ending}"));
        let json = serde_json::to_vec_pretty(self).map_err(std::io::Error::from);
        let json = json.map_err(|error| at(folder, error))?;
        for (path, bytes) in [
            (path("json"), json),
            (path("md"), self.markdown().into_bytes()),
        ] {
            fs::write(&path, bytes).map_err(|error| at(&path, error))?;
        }
        let picture = path("png");
        self.draw(&picture)
            .map_err(|error| at(&picture, std::io::Error::other(error.to_string())))?;
        Ok(vec![path("json"), path("md"), picture])
    }

    /// The report in words and tables.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        self.write_markdown(&mut text).unwrap_or_default();
        text
    }

    fn write_markdown(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "# Estimates judged on sales from {} to {}\n",
            self.test[0], self.test[1]
        )?;
        writeln!(
            out,
            "Model {} knows {} sales up to {} and nothing later. Judged on {} single-dwelling sales on the open \
             market; none of them was looked at before.\n",
            self.model.version, self.model.sales, self.model.data_through, self.all.sales
        )?;
        writeln!(
            out,
            "| means | MdAPE % | within 10 % | within 20 % | bias % |"
        )?;
        writeln!(out, "|---|---:|---:|---:|---:|")?;
        let means = std::iter::once(("estimator", &self.all));
        let simple = self
            .baselines
            .iter()
            .map(|(name, quality)| (name.as_str(), quality));
        for (name, quality) in means.chain(simple) {
            writeln!(out, "| {name} | {} |", figures(quality))?;
        }
        let [low, high] = self.difference.interval;
        writeln!(
            out,
            "\nAgainst {}: {:+.2} points of MdAPE, 95 % interval of the paired bootstrap {low:+.2} to {high:+.2}.\n",
            self.difference.against, self.difference.points
        )?;
        writeln!(
            out,
            "The interval should hold {:.0} % of sales: it holds {:.1} %, its median width is {:.1} % of the \
             estimate.\n",
            100.0 * self.coverage,
            self.all.coverage.unwrap_or(f64::NAN),
            self.all.width.unwrap_or(f64::NAN)
        )?;
        writeln!(
            out,
            "| segment | sales | MdAPE % | within 10 % | within 20 % | bias % | held % | allowed | width % |"
        )?;
        writeln!(out, "|---|---:|---:|---:|---:|---:|---:|---:|---:|")?;
        for segment in &self.segments {
            let quality = &segment.quality;
            let mark = if segment.is_covered { "" } else { " outside" };
            writeln!(
                out,
                "| {} {} | {} | {} | {:.1}{mark} | ±{:.1} | {:.1} |",
                segment.factor,
                segment.name,
                quality.sales,
                figures(quality),
                quality.coverage.unwrap_or(f64::NAN),
                segment.allowed,
                quality.width.unwrap_or(f64::NAN)
            )?;
        }
        writeln!(out, "\n| rule | sales left |\n|---|---:|")?;
        for step in &self.funnel.steps {
            writeln!(out, "| {} | {} |", step.rule, step.left)?;
        }
        Ok(())
    }

    /// Coverage by segment against what chance allows, and errors of all means.
    fn draw(&self, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let root = BitMapBackend::new(path, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (left, right) = root.split_horizontally(SIZE.0 / 3);
        let bars: Vec<f64> = std::iter::once(&self.all)
            .chain(self.baselines.iter().map(|(_, quality)| quality))
            .map(|quality| quality.mdape)
            .collect();
        let top = bars.iter().copied().fold(1.0, f64::max) * 1.15;
        let mut chart = ChartBuilder::on(&left)
            .margin(20)
            .y_label_area_size(40)
            .build_cartesian_2d(0.0..bars.len() as f64, 0.0..top)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .draw()?;
        chart.draw_series(bars.iter().enumerate().map(|(place, bar)| {
            let place = place as f64;
            let colour = if place == 0.0 {
                BLUE.filled()
            } else {
                BLACK.mix(0.3).filled()
            };
            Rectangle::new([(place + 0.15, 0.0), (place + 0.85, *bar)], colour)
        }))?;
        let judged: Vec<(f64, f64, f64)> = self
            .segments
            .iter()
            .filter(|segment| segment.quality.sales >= super::judged::SEGMENT_MIN)
            .filter_map(|segment| {
                Some((
                    segment.quality.sales as f64,
                    segment.quality.coverage?,
                    segment.allowed,
                ))
            })
            .collect();
        let count = judged.len().max(1) as f64;
        let mut chart = ChartBuilder::on(&right)
            .margin(20)
            .y_label_area_size(40)
            .build_cartesian_2d(0.0..count, 60.0..100.0)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .draw()?;
        let stated = 100.0 * self.coverage;
        for (place, (_, held, allowed)) in judged.iter().enumerate() {
            let place = place as f64 + 0.5;
            let span = PathElement::new(
                vec![(place, stated - allowed), (place, stated + allowed)],
                BLACK.mix(0.3).stroke_width(4),
            );
            chart.draw_series(std::iter::once(span))?;
            let inside = (held - stated).abs() <= *allowed;
            let colour = if inside { BLUE } else { RED };
            chart.draw_series(std::iter::once(Circle::new(
                (place, *held),
                4,
                colour.filled(),
            )))?;
        }
        let line = vec![(0.0, stated), (count, stated)];
        chart.draw_series(std::iter::once(PathElement::new(line, BLUE)))?;
        root.present()?;
        Ok(())
    }
}

fn figures(quality: &Quality) -> String {
    format!(
        "{:.2} | {:.1} | {:.1} | {:+.1}",
        quality.mdape, quality.within_10, quality.within_20, quality.bias
    )
}
