//! The macro that declares a record of the contract by its fields, and implements how unset fields are read and
//! written.
//!
//! Inside [`record!`] the type of a field decides: `Option<T>` is omitted when unknown, and `null` is read as unknown;
//! `Vec<T>` is always written, and absent or `null` is read as empty; any other type is required. Keys are the field
//! names in camel case; unknown keys are refused. Doc comments become the descriptions of the OpenAPI document, so they
//! give unit and range.

use serde::{Deserialize, Deserializer};

/// Reads a list that may be `null`.
pub(super) fn list_or_null<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::<Vec<T>>::deserialize(deserializer)?.unwrap_or_default())
}

macro_rules! record {
    ($(#[$about:meta])* $name:ident { $($fields:tt)* }) => {
        record!(@next [$(#[$about])* $name] [] $($fields)*);
    };
    (@next [$(#[$about:meta])* $name:ident] [$($done:tt)*]) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
        $(#[$about])*
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $name { $($done)* }
    };
    (@next $head:tt [$($done:tt)*] $(#[$about:meta])* $field:ident: Option<$type:ident>, $($rest:tt)*) => {
        record!(@next $head [
            $($done)*
            $(#[$about])*
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $field: Option<$type>,
        ] $($rest)*);
    };
    (@next $head:tt [$($done:tt)*] $(#[$about:meta])* $field:ident: Vec<$type:ident>, $($rest:tt)*) => {
        record!(@next $head [
            $($done)*
            $(#[$about])*
            #[serde(default, deserialize_with = "crate::listings::record::list_or_null")]
            #[schema(required = true)]
            pub $field: Vec<$type>,
        ] $($rest)*);
    };
    (@next $head:tt [$($done:tt)*] $(#[$about:meta])* $field:ident: $type:ident, $($rest:tt)*) => {
        record!(@next $head [$($done)* $(#[$about])* pub $field: $type,] $($rest)*);
    };
}

pub(super) use record;
