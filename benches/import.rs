//! "How long does the official file take?": source rows per second, from CSV bytes in memory to a published table, for
//! sales and diagnostics at full width. The bytes are generated before the measurement.

mod support;

use std::io::{Cursor, Read};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use toise::lake::Lake;
use toise::opendata::Dataset;
use toise::opendata::import::{ImportOptions, import_reader};
use toise::opendata::report::ImportReport;
use toise::opendata::source::SourceFormat;
use toise::synth;

/// Maximum diagnostics in the file; at full width one takes 4 kB.
const DIAGNOSTICS_MAX: u64 = 100_000;

fn import(dataset: Dataset, csv: &[u8]) -> u64 {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    let mut table = lake.import(dataset.schema()).unwrap();
    let mut report = ImportReport::default();
    let imported = import_reader(
        dataset,
        Cursor::new(csv),
        "bench.csv",
        SourceFormat::Detect,
        &mut table,
        &ImportOptions::default(),
        &mut report,
    )
    .unwrap();
    table
        .publish(vec![imported.source], Vec::new())
        .unwrap()
        .total
}

fn imports(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("import");
    group.sample_size(10);
    for dataset in [Dataset::Dvf, Dataset::Dpe] {
        let mut request = support::request(dataset, true);
        if dataset == Dataset::Dpe {
            request.items = request.items.min(DIAGNOSTICS_MAX);
        }
        let mut reader = synth::reader(request).unwrap();
        let made = reader.delivered();
        let mut csv = Vec::new();
        reader.read_to_end(&mut csv).unwrap();
        group.throughput(Throughput::Elements(made.summary().rows));
        group.bench_function(format!("{}_rows", dataset.name()), |bench| {
            bench.iter(|| import(dataset, &csv));
        });
    }
    group.finish();
}

criterion_group!(benches, imports);
criterion_main!(benches);
