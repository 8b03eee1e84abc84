//! Fetches the recorded sales of departments and years. Locations are tried in this order. Each is asked only for files
//! that are still missing because the previous locations failed or moved them:
//!
//! 1. the catalogue: yearly files of the whole country, otherwise one file of all years;
//! 2. the folder tree: one file per department and year;
//! 3. a mirror of the folder tree, if one is named;
//! 4. the tax office's raw files, which have no positions, through the catalogue.
//!
//! A location that serves files, and still has them after the last request to it, decides what is published: what it
//! lacks is a note, not a reason to try the next one. If the folder tree disappears during a run, the catalogue is
//! tried again.
//!
//! The same code serves three purposes: an import, which needs all files; a refresh, which takes the good ones and
//! never replaces sales that have positions by raw ones; and a list of the versions, which downloads nothing.

pub mod files;
#[cfg(test)]
mod import_tests;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;
use std::path::Path;

use self::files::{Coverage, SalesFile};
use super::catalogue::{self, CATALOGUE_BASE};
use super::{
    Downloads, Error, FetchedSources, FileVersion, PublishedFiles, check, edition, file_error,
};
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
    /// Base URL of the catalogue's API; `None` to skip it.
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

/// A location of sales.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Catalogue,
    Tree,
    Mirror,
    Raw,
}

/// The purpose of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// All files, or an error.
    Import,
    /// The files that are available. The others are failures.
    Refresh,
    /// Versions only.
    List,
}

/// The result of trying a location.
#[derive(Debug)]
enum LocationResult {
    /// It served files and still has them: what it lacks is not published.
    Decided,
    /// It has none of the files, for the reason given.
    Without(String),
    /// It served files and no longer has them.
    Moved(String),
}

/// Fetches the sales of departments and years. The notes say which location served them and why, and what is not
/// published.
///
/// # Errors
/// An unknown department. A file differs from the checksum of the catalogue. All locations failed; what was downloaded
/// so far is kept for the next attempt.
pub async fn fetch(
    downloads: Downloads<'_>,
    places: &SalesPlaces,
    codes: &[String],
    years: RangeInclusive<i32>,
) -> Result<FetchedSources, Error> {
    check(codes)?;
    let wanted = slices(codes, years);
    let mut fetched = Run::new(downloads, places, wanted, Purpose::Import)
        .ask()
        .await?;
    let without = codes.iter().filter(|code| !has_sales(code));
    let without = without.map(|code| {
        format!("department {code} has no published sales (its land register is separate)")
    });
    fetched.notes.splice(0..0, without);
    Ok(fetched)
}

/// Asks for the versions of the sales of departments and years, by [`key`]. Slices that are not published are omitted.
///
/// # Errors
/// An unknown department.
pub async fn published(
    downloads: Downloads<'_>,
    places: &SalesPlaces,
    codes: &[String],
    years: RangeInclusive<i32>,
) -> Result<PublishedFiles, Error> {
    check(codes)?;
    let wanted = slices(codes, years);
    let listed = Run::new(downloads, places, wanted, Purpose::List)
        .ask()
        .await?;
    Ok(PublishedFiles {
        versions: listed.versions,
        failures: listed.failures,
    })
}

/// Fetches slices as [`fetch`] does, but skips damaged files and slices that no location has. Both are listed as
/// failures. Raw files are not used.
///
/// # Errors
/// A file cannot be written.
pub async fn fetch_good(
    downloads: Downloads<'_>,
    places: &SalesPlaces,
    wanted: BTreeSet<(String, i32)>,
) -> Result<FetchedSources, Error> {
    Run::new(downloads, places, wanted, Purpose::Refresh)
        .ask()
        .await
}

/// Returns the departments and years in which sales can be published.
fn slices(codes: &[String], years: RangeInclusive<i32>) -> BTreeSet<(String, i32)> {
    let codes = codes.iter().filter(|code| has_sales(code));
    let slices = codes.flat_map(|code| years.clone().map(|year| (code.clone(), year)));
    slices.collect()
}

/// Returns whether sales of a department are published.
pub fn has_sales(code: &str) -> bool {
    !WITHOUT_SALES.contains(&code)
}

