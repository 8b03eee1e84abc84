//! The difficulty levels of an evaluation: which values a query takes from a record, and how inexact they are.

use rand::RngExt;
use rand::rngs::StdRng;

use super::query::{EMISSIONS, ENERGY, EvaluationQuery, FLOOR};
use super::sample::SampledRecord;
use toise_opendata::Dataset;

/// A difficulty level.
pub struct EvaluationLevel {
    /// Its name.
    pub name: &'static str,
    /// Description of its queries.
    pub about: &'static str,
    /// Builds the query for a record; `None` if the record lacks a value that the level uses.
    pub(super) query: fn(&SampledRecord, &mut StdRng) -> Option<EvaluationQuery>,
}

/// The levels of a dataset.
pub fn of(dataset: Dataset) -> &'static [EvaluationLevel] {
    match dataset {
        Dataset::Dpe => &DPE,
        Dataset::Dvf => &DVF,
    }
}

macro_rules! level {
    ($name:literal, $about:literal, $query:expr) => {
        EvaluationLevel {
            name: $name,
            about: $about,
            query: $query,
        }
    };
}

static DPE: [EvaluationLevel; 16] = [
    level!(
        "rounded",
        "commune, type, surface ±2 %, both figures rounded",
        |record, random| {
            EvaluationQuery::dpe(record)
                .surface(record, 0.02, random)?
                .figures(record)
        }
    ),
    level!("surface-5", "the same, surface ±5 %", |record, random| {
        EvaluationQuery::dpe(record)
            .surface(record, 0.05, random)?
            .figures(record)
    }),
    level!(
        "surface-10",
        "the same, surface ±10 %",
        |record, random| {
            EvaluationQuery::dpe(record)
                .surface(record, 0.10, random)?
                .figures(record)
        }
    ),
    level!(
        "no-surface",
        "commune, type, both figures rounded",
        |record, _| { EvaluationQuery::dpe(record).figures(record) }
    ),
    level!(
        "figures-3",
        "surface ±5 %, both figures off by up to 3 %",
        |record, random| {
            EvaluationQuery::dpe(record)
                .surface(record, 0.05, random)?
                .off(record, ENERGY, 0.03, random)?
                .off(record, EMISSIONS, 0.03, random)
        }
    ),
    level!(
        "figures-5",
        "surface ±5 %, both figures off by up to 5 %",
        |record, random| {
            EvaluationQuery::dpe(record)
                .surface(record, 0.05, random)?
                .off(record, ENERGY, 0.05, random)?
                .off(record, EMISSIONS, 0.05, random)
        }
    ),
    level!(
        "place-100",
        "pin off by up to 100 m instead of the commune, surface ±5 %, figures",
        |record, random| {
            EvaluationQuery::dpe(record)
                .place(record, 100.0, random)?
                .surface(record, 0.05, random)?
                .figures(record)
        }
    ),
    level!("place-300", "pin off by up to 300 m", |record, random| {
        EvaluationQuery::dpe(record)
            .place(record, 300.0, random)?
            .surface(record, 0.05, random)?
            .figures(record)
    }),
    level!(
        "energy-only",
        "surface ±2 %, consumption rounded, emissions unknown",
        |record, random| {
            EvaluationQuery::dpe(record)
                .surface(record, 0.02, random)?
                .rounded(record, ENERGY, 1.0)
        }
    ),
    level!(
        "emissions-only",
        "surface ±2 %, emissions rounded, consumption unknown",
        |record, random| {
            EvaluationQuery::dpe(record)
                .surface(record, 0.02, random)?
                .rounded(record, EMISSIONS, 1.0)
        }
    ),
    level!(
        "classes",
        "surface ±2 %, both classes, no figures",
        |record, random| {
            EvaluationQuery::dpe(record)
                .surface(record, 0.02, random)?
                .classes(record)
        }
    ),
    level!(
        "classes-10",
        "surface ±10 %, both classes, no figures",
        |record, random| {
            EvaluationQuery::dpe(record)
                .surface(record, 0.10, random)?
                .classes(record)
        }
    ),
    level!(
        "all",
        "surface ±2 %, every target the record has",
        |record, random| {
            EvaluationQuery::dpe(record)
                .surface(record, 0.02, random)?
                .figures(record)?
                .classes(record)?
                .building(record, 0.0)
        }
    ),
    level!(
        "floor-off",
        "surface ±2 %, figures, storeys, floor wrong by one",
        |record, random| {
            record.number(FLOOR)?;
            let step = if random.random_bool(0.5) { 1.0 } else { -1.0 };
            EvaluationQuery::dpe(record)
                .surface(record, 0.02, random)?
                .figures(record)?
                .building(record, step)
        }
    ),
    level!(
        "floor-off-classes",
        "surface ±5 %, classes, period, storeys, floor wrong by one",
        |record, random| {
            record.number(FLOOR)?;
            let step = if random.random_bool(0.5) { 1.0 } else { -1.0 };
            EvaluationQuery::dpe(record)
                .surface(record, 0.05, random)?
                .classes(record)?
                .building(record, step)
        }
    ),
    level!(
        "surface-only",
        "commune, type, surface ±2 %",
        |record, random| { EvaluationQuery::dpe(record).surface(record, 0.02, random) }
    ),
];

