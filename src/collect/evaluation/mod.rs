//! Evaluates extraction: reads saved listing pages with [`extract`], as collected pages are read, and compares every
//! field with what a person read on the page.
//!
//! The pages and the truth are kept outside this repository: a folder of files and one truth file ([`truth`]). Sites
//! are split into two halves by the digest of their name, so that rules are developed on one half and judged on the
//! other. A page takes about ten milliseconds.

mod agreement;
#[cfg(test)]
mod tests;
pub mod truth;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::extract::{Extraction, PageInput, PageVerdict, extract};
use crate::portals::Portals;
use toise_page::findings::PageFindings;
use truth::TruthPage;

/// Maximum size of a saved page, bytes.
const PAGE_BYTES_MAX: u64 = 8 << 20;

/// Why an evaluation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why it cannot be read.
        source: std::io::Error,
    },
    /// A saved page is too large.
    #[error("{}: must not exceed {PAGE_BYTES_MAX} bytes", .0.display())]
    TooLarge(PathBuf),
    /// A line of the truth file is invalid.
    #[error("{}, line {line}: {fault}", path.display())]
    Truth {
        /// The truth file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// The fault, for the message.
        fault: String,
    },
    /// No page is left to evaluate.
    #[error("the truth file lists no page of this half")]
    Empty,
}

/// One half of the sites, by the digest of their name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SiteHalf {
    /// The half that rules are developed on.
    Tuning,
    /// The half that rules are judged on.
    Report,
}

impl SiteHalf {
    /// Returns the half of a site, the same on every machine.
    pub fn of(site: &str) -> Self {
        match blake3::hash(site.as_bytes()).as_bytes()[0] & 1 {
            0 => Self::Tuning,
            _ => Self::Report,
        }
    }
}

/// Options of an evaluation.
#[derive(Clone, Debug)]
pub struct ExtractionOptions {
    /// Folder of the saved pages.
    pub pages: PathBuf,
    /// Truth file for these pages.
    pub truth: PathBuf,
    /// Only the sites of one half; `None` for all.
    pub half: Option<SiteHalf>,
    /// Maximum number of mistakes that are listed.
    pub mistakes_max: usize,
}

/// Extraction quality of one field.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FieldScore {
    /// Path of the field in an advert.
    pub field: String,
    /// Number of pages that state it.
    pub stated: usize,
    /// Number of values found, on the pages that are judged for it.
    pub found: usize,
    /// Found values that agree with the page.
    pub right: usize,
    /// Found values that differ from the stated one.
    pub wrong: usize,
    /// Found values of fields that the page does not state.
    pub invented: usize,
    /// Share of the stated values that were found correctly.
    pub recall: Option<f64>,
    /// Share of the found values that are right.
    pub precision: Option<f64>,
    /// Mean recall over the sites, each counted once however many pages it has.
    pub recall_by_site: Option<f64>,
    /// Mean precision over the sites.
    pub precision_by_site: Option<f64>,
}

/// A value that is missed, wrong or invented.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mistake {
    /// The saved page.
    pub file: String,
    /// Path of the field.
    pub field: String,
    /// The value that the page states; null if none.
    pub truth: Value,
    /// The value that was found; null if none.
    pub found: Value,
    /// Where on the page it was found.
    pub origin: Option<&'static str>,
}

/// The result of an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExtractionReport {
    /// Number of pages.
    pub pages: usize,
    /// Number of sites.
    pub sites: usize,
    /// The half evaluated; `None` for all.
    pub half: Option<SiteHalf>,
    /// Number of pages by verdict: `listing`, `offline`, or the reason of a rejection.
    pub verdicts: BTreeMap<String, usize>,
    /// Fields, by path.
    pub fields: Vec<FieldScore>,
    /// The first mistakes.
    pub mistakes: Vec<Mistake>,
}