/// Returns the key of the sales of a department and year: `48 2024`.
pub fn key(code: &str, year: i32) -> String {
    format!("{code} {year}")
}

/// The state of a run: what is still wanted and what was fetched.
struct Run<'a> {
    downloads: Downloads<'a>,
    places: &'a SalesPlaces,
    /// Departments and years that no location has served yet.
    wanted: BTreeSet<(String, i32)>,
    purpose: Purpose,
    /// In a refresh: wanted slices whose file is bad, with the reason.
    bad: BTreeMap<(String, i32), String>,
    fetched: FetchedSources,
}

impl<'a> Run<'a> {
    fn new(
        downloads: Downloads<'a>,
        places: &'a SalesPlaces,
        wanted: BTreeSet<(String, i32)>,
        purpose: Purpose,
    ) -> Self {
        Self {
            downloads,
            places,
            wanted,
            purpose,
            bad: BTreeMap::new(),
            fetched: FetchedSources::default(),
        }
    }

    async fn ask(mut self) -> Result<FetchedSources, Error> {
        match self.ask_places().await {
            Err(error @ Error::Unavailable { .. }) if self.purpose != Purpose::Import => {
                self.fetched.failures.push(error.to_string());
                return Ok(self.fetched);
            }
            outcome => outcome?,
        }
        let bad = self
            .bad
            .iter()
            .filter(|(slice, _)| self.wanted.contains(*slice));
        let reasons: BTreeSet<&String> = bad.map(|(_, reason)| reason).collect();
        self.fetched.failures.extend(reasons.into_iter().cloned());
        let unpublished = self
            .wanted
            .iter()
            .filter(|slice| !self.bad.contains_key(*slice));
        let notes = unpublished
            .map(|(code, year)| format!("no sales published for department {code} in {year}"));
        self.fetched.notes.extend(notes);
        Ok(self.fetched)
    }

