//! "What is this home worth?": one home with everything that a response contains, and a portfolio on all cores;
//! compared with a baseline in SQL, the median of the ten nearest sales of two years.

mod support;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::AsArray;
use arrow::datatypes::Float64Type;
use chrono::NaiveDate;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use support::Sql;
use toise::estimate::valuer::{Adjustments, Valuer};
use toise::estimate::{Detail, Extras, Home, HomeClass, Model, store};

/// Homes of the portfolio: one record batch.
const HOMES: usize = 8_192;
/// Homes valued by the baseline.
const ASKED_IN_SQL: usize = 20;
/// Details that an HTTP response contains.
const DETAIL: Detail = Detail {
    comparables: 5,
    has_contributions: true,
};

/// Homes like those sold, on the day after the last sale.
fn homes(sql: &Sql) -> Vec<Home> {
    let last = sql.text("select cast(max(transaction_date) as varchar) from dvf");
    let date: NaiveDate = last[..10].parse().unwrap();
    let batches = sql.ask(&format!(
        "select lon, lat, surface_m2, cast(main_rooms as double), \
         case when property_type = 'Maison' then 1.0 else 0.0 end from dvf \
         where property_type in ('Appartement', 'Maison') and lon is not null and lat is not null \
         and surface_m2 between 9 and 400 and main_rooms > 0 order by id limit {HOMES}"
    ));
    let mut homes = Vec::with_capacity(HOMES);
    for batch in batches {
        let number = |column: usize, row: usize| {
            batch
                .column(column)
                .as_primitive::<Float64Type>()
                .value(row)
        };
        homes.extend((0..batch.num_rows()).map(|row| Home {
            longitude: number(0, row),
            latitude: number(1, row),
            class: if number(4, row) > 0.0 {
                HomeClass::House
            } else {
                HomeClass::Flat
            },
            surface_m2: number(2, row),
            rooms: Some(number(3, row)),
            bedrooms: None,
            land_m2: None,
            construction_year: None,
            energy: None,
            climate: None,
            floor: None,
            floors: None,
            extras: Extras::default(),
            date,
        }));
    }
    homes
}

/// The model of the bench's lake, trained on first use.
fn valuer() -> Valuer {
    let folder = support::data().join(store::FOLDER);
    if !folder.exists() {
        support::train();
    }
    Valuer::new(Arc::new(Model::open(&folder).unwrap()), Adjustments::On)
}

fn estimate(criterion: &mut Criterion) {
    let (sql, valuer) = (Sql::over(&support::open()), valuer());
    let homes = homes(&sql);
    let mut group = criterion.benchmark_group("estimate");
    let mut turn = homes.iter().cycle();
    group.bench_function("one_home_in_full", |bench| {
        bench.iter(|| black_box(valuer.value(turn.next().unwrap(), DETAIL).unwrap()));
    });
    group.throughput(Throughput::Elements(homes.len() as u64));
    group.sample_size(10);
    let portfolio = || {
        homes.par_iter().for_each(|home| {
            black_box(valuer.value(home, Detail::default()).unwrap());
        });
    };
    group.bench_function("portfolio", |bench| bench.iter(portfolio));
    group.finish();

    let started = Instant::now();
    portfolio();
    let ours = started.elapsed().as_secs_f64() / homes.len() as f64;
    let started = Instant::now();
    for home in &homes[..ASKED_IN_SQL] {
        black_box(nearest(&sql, home));
    }
    let theirs = started.elapsed().as_secs_f64() / ASKED_IN_SQL as f64;
    println!(
        "a home of a portfolio: {:.1} us; its ten nearest sales of two years in SQL {:.1} ms, ratio {:.0}",
        ours * 1e6,
        theirs * 1e3,
        theirs / ours
    );
}

/// Median price per m² of the ten nearest sales of the class in the two preceding years.
fn nearest(sql: &Sql, home: &Home) -> String {
    let class = match home.class {
        HomeClass::Flat => "Appartement",
        HomeClass::House => "Maison",
    };
    let (lat, lon, day) = (home.latitude, home.longitude, home.date);
    sql.text(&format!(
        "select median(ppm2) from (select price_eur / surface_m2 as ppm2 from dvf \
         where property_type = '{class}' and surface_m2 >= 9 and price_eur > 0 \
         and lat between {lat} - 0.5 and {lat} + 0.5 and lon between {lon} - 0.7 and {lon} + 0.7 \
         and transaction_date between date '{day}' - interval '2 years' and date '{day}' \
         order by geo_distance({lat}, {lon}, lat, lon) limit 10)"
    ))
}

criterion_group!(benches, estimate);
criterion_main!(benches);
