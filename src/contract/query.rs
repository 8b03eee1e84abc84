//! Parsing of query strings.

/// The error for a query string with invalid percent-encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("query: percent-encoding is broken")]
pub struct BrokenQuery;

/// Decodes a query string to pairs of name and value, in order.
pub fn pairs(query: &str) -> Result<Vec<(String, String)>, BrokenQuery> {
    let is_sound = query.split('%').skip(1).all(|after| {
        let bytes = after.as_bytes();
        bytes.len() >= 2 && bytes[..2].iter().all(u8::is_ascii_hexdigit)
    });
    if !is_sound {
        return Err(BrokenQuery);
    }
    Ok(url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_decoded_or_refused() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            pairs("a=1+2&b=%C3%A9"),
            Ok(vec![pair("a", "1 2"), pair("b", "é")])
        );
        assert_eq!(pairs(""), Ok(Vec::new()));
        assert_eq!(pairs("a=%zz"), Err(BrokenQuery));
    }
}
