//! Downloads addresses and named places of the national address base: two files per department, which together form one
//! edition of the department.

use std::collections::BTreeMap;

use super::{Downloads, Error, FetchedSources, FileVersion, ImportInput, PublishedFiles, check};
use toise_lake::Slice;
use toise_net::Client;

/// Base URL of the national address base.
pub const BAN_BASE: &str = "https://adresse.data.gouv.fr/data/ban/adresses/latest/csv";

/// Maximum size of a file of addresses of one department, bytes; the largest is about 40 MB.
const BAN_BYTES_MAX: u64 = 1 << 30;

/// Returns the names of the files of a department: addresses, then named places.
pub fn files(code: &str) -> [String; 2] {
    [
        format!("adresses-{code}.csv.gz"),
        format!("lieux-dits-{code}-beta.csv.gz"),
    ]
}

fn url_of(base: &str, file: &str) -> String {
    format!("{}/{file}", base.trim_end_matches('/'))
}

/// Asks for the versions of the files of departments, by name of the file. Files that are not published are omitted. If
/// the source fails, the remaining departments are not queried.
///
/// # Errors
/// An unknown department.
pub async fn published(
    client: &Client,
    base: &str,
    codes: &[String],
) -> Result<PublishedFiles, Error> {
    check(codes)?;
    let mut published = PublishedFiles::default();
    for file in codes.iter().flat_map(|code| files(code)) {
        let url = url_of(base, &file);
        match client.head(&url).await.map_err(Error::from) {
            Ok(about) => {
                let version = FileVersion::at(&url, &about);
                published.versions.insert(file, version);
            }
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                published.failures.push(error.to_string());
                break;
            }
        }
    }
    Ok(published)
}

/// Downloads addresses and named places of departments. The two files of a department replace all rows of it in the
/// table.
///
/// # Errors
/// An unknown department, or a file that cannot be downloaded. Files downloaded so far are kept for the next attempt.
pub async fn fetch(
    downloads: Downloads<'_>,
    base: &str,
    codes: &[String],
) -> Result<FetchedSources, Error> {
    check(codes)?;
    let mut fetched = FetchedSources::default();
    for code in codes {
        add_department(&mut fetched, downloads, base, code, &BTreeMap::new()).await?;
    }
    Ok(fetched)
}

/// Downloads as [`fetch`] does, but skips departments with a damaged file, and stops when the source fails or no longer
/// has one of the files that are `held`. All are listed as failures.
///
/// # Errors
/// An unknown department, or a file cannot be written.
pub async fn fetch_good(
    downloads: Downloads<'_>,
    base: &str,
    codes: &[String],
    held: &BTreeMap<String, FileVersion>,
) -> Result<FetchedSources, Error> {
    check(codes)?;
    let mut fetched = FetchedSources::default();
    for code in codes {
        match add_department(&mut fetched, downloads, base, code, held).await {
            Ok(()) => {}
            Err(error) if error.is_of_file() => fetched.failures.push(error.to_string()),
            Err(error) if error.is_of_place() => {
                fetched.failures.push(error.to_string());
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(fetched)
}

/// Adds the files of a department, or none of them.
async fn add_department(
    fetched: &mut FetchedSources,
    downloads: Downloads<'_>,
    base: &str,
    code: &str,
    held: &BTreeMap<String, FileVersion>,
) -> Result<(), Error> {
    let mut found: Vec<(String, ImportInput, FileVersion)> = Vec::new();
    for file in files(code) {
        let path = downloads.path("ban", &file);
        let slice = Slice {
            place: code.to_owned(),
            year: None,
        };
        let url = url_of(base, &file);
        let taken = downloads.edition_file(&url, &path, BAN_BYTES_MAX, Some(vec![slice]));
        match taken.await {
            Ok((input, version)) => found.push((file, input, version)),
            // The other file would replace the rows of one that is held.
            Err(error) if error.is_not_found() && !held.contains_key(&file) => {
                fetched.notes.push(format!("{file} is not published"));
            }
            Err(error) => return Err(error),
        }
    }
    for (file, input, version) in found {
        fetched.inputs.push(input);
        fetched.versions.insert(file, version);
    }
    Ok(())
}
