//! Downloads DVF, DPE and BAN from the official sources into `<data>/downloads`, within their rate limits. An
//! interrupted download resumes where it stopped.
//!
//! DVF is one file per department and year, BAN two files per department; each is part of an official edition of its
//! slice. DPE is a sequence of pages of the data-fair API, each with the URL of the next.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::import::ImportInput;
use super::report::SkippedFile;
use toise_base::progress::Progress;
use toise_geo::departments;
use toise_lake::Slice;
use toise_net::{self as net, Client};

/// Base URL of geo-dvf.
pub const DVF_BASE: &str = "https://files.data.gouv.fr/geo-dvf";
/// Base URL of the diagnostics of existing dwellings.
pub const DPE_BASE: &str = "https://data.ademe.fr/data-fair/api/v1/datasets/dpe03existant";
/// Base URL of the national address base.
pub const BAN_BASE: &str = "https://adresse.data.gouv.fr/data/ban/adresses/latest/csv";
/// Departments whose land register is not run by the tax office, so they have no recorded sales.
pub const WITHOUT_SALES: [&str; 4] = ["57", "67", "68", "976"];

/// Maximum size of a file of one department and year, bytes; the largest known is about 5 MB.
const DVF_BYTES_MAX: u64 = 1 << 30;
/// Maximum size of a file of addresses of one department, bytes; the largest is about 40 MB.
const BAN_BYTES_MAX: u64 = 1 << 30;
/// Diagnostics requested per page: the API's maximum.
const PAGE_ROWS: u32 = 10_000;
/// Maximum page size, bytes.
const PAGE_BYTES_MAX: u64 = 512 << 20;
/// How long the pages of a finished download are reused instead of downloaded again.
const FINISHED_KEPT: std::time::Duration = std::time::Duration::from_secs(24 * 3600);
/// Maximum pages of one download; the whole country has about 1,500.
const PAGES_MAX: u32 = 20_000;

