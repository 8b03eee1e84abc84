//! Reads `meta` elements: OpenGraph, its extensions for prices and places, and Twitter labels.

use serde_json::json;

use super::POSITION;
use toise_page::document::PageDocument;
use toise_page::findings::{FieldOrigin, PRICE, PageFindings};
use toise_page::french::{self, TextTrust};

const ORIGIN: FieldOrigin = FieldOrigin::OpenGraph;

/// Adds the values of `meta` elements to the findings.
pub fn read(document: &PageDocument, findings: &mut PageFindings) {
    let said = |names: &[&str]| document.meta(names).map(str::to_owned);
    findings.set_optional("title", said(&["og:title", "twitter:title"]), ORIGIN);
    let described = said(&["og:description", "twitter:description", "description"]);
    findings.set_optional("description", described, ORIGIN);
    let currency = document.meta(&["product:price:currency", "og:price:currency"]);
    if currency.is_none_or(|currency| currency.trim() == "EUR") {
        let price = document.meta(&["product:price:amount", "og:price:amount"]);
        let price = price.and_then(french::number).filter(|price| *price > 0.0);
        findings.set_optional(PRICE, price, ORIGIN);
    }
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let degrees = |names: &[&str]| number(document.meta(names)?);
    let latitude = degrees(&["place:location:latitude", "og:latitude"]);
    let longitude = degrees(&["place:location:longitude", "og:longitude"]);
    let of_meta = document.meta(&["geo.position", "icbm"]);
    let of_meta = of_meta.and_then(|point| point.split_once([';', ',']));
    let of_meta =
        of_meta.and_then(|(latitude, longitude)| Some((number(latitude)?, number(longitude)?)));
    let point = latitude.zip(longitude).or(of_meta);
    let point = point.map(|(latitude, longitude)| json!([longitude, latitude]));
    findings.set_optional(POSITION, point, ORIGIN);
    findings.set_optional("location.postalCode", said(&["og:postal-code"]), ORIGIN);
    findings.set_optional("location.city", said(&["og:locality"]), ORIGIN);
    for number in ["1", "2"] {
        let part = |part: &str| {
            let content = document.meta(&[&format!("twitter:{part}{number}")]);
            content.unwrap_or_default()
        };
        let line = format!("{} : {}", part("label"), part("data"));
        french::read(&line, TextTrust::Label, findings, ORIGIN);
    }
}
