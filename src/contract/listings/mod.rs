//! Records of listings as the contract defines them: properties, adverts, their parts, and the bodies of webhooks.
//!
//! One type is used for reading, writing and the OpenAPI document, so these always agree. Unknown scalars and objects
//! are omitted, lists are always present, times are UTC in milliseconds, positions are `[lng, lat]`. Use
//! [`super::read::read`] to read a record, which reports the first fault with its path, and `serde_json::to_string` to
//! write it.
//!
//! The macro `record!` declares records. [`scalars`] and [`codes`] define numbers, codes and times with their ranges.
//! [`property`] and [`advert`] are the two records, [`lite`] the short one; the other modules define their parts.
//! [`filters`] defines what searches may filter on.

pub mod advert;
pub mod advert_field;
pub mod codes;
pub mod deliveries;
pub mod filters;
pub mod habitation;
pub mod land;
pub mod lite;
pub mod market;
pub mod medias;
pub mod place;
pub mod price;
pub mod property;
mod record;
pub mod scalars;

pub use advert::Advert;
pub use lite::LiteProperty;
pub use property::{Property, PropertyAdvert};
