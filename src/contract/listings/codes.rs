//! Identifiers, codes, timestamps and positions of listings: JSON strings and pairs whose format is validated once,
//! here.

use std::fmt;
use std::marker::PhantomData;

use chrono::{DateTime, NaiveTime, SecondsFormat, Utc};
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Unexpected, Visitor};
use serde::ser::{Serialize, SerializeSeq, Serializer};
use utoipa::openapi::schema::{
    ArrayBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type,
};
use utoipa::openapi::{Object, RefOr};
use uuid::Uuid;

use super::scalars::write_number;
use crate::dates::{DATE_RULE, DateOrInstant};
use crate::fields::CodeFormat;
use toise_geo::code_hints::{PlaceCode, hint};
use toise_geo::departments;

/// Length of a UUID with hyphens, in characters.
const UUID_CHARS: usize = 36;

/// A text with a fixed format.
trait Coded: Sized {
    /// The rule, as it follows "must be".
    const RULE: &'static str;
    /// The kind of place it is a code of.
    const PLACE: Option<PlaceCode> = None;

    fn parse(text: &str) -> Option<Self>;
}

struct TextOf<T>(PhantomData<T>);

impl<T: Coded> Visitor<'_> for TextOf<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(T::RULE)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::parse(text).ok_or_else(|| E::custom(refusal::<T>(text)))
    }
}

/// Returns the error message for a text; if it names a place instead of giving its code, the message gives the code.
fn refusal<T: Coded>(text: &str) -> String {
    match T::PLACE.and_then(|code| hint(text, code)) {
        Some(hint) => format!("must be {}; {hint}", T::RULE),
        None => format!("must be {}", T::RULE),
    }
}

macro_rules! coded {
    ($name:ident, $about:expr, |$text:ident: &$owned:ty| $written:expr, $schema:expr) => {
        impl $name {
            #[doc = concat!("Reads a text; `None` when it is not ", $about, ".")]
            pub fn parse(text: &str) -> Option<Self> {
                <Self as Coded>::parse(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $text: &$owned = &self.0;
                write!(formatter, "{}", $written)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(TextOf(PhantomData))
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let schema: ObjectBuilder = $schema;
                Object::from(schema.schema_type(Type::String)).into()
            }
        }

        impl utoipa::ToSchema for $name {}
    };
}

/// Identifier of a property, advert, seller or alert: a UUID; those created by toise have version 7 (sortable by
/// creation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlxId(pub Uuid);

impl Coded for FlxId {
    const RULE: &'static str = "a UUID, such as \"019a53c0-7a55-7c40-8a11-0a5e5f6b7c81\"";

    fn parse(text: &str) -> Option<Self> {
        // The parser also accepts braces, prefixes and bare digits.
        if text.len() != UUID_CHARS {
            return None;
        }
        Uuid::try_parse(text).ok().map(Self)
    }
}

coded!(
    FlxId,
    "a UUID with hyphens",
    |id: &Uuid| id.as_hyphenated(),
    ObjectBuilder::new()
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)))
        .description(Some("Identifier, a UUID"))
);

/// A time in UTC, in milliseconds. A date without a time is midnight; a time without an offset is UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(DateTime<Utc>);

impl Timestamp {
    /// Creates a timestamp, truncated to the millisecond.
    pub fn new(moment: DateTime<Utc>) -> Self {
        Self(DateTime::from_timestamp_millis(moment.timestamp_millis()).unwrap_or_default())
    }

    /// The time.
    pub fn get(self) -> DateTime<Utc> {
        self.0
    }
}

impl Coded for Timestamp {
    const RULE: &'static str = match DATE_RULE.split_at_checked("must be ".len()) {
        Some((_, rule)) => rule,
        None => DATE_RULE,
    };

    fn parse(text: &str) -> Option<Self> {
        Some(Self::new(match DateOrInstant::parse(text)? {
            DateOrInstant::Day(day) => day.and_time(NaiveTime::MIN).and_utc(),
            DateOrInstant::Instant(instant) => instant,
        }))
    }
}

coded!(
    Timestamp,
    "an ISO 8601 date or date-time",
    |moment: &DateTime<Utc>| moment.to_rfc3339_opts(SecondsFormat::Millis, true),
    ObjectBuilder::new()
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        .description(Some("Time, ISO 8601 in UTC with milliseconds"))
);

