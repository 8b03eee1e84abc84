//! Parsing of query strings.

use std::collections::HashSet;

use super::fault::Fault;

/// A query string cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The percent-encoding is invalid.
    #[error("query: percent-encoding is broken")]
    Encoding,
    /// A parameter is given more than once.
    #[error(transparent)]
    Repeated(Fault),
}

/// Decodes a query string to pairs of name and value, in order. Each name occurs once.
///
/// # Errors
/// The percent-encoding is invalid, or a name is repeated.
pub fn pairs(query: &str) -> Result<Vec<(String, String)>, QueryError> {
    let is_sound = query.split('%').skip(1).all(|after| {
        let bytes = after.as_bytes();
        bytes.len() >= 2 && bytes[..2].iter().all(u8::is_ascii_hexdigit)
    });
    if !is_sound {
        return Err(QueryError::Encoding);
    }
    let pairs: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect();
    let mut seen = HashSet::new();
    match pairs.iter().find(|(name, _)| !seen.insert(name.as_str())) {
        Some((name, _)) => Err(QueryError::Repeated(Fault::new(
            name.as_str(),
            "must be given once",
        ))),
        None => Ok(pairs),
    }
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
        assert_eq!(pairs("a=%zz"), Err(QueryError::Encoding));
    }

    #[test]
    fn a_repeated_parameter_is_refused_by_its_name() {
        let repeated = pairs("limit=1&q=a&limit=1").unwrap_err();
        assert_eq!(repeated.to_string(), "limit: must be given once");
    }
}
