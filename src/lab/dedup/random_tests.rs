//! Property tests: rules that hold for comparisons of any adverts, tested on generated adverts.

use proptest::prelude::*;
use uuid::Uuid;

use toise_contract::listings::codes::FlxId;
use toise_dedup::{
    Agreements, AssignmentCandidate, DedupVerdict, Fingerprint, Outline, Surroundings, Thresholds,
    assign, compare, may_be_same,
};
use toise_synth::adverts::{AdvertsRequest, DistortionLevel, MarketDensity, MarketGenerator};

/// Returns fingerprints of generated adverts, with the heaviest distortion.
fn made_up(seed: u64) -> Vec<Fingerprint> {
    let market = MarketGenerator::new(AdvertsRequest::new(64, seed, DistortionLevel::Heavy));
    market
        .observations()
        .map(|seen| Fingerprint::from_advert(&seen.advert))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn comparing_is_the_same_both_ways(seed in 0u64..10_000) {
        let fingerprints = made_up(seed);
        for one in &fingerprints {
            for other in &fingerprints {
                prop_assert_eq!(compare(one, other), compare(other, one));
            }
        }
    }

    #[test]
    fn a_fingerprint_survives_its_bytes(seed in 0u64..10_000) {
        for fingerprint in made_up(seed) {
            let bytes = fingerprint.encode();
            prop_assert!(bytes.len() < 700, "{} bytes", bytes.len());
            prop_assert_eq!(Fingerprint::decode(&bytes), Ok(fingerprint));
        }
    }

    #[test]
    fn an_assignment_does_not_depend_on_the_order_of_candidates(
        seed in 0u64..10_000, order in Just((0..40usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let fingerprints = made_up(seed);
        let candidates: Vec<AssignmentCandidate> = fingerprints
            .iter()
            .take(40)
            .enumerate()
            .map(|(rank, fingerprint)| AssignmentCandidate {
                property: FlxId(Uuid::from_u128(rank as u128 / 3)),
                advert: FlxId(Uuid::from_u128(rank as u128)),
                fingerprint: *fingerprint,
                is_held: rank % 5 == 0,
            })
            .collect();
        let shuffled: Vec<AssignmentCandidate> = order.iter().filter_map(|at| candidates.get(*at)).copied().collect();
        for new in &fingerprints {
            let around: Surroundings = fingerprints.iter().map(|other| Agreements::between(new, other)).collect();
            let thresholds = Thresholds::default();
            prop_assert_eq!(assign(new, &candidates, &around, thresholds), assign(new, &shuffled, &around, thresholds));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn what_an_outline_rules_out_a_comparison_rules_out_and_most_of_that_is_ruled_out(
        seed in 0u64..10_000, level in 0usize..4,
    ) {
        let level = [DistortionLevel::Clean, DistortionLevel::Light, DistortionLevel::Middle, DistortionLevel::Heavy][level];
        let request = AdvertsRequest { spread: MarketDensity::Dense, ..AdvertsRequest::new(256, seed, level) };
        let market = MarketGenerator::new(request);
        let fingerprints = market.observations().map(|seen| Fingerprint::from_advert(&seen.advert));
        let adverts: Vec<Fingerprint> = fingerprints.take(400).collect();
        let (mut ruled_out, mut different, mut bytes) = (0, 0, 0);
        for other in &adverts {
            let outline = other.outline();
            bytes += outline.len();
            let outline = Outline::decode(&outline).unwrap();
            for one in &adverts {
                let is_different = compare(one, other).verdict(Thresholds::default()) == DedupVerdict::Different;
                different += usize::from(is_different);
                if one.certainly_differs(&outline) {
                    ruled_out += 1;
                    prop_assert!(!may_be_same(one, other), "{one:?} {other:?}");
                }
            }
        }
        prop_assert!(10 * ruled_out >= 7 * different, "{ruled_out} of {different}");
        prop_assert!(bytes <= 80 * adverts.len(), "{bytes} bytes");
    }
}
