//! Parses requests about a listing's page: its URL, and reports that it is wrong.

use serde_json::Value;

use toise_contract::enums::{EnumAdvertReportReason, WireEnum};
use toise_contract::fault::Fault;
use toise_contract::walk::{At, object, one_of, text};

/// Maximum length of a report's comment, in characters.
pub const COMMENT_CHARS_MAX: usize = 2_000;
/// The only query parameter of a call for a URL.
pub const URL_PARAMETER: &str = "url";
/// Keys of a report.
pub const REPORT_KEYS: [&str; 2] = ["reason", "comment"];

/// The body of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRequest {
    /// Reason of the report.
    pub reason: EnumAdvertReportReason,
    /// Comment in words.
    pub comment: Option<String>,
}

/// Parses the query of a call for a URL: `url`, exactly once. Whether it is the URL of a page is checked by the lookup.
///
/// # Errors
/// The first fault in the order of the query.
pub fn parse_url(query: &[(String, String)]) -> Result<String, Fault> {
    let mut url = None;
    for (name, value) in query {
        if name != URL_PARAMETER {
            return Err(Fault::new(
                name,
                format!("unknown parameter; must be one of: {URL_PARAMETER}"),
            ));
        }
        if url.is_some() {
            return Err(Fault::new(URL_PARAMETER, "must be given once"));
        }
        url = Some(value.clone());
    }
    url.ok_or_else(|| Fault::new(URL_PARAMETER, "is required"))
}

/// Parses a report: `{reason, comment?}`.
///
/// # Errors
/// The first fault in document order.
pub fn parse_report(body: &Value) -> Result<ReportRequest, Fault> {
    let at = At::Body;
    let (mut reason, mut comment) = (None, None);
    for (key, value) in object(body, at)? {
        let here = At::Key(&at, key);
        match key.as_str() {
            "reason" => {
                let value = one_of(value, EnumAdvertReportReason::TABLE.values, here)?;
                reason = EnumAdvertReportReason::parse(value);
            }
            "comment" => {
                let words = text(value, here)?;
                if words.chars().count() > COMMENT_CHARS_MAX {
                    return Err(
                        here.fault(format!("must not exceed {COMMENT_CHARS_MAX} characters"))
                    );
                }
                comment = Some(words.to_owned());
            }
            _ => return Err(at.unknown_key(key, REPORT_KEYS)),
        }
    }
    let reason = reason.ok_or_else(|| At::Key(&at, "reason").fault("is required"))?;
    let says_nothing = comment.as_deref().unwrap_or_default().trim().is_empty();
    if reason == EnumAdvertReportReason::Other && says_nothing {
        return Err(At::Key(&at, "comment").fault("is required where reason is OTHER"));
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
