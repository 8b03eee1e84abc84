//! The four sample endpoints: synthetic records in the exact format, so that a client can be written without a key.
//!
//! The texts are compiled in and served unchanged; tests compare them with the types that write real responses.

use bytes::Bytes;
use futures::FutureExt;
use warp::http::Method;

use crate::endpoint::{Access, BodyRule, Counting, Endpoint, Handler, Time};
use crate::openapi::{Operation, reference};
use crate::response::ApiResponse;

/// Body of `GET /v2/sample/properties`: `{data: [10 properties]}`.
pub const PROPERTIES: &str = include_str!("../../../data/samples/properties.json");
/// Body of `GET /v2/sample/adverts`: `{data: [10 adverts]}`, as in advert webhooks.
pub const ADVERTS: &str = include_str!("../../../data/samples/adverts.json");
/// Body of `GET /v2/sample/webhook/properties`: a delivery of a property alert.
pub const WEBHOOK_PROPERTIES: &str = include_str!("../../../data/samples/webhook_properties.json");
/// Body of `GET /v2/sample/webhook/adverts`: a delivery of an advert alert.
pub const WEBHOOK_ADVERTS: &str = include_str!("../../../data/samples/webhook_adverts.json");

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
    Endpoint {
        method: Method::GET,
        path: sample.path(),
        access: Access::Public,
        counting: Counting::Free,
        body: BodyRule::None,
        time: Time::Request,
        handler,
        operation: Some(operation),
    }
}

fn operation(sample: Sample, id: &str, summary: &str) -> Operation {
    Operation::new(id, summary).with_answer(reference(sample.schema()))
}

/// A sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// Ten properties.
    Properties,
    /// Ten adverts.
    Adverts,
    /// A delivery of a property alert.
    WebhookProperties,
    /// A delivery of an advert alert.
    WebhookAdverts,
}

impl Sample {
    /// Every sample.
    pub const ALL: [Sample; 4] = [
        Sample::Properties,
        Sample::Adverts,
        Sample::WebhookProperties,
        Sample::WebhookAdverts,
    ];

    /// Its path.
    pub const fn path(self) -> &'static str {
        match self {
            Sample::Properties => "/v2/sample/properties",
            Sample::Adverts => "/v2/sample/adverts",
            Sample::WebhookProperties => "/v2/sample/webhook/properties",
            Sample::WebhookAdverts => "/v2/sample/webhook/adverts",
        }
    }

    /// Its body.
    pub const fn body(self) -> &'static str {
        match self {
            Sample::Properties => PROPERTIES,
            Sample::Adverts => ADVERTS,
            Sample::WebhookProperties => WEBHOOK_PROPERTIES,
            Sample::WebhookAdverts => WEBHOOK_ADVERTS,
        }
    }

    /// Name of the component schema of its body.
    pub const fn schema(self) -> &'static str {
        match self {
            Sample::Properties => "SamplePropertiesAnswer",
            Sample::Adverts => "SampleAdvertsAnswer",
            Sample::WebhookProperties => "PropertyDelivery",
            Sample::WebhookAdverts => "AdvertDelivery",
        }
    }
}

/// The response with a sample.
pub fn sample(sample: Sample) -> ApiResponse {
    ApiResponse::json(Bytes::from_static(sample.body().as_bytes()))
}
