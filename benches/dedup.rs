//! "Is this advert one we know?": fingerprint, encoded size, block keys, one comparison, and the whole market of a
//! small town.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use toise::dedup::{Fingerprint, compare};
use toise::synth::adverts::{
    AdvertsRequest, DistortionLevel, MarketDensity, MarketGenerator, Observation,
};
use toise_lab::dedup as evaluate;

/// Adverts of the town.
const ADVERTS: u64 = 4_096;

fn observations() -> Vec<Observation> {
    let request = AdvertsRequest {
        spread: MarketDensity::Dense,
        ..AdvertsRequest::new(ADVERTS, 1, DistortionLevel::Middle)
    };
    MarketGenerator::new(request).observations().collect()
}

fn dedup(criterion: &mut Criterion) {
    let observations = observations();
    let fingerprints: Vec<Fingerprint> = observations
        .iter()
        .map(|one| Fingerprint::from_advert(&one.advert))
        .collect();
    let encoded: Vec<Vec<u8>> = fingerprints.iter().map(Fingerprint::encode).collect();
    let mut group = criterion.benchmark_group("dedup");
    group.throughput(Throughput::Elements(1));
    let mut turn = observations.iter().cycle();
    group.bench_function("fingerprint", |bench| {
        bench.iter(|| {
            turn.next()
                .map(|one| black_box(Fingerprint::from_advert(&one.advert)))
        });
    });
    let mut turn = fingerprints.iter().cycle();
    group.bench_function("encode", |bench| {
        bench.iter(|| turn.next().map(|one| black_box(one.encode())))
    });
    let mut turn = encoded.iter().cycle();
    group.bench_function("decode", |bench| {
        bench.iter(|| turn.next().map(|one| black_box(Fingerprint::decode(one))));
    });
    let mut turn = fingerprints.iter().cycle();
    group.bench_function("probes", |bench| {
        bench.iter(|| turn.next().map(|one| black_box(one.probes())))
    });
    // Neighbours in the stream, and an advert with itself: mostly different pairs, and identical ones.
    let mut turn = fingerprints.windows(2).cycle();
    group.bench_function("compare_unlike", |bench| {
        bench.iter(|| {
            turn.next()
                .map(|pair| black_box(compare(&pair[0], &pair[1])))
        });
    });
    let mut turn = fingerprints.iter().cycle();
    group.bench_function("compare_alike", |bench| {
        bench.iter(|| turn.next().map(|one| black_box(compare(one, one))));
    });
    group.throughput(Throughput::Elements(observations.len() as u64));
    group.sample_size(10);
    group.bench_function("assign_a_town", |bench| {
        bench.iter_batched(
            evaluate::DedupSimulation::default,
            |mut market| {
                for one in &observations {
                    market.observe(&one.advert, one.asset);
                }
                market.outcome()
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
    let mut group = criterion.benchmark_group("synth_adverts");
    group.throughput(Throughput::Elements(ADVERTS));
    group.sample_size(10);
    group.bench_function("ndjson", |bench| {
        bench.iter(|| {
            toise::synth::adverts::documents(AdvertsRequest::new(
                ADVERTS,
                1,
                DistortionLevel::Middle,
            ))
            .and_then(|reader| reader.copy_to(&mut std::io::sink(), |_| {}))
        });
    });
    group.finish();
}

criterion_group!(benches, dedup);
criterion_main!(benches);
