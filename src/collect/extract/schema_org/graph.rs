//! Collects the schema.org nodes of a page, picks the listing among them, and reads their values in all their forms.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{CLASSES, GraphSummary, PageContext};
use toise_listings::adverts::identity::ListingUrl;
use toise_page::french;
use toise_page::french::tokens::phrase;

/// Maximum number of nodes read.
const NODES_MAX: usize = 5_000;
/// Square metres per square foot.
const SQUARE_FOOT: f64 = 0.092_903_04;

/// Properties of a quantity that name its unit.
pub(super) const UNIT: [&str; 2] = ["unitCode", "unitText"];
/// Properties that refer to other listings.
const ELSEWHERE: [&str; 8] = [
    "itemListElement",
    "isSimilarTo",
    "isRelatedTo",
    "review",
    "breadcrumb",
    "relatedLink",
    "hasOfferCatalog",
    "makesOffer",
];

pub(super) type Node = Map<String, Value>;

/// The nodes of a page.
#[derive(Default)]
pub(super) struct Graph<'v> {
    /// Each node, and whether it may be the listing; nodes below a property of `ELSEWHERE` may not.
    pub(super) nodes: Vec<(&'v Node, bool)>,
    by_id: HashMap<&'v str, &'v Node>,
}

impl<'v> Graph<'v> {
    pub(super) fn gather(&mut self, value: &'v Value, may_be: bool) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.gather(item, may_be)),
            Value::Object(node) => {
                if self.nodes.len() >= NODES_MAX {
                    return;
                }
                if let Some(id) = node.get("@id").and_then(Value::as_str)
                    && node.len() > 1
                {
                    self.by_id.entry(id).or_insert(node);
                }
                if node.contains_key("@type") {
                    self.nodes.push((node, may_be));
                }
                for (key, inner) in node {
                    let elsewhere = ELSEWHERE.contains(&key.as_str());
                    self.gather(inner, may_be && !elsewhere);
                }
            }
            _ => {}
        }
    }

    /// Returns the nodes that may be the listing.
    pub(super) fn possible(&self) -> impl Iterator<Item = &'v Node> {
        let possible = self.nodes.iter().filter(|(_, may_be)| *may_be);
        possible.map(|(node, _)| *node)
    }

    pub(super) fn listing(
        &self,
        page: &PageContext<'_>,
        summary: &mut GraphSummary,
    ) -> Option<&'v Node> {
        let ranked = self.possible().filter_map(|node| Some((rank(node)?, node)));
        let candidates: Vec<(usize, &'v Node)> = ranked.collect();
        let is_page = |node: &Node| {
            ["url", "@id", "mainEntityOfPage"].iter().any(|key| {
                let address = node.get(*key).and_then(text);
                let address = address.and_then(|text| ListingUrl::parse(&text));
                let keys = address.as_ref().zip(page.url);
                keys.is_some_and(|(address, page)| page.key() == address.key())
            })
        };
        let best = candidates.iter().map(|(rank, _)| *rank).min()?;
        if let Some((_, node)) = candidates
            .iter()
            .find(|(rank, node)| *rank < OFFER && is_page(node))
        {
            return Some(node);
        }
        let mut of_best = candidates.iter().filter(|(rank, _)| *rank == best);
        let (_, first) = of_best.next()?;
        // Pages often describe their listing twice, for different consumers of the data; both nodes then have the same
        // name.
        if of_best.any(|(_, other)| other.get("name") != first.get("name")) {
            // Similar listings may be products too; the page is about the one whose name is in its title or heading.
            let mut of_page = candidates
                .iter()
                .filter(|(rank, node)| *rank == best && is_named_after(page, node))
                .map(|(_, node)| *node);
            let only = of_page.next().filter(|_| of_page.next().is_none());
            summary.are_many = only.is_none();
            return only;
        }
        Some(first)
    }

    pub(super) fn resolve(&self, value: &'v Value) -> Option<&'v Node> {
        let node = match value {
            Value::Array(items) => return items.iter().find_map(|item| self.resolve(item)),
            Value::String(id) => return self.by_id.get(id.as_str()).copied(),
            Value::Object(node) => node,
            _ => return None,
        };
        let id = node.get("@id").and_then(Value::as_str);
        let id = id.filter(|_| node.len() == 1);
        id.and_then(|id| self.by_id.get(id).copied()).or(Some(node))
    }

    pub(super) fn follow(&self, node: &'v Node, key: &str) -> Option<&'v Node> {
        self.resolve(node.get(key)?)
    }
}

const OFFER: usize = 3;
/// Minimum length of a name that distinguishes a listing from others, bytes.
const NAME_BYTES_MIN: usize = 8;

/// Returns whether the title or heading of a page contains the name of a node.
fn is_named_after(page: &PageContext<'_>, node: &Node) -> bool {
    let name = node.get("name").and_then(text).map(|name| phrase(&name));
    let headings = page.headings.map(phrase);
    name.is_some_and(|name| {
        name.len() >= NAME_BYTES_MIN && headings.iter().any(|heading| heading.contains(&name))
    })
}

/// Returns the rank of a node as the listing, 0 for the most likely; `None` if it cannot be the listing.
pub(super) fn rank(node: &Node) -> Option<usize> {
    if is(node, "RealEstateListing") {
        Some(0)
    } else if is(node, "Product") || is(node, "IndividualProduct") {
        Some(1)
    } else if CLASSES.iter().any(|(name, _)| is(node, name)) {
        Some(2)
    } else if is(node, "Offer") {
        Some(OFFER)
    } else {
        None
    }
}

/// Returns whether a node has a type.
pub(super) fn is(node: &Node, name: &str) -> bool {
    types(node).any(|found| found == name)
}

/// Returns the types of a node, without their vocabulary.
pub(super) fn types(node: &Node) -> impl Iterator<Item = &str> {
    let (one, many) = match node.get("@type") {
        Some(Value::String(one)) => (Some(one.as_str()), &[][..]),
        Some(Value::Array(many)) => (None, many.as_slice()),
        _ => (None, &[][..]),
    };
    let all = one.into_iter().chain(many.iter().filter_map(Value::as_str));
    all.map(|name| name.rsplit(['/', ':', '#']).next().unwrap_or(name))
}

/// Returns the text of a value: the string itself, the name of an object, or the first text of a list.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(items) => items.iter().find_map(text),
        Value::Object(node) => ["@value", "name", "@id"]
            .iter()
            .find_map(|key| text(node.get(*key)?)),
        _ => None,
    }
}

/// Returns the number of a value: a number, a text that contains one, or a quantity.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => french::number(text),
        Value::Array(items) => items.iter().find_map(number),
        Value::Object(node) => ["value", "@value", "minValue"]
            .iter()
            .find_map(|key| number(node.get(*key)?)),
        _ => None,
    }
}

/// Returns a coordinate in degrees; a text may have a decimal comma.
pub(super) fn degrees(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().replace(',', ".").parse().ok(),
        Value::Array(items) => items.iter().find_map(degrees),
        other => other.as_f64(),
    }
}

/// Returns the area of a quantity in square metres, converted from its unit.
pub(super) fn area(value: &Value) -> Option<f64> {
    let unit = match value {
        Value::Object(node) => UNIT.iter().find_map(|key| text(node.get(*key)?)),
        Value::String(text) => Some(text.clone()),
        _ => None,
    };
    let unit = unit.unwrap_or_default().to_ascii_lowercase();
    let in_feet = unit.contains("ftk") || unit.contains("ft") || unit.contains("feet");
    number(value).map(|area| if in_feet { area * SQUARE_FOOT } else { area })
}