macro_rules! codes {
    ($($(#[doc = $about:literal])+ $name:ident: $rule:literal, $pattern:literal, $place:expr, $is:expr;)+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Box<str>);

        impl $name {
            /// The format, for tables of fields.
            pub const FORMAT: CodeFormat = CodeFormat {
                pattern: $pattern,
                refusal: |text| match Self::parse(text) {
                    Some(_) => None,
                    None => Some(refusal::<Self>(text)),
                },
            };

            /// The code.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Coded for $name {
            const RULE: &'static str = $rule;
            const PLACE: Option<PlaceCode> = $place;

            fn parse(text: &str) -> Option<Self> {
                let is: fn(&str) -> bool = $is;
                is(text).then(|| Self(text.into()))
            }
        }

        coded!(
            $name,
            $rule,
            |code: &str| code,
            ObjectBuilder::new()
                .pattern(Some($pattern))
                .description(Some(concat!($($about),+).trim()))
        );
    )+};
}

codes! {
    /// Postal code, five digits; a commune may have several codes, and a code may cover several communes.
    PostalCode: "five digits", "^[0-9]{5}$", Some(PlaceCode::Postal), |text| has_digits(text, 5);
    /// INSEE code of a commune, five characters; Paris, Lyon and Marseille by arrondissement.
    InseeCode: "an INSEE code of five characters, such as \"48095\" or \"2A004\"",
        "^([0-9]{2}|2[AB])[0-9]{3}$", Some(PlaceCode::Insee), |text| is_place_code(text, 5);
    /// Code of a department: two characters, including 2A and 2B, or three overseas.
    Department: "the code of a French department, such as \"48\", \"2A\" or \"971\"",
        "^(0[1-9]|1[0-9]|2[1-9AB]|[3-8][0-9]|9[0-5]|97[1-46])$", Some(PlaceCode::Department),
        |text| departments::CODES.contains(&text);
    /// Code of an IRIS district: the commune's INSEE code and four digits, which are 0000 if the commune has no
    /// districts.
    IrisCode: "an IRIS code of nine characters, such as \"751135001\"",
        "^([0-9]{2}|2[AB])[0-9]{7}$", None, |text| is_place_code(text, 9);
    /// Identifier of a cadastral parcel: the INSEE code of its commune, a prefix of three digits, a section of two
    /// characters and a number of four digits.
    ParcelId: "the identifier of a parcel, 14 characters, such as \"83137000CM0123\"",
        "^([0-9]{2}|2[AB])[0-9]{6}[0-9A-Z]{2}[0-9]{4}$", None, is_parcel_id;
    /// Identifier of a building in the national register of buildings (RNB): 12 digits and capital letters, without 0,
    /// I, L, O and U.
    RnbId: "the RNB identifier of a building, 12 characters without hyphens, such as \"8XBEW7VVWG47\"",
        "^[1-9A-HJKMNP-TV-Z]{12}$", None, is_rnb_id;
    /// SIREN number of a company, nine digits.
    Siren: "nine digits", "^[0-9]{9}$", None, |text| has_digits(text, 9);
}

fn has_digits(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a text consists of digits, except for Corsica's letter in second place.
fn is_place_code(text: &str, length: usize) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == length
        && bytes.iter().enumerate().all(|(place, byte)| {
            byte.is_ascii_digit() || (place == 1 && bytes[0] == b'2' && matches!(byte, b'A' | b'B'))
        })
}

/// Returns whether a text is a [`ParcelId`].
pub fn is_parcel_id(text: &str) -> bool {
    let parts = text.split_at_checked(8);
    let parts = parts.and_then(|(commune, rest)| Some((commune, rest.split_at_checked(2)?)));
    parts.is_some_and(|(commune, (section, number))| {
        let is_section = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
        is_place_code(commune, 8) && section.bytes().all(is_section) && has_digits(number, 4)
    })
}

fn is_rnb_id(text: &str) -> bool {
    let is_used = |byte: u8| matches!(byte, b'1'..=b'9' | b'A'..=b'Z') && !b"ILOU".contains(&byte);
    text.len() == 12 && text.bytes().all(is_used)
}

/// A position: `[longitude, latitude]`, degrees, WGS 84.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    longitude: f64,
    latitude: f64,
}

/// The rule for positions, as it follows "must be".
const POSITION_RULE: &str =
    "[longitude, latitude], two numbers between -180 and 180 and between -90 and 90";

impl Position {
    /// Creates a position from degrees; `None` if it is not on the globe.
    pub fn new(longitude: f64, latitude: f64) -> Option<Self> {
        let on_globe = (-180.0..=180.0).contains(&longitude) && (-90.0..=90.0).contains(&latitude);
        on_globe.then_some(Self {
            longitude: longitude + 0.0,
            latitude: latitude + 0.0,
        })
    }

    /// Degrees east.
    pub fn longitude(self) -> f64 {
        self.longitude
    }

    /// Degrees north.
    pub fn latitude(self) -> f64 {
        self.latitude
    }
}

struct Degrees(f64);

impl Serialize for Degrees {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write_number(self.0, serializer)
    }
}

impl Serialize for Position {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut pair = serializer.serialize_seq(Some(2))?;
        pair.serialize_element(&Degrees(self.longitude))?;
        pair.serialize_element(&Degrees(self.latitude))?;
        pair.end()
    }
}

impl<'de> Deserialize<'de> for Degrees {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_f64(DegreesVisitor).map(Self)
    }
}

struct DegreesVisitor;