/// Builds a query about a sale: surface ±5 %, price off by at most `share`, rooms.
fn priced(record: &SampledRecord, share: f64, random: &mut StdRng) -> Option<EvaluationQuery> {
    EvaluationQuery::dvf(record)
        .surface(record, 0.05, random)?
        .off(record, "price_eur", share, random)?
        .rooms(record, 0.0)
}

static DVF: [EvaluationLevel; 14] = [
    level!(
        "rounded",
        "commune, type, surface ±2 %, price to the thousand, rooms",
        |record, random| {
            EvaluationQuery::dvf(record)
                .surface(record, 0.02, random)?
                .price(record)?
                .rooms(record, 0.0)
        }
    ),
    level!("surface-5", "the same, surface ±5 %", |record, random| {
        EvaluationQuery::dvf(record)
            .surface(record, 0.05, random)?
            .price(record)?
            .rooms(record, 0.0)
    }),
    level!(
        "surface-10",
        "the same, surface ±10 %",
        |record, random| {
            EvaluationQuery::dvf(record)
                .surface(record, 0.10, random)?
                .price(record)?
                .rooms(record, 0.0)
        }
    ),
    level!(
        "no-surface",
        "commune, type, price to the thousand, rooms",
        |record, _| {
            EvaluationQuery::dvf(record)
                .price(record)?
                .rooms(record, 0.0)
        }
    ),
    level!(
        "dated",
        "rounded, and the month it was sold in",
        |record, random| {
            EvaluationQuery::dvf(record)
                .month(record, random)?
                .surface(record, 0.02, random)?
                .price(record)?
                .rooms(record, 0.0)
        }
    ),
    level!(
        "price-3",
        "surface ±5 %, price off by up to 3 %, rooms",
        |record, random| priced(record, 0.03, random)
    ),
    level!(
        "price-5",
        "surface ±5 %, price off by up to 5 %, rooms",
        |record, random| priced(record, 0.05, random)
    ),
    level!(
        "price-10",
        "surface ±5 %, price off by up to 10 %, rooms",
        |record, random| priced(record, 0.10, random)
    ),
    level!(
        "price-20",
        "surface ±5 %, price off by up to 20 %, rooms",
        |record, random| priced(record, 0.20, random)
    ),
    level!(
        "place-100",
        "pin off by up to 100 m instead of the commune, surface ±5 %, price, rooms",
        |record, random| {
            EvaluationQuery::dvf(record)
                .place(record, 100.0, random)?
                .surface(record, 0.05, random)?
                .price(record)?
                .rooms(record, 0.0)
        }
    ),
    level!("place-300", "pin off by up to 300 m", |record, random| {
        EvaluationQuery::dvf(record)
            .place(record, 300.0, random)?
            .surface(record, 0.05, random)?
            .price(record)?
            .rooms(record, 0.0)
    }),
    level!(
        "rooms-off",
        "surface ±2 %, price, rooms wrong by one",
        |record, random| {
            let step = if random.random_bool(0.5) { 1.0 } else { -1.0 };
            EvaluationQuery::dvf(record)
                .surface(record, 0.02, random)?
                .price(record)?
                .rooms(record, step)
        }
    ),
    level!(
        "price-only",
        "surface ±2 %, price, rooms unknown",
        |record, random| {
            EvaluationQuery::dvf(record)
                .surface(record, 0.02, random)?
                .price(record)
        }
    ),
    level!("no-price", "surface ±2 %, rooms", |record, random| {
        EvaluationQuery::dvf(record)
            .surface(record, 0.02, random)?
            .rooms(record, 0.0)
    }),
];
