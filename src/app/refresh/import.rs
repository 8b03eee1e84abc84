//! Carries out a plan: fetches and imports the data, then updates the index of addresses and the model. Records each
//! step.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;

use super::editions::Editions;
use super::plan::{DiagnosticsBatch, Plan, SourcePlan};
use super::{Action, Refresher, Training, held_departments, stored};
use crate::{Failure, contours, importing, training};
use toise_base::clock::iso;
use toise_estimate::{model, store};
use toise_geocode::resolve::LazyGeocoder;
use toise_geocode::{folder as index, table};
use toise_lake::{ImportOutcome, Lake};
use toise_net::discard;
use toise_opendata::import::ImportOptions;
use toise_opendata::{Dataset, ImportTable, dpe, dvf};
use toise_sources::{FetchedSources, FileVersion, addresses, diagnostics, sales};

/// Number of diagnostics of a department that may always be withdrawn at once, regardless of their share.
const WITHDRAWN_MAX: usize = 100;
/// Above [`WITHDRAWN_MAX`], at most one in this many diagnostics of a department may be withdrawn at once. A larger
/// number counts as a fault of the source.
const WITHDRAWN_SHARE: usize = 10;

/// The outcome of a refresh for one source.
#[derive(Clone, Debug, Serialize)]
pub struct SourceOutcome {
    /// The edition of the source.
    #[serde(flatten)]
    pub plan: SourcePlan,
    /// The action that was planned.
    pub action: Action,
    /// Changes of the table.
    pub changes: ImportOutcome,
    /// Diagnostics that were removed because the source no longer lists them.
    pub withdrawn: u64,
    /// Sales and diagnostics without a position that got one because addresses changed.
    pub placed: u64,
    /// Reports of the imports.
    pub reports: Vec<PathBuf>,
}

impl SourceOutcome {
    /// Returns whether something was imported, removed or placed.
    pub fn changed_anything(&self) -> bool {
        !self.reports.is_empty() || self.withdrawn > 0 || self.placed > 0
    }
}

/// The model that was trained.
#[derive(Clone, Debug, Serialize)]
pub struct ModelOutcome {
    /// Its version; `None` if there are too few sales.
    pub version: Option<String>,
    /// Sales that it was trained on.
    pub sales: u64,
    /// Why it was not trained.
    pub note: Option<String>,
}

/// The result of a refresh.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Departments.
    pub departments: Vec<String>,
    /// Addresses, sales and diagnostics.
    pub sources: Vec<SourceOutcome>,
    /// The model, if one was due.
    pub model: Option<ModelOutcome>,
    /// Why no model could be trained.
    pub model_failure: Option<String>,
}

impl Outcome {
    /// Returns what went wrong, with the name of the table.
    pub fn failures(&self) -> Vec<String> {
        let sources = self.sources.iter().flat_map(|source| {
            let table = source.plan.table;
            let failures = source.plan.failures.iter();
            failures.map(move |failure| format!("{table}: {failure}"))
        });
        let model = self
            .model_failure
            .iter()
            .map(|failure| format!("model: {failure}"));
        sources.chain(model).collect()
    }

    /// Returns whether all sources failed and nothing was imported.
    pub fn has_only_failures(&self) -> bool {
        let mut sources = self.sources.iter();
        sources.all(|source| !source.plan.failures.is_empty() && source.reports.is_empty())
    }
}

