//! Metrics of merges: properties by number of adverts, and how many merged pairs contradict each other.
//!
//! They are counted at the start and then every hour, a few groups of properties per second, so that a request for
//! metrics costs nothing and millions of properties cause no noticeable load.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use toise_base::supervise::Supervisor;
use toise_base::watch::{Watcher, watch};
use toise_listings::Listings;
use toise_listings::placement::quality::{MergeCounter, MergeCounts, SIZES};
use toise_telemetry::{Gauge, Gauges, Metric, Metrics};

const PROPERTIES: Metric<Gauge> =
    Metric::gauge("toise_properties", "Properties by number of adverts.");
const MERGED_PAIRS: Metric<Gauge> =
    Metric::gauge("toise_merged_pairs", "Pairs of adverts in one property.");
const CONTRADICTING_PAIRS: Metric<Gauge> = Metric::gauge(
    "toise_merged_pairs_contradicting",
    "Pairs of adverts in one property that contradict each other, by field. More than 2 % of the merged pairs means \
     that something is wrong with the adverts.",
);

/// Groups of properties counted per second.
const GROUPS_PER_TURN: usize = 10;
/// Time between two counts.
const COUNT_EVERY: Duration = Duration::from_secs(3_600);

/// Counts merges in the background until the handle is dropped, and registers the gauges.
///
/// # Errors
/// The system cannot start a thread.
pub(crate) fn start(
    supervisor: &Supervisor,
    listings: Listings,
    metrics: &Metrics,
) -> io::Result<Watcher> {
    let counted: Arc<Mutex<Option<MergeCounts>>> = Arc::default();
    let shown = Arc::clone(&counted);
    metrics.register_gauges(move |gauges| {
        if let Some(counts) = &*shown.lock().unwrap_or_else(PoisonError::into_inner) {
            record(gauges, counts);
        }
    });
    let (mut counter, mut next) = (MergeCounter::default(), Instant::now());
    watch(supervisor, "merge-counts", move || {
        if Instant::now() < next {
            return;
        }
        for _ in 0..GROUPS_PER_TURN {
            match counter.step(&listings) {
                Ok(None) => continue,
                Ok(Some(counts)) => {
                    *counted.lock().unwrap_or_else(PoisonError::into_inner) = Some(counts);
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot count merges");
                    counter = MergeCounter::default();
                }
            }
            next = Instant::now() + COUNT_EVERY;
            return;
        }
    })
}

fn record(gauges: &Gauges<'_>, counts: &MergeCounts) {
    for (size, count) in SIZES.into_iter().zip(counts.properties_by_size) {
        gauges.set(PROPERTIES, &[("adverts", size)], count as f64);
    }
    gauges.set(MERGED_PAIRS, &[], counts.merged_pairs as f64);
    for count in &counts.contradictions {
        let field = [("field", count.field.as_str())];
        gauges.set(CONTRADICTING_PAIRS, &field, count.pairs as f64);
    }
}
