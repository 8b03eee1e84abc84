//! Reads a JSON value into a type through serde, and reports the first fault with its path and what is allowed.
//!
//! serde stops at the first value that does not fit, in document order, but its errors contain no path and are not
//! worded for the sender. Here the error type is [`Fault`] itself, and each object and list prepends its step to the
//! path as the fault propagates. A type describes its values in its visitor's `expecting`, worded to follow "must be".
//! Cost: one walk over the value, without copies except for stored strings.

use std::fmt::Display;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, Expected, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value, map};

use super::fault::Fault;
use super::walk::echo;

/// Maximum length of a text in a record, in bytes.
pub const TEXT_BYTES_MAX: usize = 65_536;
/// Maximum items in a list of a record.
pub const LIST_ITEMS_MAX: usize = 1_000;

/// Reads a value as `T`.
///
/// # Errors
/// The first fault in document order; a missing required field is reported at the end of its object.
pub fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Fault> {
    T::deserialize(ValueReader(value))
}

/// The messages of serde, worded for the contract.
impl Error for Fault {
    fn custom<T: Display>(message: T) -> Self {
        Fault::new("", message.to_string())
    }

    fn invalid_type(_found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Fault::new("", format!("must be {expected}"))
    }

    fn invalid_value(_found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Fault::new("", format!("must be {expected}"))
    }

    fn unknown_variant(_variant: &str, allowed: &'static [&'static str]) -> Self {
        Fault::new("", format!("must be one of: {}", allowed.join(", ")))
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        Fault::new(
            echo(field),
            format!("unknown field; must be one of: {}", known.join(", ")),
        )
    }

    fn missing_field(field: &'static str) -> Self {
        Fault::new(field, "is required")
    }
}

/// Prepends the step of the enclosing object or list to the path of a fault.
fn under(step: &str, fault: Fault) -> Fault {
    if fault.path.starts_with('[') {
        Fault::new(format!("{step}{}", fault.path), fault.message)
    } else {
        fault.within(step)
    }
}

#[derive(Clone, Copy)]
struct ValueReader<'de>(&'de Value);

impl<'de> ValueReader<'de> {
    fn text(self) -> Result<Option<&'de str>, Fault> {
        match self.0.as_str() {
            Some(text) if text.len() > TEXT_BYTES_MAX => Err(Fault::new(
                "",
                format!("must not exceed {TEXT_BYTES_MAX} bytes"),
            )),
            text => Ok(text),
        }
    }
}

impl<'de> Deserializer<'de> for ValueReader<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::Number(number) => {
                if let Some(natural) = number.as_u64() {
                    visitor.visit_u64(natural)
                } else if let Some(integer) = number.as_i64() {
                    visitor.visit_i64(integer)
                } else {
                    visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN))
                }
            }
            Value::String(_) => match self.text()? {
                Some(text) => visitor.visit_borrowed_str(text),
                None => visitor.visit_unit(),
            },
            Value::Array(items) => list(items, visitor),
            Value::Object(fields) => object(fields, visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Bool(flag) => visitor.visit_bool(*flag),
            _ => Err(Fault::new("", "must be true or false")),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Array(items) => list(items, visitor),
            _ => Err(Fault::new("", "must be an array")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Object(fields) => object(fields, visitor),
            _ => Err(Fault::new("", "must be an object")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple
        tuple_struct enum identifier ignored_any
    }
}

fn list<'de, V: Visitor<'de>>(items: &'de [Value], visitor: V) -> Result<V::Value, Fault> {
    if items.len() > LIST_ITEMS_MAX {
        return Err(Fault::new(
            "",
            format!("must hold at most {LIST_ITEMS_MAX} items"),
        ));
    }
    visitor.visit_seq(ListItems { items, next: 0 })
}

struct ListItems<'de> {
    items: &'de [Value],
    next: usize,
}

impl<'de> SeqAccess<'de> for ListItems<'de> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        let Some(item) = self.items.get(self.next) else {
            return Ok(None);
        };
        let step = self.next;
        self.next += 1;
        seed.deserialize(ValueReader(item))
            .map(Some)
            .map_err(|fault| under(&format!("[{step}]"), fault))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

fn object<'de, V: Visitor<'de>>(
    fields: &'de Map<String, Value>,
    visitor: V,
) -> Result<V::Value, Fault> {
    visitor.visit_map(ObjectFields {
        fields: fields.iter(),
        here: None,
    })
}

struct ObjectFields<'de> {
    fields: map::Iter<'de>,
    here: Option<(&'de str, &'de Value)>,
}

impl<'de> MapAccess<'de> for ObjectFields<'de> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        let Some((key, value)) = self.fields.next() else {
            return Ok(None);
        };
        self.here = Some((key, value));
        seed.deserialize(StrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let Some((key, value)) = self.here.take() else {
            return Err(Fault::custom("a value was requested before its key"));
        };
        seed.deserialize(ValueReader(value))
            .map_err(|fault| under(&echo(key), fault))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listings::Property;
    use crate::listings::deliveries::{AlertContext, PropertyDelivery};
    use serde_json::json;

    #[test]
    fn a_nested_fault_has_its_full_path() {
        let body = json!({"adverts": [{}, {"price": {"latest": {"value": "1"}}}]});
        let fault = read::<Property>(&body).unwrap_err();
        assert_eq!(fault.path, "adverts[1].price.latest.value");
        let body = json!({"adverts": [{"location": [2.5, "48"]}]});
        let fault = read::<Property>(&body).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "adverts[0].location[1]: must be a number"
        );
        let body = json!({"data": {"created": [{"alert_id": "x", "properties": []}]}});
        let fault = read::<PropertyDelivery>(&body).unwrap_err();
        assert_eq!(fault.path, "data.created[0].alert_id");
    }

    #[test]
    fn the_first_fault_in_document_order_is_reported() {
        let fault = |text: &str| {
            let body: Value = serde_json::from_str(text).unwrap();
            read::<Property>(&body).unwrap_err().path
        };
        assert_eq!(fault(r#"{"tags": 1, "title": 2}"#), "tags");
        assert_eq!(fault(r#"{"title": 2, "tags": 1}"#), "title");
        assert_eq!(fault(r#"{"nom": null, "title": 2}"#), "nom");
    }

    #[test]
    fn an_unknown_key_is_echoed_shortened_and_without_control_characters() {
        let key = format!("a\u{7}{}", "b".repeat(200));
        let fault = read::<Property>(&json!({ key: 1 })).unwrap_err();
        assert_eq!(fault.path, format!("a{}", "b".repeat(59)));
        assert!(
            fault
                .message
                .starts_with("unknown field; must be one of: adverts, ")
        );
    }

    #[test]
    fn free_metadata_is_read_unchanged() {
        let body = json!({"metadata": {"a": [1, -2, 2.5, null, true, {"b": "c"}]}});
        let context: AlertContext = read(&body).unwrap();
        assert_eq!(serde_json::to_value(context).unwrap(), body);
    }
}
