//! Sample bodies that are compiled in, served unchanged and shown as examples in the OpenAPI document.

/// Body of `GET /v2/sample/properties`: `{data: [10 properties]}`.
const PROPERTIES: &str = include_str!("../../data/samples/properties.json");
/// Body of `GET /v2/sample/adverts`: `{data: [10 adverts]}`, as in advert webhooks.
const ADVERTS: &str = include_str!("../../data/samples/adverts.json");
/// Body of `GET /v2/sample/webhook/properties`: a delivery of a property alert.
const WEBHOOK_PROPERTIES: &str = include_str!("../../data/samples/webhook_properties.json");
/// Body of `GET /v2/sample/webhook/adverts`: a delivery of an advert alert.
const WEBHOOK_ADVERTS: &str = include_str!("../../data/samples/webhook_adverts.json");

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
