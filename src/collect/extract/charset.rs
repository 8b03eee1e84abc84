//! Decodes the bytes of a page to text, replacing invalid sequences.
//!
//! The encoding is detected as in browsers. The first of these that exists decides: the byte order mark, `charset` of
//! the response's content type, a declaration in the first bytes of the page. Without any, it is UTF-8 if the bytes are
//! valid UTF-8 and Windows-1252 if not.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Number of bytes searched for an encoding declaration.
const PRESCAN_BYTES: usize = 4_096;

/// Decodes the bytes of a page to text.
pub fn decode<'p>(bytes: &'p [u8], content_type: Option<&str>) -> Cow<'p, str> {
    // A byte order mark takes precedence; `decode` checks it itself.
    let declared_encoding = content_type
        .and_then(charset_of)
        .or_else(|| declared(bytes));
    let encoding = declared_encoding.unwrap_or_else(|| match std::str::from_utf8(bytes) {
        Ok(_) => UTF_8,
        Err(_) => WINDOWS_1252,
    });
    encoding.decode(bytes).0
}

/// Returns the encoding named after `charset` in a content type or a `meta` element.
fn charset_of(text: &str) -> Option<&'static Encoding> {
    let lower = text.to_ascii_lowercase();
    let (_, rest) = lower.split_once("charset")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let rest = rest.trim_start_matches(['"', '\'']);
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '>' | '/' | ',');
    Encoding::for_label(rest.split(is_end).next()?.as_bytes())
}

/// Returns the encoding that a page declares. A declaration is read as ASCII, so one that names an encoding
/// incompatible with ASCII means UTF-8.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(PRESCAN_BYTES)]);
    let mut metas = head
        .match_indices("<meta")
        .chain(head.match_indices("<META"));
    let encoding = metas.find_map(|(start, _)| {
        let tag = &head[start..];
        charset_of(&tag[..tag.find('>').unwrap_or(tag.len())])
    })?;
    Some(if encoding.is_ascii_compatible() {
        encoding
    } else {
        UTF_8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_detected_from_mark_header_page_or_bytes() {
        let latin = b"<p>Pi\xe8ces \x80</p>";
        let expected = "<p>Pièces €</p>";
        assert_eq!(
            decode(latin, Some("text/html; charset=ISO-8859-1")),
            expected
        );
        assert_eq!(decode(latin, Some("text/html")), expected);
        assert_eq!(decode(expected.as_bytes(), None), expected);
        let marked = [b"\xef\xbb\xbf", expected.as_bytes()].concat();
        assert_eq!(
            decode(&marked, Some("text/html; charset=iso-8859-1")),
            expected
        );
        for meta in [
            "<meta charset=\"iso-8859-15\">",
            "<META http-equiv=content-type content='text/html; charset=ISO-8859-15'>",
        ] {
            let page = [meta.as_bytes(), b"\xa4"].concat();
            assert!(decode(&page, None).ends_with('€'), "{meta}");
        }
        assert_eq!(
            decode(b"<meta charset=utf-16>x", Some("text/html; charset=what")),
            "<meta charset=utf-16>x"
        );
    }
}
