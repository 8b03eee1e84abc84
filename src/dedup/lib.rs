//! Same asset or not: which property an advert belongs to.
//!
//! The way through: [`Fingerprint::from_advert`] keeps of an advert what a comparison needs, small enough to store beside it;
//! [`Fingerprint::blocks`] are the keys it is stored under and [`Fingerprint::probes`] those it looks others up by, so
//! that it meets the adverts near it in place, class, offer and surface and no others; [`compare()`] weighs two
//! fingerprints field by field with the table in [`weights`]; [`assign()`] decides between the properties whose adverts
//! were met. Most of those met are ruled out by the [`Outline`] that lies beside the key. `text` and `images` sketch
//! descriptions and pictures; the laboratory measures all of it on adverts whose assets are known.
//!
//! Everything here is a pure function of its arguments: no order of candidates, clock or thread changes an answer.

mod assign;
mod blocks;
mod codec;
mod compare;
mod digest;
mod fingerprint;
mod images;
mod inline_vec;
mod levels;
mod outline;
mod seller;
mod text;
pub mod weights;

pub use assign::{Assignment, AssignmentCandidate, assign, assign_known};
pub use blocks::BlockKey;
pub use codec::DecodeError;
pub use compare::{Comparison, DedupVerdict, FieldEvidence, Veto, compare};
pub use fingerprint::{ApproximatePosition, Fingerprint, OnlinePeriod};
pub use images::{ImageHash, Photos};
pub use inline_vec::InlineVec;
pub use outline::Outline;
pub use seller::SellerKind;
pub use text::Sketch;

#[cfg(test)]
mod tests;
