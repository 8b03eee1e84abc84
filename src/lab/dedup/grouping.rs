//! Compares properties with the true assets of their adverts, by pairs and by clusters.

use std::collections::HashMap;

use serde::Serialize;

/// Quality of the grouping of adverts into properties.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Grouping {
    /// Number of adverts (distinct URLs).
    pub adverts: u64,
    /// Number of true assets.
    pub assets: u64,
    /// Number of properties created.
    pub properties: u64,
    /// Number of advert pairs in one property.
    pub joined_pairs: u64,
    /// Number of advert pairs of one asset.
    pub true_pairs: u64,
    /// Number of pairs that are both in one property and of one asset.
    pub right_pairs: u64,
    /// Share of joined pairs that are of one asset; 1 if there are none.
    pub precision: f64,
    /// Share of pairs of one asset that are joined; 1 if there are none.
    pub recall: f64,
    /// Share of adverts that belong to the most common asset of their property; 1 if there are none.
    pub purity: f64,
    /// Share of properties whose adverts are all of one asset; 1 if there are none.
    pub pure_properties: f64,
}

impl Grouping {
    /// Measures a grouping. Each advert occurs once, as the numbers of its property and of its asset.
    pub fn measure(adverts: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut properties: HashMap<u64, HashMap<u64, u64>> = HashMap::new();
        let mut assets: HashMap<u64, u64> = HashMap::new();
        for (property, asset) in adverts {
            let of_property = properties.entry(property).or_default();
            *of_property.entry(asset).or_default() += 1;
            *assets.entry(asset).or_default() += 1;
        }
        let mut grouping = Self {
            adverts: assets.values().sum(),
            assets: assets.len() as u64,
            properties: properties.len() as u64,
            true_pairs: assets.values().map(|count| pairs(*count)).sum(),
            ..Self::default()
        };
        let (mut commonest, mut pure) = (0, 0);
        for of_asset in properties.values() {
            grouping.joined_pairs += pairs(of_asset.values().sum());
            grouping.right_pairs += of_asset.values().map(|count| pairs(*count)).sum::<u64>();
            commonest += of_asset.values().copied().max().unwrap_or_default();
            pure += u64::from(of_asset.len() == 1);
        }
        grouping.precision = share(grouping.right_pairs, grouping.joined_pairs);
        grouping.recall = share(grouping.right_pairs, grouping.true_pairs);
        grouping.purity = share(commonest, grouping.adverts);
        grouping.pure_properties = share(pure, grouping.properties);
        grouping
    }
}

fn pairs(count: u64) -> u64 {
    count * count.saturating_sub(1) / 2
}

/// Returns `part / whole`, or 1 if `whole` is 0.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 1.0,
        whole => part as f64 / whole as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_and_clusters_match_a_count_by_hand() {
        // Property 1 contains two adverts of asset 7 and one of 8; property 2 contains the other advert of 8.
        let grouping = Grouping::measure([(1, 7), (1, 7), (1, 8), (2, 8)]);
        assert_eq!(
            (
                grouping.joined_pairs,
                grouping.true_pairs,
                grouping.right_pairs
            ),
            (3, 2, 1)
        );
        assert_eq!((grouping.precision, grouping.recall), (1.0 / 3.0, 0.5));
        assert_eq!((grouping.purity, grouping.pure_properties), (0.75, 0.5));
    }

    #[test]
    fn an_empty_grouping_is_perfect() {
        let grouping = Grouping::measure([]);
        assert_eq!(
            (grouping.precision, grouping.recall, grouping.purity),
            (1.0, 1.0, 1.0)
        );
    }
}
