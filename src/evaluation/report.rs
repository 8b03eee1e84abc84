//! Writes the report card as files: JSON, Markdown and an image.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

#[cfg(feature = "plots")]
use super::chart;
use super::leave_out::{LeaveOutReport, PlaceKind};
use super::rolling::HorizonReport;
use super::{ErrorMetrics, ReportCard};
use toise_estimate::model::Error;

impl ReportCard {
    /// Writes `<name>.json`, `.md` and, with the feature `plots`, `.svg` into a folder and returns their paths.
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
        let mut written = Vec::new();
        for (ending, bytes) in [("json", json), ("md", self.markdown().into_bytes())] {
            let path = path(ending);
            fs::write(&path, bytes).map_err(|error| at(&path, error))?;
            written.push(path);
        }
        #[cfg(feature = "plots")]
        {
            let drawn = path("svg");
            chart::draw(self, &drawn)
                .map_err(|error| at(&drawn, std::io::Error::other(error.to_string())))?;
            written.push(drawn);
        }
        Ok(written)
    }

    /// Returns the report as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        self.write_markdown(&mut text).unwrap_or_default();
        text
    }

    fn write_markdown(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "# Estimates evaluated on sales from {} to {}\n",
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
        self.horizon.write_markdown(out)?;
        self.write_segments(out)?;
        writeln!(out, "\n| rule | sales left |\n|---|---:|")?;
        for step in &self.funnel.steps {
            writeln!(out, "| {} | {} |", step.rule, step.left)?;
        }
        Ok(())
    }

    /// Writes the table of segments.
    fn write_segments(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "| segment | sales | MdAPE % | within 10 % | within 20 % | bias % | coverage % | allowed | width % |"
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
        Ok(())
    }
}

impl HorizonReport {
    /// Returns the tables by horizon and by origin as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        self.write_markdown(&mut text).unwrap_or_default();
        text
    }

    fn write_markdown(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "By months after the last known sale, over {} origins. The bias is the mean of the origins' biases, its size \
             the mean without their signs.\n",
            self.origins.len()
        )?;
        writeln!(
            out,
            "| month after | origins | sales | bias % | its size | MdAPE % | within 20 % | coverage % | width % |"
        )?;
        writeln!(out, "|---|---:|---:|---:|---:|---:|---:|---:|---:|")?;
        for horizon in &self.horizons {
            let quality = &horizon.quality;
            writeln!(
                out,
                "| {} | {} | {} | {:+.1} | {:.1} | {} |",
                horizon.month,
                horizon.origins,
                quality.sales,
                horizon.bias,
                horizon.bias_size,
                error_and_interval(quality)
            )?;
        }
        writeln!(
            out,
            "\n| known until before | sales | bias % | MdAPE % | within 20 % | coverage % | width % |"
        )?;
        writeln!(out, "|---|---:|---:|---:|---:|---:|---:|")?;
        let origins = self.origins.iter();
        let rows = origins.map(|origin| (origin.origin.as_str(), &origin.quality));
        for (origin, quality) in rows.chain([("all", &self.all)]) {
            writeln!(
                out,
                "| {origin} | {} | {:+.1} | {} |",
                quality.sales,
                quality.bias,
                error_and_interval(quality)
            )?;
        }
        writeln!(out)
    }
}

impl LeaveOutReport {
    /// Returns the table of places as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        self.write_markdown(&mut text).unwrap_or_default();
        text
    }

    fn write_markdown(&self, out: &mut String) -> std::fmt::Result {
        let kind = match self.kind {
            PlaceKind::Department => "department",
            PlaceKind::City => "city",
        };
        writeln!(
            out,
            "| {kind} left out | sales | bias % | MdAPE % | within 20 % | coverage % | width % | warnings |"
        )?;
        writeln!(out, "|---|---:|---:|---:|---:|---:|---:|---|")?;
        for place in &self.places {
            let quality = &place.quality;
            let warnings = place.warnings.iter();
            let warnings: Vec<String> = warnings
                .map(|(warning, share)| format!("{warning} {share:.0} %"))
                .collect();
            writeln!(
                out,
                "| {} | {} | {:+.1} | {} | {} |",
                place.place,
                quality.sales,
                quality.bias,
                error_and_interval(quality),
                warnings.join(", ")
            )?;
        }
        let all = &self.all;
        writeln!(
            out,
            "| all | {} | {:+.1} | {} | |",
            all.sales,
            all.bias,
            error_and_interval(all)
        )?;
        writeln!(
            out,
            "\nMean coverage of the places: {:.1} %.",
            self.mean_coverage
        )
    }
}

/// Formats MdAPE, share within 20 %, coverage and median width as table cells.
fn error_and_interval(quality: &ErrorMetrics) -> String {
    format!(
        "{:.2} | {:.1} | {:.1} | {:.1}",
        quality.mdape,
        quality.within_20,
        quality.coverage.unwrap_or(f64::NAN),
        quality.width.unwrap_or(f64::NAN)
    )
}

fn figures(quality: &ErrorMetrics) -> String {
    format!(
        "{:.2} | {:.1} | {:.1} | {:+.1}",
        quality.mdape, quality.within_10, quality.within_20, quality.bias
    )
}
