//! "Which diagnostic belongs to this home?": single matches in sequence, over communes of all sizes.

mod support;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use support::{Sql, targets};
use toise::opendata::Dataset;

/// Requests used in rotation.
const REQUESTS: usize = 1_000;

fn match_single(criterion: &mut Criterion) {
    let open_data = support::open();
    let requests = targets::diagnostics(&Sql::over(&open_data), REQUESTS);
    let mut group = criterion.benchmark_group("match_single");
    group.throughput(Throughput::Elements(1));
    let mut turn = requests.iter().cycle();
    group.bench_function("diagnostics", |bench| {
        bench.iter(|| {
            let request = turn.next().unwrap();
            black_box(open_data.find_matches(Dataset::Dpe, request).unwrap())
        });
    });
    group.finish();
}

criterion_group!(benches, match_single);
criterion_main!(benches);
