//! "Which diagnostics belong to these homes?": a whole portfolio on all cores; criterion prints matches per second.

mod support;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use support::{Sql, targets};
use toise::opendata::Dataset;

/// Rows of the portfolio.
const REQUESTS: usize = 10_000;

fn match_bulk(criterion: &mut Criterion) {
    let open_data = support::open();
    let requests = targets::diagnostics(&Sql::over(&open_data), REQUESTS);
    let mut group = criterion.benchmark_group("match_bulk");
    group.throughput(Throughput::Elements(requests.len() as u64));
    group.sample_size(10);
    group.bench_function("diagnostics", |bench| {
        bench.iter(|| {
            requests.par_iter().for_each(|request| {
                black_box(open_data.find_matches(Dataset::Dpe, request).unwrap());
            });
        });
    });
    group.finish();
}

criterion_group!(benches, match_bulk);
criterion_main!(benches);
