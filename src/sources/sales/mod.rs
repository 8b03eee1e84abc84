//! Fetches the recorded sales of departments and years. Places are asked in this order, and the next one only for what
//! is still missing because a place failed or moved its files away:
//!
//! 1. the catalogue: yearly files of the whole country, else one file of all years;
//! 2. the folder tree: one file per department and year;
//! 3. a mirror of the folder tree, if one is named;
//! 4. the tax office's raw files, which have no positions, through the catalogue.
//!
//! A place that serves files and still has them at the end of its turn decides what is published: what it lacks is a
//! note, not a reason to ask the next one. If the folder tree goes away during a run, the catalogue is asked again.

pub mod files;
#[cfg(test)]
mod import_tests;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};
use std::ops::RangeInclusive;

use self::files::{Coverage, SalesFile};
use super::catalogue::{self, CATALOGUE_BASE};
use super::{Downloads, Error, FetchedSources, check, edition, file_error};
use toise_lake::Slice;
use toise_opendata::import::ImportInput;

/// Base URL of the folder tree of geo-dvf.
pub const DVF_BASE: &str = "https://files.data.gouv.fr/geo-dvf";
/// Identifier of the dataset of geo-dvf in the catalogue.
pub const GEO_DATASET: &str = "5cc1b94a634f4165e96436c1";
/// Identifier of the dataset of the tax office's raw files in the catalogue.
pub const RAW_DATASET: &str = "5c4ae55a634f4117716d5656";
/// Departments whose land register is not run by the tax office, so they have no recorded sales.
pub const WITHOUT_SALES: [&str; 4] = ["57", "67", "68", "976"];

/// Maximum size of a file, bytes. A year of the country has about 100 MB as CSV.gz, a department and year at most 5 MB.
const SALES_BYTES_MAX: u64 = 4 << 30;

/// Where sales are fetched from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SalesPlaces {
    /// Base URL of the catalogue's API; `None` does not ask it.
    pub catalogue: Option<String>,
    /// Base URL of the folder tree.
    pub tree: String,
    /// Base URL of a mirror of the folder tree.
    pub mirror: Option<String>,
}

impl Default for SalesPlaces {
    fn default() -> Self {
        Self {
            catalogue: Some(CATALOGUE_BASE.to_owned()),
            tree: DVF_BASE.to_owned(),
            mirror: None,
        }
    }
}

/// One place to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Catalogue,
    Tree,
    Mirror,
    Raw,
}

/// How the turn of a place ended.
#[derive(Debug)]
enum Turn {
    /// It served files and still has them: what it lacks is not published.
    Decided,
    /// It has none of the files, for the reason given.
    Without(String),
    /// It served files and no longer has them.
    Moved(String),
}

/// Fetches the sales of departments and years. The notes say which place served them and why, and what is not published.
///
/// # Errors
/// An unknown department. A file differs from the checksum of the catalogue. All places failed; what was downloaded so
/// far is kept for the next attempt.
pub async fn fetch(
    downloads: Downloads<'_>,
    places: &SalesPlaces,
    codes: &[String],
    years: RangeInclusive<i32>,
) -> Result<FetchedSources, Error> {
    check(codes)?;
    let mut run = Run {
        downloads,
        places,
        wanted: BTreeSet::new(),
        fetched: FetchedSources::default(),
    };
    for code in codes {
        if WITHOUT_SALES.contains(&code.as_str()) {
            let note =
                format!("department {code} has no published sales (its land register is separate)");
            run.fetched.notes.push(note);
        } else {
            let slices = years.clone().map(|year| (code.clone(), year));
            run.wanted.extend(slices);
        }
    }
    run.ask_places().await?;
    for (code, year) in &run.wanted {
        let note = format!("no sales published for department {code} in {year}");
        run.fetched.notes.push(note);
    }
    Ok(run.fetched)
}

/// What is still wanted and what was fetched.
struct Run<'a> {
    downloads: Downloads<'a>,
    places: &'a SalesPlaces,
    /// Departments and years that no place has served yet.
    wanted: BTreeSet<(String, i32)>,
    fetched: FetchedSources,
}