impl Refresher<'_> {
    /// Fetches and imports what a plan lists, addresses first, then trains a model if sales changed. `report` is called
    /// after each source. A failure of one source is part of the result, and the other sources continue.
    ///
    /// # Errors
    /// The record of what was imported cannot be read or written.
    pub fn run(
        &self,
        plan: &Plan,
        report: &mut dyn FnMut(&SourceOutcome),
    ) -> Result<Outcome, Failure> {
        let mut editions = self.editions_held()?;
        let mut sources = Vec::new();
        for source in &plan.sources {
            let mut outcome = SourceOutcome {
                plan: source.clone(),
                action: source.action(),
                changes: ImportOutcome::default(),
                withdrawn: 0,
                placed: 0,
                reports: Vec::new(),
            };
            let brought = match source.table {
                "ban" => self.import_addresses(plan, &mut editions, &mut outcome),
                "dvf" => self.import_sales(plan, &mut editions, &mut outcome),
                _ => self.import_diagnostics(plan, &mut editions, &mut outcome),
            };
            if let Err(error) = brought {
                outcome.plan.failures.push(error.to_string());
            }
            report(&outcome);
            sources.push(outcome);
        }
        let (model, model_failure) = match self.train(&mut editions) {
            Ok(model) => (model, None),
            Err(error) => (None, Some(error.to_string())),
        };
        self.remember(plan, &sources, &mut editions)?;
        Ok(Outcome {
            departments: plan.departments.clone(),
            sources,
            model,
            model_failure,
        })
    }

    fn import_addresses(
        &self,
        plan: &Plan,
        editions: &mut Editions,
        outcome: &mut SourceOutcome,
    ) -> Result<(), Failure> {
        let codes = &plan.address_codes;
        if !codes.is_empty() {
            // Written first, so that a later refresh updates the index and the sales even if this process is killed
            // after the import.
            editions.unplaced.extend(codes.iter().cloned());
            editions.save(self.data)?;
            let base = &self.options.places.addresses;
            let held = &editions.addresses;
            let fetched = addresses::fetch_good(self.downloads(), base, codes, held);
            let fetched = self.runtime.block_on(fetched)?;
            let options = ImportOptions {
                departments: codes.clone(),
                ..self.import_options()
            };
            self.import(ImportTable::Ban, &fetched, &options, outcome)?;
            editions.addresses.extend(fetched.versions);
            editions.save(self.data)?;
        }
        if editions.unplaced.is_empty() {
            return Ok(());
        }
        let lake = Lake::open(self.data)?;
        let rows = lake.snapshot(table::schema())?.rows();
        let bar = self.options.progress.rows("index of addresses", rows);
        index::rebuild(self.data, &|rows| bar.inc(rows))?;
        bar.finish_and_clear();
        let unplaced = Vec::from_iter(editions.unplaced.clone());
        let placed = importing::place_records(self.data, self.options.keep_versions, &unplaced)?;
        outcome.placed = placed.sales.placed + placed.diagnostics.placed;
        if placed.sales.placed > 0 {
            editions.trained_on = None;
        }
        editions.unplaced.clear();
        Ok(editions.save(self.data)?)
    }

    fn import_sales(
        &self,
        plan: &Plan,
        editions: &mut Editions,
        outcome: &mut SourceOutcome,
    ) -> Result<(), Failure> {
        let years = plan.sales.iter().map(|(_, year)| *year);
        let (Some(first), Some(last)) = (years.clone().min(), years.max()) else {
            return Ok(());
        };
        let places = &self.options.places.sales;
        let fetched = sales::fetch_good(self.downloads(), places, plan.sales.clone());
        let fetched = self.runtime.block_on(fetched)?;
        let codes: BTreeSet<&String> = plan.sales.iter().map(|(code, _)| code).collect();
        let options = ImportOptions {
            departments: codes.into_iter().cloned().collect(),
            years: Some(first..=last),
            iris: contours::open_or_keep(self.data, None)?,
            geocoder: LazyGeocoder::new(self.data.to_owned()),
            ..self.import_options()
        };
        self.import(Dataset::Dvf.into(), &fetched, &options, outcome)?;
        editions.sales.extend(fetched.versions);
        Ok(editions.save(self.data)?)
    }

    fn import_diagnostics(
        &self,
        plan: &Plan,
        editions: &mut Editions,
        outcome: &mut SourceOutcome,
    ) -> Result<(), Failure> {
        let base = &self.options.places.diagnostics;
        for DiagnosticsBatch { codes, since } in &plan.batches {
            let fetched = diagnostics::fetch(self.downloads(), base, codes, since);
            let fetched = self.runtime.block_on(fetched)?;
            let options = ImportOptions {
                departments: codes.clone(),
                geocoder: LazyGeocoder::new(self.data.to_owned()),
                ..self.import_options()
            };
            self.import(Dataset::Dpe.into(), &fetched, &options, outcome)?;
            let surveyed = codes.iter().filter_map(|code| {
                let survey = plan.surveys.get(code)?;
                Some((code.clone(), survey.clone()))
            });
            editions.diagnostics.extend(surveyed);
            editions.save(self.data)?;
        }
        self.remove_withdrawn(plan, editions, outcome)
    }

    /// Removes the diagnostics that the source no longer lists. Checks the departments for which it has fewer
    /// diagnostics than the table.
    fn remove_withdrawn(
        &self,
        plan: &Plan,
        editions: &Editions,
        outcome: &mut SourceOutcome,
    ) -> Result<(), Failure> {
        let lake = Lake::open(self.data)?.keeping(self.options.keep_versions);
        let held = stored::rows_by_department(&lake, dpe::schema())?;
        let base = &self.options.places.diagnostics;
        let mut withdrawn = Vec::new();
        for (code, has) in &plan.surveys {
            let count = held.get(code).copied().unwrap_or(0);
            if !editions.diagnostics.contains_key(code) || count <= has.survey.total {
                continue;
            }
            let listed = diagnostics::numbers(&self.client, base, code);
            let listed = self.runtime.block_on(listed)?;
            let ids = stored::ids_of(&lake, dpe::schema(), code)?;
            let missing: Vec<&String> = ids.difference(&listed).collect();
            if missing.len() > WITHDRAWN_MAX && missing.len() * WITHDRAWN_SHARE > ids.len() {
                outcome.plan.failures.push(format!(
                    "diagnostics of {code}: {base} no longer lists {} of {}; none was removed",
                    missing.len(),
                    ids.len()
                ));
                continue;
            }
            withdrawn.extend(missing.into_iter().cloned());
        }
        if withdrawn.is_empty() {
            return Ok(());
        }
        let mut table = lake.import(dpe::schema())?;
        for id in &withdrawn {
            table.remove(id);
        }
        let removed = table.publish(Vec::new(), Vec::new())?;
        outcome.withdrawn = removed.removed;
        outcome.changes.add(&removed);
        Ok(())
    }

    fn import_options(&self) -> ImportOptions {
        ImportOptions {
            progress: self.options.progress,
            clock: self.clock.clone(),
            refuses_shrunk: true,
            ..ImportOptions::default()
        }
    }

    /// Imports what was fetched. If that fails, the files are deleted, so that they are fetched again.
    fn import(
        &self,
        table: ImportTable,
        fetched: &FetchedSources,
        options: &ImportOptions,
        outcome: &mut SourceOutcome,
    ) -> Result<(), Failure> {
        outcome
            .plan
            .failures
            .extend(fetched.failures.iter().cloned());
        if fetched.inputs.is_empty() {
            return Ok(());
        }
        let kept = self.options.keep_versions;
        match importing::import(self.data, kept, table, fetched, options) {
            Ok((report, path)) => {
                if let Some(changes) = &report.outcome {
                    outcome.changes.add(changes);
                }
                outcome.reports.push(path);
                Ok(())
            }
            Err(error) => {
                for input in &fetched.inputs {
                    discard(&input.path)?;
                }
                if let Some(folder) = &fetched.temporary {
                    std::fs::remove_dir_all(folder)?;
                }
                Err(error)
            }
        }
    }

    /// Trains a model if the sales differ from the sales that the current model was trained on.
    fn train(&self, editions: &mut Editions) -> Result<Option<ModelOutcome>, Failure> {
        let folder = self.data.join(store::FOLDER);
        let sales = Lake::open(self.data)?.snapshot(dvf::schema())?;
        if self.options.training == Training::Never || sales.rows() == 0 {
            return Ok(None);
        }
        // Merging files does not change this time.
        let read_at = sales.sources.last().map(|source| source.read_at.as_str());
        let state = format!("{} {}", sales.rows(), read_at.unwrap_or_default());
        let has_model = folder.join(store::CURRENT).exists();
        if has_model && editions.trained_on.as_ref() == Some(&state) {
            return Ok(None);
        }
        let mut hints = None;
        let (clock, progress) = (&self.clock, self.options.progress);
        let note = |hint: &str| hints = Some(hint.to_owned());
        match training::train_lake(self.data, None, clock, progress, note) {
            Ok((model, _)) => {
                model.save(&folder)?;
                editions.trained_on = Some(state);
                editions.save(self.data)?;
                let metadata = model.metadata();
                Ok(Some(ModelOutcome {
                    version: Some(metadata.version.clone()),
                    sales: metadata.sales,
                    note: hints,
                }))
            }
            Err(error @ model::Error::TooFew { .. }) => Ok(Some(ModelOutcome {
                version: None,
                sales: 0,
                note: Some(error.to_string()),
            })),
            Err(error) => Err(error.into()),
        }
    }

    /// Records the outcome for each source.
    fn remember(
        &self,
        plan: &Plan,
        sources: &[SourceOutcome],
        editions: &mut Editions,
    ) -> Result<(), Failure> {
        let now = iso(self.clock.now());
        let held = held_departments(self.data)?;
        let is_whole = held.iter().all(|code| plan.departments.contains(code));
        for source in sources {
            let newest_held = match source.plan.table {
                "ban" => newest(editions.addresses.values()),
                "dvf" => newest(editions.sales.values()),
                _ => {
                    let surveys = editions.diagnostics.values();
                    surveys.filter_map(|held| held.survey.changed.clone()).max()
                }
            };
            let state = editions
                .sources
                .entry(source.plan.table.to_owned())
                .or_default();
            let is_current = source.plan.failures.is_empty();
            state.held = newest_held;
            if source.plan.available.is_some() {
                state.available.clone_from(&source.plan.available);
            }
            state.failures.clone_from(&source.plan.failures);
            if is_current && is_whole {
                state.current_at = Some(now.clone());
            }
        }
        editions.refreshed_at = Some(now);
        Ok(editions.save(self.data)?)
    }
}

fn newest<'v>(versions: impl Iterator<Item = &'v FileVersion>) -> Option<String> {
    versions.filter_map(FileVersion::edition).max()
}
