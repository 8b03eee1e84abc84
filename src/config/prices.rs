//! The consumption types, what each costs unless configured, and what it counts.

use std::collections::BTreeMap;

/// A consumption type.
#[derive(Clone, Copy, Debug)]
pub struct ConsumptionType {
    /// Its name, as in consumption reports.
    pub name: &'static str,
    /// Credits, unless configured.
    pub credits: u32,
    /// What is charged, or counted where it is free.
    pub per: &'static str,
}

const fn row(name: &'static str, credits: u32, per: &'static str) -> ConsumptionType {
    ConsumptionType { name, credits, per }
}

/// Every consumption type, in the contract's order.
pub const CONSUMPTION_TYPES: [ConsumptionType; 23] = [
    row(
        "API_PROPERTIES_GET_BY_ID",
        1,
        "record returned, `_many` too",
    ),
    row("API_PROPERTIES_GET_BY_ADVERT_ID", 1, "record returned"),
    row(
        "API_ADVERTS_GET_BY_URL",
        1,
        "advert returned; pending and rejected ones are free",
    ),
    row(
        "API_PROPERTIES_GET_BY_URL",
        1,
        "property returned; pending and rejected ones are free",
    ),
    row(
        "API_ADVERTS_CHECK",
        1,
        "check, also when there is nothing to check",
    ),
    row(
        "API_PROPERTIES_CHECK",
        1,
        "check, also when there is nothing to check",
    ),
    row("API_ESTIMATE_PROPERTY_LITE", 1, "estimate"),
    row("API_PROPERTIES_SEARCH", 0, "call"),
    row("API_PROPERTIES_SEARCH_LITE", 0, "call"),
    row("API_ADVERTS_GET_BY_ID", 0, "call"),
    row("API_OPENDATA_DPE_SEARCH", 0, "call"),
    row("API_OPENDATA_DPE_MATCH", 0, "call"),
    row("API_OPENDATA_DVF_SEARCH", 0, "call"),
    row("API_OPENDATA_DVF_MATCH", 0, "call"),
    row("API_GEOCODING_SEARCH", 0, "call"),
    row("API_GEOCODING_REVERSE", 0, "call"),
    row("API_GEOCODING_CSV", 0, "call"),
    row("API_ANALYTICS", 0, "call"),
    row("API_ADVERTS_GET_ALERT_HISTORY", 0, "call"),
    row("API_PROPERTIES_GET_ALERT_HISTORY", 0, "call"),
    row("WEBHOOK_ALERT_ADVERTS", 0, "item delivered"),
    row(
        "WEBHOOK_ALERT_PROPERTIES_MATCH_CREATED",
        0,
        "item delivered",
    ),
    row("WEBHOOK_ALERT_PROPERTIES_MATCH_MERGED", 0, "item delivered"),
];

/// The price list unless configured.
pub fn default_prices() -> BTreeMap<String, u32> {
    CONSUMPTION_TYPES
        .iter()
        .map(|kind| (kind.name.to_owned(), kind.credits))
        .collect()
}
