//! Measures how fast one core answers forward queries, queries that are being typed, and reverse queries.

use serde::Serialize;

use toise_base::clock::Clock;
use toise_geocode::Geocoder;
use toise_geocode::reverse::METRES_MAX;
use toise_geocode::search::SearchRequest;

use super::judge::RESULTS;
use super::sample::Address;
use super::sample::position_next_to;

/// Maximum queries of a kind.
const QUERIES_MAX: usize = 20_000;
/// Letters typed before the first query, and between two queries.
const TYPED_FIRST: usize = 5;
const TYPED_STEP: usize = 3;

/// Speed of one kind of query.
#[derive(Clone, Debug, Serialize)]
pub struct Speed {
    /// Kind of query.
    pub kind: &'static str,
    /// Number of queries.
    pub n: usize,
    /// Answers per second on one core.
    pub per_second: f64,
    /// Answers per second of CPU time, independent of other load on the machine; `None` if the system does not report
    /// it.
    pub per_cpu_second: Option<f64>,
    /// Median, microseconds.
    pub p50_us: f64,
    /// 99th percentile, microseconds.
    pub p99_us: f64,
}

impl Speed {
    /// Returns the answers per second of CPU time as text.
    pub fn per_cpu_second_text(&self) -> String {
        let text = self.per_cpu_second.map(|answers| format!("{answers:.0}"));
        text.unwrap_or_else(|| "–".to_owned())
    }
}

/// Returns the CPU time of this thread so far, in nanoseconds; only Linux reports it.
fn computed_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Times officially written addresses, the queries of every class, prefixes of the addresses as they are typed, and
/// positions near the addresses, one after the other on this thread. No query is repeated.
pub fn measure(geocoder: &Geocoder, addresses: &[Address], texts: &[String]) -> Vec<Speed> {
    let official: Vec<String> = addresses.iter().map(official).collect();
    let ask = |text: &String, limit, autocomplete| {
        let request = SearchRequest {
            text: text.clone(),
            limit,
            autocomplete,
            ..SearchRequest::default()
        };
        geocoder.search(&request).len()
    };
    let typed: Vec<String> = official.iter().flat_map(|text| prefixes(text)).collect();
    vec![
        timed("forward, officially written", &official, |text| {
            ask(text, 1, false)
        }),
        timed("forward, every class", &spread(texts), |text| {
            ask(text, 1, false)
        }),
        timed("typing", &spread(&typed), |text| ask(text, RESULTS, true)),
        timed("reverse", addresses, |one| {
            let (lat, lon) = position_next_to(one);
            geocoder.reverse(lat, lon, 1, METRES_MAX).len()
        }),
    ]
}

fn official(one: &Address) -> String {
    format!(
        "{} {} {} {}",
        one.house_number(),
        one.street,
        one.postal_code,
        one.commune
    )
}

/// Returns the prefixes that are queried while an address is typed.
fn prefixes(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let ends = (TYPED_FIRST..letters.len()).step_by(TYPED_STEP);
    ends.map(|end| letters[..end].iter().collect()).collect()
}

/// Returns at most [`QUERIES_MAX`] of all queries, evenly spread.
fn spread(all: &[String]) -> Vec<String> {
    let step = all.len().div_ceil(QUERIES_MAX).max(1);
    all.iter().step_by(step).cloned().collect()
}

fn timed<Q>(kind: &'static str, queries: &[Q], mut ask: impl FnMut(&Q) -> usize) -> Speed {
    let clock = Clock::system();
    let mut times = Vec::with_capacity(queries.len());
    let computed = computed_ns();
    for query in queries.iter().take(QUERIES_MAX) {
        let begun = clock.monotonic();
        std::hint::black_box(ask(query));
        times.push((clock.monotonic() - begun).as_secs_f64() * 1e6);
    }
    let computed = computed_ns().zip(computed);
    let computed = computed.map(|(end, begin)| end.saturating_sub(begin) as f64 / 1e9);
    times.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        let index = (share * times.len().saturating_sub(1) as f64).round() as usize;
        times.get(index).copied().unwrap_or(0.0)
    };
    let total: f64 = times.iter().sum();
    Speed {
        kind,
        n: times.len(),
        per_second: if total > 0.0 {
            times.len() as f64 * 1e6 / total
        } else {
            0.0
        },
        per_cpu_second: computed
            .filter(|seconds| *seconds > 0.0)
            .map(|seconds| times.len() as f64 / seconds),
        p50_us: at(0.5),
        p99_us: at(0.99),
    }
}