/// Why a download failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A network or server error.
    #[error(transparent)]
    Net(#[from] net::Error),
    /// An unknown department.
    #[error("department {0}: unknown department")]
    Department(String),
    /// The response is not a page of results.
    #[error("{url}: not a results page: {reason}")]
    Page {
        /// The requested address.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// A downloaded file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
}

/// Result of a download.
#[derive(Clone, Debug, Default)]
pub struct FetchedSources {
    /// Files to import.
    pub inputs: Vec<ImportInput>,
    /// Slices that the source does not have, in words.
    pub notes: Vec<String>,
    /// Local files that hold something else.
    pub skipped: Vec<SkippedFile>,
    /// Folder to delete after the files have been imported.
    pub temporary: Option<PathBuf>,
}

fn check(codes: &[String]) -> Result<(), Error> {
    match codes.iter().find(|code| departments::rank(code) == 0) {
        Some(unknown) => Err(Error::Department(unknown.clone())),
        None => Ok(()),
    }
}

/// Downloads the sales of departments and years. A slice that the source does not have is added to the notes; it is not
/// an error.
pub async fn dvf(
    client: &Client,
    base: &str,
    codes: &[String],
    years: RangeInclusive<i32>,
    data: &Path,
    progress: Progress,
    now: DateTime<Utc>,
) -> Result<FetchedSources, Error> {
    check(codes)?;
    let mut fetched = FetchedSources::default();
    for code in codes {
        if WITHOUT_SALES.contains(&code.as_str()) {
            let note =
                format!("department {code} has no published sales (its land register is separate)");
            fetched.notes.push(note);
            continue;
        }
        for year in years.clone() {
            let url = format!(
                "{}/latest/csv/{year}/departements/{code}.csv.gz",
                base.trim_end_matches('/')
            );
            let path = data
                .join("downloads")
                .join("dvf")
                .join(format!("{year}-{code}.csv.gz"));
            let slice = Slice {
                place: code.clone(),
                year: Some(year),
            };
            let file = EditionFile {
                url,
                path,
                bytes_max: DVF_BYTES_MAX,
                slice,
            };
            if !fetched.download(client, file, progress, now).await? {
                fetched.notes.push(format!(
                    "no sales published for department {code} in {year}"
                ));
            }
        }
    }
    Ok(fetched)
}

/// Downloads addresses and named places of departments.
///
/// The two files of a department form one edition, which replaces what the table holds of the department.
///
/// # Errors
/// An unknown department, or a file that cannot be downloaded. Files downloaded so far are kept for the next attempt.
pub async fn ban(
    client: &Client,
    base: &str,
    codes: &[String],
    data: &Path,
    progress: Progress,
    now: DateTime<Utc>,
) -> Result<FetchedSources, Error> {
    check(codes)?;
    let mut fetched = FetchedSources::default();
    for code in codes {
        for file in [
            format!("adresses-{code}.csv.gz"),
            format!("lieux-dits-{code}-beta.csv.gz"),
        ] {
            let url = format!("{}/{file}", base.trim_end_matches('/'));
            let path = data.join("downloads").join("ban").join(&file);
            let slice = Slice {
                place: code.clone(),
                year: None,
            };
            let edition_file = EditionFile {
                url,
                path,
                bytes_max: BAN_BYTES_MAX,
                slice,
            };
            if !fetched
                .download(client, edition_file, progress, now)
                .await?
            {
                fetched.notes.push(format!("{file} is not published"));
            }
        }
    }
    Ok(fetched)
}

/// A file of an official edition.
struct EditionFile {
    url: String,
    path: PathBuf,
    bytes_max: u64,
    /// The slice that the file covers completely.
    slice: Slice,
}

impl FetchedSources {
    /// Downloads a file and adds it as the edition of the month in which it was last changed; `false` if it is not
    /// published (404).
    async fn download(
        &mut self,
        client: &Client,
        file: EditionFile,
        progress: Progress,
        now: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let bar = progress.bytes(&file.url, None);
        let downloaded = client
            .download(&file.url, &file.path, file.bytes_max, &bar)
            .await;
        bar.finish_and_clear();
        let downloaded = match downloaded {
            Err(net::Error::Status { status, .. }) if status == 404 => return Ok(false),
            other => other?,
        };
        self.inputs.push(ImportInput {
            path: downloaded.path,
            name: file.url,
            edition: Some(edition(downloaded.last_modified.as_deref(), now)),
            slices: Some(vec![file.slice]),
            has_all_columns: true,
        });
        Ok(true)
    }
}

/// Returns the edition as `yyyy-mm`: from the file's modification date, else from the current date.
fn edition(last_modified: Option<&str>, now: DateTime<Utc>) -> String {
    let date = last_modified
        .and_then(|date| httpdate::parse_http_date(date).ok())
        .map_or(now, DateTime::from);
    date.format("%Y-%m").to_string()
}

/// Progress of a paged download, stored next to the pages.
#[derive(Debug, Default, Serialize, Deserialize)]
struct PageFetchProgress {
    pages: u32,
    next: Option<String>,
    done: bool,
}

#[derive(Deserialize)]
struct PageEnd {
    next: Option<String>,
    results: serde::de::IgnoredAny,
}

/// Downloads the diagnostics established in departments since a day (`yyyy-mm-dd`). If a finished download is found on
/// disk, its import was interrupted; its pages are reused while they are less than a day old.
pub async fn dpe(
    client: &Client,
    base: &str,
    codes: &[String],
    since: Option<&str>,
    data: &Path,
    progress: Progress,
) -> Result<FetchedSources, Error> {
    check(codes)?;
    let base = base.trim_end_matches('/');
    let first = first_page(base, codes, since);
    let folder_name = blake3::hash(first.as_bytes()).to_hex();
    let folder = data
        .join("downloads")
        .join("dpe")
        .join(&folder_name.as_str()[..16]);
    std::fs::create_dir_all(&folder).map_err(|source| file_error(&folder, source))?;
    let journey_path = folder.join("journey");
    let mut journey: PageFetchProgress = std::fs::read(&journey_path)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .filter(|journey: &PageFetchProgress| !journey.done || is_recent(&journey_path))
        .unwrap_or_default();
    let bar = progress.bytes(&format!("diagnostics of {}", codes.join(", ")), None);
    while !journey.done && journey.pages < PAGES_MAX {
        let url = journey.next.clone().unwrap_or_else(|| first.clone());
        let page = client.get(&url, PAGE_BYTES_MAX).await?;
        let end: PageEnd = serde_json::from_slice(&page).map_err(|error| Error::Page {
            url: url.clone(),
            reason: error.to_string(),
        })?;
        let serde::de::IgnoredAny = end.results;
        bar.inc(page.len() as u64);
        let path = page_path(&folder, journey.pages + 1);
        write(&path, &page)?;
        journey.pages += 1;
        journey.done = end.next.is_none();
        journey.next = end.next.map(|next| on_base(base, &next));
        write(
            &journey_path,
            &serde_json::to_vec(&journey).unwrap_or_default(),
        )?;
    }
    bar.finish_and_clear();
    let inputs = (1..=journey.pages)
        .map(|page| ImportInput {
            has_all_columns: true,
            ..ImportInput::local(page_path(&folder, page))
        })
        .collect();
    Ok(FetchedSources {
        inputs,
        temporary: Some(folder),
        ..FetchedSources::default()
    })
}

fn is_recent(path: &Path) -> bool {
    let changed = std::fs::metadata(path).and_then(|about| about.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age < FINISHED_KEPT))
}

fn page_path(folder: &Path, page: u32) -> PathBuf {
    folder.join(format!("page-{page:05}.json"))
}

fn first_page(base: &str, codes: &[String], since: Option<&str>) -> String {
    let mut conditions = Vec::new();
    if !codes.is_empty() {
        conditions.push(format!("code_departement_ban:({})", codes.join(" OR ")));
    }
    if let Some(since) = since {
        conditions.push(format!("date_etablissement_dpe:[{since} TO *]"));
    }
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("size", &PAGE_ROWS.to_string());
    if !conditions.is_empty() {
        query.append_pair("qs", &conditions.join(" AND "));
    }
    format!("{base}/lines?{}", query.finish())
}

/// Rewrites the URL of the next page to the requested base, because a mirror may return the official URL.
fn on_base(base: &str, next: &str) -> String {
    match next.split_once('?') {
        Some((_, query)) => format!("{base}/lines?{query}"),
        None => next.to_owned(),
    }
}

/// Writes a file atomically.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let part = path.with_extension("part");
    std::fs::write(&part, bytes)
        .and_then(|()| std::fs::rename(&part, path))
        .map_err(|source| file_error(path, source))
}

fn file_error(path: &Path, source: std::io::Error) -> Error {
    Error::File {
        path: path.display().to_string(),
        source,
    }
}
