//! Removes invalid values of optional fields from an advert, so that the rest can be ingested.
//!
//! Used for adverts from files and mapped bodies; a body in the shape of the contract is refused at its first fault
//! instead. A removed field counts as absent: a known advert keeps its previous value.

use serde::Serialize;
use serde_json::Value;

use toise_contract::Fault;
use toise_contract::listings::Advert;
use toise_contract::read::read;

/// Fields that are never left out: without them the advert would get a different identity or time.
const ESSENTIAL: [&str; 2] = ["url", "lastSeenAt"];
/// Maximum values left out of one advert; an advert with more faults is refused.
const LEFT_OUT_MAX: usize = 100;
/// Maximum length of a value in a message, in characters.
const SHOWN_CHARS_MAX: usize = 60;

/// A value that was left out of an advert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Path of its field.
    pub path: String,
    /// The reason, as in a fault: what is allowed there.
    pub reason: String,
    /// The value as it was given, shortened.
    pub value: String,
}

impl LeftOut {
    /// Creates the note of a value that was left out of a field.
    pub fn new(path: impl Into<String>, reason: impl Into<String>, value: &Value) -> Self {
        Self {
            path: path.into(),
            reason: reason.into(),
            value: shortened(value),
        }
    }

    /// Returns whether the field must not be left out.
    pub fn is_essential(&self) -> bool {
        ESSENTIAL.contains(&self.path.as_str())
    }

    /// Returns a fault that refuses the advert because of this value.
    pub fn fault(&self) -> Fault {
        Fault::new(&self.path, format!("{}; got {}", self.reason, self.value))
    }

    /// Returns a warning for the sender.
    pub fn warning(&self) -> String {
        format!("{}: {}; left out: {}", self.path, self.reason, self.value)
    }
}

/// Returns the fault that refuses an advert; if the value of its field was left out, the fault quotes that value.
pub fn with_left_out_value(fault: Fault, left_out: &[LeftOut]) -> Fault {
    let found = left_out.iter().find(|one| one.path == fault.path);
    found.map_or(fault, LeftOut::fault)
}

/// Shortens a value for messages.
fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Removes the values that the contract refuses, one after the other, until it accepts the rest.
///
/// # Errors
/// An essential field has a fault, more values would have to be left out than allowed, or the advert as a whole has a
/// fault.
pub fn leave_out_faults(advert: &mut Value) -> Result<Vec<LeftOut>, Fault> {
    let mut left_out = Vec::new();
    loop {
        let fault = match read::<Advert>(advert) {
            Ok(_) => return Ok(left_out),
            Err(fault) => fault,
        };
        let path = fault.path.clone();
        let value = if left_out.len() < LEFT_OUT_MAX {
            remove(advert, &path)
        } else {
            None
        };
        let Some(value) = value else {
            return Err(fault);
        };
        let found = LeftOut::new(path, fault.message, &value);
        if found.is_essential() {
            return Err(found.fault());
        }
        left_out.push(found);
    }
}

/// Removes and returns the value at a path, or the innermost existing item or object on the path; `None` if there is
/// none.
fn remove(value: &mut Value, path: &str) -> Option<Value> {
    let (step, rest) = split(path)?;
    let inner = match step {
        Step::Field(name) => value.get_mut(name)?,
        Step::Item(index) => value.get_mut(index)?,
    };
    if !rest.is_empty()
        && let Some(removed) = remove(inner, rest)
    {
        return Some(removed);
    }
    match (value, step) {
        (Value::Object(fields), Step::Field(name)) => fields.shift_remove(name),
        (Value::Array(items), Step::Item(index)) => {
            (index < items.len()).then(|| items.remove(index))
        }
        _ => None,
    }
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Field(&'p str),
    Item(usize),
}

/// Splits a path into its first step and the rest.
fn split(path: &str) -> Option<(Step<'_>, &str)> {
    if let Some(rest) = path.strip_prefix('[') {
        let (index, rest) = rest.split_once(']')?;
        let rest = rest.strip_prefix('.').unwrap_or(rest);
        return Some((Step::Item(index.parse().ok()?), rest));
    }
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (name, rest) = path.split_at(end);
    let rest = rest.strip_prefix('.').unwrap_or(rest);
    (!name.is_empty()).then_some((Step::Field(name), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bad_values_are_left_out_and_shown_and_the_rest_stays() {
        let mut advert = json!({
            "url": "https://portail.example/1", "title": "T3", "nom": "x", "isPro": "peut-être",
            "habitation": {"roomCount": "trois", "surface": {"total": 61}, "heatings": ["HEATING_GAS", "charbon"]},
            "location": {"postalCode": "75011", "locationCoordinate": {"location": ["a", 48.8]}},
            "medias": {"images": [{"url": "https://portail.example/1.jpg"}, {"colour": "red"}]},
        });
        let left_out = leave_out_faults(&mut advert).unwrap();
        let shown: Vec<(&str, &str)> = left_out
            .iter()
            .map(|one| (one.path.as_str(), one.value.as_str()))
            .collect();
        assert!(shown.contains(&("nom", "\"x\"")), "{shown:?}");
        assert!(
            shown.contains(&("habitation.roomCount", "\"trois\"")),
            "{shown:?}"
        );
        assert!(
            shown.contains(&("habitation.heatings[1]", "\"charbon\"")),
            "{shown:?}"
        );
        assert_eq!(
            advert["habitation"],
            json!({"surface": {"total": 61}, "heatings": ["HEATING_GAS"]})
        );
        assert_eq!(advert["location"]["postalCode"], "75011");
        assert_eq!(advert["location"]["locationCoordinate"], json!({}));
        assert_eq!(
            advert["medias"]["images"],
            json!([{"url": "https://portail.example/1.jpg"}])
        );
        assert_eq!((&advert["title"], advert.get("nom")), (&json!("T3"), None));
    }

    #[test]
    fn a_bad_address_or_time_refuses_the_advert() {
        for (advert, message) in [
            (json!({"url": 3}), "url: must be a string; got 3"),
            (json!([]), "body: must be an object"),
        ] {
            let mut advert = advert;
            let fault = leave_out_faults(&mut advert).unwrap_err().to_string();
            assert_eq!(fault, message);
        }
        let mut advert = json!({"url": "https://portail.example/1", "lastSeenAt": "hier"});
        let fault = leave_out_faults(&mut advert).unwrap_err();
        assert!(fault.to_string().ends_with("; got \"hier\""), "{fault}");
    }
}
