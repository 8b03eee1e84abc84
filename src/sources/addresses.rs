//! Downloads addresses and named places of the national address base: two files per department, which together form one
//! edition of the department.

use super::{Downloads, Error, FetchedSources, check};
use toise_lake::Slice;

/// Base URL of the national address base.
pub const BAN_BASE: &str = "https://adresse.data.gouv.fr/data/ban/adresses/latest/csv";

/// Maximum size of a file of addresses of one department, bytes; the largest is about 40 MB.
const BAN_BYTES_MAX: u64 = 1 << 30;

/// Downloads addresses and named places of departments. The two files of a department replace what the table holds of
/// it.
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
        for file in [
            format!("adresses-{code}.csv.gz"),
            format!("lieux-dits-{code}-beta.csv.gz"),
        ] {
            let url = format!("{}/{file}", base.trim_end_matches('/'));
            let path = downloads.path("ban", &file);
            let slice = Slice {
                place: code.clone(),
                year: None,
            };
            let input = downloads
                .edition_file(&url, &path, BAN_BYTES_MAX, Some(vec![slice]))
                .await;
            match input {
                Ok(input) => fetched.inputs.push(input),
                Err(error) if error.is_not_found() => {
                    fetched.notes.push(format!("{file} is not published"));
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(fetched)
}
