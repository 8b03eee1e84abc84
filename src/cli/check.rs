//! `toise check`: reads the whole lake, the indexes of addresses and texts, the layers, the estimator's model and the store, and
//! verifies them against checksums.

use clap::Args;
use indicatif::{HumanBytes, HumanCount};
use serde_json::json;

use super::tables::LakeTable;
use super::{CommandResult, Common};
use toise_app::verify;
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_geocode::folder as addresses;
use toise_lake::check::TableCheck;
use toise_layers::folder as layers;
use toise_listings::Listings;
use toise_listings::placement::quality::MergeCounts;
use toise_listings::search::texts;
use toise_store::{Store, StoreCheck};

/// Maximum damaged places printed per file of the lake, and for the store; `--json` prints more.
const PLACES_SHOWN_MAX: usize = 5;

/// Arguments of `check`.
#[derive(Args, Debug)]
#[command(after_help = "\
Reads every file of the current snapshots and compares each page with the checksum taken when it was written; then
verifies the indexes of addresses and texts, the layers, the estimator's model and every record of the store, if there
are any. Can run during an import or while the server is running. If anything is damaged, names every damaged file and
ends with exit code 1.

Examples:
  toise check
  toise check dpe --json | jq '.tables[].damaged'")]
pub struct CheckArgs {
    /// Tables to check [default: all, the model and the store]
    pub tables: Vec<LakeTable>,
}

/// Runs `check`.
pub fn run(common: &Common, arguments: &CheckArgs) -> CommandResult {
    let lake = common.lake()?;
    let mut tables = Vec::new();
    for table in LakeTable::chosen(&arguments.tables) {
        let schema = table.schema();
        let reading = lake.check(schema);
        let bar = Progress::new(common.json).bytes(schema.name, Some(reading.bytes()));
        tables.push(reading.run(&|bytes| bar.inc(bytes)));
        bar.finish_and_clear();
    }
    let model = if arguments.tables.is_empty() {
        verify::model_version(&common.data)
    } else {
        Ok(None)
    };
    let covers_index = arguments.tables.is_empty() || arguments.tables.contains(&LakeTable::Ban);
    let index = if covers_index {
        addresses::verify(&common.data)
    } else {
        Vec::new()
    };
    let covers_texts =
        arguments.tables.is_empty() || arguments.tables.contains(&LakeTable::Properties);
    let texts = if covers_texts {
        texts::verify(&common.data)
    } else {
        Ok(())
    };
    let layers = if arguments.tables.is_empty() {
        layers::verify(&common.data)
    } else {
        Vec::new()
    };
    let layers: Vec<String> = layers.iter().map(ToString::to_string).collect();
    let store = if arguments.tables.is_empty() {
        Store::open_existing(&common.data)?
    } else {
        None
    };
    let opened = store;
    let store = opened.as_ref().map(Store::check).transpose()?;
    let of_store = store.as_ref().map_or(0, |check| check.damaged_count);
    // Merges cannot be counted in a damaged store.
    let merges = opened.filter(|_| of_store == 0).map(|store| {
        Listings::new(store, Clock::system()).merge_counts(Progress::new(common.json))
    });
    let merges = merges.transpose()?;
    let damaged: Vec<_> = tables.iter().flat_map(|table| &table.damaged).collect();
    if common.json {
        let of_derived =
            index.len() + layers.len() + usize::from(texts.is_err()) + usize::from(model.is_err());
        let count = damaged.len() + of_derived + of_store as usize;
        let texts = texts.as_ref().err().map(ToString::to_string);
        let model = model.as_ref().map_err(ToString::to_string);
        let model = match &model {
            Ok(version) => json!({"version": version}),
            Err(reason) => json!({"damaged": reason}),
        };
        println!(
            "{}",
            json!({
                "tables": tables, "model": model, "index": {"damaged": index}, "texts": {"damaged": texts},
                "layers": {"damaged": layers},
                "store": store, "merges": merges,
                "damaged": count,
            })
        );
    } else {
        print(&tables);
        match &model {
            Ok(Some(version)) => println!("The model {version} is intact."),
            Ok(None) => {}
            Err(error) => println!("{error}"),
        }
        index
            .iter()
            .for_each(|name| println!("index of addresses: {name}: damaged"));
        if let Err(error) = &texts {
            println!("{error}");
        }
        layers.iter().for_each(|damage| println!("{damage}"));
        if let Some(store) = &store {
            print_store(store);
        }
        if let Some(merges) = &merges {
            print_merges(merges);
        }
        for of_file in damaged.chunk_by(|a, b| a.file == b.file) {
            for damage in of_file.iter().take(PLACES_SHOWN_MAX) {
                println!("{}: {}", damage.file, damage.reason);
            }
            if let Some(more @ 1..) = of_file.len().checked_sub(PLACES_SHOWN_MAX) {
                println!("{}: {more} more places (--json: all)", of_file[0].file);
            }
        }
    }
    if of_store > 0 {
        return Err(format!(
            "the store is damaged in {of_store} places; ingest the adverts named again, or restore a backup: toise restore \
             BACKUP --data NEW"
        )
        .into());
    }
    let mut files: Vec<&str> = damaged.iter().map(|damage| &*damage.file).collect();
    files.dedup();
    if files.is_empty() && !index.is_empty() {
        return Err(
            "the index of addresses is damaged; a server rebuilds it when it starts: toise serve"
                .into(),
        );
    }
    if files.is_empty() && !layers.is_empty() {
        return Err("a layer is damaged; import it again, or restore a backup".into());
    }
    if files.is_empty() && texts.is_err() {
        return Err(
            "the text index is damaged; a server rebuilds it when it starts, and so does: toise compact --rebuild"
                .into(),
        );
    }
    if files.is_empty() {
        return Ok(model.map(drop)?);
    }
    Err(format!(
        "damaged: {}; properties and adverts are rebuilt by: toise compact --rebuild; for other tables, delete their folders \
         (lake/_TABLE and lake/TABLE) and import them again, or restore a backup: toise restore BACKUP --data NEW",
        files.join(", ")
    )
    .into())
}

