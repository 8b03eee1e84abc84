//! The portal files compiled into the executable: all of `data/portals/`, as a test verifies.

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../data/portals/", $name)))),*]
    };
}

/// Name and text of each file.
pub(super) const EMBEDDED: [(&str, &str); 13] = embedded![
    "bellesdemeures.toml",
    "bienici.toml",
    "century21.toml",
    "figaro-immobilier.toml",
    "immoneuf.toml",
    "leboncoin.toml",
    "logic-immo.toml",
    "orpi.toml",
    "ouestfrance-immo.toml",
    "pap.toml",
    "paruvendu.toml",
    "seloger.toml",
    "selogerneuf.toml",
];
