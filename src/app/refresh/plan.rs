//! Plans a refresh: what the sources have, what the data folder holds, and what to fetch.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::{Datelike, Days, NaiveDate};
use serde::Serialize;

use super::Refresher;
use super::editions::{Editions, HeldDiagnostics};
use crate::Failure;
use toise_lake::Lake;
use toise_opendata::{dpe, dvf};
use toise_sources::diagnostics::{self, DiagnosticRange, Survey};
use toise_sources::{FileVersion, PublishedFiles, addresses, sales};

/// Calendar years of sales to fetch, the current one included.
const YEARS: i32 = 6;
/// Days before the latest known change from which diagnostics are queried again: the source publishes changes some days
/// after their date.
const OVERLAP_DAYS: u64 = 7;
/// Diagnostics that are downloaded and imported at once.
const BATCH_DIAGNOSTICS: u64 = 1_000_000;
/// Size of a diagnostic in a download, bytes; in 2026 it is 4 to 6 kB.
const DIAGNOSTIC_BYTES: u64 = 5_000;
/// A new version is refused as probably incomplete if the held one is more than this many times as large.
const SHRUNK: u64 = 2;

/// Rate of downloads that the estimate of the duration assumes, bytes per second.
const DOWNLOADED_PER_S: u64 = 5_000_000;
/// Assumed rate of imports, in compressed bytes of files per second.
const IMPORTED_BYTES_PER_S: u64 = 2_000_000;
/// The same for diagnostics, rows per second.
const IMPORTED_DIAGNOSTICS_PER_S: u64 = 10_000;

/// The step of a refresh for one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Nothing: everything is up to date.
    Current,
    /// Imports what is new.
    Import,
    /// Nothing: the source publishes nothing for the departments.
    Unpublished,
    /// Nothing: the source failed.
    Failed,
}

/// The edition that a source offers, and the part of it that the data folder holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SourcePlan {
    /// Name of the table.
    pub table: &'static str,
    /// Newest edition that is held: a month, or the day of the latest change of diagnostics.
    pub held: Option<String>,
    /// Newest edition that the source has.
    pub available: Option<String>,
    /// Files to import; of diagnostics, rows.
    pub new: u64,
    /// Size of the download, bytes; an estimate for diagnostics.
    pub bytes: u64,
    /// Failures of the queries.
    pub failures: Vec<String>,
    /// Notes on data that are no longer published and stay in the table.
    pub notes: Vec<String>,
}

impl SourcePlan {
    /// Returns what a refresh does for the source.
    pub fn action(&self) -> Action {
        if self.new > 0 {
            Action::Import
        } else if !self.failures.is_empty() {
            Action::Failed
        } else if self.available.is_none() {
            Action::Unpublished
        } else {
            Action::Current
        }
    }
}

/// Diagnostics that are downloaded and imported at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DiagnosticsBatch {
    pub codes: Vec<String>,
    pub since: DiagnosticRange,
}

/// The steps of a refresh.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Departments.
    pub departments: Vec<String>,
    /// Addresses, sales and diagnostics, in the order in which they are imported.
    pub sources: [SourcePlan; 3],
    pub(super) address_codes: Vec<String>,
    pub(super) sales: BTreeSet<(String, i32)>,
    pub(super) batches: Vec<DiagnosticsBatch>,
    /// Diagnostics of each department that the source has.
    pub(super) surveys: BTreeMap<String, HeldDiagnostics>,
}

impl Plan {
    /// Returns the size of all downloads, bytes.
    pub fn bytes(&self) -> u64 {
        self.sources.iter().map(|source| source.bytes).sum()
    }

    /// Estimates how long downloads and imports take, at 5 MB/s and without training.
    pub fn duration(&self) -> Duration {
        let [addresses, sales, diagnostics] = &self.sources;
        let seconds = self.bytes() / DOWNLOADED_PER_S
            + (addresses.bytes + sales.bytes) / IMPORTED_BYTES_PER_S
            + diagnostics.new / IMPORTED_DIAGNOSTICS_PER_S;
        Duration::from_secs(seconds + 1)
    }
}

