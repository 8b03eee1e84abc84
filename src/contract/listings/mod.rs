//! Records of listings as the contract writes them: properties, adverts, their parts, and what webhooks deliver.
//!
//! One type serves reading, writing and the OpenAPI document, so the three cannot disagree. Unknown scalars and objects
//! are left out, lists are always there, moments are UTC to the millisecond, positions are `[lng, lat]`. Read a record
//! with [`super::read::read`], which names the first fault by its path; `serde_json::to_string` writes it.
//!
//! `record` says how a record is declared; [`scalars`] and [`codes`] hold the numbers, codes and moments with their
//! ranges; [`property`] and [`advert`] are the two records, [`lite`] the short one, the rest their parts. [`filters`]
//! says what may be asked of them.

pub mod advert;
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
