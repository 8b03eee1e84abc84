//! Deduplication: decides which property an advert belongs to.
//!
//! Called by ingestion. [`Fingerprint::from_advert`] extracts what a comparison needs, small enough to store with each
//! advert. [`Fingerprint::blocks`] are the keys under which an advert is stored, and [`Fingerprint::probes`] are the
//! keys by which it looks up others. Its candidates are thus the adverts close to it in position, class, offer and
//! surface. The [`Outline`] stored with each key rules out most candidates. Phone numbers, references and other marks
//! that many homes share are removed ([`Fingerprint::without`]). Then [`compare()`] compares two fingerprints field by
//! field with the table in [`weights`], and [`assign()`] chooses between the properties of the candidates. `text` and
//! `images` reduce descriptions and pictures to sketches and hashes. The laboratory (`src/lab`) measures the results on
//! adverts with known assets.
//!
//! All functions are pure: the order of candidates, the clock and threads do not affect the result.

#![forbid(unsafe_code)]

mod assign;
mod blocks;
mod codec;
mod compare;
mod contradiction;
mod digest;
mod district;
mod fingerprint;
mod identifiers;
mod images;
mod inline_vec;
mod levels;
mod marks;
mod outline;
mod portals;
mod rarity;
mod reference_number;
mod rooms;
mod seller;
pub mod settings;
mod street;
mod text;
mod thresholds;
mod title;
pub mod weights;

pub use assign::{
    Assignment, AssignmentCandidate, LikelyPair, Reassignment, admits, assign, may_share, reassign,
};
pub use blocks::BlockKey;
pub use codec::DecodeError;
pub use compare::{Comparison, FieldEvidence, Veto, compare, compare_among, may_be_same};
pub use contradiction::{Contradiction, contradictions};
pub use fingerprint::{ApproximatePosition, Fingerprint, OnlinePeriod};
pub use identifiers::UnitAddress;
pub use images::{ImageHash, Photos};
pub use inline_vec::InlineVec;
pub use marks::{COMMON_HOMES, Mark};
pub use outline::Outline;
pub use portals::{LearnedRate, PortalRates, RATES_MAX, RateLearner};
pub use rarity::{Agreements, Surroundings};
pub use rooms::is_shared_flat;
pub use seller::SellerKind;
pub use text::Sketch;
pub use thresholds::{DedupVerdict, Thresholds};

#[cfg(test)]
mod tests;