impl Refresher<'_> {
    /// Asks each source which data it has for these departments, without fetching or changing anything. If a source
    /// fails, the plan says so.
    ///
    /// # Errors
    /// An unknown department, or a table cannot be read.
    pub fn plan(&self, departments: &[String]) -> Result<Plan, Failure> {
        let held = self.editions_held()?;
        self.runtime.block_on(async {
            let mut plan = Plan {
                departments: departments.to_vec(),
                ..Plan::default()
            };
            self.plan_addresses(&held, &mut plan).await?;
            self.plan_sales(&held, &mut plan).await?;
            self.plan_diagnostics(&held, &mut plan).await;
            Ok(plan)
        })
    }

    /// Returns what the data folder holds. A table without rows counts as missing, even if something was imported
    /// before.
    pub(super) fn editions_held(&self) -> Result<Editions, Failure> {
        let mut held = Editions::load(self.data);
        let lake = Lake::open(self.data)?;
        if lake.snapshot(toise_geocode::table::schema())?.rows() == 0 {
            held.addresses.clear();
        }
        if lake.snapshot(dvf::schema())?.rows() == 0 {
            held.sales.clear();
        }
        if lake.snapshot(dpe::schema())?.rows() == 0 {
            held.diagnostics.clear();
        }
        Ok(held)
    }

    async fn plan_addresses(&self, held: &Editions, plan: &mut Plan) -> Result<(), Failure> {
        let base = &self.options.places.addresses;
        let published = addresses::published(&self.client, base, &plan.departments).await?;
        let mut source = source_plan("ban", &published, &held.addresses);
        for code in &plan.departments {
            let names = addresses::files(code);
            let files = names.iter().map(|name| {
                let version = published.versions.get(name);
                (name, version, held.addresses.get(name))
            });
            let files: Vec<_> = files.collect();
            let withdrawn = files
                .iter()
                .filter(|(_, published, held)| published.is_none() && held.is_some());
            let withdrawn: Vec<&str> = withdrawn.map(|(name, ..)| name.as_str()).collect();
            if !withdrawn.is_empty() && published.failures.is_empty() {
                let files = withdrawn.join(" and ");
                let note =
                    format!("{files}: no longer published; department {code} stays as it is");
                source.notes.push(note);
            }
            // Both files together replace the department: without one of them, its rows would be lost.
            if !withdrawn.is_empty() || files[0].1.is_none() {
                continue;
            }
            match due(files.iter().map(|(_, published, held)| (*published, *held))) {
                Ok(0) => {}
                Ok(count) => {
                    plan.address_codes.push(code.clone());
                    source.new += count;
                    let sizes = files
                        .iter()
                        .filter_map(|(_, published, _)| published.as_ref()?.bytes);
                    source.bytes += sizes.sum::<u64>();
                }
                Err(failure) => source.failures.push(failure),
            }
        }
        plan.sources[0] = source;
        Ok(())
    }

    async fn plan_sales(&self, held: &Editions, plan: &mut Plan) -> Result<(), Failure> {
        let this_year = self.clock.now().year();
        let years = this_year - YEARS + 1..=this_year;
        let places = &self.options.places.sales;
        let (downloads, codes) = (self.downloads(), &plan.departments);
        let published = sales::published(downloads, places, codes, years.clone()).await?;
        let mut source = source_plan("dvf", &published, &held.sales);
        let (mut urls, mut gone) = (BTreeSet::new(), Vec::new());
        for code in codes {
            for year in years.clone() {
                let key = sales::key(code, year);
                let (version, known) = (published.versions.get(&key), held.sales.get(&key));
                match due([(version, known)].into_iter()) {
                    Ok(0) if version.is_none() && known.is_some() => gone.push(key),
                    Ok(0) => {}
                    Ok(_) => {
                        plan.sales.insert((code.clone(), year));
                        if let Some(version) = version
                            && urls.insert(&version.url)
                        {
                            source.new += 1;
                            source.bytes += version.bytes.unwrap_or(0);
                        }
                    }
                    Err(failure) if source.failures.contains(&failure) => {}
                    Err(failure) => source.failures.push(failure),
                }
            }
        }
        if !gone.is_empty() && published.failures.is_empty() {
            let gone = gone.join(", ");
            let note = format!("sales of {gone}: no longer published; they stay as they are");
            source.notes.push(note);
        }
        plan.sources[1] = source;
        Ok(())
    }

    async fn plan_diagnostics(&self, held: &Editions, plan: &mut Plan) {
        let mut source = SourcePlan {
            table: "dpe",
            ..SourcePlan::default()
        };
        let base = &self.options.places.diagnostics;
        let today = self.clock.now().date_naive();
        let mut due: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
        for code in &plan.departments {
            let known = held.diagnostics.get(code);
            source.held = source
                .held
                .max(known.and_then(|known| known.survey.changed.clone()));
            let survey = match diagnostics::survey(&self.client, base, code).await {
                Ok(survey) => survey,
                Err(error) => {
                    source.failures.push(error.to_string());
                    break;
                }
            };
            source.available = source.available.max(survey.changed.clone());
            if let Some(known) = known
                && survey.total * SHRUNK < known.survey.total
            {
                let (now, before) = (survey.total, known.survey.total);
                let failure = format!(
                    "diagnostics of {code}: {base} lists only {now} of {before}; nothing was changed"
                );
                source.failures.push(failure);
                continue;
            }
            let is_new = known.is_none_or(|known| known.survey != survey);
            if is_new && survey.total > 0 {
                let since = known.and_then(first_day).unwrap_or_default();
                let rows = match self.count(code, &since, &survey).await {
                    Ok(rows) => rows,
                    Err(error) => {
                        source.failures.push(error.to_string());
                        break;
                    }
                };
                source.new += rows;
                due.entry(since).or_default().push((code.clone(), rows));
            }
            let asked_on = today.to_string();
            plan.surveys
                .insert(code.clone(), HeldDiagnostics { survey, asked_on });
        }
        source.bytes = source.new * DIAGNOSTIC_BYTES;
        plan.batches = batches(due);
        plan.sources[2] = source;
    }

    async fn count(
        &self,
        code: &str,
        since: &str,
        survey: &Survey,
    ) -> Result<u64, toise_sources::Error> {
        if since.is_empty() {
            return Ok(survey.total);
        }
        let base = &self.options.places.diagnostics;
        let since = DiagnosticRange::Changed(since.to_owned());
        let counted = diagnostics::count(&self.client, base, &[code.to_owned()], &since).await?;
        // Withdrawn diagnostics leave nothing to fetch; the department is then still compared.
        Ok(counted.max(1))
    }
}

