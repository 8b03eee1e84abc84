//! `toise check`: reads the whole lake, the indexes of addresses and texts, the layers, the homes of portfolios, the
//! estimator's model and the store, and verifies them against checksums.

use clap::Args;
use indicatif::{HumanBytes, HumanCount};
use serde_json::{Value, json};

use super::result::Failure;
use super::tables::LakeTable;
use super::{CommandResult, Common};
use toise_app::verify;
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_geocode::folder as addresses;
use toise_lake::check::{Damage, TableCheck};
use toise_layers::folder as layers;
use toise_listings::Listings;
use toise_listings::placement::quality::MergeCounts;
use toise_listings::search::texts;
use toise_portfolios as portfolios;
use toise_store::{Store, StoreCheck};

/// Maximum damaged places printed per file of the lake, and for the store; `--json` prints more.
const PLACES_SHOWN_MAX: usize = 5;

/// Arguments of `check`.
#[derive(Args, Debug)]
#[command(after_help = "\
Reads every file of the current snapshots and compares each page with the checksum taken when it was written; then
verifies the indexes of addresses and texts, the layers, the homes of portfolios, the estimator's model and every record
of the store, if there are any. Can run during an import or while the server is running. If anything is damaged, names
every damaged file and ends with exit code 1.

Examples:
  toise check
  toise check dpe --json | jq '.tables[].damaged'")]
pub struct CheckArgs {
    /// Tables to check [default: all, the model and the store]
    pub tables: Vec<LakeTable>,
}

/// Runs `check`.
pub fn run(common: &Common, arguments: &CheckArgs) -> CommandResult {
    let check = DataCheck::of(common, &arguments.tables)?;
    common.show(&check.answer(), || check.print())?;
    check.verdict()
}

/// The result of a check of a data folder. Parts that were not checked count as intact.
struct DataCheck {
    tables: Vec<TableCheck>,
    /// The version of the model; `None` if there is no model.
    model: Result<Option<String>, Failure>,
    /// Damaged files of the index of addresses.
    index: Vec<String>,
    /// The damage of the index of texts.
    texts: Option<String>,
    /// The damage of each damaged layer.
    layers: Vec<String>,
    /// Damaged files of homes of portfolios, and why.
    portfolios: Vec<String>,
    store: Option<StoreCheck>,
    merges: Option<MergeCounts>,
}

impl DataCheck {
    /// Checks the chosen tables and their indexes; everything if none is chosen.
    fn of(common: &Common, chosen: &[LakeTable]) -> Result<Self, Failure> {
        let (data, progress) = (&common.data, Progress::new(common.json));
        let is_everything = chosen.is_empty();
        let covers = |table: LakeTable| is_everything || chosen.contains(&table);
        let lake = common.lake()?;
        let mut tables = Vec::new();
        for table in LakeTable::chosen(chosen) {
            let schema = table.schema();
            let reading = lake.check(schema);
            let bar = progress.bytes(schema.name, Some(reading.bytes()));
            tables.push(reading.run(&|bytes| bar.inc(bytes)));
            bar.finish_and_clear();
        }
        let mut found = Self {
            tables,
            model: Ok(None),
            index: Vec::new(),
            texts: None,
            layers: Vec::new(),
            portfolios: Vec::new(),
            store: None,
            merges: None,
        };
        if covers(LakeTable::Ban) {
            found.index = addresses::verify(data);
        }
        if covers(LakeTable::Properties) {
            found.texts = texts::verify(data).err().map(|error| error.to_string());
        }
        if is_everything {
            found.model = verify::model_version(data).map_err(Failure::from);
            found.layers = layers::verify(data)
                .iter()
                .map(ToString::to_string)
                .collect();
            let damaged = portfolios::verify(data).into_iter();
            found.portfolios = damaged
                .map(|(file, reason)| format!("{}: {reason}", file.display()))
                .collect();
            if let Some(store) = Store::open_existing(data)? {
                let check = store.check()?;
                // Merges cannot be counted in a damaged store.
                if check.damaged_count == 0 {
                    let listings = Listings::new(store, Clock::system());
                    found.merges = Some(listings.merge_counts(progress)?);
                }
                found.store = Some(check);
            }
        }
        Ok(found)
    }

