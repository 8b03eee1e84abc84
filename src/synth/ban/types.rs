//! Types of streets with their shares, and what streets of each type are named after.
//!
//! The shares were measured in a department of the national base and in nine of another open base of addresses: how
//! often a type starts a name, and which kind of name follows it. Only the shares are here, none of the names.

/// How a street is named after its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// A famous person.
    Famous,
    /// A local person: a first name and a surname, or a title and a surname.
    Local,
    /// A building, a work or a feature.
    Thing,
    /// Trees, flowers, animals.
    Nature,
    /// A commemorated date.
    Date,
    /// A saint.
    Saint,
    /// Another town.
    Town,
    /// A hamlet, a field or a farm.
    Hamlet,
    /// A trade.
    Trade,
    /// An adjective.
    Adjective,
    /// A number and a noun.
    Counted,
    /// A noun with an adjective, or with the name of a hamlet.
    Compound,
}

/// The kinds, in the order of the weights below.
pub const NAME_KINDS: [NameKind; 12] = [
    NameKind::Famous,
    NameKind::Local,
    NameKind::Thing,
    NameKind::Nature,
    NameKind::Date,
    NameKind::Saint,
    NameKind::Town,
    NameKind::Hamlet,
    NameKind::Trade,
    NameKind::Adjective,
    NameKind::Counted,
    NameKind::Compound,
];

/// Weights of the kinds of name.
pub type NameWeights = [f64; NAME_KINDS.len()];

const RUE: NameWeights = [
    22.0, 20.0, 21.0, 9.0, 2.5, 4.0, 3.0, 6.0, 3.0, 2.5, 1.0, 6.0,
];
const CHEMIN: NameWeights = [
    1.0, 2.0, 21.0, 8.0, 0.2, 2.5, 12.0, 32.0, 1.0, 0.3, 2.0, 18.0,
];
const ROUTE: NameWeights = [
    0.5, 1.0, 8.0, 2.0, 0.2, 1.5, 45.0, 31.0, 0.0, 0.0, 0.8, 10.0,
];
const IMPASSE: NameWeights = [
    7.0, 9.0, 20.0, 24.0, 0.3, 3.0, 1.0, 14.0, 3.0, 0.5, 2.0, 16.0,
];
const AVENUE: NameWeights = [
    36.0, 12.0, 10.0, 8.0, 5.0, 1.5, 14.0, 5.0, 1.0, 0.0, 0.2, 5.0,
];
const BOULEVARD: NameWeights = [46.0, 11.0, 8.0, 3.0, 5.0, 4.0, 9.0, 4.0, 0.0, 0.0, 0.2, 4.0];
const PLACE: NameWeights = [20.0, 8.0, 38.0, 4.0, 4.0, 8.0, 1.0, 6.0, 3.0, 0.5, 1.0, 6.0];
const ALLEE: NameWeights = [8.0, 6.0, 12.0, 50.0, 0.2, 1.5, 1.0, 8.0, 3.0, 0.0, 1.0, 8.0];
const ESTATE: NameWeights = [
    2.0, 2.0, 16.0, 34.0, 0.1, 4.0, 0.0, 30.0, 0.5, 0.0, 2.0, 12.0,
];

/// A type of street.
#[derive(Debug)]
pub struct StreetType {
    /// As it is written; empty if the name of a hamlet is used alone.
    pub name: &'static str,
    /// Abbreviation in names of at most 32 letters.
    pub short: &'static str,
    /// Share in villages, towns and cities, per cent.
    pub shares: [f64; 3],
    /// Kinds of names of the streets.
    pub names: &'static NameWeights,
    /// Whether names follow without "du" or "des": Lotissement Les Lilas.
    pub is_estate: bool,
}

const fn street(
    name: &'static str,
    short: &'static str,
    shares: [f64; 3],
    names: &'static NameWeights,
) -> StreetType {
    StreetType {
        name,
        short,
        shares,
        names,
        is_estate: false,
    }
}

const fn estate(name: &'static str, short: &'static str, shares: [f64; 3]) -> StreetType {
    StreetType {
        name,
        short,
        shares,
        names: &ESTATE,
        is_estate: true,
    }
}

