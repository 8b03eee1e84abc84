//! Downloads energy diagnostics: a sequence of pages of the data-fair API, each with the URL of the next.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Downloads, Error, FetchedSources, check, file_error};
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
///
/// # Errors
/// An unknown department, or a page that cannot be downloaded. Pages downloaded so far are kept for the next attempt.
pub async fn fetch(
    downloads: Downloads<'_>,
    base: &str,
    codes: &[String],
    since: Option<&str>,
) -> Result<FetchedSources, Error> {
    check(codes)?;
    let base = base.trim_end_matches('/');
    let first = first_page(base, codes, since);
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
        let end: PageEnd = serde_json::from_slice(&page).map_err(|error| Error::Answer {
            url: url.clone(),
            expected: "a results page",
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
