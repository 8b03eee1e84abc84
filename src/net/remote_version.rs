//! The version of a file on a server, kept beside what was downloaded of it.

use std::path::Path;
use std::{fs, io};

use reqwest::header::{ETAG, HeaderMap, LAST_MODIFIED};
use serde::{Deserialize, Serialize};

/// The version of the server's file that the downloaded bytes belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteVersion {
    url: String,
    /// Entity tag.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub last_modified: Option<String>,
}

impl RemoteVersion {
    /// Returns the version that an answer carries.
    pub fn of(url: &str, headers: &HeaderMap) -> Self {
        let text = |name| Some(headers.get(name)?.to_str().ok()?.to_owned());
        Self {
            url: url.to_owned(),
            etag: text(ETAG),
            last_modified: text(LAST_MODIFIED),
        }
    }

    /// Returns what tells this version from others: the entity tag, or else the date.
    pub fn tag(&self) -> Option<String> {
        self.etag.clone().or_else(|| self.last_modified.clone())
    }

    /// Returns the value for `If-Range`, in which weak tags are not allowed.
    pub fn validator(&self) -> Option<&str> {
        let strong = self.etag.as_deref().filter(|etag| !etag.starts_with("W/"));
        strong.or(self.last_modified.as_deref())
    }

    /// Reads the version that a file beside a download names, if it is of this address.
    pub fn load(path: &Path, url: &str) -> Option<Self> {
        let version: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        (version.url == url).then_some(version)
    }

    /// Writes the version to a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        fs::write(path, serde_json::to_vec(self)?)
    }
}
