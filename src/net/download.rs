//! Resumable downloads. Bytes are written to `<file>.part`, and their version to `<file>.part.json`; the next attempt,
//! in this process or a later one, requests the rest. If the file changed on the server, the download restarts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::StreamExt;
use indicatif::ProgressBar;
use reqwest::header::{
    CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE,
    LAST_MODIFIED, RANGE,
};
use reqwest::{RequestBuilder, Response, StatusCode};
use serde::{Deserialize, Serialize};
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt;

use super::backoff::{ReadThrottle, backoff};
use super::client::{Client, Error, RequestOutcome, explain};
use toise_base::missing::optional;

/// Result of a download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DownloadedFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Entity tag of the server's file, or the date of its last change if it has no tag.
    pub tag: Option<String>,
    /// `Last-Modified` of the server's file.
    pub last_modified: Option<String>,
    /// Whether the file was downloaded earlier and is unchanged on the server.
    pub kept: bool,
}

/// Headers of a file, requested without its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteFile {
    /// Entity tag, or the date of the last change; differs between versions of the file.
    pub tag: Option<String>,
    /// `Last-Modified`.
    pub last_modified: Option<String>,
    /// Size, bytes.
    pub bytes: Option<u64>,
}

/// The version of the server's file that the downloaded bytes belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct RemoteVersion {
    url: String,
    etag: Option<String>,
    last_modified: Option<String>,
}

impl RemoteVersion {
    fn from_headers(url: &str, headers: &HeaderMap) -> Self {
        let text = |name| Some(headers.get(name)?.to_str().ok()?.to_owned());
        Self {
            url: url.to_owned(),
            etag: text(ETAG),
            last_modified: text(LAST_MODIFIED),
        }
    }

    /// Returns what distinguishes this version from others: the entity tag, otherwise the date.
    fn tag(&self) -> Option<String> {
        self.etag.clone().or_else(|| self.last_modified.clone())
    }

    /// Returns the value for `If-Range`, in which weak tags are not allowed.
    fn validator(&self) -> Option<&str> {
        let strong = self.etag.as_deref().filter(|etag| !etag.starts_with("W/"));
        strong.or(self.last_modified.as_deref())
    }

    fn load(path: &Path, url: &str) -> Option<Self> {
        let version: Self = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        (version.url == url).then_some(version)
    }

    fn save(&self, path: &Path) -> Result<(), Error> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        std::fs::write(path, text).map_err(|source| file_error(path, source))
    }
}

fn file_error(path: &Path, source: std::io::Error) -> Error {
    Error::File {
        path: path.display().to_string(),
        source,
    }
}

fn next_to(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Deletes a downloaded file and the record of its version, so that the next download starts from nothing.
///
/// # Errors
/// The file is there and cannot be deleted.
pub fn discard(path: &Path) -> std::io::Result<()> {
    // Without it, the file is downloaded again even if it stays.
    let _ = std::fs::remove_file(next_to(path, ".json"));
    optional(std::fs::remove_file(path)).map(drop)
}

impl Client {
    /// Asks for the version and the size of a file without its content, retrying temporary failures.
    ///
    /// # Errors
    /// [`Error::Status`] with 404 if the server has no such file.
    pub async fn head(&self, url: &str) -> Result<RemoteFile, Error> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let request = self.verbatim.head(url);
            match self.attempt(request, url, attempts).await? {
                RequestOutcome::Retry { wait, reason } => {
                    self.pause(url, attempts, wait, reason).await?;
                }
                RequestOutcome::Response(response) => {
                    let status = response.status();
                    if !status.is_success() {
                        return Err(Error::Status {
                            url: url.to_owned(),
                            status,
                        });
                    }
                    let version = RemoteVersion::from_headers(url, response.headers());
                    let length = response.headers().get(CONTENT_LENGTH);
                    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
                    return Ok(RemoteFile {
                        tag: version.tag(),
                        last_modified: version.last_modified,
                        bytes: length,
                    });
                }
            }
        }
    }

    /// Downloads to `path`. Returns once the file is durable. A file that already exists is revalidated and downloaded
    /// again only if it changed.
    ///
    /// # Errors
    ///
    /// [`Error::Status`] with 404 if the server has no such file. Bytes received so far remain in `<path>.part`.
    pub async fn download(
        &self,
        url: &str,
        path: &Path,
        bytes_max: u64,
        bar: &ProgressBar,
    ) -> Result<DownloadedFile, Error> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|source| file_error(folder, source))?;
        }
        let whole = path
            .is_file()
            .then(|| RemoteVersion::load(&next_to(path, ".json"), url))
            .flatten();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let part_bytes =
                std::fs::metadata(next_to(path, ".part")).map_or(0, |about| about.len());
            let part =
                RemoteVersion::load(&next_to(path, ".part.json"), url).filter(|_| part_bytes > 0);
            let request = conditional(
                self.verbatim.get(url),
                whole.as_ref(),
                part.as_ref(),
                part_bytes,
            );
            let (wait, reason) = match self.attempt(request, url, attempts).await? {
                RequestOutcome::Retry { wait, reason } => (wait, reason),
                RequestOutcome::Response(response) => {
                    if let (StatusCode::NOT_MODIFIED, Some(version)) = (response.status(), &whole) {
                        return Ok(DownloadedFile {
                            path: path.to_owned(),
                            tag: version.tag(),
                            last_modified: version.last_modified.clone(),
                            kept: true,
                        });
                    }
                    match self
                        .receive(response, url, path, part_bytes, bytes_max, bar)
                        .await?
                    {
                        ReceiveOutcome::Whole(version) => return finish(path, version),
                        ReceiveOutcome::Broken { progress, reason } => {
                            if progress {
                                attempts = 0;
                            }
                            (backoff(&self.policy, attempts.max(1)), reason)
                        }
                        ReceiveOutcome::Restart => {
                            (Duration::ZERO, "the file changed on the server".to_owned())
                        }
                    }
                }
            };
            self.pause(url, attempts, wait, reason).await?;
        }
    }

    async fn receive(
        &self,
        response: Response,
        url: &str,
        path: &Path,
        part_bytes: u64,
        bytes_max: u64,
        bar: &ProgressBar,
    ) -> Result<ReceiveOutcome, Error> {
        let part_path = next_to(path, ".part");
        let failed = |source| file_error(&part_path, source);
        let status = response.status();
        let version = RemoteVersion::from_headers(url, response.headers());
        let resumed = status == StatusCode::PARTIAL_CONTENT;
        if status == StatusCode::RANGE_NOT_SATISFIABLE
            || (resumed && !continues(response.headers(), part_bytes))
        {
            std::fs::remove_file(&part_path).map_err(failed)?;
            return Ok(ReceiveOutcome::Restart);
        }
        if !status.is_success() {
            return Err(Error::Status {
                url: url.to_owned(),
                status,
            });
        }
        let start = if resumed { part_bytes } else { 0 };
        let file = if resumed {
            OpenOptions::new()
                .append(true)
                .open(&part_path)
                .await
                .map_err(failed)?
        } else {
            version.save(&next_to(path, ".part.json"))?;
            File::create(&part_path).await.map_err(failed)?
        };
        if let Some(rest) = response.content_length() {
            bar.set_length(start + rest);
        }
        bar.set_position(start);
        let (written, broken) = append(
            response,
            url,
            (part_path.as_path(), file),
            start,
            (bytes_max, ReadThrottle::new(&self.policy)),
            bar,
        )
        .await?;
        Ok(match broken {
            Some(reason) => ReceiveOutcome::Broken {
                // A server that ignores ranges starts again, which is not progress.
                progress: written > part_bytes,
                reason,
            },
            None => ReceiveOutcome::Whole(version),
        })
    }
}

