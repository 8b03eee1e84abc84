//! `toise compact`: compacts the memtables of the listing tables, then merges the sorted runs of each table into one;
//! or rebuilds the listing tables from the store. Works while the server is running.

use std::collections::BTreeSet;
use std::time::Instant;

use clap::Args;
use indicatif::{HumanBytes, HumanCount, ProgressBar};
use serde::Serialize;
use serde_json::json;

use super::tables::LakeTable;
use super::{CommandResult, Common};
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_contract::listings::filters::ListingKind;
use toise_lake::Lake;
use toise_lake::snapshot::Snapshot;
use toise_listings::search::projection;
use toise_listings::search::projection::compaction::{self, Compacted};
use toise_listings::{Listings, search::texts};
use toise_store::Store;

/// Arguments of `compact`.
#[derive(Args, Debug)]
#[command(after_help = "\
Imports leave a table in a few sorted runs, and a query about one place reads a few pages of each run. Merging the runs
into one reduces these reads. Every row is rewritten, so the disk needs free space for a second copy of the table. A
running server keeps answering and switches to the new files within a second. Rows and responses do not change.

Before the merge, store changes that are newer than the files of properties and adverts are written into them. With
--rebuild, these two tables and the text index are rebuilt from the store. Use it when they are
damaged or deleted. Each old table keeps answering until its new one is complete, even if the command is killed. A
running server switches to the new table within a second. It does not compact during a rebuild: recent changes stay in
its memory until the rebuild ends.

With --delta, the folder lake/TABLE that other programs open and its Delta Lake log are rebuilt from the versions
that are kept (lake.keep_versions): use it when something else wrote there. The rows stay as they are.

Examples:
  toise compact
  toise compact dpe --json
  toise compact --rebuild
  toise compact dvf --delta")]
pub struct CompactArgs {
    /// Tables to compact [default: all; with --rebuild properties and adverts]
    pub tables: Vec<LakeTable>,
    /// Rebuild the listing tables, and the text index of properties, from the store
    #[arg(long)]
    pub rebuild: bool,
    /// Rebuild the Delta logs and the folders for other programs, and merge nothing
    #[arg(long, conflicts_with = "rebuild")]
    pub delta: bool,
}

/// Files of a table in one snapshot.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct TableExtent {
    runs: usize,
    files: usize,
    bytes: u64,
}

impl From<&Snapshot> for TableExtent {
    fn from(snapshot: &Snapshot) -> Self {
        let runs: BTreeSet<u64> = snapshot.parts.iter().map(|part| part.run).collect();
        Self {
            runs: runs.len(),
            files: snapshot.parts.len(),
            bytes: snapshot.parts.iter().map(|part| part.bytes).sum(),
        }
    }
}

/// Result of compacting one table.
#[derive(Debug, Serialize)]
struct CompactionResult {
    table: &'static str,
    rows: u64,
    /// Records written from the memtable: those changed since the table was last compacted.
    compacted_records: u64,
    /// Damaged records, which the table leaves out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<String>,
    rows_written: u64,
    before: TableExtent,
    after: TableExtent,
    seconds: f64,
}

/// Runs `compact`.
pub fn run(common: &Common, arguments: &CompactArgs) -> CommandResult {
    let listings = Store::open_existing(&common.data)?;
    let listings = listings.map(|store| Listings::new(store, Clock::system()));
    let keep_versions = common.configuration(Vec::new())?.config.lake.keep_versions;
    if arguments.rebuild {
        let listings = listings.ok_or("nothing to rebuild from: the data folder has no store; ingest adverts: toise ingest FILE")?;
        let lake = Lake::open(&common.data)?.keeping(keep_versions);
        return rebuild(common, &listings, &lake, &arguments.tables);
    }
    let lake = common.lake()?.keeping(keep_versions);
    if arguments.delta {
        return rebuild_delta_logs(common, &lake, &arguments.tables);
    }
    let mut tables = Vec::new();
    for table in LakeTable::chosen(&arguments.tables) {
        let schema = table.schema();
        let before = lake.snapshot(schema)?;
        let started = Instant::now();
        let bar = Progress::new(common.json).rows(schema.name, before.rows());
        let (compacted, rows_written) = compact(&lake, listings.as_ref(), table, &bar)?;
        bar.finish_and_clear();
        for damaged in &compacted.damaged {
            eprintln!(
                "warning: left out of {}: {damaged}; ingest its adverts again, or restore a backup",
                schema.name
            );
        }
        let after = lake.snapshot(schema)?;
        tables.push(CompactionResult {
            table: schema.name,
            rows: after.rows(),
            compacted_records: compacted.records,
            damaged: compacted.damaged,
            rows_written,
            before: (&before).into(),
            after: (&after).into(),
            seconds: started.elapsed().as_secs_f64(),
        });
    }
    report(common, &tables);
    Ok(())
}