/// Reads the pages of the truth file and compares their fields with it.
///
/// # Errors
///
/// A file cannot be read, a page is too large, a line of the truth file is invalid, or no page is left to evaluate.
pub fn run(portals: &Portals, options: &ExtractionOptions) -> Result<ExtractionReport, Error> {
    let mut pages = truth::read(&options.truth)?;
    pages.retain(|page| {
        options
            .half
            .is_none_or(|half| half == SiteHalf::of(&page.site))
    });
    if pages.is_empty() {
        return Err(Error::Empty);
    }
    let mut tallies = Tallies::default();
    for page in &pages {
        let bytes = read_page(&options.pages.join(&page.file))?;
        let url = portals.canonical(&page.url);
        let input = PageInput {
            url: &url,
            content_type: None,
            bytes: &bytes,
        };
        let extraction = extract(&input, portals.find_by_url(&url));
        tallies.add(page, &extraction, options.mistakes_max);
    }
    let sites: BTreeSet<&str> = pages.iter().map(|page| page.site.as_str()).collect();
    Ok(ExtractionReport {
        pages: pages.len(),
        sites: sites.len(),
        half: options.half,
        verdicts: tallies.verdicts,
        fields: tallies.fields.into_iter().map(score).collect(),
        mistakes: tallies.mistakes,
    })
}

fn read_page(path: &Path) -> Result<Vec<u8>, Error> {
    let named = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let length = std::fs::metadata(path).map_err(named)?.len();
    if length > PAGE_BYTES_MAX {
        return Err(Error::TooLarge(path.to_owned()));
    }
    std::fs::read(path).map_err(named)
}

/// Counts of one field on the pages of one site.
#[derive(Clone, Copy, Debug, Default)]
struct SiteTally {
    stated: usize,
    right: usize,
    wrong: usize,
    invented: usize,
}

impl SiteTally {
    fn found(&self) -> usize {
        self.right + self.wrong + self.invented
    }
}

#[derive(Default)]
struct Tallies {
    verdicts: BTreeMap<String, usize>,
    fields: BTreeMap<String, BTreeMap<String, SiteTally>>,
    mistakes: Vec<Mistake>,
}

impl Tallies {
    fn add(&mut self, page: &TruthPage, extraction: &Extraction, mistakes_max: usize) {
        *self.verdicts.entry(verdict(extraction)).or_default() += 1;
        for (field, truth) in &page.truth {
            let found = extraction.findings.get(field);
            let found = found.filter(|found| !found.is_null());
            let of_site = self.fields.entry(field.clone()).or_default();
            let tally = of_site.entry(page.site.clone()).or_default();
            tally.stated += usize::from(!truth.is_null());
            match found {
                None if truth.is_null() => continue,
                None => {}
                Some(_) if truth.is_null() => tally.invented += 1,
                Some(found) if agreement::agree(field, truth, found) => {
                    tally.right += 1;
                    continue;
                }
                Some(_) => tally.wrong += 1,
            }
            if self.mistakes.len() < mistakes_max {
                let mistake = mistake(page, field, truth, &extraction.findings);
                self.mistakes.push(mistake);
            }
        }
    }
}

fn verdict(extraction: &Extraction) -> String {
    match &extraction.verdict {
        PageVerdict::Listing => "listing".to_owned(),
        PageVerdict::Offline => "offline".to_owned(),
        PageVerdict::Rejected(reason) => reason.to_string(),
    }
}

fn mistake(page: &TruthPage, field: &str, truth: &Value, findings: &PageFindings) -> Mistake {
    let found = findings.iter().find(|(path, _)| *path == field);
    Mistake {
        file: page.file.display().to_string(),
        field: field.to_owned(),
        truth: truth.clone(),
        found: found.map_or(Value::Null, |(_, finding)| finding.value.clone()),
        origin: found.map(|(_, finding)| finding.origin.as_str()),
    }
}

fn score((field, sites): (String, BTreeMap<String, SiteTally>)) -> FieldScore {
    let sum = |count: fn(&SiteTally) -> usize| sites.values().map(count).sum::<usize>();
    let stated = sum(|tally| tally.stated);
    let found = sum(SiteTally::found);
    let right = sum(|tally| tally.right);
    let mean = |share: fn(&SiteTally) -> Option<f64>| {
        let shares: Vec<f64> = sites.values().filter_map(share).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    };
    FieldScore {
        field,
        stated,
        found,
        right,
        wrong: sum(|tally| tally.wrong),
        invented: sum(|tally| tally.invented),
        recall: share(right, stated),
        precision: share(right, found),
        recall_by_site: mean(|tally| share(tally.right, tally.stated)),
        precision_by_site: mean(|tally| share(tally.right, tally.found())),
    }
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
