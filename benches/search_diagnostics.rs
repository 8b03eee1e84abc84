//! "Which diagnostics are like this?": twenty whole diagnostics with the exact total, by postal code, around a point
//! and anywhere.

mod support;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use support::{Sql, all, between, compare, is};
use toise::contract::filter::{Clause, ClauseTest, Filter};
use toise::opendata::{Dataset, DatasetSearchRequest, OpenData};

fn search(open_data: &OpenData, request: &DatasetSearchRequest) -> u64 {
    let answer = open_data.search(Dataset::Dpe, request).unwrap();
    assert!(!black_box(answer.records).is_empty());
    answer.total
}

fn request(filter: Filter) -> DatasetSearchRequest {
    DatasetSearchRequest {
        filter,
        sort_by: "conso_5_usages_par_m2_ep",
        descending: true,
        size: 20,
        after: None,
    }
}

fn search_diagnostics(criterion: &mut Criterion) {
    let open_data = support::open();
    let sql = Sql::over(&open_data);
    let postal_code = sql.text(
        "select code_postal_ban from dpe where type_batiment = 'appartement' \
         and surface_habitable_logement between 30 and 60 group by 1 order by count(*) desc, 1 limit 1",
    );
    let centre = |axis: &str| -> f64 {
        let sql = sql.text(&format!(
            "select avg({axis}) from dpe where code_postal_ban = '{postal_code}'"
        ));
        sql.parse().unwrap()
    };
    let (lat, lon) = (centre("lat"), centre("lon"));
    let radius_m = 3_000.0;
    let surface = between("surface_habitable_logement", 30.0, 60.0);
    let flat = is("type_batiment", "appartement");
    let in_sql = "type_batiment = 'appartement' and surface_habitable_logement between 30 and 60";
    let placed = request(all([
        is("code_postal_ban", &postal_code),
        flat.clone(),
        surface.clone(),
    ]));
    let around = request(all([
        Clause::new("location", ClauseTest::Within { lat, lon, radius_m }),
        Clause::new(
            "etiquette_dpe",
            ClauseTest::OneOf(vec!["E".into(), "F".into(), "G".into()]),
        ),
    ]));
    let unplaced = request(all([flat, surface]));

    let mut group = criterion.benchmark_group("search_diagnostics");
    group.throughput(Throughput::Elements(1));
    group.bench_function("placed", |bench| bench.iter(|| search(&open_data, &placed)));
    group.bench_function("around", |bench| bench.iter(|| search(&open_data, &around)));
    group.bench_function("unplaced", |bench| {
        bench.iter(|| search(&open_data, &unplaced))
    });
    group.finish();

    let order = "conso_5_usages_par_m2_ep desc nulls last, numero_dpe";
    let ask = |condition: &str| sql.search("dpe", condition, "true", order);
    compare(
        "search_diagnostics/placed",
        || search(&open_data, &placed),
        || ask(&format!("code_postal_ban = '{postal_code}' and {in_sql}")),
    );
    compare(
        "search_diagnostics/around",
        || search(&open_data, &around),
        || {
            ask(&format!(
                "geo_distance({lat:?}, {lon:?}, lat, lon) <= {radius_m:?} and etiquette_dpe in ('E', 'F', 'G')"
            ))
        },
    );
    compare(
        "search_diagnostics/unplaced",
        || search(&open_data, &unplaced),
        || ask(in_sql),
    );
}

criterion_group!(benches, search_diagnostics);
criterion_main!(benches);