impl Run<'_> {
    async fn ask_places(&mut self) -> Result<(), Error> {
        let mut queue = VecDeque::from([Place::Tree]);
        if self.places.catalogue.is_some() {
            queue.push_front(Place::Catalogue);
        }
        if self.places.mirror.is_some() {
            queue.push_back(Place::Mirror);
        }
        if self.places.catalogue.is_some() {
            queue.push_back(Place::Raw);
        }
        let (mut reasons, mut has_failed, mut asked_again) = (Vec::new(), false, false);
        while let Some(place) = queue.pop_front() {
            if self.wanted.is_empty() {
                return Ok(());
            }
            let files_before = self.fetched.inputs.len();
            let places = self.places;
            let turn = match place {
                Place::Catalogue => self.ask_catalogue(GEO_DATASET).await,
                Place::Tree => self.ask_tree(&places.tree).await,
                Place::Mirror => {
                    self.ask_tree(places.mirror.as_deref().unwrap_or_default())
                        .await
                }
                Place::Raw => self.ask_catalogue(RAW_DATASET).await,
            };
            self.note_place(place, files_before, &reasons);
            let reason = match turn {
                Ok(Turn::Decided) => return Ok(()),
                Ok(Turn::Without(reason)) => reason,
                Ok(Turn::Moved(reason)) => {
                    has_failed = true;
                    if place == Place::Tree && self.places.catalogue.is_some() && !asked_again {
                        asked_again = true;
                        queue.push_front(Place::Catalogue);
                    }
                    reason
                }
                Err(error) if error.is_of_place() => {
                    has_failed |= !error.is_not_found();
                    error.to_string()
                }
                Err(error) => return Err(error),
            };
            reasons.push(format!("{}: {reason}", self.name(place)));
        }
        if has_failed && !self.wanted.is_empty() {
            return Err(Error::Unavailable { reasons });
        }
        self.fetched.notes.extend(reasons);
        Ok(())
    }

    fn name(&self, place: Place) -> String {
        let catalogue = self.places.catalogue.as_deref().unwrap_or_default();
        match place {
            Place::Catalogue => format!("the catalogue {catalogue}"),
            Place::Tree => format!("the folder tree {}", self.places.tree),
            Place::Mirror => {
                format!(
                    "the mirror {}",
                    self.places.mirror.as_deref().unwrap_or_default()
                )
            }
            Place::Raw => format!("the tax office's raw files in the catalogue {catalogue}"),
        }
    }

    /// Notes which files a place served, and why those before it did not.
    fn note_place(&mut self, place: Place, files_before: usize, reasons: &[String]) {
        let files = &self.fetched.inputs[files_before..];
        let Some(first) = files.first() else {
            return;
        };
        let editions: BTreeSet<&str> = files
            .iter()
            .filter_map(|file| file.edition.as_deref())
            .collect();
        let editions = Vec::from_iter(editions).join(", ");
        let what = match files.len() {
            1 => first.name.clone(),
            count => format!("{count} files"),
        };
        let mut note = format!(
            "sales from {}: {what} (edition {editions})",
            self.name(place)
        );
        if !reasons.is_empty() {
            note = format!("{note}, because {}", reasons.join("; "));
        }
        if place == Place::Raw {
            note.push_str("; raw files have no positions");
        }
        self.fetched.notes.push(note);
    }

    /// Asks the folder tree under a base URL.
    async fn ask_tree(&mut self, base: &str) -> Result<Turn, Error> {
        let base = base.trim_end_matches('/');
        let mut served: Option<ImportInput> = None;
        for (code, year) in self.wanted.clone() {
            let url = format!("{base}/latest/csv/{year}/departements/{code}.csv.gz");
            let path = self.downloads.path("dvf", &format!("{year}-{code}.csv.gz"));
            let slice = Slice {
                place: code.clone(),
                year: Some(year),
            };
            let input = self
                .downloads
                .edition_file(&url, &path, SALES_BYTES_MAX, Some(vec![slice]))
                .await;
            match input {
                Ok(input) => {
                    self.fetched.inputs.push(input.clone());
                    self.wanted.remove(&(code, year));
                    served = Some(input);
                }
                Err(error) if error.is_not_found() => {
                    let Some(served) = &served else { continue };
                    // Either this slice is not published, or the whole tree has gone away since.
                    let again = self
                        .downloads
                        .get(&served.name, &served.path, SALES_BYTES_MAX);
                    match again.await.map_err(Error::from) {
                        Ok(_) => {}
                        Err(error) if error.is_not_found() => {
                            return Ok(Turn::Moved(
                                "its files went away during the run".to_owned(),
                            ));
                        }
                        Err(error) => return Err(error),
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(match served {
            Some(_) => Turn::Decided,
            None => Turn::Without("it has none of the files (404)".to_owned()),
        })
    }

    /// Lists a dataset of the catalogue and downloads the files of the wanted sales. If a file is no longer there, or is
    /// not the one listed, the dataset is listed once more: the publisher may have replaced it.
    async fn ask_catalogue(&mut self, dataset: &str) -> Result<Turn, Error> {
        let mut relisted = false;
        loop {
            let files = self.list(dataset).await?;
            if files.is_empty() {
                return Ok(Turn::Without("it lists no file of sales".to_owned()));
            }
            let mut replaced = None;
            for file in files {
                let slices = self.wanted_in(&file);
                if slices.is_empty() {
                    continue;
                }
                match self.take(dataset, &file, slices).await {
                    Ok(()) => {}
                    Err(error)
                        if error.is_not_found() || matches!(error, Error::Differs { .. }) =>
                    {
                        replaced = Some(error);
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
            match replaced {
                None => return Ok(Turn::Decided),
                Some(error) if relisted && error.is_not_found() => {
                    return Ok(Turn::Moved(format!(
                        "it lists a file that is gone: {error}"
                    )));
                }
                Some(error) if relisted => return Err(error),
                Some(_) => relisted = true,
            }
        }
    }

    /// Lists the files of a dataset that are used: those of a year or a slice, and one of all years only if there is no
    /// other.
    async fn list(&self, dataset: &str) -> Result<Vec<SalesFile>, Error> {
        let base = self.places.catalogue.as_deref().unwrap_or_default();
        let resources = catalogue::resources(self.downloads.client, base, dataset).await?;
        let mut files = files::list(&resources);
        if files.iter().any(|file| file.coverage != Coverage::Country) {
            files.retain(|file| file.coverage != Coverage::Country);
        }
        Ok(files)
    }

    /// Returns the wanted departments and years that a file covers.
    fn wanted_in(&self, file: &SalesFile) -> Vec<(String, i32)> {
        let wanted = self.wanted.iter();
        let covered = wanted.filter(|(code, year)| match &file.coverage {
            Coverage::Slice {
                department,
                year: own,
            } => department == code && own == year,
            Coverage::Year(own) => own == year,
            Coverage::Country => true,
        });
        covered.cloned().collect()
    }

    /// Downloads a listed file, unless it is already there, and verifies it.
    async fn take(
        &mut self,
        dataset: &str,
        file: &SalesFile,
        slices: Vec<(String, i32)>,
    ) -> Result<(), Error> {
        let resource = &file.resource;
        let path = self
            .downloads
            .path("dvf", &format!("{dataset}/{}", file.stored_name()));
        // The years in a file of all years are known only from its rows.
        let covered = (file.coverage != Coverage::Country).then(|| {
            let slices = slices.iter().map(|(code, year)| Slice {
                place: code.clone(),
                year: Some(*year),
            });
            slices.collect::<Vec<_>>()
        });
        let mut input = if resource.is_at(&path) {
            ImportInput {
                edition: Some(edition(self.downloads.now)),
                slices: covered,
                has_all_columns: true,
                name: resource.url.clone(),
                path,
            }
        } else {
            let input = self
                .downloads
                .edition_file(&resource.url, &path, SALES_BYTES_MAX, covered)
                .await?;
            if let Err(error) = resource.verify(&input.path) {
                std::fs::remove_file(&input.path)
                    .map_err(|source| file_error(&input.path, source))?;
                return Err(error);
            }
            input
        };
        if let Some(changed) = resource.last_modified {
            input.edition = Some(edition(changed));
        }
        self.fetched.inputs.push(input);
        for slice in slices {
            self.wanted.remove(&slice);
        }
        Ok(())
    }
}