impl Visitor<'_> for DegreesVisitor {
    type Value = f64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number")
    }

    fn visit_f64<E: Error>(self, degrees: f64) -> Result<f64, E> {
        Ok(degrees)
    }

    fn visit_u64<E: Error>(self, degrees: u64) -> Result<f64, E> {
        Ok(degrees as f64)
    }

    fn visit_i64<E: Error>(self, degrees: i64) -> Result<f64, E> {
        Ok(degrees as f64)
    }
}

struct PairVisitor;

impl<'de> Visitor<'de> for PairVisitor {
    type Value = Position;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(POSITION_RULE)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Position, A::Error> {
        let pair = (items.next_element()?, items.next_element()?);
        let more = items.next_element::<serde::de::IgnoredAny>()?.is_some();
        match pair {
            (Some(Degrees(longitude)), Some(Degrees(latitude))) if !more => {
                Position::new(longitude, latitude)
            }
            _ => None,
        }
        .ok_or_else(|| A::Error::invalid_value(Unexpected::Seq, &self))
    }
}

impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PairVisitor)
    }
}

impl utoipa::PartialSchema for Position {
    fn schema() -> RefOr<Schema> {
        ArrayBuilder::new()
            .items(Object::with_type(Type::Number))
            .min_items(Some(2))
            .max_items(Some(2))
            .description(Some(
                "Position [longitude, latitude], degrees: -180 to 180 and -90 to 90",
            ))
            .into()
    }
}

impl utoipa::ToSchema for Position {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::read;
    use serde_json::{Value, json};

    fn message<T: serde::de::DeserializeOwned + fmt::Debug>(value: Value) -> String {
        read::<T>(&value).unwrap_err().message
    }

    #[test]
    fn moments_are_written_in_utc_to_the_millisecond() {
        for (given, written) in [
            ("2022-10-21T13:31:33.593+02:00", "2022-10-21T11:31:33.593Z"),
            ("2022-10-21T11:31:33.593999Z", "2022-10-21T11:31:33.593Z"),
            ("2022-10-21", "2022-10-21T00:00:00.000Z"),
        ] {
            let moment: Timestamp = read(&json!(given)).unwrap();
            assert_eq!(serde_json::to_value(moment).unwrap(), json!(written));
        }
        assert_eq!(message::<Timestamp>(json!("hier")), DATE_RULE);
        assert_eq!(message::<Timestamp>(json!(1_700_000_000)), DATE_RULE);
    }

    #[test]
    fn codes_must_have_their_format() {
        for code in ["48095", "2A004", "97411", "75113"] {
            assert!(InseeCode::parse(code).is_some(), "{code}");
        }
        for code in ["4809", "480950", "2C004", "A2004", "48-95", "é895"] {
            assert!(InseeCode::parse(code).is_none(), "{code}");
        }
        assert!(Department::parse("2B").is_some() && Department::parse("20").is_none());
        assert!(IrisCode::parse("2A0040101").is_some() && IrisCode::parse("75113").is_none());
        assert_eq!(message::<PostalCode>(json!(48000)), "must be five digits");
    }

    #[test]
    fn the_name_of_a_place_gives_its_code() {
        let rule = "must be an INSEE code of five characters, such as \"48095\" or \"2A004\"";
        assert_eq!(
            message::<InseeCode>(json!("Mende")),
            format!("{rule}; Mende is 48095 (postal code 48000)")
        );
        assert_eq!(message::<InseeCode>(json!("4809")), rule);
        assert_eq!(
            message::<PostalCode>(json!("Mende")),
            "must be five digits; Mende is 48000 (INSEE code 48095)"
        );
        assert_eq!(
            message::<Department>(json!("lozère")),
            "must be the code of a French department, such as \"48\", \"2A\" or \"971\"; Lozère is 48"
        );
        assert_eq!((InseeCode::FORMAT.refusal)("48095"), None);
        assert_eq!((InseeCode::FORMAT.refusal)("4809").as_deref(), Some(rule));
    }

    #[test]
    fn identifiers_are_hyphenated_uuids() {
        let id: FlxId = read(&json!("019A53C0-7A55-7C40-8A11-0A5E5F6B7C81")).unwrap();
        assert_eq!(id.to_string(), "019a53c0-7a55-7c40-8a11-0a5e5f6b7c81");
        for text in [
            "019a53c07a557c408a110a5e5f6b7c81",
            "{019a53c0-7a55-7c40-8a11-0a5e5f6b7c81}",
            "",
        ] {
            assert!(
                message::<FlxId>(json!(text)).starts_with("must be a UUID"),
                "{text}"
            );
        }
    }

    #[test]
    fn positions_are_longitude_then_latitude() {
        let position: Position = read(&json!([3.5, 44])).unwrap();
        assert_eq!((position.longitude(), position.latitude()), (3.5, 44.0));
        assert_eq!(serde_json::to_string(&position).unwrap(), "[3.5,44]");
        let rule = format!("must be {POSITION_RULE}");
        for value in [
            json!([3.5, 91]),
            json!([3.5]),
            json!([1, 2, 3]),
            json!({"lat": 1, "lon": 2}),
            json!([]),
        ] {
            assert_eq!(message::<Position>(value.clone()), rule, "{value}");
        }
    }
}
