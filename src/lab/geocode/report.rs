//! Writes the report of the geocoder as files: JSON, Markdown and an image.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::calibration::KEPT;
use super::{Error, Failure, GeocodeReport, chart};

impl GeocodeReport {
    /// Writes `<name>.json`, `.md` and `.svg` into a folder and returns their paths.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write(&self, folder: &Path, name: &str) -> Result<Vec<PathBuf>, Error> {
        let failed = |path: &Path, reason: String| Error::Report {
            path: path.to_owned(),
            reason,
        };
        fs::create_dir_all(folder).map_err(|error| failed(folder, error.to_string()))?;
        let path = |ending: &str| folder.join(format!("{name}.{ending}"));
        let json = serde_json::to_vec_pretty(self);
        let json = json.map_err(|error| failed(folder, error.to_string()))?;
        for (path, bytes) in [
            (path("json"), json),
            (path("md"), self.markdown().into_bytes()),
        ] {
            fs::write(&path, bytes).map_err(|error| failed(&path, error.to_string()))?;
        }
        let drawn = path("svg");
        chart::draw(&self.calibration, &drawn)
            .map_err(|error| failed(&drawn, error.to_string()))?;
        Ok(vec![path("json"), path("md"), drawn])
    }

    /// Returns the report as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        self.write_markdown(&mut text).unwrap_or_default();
        text
    }

    fn write_markdown(&self, out: &mut String) -> std::fmt::Result {
        let left_out = match self.left_out.as_slice() {
            [] => String::new(),
            codes => format!(", without {}", codes.join(", ")),
        };
        writeln!(
            out,
            "# Geocoder evaluated on {} addresses of {}\n\nSeed {}; {} streets were searched{left_out}.\n",
            self.sample,
            self.departments.join(", "),
            self.seed,
            self.streets
        )?;
        self.write_classes(out)?;
        self.write_absent(out)?;
        writeln!(out, "\n## Calibration")?;
        for (calibration, about) in [
            (
                &self.calibration,
                "a street alone counts if it is the one meant, a town alone never does",
            ),
            (
                &self.strict_calibration,
                "only what was asked for counts, including the house number",
            ),
        ] {
            writeln!(
                out,
                "\nExpected calibration error {:.3} over {} bins of {} first results, {:.0} % of them for addresses that \
                 are not in the base: {about}.\n\n```text\n{}```",
                calibration.error,
                calibration.bins.len(),
                calibration.n,
                100.0 * calibration.absent,
                calibration.plot()
            )?;
        }
        self.write_cases(out)?;
        writeln!(
            out,
            "\n## Speed on one core\n\n| queries | n | a second | a CPU second | p50 µs | p99 µs |\n|---|---:|---:|---:|---:|---:|"
        )?;
        for speed in &self.speed {
            writeln!(
                out,
                "| {} | {} | {:.0} | {} | {:.1} | {:.1} |",
                speed.kind,
                speed.n,
                speed.per_second,
                speed.per_cpu_second_text(),
                speed.p50_us,
                speed.p99_us
            )?;
        }
        self.write_failures(out)
    }

    fn write_classes(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "| class | n | right % | in five % | mean score | other town % | if absent % |\n|---|---:|---:|---:|---:|---:|---:|"
        )?;
        for class in &self.classes {
            writeln!(
                out,
                "| {}: {} | {} | {:.2} | {:.2} | {:.3} | {:.2} | {:.2} |",
                class.class,
                class.about,
                class.n,
                100.0 * class.right,
                100.0 * class.among,
                class.score,
                100.0 * class.other_town,
                100.0 * class.absent_other_town
            )?;
        }
        writeln!(
            out,
            "\n{:.0} % of the right first results have a score of at least {:.3}; other town: the first result reaches \
             it and is in another; if absent: the same for withheld addresses.",
            100.0 * KEPT,
            self.threshold
        )
    }

    fn write_absent(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "\n## Addresses that are not in the base\n\n| withheld | written | n | other town % | wrong street of the \
             town % | town alone % | declined % | right % |\n|---|---|---:|---:|---:|---:|---:|---:|"
        )?;
        for one in &self.absent {
            writeln!(
                out,
                "| {} | {} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
                one.withheld,
                one.written,
                one.n,
                100.0 * one.other_town,
                100.0 * one.same_town,
                100.0 * one.town_alone,
                100.0 * one.declined,
                100.0 * one.right
            )?;
        }
        Ok(())
    }

    fn write_cases(&self, out: &mut String) -> std::fmt::Result {
        if self.cases.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "\n## Cases\n\n| group | n | right % | not covered |\n|---|---:|---:|---:|"
        )?;
        for group in &self.cases {
            writeln!(
                out,
                "| {} | {} | {:.2} | {} |",
                group.group,
                group.n,
                100.0 * group.right,
                group.not_covered
            )?;
        }
        Ok(())
    }

    fn write_failures(&self, out: &mut String) -> std::fmt::Result {
        let of_classes = self.classes.iter();
        let of_classes = of_classes.map(|one| (one.class, &one.failures));
        let of_cases = self.cases.iter();
        let of_cases = of_cases.map(|one| (one.group.as_str(), &one.failures));
        let listed: Vec<(&str, &Failure)> = of_classes
            .chain(of_cases)
            .flat_map(|(name, failures)| failures.iter().map(move |one| (name, one)))
            .collect();
        if listed.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "\n## Some wrong answers\n\n| class | asked | meant | first result | score |\n|---|---|---|---|---:|"
        )?;
        for (name, one) in listed {
            let cell = |text: &str| text.replace('|', "\\|");
            writeln!(
                out,
                "| {name} | {} | {} | {} | {:.3} |",
                cell(&one.query),
                cell(&one.meant),
                cell(&one.given),
                one.score
            )?;
        }
        Ok(())
    }
}
