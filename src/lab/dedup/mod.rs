//! How well adverts are told apart: a stream of adverts whose assets are known goes through blocks, comparison and
//! assignment as ingestion does it, in memory, and what comes out is held against what is true.
//!
//! [`Market`] is the loop; [`Grouping`] counts pairs and clusters, whoever made them; [`fit`] derives the weights from compared pairs. The
//! adverts are given by the caller, so nothing here knows where they come from.

pub mod fit;
mod grouping;
#[cfg(test)]
mod random_tests;

use std::collections::HashMap;

use serde::Serialize;
use uuid::Uuid;

pub use grouping::Grouping;
use grouping::share;

use toise_contract::listings::Advert;
use toise_contract::listings::codes::FlxId;
use toise_dedup::{
    Assignment, BlockKey, Candidate, Comparison, Fingerprint, Verdict, assign, compare,
};

/// What became of a labelled stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// What came out, held against what is true.
    #[serde(flatten)]
    pub grouping: Grouping,
    /// Adverts of an asset that was known when they came.
    pub returning: u64,
    /// Share of those that met an advert of their asset in a block.
    pub blocking_recall: f64,
    /// Adverts compared with a new one, on average.
    pub candidates_mean: f64,
    /// The most.
    pub candidates_max: u64,
    /// Why returning adverts were not joined to a property of their asset.
    pub missed: Missed,
    /// Adverts joined to a property of other assets only.
    pub wrongly_joined: u64,
    /// Length of an encoded fingerprint, bytes, on average.
    pub encoded_bytes_mean: f64,
}

/// Returning adverts that were not joined to a property of their asset, by what kept them from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Missed {
    /// They met none of its adverts.
    pub not_met: u64,
    /// Barred from each they met.
    pub barred: u64,
    /// Too little in common.
    pub unsure: u64,
    /// Another advert of the property speaks against it, or another property fits better.
    pub outweighed: u64,
}

/// A wrong decision: what was compared and what it came to.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mistake {
    /// Address of the new advert.
    pub new: String,
    /// Address of the known one: of the same asset when it was missed, of another one when it was joined to it.
    pub known: String,
    /// Whether both are one asset.
    pub same: bool,
    /// How they compare.
    pub comparison: Comparison,
}

/// Mistakes kept for reading.
const MISTAKES_MAX: usize = 200;

struct Known {
    url: String,
    fingerprint: Fingerprint,
    asset: u64,
    property: usize,
}

/// Properties made of the adverts seen so far.
#[derive(Default)]
pub struct Market {
    adverts: Vec<Known>,
    by_url: HashMap<String, usize>,
    by_block: HashMap<BlockKey, Vec<usize>>,
    /// Adverts of each property.
    properties: Vec<Vec<usize>>,
    /// Adverts of each asset.
    assets: HashMap<u64, Vec<usize>>,
    returning: u64,
    met: u64,
    missed: Missed,
    wrongly_joined: u64,
    mistakes: Vec<Mistake>,
    compared: u64,
    compared_max: u64,
    encoded_bytes: u64,
}

fn id(index: usize) -> FlxId {
    FlxId(Uuid::from_u128(index as u128 + 1))
}

impl Market {
    /// Takes a sighting of an advert of an asset: a known address is only brought up to date, another one is assigned.
    /// Each pair that was compared on the way is shown to `compared`, with whether it is one asset.
    pub fn observe(
        &mut self,
        advert: &Advert,
        asset: u64,
        mut compared: impl FnMut(&Comparison, bool),
    ) {
        let url = advert.url.clone().unwrap_or_default();
        let fingerprint = Fingerprint::of(advert);
        if let Some(index) = self.by_url.get(&url) {
            self.adverts[*index].fingerprint = fingerprint;
            return;
        }
        let index = self.adverts.len();
        let mut met: Vec<usize> = fingerprint
            .probes()
            .iter()
            .filter_map(|key| self.by_block.get(key))
            .flatten()
            .copied()
            .collect();
        met.sort_unstable();
        met.dedup();
        self.compared += met.len() as u64;
        self.compared_max = self.compared_max.max(met.len() as u64);
        let same = self.assets.entry(asset).or_default();
        if !same.is_empty() {
            self.returning += 1;
            self.met += u64::from(met.iter().any(|one| self.adverts[*one].asset == asset));
        }
        same.push(index);
        for one in &met {
            let known = &self.adverts[*one];
            compared(
                &compare(&fingerprint, &known.fingerprint),
                known.asset == asset,
            );
        }
        let mut near: Vec<usize> = met.iter().map(|one| self.adverts[*one].property).collect();
        near.sort_unstable();
        near.dedup();
        let candidates: Vec<Candidate> = near
            .iter()
            .flat_map(|property| &self.properties[*property])
            .map(|one| Candidate {
                property: id(self.adverts[*one].property),
                advert: id(*one),
                fingerprint: self.adverts[*one].fingerprint,
            })
            .collect();
        let property = match assign(&fingerprint, &candidates) {
            Assignment::Join { property, .. } => property.0.as_u128() as usize - 1,
            Assignment::New => {
                self.properties.push(Vec::new());
                self.properties.len() - 1
            }
        };
        self.judge(&url, &fingerprint, asset, &met, property);
        self.properties[property].push(index);
        self.encoded_bytes += fingerprint.encode().len() as u64;
        for key in fingerprint.blocks() {
            self.by_block.entry(key).or_default().push(index);
        }
        self.by_url.insert(url.clone(), index);
        self.adverts.push(Known {
            url,
            fingerprint,
            asset,
            property,
        });
    }

