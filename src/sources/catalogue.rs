//! The national catalogue of open data (data.gouv.fr, an installation of udata): lists the files of a dataset with
//! their sizes, dates and checksums, and checks whether a downloaded file is the one listed.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use chrono::{DateTime, Utc};
use md5::{Digest as _, Md5};
use ring::digest;
use serde::Deserialize;

use super::{Error, file_error};
use toise_net::Client;

/// Base URL of the catalogue's API.
pub const CATALOGUE_BASE: &str = "https://www.data.gouv.fr/api/1";

/// Maximum size of the description of a dataset, bytes; those of sales have about 50 kB.
const DATASET_BYTES_MAX: u64 = 16 << 20;
/// Bytes of a file that are hashed at once.
const DIGEST_BYTES: usize = 1 << 18;

/// A file that a dataset lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Title, for people.
    pub title: String,
    /// Address of the file. Files of the catalogue's own storage get a new one with each edition.
    pub url: String,
    /// Format as stated, such as `csv.gz`, in lower case; empty if it is not stated.
    pub format: String,
    /// Role in the dataset: `main`, `documentation`, `update`, …; empty if it is not stated.
    pub role: String,
    /// Size, bytes; given only for files in the catalogue's own storage, because others change without notice.
    pub bytes: Option<u64>,
    /// Checksum, if its kind is known.
    pub checksum: Option<Checksum>,
    /// When the file was last changed.
    pub last_modified: Option<DateTime<Utc>>,
}

/// The checksum of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksum {
    kind: ChecksumKind,
    /// Hexadecimal digits in lower case.
    digest: String,
}

toise_base::named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum ChecksumKind {
        Md5 = "MD5",
        Sha1 = "SHA-1",
        Sha256 = "SHA-256",
        Sha512 = "SHA-512",
    }
}

/// A digest that is being computed.
enum Computation {
    Md5(Md5),
    Sha(digest::Context),
}

impl Computation {
    fn new(kind: ChecksumKind) -> Self {
        let algorithm = match kind {
            ChecksumKind::Md5 => return Self::Md5(Md5::new()),
            ChecksumKind::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
            ChecksumKind::Sha256 => &digest::SHA256,
            ChecksumKind::Sha512 => &digest::SHA512,
        };
        Self::Sha(digest::Context::new(algorithm))
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Md5(md5) => md5.update(bytes),
            Self::Sha(context) => context.update(bytes),
        }
    }

    fn finish(self) -> String {
        let digits = |digest: &[u8]| digest.iter().map(|byte| format!("{byte:02x}")).collect();
        match self {
            Self::Md5(md5) => digits(&md5.finalize()),
            Self::Sha(context) => digits(context.finish().as_ref()),
        }
    }
}

impl Checksum {
    /// Reads a checksum as the catalogue writes it; `None` for kinds that are not computed here (CRC).
    pub fn read(kind: &str, digest: &str) -> Option<Self> {
        let digest = digest.trim().to_lowercase();
        let kind = match (kind.to_lowercase().replace('-', "").as_str(), digest.len()) {
            ("md5", 32) => ChecksumKind::Md5,
            ("sha1", 40) => ChecksumKind::Sha1,
            ("sha256" | "sha2", 64) => ChecksumKind::Sha256,
            ("sha512" | "sha2", 128) => ChecksumKind::Sha512,
            _ => return None,
        };
        let is_hex = digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then_some(Self { kind, digest })
    }

    /// Computes the checksum of a file, of the same kind; reads the whole file.
    fn of_file(&self, path: &Path) -> std::io::Result<Self> {
        let mut file = File::open(path)?;
        let mut computation = Computation::new(self.kind);
        let mut block = vec![0; DIGEST_BYTES];
        loop {
            let read = file.read(&mut block)?;
            if read == 0 {
                break;
            }
            computation.update(&block[..read]);
        }
        Ok(Self {
            kind: self.kind,
            digest: computation.finish(),
        })
    }
}

impl std::fmt::Display for Checksum {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "the {} checksum {}", self.kind.as_str(), self.digest)
    }
}

impl Resource {
    /// Compares a downloaded file with the listed checksum or, if there is none, with the size. A resource with neither
    /// agrees with every file.
    ///
    /// # Errors
    /// [`Error::Differs`] if they disagree; the file cannot be read.
    pub fn verify(&self, path: &Path) -> Result<(), Error> {
        let failed = |source| file_error(path, source);
        let differs = |expected, found| {
            Err(Error::Differs {
                url: self.url.clone(),
                expected,
                found,
            })
        };
        if let Some(checksum) = &self.checksum {
            let found = checksum.of_file(path).map_err(failed)?;
            if found != *checksum {
                return differs(checksum.to_string(), found.to_string());
            }
        } else if let Some(bytes) = self.bytes {
            let found = std::fs::metadata(path).map_err(failed)?.len();
            if found != bytes {
                return differs(format!("{bytes} bytes"), format!("{found} bytes"));
            }
        }
        Ok(())
    }

    /// Returns whether a file is the listed one, by its checksum; `false` without a checksum.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        self.checksum.is_some() && path.is_file() && self.verify(path).is_ok()
    }
}

#[derive(Deserialize)]
struct Dataset {
    resources: Vec<Entry>,
}

