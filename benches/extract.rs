//! "How long does it take to extract a page?": pages of 500 kB, with scripts and styles as in real ones, or only text
//! and tags.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use toise::collect::extract::{PageInput, PageVerdict, extract};

/// Size of a page, in bytes.
const BYTES: usize = 500_000;

const HEAD: &str = r#"<html><head><title>Appartement 3 pièces à vendre</title><script type="application/ld+json">
{"@type":"RealEstateListing","name":"Appartement 3 pièces","about":{"@type":"Apartment","floorSize":{"value":61.5},
"numberOfRooms":3,"address":{"postalCode":"69003","addressLocality":"Lyon"}},"offers":{"price":350000}}</script></head><body>
<h1>Appartement 3 pièces à vendre</h1><p class="price">350 000 €</p>"#;
const CARD: &str = r#"<div class="card card--small" data-id="12"><a href="/annonce/12" class="link"><img src="/i/1.jpg" alt="">
<span class="title">Appartement <b>2 pièces</b> 45 m²</span></a><ul><li>2 pièces<li>1 chambre<li>DPE : D</ul></div>"#;
const SCRIPT: &str = "<script>window.__STATE__={\"list\":[{\"id\":1,\"price\":1000,\"text\":\"<div>a</div>\"}]};</script>";

fn page(pieces: &[&str]) -> String {
    let mut html = HEAD.to_owned();
    while html.len() < BYTES {
        pieces.iter().for_each(|piece| html.push_str(piece));
    }
    html + "</body></html>"
}

fn read(criterion: &mut Criterion) {
    let script: String = SCRIPT.repeat(60);
    let mut group = criterion.benchmark_group("extract");
    group
        .throughput(Throughput::Bytes(BYTES as u64))
        .sample_size(20);
    for (name, html) in [
        (
            "page of 500 kB, nine tenths scripts",
            page(&[&script, CARD, CARD]),
        ),
        ("page of 500 kB, all markup", page(&[CARD])),
    ] {
        let page = PageInput {
            url: "https://portail.example/annonce/12",
            content_type: Some("text/html; charset=utf-8"),
            bytes: html.as_bytes(),
        };
        assert_eq!(extract(&page, None).verdict, PageVerdict::Listing);
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(extract(&page, None)))
        });
    }
    group.finish();
}

criterion_group!(benches, read);
criterion_main!(benches);