    async fn ask_places(&mut self) -> Result<(), Error> {
        let mut queue = VecDeque::from([Place::Tree]);
        if self.places.catalogue.is_some() {
            queue.push_front(Place::Catalogue);
        }
        if self.places.mirror.is_some() {
            queue.push_back(Place::Mirror);
        }
        if self.places.catalogue.is_some() && self.purpose == Purpose::Import {
            queue.push_back(Place::Raw);
        }
        let (mut reasons, mut has_failed, mut asked_again) = (Vec::new(), false, false);
        while let Some(place) = queue.pop_front() {
            if self.wanted.is_empty() {
                return Ok(());
            }
            let files_before = self.fetched.inputs.len();
            let places = self.places;
            let result = match place {
                Place::Catalogue => self.ask_catalogue(GEO_DATASET).await,
                Place::Tree => self.ask_tree(&places.tree).await,
                Place::Mirror => {
                    self.ask_tree(places.mirror.as_deref().unwrap_or_default())
                        .await
                }
                Place::Raw => self.ask_catalogue(RAW_DATASET).await,
            };
            self.note_place(place, files_before, &reasons);
            let reason = match result {
                Ok(LocationResult::Decided) => return Ok(()),
                Ok(LocationResult::Without(reason)) => reason,
                Ok(LocationResult::Moved(reason)) => {
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

    /// Notes which files a location served, and why the previous ones did not.
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

    /// Tries the folder tree under a base URL.
    async fn ask_tree(&mut self, base: &str) -> Result<LocationResult, Error> {
        let base = base.trim_end_matches('/');
        let (mut served, mut has_bad) = (None, false);
        for (code, year) in self.wanted.clone() {
            let url = format!("{base}/latest/csv/{year}/departements/{code}.csv.gz");
            let path = self.downloads.path("dvf", &format!("{year}-{code}.csv.gz"));
            let slice = (code, year);
            match self.take_slice(&url, &path, &slice).await {
                Ok(()) => {
                    self.wanted.remove(&slice);
                    served = Some((url, path));
                }
                Err(error) if error.is_of_file() && self.purpose == Purpose::Refresh => {
                    has_bad = true;
                    self.bad.insert(slice, error.to_string());
                }
                Err(error) if error.is_not_found() => {
                    let Some((url, path)) = &served else {
                        continue;
                    };
                    // Either this slice is not published, or the whole tree has disappeared in the meantime.
                    match self.request_again(url, path).await {
                        Ok(()) => {}
                        Err(error) if error.is_not_found() => {
                            return Ok(LocationResult::Moved(
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
            _ if has_bad => LocationResult::Without("a file is damaged".to_owned()),
            Some(_) => LocationResult::Decided,
            None => LocationResult::Without("it has none of the files (404)".to_owned()),
        })
    }

    /// Downloads a file of the folder tree.
    async fn take_slice(
        &mut self,
        url: &str,
        path: &Path,
        (code, year): &(String, i32),
    ) -> Result<(), Error> {
        let version = if self.purpose == Purpose::List {
            let about = self.downloads.client.head(url).await?;
            FileVersion::at(url, &about)
        } else {
            let slice = Slice {
                place: code.clone(),
                year: Some(*year),
            };
            let file = self
                .downloads
                .edition_file(url, path, SALES_BYTES_MAX, Some(vec![slice]));
            let (input, version) = file.await?;
            self.fetched.inputs.push(input);
            version
        };
        self.fetched.versions.insert(key(code, *year), version);
        Ok(())
    }

    /// Requests a file again that was there before.
    async fn request_again(&self, url: &str, path: &Path) -> Result<(), Error> {
        if self.purpose == Purpose::List {
            self.downloads.client.head(url).await?;
        } else {
            self.downloads.get(url, path, SALES_BYTES_MAX).await?;
        }
        Ok(())
    }

    /// Lists a dataset of the catalogue and downloads the files of the wanted sales. If a file is no longer there, or
    /// is not the one listed, the dataset is listed once more, because the publisher may have replaced the file.
    async fn ask_catalogue(&mut self, dataset: &str) -> Result<LocationResult, Error> {
        let mut relisted = false;
        loop {
            let files = self.list(dataset).await?;
            if files.is_empty() {
                return Ok(LocationResult::Without(
                    "it lists no file of sales".to_owned(),
                ));
            }
            let (mut replaced, mut has_bad) = (None, false);
            for file in files {
                let slices = self.wanted_in(&file);
                if slices.is_empty() {
                    continue;
                }
                match self.take(dataset, &file, slices.clone()).await {
                    Ok(()) => {}
                    Err(error)
                        if error.is_of_file() && relisted && self.purpose == Purpose::Refresh =>
                    {
                        has_bad = true;
                        let reason = error.to_string();
                        let bad = slices.into_iter().map(|slice| (slice, reason.clone()));
                        self.bad.extend(bad);
                    }
                    Err(error) if error.is_not_found() || error.is_of_file() => {
                        replaced = Some(error);
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
            match replaced {
                None if has_bad => {
                    return Ok(LocationResult::Without("a file is damaged".to_owned()));
                }
                None => return Ok(LocationResult::Decided),
                Some(error) if relisted && error.is_not_found() => {
                    return Ok(LocationResult::Moved(format!(
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
        if self.purpose == Purpose::List {
            self.hold(&slices, file.version(None));
            return Ok(());
        }
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
        let (mut input, version) = if resource.is_at(&path) {
            let input = ImportInput {
                edition: Some(edition(self.downloads.now)),
                slices: covered,
                has_all_columns: true,
                name: resource.url.clone(),
                path,
            };
            (input, None)
        } else {
            let (input, version) = self
                .downloads
                .edition_file(&resource.url, &path, SALES_BYTES_MAX, covered)
                .await?;
            if let Err(error) = resource.verify(&input.path) {
                std::fs::remove_file(&input.path)
                    .map_err(|source| file_error(&input.path, source))?;
                return Err(error);
            }
            (input, Some(version))
        };
        if let Some(changed) = resource.last_modified {
            input.edition = Some(edition(changed));
        }
        self.fetched.inputs.push(input);
        self.hold(&slices, file.version(version));
        Ok(())
    }

    /// Records the version of the file of slices, which are then no longer wanted.
    fn hold(&mut self, slices: &[(String, i32)], version: FileVersion) {
        for slice in slices {
            let key = key(&slice.0, slice.1);
            self.fetched.versions.insert(key, version.clone());
            self.wanted.remove(slice);
        }
    }
}
