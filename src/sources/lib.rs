//! The official sources of open data: finds out what they publish, and downloads it into `<data>/downloads` within
//! their rate limits. An interrupted download resumes where it stopped, and a file is handed to the import only when it
//! is complete.
//!
//! [`catalogue`] lists the published files of a dataset. [`sales`] finds the files of departments and years through it
//! and falls back to other locations; [`addresses`] are two files per department, [`diagnostics`] pages of an API.
//!
//! Each source can be asked in two ways: for the versions that it has ([`FileVersion`], [`diagnostics::survey`]), and
//! for the files. An import fails at the first file that it does not get. A refresh continues with the other files, and
//! reports the failures ([`FetchedSources::failures`]).

#![forbid(unsafe_code)]

pub mod addresses;
pub mod catalogue;
pub mod diagnostics;
pub mod sales;
pub mod settings;
#[cfg(test)]
mod test_server;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};

use toise_base::progress::Progress;
use toise_geo::departments;
use toise_lake::Slice;
use toise_net::{self as net, Client, DownloadedFile, RemoteFile};
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
    /// The response is not what the address should return.
    #[error("{url}: not {expected}: {reason}")]
    Answer {
        /// The requested address.
        url: String,
        /// Noun for the expected content, with its article.
        expected: &'static str,
        /// The fault.
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
    /// A downloaded archive cannot be unpacked.
    #[error("{url}: the downloaded archive is damaged: {reason}; nothing of it was imported")]
    Damaged {
        /// Address of the file.
        url: String,
        /// The fault.
        reason: io::Error,
    },
    /// No location has the files.
    #[error("no sales could be fetched: {}", reasons.join("; "))]
    Unavailable {
        /// Each location that was tried, with what went wrong.
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
    /// Returns whether another location may still have the file: this one was unreachable, failed, or lacks it.
    fn is_of_place(&self) -> bool {
        match self {
            Self::Net(error) => !matches!(error, net::Error::Setup(_) | net::Error::File { .. }),
            Self::Answer { .. } => true,
            _ => false,
        }
    }

    /// Returns whether only this file is bad, so that others at the same location may be good.
    fn is_of_file(&self) -> bool {
        matches!(self, Self::Differs { .. } | Self::Damaged { .. })
    }

    fn is_not_found(&self) -> bool {
        matches!(self, Self::Net(net::Error::Status { status, .. }) if matches!(status.as_u16(), 404 | 410))
    }
}

/// The version of a published file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersion {
    /// Address.
    pub url: String,
    /// Checksum, entity tag or date: differs between versions at one address.
    pub tag: String,
    /// When the file was last changed, if known.
    pub changed: Option<DateTime<Utc>>,
    /// Size, bytes.
    pub bytes: Option<u64>,
}

impl FileVersion {
    fn at(url: &str, file: &RemoteFile) -> Self {
        Self {
            url: url.to_owned(),
            tag: file.tag.clone().unwrap_or_default(),
            changed: file.last_modified.as_deref().and_then(http_date),
            bytes: file.bytes,
        }
    }

    /// Returns whether this version should replace the one that is held. Versions at two addresses are compared by
    /// date, so that a file that has only moved is not fetched again.
    pub fn replaces(&self, held: &Self) -> bool {
        if self.tag == held.tag {
            return false;
        }
        match (self.changed, held.changed) {
            (Some(own), Some(held_since)) if self.url != held.url => own > held_since,
            _ => true,
        }
    }

    /// Returns the name of its edition: the month of its last change, `yyyy-mm`.
    pub fn edition(&self) -> Option<String> {
        self.changed.map(edition)
    }
}

/// The versions of files that a source has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishedFiles {
    /// Version by key: name of the file, or department and year of its sales.
    pub versions: BTreeMap<String, FileVersion>,
    /// Notes on parts that could not be queried.
    pub failures: Vec<String>,
}

/// Result of a download.
#[derive(Clone, Debug, Default)]
pub struct FetchedSources {
    /// Files to import.
    pub inputs: Vec<ImportInput>,
    /// Where the files come from, and what the source does not have, in words.
    pub notes: Vec<String>,
    /// Versions of the files, by the key that [`PublishedFiles`] has for them.
    pub versions: BTreeMap<String, FileVersion>,
    /// Notes on parts that a refresh did not get.
    pub failures: Vec<String>,
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

/// The context of every download.
#[derive(Clone, Copy, Debug)]
pub struct Downloads<'a> {
    /// The client.
    pub client: &'a Client,
    /// The data folder.
    pub data: &'a Path,
    /// Progress bars on standard error.
    pub progress: Progress,
    /// The current time, which becomes the date of files without one.
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

    /// Downloads a file of an official edition. If the catalogue has no date, the edition is the month of the last
    /// change according to the server. `slices` are the slices that the file covers completely; if not given, they are
    /// derived from its rows.
    ///
    /// A packed file that cannot be unpacked is deleted, so that the next attempt downloads it again.
    async fn edition_file(
        &self,
        url: &str,
        path: &Path,
        bytes_max: u64,
        slices: Option<Vec<Slice>>,
    ) -> Result<(ImportInput, FileVersion), Error> {
        let downloaded = self.get(url, path, bytes_max).await?;
        if url.ends_with(".gz")
            && let Err(reason) = unpack(path)
        {
            net::discard(path).map_err(|source| file_error(path, source))?;
            let url = url.to_owned();
            return Err(Error::Damaged { url, reason });
        }
        let about = RemoteFile {
            tag: downloaded.tag,
            last_modified: downloaded.last_modified,
            bytes: std::fs::metadata(path).ok().map(|about| about.len()),
        };
        let version = FileVersion::at(url, &about);
        let input = ImportInput {
            path: downloaded.path,
            name: url.to_owned(),
            edition: Some(edition(version.changed.unwrap_or(self.now))),
            slices,
            has_all_columns: true,
        };
        Ok((input, version))
    }
}

/// Unpacks a gzip file and discards the output, which compares the content with its checksum; reads about 300 MB/s of
/// content.
fn unpack(path: &Path) -> io::Result<()> {
    let mut unpacked = MultiGzDecoder::new(File::open(path)?);
    io::copy(&mut unpacked, &mut io::sink()).map(drop)
}

fn http_date(text: &str) -> Option<DateTime<Utc>> {
    httpdate::parse_http_date(text).ok().map(DateTime::from)
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
