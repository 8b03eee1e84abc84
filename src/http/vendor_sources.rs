//! Answers in which the source of an advert is an object, for clients of the original service (`compat.vendor_source`).

use bytes::Bytes;
use warp::http::Response;

use super::endpoint::PROTECTED_PREFIX;
use toise_contract::listings::vendor::with_vendor_sources;

/// Rewrites an answer at a path that holds adverts.
pub(super) async fn rewrite(response: &mut Response<Bytes>, path: &str) {
    if !is_of_listings(path) {
        return;
    }
    let body = response.body().clone();
    let rewriting = tokio::task::spawn_blocking(move || with_vendor_sources(&body)).await;
    if let Ok(body) = rewriting {
        *response.body_mut() = body.into();
    }
}

/// Whether the answers at a path hold adverts.
fn is_of_listings(path: &str) -> bool {
    let rest = path.strip_prefix("/v2/sample/");
    let rest = rest.or_else(|| path.strip_prefix(PROTECTED_PREFIX));
    rest.is_some_and(|rest| {
        let parts = ["properties", "adverts", "webhook"];
        parts.iter().any(|part| rest.starts_with(part))
    })
}
