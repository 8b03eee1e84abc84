//! "Which sales are like this?": twenty whole sales with the exact total, with a place, without, and deep behind a
//! cursor.

mod support;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use support::{Sql, all, between, compare, is};
use toise::contract::filter::Filter;
use toise::opendata::{Dataset, DatasetSearchRequest, OpenData};

/// Pages read before the measured one.
const DEEP_PAGES: usize = 50;

fn search(open_data: &OpenData, request: &DatasetSearchRequest) -> u64 {
    let answer = open_data.search(Dataset::Dvf, request).unwrap();
    assert_eq!(black_box(answer.records).len(), request.size);
    answer.total
}

fn request(filter: Filter) -> DatasetSearchRequest {
    DatasetSearchRequest {
        filter,
        sort_by: "price_eur",
        descending: true,
        size: 20,
        after: None,
    }
}

fn search_sales(criterion: &mut Criterion) {
    let open_data = support::open();
    let sql = Sql::over(&open_data);
    let commune = sql.text(
        "select insee_code from dvf where surface_m2 between 40 and 90 and price_eur is not null \
         group by 1 order by count(*) desc, 1 limit 1",
    );
    let order = "price_eur desc nulls last, id";
    let ranges = [
        between("surface_m2", 40.0, 90.0),
        between("price_eur", 10_000.0, 2_000_000.0),
    ];
    let in_sql = "surface_m2 between 40 and 90 and price_eur between 10000 and 2000000";

    let placed = request(all([is("insee_code", &commune)]
        .into_iter()
        .chain(ranges.clone())));
    let unplaced = request(all(ranges));
    let mut deep = unplaced.clone();
    for _ in 0..DEEP_PAGES {
        deep.after = open_data.search(Dataset::Dvf, &deep).unwrap().next;
    }

    let mut group = criterion.benchmark_group("search_sales");
    group.throughput(Throughput::Elements(1));
    group.bench_function("placed", |bench| bench.iter(|| search(&open_data, &placed)));
    group.bench_function("unplaced", |bench| {
        bench.iter(|| search(&open_data, &unplaced))
    });
    group.bench_function("deep_cursor", |bench| {
        bench.iter(|| search(&open_data, &deep))
    });
    group.finish();

    compare(
        "search_sales/placed",
        || search(&open_data, &placed),
        || {
            sql.search(
                "dvf",
                &format!("insee_code = '{commune}' and {in_sql}"),
                "true",
                order,
            )
        },
    );
    compare(
        "search_sales/unplaced",
        || search(&open_data, &unplaced),
        || sql.search("dvf", in_sql, "true", order),
    );
    let after = deep.after.clone().unwrap();
    let toise::contract::position::SortValue::Number(price) = after.value.unwrap() else {
        panic!("prices are numbers");
    };
    let beyond = format!(
        "(price_eur < {price} or (price_eur = {price} and id > '{}'))",
        after.id
    );
    compare(
        "search_sales/deep_cursor",
        || search(&open_data, &deep),
        || sql.search("dvf", in_sql, &beyond, order),
    );
}

criterion_group!(benches, search_sales);
criterion_main!(benches);
