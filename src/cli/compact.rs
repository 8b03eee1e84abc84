//! `toise compact`: merges the runs of a table into one, beside a running server.

use std::collections::BTreeSet;
use std::time::Instant;

use clap::Args;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;
use serde_json::json;

use super::tables::LakeTable;
use super::{CommandResult, Common};
use crate::lake::Lake;
use crate::lake::snapshot::Snapshot;
use crate::progress::Progress;

/// Arguments of `compact`.
#[derive(Args, Debug)]
#[command(after_help = "\
Imports leave a table in a few sorted runs, and a question about one place reads a few pages of each. Merged into one
run it reads fewer. Every row is written anew: the disk needs room for the table a second time. A running server goes
on answering and takes the new files within a second; rows and answers stay the same.

Examples:
  toise compact
  toise compact dpe --json")]
pub struct CompactArgs {
    /// Tables [default: all]
    pub tables: Vec<LakeTable>,
}

/// Files of a table at one moment.
#[derive(Clone, Copy, Debug, Serialize)]
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
    rows_written: u64,
    before: Extent,
    after: Extent,
    seconds: f64,
}

/// Runs `compact`.
pub fn run(common: &Common, arguments: &CompactArgs) -> CommandResult {
    let lake = Lake::open_existing(&common.data)?;
    let mut tables = Vec::new();
    for schema in LakeTable::chosen(&arguments.tables) {
        let before = lake.snapshot(schema)?;
        let started = Instant::now();
        let bar = Progress::new(common.json).rows(schema.name, before.rows());
        let rows_written = lake.compact(schema, &|rows| bar.inc(rows))?;
        bar.finish_and_clear();
        let after = lake.snapshot(schema)?;
        tables.push(Compacted {
            table: schema.name,
            rows: after.rows(),
            rows_written,
            before: (&before).into(),
            after: (&after).into(),
            seconds: started.elapsed().as_secs_f64(),
        });
    }
    if common.json {
        println!("{}", json!({ "tables": tables }));
    } else {
        print(&tables);
    }
    Ok(())
}

fn print(tables: &[Compacted]) {
    let mut shown = Table::new();
    shown
        .load_preset(UTF8_HORIZONTAL_ONLY)
        .set_header(["table", "rows", "runs", "files", "bytes", "seconds"]);
    for table in tables {
        let change = |before: String, after: String| match table.rows_written {
            0 => after,
            _ => format!("{before} → {after}"),
        };
        let (before, after) = (table.before, table.after);
        shown.add_row([
            table.table.to_owned(),
            HumanCount(table.rows).to_string(),
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
