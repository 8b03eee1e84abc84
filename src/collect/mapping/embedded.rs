//! The mappings compiled into the executable: all of `data/mappings/`, as a test verifies.

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../data/mappings/", $name)))),*]
    };
}

/// Name and text of each file.
pub(super) const EMBEDDED: [(&str, &str); 13] = embedded![
    "apimo.toml",
    "bienici-api.toml",
    "bienici-cards.toml",
    "bienici-page.toml",
    "french-csv.toml",
    "leboncoin-json.toml",
    "listings-json.toml",
    "locamoi.toml",
    "notaires.toml",
    "poliris.toml",
    "seloger-details.toml",
    "seloger-page.toml",
    "seloger-thin.toml",
];
