//! Evaluates deduplication: a stream of adverts with known assets passes through blocking, comparison and assignment as
//! in ingestion, in memory, and the resulting properties are compared with the assets.
//!
//! [`DedupSimulation`] runs the stream; [`Grouping`] measures pairs and clusters of any grouping; [`fit`] derives
//! weights from the compared pairs. The caller supplies the adverts.

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
    Agreements, AssignmentCandidate, BlockKey, Comparison, DedupVerdict, Fingerprint, Surroundings,
    Thresholds, assign, compare_among,
};

/// Result of deduplicating a labelled stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DedupOutcome {
    /// Quality of the grouping against the true assets.
    #[serde(flatten)]
    pub grouping: Grouping,
    /// Number of adverts whose asset already had an advert when they arrived.
    pub returning: u64,
    /// Share of those adverts that shared a block key with an advert of their asset.
    pub blocking_recall: f64,
    /// Mean number of adverts compared with a new one.
    pub candidates_mean: f64,
    /// Maximum number of adverts compared with a new one.
    pub candidates_max: u64,
    /// Reasons why returning adverts were not joined to a property of their asset.
    pub missed: MissedJoins,
    /// Number of adverts joined to a property that holds only other assets.
    pub wrongly_joined: u64,
    /// Number of pairs kept apart as possibly one asset, for a person to decide.
    pub possible_pairs: u64,
    /// Mean length of an encoded fingerprint, bytes.
    pub encoded_bytes_mean: f64,
}

/// Returning adverts that were not joined to a property of their asset, counted by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MissedJoins {
    /// They shared no block key with an advert of their asset.
    pub not_met: u64,
    /// They were vetoed against every advert of their asset with which they were compared.
    pub vetoed: u64,
    /// The match weight was too low.
    pub unsure: u64,
    /// Another advert of the property contradicted the match, or another property matched better.
    pub outweighed: u64,
}

/// A wrong decision with its comparison.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mistake {
    /// URL of the new advert.
    pub new: String,
    /// URL of the known advert: of the same asset if a match was missed, of another asset if the adverts were wrongly
    /// joined.
    pub known: String,
    /// Whether both adverts are of one asset.
    pub same: bool,
    /// Their comparison.
    pub comparison: Comparison,
}

/// Maximum number of recorded mistakes of each kind.
const MISTAKES_MAX: usize = 200;

struct SeenAdvert {
    url: String,
    fingerprint: Fingerprint,
    asset: u64,
    property: usize,
}

/// The properties created from the adverts seen so far.
#[derive(Default)]
pub struct DedupSimulation {
    adverts: Vec<SeenAdvert>,
    by_url: HashMap<String, usize>,
    by_block: HashMap<BlockKey, Vec<usize>>,
    /// Indices of the adverts of each property.
    properties: Vec<Vec<usize>>,
    /// Indices of the adverts of each asset.
    assets: HashMap<u64, Vec<usize>>,
    returning: u64,
    met: u64,
    missed: MissedJoins,
    wrongly_joined: u64,
    likely: u64,
    /// Wrong joins, then missed ones.
    mistakes: [Vec<Mistake>; 2],
    compared: u64,
    compared_max: u64,
    encoded_bytes: u64,
}

fn id(index: usize) -> FlxId {
    FlxId(Uuid::from_u128(index as u128 + 1))
}

