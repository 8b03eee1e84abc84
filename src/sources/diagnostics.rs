//! Downloads energy diagnostics: a sequence of pages of the data-fair API, each with the URL of the next.
//!
//! A refresh asks for the diagnostics that changed since a given day ([`DiagnosticRange::Changed`]): a correction keeps
//! the date of issue, and has a new date of last change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Downloads, Error, FetchedSources, check, file_error};
use toise_base::durable;
use toise_net::Client;
use toise_opendata::import::ImportInput;

/// Base URL of the diagnostics of existing dwellings.
pub const DPE_BASE: &str = "https://data.ademe.fr/data-fair/api/v1/datasets/dpe03existant";

/// Diagnostics requested per page: the API's maximum.
const PAGE_ROWS: u32 = 10_000;
/// Maximum page size, bytes.
const PAGE_BYTES_MAX: u64 = 512 << 20;
/// How long the pages of a finished download are reused instead of downloaded again.
const FINISHED_KEPT: std::time::Duration = std::time::Duration::from_secs(24 * 3600);
/// Maximum pages of one download; the whole country has about 1,500.
const PAGES_MAX: u32 = 20_000;
/// Minimum share of the diagnostics that a source says it has that its pages must contain, percent. The source may change
/// during a long download.
const LISTED_PERCENT_MIN: u64 = 99;
/// Maximum size of an answer that has at most one diagnostic, bytes.
const SURVEY_BYTES_MAX: u64 = 1 << 20;
/// Column with the identifier of a diagnostic.
const NUMBER: &str = "numero_dpe";
/// Column with the day of the last change.
const CHANGED: &str = "date_derniere_modification_dpe";

/// Which diagnostics to download. Days are `yyyy-mm-dd`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DiagnosticRange {
    /// All.
    #[default]
    Beginning,
    /// Those established on or after a day.
    Established(String),
    /// Those last changed on or after a day.
    Changed(String),
}

/// The data of a department at the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survey {
    /// Number of diagnostics.
    pub total: u64,
    /// Day of the latest change, `yyyy-mm-dd`; `None` without diagnostics.
    pub changed: Option<String>,
}

/// Progress of a paged download, stored next to the pages.
#[derive(Debug, Default, Serialize, Deserialize)]
struct PageFetchProgress {
    pages: u32,
    /// Diagnostics in these pages.
    rows: u64,
    /// The smallest number of diagnostics that a page says there are.
    total: Option<u64>,
    next: Option<String>,
    done: bool,
}

#[derive(Deserialize)]
struct PageEnd {
    total: Option<u64>,
    next: Option<String>,
    results: Vec<serde::de::IgnoredAny>,
}

/// Downloads the diagnostics of departments. If a finished download is found on
/// disk, its import was interrupted; its pages are reused while they are less than a day old.
///
/// # Errors
/// An unknown department, or a page that cannot be downloaded; pages downloaded so far are then kept for the next attempt.
/// Or the pages contain fewer diagnostics than the source says it has, or never end.
pub async fn fetch(
    downloads: Downloads<'_>,
    base: &str,
    codes: &[String],
    since: &DiagnosticRange,
) -> Result<FetchedSources, Error> {
    check(codes)?;
    let base = base.trim_end_matches('/');
    let size = PAGE_ROWS.to_string();
    let first = lines(base, codes, since, &[("size", &size)]);
    let folder_name = blake3::hash(first.as_bytes()).to_hex();
    let folder = downloads.path("dpe", &folder_name.as_str()[..16]);
    std::fs::create_dir_all(&folder).map_err(|source| file_error(&folder, source))?;
    let journey_path = folder.join("journey");
    let mut journey: PageFetchProgress = std::fs::read(&journey_path)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .filter(|journey: &PageFetchProgress| !journey.done || is_recent(&journey_path))
        .unwrap_or_default();
    let bar = downloads
        .progress
        .bytes(&format!("diagnostics of {}", codes.join(", ")), None);
    while !journey.done && journey.pages < PAGES_MAX {
        let url = journey.next.clone().unwrap_or_else(|| first.clone());
        let page = downloads.client.get(&url, PAGE_BYTES_MAX).await?;
        let end: PageEnd = read_page(&url, &page)?;
        bar.inc(page.len() as u64);
        let path = page_path(&folder, journey.pages + 1);
        write(&path, &page)?;
        journey.pages += 1;
        journey.rows += end.results.len() as u64;
        journey.total = journey.total.into_iter().chain(end.total).min();
        journey.done = end.next.is_none();
        journey.next = end.next.map(|next| on_base(base, &next));
        if let Some(reason) = fault_of(&journey, &url) {
            std::fs::remove_dir_all(&folder).map_err(|source| file_error(&folder, source))?;
            return Err(Error::Answer {
                url,
                expected: "all pages of diagnostics",
                reason,
            });
        }
        write(
            &journey_path,
            &serde_json::to_vec(&journey).unwrap_or_default(),
        )?;
    }
    bar.finish_and_clear();
    // The source, because the page on disk is deleted after the import.
    let name_of = |page: u32| match journey.pages {
        1 => base.to_owned(),
        _ => format!("{base} page {page}"),
    };
    let inputs = (1..=journey.pages)
        .map(|page| ImportInput {
            name: name_of(page),
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

/// Returns why a download must not go on after the page at an address, if so.
fn fault_of(journey: &PageFetchProgress, url: &str) -> Option<String> {
    if journey.next.as_deref() == Some(url) {
        return Some("its next page is itself".to_owned());
    }
    let total = journey.total.filter(|_| journey.done)?;
    let is_short = journey.rows * 100 < total * LISTED_PERCENT_MIN;
    is_short.then(|| format!("they have {} of {total}", journey.rows))
}

fn is_recent(path: &Path) -> bool {
    let changed = std::fs::metadata(path).and_then(|about| about.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age < FINISHED_KEPT))
}

fn page_path(folder: &Path, page: u32) -> PathBuf {
    folder.join(format!("page-{page:05}.json"))
}

/// An answer of the API, as far as a survey reads it.
#[derive(Deserialize)]
struct Page {
    total: u64,
    next: Option<String>,
    results: Vec<Line>,
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "numero_dpe")]
    number: Option<String>,
    #[serde(rename = "date_derniere_modification_dpe")]
    changed: Option<String>,
}