/// Begins the plan for a source of files.
fn source_plan(
    table: &'static str,
    published: &PublishedFiles,
    held: &BTreeMap<String, FileVersion>,
) -> SourcePlan {
    SourcePlan {
        table,
        held: held.values().filter_map(FileVersion::edition).max(),
        available: published
            .versions
            .values()
            .filter_map(FileVersion::edition)
            .max(),
        failures: published.failures.clone(),
        ..SourcePlan::default()
    }
}

/// Counts the files whose published version is to replace the held one.
///
/// # Errors
/// A file has shrunk so much that it is probably incomplete.
fn due<'v>(
    files: impl Iterator<Item = (Option<&'v FileVersion>, Option<&'v FileVersion>)>,
) -> Result<u64, String> {
    let mut count = 0;
    for (published, held) in files {
        let Some(published) = published else { continue };
        let Some(held) = held else {
            count += 1;
            continue;
        };
        if !published.replaces(held) {
            continue;
        }
        let name = |version: &FileVersion| version.url.rsplit('/').next().map(str::to_owned);
        if let (Some(now), Some(before)) = (published.bytes, held.bytes)
            && name(published) == name(held)
            && now * SHRUNK < before
        {
            return Err(format!(
                "{}: has shrunk from {before} to {now} bytes; nothing was changed (toise import accepts it anyway)",
                published.url
            ));
        }
        count += 1;
    }
    Ok(count)
}