impl DedupSimulation {
    /// Processes a sighting of an advert of `asset`: an advert with a known URL is updated, a new one is assigned to a
    /// property.
    pub fn observe(&mut self, advert: &Advert, asset: u64) {
        let url = advert.url.clone().unwrap_or_default();
        let fingerprint = Fingerprint::from_advert(advert);
        if let Some(index) = self.by_url.get(&url) {
            self.adverts[*index].fingerprint = fingerprint;
            return;
        }
        let index = self.adverts.len();
        let around = self.under(&fingerprint.probes());
        let mut met = [around.clone(), self.under(&fingerprint.exact_probes())].concat();
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
        let around = self.surroundings(&fingerprint, &around);
        let thresholds = Thresholds::default();
        let assignment = assign(&fingerprint, &self.candidates(&met), &around, thresholds);
        self.likely += assignment.likely.len() as u64;
        let property = match assignment.property {
            Some(property) => property.0.as_u128() as usize - 1,
            None => {
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
        self.adverts.push(SeenAdvert {
            url,
            fingerprint,
            asset,
            property,
        });
    }

    /// Returns the adverts stored under any of some keys, without repetition.
    fn under(&self, keys: &[BlockKey]) -> Vec<usize> {
        let found = keys.iter().filter_map(|key| self.by_block.get(key));
        let mut found: Vec<usize> = found.flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    fn surroundings(&self, advert: &Fingerprint, met: &[usize]) -> Surroundings {
        let others = met.iter().map(|one| &self.adverts[*one].fingerprint);
        others
            .map(|other| Agreements::between(advert, other))
            .collect()
    }

    /// Returns all adverts of the properties that have one of the adverts `met`.
    fn candidates(&self, met: &[usize]) -> Vec<AssignmentCandidate> {
        let mut near: Vec<usize> = met.iter().map(|one| self.adverts[*one].property).collect();
        near.sort_unstable();
        near.dedup();
        near.iter()
            .flat_map(|property| &self.properties[*property])
            .map(|one| AssignmentCandidate {
                property: id(self.adverts[*one].property),
                advert: id(*one),
                fingerprint: self.adverts[*one].fingerprint,
                is_held: false,
            })
            .collect()
    }

    /// Records errors of assigning an advert to `property`, before the assignment.
    fn judge(&mut self, url: &str, new: &Fingerprint, asset: u64, met: &[usize], property: usize) {
        let members = &self.properties[property];
        if members.iter().any(|one| self.adverts[*one].asset == asset) {
            return;
        }
        let around = self.surroundings(new, met);
        let closest = |same: bool, among: &[usize]| {
            let among = among.iter().map(|one| &self.adverts[*one]);
            among
                .filter(|known| (known.asset == asset) == same)
                .map(|known| (compare_among(new, &known.fingerprint, &around), known))
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
            Some((comparison, _)) if comparison.veto.is_some() => self.missed.vetoed += 1,
            Some((comparison, _))
                if comparison.verdict(Thresholds::default()) != DedupVerdict::Same =>
            {
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
        for mistake in mistakes {
            let of_kind = &mut self.mistakes[usize::from(mistake.same)];
            if of_kind.len() < MISTAKES_MAX {
                of_kind.push(mistake);
            }
        }
    }

    /// Returns the first wrong decisions, at most `MISTAKES_MAX` of each kind; wrong joins come first, because they are
    /// worse.
    pub fn mistakes(&self) -> impl Iterator<Item = &Mistake> {
        self.mistakes.iter().flatten()
    }

    /// Returns the result so far.
    pub fn outcome(&self) -> DedupOutcome {
        let adverts = self.adverts.iter();
        let grouping = Grouping::measure(adverts.map(|one| (one.property as u64, one.asset)));
        let mean = |sum: u64| sum as f64 / (grouping.adverts as f64).max(1.0);
        DedupOutcome {
            returning: self.returning,
            blocking_recall: share(self.met, self.returning),
            candidates_mean: mean(self.compared),
            candidates_max: self.compared_max,
            missed: self.missed,
            wrongly_joined: self.wrongly_joined,
            possible_pairs: self.likely,
            encoded_bytes_mean: mean(self.encoded_bytes),
            grouping,
        }
    }
}

#[cfg(test)]
mod tests {
    use toise_synth::adverts::{AdvertsRequest, DistortionLevel, MarketDensity};

    #[test]
    fn a_dense_market_at_the_middle_level_is_deduplicated_correctly() {
        let request = AdvertsRequest {
            spread: MarketDensity::Dense,
            ..AdvertsRequest::new(4_096, 11, DistortionLevel::Middle)
        };
        let mut market = super::DedupSimulation::default();
        for seen in toise_synth::adverts::MarketGenerator::new(request).observations() {
            market.observe(&seen.advert, seen.asset);
        }
        let outcome = market.outcome();
        assert_eq!(outcome.grouping.adverts, 4_096);
        assert!(outcome.grouping.precision > 0.99, "{outcome:?}");
        assert!(outcome.grouping.recall > 0.92, "{outcome:?}");
        assert!(outcome.blocking_recall > 0.99, "{outcome:?}");
        assert!(outcome.encoded_bytes_mean < 600.0, "{outcome:?}");
    }
}
