//! The four sample endpoints: synthetic records in the exact format, so that a client can be written without a key.
//!
//! The texts are compiled in and served unchanged; tests compare them with the types that write real responses.

use bytes::Bytes;
use futures::FutureExt;

use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Endpoint, Handler};
use crate::openapi::{Operation, reference};
pub use toise_contract::sample::Sample;

/// The sample endpoints.
pub const ENDPOINTS: &[Endpoint] = &[
    endpoint(
        Sample::Properties,
        |_| async { Ok(sample(Sample::Properties)) }.boxed(),
        || {
            operation(
                Sample::Properties,
                "sampleProperties",
                "Ten sample properties",
            )
        },
    ),
    endpoint(
        Sample::Adverts,
        |_| async { Ok(sample(Sample::Adverts)) }.boxed(),
        || operation(Sample::Adverts, "sampleAdverts", "Ten sample adverts"),
    ),
    endpoint(
        Sample::WebhookProperties,
        |_| async { Ok(sample(Sample::WebhookProperties)) }.boxed(),
        || {
            operation(
                Sample::WebhookProperties,
                "sampleWebhookProperties",
                "Sample delivery of a property alert",
            )
        },
    ),
    endpoint(
        Sample::WebhookAdverts,
        |_| async { Ok(sample(Sample::WebhookAdverts)) }.boxed(),
        || {
            operation(
                Sample::WebhookAdverts,
                "sampleWebhookAdverts",
                "Sample delivery of an advert alert",
            )
        },
    ),
];

const fn endpoint(sample: Sample, handler: Handler, operation: fn() -> Operation) -> Endpoint {
    Endpoint::page(sample.path(), handler).with_operation(operation)
}

fn operation(sample: Sample, id: &str, summary: &str) -> Operation {
    Operation::new(id, summary).with_answer(reference(sample.schema()))
}

/// Returns the response with a sample.
pub fn sample(sample: Sample) -> ApiResponse {
    ApiResponse::json(Bytes::from_static(sample.body().as_bytes()))
}
