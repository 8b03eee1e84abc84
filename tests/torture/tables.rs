//! Imports and trainings while the servers run, while the disk fails or until they are killed. A successful import is
//! complete and stays; of a failed one there is nothing or everything. A model gives the same results as before.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Torture;
use super::answers::post;
use super::faults::Word;
use crate::support::homes::{IN_PARIS, body};
use crate::support::process::{errors, toise, try_run};

/// Sales of an import. Their price identifies the import and is above all other prices.
const SALES: usize = 20;
/// Prices of imported sales are above this, in EUR; the charged call searches lower ones.
pub const IMPORTED_EUR_FROM: u64 = 500_000_000;
/// Difference between the prices of two imports, in EUR. Sales with equal prices in single precision, whose step is 32
/// EUR here, are the same sales.
const IMPORTS_APART_EUR: u64 = 1_000;
/// Days of the last sale for a training; each gives a different model.
const TRAINED_UNTIL: [&str; 2] = ["2024-06-30", "2024-12-31"];
/// Maximum time until a server uses the current model.
const TAKEN_UP_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Columns of geo-dvf that an import needs.
const COLUMNS: &str = "id_mutation,date_mutation,nature_mutation,valeur_fonciere,code_postal,code_commune,nom_commune,\
    code_departement,id_parcelle,type_local,surface_reelle_bati,nombre_pieces_principales,longitude,latitude\n";

/// The known state of imports and models.
#[derive(Default)]
pub struct Tables {
    /// Completed imports, by number: they stay.
    pub imported: Vec<u64>,
    /// Imports asked for.
    asked: u64,
    /// Imports that failed or were killed without effect.
    pub undone: u64,
    /// Trainings that succeeded.
    pub trained: u64,
    /// Trainings that failed or were killed.
    pub untrained: u64,
    /// The price of a home by version of the model.
    pub estimates: BTreeMap<String, Value>,
}

fn sales(number: u64) -> String {
    let price = IMPORTED_EUR_FROM + number * IMPORTS_APART_EUR;
    let mut text = String::from(COLUMNS);
    for place in 0..SALES {
        writeln!(
            text,
            "torture-{number}-{place},2023-03-{:02},Vente,{price},48000,48095,Mende,48,48095000AB{place:04},Appartement,50,2,3.4989,44.5181",
            1 + place
        )
        .unwrap();
    }
    text
}

impl Torture {
    /// Imports a file of sales.
    pub(super) async fn import(&mut self, lasts: Duration) -> Result<(), String> {
        self.tables.asked += 1;
        let number = self.tables.asked;
        let file = self.folder.join(format!("sales-{number}.csv"));
        std::fs::write(&file, sales(number)).unwrap();
        let arguments = ["import", "dvf", file.to_str().unwrap()];
        let outcome = self.disturbed(&arguments, lasts).await;
        std::fs::remove_file(&file).unwrap();
        let found = self.stored_imports()?;
        match (outcome, found.get(&number)) {
            (_, Some(&SALES)) => self.tables.imported.push(number),
            (Err(_), None) => self.tables.undone += 1,
            (outcome, found) => {
                return Err(format!(
                    "{found:?} of {SALES} sales after an import: {outcome:?}"
                ));
            }
        }
        self.compare_imports(&found)
    }

    /// Rows of each import in the table.
    fn stored_imports(&self) -> Result<BTreeMap<u64, usize>, String> {
        let query = format!(
            "select cast((price_eur - {IMPORTED_EUR_FROM}) / {IMPORTS_APART_EUR} as bigint) as import, count(*) as sales
             from dvf where price_eur > {IMPORTED_EUR_FROM} group by 1"
        );
        let output = try_run(&self.servers.data, &["sql", &query]);
        let rows: Value = serde_json::from_slice(&output.stdout).map_err(|_| errors(&output))?;
        let rows = rows.as_array().ok_or_else(|| errors(&output))?.iter();
        rows.map(|row| Some((row["import"].as_u64()?, row["sales"].as_u64()? as usize)))
            .collect::<Option<_>>()
            .ok_or_else(|| errors(&output))
    }

    /// Compares the imports in the table with the completed ones.
    fn compare_imports(&self, found: &BTreeMap<u64, usize>) -> Result<(), String> {
        let expected: BTreeMap<u64, usize> = self
            .tables
            .imported
            .iter()
            .map(|&number| (number, SALES))
            .collect();
        if *found == expected {
            Ok(())
        } else {
            Err(format!("imports are {found:?} in place of {expected:?}"))
        }
    }

    /// Trains a model.
    pub(super) async fn train(&mut self, lasts: Duration) -> Result<(), String> {
        let until = *self.draw.one_of(&TRAINED_UNTIL);
        match self.disturbed(&["train", "--until", until], lasts).await {
            Ok(()) => self.tables.trained += 1,
            Err(_) => self.tables.untrained += 1,
        }
        Ok(())
    }

    /// Compares imports and model once a server is ready: the current model can be opened, and gives the same results.
    pub(super) async fn compare_tables(&mut self) -> Result<(), String> {
        self.compare_imports(&self.stored_imports()?)?;
        let path = self.servers.data.join("models/current.json");
        if self.tables.trained == 0 && !path.exists() {
            return Ok(());
        }
        let current =
            std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let current: Value =
            serde_json::from_slice(&current).map_err(|error| format!("current.json: {error}"))?;
        let (address, home) = (
            &self.servers.running[0].address,
            body(IN_PARIS, "CLASS_FLAT", 45.0),
        );
        let since = Instant::now();
        loop {
            let told = post(address, &self.keys.admin, "estimate/property/lite", &home).await?;
            let version = &told["data"]["metadata"]["model"]["version"];
            // A home is valued today.
            let named = format!("{version} on {}", chrono::Utc::now().date_naive());
            let price = &told["data"]["price"];
            let before = self
                .tables
                .estimates
                .entry(named)
                .or_insert_with(|| price.clone());
            if before != price {
                return Err(format!(
                    "an estimate of {price} in place of {before} by {version}"
                ));
            }
            if *version == current["version"] {
                return Ok(());
            }
            if since.elapsed() > TAKEN_UP_WITHIN {
                return Err(format!(
                    "the server has model {version}, and current is {current}"
                ));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Runs a command while the servers run and their disk fails for a while, or kills it.
    ///
    /// # Errors
    /// It failed or was killed.
    async fn disturbed(&mut self, arguments: &[&str], lasts: Duration) -> Result<(), String> {
        let mut command = toise(&self.servers.data, arguments);
        self.servers
            .faults
            .preload(&mut command, &self.servers.data);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let fault = match self.draw.below(6) {
            0 => None,
            1 => Some((Word::WriteErrors, 40)),
            2 => Some((Word::SyncErrors, 4)),
            3 => Some((Word::Full, 1)),
            4 => Some((Word::SlowUs, 2_000)),
            _ => {
                tokio::time::sleep(lasts).await;
                // It may have ended already.
                let _ = child.kill();
                None
            }
        };
        if let Some((word, value)) = fault {
            self.with(word, value, lasts).await;
        }
        let output = tokio::task::spawn_blocking(move || child.wait_with_output());
        let output = output.await.unwrap().unwrap();
        if output.status.success() {
            Ok(())
        } else {
            Err(errors(&output))
        }
    }
}
