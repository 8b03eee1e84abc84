//! Reads JSON as some languages write it: with `NaN` and `Infinity`, which JSON does not have.

/// Values that some languages write instead of JSON numbers.
const NON_JSON_NUMBERS: [&[u8]; 4] = [b"NaN", b"-NaN", b"Infinity", b"-Infinity"];

/// Reads JSON text; `NaN` and `Infinity` become null.
///
/// # Errors
/// It is still not JSON.
pub fn read<T: serde::de::DeserializeOwned>(text: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(text).or_else(|error| match with_nulls(text) {
        Some(written) => serde_json::from_slice(&written),
        None => Err(error),
    })
}

/// Replaces every `NaN` and `Infinity` in a text with `null`; `None` if there is none.
pub fn with_nulls(text: &[u8]) -> Option<Vec<u8>> {
    let mut written = Vec::with_capacity(text.len());
    let (mut rest, mut is_text, mut is_changed) = (text, false, false);
    while let Some((first, after)) = rest.split_first() {
        let word = NON_JSON_NUMBERS
            .iter()
            .find(|word| !is_text && rest.starts_with(word));
        if let Some(word) = word {
            written.extend_from_slice(b"null");
            rest = &rest[word.len()..];
            is_changed = true;
            continue;
        }
        written.push(*first);
        rest = after;
        match first {
            b'"' => is_text = !is_text,
            b'\\' if is_text => {
                let (escaped, after) = rest.split_first()?;
                written.push(*escaped);
                rest = after;
            }
            _ => {}
        }
    }
    is_changed.then_some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_not_numbers_become_null_except_in_texts() {
        let with =
            |text: &str| with_nulls(text.as_bytes()).map(|text| String::from_utf8(text).unwrap());
        assert_eq!(
            with(r#"{"a": NaN, "b": [-Infinity, Infinity, 1], "NaN \" NaN": "NaN"}"#).unwrap(),
            r#"{"a": null, "b": [null, null, 1], "NaN \" NaN": "NaN"}"#
        );
        assert_eq!(with(r#"{"a": "NaN"}"#), None);
        assert_eq!(with(r#"{"a": "\"#), None);
    }
}
