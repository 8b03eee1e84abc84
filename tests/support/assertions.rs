//! Assertions that many tests make, and the values of answers that they look at.

use std::process::Output;

use serde_json::Value;

use super::process::errors;

/// Asserts that a text contains a part of it; the failure shows the text.
#[track_caller]
pub fn assert_has(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in: {text}");
}

/// Asserts how a text begins; the failure shows the text.
#[track_caller]
pub fn assert_begins(text: &str, begin: &str) {
    assert!(text.starts_with(begin), "{begin:?} does not begin: {text}");
}

/// Asserts that a command failed with a message on standard error.
#[track_caller]
pub fn assert_refused(output: &Output, message: &str) {
    assert!(!output.status.success(), "it succeeded");
    assert_has(&errors(output), message);
}

/// Some fields of an object, as an array.
pub fn pick<const N: usize>(object: &Value, fields: [&str; N]) -> Value {
    fields.map(|field| object[field].clone()).into()
}

/// The texts of a field of every item of an array.
pub fn texts_of<'v>(items: &'v Value, field: &str) -> Vec<&'v str> {
    let items = items.as_array().unwrap().iter();
    items.map(|item| item[field].as_str().unwrap()).collect()
}
