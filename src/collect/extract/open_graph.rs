//! Reads `meta` elements: OpenGraph, its extensions for prices and places, and Twitter labels.

use serde_json::json;

use super::document::Document;
use super::findings::{Findings, Origin, PRICE};
use super::french::{self, Part};

const ORIGIN: Origin = Origin::OpenGraph;

/// Adds the values of `meta` elements to the findings.
pub fn read(document: &Document, findings: &mut Findings) {
    let said = |names: &[&str]| document.meta(names).map(str::to_owned);
    findings.put_some("title", said(&["og:title", "twitter:title"]), ORIGIN);
    let described = said(&["og:description", "twitter:description", "description"]);
    findings.put_some("description", described, ORIGIN);
    let currency = document.meta(&["product:price:currency", "og:price:currency"]);
    if currency.is_none_or(|currency| currency.trim() == "EUR") {
        let price = document.meta(&["product:price:amount", "og:price:amount"]);
        let price = price.and_then(french::number).filter(|price| *price > 0.0);
        findings.put_some(PRICE, price, ORIGIN);
    }
    let degrees = |names: &[&str]| document.meta(names)?.trim().parse::<f64>().ok();
    let latitude = degrees(&["place:location:latitude", "og:latitude"]);
    let longitude = degrees(&["place:location:longitude", "og:longitude"]);
    if let (Some(latitude), Some(longitude)) = (latitude, longitude) {
        findings.put(
            "location.locationCoordinate.location",
            json!([longitude, latitude]),
            ORIGIN,
        );
    }
    findings.put_some("location.postalCode", said(&["og:postal-code"]), ORIGIN);
    findings.put_some("location.city", said(&["og:locality"]), ORIGIN);
    for number in ["1", "2"] {
        let part = |part: &str| {
            document
                .meta(&[&format!("twitter:{part}{number}")])
                .unwrap_or_default()
        };
        let line = format!("{} : {}", part("label"), part("data"));
        french::read(&line, Part::Label, findings, ORIGIN);
    }
}
