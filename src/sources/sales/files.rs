//! Derives from the name and title of a published file which sales it holds: of one year, of one department and year,
//! or all. The catalogue has no field for this.

use std::collections::BTreeMap;

use crate::FileVersion;
use crate::catalogue::Resource;

/// First and last year that may occur in a name.
const YEARS: std::ops::RangeInclusive<i32> = 2000..=2100;

/// The sales that a file holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coverage {
    /// Of one department in one year.
    Slice {
        /// Code of the department.
        department: String,
        /// Year of the sales.
        year: i32,
    },
    /// Of the whole country in one year.
    Year(i32),
    /// Of the whole country in several years.
    Country,
}

/// A published file of sales.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SalesFile {
    /// The sales that it holds.
    pub coverage: Coverage,
    /// Whether it is Parquet; otherwise it is CSV or text.
    pub is_parquet: bool,
    /// The file in the catalogue.
    pub resource: Resource,
}

impl SalesFile {
    /// Returns the sales that a resource holds; `None` if it is something else: a notice, a link to a page, statistics.
    pub fn of(resource: &Resource) -> Option<Self> {
        if !matches!(resource.role.as_str(), "main" | "update" | "") {
            return None;
        }
        let path = resource.url.split(['?', '#']).next().unwrap_or_default();
        let mut folders = path.rsplit('/').map(str::to_lowercase);
        let name = folders.next().unwrap_or_default();
        let (parent, grandparent) = (folders.next(), folders.next());
        let title = resource.title.to_lowercase();
        let is_parquet = name.contains("parquet") || resource.format.contains("parquet");
        let is_text = [".csv", ".txt"].iter().any(|ending| name.contains(ending))
            || resource.format.starts_with("csv");
        if !is_parquet && !is_text {
            return None;
        }
        let file = |coverage| {
            Some(Self {
                coverage,
                is_parquet,
                resource: resource.clone(),
            })
        };
        if parent.as_deref() == Some("departements") {
            let year = grandparent.as_deref().and_then(only_year)?;
            let department = name.split('.').next().unwrap_or_default().to_uppercase();
            return file(Coverage::Slice { department, year });
        }
        let is_of_sales = ["full", "dvf", "valeursfoncieres"]
            .iter()
            .any(|word| name.starts_with(word))
            || title.starts_with("dvf");
        match only_year(&name).or_else(|| only_year(&title)) {
            Some(year) if is_of_sales => file(Coverage::Year(year)),
            None if is_parquet || is_of_sales => file(Coverage::Country),
            _ => None,
        }
    }

    /// Returns the version that the catalogue lists. Without a checksum, the version is identified by date and size,
    /// otherwise by the server's headers of the downloaded file.
    pub(super) fn version(&self, downloaded: Option<FileVersion>) -> FileVersion {
        let Resource {
            url,
            checksum,
            last_modified,
            bytes,
            ..
        } = &self.resource;
        let listed = match (checksum, last_modified) {
            (Some(checksum), _) => checksum.to_string(),
            (None, Some(changed)) => format!("{changed}, {bytes:?} bytes"),
            (None, None) => url.clone(),
        };
        FileVersion {
            url: url.clone(),
            tag: listed,
            changed: *last_modified,
            bytes: bytes.or_else(|| downloaded?.bytes),
        }
    }

    /// Returns the name under which the file is kept.
    pub(super) fn stored_name(&self) -> String {
        let stem = match &self.coverage {
            Coverage::Slice { department, year } => format!("{year}-{department}"),
            Coverage::Year(year) => year.to_string(),
            Coverage::Country => "country".to_owned(),
        };
        let name = self.resource.url.to_lowercase();
        let ending = match (self.is_parquet, name.ends_with(".zip")) {
            (true, _) => "parquet",
            (_, true) => "txt.zip",
            _ => "csv.gz",
        };
        format!("{stem}.{ending}")
    }
}

