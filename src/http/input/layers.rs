//! Checks the layers that filters name. An unknown name is refused before the request is parsed, with its path; after
//! parsing, each filter gets the current layer.
//!
//! A filter `layer` may be wherever a filter `area` may be.

use bytes::Bytes;
use serde_json::Value;

use super::areas::for_each_filter;
use toise_contract::Fault;
use toise_contract::filter::{self, Filter, LayerError, LayerTest};
use toise_contract::walk::JsonPath;
use toise_layers::Layers;
use toise_service::App;
use toise_service::error::ApiError;

/// Key of a filter on a layer.
const LAYER: &str = "layer";

/// Checks that the layers which a body names exist and fit their relations. A body without layers is not parsed.
///
/// # Errors
/// There is no such layer, or it has no polygons to be inside or outside of; or a layer cannot be read.
pub(crate) async fn check(app: &App, body: &Bytes) -> Result<(), ApiError> {
    if memchr::memmem::find(body, br#""layer""#).is_none() {
        return Ok(());
    }
    let (layers, body) = (app.data.layers.clone(), body.clone());
    let checking = tokio::task::spawn_blocking(move || {
        // The parser reports a body that is not JSON.
        let Ok(mut value) = serde_json::from_slice(&body) else {
            return Ok(());
        };
        check_names(&layers, &mut value)
    });
    checking.await.map_err(ApiError::internal)?
}

/// Checks the layers that a value names. Blocks.
///
/// # Errors
/// As for [`check`].
pub(crate) fn check_names(layers: &Layers, value: &mut Value) -> Result<(), ApiError> {
    for_each_filter(value, LAYER, "", false, &mut |given, path| {
        // The parser reports a malformed filter.
        let Ok(mut test) = LayerTest::read(given, JsonPath::Body) else {
            return Ok(());
        };
        test.resolve(layers).map_err(|error| refusal(error, path))
    })
}

/// Gives the tests of a filter their layers as they are now. Blocks.
///
/// # Errors
/// A layer was removed or replaced since [`check`], or cannot be read.
pub(crate) fn resolve(app: &App, filter: &mut Filter) -> Result<(), ApiError> {
    filter::resolve(filter, &app.data.layers).map_err(|error| refusal(error, LAYER))
}

/// Like [`resolve`], for a single test.
///
/// # Errors
/// As for [`resolve`].
pub(crate) fn resolve_test(app: &App, test: &mut LayerTest) -> Result<(), ApiError> {
    let resolved = test.resolve(&app.data.layers);
    resolved.map_err(|error| refusal(error, LAYER))
}

fn refusal(error: LayerError, path: &str) -> ApiError {
    match error {
        LayerError::Unusable(reason) => Fault::new(format!("{path}.name"), reason).into(),
        error @ LayerError::Unreadable(_) => ApiError::internal(error),
    }
}
