//! Reads truth files, which hold what a person read on saved pages, one JSON object per line.
//!
//! `{"file": "a/12.html", "url": "https://portail.fr/annonce/12", "site": "portail.fr", "truth": {"currentPrice.value":
//! 350000, "habitation.floor": null}}`. The keys of `truth` are paths of an advert, as in a portal's rules; null means
//! that the page does not state the field, and a field that is omitted is not judged.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::Error;
use toise_page::findings::fits;

/// A saved page and the values that it states.
#[derive(Clone, Debug, Deserialize)]
pub struct TruthPage {
    /// Path of the page, below the folder of pages.
    pub file: PathBuf,
    /// URL it was saved from.
    pub url: String,
    /// Name of its site; pages of one site belong to the same half.
    pub site: String,
    /// Value by path of the field; null if the page states none.
    pub truth: BTreeMap<String, Value>,
}

/// Reads a truth file; empty lines are skipped.
///
/// # Errors
///
/// The file cannot be read, or a line is invalid. The first invalid line is reported with its number and fault: it is
/// not a JSON object of this form, its path leaves the folder of pages, or a value does not fit its field of an advert.
pub fn read(path: &Path) -> Result<Vec<TruthPage>, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| {
            parse(line).map_err(|fault| Error::Truth {
                path: path.to_owned(),
                line: number + 1,
                fault,
            })
        })
        .collect()
}

fn parse(line: &str) -> Result<TruthPage, String> {
    let page: TruthPage = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let is_below = |component: Component<'_>| matches!(component, Component::Normal(_));
    if !page.file.components().all(is_below) {
        return Err(format!(
            "file: {:?} must be below the folder of pages",
            page.file
        ));
    }
    for (field, value) in &page.truth {
        if !value.is_null() && !fits(field, value) {
            return Err(format!("truth: no advert has {value} as its {field}"));
        }
    }
    Ok(page)
}
