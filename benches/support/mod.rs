//! Shared by the benches: a lake of synthetic rows, generated once and stored under `target/`, and a stopwatch for
//! comparisons.
//!
//! `TOISE_BENCH_ROWS` sets the number of sales and of diagnostics (default 200,000 of each).

#![allow(dead_code, reason = "each bench uses a part of it")]

pub mod figures;
pub mod targets;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use toise::base::progress::Progress;
use toise::contract::filter::{Clause, ClauseTest, Filter};
use toise::engine::session::{Session, unchanged_views};
use toise::engine::{Budget, Engine};
use toise::opendata::{Dataset, OpenData};
use toise::sql::context::new_context;
use toise::sql::plan::plan;
use toise::synth::{SynthRequest, lake::generate_into_lake};

/// The executable's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rounds per side of a comparison.
const ROUNDS: usize = 15;

/// Number of sales in the lake, and of diagnostics.
pub fn rows() -> u64 {
    let text = std::env::var("TOISE_BENCH_ROWS").unwrap_or_default();
    text.replace('_', "").parse().unwrap_or(200_000)
}

/// The data folder, created on first use.
pub fn data() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-lake-{}", rows()));
    let done = folder.join("done");
    if !done.exists() {
        let _ = std::fs::remove_dir_all(&folder);
        for dataset in [Dataset::Dvf, Dataset::Dpe] {
            generate_into_lake(&folder, request(dataset, false), Progress::silent()).unwrap();
        }
        std::fs::write(done, "").unwrap();
    }
    folder
}

/// The request that generates the lake.
pub fn request(dataset: Dataset, full_width: bool) -> SynthRequest {
    SynthRequest {
        dataset,
        items: rows(),
        seed: 1,
        full_width,
    }
}

/// Opens the tables.
pub fn open() -> OpenData {
    OpenData::open(&data(), Budget::default()).unwrap()
}

/// Trains a model on the sales of the lake.
pub fn train() {
    let common = toise::cli::Common {
        data: data(),
        config: None,
        json: true,
    };
    let clock = toise::base::clock::Clock::system();
    let (model, _) = toise::cli::train::train_lake(&common, None, &clock).unwrap();
    model
        .save(&data().join(toise::estimate::store::FOLDER))
        .unwrap();
}

/// A clause: a text equal to this one.
pub fn is(column: &'static str, text: &str) -> Clause {
    Clause::new(column, ClauseTest::OneOf(vec![text.to_owned()]))
}

/// A clause: a number between two bounds.
pub fn between(column: &'static str, min: f64, max: f64) -> Clause {
    let (min, max) = (Some(min), Some(max));
    Clause::new(column, ClauseTest::Number { min, max })
}

/// The same tables through DataFusion's SQL, which plans and decodes for each query.
pub struct Sql {
    session: Session,
    runtime: tokio::runtime::Runtime,
}

impl Sql {
    /// Opens a session over the tables.
    pub fn over(open_data: &OpenData) -> Self {
        Self::of(open_data.engine())
    }

    /// Opens a session over the tables of an engine.
    pub fn of(engine: &Engine) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let context = new_context(1 << 30, 1 << 30, threads, Vec::new()).unwrap();
        let views = unchanged_views(engine, &[], |_| true).unwrap();
        Self {
            session: Session::of_views(context, engine, views, Vec::new()).unwrap(),
            runtime: tokio::runtime::Runtime::new().unwrap(),
        }
    }

    /// Runs a query and returns its rows.
    pub fn ask(&self, sql: &str) -> Vec<arrow::array::RecordBatch> {
        self.runtime.block_on(async {
            let frame = plan(&self.session, sql, None).await.unwrap();
            frame.collect().await.unwrap()
        })
    }

    /// Returns the first column of the first row, as a text.
    pub fn text(&self, sql: &str) -> String {
        let answer = self.ask(sql);
        arrow::util::display::array_value_to_string(answer[0].column(0), 0).unwrap()
    }

    /// Computes the result of a search: the number of rows, and the records of a page. `condition` is the SQL filter.
    pub fn search(&self, table: &str, condition: &str, beyond: &str, order: &str) -> u64 {
        let total = self.text(&format!("select count(*) from {table} where {condition}"));
        let page = format!(
            "select record from {table} where {condition} and {beyond} order by {order} limit 20"
        );
        assert!(!self.ask(&page).is_empty());
        total.parse().unwrap()
    }
}

/// Runs both sides in turn and prints the medians and their ratio.
pub fn compare(question: &str, mut ours: impl FnMut() -> u64, mut sql: impl FnMut() -> u64) {
    let mut times: [Vec<Duration>; 2] = Default::default();
    for round in 0..=ROUNDS {
        let started = Instant::now();
        let answer = ours();
        let our_time = started.elapsed();
        let started = Instant::now();
        assert_eq!(answer, sql(), "{question}: totals differ");
        let sql_time = started.elapsed();
        // The first round warms up both sides.
        if round > 0 {
            times[0].push(our_time);
            times[1].push(sql_time);
        }
    }
    let [ours, sql] = times.map(|mut side| {
        side.sort_unstable();
        side[side.len() / 2].as_secs_f64() * 1e3
    });
    println!(
        "{question}: {ours:.3} ms, DataFusion SQL on the same files {sql:.1} ms, ratio {:.0}",
        sql / ours
    );
}

/// A filter of clauses.
pub fn all(clauses: impl IntoIterator<Item = Clause>) -> Filter {
    clauses.into_iter().collect()
}