/// Appends a body to a file that holds `start` bytes and makes it durable. Returns the file's new length, and the
/// reason if the connection broke off.
async fn append(
    response: Response,
    url: &str,
    (path, mut file): (&Path, File),
    start: u64,
    (bytes_max, mut throttle): (u64, ReadThrottle),
    bar: &ProgressBar,
) -> Result<(u64, Option<String>), Error> {
    let failed = |source| file_error(path, source);
    let mut written = start;
    let mut broken = None;
    let mut stream = response.bytes_stream();
    while let Some(bytes) = stream.next().await {
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => {
                broken = Some(explain(&error));
                break;
            }
        };
        written += bytes.len() as u64;
        if written > bytes_max {
            return Err(Error::TooLarge {
                url: url.to_owned(),
                bytes_max,
            });
        }
        file.write_all(&bytes).await.map_err(failed)?;
        throttle.wait_for(bytes.len()).await;
        bar.set_position(written);
    }
    file.flush().await.map_err(failed)?;
    file.sync_all().await.map_err(failed)?;
    Ok((written, broken))
}

enum ReceiveOutcome {
    Whole(RemoteVersion),
    Broken { progress: bool, reason: String },
    Restart,
}

/// Returns whether a partial response starts where the downloaded part ends.
fn continues(headers: &HeaderMap, part_bytes: u64) -> bool {
    headers
        .get(CONTENT_RANGE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with(&format!("bytes {part_bytes}-")))
}

fn conditional(
    mut request: RequestBuilder,
    whole: Option<&RemoteVersion>,
    part: Option<&RemoteVersion>,
    part_bytes: u64,
) -> RequestBuilder {
    if let Some(validator) = part.and_then(RemoteVersion::validator) {
        return request
            .header(RANGE, format!("bytes={part_bytes}-"))
            .header(IF_RANGE, validator);
    }
    if let Some(etag) = whole.and_then(|version| version.etag.as_deref()) {
        request = request.header(IF_NONE_MATCH, etag);
    } else if let Some(date) = whole.and_then(|version| version.last_modified.as_deref()) {
        request = request.header(IF_MODIFIED_SINCE, date);
    }
    request
}

fn finish(path: &Path, version: RemoteVersion) -> Result<DownloadedFile, Error> {
    let _ = std::fs::remove_file(next_to(path, ".part.json"));
    std::fs::rename(next_to(path, ".part"), path).map_err(|source| file_error(path, source))?;
    version.save(&next_to(path, ".json"))?;
    Ok(DownloadedFile {
        path: path.to_owned(),
        tag: version.tag(),
        last_modified: version.last_modified,
        kept: false,
    })
}
