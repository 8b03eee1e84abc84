//! Parses the searches of stored alerts again, and explains why one of them matches nothing.

use serde_json::Value;

use crate::alert::{Alert, AlertSubject};
use toise_contract::fault::Fault;
use toise_contract::filter::{LayerError, LayerSource, layer_tests};
use toise_contract::listings::filters::{ListingSearch, parse_saved_search};
use toise_contract::walk::JsonPath;
use toise_opendata::request as open_data;

/// Parses the search of an alert on these records.
///
/// # Errors
/// The first fault in document order.
pub(crate) fn parse(subject: AlertSubject, query: &Value) -> Result<ListingSearch, Fault> {
    match subject {
        AlertSubject::Listings(listing) => parse_saved_search(listing, query),
        AlertSubject::OpenData(dataset) => {
            let filter = open_data::parse_saved_search(dataset, query, JsonPath::Body)?;
            Ok(ListingSearch {
                filter,
                ..ListingSearch::default()
            })
        }
    }
}

/// Returns why an active and valid alert currently matches nothing: a layer of its search was removed, or no longer has
/// polygons. `None` otherwise. Blocks, and reads the layers of the search.
pub fn why_unmatched(alert: &Alert, layers: &dyn LayerSource) -> Option<String> {
    if alert.deactivated.is_some() {
        return None;
    }
    let search = parse(alert.subject, &alert.search_query).ok()?;
    let tests = layer_tests(&search.filter).into_iter().cloned();
    let unusable = tests
        .into_iter()
        .find_map(|mut test| match test.resolve(layers) {
            Err(LayerError::Unusable(reason)) => Some(reason),
            Err(LayerError::Unreadable(_)) | Ok(()) => None,
        });
    unusable.map(|reason| format!("{reason}. The alert matches again when the layer is imported"))
}
