//! The difficulty levels of an evaluation: which values a query takes from a record, and how inexact they are.

use super::query::{EMISSIONS, ENERGY, EvaluationQuery};
use toise_opendata::Dataset;

type CompleteQuery = for<'a> fn(EvaluationQuery<'a>) -> Option<EvaluationQuery<'a>>;

/// A difficulty level.
pub struct EvaluationLevel {
    /// Its name.
    pub name: &'static str,
    /// Description of its queries.
    pub about: &'static str,
    /// Completes the query for a record; `None` if the record lacks a value that the level uses.
    pub(super) query: CompleteQuery,
}

/// The levels of a dataset.
pub fn of(dataset: Dataset) -> &'static [EvaluationLevel] {
    match dataset {
        Dataset::Dpe => &DPE,
        Dataset::Dvf => &DVF,
    }
}

const fn level(name: &'static str, about: &'static str, query: CompleteQuery) -> EvaluationLevel {
    EvaluationLevel { name, about, query }
}

#[rustfmt::skip]
static DPE: [EvaluationLevel; 16] = [
    level("rounded", "commune, type, surface ±2 %, both figures rounded", |it| it.surface(0.02)?.figures()),
    level("surface-5", "the same, surface ±5 %", |it| it.surface(0.05)?.figures()),
    level("surface-10", "the same, surface ±10 %", |it| it.surface(0.10)?.figures()),
    level("no-surface", "commune, type, both figures rounded", |it| it.figures()),
    level("figures-3", "surface ±5 %, both figures off by up to 3 %",
        |it| it.surface(0.05)?.off(ENERGY, 0.03)?.off(EMISSIONS, 0.03)),
    level("figures-5", "surface ±5 %, both figures off by up to 5 %",
        |it| it.surface(0.05)?.off(ENERGY, 0.05)?.off(EMISSIONS, 0.05)),
    level("place-100", "pin off by up to 100 m instead of the commune, surface ±5 %, figures",
        |it| it.place(100.0)?.surface(0.05)?.figures()),
    level("place-300", "pin off by up to 300 m", |it| it.place(300.0)?.surface(0.05)?.figures()),
    level("energy-only", "surface ±2 %, consumption rounded, emissions unknown",
        |it| it.surface(0.02)?.rounded(ENERGY, 1.0)),
    level("emissions-only", "surface ±2 %, emissions rounded, consumption unknown",
        |it| it.surface(0.02)?.rounded(EMISSIONS, 1.0)),
    level("classes", "surface ±2 %, both classes, no figures", |it| it.surface(0.02)?.classes()),
    level("classes-10", "surface ±10 %, both classes, no figures", |it| it.surface(0.10)?.classes()),
    level("all", "surface ±2 %, every target the record has",
        |it| it.surface(0.02)?.figures()?.classes()?.building(0.0)),
    level("floor-off", "surface ±2 %, figures, storeys, floor wrong by one",
        |mut it| { let step = it.floor_step()?; it.surface(0.02)?.figures()?.building(step) }),
    level("floor-off-classes", "surface ±5 %, classes, period, storeys, floor wrong by one",
        |mut it| { let step = it.floor_step()?; it.surface(0.05)?.classes()?.building(step) }),
    level("surface-only", "commune, type, surface ±2 %", |it| it.surface(0.02)),
];

#[rustfmt::skip]
static DVF: [EvaluationLevel; 14] = [
    level("rounded", "commune, type, surface ±2 %, price to the thousand, rooms",
        |it| it.surface(0.02)?.price()?.rooms(0.0)),
    level("surface-5", "the same, surface ±5 %", |it| it.surface(0.05)?.price()?.rooms(0.0)),
    level("surface-10", "the same, surface ±10 %", |it| it.surface(0.10)?.price()?.rooms(0.0)),
    level("no-surface", "commune, type, price to the thousand, rooms", |it| it.price()?.rooms(0.0)),
    level("dated", "rounded, and the month it was sold in", |it| it.month()?.surface(0.02)?.price()?.rooms(0.0)),
    level("price-3", "surface ±5 %, price off by up to 3 %, rooms",
        |it| it.surface(0.05)?.off("price_eur", 0.03)?.rooms(0.0)),
    level("price-5", "surface ±5 %, price off by up to 5 %, rooms",
        |it| it.surface(0.05)?.off("price_eur", 0.05)?.rooms(0.0)),
    level("price-10", "surface ±5 %, price off by up to 10 %, rooms",
        |it| it.surface(0.05)?.off("price_eur", 0.10)?.rooms(0.0)),
    level("price-20", "surface ±5 %, price off by up to 20 %, rooms",
        |it| it.surface(0.05)?.off("price_eur", 0.20)?.rooms(0.0)),
    level("place-100", "pin off by up to 100 m instead of the commune, surface ±5 %, price, rooms",
        |it| it.place(100.0)?.surface(0.05)?.price()?.rooms(0.0)),
    level("place-300", "pin off by up to 300 m", |it| it.place(300.0)?.surface(0.05)?.price()?.rooms(0.0)),
    level("rooms-off", "surface ±2 %, price, rooms wrong by one",
        |mut it| { let step = it.step(); it.surface(0.02)?.price()?.rooms(step) }),
    level("price-only", "surface ±2 %, price, rooms unknown", |it| it.surface(0.02)?.price()),
    level("no-price", "surface ±2 %, rooms", |it| it.surface(0.02)?.rooms(0.0)),
];
