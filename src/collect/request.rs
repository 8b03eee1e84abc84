//! Parses requests about a listing's page: its URL, and reports that it is wrong.

use serde_json::Value;

use toise_contract::enums::{EnumAdvertReportReason, WireEnum};
use toise_contract::fault::Fault;
use toise_contract::fields::{Field, FieldKind, read, read_query};
use toise_contract::walk::JsonPath;
use toise_listings::adverts::identity::URL_BYTES_MAX;

/// Maximum length of a report's comment, in characters.
pub const COMMENT_CHARS_MAX: usize = 2_000;
/// Maximum length of a mapping's name, in characters.
const MAPPING_CHARS_MAX: usize = 100;
/// The only query parameter of a call for a URL.
pub const URL_PARAMETER: &str = "url";

/// The query of a call for a URL.
pub static PAGE_URL: [Field; 1] = [Field::required(
    URL_PARAMETER,
    FieldKind::Address(URL_BYTES_MAX),
    "URL of the listing on its portal, http or https",
)];

/// The query parameter that names a mapping.
pub const MAPPING_PARAMETER: &str = "mapping";

/// The query of a call that ingests adverts.
pub static INGESTION: [Field; 1] = [Field::optional(
    MAPPING_PARAMETER,
    FieldKind::TextUpTo(MAPPING_CHARS_MAX),
    "Name of the mapping that turns the rows of the body into adverts; leave it out if the rows have the shape of \
     IncomingAdvert",
)];

/// The body of a report.
pub static REPORT: [Field; 2] = [
    REASON,
    Field::optional(
        "comment",
        FieldKind::TextUpTo(COMMENT_CHARS_MAX),
        "Explanation in words; required if reason is OTHER",
    ),
];

/// Field of a report that says what is wrong with the listing.
pub const REASON: Field = Field::required(
    "reason",
    FieldKind::OneOf(EnumAdvertReportReason::TABLE.values),
    "What is wrong",
);

/// The body of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRequest {
    /// Reason of the report.
    pub reason: EnumAdvertReportReason,
    /// Free-text comment.
    pub comment: Option<String>,
}

/// Parses the query of a call for a URL: `url`, exactly once. Whether it is the URL of a page is checked by the lookup.
///
/// # Errors
/// The first fault in the order of the query.
pub fn parse_url(query: &[(String, String)]) -> Result<String, Fault> {
    let mut values = read_query(query, &PAGE_URL)?;
    if values.count(URL_PARAMETER) > 1 {
        return Err(Fault::new(URL_PARAMETER, "must be given once"));
    }
    values.require(URL_PARAMETER)
}

/// Parses the query of a call that ingests adverts: `mapping`, at most once.
///
/// # Errors
/// The first fault in the order of the query.
pub fn parse_mapping(query: &[(String, String)]) -> Result<Option<String>, Fault> {
    let mut values = read_query(query, &INGESTION)?;
    if values.count(MAPPING_PARAMETER) > 1 {
        return Err(Fault::new(MAPPING_PARAMETER, "must be given once"));
    }
    Ok(values.take(MAPPING_PARAMETER))
}

/// Parses a report: `{reason, comment?}`.
///
/// # Errors
/// The first fault in document order.
pub fn parse_report(body: &Value) -> Result<ReportRequest, Fault> {
    let at = JsonPath::Body;
    let mut values = read(body, &REPORT, at)?;
    let reason = values.one("reason")?;
    let comment: Option<String> = values.take("comment");
    let says_nothing = comment.as_deref().unwrap_or_default().trim().is_empty();
    if reason == EnumAdvertReportReason::Other && says_nothing {
        return Err(JsonPath::Key(&at, "comment").fault("is required where reason is OTHER"));
    }
    Ok(ReportRequest { reason, comment })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_url_is_one_parameter_and_faults_name_it() {
        let parse = |pairs: &[(&str, &str)]| {
            let pairs: Vec<_> = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            parse_url(&pairs).map_err(|fault| fault.to_string())
        };
        assert_eq!(
            parse(&[("url", "https://p.example/1")]),
            Ok("https://p.example/1".into())
        );
        for (pairs, message) in [
            (&[][..], "url: is required"),
            (
                &[("uri", "https://p.example/1")],
                "uri: unknown parameter; must be one of: url",
            ),
            (
                &[
                    ("url", "https://p.example/1"),
                    ("url", "https://p.example/1"),
                ],
                "url: must be given once",
            ),
        ] {
            assert_eq!(parse(pairs), Err(message.into()));
        }
    }

    #[test]
    fn a_report_has_a_reason_and_an_optional_comment() {
        let report = parse_report(&json!({"reason": "DUPLICATE", "comment": "deux fois"})).unwrap();
        assert_eq!(report.comment.as_deref(), Some("deux fois"));
        for (body, message) in [
            (json!({}), "reason: is required"),
            (
                json!({"reason": "BAD"}),
                "reason: must be one of: STILL_ONLINE, NOT_ONLINE_ANYMORE",
            ),
            (
                json!({"reason": "OTHER", "comment": 3}),
                "comment: must be a string",
            ),
            (
                json!({"reason": "OTHER", "comment": "x".repeat(2_001)}),
                "comment: must not exceed 2000 characters",
            ),
            (
                json!({"reason": "OTHER"}),
                "comment: is required where reason is OTHER",
            ),
            (
                json!({"comment": " ", "reason": "OTHER"}),
                "comment: is required where reason is OTHER",
            ),
            (
                json!({"why": 1}),
                "why: unknown field; must be one of: reason, comment",
            ),
        ] {
            let text = parse_report(&body).unwrap_err().to_string();
            assert!(text.starts_with(message), "{text}");
        }
    }
}
