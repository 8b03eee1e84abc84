//! Loads the rules of portals: one TOML file per portal, with its hosts, the identifying parts of its URLs, the
//! selectors of fields, and the signs that a listing is offline.
//!
//! The files in `data/portals/` are compiled into the executable; a file in `<data>/portals/` replaces the one of the
//! same name, or adds another. Every file is validated when a command starts: a selector that cannot be parsed, an
//! unknown field or a host claimed twice is an error that names the file. Pages of other hosts are read by the general
//! rules.

mod dates;
mod embedded;
mod rule;
pub(crate) mod texts;
pub(crate) mod value;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scraper::{Html, Selector};
use serde::Deserialize;
use url::Url;

use embedded::EMBEDDED;
pub use rule::PortalRule;
use toise_base::missing::optional;
use toise_listings::adverts::identity::{IdentityRules, UrlRules, bare_host};
use toise_page::document::{PageDocument, text_of};
use toise_page::findings::{FieldOrigin, PageFindings};
use toise_page::french::tokens::phrase;
use toise_page::page_kind;
pub use value::ValueFormat;

/// Folder of an operator's own portal files, in the data folder.
pub const FOLDER: &str = "portals";
/// Maximum size of a portal or mapping file, bytes.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// Error in the file of a portal or of a mapping.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {fault}")]
pub struct Error {
    /// Name of the file.
    file: String,
    /// The fault, and the allowed values.
    fault: String,
}

impl Error {
    /// Creates an error from a fault of a file.
    pub(crate) fn new(file: &str, fault: String) -> Self {
        Self {
            file: file.to_owned(),
            fault,
        }
    }
}

/// A portal as written in its file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PortalFile {
    /// Source of its adverts: a host.
    name: String,
    /// Hosts of its pages; `www.` and `m.` are implied.
    hosts: Vec<String>,
    #[serde(default)]
    identity: IdentitySection,
    #[serde(default)]
    offline: OfflineSection,
    #[serde(default)]
    field: Vec<value::RuleSpec>,
}

/// The parts of a URL that identify the listing ([`UrlRules`]), as written in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct IdentitySection {
    ignore_parameters: Vec<String>,
    only_parameters: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct OfflineSection {
    texts: Vec<String>,
    selectors: Vec<String>,
    redirects_to: Vec<String>,
}

/// A portal with its rules.
#[derive(Debug)]
pub struct Portal {
    /// Source of its adverts.
    pub name: String,
    /// Hosts of its pages.
    pub hosts: Vec<String>,
    /// File that its rules come from.
    pub file: String,
    identity: UrlRules,
    offline_texts: Vec<String>,
    offline_selectors: Vec<Selector>,
    redirects_to: Vec<String>,
    rules: Vec<PortalRule>,
}

impl Portal {
    fn parse(file: &str, text: &str) -> Result<Self, Error> {
        let refuse = |fault: String| Error::new(file, fault);
        let written: PortalFile =
            toml::from_str(text).map_err(|error| refuse(error.to_string()))?;
        if written.hosts.is_empty() {
            return Err(refuse("hosts: must name at least one host".into()));
        }
        for host in written.hosts.iter().chain([&written.name]) {
            let is_host = Url::parse(&format!("https://{host}/"))
                .is_ok_and(|url| url.host_str() == Some(host));
            if !is_host {
                return Err(refuse(format!(
                    "{host:?} must be a host in lower case, such as \"portail.fr\""
                )));
            }
        }
        let selectors = written.offline.selectors.iter().map(|selector| {
            rule::selector(selector).map_err(|fault| refuse(format!("offline.selectors: {fault}")))
        });
        let offline_selectors = selectors.collect::<Result<_, _>>()?;
        let offline_texts = written.offline.texts.iter();
        let offline_texts = offline_texts.map(|text| phrase(text));
        let rules = written.field.iter().enumerate().map(|(place, rule)| {
            PortalRule::new(rule).map_err(|fault| refuse(format!("field[{place}]: {fault}")))
        });
        Ok(Self {
            rules: rules.collect::<Result<_, _>>()?,
            name: written.name,
            hosts: written.hosts,
            file: file.to_owned(),
            identity: UrlRules {
                ignore_parameters: written.identity.ignore_parameters,
                only_parameters: written.identity.only_parameters,
            },
            offline_texts: offline_texts.collect(),
            offline_selectors,
            redirects_to: written.offline.redirects_to,
        })
    }

    /// Returns whether the file has rules for fields.
    pub fn has_fields(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Adds the values that the portal's rules find on a page; returns whether its listing is offline.
    pub fn read(&self, html: &Html, document: &PageDocument, findings: &mut PageFindings) -> bool {
        for rule in &self.rules {
            if let Some(value) = rule.find(html) {
                findings.put(rule.path(), value, FieldOrigin::Portal);
            }
        }
        let shown = |selector: &Selector| {
            html.select(selector).next().is_some_and(|element| {
                element.attr("hidden").is_none()
                    && (!text_of(element).is_empty() || element.child_elements().next().is_none())
            })
        };
        page_kind::contains_any(&document.text, &self.offline_texts)
            || self.offline_selectors.iter().any(shown)
    }

    /// Returns whether a redirect to this path means that the listing is gone.
    pub fn is_gone_redirect(&self, path: &str) -> bool {
        self.redirects_to.iter().any(|end| path == end)
    }

    /// Removes the parameters that do not identify the listing.
    fn canonical(&self, url: &mut Url) {
        if url.query().is_none() || self.identity == UrlRules::default() {
            return;
        }
        let kept: Vec<(String, String)> = url
            .query_pairs()
            .filter(|(name, _)| self.identity.keeps(name))
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        if kept.is_empty() {
            url.set_query(None);
        } else {
            url.query_pairs_mut().clear().extend_pairs(&kept);
        }
    }
}

/// All portals with rules. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Portals {
    all: Arc<Vec<Portal>>,
    by_host: Arc<HashMap<String, usize>>,
}