/// A resource in the catalogue's answer. All fields may be absent or null.
#[derive(Deserialize)]
struct Entry {
    title: Option<String>,
    url: Option<String>,
    format: Option<String>,
    #[serde(rename = "type")]
    role: Option<String>,
    filetype: Option<String>,
    filesize: Option<serde_json::Value>,
    checksum: Option<serde_json::Value>,
    last_modified: Option<String>,
}

impl Entry {
    fn into_resource(self) -> Option<Resource> {
        let url = self.url.filter(|url| url.starts_with("http"))?;
        let is_own = self.filetype.as_deref() != Some("remote");
        let size = self.filesize.as_ref().and_then(serde_json::Value::as_u64);
        let checksum = self.checksum.as_ref().and_then(|checksum| {
            Checksum::read(
                checksum.get("type")?.as_str()?,
                checksum.get("value")?.as_str()?,
            )
        });
        Some(Resource {
            title: self.title.unwrap_or_default(),
            url,
            format: self.format.unwrap_or_default().to_lowercase(),
            role: self.role.unwrap_or_default(),
            bytes: size.filter(|bytes| *bytes > 0 && is_own),
            checksum,
            last_modified: self.last_modified.as_deref().and_then(time),
        })
    }
}

/// Reads a time with or without a zone; without one it is in UTC.
fn time(text: &str) -> Option<DateTime<Utc>> {
    let with_zone = DateTime::parse_from_rfc3339(text).map(|time| time.to_utc());
    let without = || chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f");
    with_zone
        .or_else(|_| without().map(|time| time.and_utc()))
        .ok()
}

/// Lists the files of a dataset, in the catalogue's order. `dataset` is its identifier or the name in its address.
///
/// # Errors
/// The catalogue cannot be reached, has no such dataset (404), or gives an unexpected answer.
pub async fn resources(client: &Client, base: &str, dataset: &str) -> Result<Vec<Resource>, Error> {
    let url = format!("{}/datasets/{dataset}/", base.trim_end_matches('/'));
    let answer = client.get(&url, DATASET_BYTES_MAX).await?;
    let dataset: Dataset = serde_json::from_slice(&answer).map_err(|error| Error::Answer {
        url,
        expected: "the description of a dataset",
        reason: error.to_string(),
    })?;
    let entries = dataset.resources.into_iter();
    Ok(entries.filter_map(Entry::into_resource).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC_MD5: &str = "900150983cd24fb0d6963f7d28e17f72";
    const ABC_SHA1: &str = "a9993e364706816aba3e25717850c26c9cd0d89d";
    const ABC_SHA256: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_file_is_compared_with_its_checksum_and_without_one_with_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "abc").unwrap();
        let resource = |kind: &str, digest: &str, bytes| Resource {
            title: String::new(),
            url: "https://host/full-2023.csv.gz".into(),
            format: String::new(),
            role: String::new(),
            bytes,
            checksum: Checksum::read(kind, digest),
            last_modified: None,
        };
        for (kind, digest) in [
            ("md5", ABC_MD5),
            ("sha1", ABC_SHA1),
            ("sha256", ABC_SHA256),
            ("SHA-256", &ABC_SHA256.to_uppercase()),
        ] {
            assert!(resource(kind, digest, None).verify(&path).is_ok(), "{kind}");
        }
        let wrong = resource("sha1", &"0".repeat(40), Some(3)).verify(&path);
        let message = wrong.unwrap_err().to_string();
        assert!(message.starts_with("https://host/full-2023.csv.gz: "));
        assert!(message.contains(ABC_SHA1), "{message}");
        let wrong = resource("md5", &"0".repeat(32), Some(3)).verify(&path);
        assert!(wrong.unwrap_err().to_string().contains(ABC_MD5));
        // For a kind that is not computed, only the size is compared.
        assert!(resource("crc32", "352441c2", Some(3)).verify(&path).is_ok());
        assert!(
            resource("crc32", "352441c2", Some(4))
                .verify(&path)
                .is_err()
        );
        assert!(resource("", "", None).verify(&path).is_ok());
    }

    #[test]
    fn entries_with_missing_and_unusual_values_are_read() {
        let answer = r#"{"id": "5cc1", "resources": [
            {"title": "DVF 2023", "url": "https://host/full-2023.csv.gz", "format": "CSV.GZ", "type": "main",
             "filetype": "file", "filesize": 12, "checksum": {"type": "sha1", "value": "A9993E364706816ABA3E25717850C26C9CD0D89D"},
             "last_modified": "2026-10-12T09:30:00.123000+00:00", "extras": {"analysis:checksum": "x"}},
            {"title": null, "url": "https://host/folder/", "filetype": "remote", "filesize": 99, "checksum": null,
             "last_modified": "2026-04-02T08:00:00"},
            {"title": "no address"}]}"#;
        let dataset: Dataset = serde_json::from_str(answer).unwrap();
        let entries = dataset.resources.into_iter();
        let found: Vec<Resource> = entries.filter_map(Entry::into_resource).collect();
        let [own, remote] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(own.checksum, Checksum::read("sha1", ABC_SHA1));
        assert_eq!((own.bytes, own.format.as_str()), (Some(12), "csv.gz"));
        let month =
            |resource: &Resource| resource.last_modified.unwrap().format("%Y-%m").to_string();
        assert_eq!(
            (month(own), month(remote)),
            ("2026-10".into(), "2026-04".into())
        );
        assert_eq!((remote.bytes, remote.title.as_str()), (None, ""));
    }
}
