//! The four sample endpoints: synthetic records in the exact format, so that a client can be written without a key.
//!
//! The texts are compiled in and served unchanged; tests compare them with the types that write real responses.

use bytes::Bytes;

use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Endpoint, endpoints};
use crate::openapi::{Operation, reference};
pub use toise_contract::sample::Sample;
use toise_service::error::ApiError;

/// The sample endpoints.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET Sample::Properties.path(), Access::Public, Reads, send(call, Sample::Properties)
        .with_operation(|| operation(Sample::Properties, "sampleProperties", "Ten sample properties"));
    GET Sample::Adverts.path(), Access::Public, Reads, send(call, Sample::Adverts)
        .with_operation(|| operation(Sample::Adverts, "sampleAdverts", "Ten sample adverts"));
    GET Sample::WebhookProperties.path(), Access::Public, Reads, send(call, Sample::WebhookProperties)
        .with_operation(|| {
            let summary = "Sample delivery of a property alert";
            operation(Sample::WebhookProperties, "sampleWebhookProperties", summary)
        });
    GET Sample::WebhookAdverts.path(), Access::Public, Reads, send(call, Sample::WebhookAdverts)
        .with_operation(|| {
            let summary = "Sample delivery of an advert alert";
            operation(Sample::WebhookAdverts, "sampleWebhookAdverts", summary)
        });
};

fn operation(sample: Sample, id: &str, summary: &str) -> Operation {
    Operation::new(id, summary).with_response(reference(sample.schema()))
}

async fn send(_: &Call<'_>, asked: Sample) -> Result<ApiResponse, ApiError> {
    Ok(sample(asked))
}

/// Returns the response with a sample.
pub fn sample(sample: Sample) -> ApiResponse {
    ApiResponse::json(Bytes::from_static(sample.body().as_bytes()))
}