async fn page(client: &Client, url: &str, bytes_max: u64) -> Result<Page, Error> {
    read_page(url, &client.get(url, bytes_max).await?)
}

fn read_page<'p, P: Deserialize<'p>>(url: &str, answer: &'p [u8]) -> Result<P, Error> {
    serde_json::from_slice(answer).map_err(|error| Error::Answer {
        url: url.to_owned(),
        expected: "a results page",
        reason: error.to_string(),
    })
}

/// Asks how many diagnostics the source has of a department, and when the latest of them changed.
///
/// # Errors
/// The source cannot be reached, or answers something else.
pub async fn survey(client: &Client, base: &str, code: &str) -> Result<Survey, Error> {
    let base = base.trim_end_matches('/');
    let parameters = [
        ("size", "1"),
        ("select", CHANGED),
        ("sort", &format!("-{CHANGED}")),
    ];
    let url = lines(
        base,
        &[code.to_owned()],
        &DiagnosticRange::Beginning,
        &parameters,
    );
    let page = page(client, &url, SURVEY_BYTES_MAX).await?;
    let latest = page.results.into_iter().next();
    Ok(Survey {
        total: page.total,
        changed: latest.and_then(|line| Some(line.changed?.chars().take(10).collect())),
    })
}

/// Asks how many diagnostics there are of departments.
///
/// # Errors
/// The source cannot be reached, or answers something else.
pub async fn count(
    client: &Client,
    base: &str,
    codes: &[String],
    since: &DiagnosticRange,
) -> Result<u64, Error> {
    let base = base.trim_end_matches('/');
    let url = lines(base, codes, since, &[("size", "1"), ("select", NUMBER)]);
    Ok(page(client, &url, SURVEY_BYTES_MAX).await?.total)
}

/// Downloads the identifiers of all diagnostics of a department, about 30 bytes each.
///
/// # Errors
/// The source cannot be reached, answers something else, or lists fewer diagnostics than it says it has.
pub async fn numbers(client: &Client, base: &str, code: &str) -> Result<BTreeSet<String>, Error> {
    let base = base.trim_end_matches('/');
    let size = PAGE_ROWS.to_string();
    let parameters = [("size", size.as_str()), ("select", NUMBER)];
    let mut next = Some(lines(
        base,
        &[code.to_owned()],
        &DiagnosticRange::Beginning,
        &parameters,
    ));
    let (mut numbers, mut pages, mut listed) = (BTreeSet::new(), 0, 0);
    while let Some(url) = next.take().filter(|_| pages < PAGES_MAX) {
        let page = page(client, &url, PAGE_BYTES_MAX).await?;
        listed += page.results.len() as u64;
        numbers.extend(page.results.into_iter().filter_map(|line| line.number));
        next = page.next.map(|next| on_base(base, &next));
        pages += 1;
        // What an incomplete list lacks would count as withdrawn.
        if next.is_none() && listed < page.total {
            return Err(Error::Answer {
                url,
                expected: "the whole list of diagnostics",
                reason: format!("it has {listed} of {}", page.total),
            });
        }
    }
    Ok(numbers)
}

/// Returns the URL of the `lines` of some departments.
fn lines(
    base: &str,
    codes: &[String],
    since: &DiagnosticRange,
    parameters: &[(&str, &str)],
) -> String {
    let mut conditions = Vec::new();
    if !codes.is_empty() {
        conditions.push(format!("code_departement_ban:({})", codes.join(" OR ")));
    }
    match since {
        DiagnosticRange::Beginning => {}
        DiagnosticRange::Established(day) => {
            conditions.push(format!("date_etablissement_dpe:[{day} TO *]"));
        }
        DiagnosticRange::Changed(day) => conditions.push(format!("{CHANGED}:[{day} TO *]")),
    }
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parameters);
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
    durable::replace(path, bytes).map_err(|source| file_error(path, source))
}
