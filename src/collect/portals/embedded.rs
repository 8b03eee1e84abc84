//! The portal files compiled into the executable: all of `data/portals/`, as a test verifies.

/// Name and text of each file.
pub(super) const EMBEDDED: [(&str, &str); 13] = [
    (
        "bellesdemeures.toml",
        include_str!("../../../data/portals/bellesdemeures.toml"),
    ),
    (
        "bienici.toml",
        include_str!("../../../data/portals/bienici.toml"),
    ),
    (
        "century21.toml",
        include_str!("../../../data/portals/century21.toml"),
    ),
    (
        "figaro-immobilier.toml",
        include_str!("../../../data/portals/figaro-immobilier.toml"),
    ),
    (
        "immoneuf.toml",
        include_str!("../../../data/portals/immoneuf.toml"),
    ),
    (
        "leboncoin.toml",
        include_str!("../../../data/portals/leboncoin.toml"),
    ),
    (
        "logic-immo.toml",
        include_str!("../../../data/portals/logic-immo.toml"),
    ),
    ("orpi.toml", include_str!("../../../data/portals/orpi.toml")),
    (
        "ouestfrance-immo.toml",
        include_str!("../../../data/portals/ouestfrance-immo.toml"),
    ),
    ("pap.toml", include_str!("../../../data/portals/pap.toml")),
    (
        "paruvendu.toml",
        include_str!("../../../data/portals/paruvendu.toml"),
    ),
    (
        "seloger.toml",
        include_str!("../../../data/portals/seloger.toml"),
    ),
    (
        "selogerneuf.toml",
        include_str!("../../../data/portals/selogerneuf.toml"),
    ),
];
