//! The official sources of open data: what they publish, and downloads into `<data>/downloads` within their rate limits.
//! An interrupted download resumes where it stopped, and a file is handed to the import only when it is whole.
//!
//! [`catalogue`] lists the published files of a dataset. [`sales`] finds the files of departments and years through it
//! and falls back to other places; [`addresses`] are two files per department, [`diagnostics`] pages of an API.

#![forbid(unsafe_code)]

pub mod addresses;
pub mod catalogue;
pub mod diagnostics;
pub mod sales;
#[cfg(test)]
mod test_server;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use toise_base::progress::Progress;
use toise_geo::departments;
use toise_lake::Slice;
use toise_net::{self as net, Client, DownloadedFile};
use toise_opendata::import::ImportInput;
use toise_opendata::report::SkippedFile;

/// Why a download failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A network or server error.
    #[error(transparent)]
    Net(#[from] net::Error),
    /// An unknown department.
    #[error("department {0}: unknown department")]
    Department(String),
    /// The response is not what the address is for.
    #[error("{url}: not {expected}: {reason}")]
    Answer {
        /// The requested address.
        url: String,
        /// What was expected, with its article.
        expected: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A downloaded file is not the one that the catalogue lists.
    #[error(
        "{url}: the downloaded file has {found}, the catalogue says {expected}; nothing was imported"
    )]
    Differs {
        /// Address of the file.
        url: String,
        /// Checksum or size in the catalogue.
        expected: String,
        /// Checksum or size of the downloaded file.
        found: String,
    },
    /// No place has the files.
    #[error("no sales could be fetched: {}", reasons.join("; "))]
    Unavailable {
        /// Each place that was asked, with what went wrong.
        reasons: Vec<String>,
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

impl Error {
    /// Returns whether another place may still have the file: the place was unreachable, failed, or lacks it.
    fn is_of_place(&self) -> bool {
        match self {
            Self::Net(error) => !matches!(error, net::Error::Setup(_) | net::Error::File { .. }),
            Self::Answer { .. } => true,
            _ => false,
        }
    }

    fn is_not_found(&self) -> bool {
        matches!(self, Self::Net(net::Error::Status { status, .. }) if matches!(status.as_u16(), 404 | 410))
    }
}

/// Result of a download.
#[derive(Clone, Debug, Default)]
pub struct FetchedSources {
    /// Files to import.
    pub inputs: Vec<ImportInput>,
    /// Where the files come from, and what the source does not have, in words.
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

/// What every download needs.
#[derive(Clone, Copy, Debug)]
pub struct Downloads<'a> {
    /// The client.
    pub client: &'a Client,
    /// The data folder.
    pub data: &'a Path,
    /// Progress bars on standard error.
    pub progress: Progress,
    /// The current time, which dates files without a date of their own.
    pub now: DateTime<Utc>,
}

impl Downloads<'_> {
    fn path(&self, table: &str, name: &str) -> PathBuf {
        self.data.join("downloads").join(table).join(name)
    }

    async fn get(
        &self,
        url: &str,
        path: &Path,
        bytes_max: u64,
    ) -> Result<DownloadedFile, net::Error> {
        let bar = self.progress.bytes(url, None);
        let downloaded = self.client.download(url, path, bytes_max, &bar).await;
        bar.finish_and_clear();
        downloaded
    }

    /// Downloads a file of an official edition. Without a date in the catalogue, its edition is the month in which the
    /// server says that it was last changed. `slices` are those that it covers completely; without them, they are
    /// derived from its rows.
    async fn edition_file(
        &self,
        url: &str,
        path: &Path,
        bytes_max: u64,
        slices: Option<Vec<Slice>>,
    ) -> Result<ImportInput, Error> {
        let downloaded = self.get(url, path, bytes_max).await?;
        let changed = downloaded
            .last_modified
            .and_then(|date| httpdate::parse_http_date(&date).ok())
            .map_or(self.now, DateTime::from);
        Ok(ImportInput {
            path: downloaded.path,
            name: url.to_owned(),
            edition: Some(edition(changed)),
            slices,
            has_all_columns: true,
        })
    }
}

/// Returns the name of the edition of a day: its month, `yyyy-mm`.
fn edition(day: DateTime<Utc>) -> String {
    day.format("%Y-%m").to_string()
}

fn file_error(path: &Path, source: std::io::Error) -> Error {
    Error::File {
        path: path.display().to_string(),
        source,
    }
}