fn print_store(check: &StoreCheck) {
    for place in check.damaged.iter().take(PLACES_SHOWN_MAX) {
        println!("store: {place}");
    }
    match check.damaged_count.saturating_sub(PLACES_SHOWN_MAX as u64) {
        0 if check.damaged_count == 0 => {
            println!("The store is intact: {} records.", HumanCount(check.rows));
        }
        0 => {}
        more => println!("store: {more} more places (--json: the first thousand)"),
    }
}

fn print_merges(merges: &MergeCounts) {
    println!(
        "Of {} merged pairs of adverts {} ({:.1} %) contradict each other; {} pairs wait for a decision.",
        HumanCount(merges.merged_pairs),
        HumanCount(merges.contradicting_pairs),
        100.0 * merges.contradicting_share(),
        HumanCount(merges.possible_pairs),
    );
    if merges.is_unusual() {
        println!("That is unusual: `toise evaluate dedup` shows what is wrong.");
    }
}

fn print(tables: &[TableCheck]) {
    let mut shown = crate::table_of("table|published|rows|files|runs|read|state");
    for table in tables {
        shown.add_row([
            table.table.to_owned(),
            table.published_at.clone(),
            HumanCount(table.rows).to_string(),
            table.files.to_string(),
            table.runs.to_string(),
            HumanBytes(table.bytes).to_string(),
            state(table),
        ]);
    }
    shown.align_right(2..6);
    println!("{shown}");
}

fn state(table: &TableCheck) -> String {
    match table.damaged.len() {
        0 if table.published_at.is_empty() => "empty".into(),
        0 => "intact".into(),
        1 => "1 damaged place".into(),
        count => format!("{count} damaged places"),
    }
}
