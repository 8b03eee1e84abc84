//! What the document says of each endpoint: its name, what it takes and answers.

use serde_json::{Value, json};

use super::super::routes::{AdminAction, Endpoint, Route};
use super::admin::{self, data_list_of, data_of};
use super::schemas::match_many_request;
use super::{JSON, alerts, collect, enveloped, estimate, ingestion, reference, type_name};
use toise_contract::enums::{EnumStudiedData, WireEnum};
use toise_contract::listings::filters::Part;
use toise_listings::analytics::BARS_MAX;
use toise_listings::similars;
use toise_opendata::{Dataset, score};

/// What the document says of an endpoint.
pub struct Operation {
    /// Its name for generated clients.
    pub id: String,
    /// One line.
    pub summary: String,
    /// More, where there is more to say.
    pub description: Option<String>,
    /// Query parameters.
    pub query: Vec<Value>,
    /// Schema of the body.
    pub request: Option<Value>,
    /// Media type and schema of the answer.
    pub answer: Option<(&'static str, Value)>,
}

impl Operation {
    pub(super) fn new(id: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            summary: summary.into(),
            description: None,
            query: Vec::new(),
            request: None,
            answer: None,
        }
    }

    pub(super) fn describing(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    pub(super) fn asking(mut self, query: Vec<Value>) -> Self {
        self.query = query;
        self
    }

    pub(super) fn taking(mut self, request: Value) -> Self {
        self.request = Some(request);
        self
    }

    pub(super) fn answering(mut self, answer: Value) -> Self {
        self.answer = Some((JSON, answer));
        self
    }
}

/// What there is to say of a route.
pub fn describe(route: &Route) -> Operation {
    let of = |dataset| match dataset {
        Dataset::Dpe => "energy performance diagnostics",
        Dataset::Dvf => "recorded sales",
    };
    let id = |action: &str, dataset: Dataset| format!("{}{action}", dataset.name());
    let schema = |dataset, part: &str| reference(&format!("{}{part}", type_name(dataset)));
    match route.endpoint {
        Endpoint::Healthz => Operation::new("healthz", "Readiness of the service"),
        Endpoint::Livez => Operation::new("livez", "Whether the process serves at all"),
        Endpoint::Metrics => {
            let mut numbers = Operation::new("metrics", "Numbers of the service for Prometheus");
            numbers.answer = Some(("text/plain", json!({"type": "string"})));
            numbers
        }
        Endpoint::Version => {
            Operation::new("version", "Version of the service").answering(enveloped(json!({
                "type": "object",
                "required": ["version"],
                "properties": {"version": {"type": "string"}},
            })))
        }
        Endpoint::OpenApi => {
            Operation::new("openapi", "This document").answering(json!({"type": "object"}))
        }
        Endpoint::Docs => {
            let mut page = Operation::new("docs", "This document as a page");
            page.answer = Some(("text/html", json!({"type": "string"})));
            page
        }
        Endpoint::Sample(sample) => {
            let (id, summary) = sample.identity();
            Operation::new(id, summary).answering(reference(sample.schema()))
        }
        Endpoint::Consumption => Operation::new(
            match route.path.contains("/admin/") {
                true => "adminConsumption",
                false => "consumption",
            },
            "What the account of the key consumed in a period",
        )
        .asking(admin::period_parameters())
        .answering(data_of("Consumption")),
        Endpoint::Admin(action) => describe_admin(action),
        Endpoint::PropertiesSearch(part) => {
            let (id, about, payload, record) = match part {
                Part::Whole => (
                    "propertiesSearch",
                    "Filtered, sorted list of properties",
                    "SearchPropertiesPayload",
                    "Property",
                ),
                Part::Lite => (
                    "propertiesSearchLite",
                    "Filtered, sorted list of properties in short",
                    "SearchPropertiesLitePayload",
                    "LiteProperty",
                ),
            };
            Operation::new(id, about)
                .describing(
                    "A change is visible within a second of its acknowledgement. Keywords must all occur as they are, but \
                     for case and accents, in title, description or tags; of the full texts any may match, all its \
                     words by French stem and with tolerance to typing errors. Without either, sorting by relevance \
                     sorts by the last sighting",
                )
                .taking(reference(payload))
                .answering(enveloped(page_of(record)))
        }
        Endpoint::PropertiesCount => Operation::new(
            "propertiesCount",
            "How many properties a search finds",
        )
        .taking(reference("CountPropertiesPayload"))
        .answering(enveloped(json!({
            "type": "object",
            "required": ["count"],
            "properties": {"count": {"type": "integer", "minimum": 0, "description": "Properties that match"}},
        }))),
        Endpoint::PropertiesSimilars => Operation::new(
            "propertiesSimilars",
            "Properties similar to one",
        )
        .describing(format!(
            "Of its class and offer, within {} km of its position, else in its commune, postal code or department; \
             nearest first: {} % of surface or price, a room and {} km count alike, and so does a value one of the \
             two does not have",
            similars::RADIUS_M / 1_000.0,
            100.0 * similars::SHARE_UNIT,
            similars::DISTANCE_UNIT_M / 1_000.0,
        ))
        .taking(reference("SimilarPropertiesPayload"))
        .answering(data_list_of("Property")),
        Endpoint::Analytics => Operation::new(
            "analyticsPropertySearch",
            "Figures over the properties a search finds",
        )
        .taking(reference("PropertyAnalyticsPayload"))
        .answering(enveloped(figures())),
        Endpoint::Property => Operation::new("propertiesGet", "A property by its identifier")
            .describing(
                "The identifier of a property that was joined to another answers with that other",
            )
            .answering(data_of("Property")),
        Endpoint::PropertyOfAdvert => {
            Operation::new("propertiesGetByAdvert", "The property that holds an advert")
                .answering(data_of("Property"))
        }
        Endpoint::PropertiesMany => Operation::new(
            "propertiesMany",
            "Properties by their identifiers",
        )
        .describing(
            "In the order asked for; identifiers that name none are left out and cost nothing",
        )
        .taking(reference("ManyPropertiesPayload"))
        .answering(data_list_of("Property")),
        Endpoint::Advert => {
            Operation::new("advertsGet", "An advert by its identifier").answering(data_of("Advert"))
        }
        Endpoint::Portals => Operation::new("portals", "Portals there are rules for").answering(enveloped(json!({
            "type": "array",
            "items": {"type": "string"},
            "description": "Hosts, by name",
        }))),
        Endpoint::ByUrl(_) | Endpoint::Check(_) | Endpoint::Report(_) => collect::describe(route.endpoint),
        Endpoint::EstimateLite => estimate::lite(),
        Endpoint::EstimateLiteMany => estimate::lite_many(),
        Endpoint::Alerts(listing, action) => alerts::describe(listing, action),
        Endpoint::Search(dataset) => Operation::new(
            id("Search", dataset),
            format!("Filtered, sorted list of {}", of(dataset)),
        )
        .taking(schema(dataset, "SearchRequest"))
        .answering(schema(dataset, "SearchAnswer")),
        Endpoint::Match(dataset) => Operation::new(
            id("Match", dataset),
            format!("Ranked candidates among {}", of(dataset)),
        )
        .describing(score::reference(dataset))
        .taking(schema(dataset, "MatchRequest"))
        .answering(schema(dataset, "MatchAnswer")),
        Endpoint::MatchMany(dataset) => Operation::new(
            id("MatchMany", dataset),
            format!("Ranked candidates among {} for many requests", of(dataset)),
        )
        .taking(match_many_request(dataset))
        .answering(enveloped(json!({
            "type": "array",
            "items": schema(dataset, "MatchAnswer"),
            "description": "One answer per item, in order",
        }))),
    }
}

/// A page of records, with how many there are in all.
fn page_of(record: &str) -> Value {
    json!({
        "type": "object",
        "required": ["items", "count"],
        "properties": {
            "items": {"type": "array", "items": reference(record), "description": "Records of the page, in order"},
            "count": {"type": "integer", "minimum": 0, "description": "All that match"},
            "searchAfterHash": {"type": "string",
                "description": "Where the next page starts; present when there is one"},
        },
    })
}

/// Figures over the properties a search finds.
fn figures() -> Value {
    let number = |about: &str| json!({"type": "number", "description": about});
    let count = |about: &str| json!({"type": "integer", "minimum": 0, "description": about});
    json!({
        "type": "object",
        "required": ["count", "studiedData", "valued", "histogram"],
        "properties": {
            "count": count("Properties that match"),
            "studiedData": {"type": "string", "enum": EnumStudiedData::TABLE.values,
                "description": "What is studied: EUR, EUR/m2, m2 or days from the first sighting until it went offline"},
            "valued": count("Those of them that have a value; the figures are over these"),
            "min": number("Least value"),
            "max": number("Greatest value"),
            "mean": number("Arithmetic mean"),
            "quartiles": {"type": "array", "minItems": 3, "maxItems": 3, "items": {"type": "number"},
                "description": "Values below which 25, 50 and 75 % lie, interpolated"},
            "deviation": number("Standard deviation"),
            "histogram": {
                "type": "array",
                "maxItems": BARS_MAX,
                "items": {
                    "type": "object",
                    "required": ["from", "to", "count"],
                    "properties": {
                        "from": number("Where the bar starts, included"),
                        "to": number("Where it ends: excluded, but by the last bar"),
                        "count": count("Values in it"),
                    },
                },
                "description": "Bars of equal width; the first and the last reach to the extremes",
            },
        },
    })
}

fn describe_admin(action: AdminAction) -> Operation {
    match action {
        AdminAction::TakeAdverts => Operation::new("advertsTake", "Take adverts")
            .describing(ingestion::ABOUT)
            .taking(reference("AdvertsRequest"))
            .answering(data_list_of("AdvertOutcome")),
        AdminAction::ListAccounts => Operation::new("accountsList", "Every account, oldest first")
            .answering(data_list_of("Account")),
        AdminAction::CreateAccount => Operation::new("accountsCreate", "Make an account")
            .taking(reference("AccountRequest"))
            .answering(data_of("AccountWithSecret")),
        AdminAction::GetAccount => {
            Operation::new("accountsGet", "One account").answering(data_of("Account"))
        }
        AdminAction::RotateSecret => {
            Operation::new("secretsRotate", "Replace an account's signing secret")
                .answering(data_of("AccountWithSecret"))
        }
        AdminAction::ListKeys => Operation::new("keysList", "Every key, oldest first")
            .asking(admin::key_list_parameters())
            .answering(data_list_of("Key")),
        AdminAction::CreateKey => Operation::new("keysCreate", "Make a key")
            .taking(reference("KeyRequest"))
            .answering(data_of("NewKey")),
        AdminAction::UpdateKey => Operation::new("keysUpdate", "Change a key's grants or limits")
            .taking(reference("KeyChange"))
            .answering(data_of("Key")),
        AdminAction::RevokeKey => {
            Operation::new("keysRevoke", "Revoke a key").answering(data_of("Key"))
        }
        AdminAction::ListAlerts => {
            Operation::new("alertsList", "Alerts of every account, newest first")
                .asking(alerts::list_parameters())
                .answering(data_list_of("OperatorAlert"))
        }
        AdminAction::GetAlert => Operation::new(
            "alertsGet",
            "An alert of any account, and how it goes with it",
        )
        .answering(data_of("AlertOverview")),
        AdminAction::ListDeadLetters => Operation::new(
            "deadLettersList",
            "Deliveries that were given up, newest first",
        )
        .asking(alerts::page_parameters())
        .answering(data_list_of("Delivery")),
        AdminAction::RetryDeadLetter => Operation::new(
            "deadLettersRetry",
            "Send a delivery that was given up again",
        )
        .describing(
            "Its schedule begins anew, under its identifier; only where its alert is active",
        )
        .answering(data_of("RetriedDelivery")),
        AdminAction::Usage => Operation::new("usage", "What every account consumed in a period")
            .asking(admin::period_parameters())
            .answering(data_list_of("AccountUsage")),
    }
}
