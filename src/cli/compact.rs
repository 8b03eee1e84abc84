//! `toise compact`: merges the runs of a table into one, beside a running server, and folds what changed in the store
//! into the tables of listings first; or makes those anew.

use std::collections::BTreeSet;
use std::time::Instant;

use clap::Args;
use comfy_table::CellAlignment;
use indicatif::{HumanBytes, HumanCount, ProgressBar};
use serde::Serialize;
use serde_json::json;

use super::tables::LakeTable;
use super::{CommandResult, Common};
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_contract::listings::filters::Listing;
use toise_lake::Lake;
use toise_lake::snapshot::Snapshot;
use toise_listings::search::projection::{self, fold};
use toise_listings::{Listings, search::texts};
use toise_store::Store;

/// Arguments of `compact`.
#[derive(Args, Debug)]
#[command(after_help = "\
Imports leave a table in a few sorted runs, and a question about one place reads a few pages of each. Merged into one
run it reads fewer. Every row is written anew: the disk needs room for the table a second time. A running server goes
on answering and takes the new files within a second; rows and answers stay the same.

What changed in the store since the tables of properties and adverts were written is folded into them first. With
--rebuild these two and the index of words are made anew from the store, whatever state they are in: after damage, or
when they were deleted. Until each is whole the former one stays and goes on answering, also when the command is
killed; then a running server takes the new one within a second. It folds nothing meanwhile: what changes lies in its
memory a little longer.

Examples:
  toise compact
  toise compact dpe --json
  toise compact --rebuild")]
pub struct CompactArgs {
    /// Tables [default: all; with --rebuild properties and adverts]
    pub tables: Vec<LakeTable>,
    /// Make tables of listings, and the words of properties, anew from the store
    #[arg(long)]
    pub rebuild: bool,
}

/// Files of a table at one moment.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Extent {
    runs: usize,
    files: usize,
    bytes: u64,
}

impl From<&Snapshot> for Extent {
    fn from(snapshot: &Snapshot) -> Self {
        let runs: BTreeSet<u64> = snapshot.parts.iter().map(|part| part.run).collect();
        Self {
            runs: runs.len(),
            files: snapshot.parts.len(),
            bytes: snapshot.parts.iter().map(|part| part.bytes).sum(),
        }
    }
}

/// What was done to a table.
#[derive(Debug, Serialize)]
struct Compacted {
    table: &'static str,
    rows: u64,
    /// Records that changed since the table was written.
    folded: u64,
    rows_written: u64,
    before: Extent,
    after: Extent,
    seconds: f64,
}

/// Runs `compact`.
pub fn run(common: &Common, arguments: &CompactArgs) -> CommandResult {
    let listings = Store::open_existing(&common.data)?;
    let listings = listings.map(|store| Listings::new(store, Clock::system()));
    if arguments.rebuild {
        let listings = listings.ok_or("nothing to rebuild from: the data folder has no store")?;
        return rebuild(common, &listings, &arguments.tables);
    }
    let lake = Lake::open_existing(&common.data)?;
    let mut tables = Vec::new();
    for table in LakeTable::chosen(&arguments.tables) {
        let schema = table.schema();
        let before = lake.snapshot(schema)?;
        let started = Instant::now();
        let bar = Progress::new(common.json).rows(schema.name, before.rows());
        let (folded, rows_written) = compact(&lake, listings.as_ref(), table, &bar)?;
        bar.finish_and_clear();
        let after = lake.snapshot(schema)?;
        tables.push(Compacted {
            table: schema.name,
            rows: after.rows(),
            folded,
            rows_written,
            before: (&before).into(),
            after: (&after).into(),
            seconds: started.elapsed().as_secs_f64(),
        });
    }
    report(common, &tables);
    Ok(())
}

/// Folds what waits for a table and merges its runs; gives the records folded and the rows merged.
fn compact(
    lake: &Lake,
    listings: Option<&Listings>,
    table: LakeTable,
    bar: &ProgressBar,
) -> projection::Result<(u64, u64)> {
    let merge = || lake.compact(table.schema(), &|rows| bar.inc(rows));
    let Some((listing, listings)) = table.listing().zip(listings) else {
        return Ok((0, merge()?));
    };
    let folded = fold::when_free(|| fold::fold(listings, lake, listing, &|_| {}))?;
    Ok((folded, fold::when_free(|| Ok(merge()?))?))
}

fn rebuild(common: &Common, listings: &Listings, named: &[LakeTable]) -> CommandResult {
    if let Some(other) = named.iter().find(|table| table.listing().is_none()) {
        let name = other.schema().name;
        return Err(format!("{name} is not made from the store: import it again instead").into());
    }
    let lake = Lake::open(&common.data)?;
    let progress = Progress::new(common.json);
    let mut tables = Vec::new();
    for table in LakeTable::chosen(named) {
        let Some(listing) = table.listing() else {
            continue;
        };
        let schema = table.schema();
        let started = Instant::now();
        let before = lake.snapshot(schema);
        let count = listings.count_since(listing, 0, usize::MAX)? as u64;
        // Each record is read and then written.
        let bar = progress.rows(schema.name, 2 * count);
        let tell = |rows| bar.inc(rows);
        let rows = fold::when_free(|| fold::rebuild(listings, &lake, listing, &tell))?;
        bar.finish_and_clear();
        tables.push(Compacted {
            table: schema.name,
            rows,
            folded: 0,
            rows_written: rows,
            before: before.as_ref().map(Extent::from).unwrap_or_default(),
            after: (&lake.snapshot(schema)?).into(),
            seconds: started.elapsed().as_secs_f64(),
        });
        if listing == Listing::Property {
            let bar = progress.rows("words", count);
            texts::rebuild(&common.data, listings, &|properties| bar.inc(properties))?;
            bar.finish_and_clear();
        }
    }
    report(common, &tables);
    Ok(())
}

fn report(common: &Common, tables: &[Compacted]) {
    if common.json {
        println!("{}", json!({ "tables": tables }));
    } else {
        print(tables);
    }
}

fn print(tables: &[Compacted]) {
    let mut shown = crate::table();
    shown.set_header([
        "table", "rows", "folded", "runs", "files", "bytes", "seconds",
    ]);
    for table in tables {
        let change = |before: String, after: String| match table.rows_written + table.folded {
            0 => after,
            _ => format!("{before} → {after}"),
        };
        let (before, after) = (table.before, table.after);
        shown.add_row([
            table.table.to_owned(),
            HumanCount(table.rows).to_string(),
            HumanCount(table.folded).to_string(),
            change(before.runs.to_string(), after.runs.to_string()),
            change(before.files.to_string(), after.files.to_string()),
            change(
                HumanBytes(before.bytes).to_string(),
                HumanBytes(after.bytes).to_string(),
            ),
            format!("{:.1}", table.seconds),
        ]);
    }
    for column in shown.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{shown}");
}