    fn damaged(&self) -> Vec<&Damage> {
        let tables = self.tables.iter();
        tables.flat_map(|table| &table.damaged).collect()
    }

    /// Returns the number of damaged places of the store.
    fn damaged_in_store(&self) -> u64 {
        self.store.as_ref().map_or(0, |check| check.damaged_count)
    }

    fn answer(&self) -> Value {
        let model = match &self.model {
            Ok(version) => json!({"version": version}),
            Err(reason) => json!({"damaged": reason.to_string()}),
        };
        let of_derived = self.index.len()
            + self.layers.len()
            + self.portfolios.len()
            + usize::from(self.texts.is_some())
            + usize::from(self.model.is_err());
        json!({
            "tables": self.tables, "model": model, "index": {"damaged": self.index}, "texts": {"damaged": self.texts},
            "layers": {"damaged": self.layers}, "portfolios": {"damaged": self.portfolios},
            "store": self.store, "merges": self.merges,
            "damaged": self.damaged().len() + of_derived + self.damaged_in_store() as usize,
        })
    }

    fn print(&self) {
        print_tables(&self.tables);
        match &self.model {
            Ok(Some(version)) => println!("The model {version} is intact."),
            Ok(None) => {}
            Err(error) => println!("{error}"),
        }
        for name in &self.index {
            println!("index of addresses: {name}: damaged");
        }
        let others = self.texts.iter().chain(&self.layers);
        for damage in others.chain(&self.portfolios) {
            println!("{damage}");
        }
        if let Some(store) = &self.store {
            print_store(store);
        }
        if let Some(merges) = &self.merges {
            print_merges(merges);
        }
        for of_file in self.damaged().chunk_by(|a, b| a.file == b.file) {
            for damage in of_file.iter().take(PLACES_SHOWN_MAX) {
                println!("{}: {}", damage.file, damage.reason);
            }
            if let Some(more @ 1..) = of_file.len().checked_sub(PLACES_SHOWN_MAX) {
                println!("{}: {more} more places (--json: all)", of_file[0].file);
            }
        }
    }

    /// Fails if anything is damaged, and says how to repair it.
    fn verdict(self) -> CommandResult {
        let in_store = self.damaged_in_store();
        let mut files: Vec<&str> = self
            .damaged()
            .into_iter()
            .map(|damage| damage.file.as_str())
            .collect();
        files.dedup();
        let failure = if in_store > 0 {
            format!(
                "the store is damaged in {in_store} places; ingest the adverts named again, or restore a backup: toise \
                 restore BACKUP --data NEW"
            )
        } else if !files.is_empty() {
            format!(
                "damaged: {}; properties and adverts are rebuilt by: toise compact --rebuild; for other tables, delete \
                 their folders (lake/_TABLE and lake/TABLE) and import them again, or restore a backup: toise restore \
                 BACKUP --data NEW",
                files.join(", ")
            )
        } else if !self.index.is_empty() {
            "the index of addresses is damaged; a server rebuilds it when it starts: toise serve"
                .into()
        } else if !self.layers.is_empty() {
            "a layer is damaged; import it again, or restore a backup".into()
        } else if !self.portfolios.is_empty() {
            "the homes of a portfolio are damaged; store them again, or restore a backup".into()
        } else if self.texts.is_some() {
            "the text index is damaged; a server rebuilds it when it starts, and so does: toise compact --rebuild".into()
        } else {
            return self.model.map(drop);
        };
        Err(failure.into())
    }
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
        "Of {} merged pairs of adverts {} ({:.1} %) contradict each other; {} pairs of properties wait for a \
         decision.",
        HumanCount(merges.merged_pairs),
        HumanCount(merges.contradicting_pairs),
        100.0 * merges.contradicting_share(),
        HumanCount(merges.possible_pairs),
    );
    if merges.is_unusual() {
        println!("That is unusual: `toise evaluate dedup` shows what is wrong.");
    }
}

fn print_tables(tables: &[TableCheck]) {
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