    /// Notes what is wrong about putting an advert there, before it is put.
    fn judge(&mut self, url: &str, new: &Fingerprint, asset: u64, met: &[usize], property: usize) {
        let members = &self.properties[property];
        if members.iter().any(|one| self.adverts[*one].asset == asset) {
            return;
        }
        let closest = |same: bool, among: &[usize]| {
            let among = among.iter().map(|one| &self.adverts[*one]);
            among
                .filter(|known| (known.asset == asset) == same)
                .map(|known| (compare(new, &known.fingerprint), known))
                .max_by(|(one, _), (other, _)| one.probability().total_cmp(&other.probability()))
        };
        let mut mistakes = Vec::new();
        let returning = self
            .assets
            .get(&asset)
            .is_some_and(|adverts| adverts.len() > 1);
        let missed = closest(true, met);
        match &missed {
            _ if !returning => {}
            None => self.missed.not_met += 1,
            Some((comparison, _)) if comparison.bar.is_some() => self.missed.barred += 1,
            Some((comparison, _)) if comparison.verdict() != Verdict::Same => {
                self.missed.unsure += 1
            }
            Some(_) => self.missed.outweighed += 1,
        }
        mistakes.extend(missed.map(|found| (true, found)));
        if !members.is_empty() {
            self.wrongly_joined += 1;
            mistakes.extend(closest(false, members).map(|found| (false, found)));
        }
        let mistakes = mistakes
            .into_iter()
            .map(|(same, (comparison, known))| Mistake {
                new: url.to_owned(),
                known: known.url.clone(),
                same,
                comparison,
            });
        let free = MISTAKES_MAX - self.mistakes.len();
        let mistakes: Vec<Mistake> = mistakes.take(free).collect();
        self.mistakes.extend(mistakes);
    }

    /// The first wrong decisions.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }

    /// What came out.
    pub fn outcome(&self) -> Outcome {
        let adverts = self.adverts.iter();
        let grouping = Grouping::of(adverts.map(|one| (one.property as u64, one.asset)));
        let mean = |sum: u64| sum as f64 / (grouping.adverts as f64).max(1.0);
        Outcome {
            returning: self.returning,
            blocking_recall: share(self.met, self.returning),
            candidates_mean: mean(self.compared),
            candidates_max: self.compared_max,
            missed: self.missed,
            wrongly_joined: self.wrongly_joined,
            encoded_bytes_mean: mean(self.encoded_bytes),
            grouping,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::synth::adverts::{Level, Request, Spread};

    #[test]
    fn a_dense_market_at_the_middle_level_becomes_the_right_properties() {
        let request = Request {
            spread: Spread::Dense,
            ..Request::new(4_096, 11, Level::Middle)
        };
        let mut market = super::Market::default();
        for seen in crate::synth::adverts::Market::new(request).observations() {
            market.observe(&seen.advert, seen.asset, |_, _| {});
        }
        let outcome = market.outcome();
        assert_eq!(outcome.grouping.adverts, 4_096);
        assert!(outcome.grouping.precision > 0.99, "{outcome:?}");
        assert!(outcome.grouping.recall > 0.94, "{outcome:?}");
        assert!(outcome.blocking_recall > 0.99, "{outcome:?}");
        assert!(outcome.encoded_bytes_mean < 600.0, "{outcome:?}");
    }
}