impl Portals {
    /// Loads the portals of the executable, and those of a data folder, which take precedence.
    ///
    /// # Errors
    /// The first invalid file, with its name and the position of the error.
    pub fn load(data: &Path) -> Result<Self, Error> {
        let files = load_files(&EMBEDDED, "data/portals", &data.join(FOLDER))?;
        let portals = files
            .iter()
            .map(|(_, file, text)| Portal::parse(file, text));
        Self::new(portals.collect::<Result<_, _>>()?)
    }

    /// Builds the index of portals by host.
    ///
    /// # Errors
    /// Two portals claim the same host.
    fn new(mut all: Vec<Portal>) -> Result<Self, Error> {
        all.sort_by(|one, other| one.name.cmp(&other.name));
        let mut by_host = HashMap::new();
        for (place, portal) in all.iter().enumerate() {
            for host in &portal.hosts {
                if let Some(other) = by_host
                    .insert(bare_host(host).to_owned(), place)
                    .filter(|other| *other != place)
                {
                    let fault = format!("hosts: {host:?} already belongs to {}", all[other].file);
                    return Err(Error::new(&portal.file, fault));
                }
            }
        }
        Ok(Self {
            all: Arc::new(all),
            by_host: Arc::new(by_host),
        })
    }

    /// Returns all portals, sorted by name.
    pub fn all(&self) -> &[Portal] {
        &self.all
    }

    /// Returns the portal of a host; `None` if no portal file names it.
    pub fn find_by_host(&self, host: &str) -> Option<&Portal> {
        self.by_host
            .get(bare_host(host))
            .map(|place| &self.all[*place])
    }

    /// Returns the portal of a URL; `None` if no portal file names its host.
    pub fn find_by_url(&self, url: &str) -> Option<&Portal> {
        self.find_by_host(Url::parse(url).ok()?.host_str()?)
    }

    /// Returns a URL without the parts that do not identify a listing, by the rules of its portal.
    pub fn canonical(&self, url: &str) -> String {
        let Ok(mut parsed) = Url::parse(url.trim()) else {
            return url.to_owned();
        };
        if let Some(portal) = parsed.host_str().and_then(|host| self.find_by_host(host)) {
            portal.canonical(&mut parsed);
        }
        parsed.into()
    }

    /// Returns which parts of the portals' URLs identify a listing, for ingestion.
    pub fn identity(&self) -> IdentityRules {
        let rules = self.all.iter().flat_map(|portal| {
            let hosts = portal.hosts.iter();
            hosts.map(|host| (host.clone(), portal.identity.clone()))
        });
        IdentityRules::new(rules)
    }

    /// Returns the source of adverts from a host: the name of its portal, otherwise the host.
    pub fn source(&self, host: &str) -> String {
        self.find_by_host(host)
            .map_or_else(|| bare_host(host).to_owned(), |portal| portal.name.clone())
    }
}

/// Loads name, file and text of the rules in the executable and in a data folder; the latter replace files of the same
/// name. `compiled_from` is the source folder of the compiled-in rules.
///
/// # Errors
/// A file or folder cannot be read, or a file is too large.
pub(crate) fn load_files(
    embedded: &[(&str, &str)],
    compiled_from: &str,
    folder: &Path,
) -> Result<Vec<(String, String, String)>, Error> {
    let embedded = embedded.iter().map(|(name, text)| {
        let file = format!("{compiled_from}/{name}");
        ((*name).to_owned(), file, (*text).to_owned())
    });
    let mut files: Vec<(String, String, String)> = embedded.collect();
    for path in own_files(folder)? {
        let text = read_file(&path)?;
        let name = path.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        files.retain(|(known, ..)| *known != name);
        files.push((name, path.display().to_string(), text));
    }
    Ok(files)
}

fn own_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = optional(std::fs::read_dir(folder)).map_err(|error| io_error(folder, &error))?;
    let mut files = Vec::new();
    for entry in entries.into_iter().flatten() {
        let path = entry.map_err(|error| io_error(folder, &error))?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

pub(crate) fn read_file(path: &Path) -> Result<String, Error> {
    let refuse = |error: std::io::Error| io_error(path, &error);
    if std::fs::metadata(path).map_err(refuse)?.len() > FILE_BYTES_MAX {
        let fault = format!("must not exceed {FILE_BYTES_MAX} bytes");
        return Err(Error::new(&path.display().to_string(), fault));
    }
    std::fs::read_to_string(path).map_err(refuse)
}

fn io_error(path: &Path, error: &std::io::Error) -> Error {
    Error::new(&path.display().to_string(), error.to_string())
}

#[cfg(test)]
pub(crate) mod tests;