/// All types.
#[rustfmt::skip]
pub const TYPES: [StreetType; 46] = [
    street("Rue", "R", [40.0, 50.0, 54.0], &RUE), street("Chemin", "CHE", [15.0, 10.5, 5.0], &CHEMIN),
    street("Impasse", "IMP", [10.0, 9.0, 6.5], &IMPASSE), street("Route", "RTE", [12.0, 4.5, 1.2], &ROUTE),
    street("Allée", "ALL", [2.8, 6.0, 7.0], &ALLEE), street("Place", "PL", [4.6, 4.5, 4.5], &PLACE),
    street("Avenue", "AV", [2.2, 4.5, 6.5], &AVENUE), street("Boulevard", "BD", [0.3, 1.2, 3.0], &BOULEVARD),
    estate("", "", [4.0, 0.4, 0.0]), estate("Lotissement", "LOT", [2.2, 2.0, 0.6]),
    estate("Résidence", "RES", [0.4, 1.3, 1.4]), estate("Hameau", "HAM", [0.9, 0.4, 0.2]),
    estate("Lieu-dit", "LD", [1.6, 0.2, 0.0]), estate("Quartier", "QUA", [0.5, 0.5, 0.3]),
    estate("Clos", "CLOS", [0.3, 0.6, 0.4]), estate("Cité", "CITE", [0.3, 0.6, 0.9]),
    estate("Domaine", "DOM", [0.2, 0.2, 0.1]), estate("Villa", "VLA", [0.0, 0.1, 0.9]),
    estate("Parc", "PARC", [0.0, 0.1, 0.2]), estate("Zone Artisanale", "ZA", [0.2, 0.3, 0.1]),
    estate("ZA", "ZA", [0.1, 0.1, 0.0]), estate("ZI", "ZI", [0.0, 0.1, 0.1]),
    street("Zone Industrielle", "ZI", [0.1, 0.1, 0.1], &CHEMIN), street("Passage", "PAS", [0.5, 0.8, 1.2], &IMPASSE),
    street("Ruelle", "RLE", [1.0, 0.7, 0.3], &IMPASSE), street("Square", "SQ", [0.1, 0.8, 1.6], &ALLEE),
    street("Voie", "VOIE", [0.4, 0.4, 0.4], &CHEMIN), street("Sentier", "SEN", [0.3, 0.4, 0.4], &CHEMIN),
    street("Sente", "SENT", [0.2, 0.3, 0.2], &CHEMIN), street("Montée", "MTE", [0.5, 0.3, 0.2], &CHEMIN),
    street("Traverse", "TRA", [0.2, 0.2, 0.4], &CHEMIN), street("Quai", "QU", [0.1, 0.3, 0.7], &BOULEVARD),
    street("Cours", "CRS", [0.1, 0.2, 0.5], &BOULEVARD), street("Cour", "COUR", [0.2, 0.2, 0.3], &IMPASSE),
    street("Venelle", "VEN", [0.2, 0.3, 0.2], &IMPASSE), street("Côte", "COTE", [0.2, 0.1, 0.1], &CHEMIN),
    street("Faubourg", "FG", [0.1, 0.2, 0.1], &PLACE), street("Rond-Point", "RPT", [0.1, 0.2, 0.3], &PLACE),
    street("Esplanade", "ESP", [0.0, 0.1, 0.2], &BOULEVARD), street("Promenade", "PROM", [0.1, 0.1, 0.2], &BOULEVARD),
    street("Mail", "MAIL", [0.0, 0.1, 0.2], &ALLEE), street("Placette", "PLE", [0.1, 0.1, 0.1], &PLACE),
    street("Descente", "DSC", [0.0, 0.1, 0.1], &CHEMIN), street("Chaussée", "CHS", [0.0, 0.1, 0.1], &ROUTE),
    street("Pont", "PONT", [0.1, 0.1, 0.1], &PLACE), street("Grande Rue", "GR", [0.3, 0.1, 0.0], &ROUTE),
];
