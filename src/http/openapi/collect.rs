//! What the document says of listings by the address of their page, of checks and of reports.

use serde_json::{Value, json};

use super::super::collect::CHECKED_MAX;
use super::super::routes::Endpoint;
use super::admin::data_of;
use super::operations::Operation;
use super::{content, enveloped};
use toise_collect::RETRY_AFTER_S;
use toise_collect::request::{PAGE_URL, REASON, REPORT};
use toise_contract::fields::schema::{self, Components};
use toise_contract::listings::filters::Listing;

/// Why an address is rejected: the word its reason begins with, and what it means.
const REASONS: [(&str, &str); 11] = [
    (
        "gone",
        "the listing is off line; an advert that was known is now too",
    ),
    ("not_a_listing", "the page holds no listing, or several"),
    ("robots", "robots.txt of the portal forbids it"),
    (
        "not_public",
        "the address, or one it leads to, is not public",
    ),
    (
        "not_covered",
        "only portals covered are collected from here",
    ),
    ("login_required", "the page is for those who log in"),
    ("refused", "the portal refuses, or keeps programs out"),
    ("redirects", "redirects lead in a circle, or too far"),
    ("too_large", "the page is larger than any listing"),
    ("unparsable", "the answer is no page"),
    (
        "unreachable",
        "the portal could not be reached, however often it was tried",
    ),
];

/// What there is to say of such a route.
pub fn describe(endpoint: Endpoint) -> Operation {
    match endpoint {
        Endpoint::Check(listing) => {
            let (id, of) = names(listing);
            Operation::new(format!("{id}Check"), format!("Look again at the pages of {of}"))
                .describing(format!(
                    "Answers at once; what the pages say arrives as any change does, in records and on alerts. Of a \
                     property the adverts on line are looked at, {CHECKED_MAX} at most, those seen longest ago. \
                     `nothing_to_check` costs the same"
                ))
                .answering(enveloped(json!({
                    "type": "object",
                    "required": ["result", "adverts"],
                    "properties": {
                        "result": {"type": "string", "enum": ["check_scheduled", "nothing_to_check"],
                            "description": "Whether there is a page to look at"},
                        "adverts": {"type": "integer", "minimum": 0, "maximum": CHECKED_MAX,
                            "description": "Pages that are looked at"},
                    },
                })))
        }
        Endpoint::Report(listing) => {
            let (id, of) = names(listing);
            let reason = schema::property(&REASON, &mut Components::new());
            Operation::new(format!("{id}Report"), format!("Tell what is wrong with {of}"))
                .describing(
                    "Free. Reports about being on line or not, and about what is wrong, have the pages looked at again; \
                     an operator looks at duplicates and at what is wrong",
                )
                .taking(schema::object(&REPORT, &mut Components::new()))
                .answering(enveloped(json!({
                    "type": "object",
                    "required": ["report_id", "reason"],
                    "properties": {
                        "report_id": {"type": "string", "format": "uuid", "description": "Identifier of the report"},
                        "reason": reason,
                    },
                })))
        }
        _ => by_url(match endpoint {
            Endpoint::ByUrl(listing) => listing,
            _ => Listing::Advert,
        }),
    }
}

fn names(listing: Listing) -> (&'static str, &'static str) {
    match listing {
        Listing::Advert => ("adverts", "an advert"),
        Listing::Property => ("properties", "a property"),
    }
}

fn by_url(listing: Listing) -> Operation {
    let (id, summary, record) = match listing {
        Listing::Advert => ("advertsGetByUrl", "The advert of a page", "Advert"),
        Listing::Property => (
            "propertiesGetByUrl",
            "The property that the advert of a page belongs to",
            "Property",
        ),
    };
    Operation::new(id, summary)
        .describing(
            "What is known and fresh comes at once; else the page is fetched and read, which may take 45 seconds: set a \
             longer timeout. 202 means that it goes on: ask again. 422 means that the page is no listing: do not ask \
             again. Only 200 costs. Two calls at once fetch twice and cost twice, unless they carry one Idempotency-Key",
        )
        .asking(schema::parameters(&PAGE_URL))
        .answering(data_of(record))
}

/// The answer of a call whose page is still being collected.
pub fn pending() -> Value {
    json!({
        "description": "Still being collected; free",
        "content": content(enveloped(json!({
            "type": "object",
            "required": ["status", "retry_after_s"],
            "properties": {
                "status": {"type": "string", "enum": ["pending"], "description": "It goes on"},
                "retry_after_s": {"type": "integer", "minimum": 1, "examples": [RETRY_AFTER_S],
                    "description": "Seconds after which to ask again"},
            },
        }))),
    })
}

/// The answer of a call whose page is no listing, beside the ordinary error.
pub fn rejected(error: Value) -> Value {
    let reasons: Vec<String> = REASONS
        .iter()
        .map(|(code, meaning)| format!("`{code}` {meaning}"))
        .collect();
    let rejected = enveloped(json!({
        "type": "object",
        "required": ["status", "reason"],
        "properties": {
            "status": {"type": "string", "enum": ["rejected"], "description": "It is not to be asked for again"},
            "reason": {"type": "string", "description": format!(
                "A word, a colon and what happened: {}", reasons.join("; "))},
        },
    }));
    json!({
        "description": "The page is no listing, free; or `url` is missing or malformed, error.code 10002",
        "content": content(json!({"oneOf": [rejected, error]})),
    })
}