/// Compacts the memtable of a table and merges its sorted runs. Returns the number of records compacted and of rows
/// merged.
fn compact(
    lake: &Lake,
    listings: Option<&Listings>,
    table: LakeTable,
    bar: &ProgressBar,
) -> projection::Result<(Compacted, u64)> {
    let merge = || lake.compact(table.schema(), &|rows| bar.inc(rows));
    let Some((listing, listings)) = table.listing().zip(listings) else {
        return Ok((Compacted::default(), merge()?));
    };
    let compacted =
        compaction::retry_while_locked(|| compaction::compact(listings, lake, listing, &|_| {}))?;
    Ok((compacted, compaction::retry_while_locked(|| Ok(merge()?))?))
}

/// Rebuilds the Delta logs of tables and prints the versions they contain.
fn rebuild_delta_logs(common: &Common, lake: &Lake, named: &[LakeTable]) -> CommandResult {
    let mut tables = Vec::new();
    for table in LakeTable::chosen(named) {
        let schema = table.schema();
        if lake.snapshot(schema)?.sequence == 0 {
            continue;
        }
        lake.rebuild_delta_log(schema)?;
        let versions = lake.versions(schema)?;
        let versions: Vec<u64> = versions.iter().map(|version| version.sequence).collect();
        tables.push((schema.name, lake.shared_folder(schema), versions));
    }
    if common.json {
        let tables: Vec<_> = tables
            .iter()
            .map(|(table, folder, versions)| {
                json!({"table": table, "folder": folder, "versions": versions})
            })
            .collect();
        println!("{}", json!({ "tables": tables }));
        return Ok(());
    }
    for (_, folder, versions) in &tables {
        let versions: Vec<String> = versions.iter().map(u64::to_string).collect();
        println!("{}: versions {}", folder.display(), versions.join(", "));
    }
    Ok(())
}

fn rebuild(
    common: &Common,
    listings: &Listings,
    lake: &Lake,
    named: &[LakeTable],
) -> CommandResult {
    if let Some(other) = named.iter().find(|table| table.listing().is_none()) {
        let name = other.schema().name;
        return Err(
            format!("{name} is not derived from the store; import it again instead").into(),
        );
    }
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
        let advance = |rows| bar.inc(rows);
        let rows = compaction::retry_while_locked(|| {
            compaction::rebuild(listings, lake, listing, &advance)
        })?;
        bar.finish_and_clear();
        tables.push(CompactionResult {
            table: schema.name,
            rows,
            compacted_records: 0,
            damaged: Vec::new(),
            rows_written: rows,
            before: before.as_ref().map(TableExtent::from).unwrap_or_default(),
            after: (&lake.snapshot(schema)?).into(),
            seconds: started.elapsed().as_secs_f64(),
        });
        if listing == ListingKind::Property {
            let bar = progress.rows("text index", count);
            texts::rebuild(&common.data, listings, &|properties| bar.inc(properties))?;
            bar.finish_and_clear();
        }
    }
    report(common, &tables);
    Ok(())
}

fn report(common: &Common, tables: &[CompactionResult]) {
    if common.json {
        println!("{}", json!({ "tables": tables }));
    } else {
        print(tables);
    }
}

fn print(tables: &[CompactionResult]) {
    let mut shown = crate::table_of("table|rows|compacted|runs|files|bytes|seconds");
    for table in tables {
        let change =
            |before: String, after: String| match table.rows_written + table.compacted_records {
                0 => after,
                _ => format!("{before} → {after}"),
            };
        let (before, after) = (table.before, table.after);
        shown.add_row([
            table.table.to_owned(),
            HumanCount(table.rows).to_string(),
            HumanCount(table.compacted_records).to_string(),
            change(before.runs.to_string(), after.runs.to_string()),
            change(before.files.to_string(), after.files.to_string()),
            change(
                HumanBytes(before.bytes).to_string(),
                HumanBytes(after.bytes).to_string(),
            ),
            format!("{:.1}", table.seconds),
        ]);
    }
    shown.align_right(1..);
    println!("{shown}");
}