/// Returns the day from which changes of diagnostics are queried; `None` for all.
fn first_day(held: &HeldDiagnostics) -> Option<String> {
    let day = |text: &str| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    // A date in the future is an error in one diagnostic.
    let latest = day(held.survey.changed.as_deref()?)?.min(day(&held.asked_on)?);
    let first = latest.checked_sub_days(Days::new(OVERLAP_DAYS))?;
    Some(first.to_string())
}

/// Divides the departments that are due, by first day, into batches.
fn batches(due: BTreeMap<String, Vec<(String, u64)>>) -> Vec<DiagnosticsBatch> {
    let mut batches = Vec::new();
    for (since, departments) in due {
        let since = if since.is_empty() {
            DiagnosticRange::Beginning
        } else {
            DiagnosticRange::Changed(since)
        };
        let (mut codes, mut rows) = (Vec::new(), 0);
        for (code, count) in departments {
            if !codes.is_empty() && rows + count > BATCH_DIAGNOSTICS {
                let codes = std::mem::take(&mut codes);
                batches.push(DiagnosticsBatch {
                    codes,
                    since: since.clone(),
                });
                rows = 0;
            }
            codes.push(code);
            rows += count;
        }
        batches.push(DiagnosticsBatch { codes, since });
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(url: &str, tag: &str, bytes: u64, changed: &str) -> FileVersion {
        FileVersion {
            url: url.into(),
            tag: tag.into(),
            changed: Some(format!("{changed}T00:00:00Z").parse().unwrap()),
            bytes: Some(bytes),
        }
    }

    #[test]
    fn a_version_is_due_if_it_is_new_and_no_shadow_of_the_one_before() {
        let held = version("https://a/48.csv.gz", "1", 1_000, "2026-04-10");
        let of = |published: &FileVersion| due([(Some(published), Some(&held))].into_iter());
        assert_eq!(of(&held), Ok(0));
        assert_eq!(
            of(&version("https://a/48.csv.gz", "2", 990, "2026-10-10")),
            Ok(1)
        );
        let refused = of(&version("https://a/48.csv.gz", "2", 10, "2026-10-10")).unwrap_err();
        assert!(
            refused.contains("has shrunk from 1000 to 10 bytes"),
            "{refused}"
        );
        // The same edition at another address, and a later edition there in files that cover other areas or years.
        assert_eq!(
            of(&version(
                "https://b/full-2024.csv.gz",
                "2",
                10,
                "2026-04-10"
            )),
            Ok(0)
        );
        assert_eq!(
            of(&version(
                "https://b/full-2024.csv.gz",
                "2",
                10,
                "2026-10-10"
            )),
            Ok(1)
        );
        assert_eq!(due([(None, Some(&held))].into_iter()), Ok(0));
        assert_eq!(due([(Some(&held), None)].into_iter()), Ok(1));
    }

    #[test]
    fn changes_are_asked_for_from_some_days_before_the_latest_known_one() {
        let held = |changed: &str, asked_on: &str| HeldDiagnostics {
            survey: Survey {
                total: 1,
                changed: Some(changed.into()),
            },
            asked_on: asked_on.into(),
        };
        let first = first_day(&held("2026-11-20", "2026-11-27"));
        assert_eq!(first.as_deref(), Some("2026-11-13"));
        let first = first_day(&held("2099-01-01", "2026-11-27"));
        assert_eq!(first.as_deref(), Some("2026-11-20"));
        assert_eq!(first_day(&held("soon", "2026-11-27")), None);
    }

    #[test]
    fn batches_are_bounded_and_have_one_first_day_each() {
        let department = |code: &str, rows| (code.to_owned(), rows);
        let due = BTreeMap::from([
            (
                String::new(),
                vec![
                    department("13", 700_000),
                    department("48", 20_000),
                    department("75", 800_000),
                ],
            ),
            ("2026-11-13".to_owned(), vec![department("12", 5)]),
        ]);
        let codes: Vec<Vec<String>> = batches(due).into_iter().map(|batch| batch.codes).collect();
        assert_eq!(codes, [vec!["13", "48"], vec!["75"], vec!["12"]]);
    }
}