/// Returns the year in a text, if it names exactly one.
fn only_year(text: &str) -> Option<i32> {
    let words = text.split(|symbol: char| !symbol.is_ascii_alphanumeric());
    let mut years = words.filter(|word| word.len() == 4).filter_map(|word| {
        let year = word.parse().ok()?;
        YEARS.contains(&year).then_some(year)
    });
    let first = years.next()?;
    years.all(|year| year == first).then_some(first)
}

/// Lists the files of sales among the resources of a dataset, one for each coverage. While a publisher replaces its
/// files one by one, there may be two for one year: the later one is listed, and CSV is preferred to Parquet.
pub fn list(resources: &[Resource]) -> Vec<SalesFile> {
    let mut files: BTreeMap<Coverage, SalesFile> = BTreeMap::new();
    let rank = |file: &SalesFile| (file.resource.last_modified, !file.is_parquet);
    for file in resources.iter().filter_map(SalesFile::of) {
        let known = files.get(&file.coverage);
        if known.is_none_or(|known| rank(known) < rank(&file)) {
            files.insert(file.coverage.clone(), file);
        }
    }
    files.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(title: &str, url: &str, format: &str) -> Resource {
        Resource {
            title: title.into(),
            url: url.into(),
            format: format.into(),
            role: "main".into(),
            bytes: None,
            checksum: None,
            last_modified: None,
        }
    }

    #[test]
    fn names_and_titles_say_what_a_file_holds() {
        let stored = "https://static.data.gouv.fr/resources/dvf-geolocalisees/20260412-093000";
        let coverage = |title: &str, url: &str, format: &str| {
            SalesFile::of(&resource(title, url, format)).map(|file| file.coverage)
        };
        #[rustfmt::skip]
        let cases = [
            ("DVF 2023", "full-2023.csv.gz", "csv.gz", Some(Coverage::Year(2023))),
            ("DVF 2023", "data.csv.gz", "csv.gz", Some(Coverage::Year(2023))),
            ("", "valeursfoncieres-2024.txt.zip", "zip", Some(Coverage::Year(2024))),
            ("DVF géolocalisées", "dvf.parquet", "parquet", Some(Coverage::Country)),
            ("DVF 2021-2025", "dvf-2021-2025.parquet", "", Some(Coverage::Country)),
            ("Tout", "full.csv.gz", "csv", Some(Coverage::Country)),
            ("Statistiques 2023", "stats-2023.csv", "csv", None),
            ("DVF 2023", "notice-2023.pdf", "pdf", None),
            ("Dossier", "latest/csv/", "html", None),
        ];
        for (title, name, format, expected) in cases {
            let url = format!("{stored}/{name}");
            assert_eq!(coverage(title, &url, format), expected, "{name}");
        }
        let tree = "https://files.data.gouv.fr/geo-dvf/latest/csv/2023/departements/2A.csv.gz";
        let slice = Coverage::Slice {
            department: "2A".into(),
            year: 2023,
        };
        assert_eq!(coverage("", tree, "csv"), Some(slice));
    }

    #[test]
    fn the_later_of_two_files_for_one_year_is_listed() {
        let at = |day: &str, url: &str| Resource {
            last_modified: Some(format!("{day}T00:00:00Z").parse().unwrap()),
            ..resource("DVF 2021", url, "csv.gz")
        };
        let files = list(&[
            at("2026-10-12", "https://host/b/full-2021.csv.gz"),
            at("2026-04-12", "https://host/a/full-2021.csv.gz"),
            at("2026-04-12", "https://host/a/full-2022.csv.gz"),
        ]);
        let urls: Vec<&str> = files
            .iter()
            .map(|file| file.resource.url.as_str())
            .collect();
        assert_eq!(
            urls,
            [
                "https://host/b/full-2021.csv.gz",
                "https://host/a/full-2022.csv.gz"
            ]
        );
    }
}
