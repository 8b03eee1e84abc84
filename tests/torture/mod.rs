//! Torture test: servers under load while their machine fails, compared with a model of what was acknowledged.
//!
//! Clients ingest adverts, create keys, change alerts, collect pages and make charged calls, some under idempotency
//! keys. One client sends SQL statements that exceed their limits, a receiver accepts the deliveries of an alert, and
//! commands import sales, train models and make backups. At the same time, faults drawn from a seed are applied to the
//! servers ([`plan`]). Everything acknowledged must be there, nothing may be charged or delivered twice, no response
//! may be wrong, and the server must be ready again after each fault.
//!
//! `TOISE_TORTURE_SECONDS` sets the duration, 20 by default; `TOISE_TORTURE_SEED` repeats the faults of a run. A
//! failure is shrunk: the run is repeated with fewer faults as long as it still fails, at most `TOISE_TORTURE_SHRINK`
//! times.

mod alerts;
mod answers;
mod checks;
pub mod faults;
mod history;
mod model;
mod pages;
mod plan;
mod queries;
mod servers;
mod summary;
mod tables;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toise::contract::listings::filters::ListingKind;

use self::checks::Keys;
use self::faults::{Faults, Word};
use self::model::{Client, Load, Model, acknowledge, charged_body, sighting};
use self::plan::{Fault, Step};
use self::servers::Servers;
use self::tables::Tables;
use crate::support::alerts::{body, with};
use crate::support::draw::Draw;
use crate::support::portal::Portal;
use crate::support::process::{run, toise, try_run, variable};
use crate::support::receiver::{Act, Receiver};

/// Seconds of a run, unless `TOISE_TORTURE_SECONDS` overrides it.
const SECONDS: u64 = 20;
/// Repetitions that shrink a failure, unless `TOISE_TORTURE_SHRINK` overrides it.
const SHRINKS: u64 = 12;
/// Clients that ingest.
const INGESTING: u64 = 2;
/// Clients that make charged calls, each with one in flight.
pub const CALLING: u64 = 3;
/// Clients that repeat their calls, each with one in flight.
pub const REPEATING: u64 = 2;
/// Sales in the folder: enough for training, but few enough to train in seconds.
const SALES: &str = "2000";
/// Steps between two comparisons with the model.
const COMPARE_EVERY: usize = 10;
/// Adverts whose prices a comparison checks, before the end.
const PRICES_LOOKED_AT: usize = 30;
/// Adverts of a file, and the number of the first one.
const FILE_ADVERTS: u64 = 5;
const FILE_ADVERTS_FROM: u64 = 1_000_000;
/// Maximum wait for the repair of an index.
const REPAIRED_WITHIN: Duration = Duration::from_secs(30);
/// Limit of open files of a server without a fault.
const DESCRIPTORS: &str = "--nofile=4096:";

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_whatever_the_machine_does() {
    let seconds = variable("TOISE_TORTURE_SECONDS", SECONDS);
    let seed = variable("TOISE_TORTURE_SEED", u64::from(std::process::id()));
    println!("TOISE_TORTURE_SEED={seed} TOISE_TORTURE_SECONDS={seconds}");
    let (mut draw, until) = (
        Draw::new(seed),
        Instant::now() + Duration::from_secs(seconds),
    );
    let mut steps = Vec::new();
    let drawn = std::iter::from_fn(|| {
        let step = (Instant::now() < until).then(|| plan::draw(&mut draw))?;
        steps.push(step);
        Some(step)
    });
    let Err(failure) = tortured(seed, drawn).await else {
        return;
    };
    println!("failed after {} faults: {failure}", steps.len());
    let (steps, failure) = shrunk(seed, steps, failure).await;
    panic!("seed {seed}, {} faults {steps:?}: {failure}", steps.len());
}

/// Leaves faults out as long as the run still fails.
async fn shrunk(seed: u64, mut steps: Vec<Step>, mut failure: String) -> (Vec<Step>, String) {
    let mut left = variable("TOISE_TORTURE_SHRINK", SHRINKS);
    let mut piece = steps.len().div_ceil(2);
    let mut from = 0;
    while left > 0 && steps.len() > 1 && piece > 0 {
        left -= 1;
        let to = (from + piece).min(steps.len());
        let fewer: Vec<Step> = [&steps[..from], &steps[to..]].concat();
        match tortured(seed, fewer.iter().copied()).await {
            Err(again) => {
                println!("{} faults are enough: {again}", fewer.len());
                (steps, failure) = (fewer, again);
            }
            Ok(()) => from = to,
        }
        if from >= steps.len() {
            (from, piece) = (0, piece / 2);
        }
    }
    (steps, failure)
}

/// One run.
///
/// # Errors
/// What was lost, wrong or did not come back.
async fn tortured(seed: u64, steps: impl Iterator<Item = Step>) -> Result<(), String> {
    let outer = tempfile::tempdir().unwrap();
    let Some(faults) = Faults::compile(outer.path(), seed) else {
        return Ok(());
    };
    let outer_path = outer.path().canonicalize().unwrap();
    let data = outer_path.join("data");
    run(&data, &["synth", "--lake", "--dvf", SALES]);
    let keys = Keys::make(&data);
    let mut servers = Servers::new(data, outer_path.join("log"), Arc::new(faults));
    servers.start().await?;
    let receiver = Receiver::always(Act::Status(200)).await;
    subscribe(&servers.running[0].address, &keys.admin, &receiver).await;
    let expected = baseline(&servers.running[0].address, &keys.caller).await;

    let load = Load {
        addresses: servers.addresses(),
        model: Arc::default(),
        goes_on: Arc::new(AtomicBool::new(true)),
        sightings: Arc::new(AtomicU64::new(0)),
        began_ms: (chrono::Utc::now() - chrono::Duration::days(2)).timestamp_millis(),
    };
    // The first call of the caller's key was that of the baseline.
    load.model.lock().unwrap().unanswered = 1;
    let portal = Arc::new(Portal::start().await);
    let clients = clients(&load, &keys, seed, (&expected, &receiver, &portal));
    let mut torture = Torture {
        servers,
        load: load.clone(),
        keys,
        draw: Draw::new(!seed),
        folder: outer_path,
        files: 0,
        tables: Tables::default(),
        counts: BTreeMap::new(),
    };
    let mut outcome = torture.take(steps).await;
    load.goes_on.store(false, Ordering::Release);
    if outcome.is_err() {
        // Clients that repeat a call until it is answered would not end.
        clients.iter().for_each(tokio::task::JoinHandle::abort);
    }
    for client in clients {
        if let Err(error) = client.await
            && error.is_panic()
            && outcome.is_ok()
        {
            outcome = Err(format!("a client failed: {error}"));
        }
    }
    outcome?;
    torture.finish(&receiver).await
}

/// Starts the clients.
fn clients(
    load: &Load,
    keys: &Keys,
    seed: u64,
    (expected, receiver, portal): (&Value, &Receiver, &Arc<Portal>),
) -> Vec<tokio::task::JoinHandle<()>> {
    let mut clients = Vec::new();
    for own in 0..INGESTING {
        let client = Client::new(load, &keys.admin, seed ^ (own + 1));
        clients.push(tokio::spawn(client.ingest(own, INGESTING)));
    }
    for own in 0..CALLING {
        let client = Client::new(load, &keys.caller, seed ^ (own + 101));
        clients.push(tokio::spawn(client.call(expected.clone())));
    }
    for own in 0..REPEATING {
        let client = Client::new(load, &keys.repeater, seed ^ (own + 201));
        clients.push(tokio::spawn(client.repeat(expected.clone())));
    }
    let client = Client::new(load, &keys.admin, seed ^ 301);
    clients.push(tokio::spawn(client.make_keys()));
    let client = Client::new(load, &keys.admin, seed ^ 302);
    clients.push(tokio::spawn(client.change_alerts(receiver.url())));
    let client = Client::new(load, &keys.admin, seed ^ 303);
    clients.push(tokio::spawn(client.collect(Arc::clone(portal))));
    let client = Client::new(load, &keys.querier, seed ^ 304);
    clients.push(tokio::spawn(client.query()));
    clients
}

/// Creates the alert whose deliveries are compared.
async fn subscribe(address: &str, key: &str, receiver: &Receiver) {
    let filter = json!({"type": ["CLASS_FLAT"]});
    let alert = body(ListingKind::Advert, &filter, &["ALERT_MATCH_CREATED"]);
    let alert = with(alert, json!({"webhook_url": receiver.url()}));
    let url = format!("{address}/v2/protected/adverts/search/alerts");
    let request = crate::support::http_client()
        .put(url)
        .header("x-api-key", key);
    let answer = request.json(&alert).send().await.unwrap();
    assert!(answer.status().is_success(), "{:?}", answer.text().await);
}

/// What the charged call answers.
async fn baseline(address: &str, key: &str) -> Value {
    let url = format!("{address}/v2/protected/opendata/dvf/search");
    let request = crate::support::http_client()
        .post(url)
        .header("x-api-key", key);
    let answer = request.json(&charged_body()).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.json().await.unwrap()
}

/// A run under way.
struct Torture {
    servers: Servers,
    load: Load,
    keys: Keys,
    draw: Draw,
    folder: std::path::PathBuf,
    files: u64,
    tables: Tables,
    counts: BTreeMap<&'static str, usize>,
}

impl Torture {
    async fn take(&mut self, steps: impl Iterator<Item = Step>) -> Result<(), String> {
        for (count, step) in steps.enumerate() {
            let at = |error: String| format!("at fault {count}, {step:?}: {error}");
            self.apply(step).await.map_err(at)?;
            self.servers.faults.end();
            let may_end = step.fault.may_end_a_server();
            self.servers.revive(may_end).await.map_err(at)?;
            *self.counts.entry(step.fault.name()).or_default() += 1;
            if count % COMPARE_EVERY == COMPARE_EVERY - 1 {
                self.compare().await.map_err(at)?;
            }
            let violations = std::mem::take(&mut self.model().violations);
            if let Some(first) = violations.first() {
                return Err(at(first.clone()));
            }
        }
        Ok(())
    }

    fn model(&self) -> std::sync::MutexGuard<'_, Model> {
        self.load.model.lock().unwrap()
    }

    async fn apply(&mut self, step: Step) -> Result<(), String> {
        let lasts = Duration::from_millis(step.ms);
        match step.fault {
            Fault::Kill => {
                tokio::time::sleep(lasts).await;
                self.servers.kill(0);
                self.servers.start().await?;
            }
            Fault::DamagedIndex => {
                tokio::time::sleep(lasts).await;
                self.servers.kill(0);
                faults::damage_index(&self.servers.data, &mut self.draw);
                self.servers.start().await?;
                self.until_repaired().await?;
            }
            Fault::Terminate => {
                tokio::time::sleep(lasts).await;
                let code = self.servers.terminate(0).await?;
                if code != Some(0) {
                    let log = self.servers.logged();
                    return Err(format!("SIGTERM ended with {code:?}: {log}"));
                }
                self.servers.start().await?;
            }
            Fault::Stop => {
                self.servers.running[0].signal("-STOP");
                tokio::time::sleep(lasts).await;
                self.servers.running[0].signal("-CONT");
            }
            Fault::DiskFull => self.with(Word::Full, 1, lasts).await,
            Fault::ReadOnly => self.with(Word::ReadOnly, 1, lasts).await,
            Fault::HungDisk => self.with(Word::Hang, 1, lasts).await,
            Fault::Import => self.import(lasts).await?,
            Fault::Train => self.train(lasts).await?,
            Fault::Memory(kib) => {
                self.limit_memory(kib);
                tokio::time::sleep(lasts).await;
                self.limit("--as=unlimited");
            }
            Fault::WriteErrors(one_in) => self.with(Word::WriteErrors, one_in, lasts).await,
            Fault::SyncErrors(one_in) => self.with(Word::SyncErrors, one_in, lasts).await,
            Fault::SlowDisk(us) => self.with(Word::SlowUs, us, lasts).await,
            Fault::Clock(ms) => self.with(Word::ClockMs, ms, lasts).await,
            Fault::ClockThenKill(ms) => {
                self.servers.faults.set(Word::ClockMs, ms);
                tokio::time::sleep(lasts).await;
                self.servers.kill(0);
                self.servers.faults.end();
                self.servers.start().await?;
            }
            Fault::Descriptors(most) => {
                self.limit(&format!("--nofile={most}:"));
                tokio::time::sleep(lasts).await;
                self.limit(DESCRIPTORS);
            }
            Fault::SecondServer => {
                self.servers.start().await?;
                tokio::time::sleep(lasts).await;
                let place = self.draw.below(2);
                self.servers.kill(place);
            }
            Fault::ForeignReaders => checks::read_from_outside(&self.servers.data),
            Fault::Backup => self.back_up()?,
            Fault::KilledBackup => self.kill_backup(lasts / 8).await?,
            Fault::Ingest => self.ingest_file()?,
            Fault::Check => self.succeed(&["check"])?,
        }
        Ok(())
    }

    /// Waits until the server has repaired its indexes.
    async fn until_repaired(&self) -> Result<(), String> {
        let until = Instant::now() + REPAIRED_WITHIN;
        loop {
            let found = self.succeed(&["check", "properties"]);
            if found.is_ok() || Instant::now() > until {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn with(&self, word: Word, value: i64, lasts: Duration) {
        self.servers.faults.set(word, value);
        tokio::time::sleep(lasts).await;
        self.servers.faults.end();
    }

    /// Limits the address space of the first server to its current size and a little more.
    fn limit_memory(&self, more_kib: u64) {
        let mapped_kib = self.servers.running[0].memory_kib("VmSize:");
        let most = (mapped_kib + more_kib) << 10;
        self.limit(&format!("--as={most}:"));
    }

    /// Sets a limit of the first server.
    fn limit(&self, limit: &str) {
        let process = self.servers.running[0].id().to_string();
        let mut command = Command::new("prlimit");
        command.args(["--pid", &process, limit]);
        // Without prlimit, this fault has no effect.
        let _ = command.stderr(Stdio::null()).status();
    }

    /// Runs a command on the data folder, which must succeed.
    fn succeed(&self, arguments: &[&str]) -> Result<(), String> {
        succeed(&self.servers.data, arguments)
    }

    /// Ingests a file; its adverts are acknowledged once the command succeeds.
    fn ingest_file(&mut self) -> Result<(), String> {
        self.files += 1;
        let path = self.folder.join(format!("adverts-{}.ndjson", self.files));
        let mut lines = String::new();
        let mut asked = Vec::new();
        for place in 0..FILE_ADVERTS {
            let number = FILE_ADVERTS_FROM + self.files % 7 * FILE_ADVERTS + place;
            let advert = sighting(&self.load, number, &mut self.draw);
            let price = advert["currentPrice"]["value"].as_u64().unwrap();
            let mut model = self.model();
            model.adverts.entry(number).or_default().prices.ask(price);
            asked.push((number, price));
            lines.push_str(&format!("{advert}\n"));
        }
        std::fs::write(&path, lines).unwrap();
        self.succeed(&["ingest", path.to_str().unwrap()])?;
        std::fs::remove_file(&path).unwrap();
        for (number, price) in asked {
            acknowledge(&self.load, number, price, None);
        }
        Ok(())
    }

    /// Makes a backup, restores it, and checks that it has everything acknowledged before.
    fn back_up(&mut self) -> Result<(), String> {
        self.files += 1;
        let archive = self.folder.join(format!("backup-{}.tar", self.files));
        let restored = self.folder.join(format!("restored-{}", self.files));
        let before = checks::acknowledged(&self.model());
        self.succeed(&["backup", archive.to_str().unwrap()])?;
        succeed(&restored, &["restore", archive.to_str().unwrap()])?;
        checks::compare_stored(&restored, &before)?;
        std::fs::remove_dir_all(&restored).unwrap();
        std::fs::remove_file(&archive).unwrap();
        Ok(())
    }

    /// Kills a backup; no other user may read what it leaves.
    async fn kill_backup(&mut self, after: Duration) -> Result<(), String> {
        use std::os::unix::fs::PermissionsExt;
        self.files += 1;
        let beside = self.folder.join(format!("backups-{}", self.files));
        std::fs::create_dir(&beside).unwrap();
        let to = beside.join("backup");
        let mut command = toise(&self.servers.data, &["backup", to.to_str().unwrap()]);
        let mut backup = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        tokio::time::sleep(after).await;
        let _ = backup.kill();
        backup.wait().unwrap();
        for entry in std::fs::read_dir(&beside).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() && metadata.permissions().mode() & 0o077 != 0 {
                let path = entry.path();
                return Err(format!("others may read {}", path.display()));
            }
        }
        std::fs::remove_dir_all(&beside).unwrap();
        Ok(())
    }

    /// Compares store, ledger, tables and responses with the model while clients continue.
    async fn compare(&mut self) -> Result<(), String> {
        let before = checks::acknowledged(&self.model());
        checks::compare_stored(&self.servers.data, &before)?;
        pages::compare_pages(&self.servers.data, &before.pages)?;
        checks::compare_keys(&self.servers.data, || self.model().keys_asked)?;
        checks::compare_charges(&self.servers.data, &self.keys, &before, || {
            let model = self.model();
            (model.calls.len() as u64 + model.unanswered, model.repeated)
        })?;
        let mut numbers: Vec<u64> = self.model().adverts.keys().copied().collect();
        self.draw.shuffle(&mut numbers);
        numbers.truncate(PRICES_LOOKED_AT);
        self.compare_answers(numbers).await?;
        self.compare_tables().await
    }

    /// Compares the responses of a server with the model, for some adverts.
    async fn compare_answers(&self, numbers: Vec<u64>) -> Result<(), String> {
        let (address, key) = (&self.servers.running[0].address, &self.keys.admin);
        let model = &self.load.model;
        answers::compare_prices(address, key, model, numbers.into_iter()).await?;
        answers::compare_consumption(address, key, model).await?;
        alerts::compare_alerts(address, key, model).await
    }

    /// Compares everything, once the clients have ended.
    async fn finish(mut self, receiver: &Receiver) -> Result<(), String> {
        self.compare().await?;
        let adverts = self.model().adverts.clone();
        self.compare_answers(adverts.keys().copied().collect())
            .await?;
        let delivered = checks::compare_deliveries(&self.servers.data, receiver, &adverts).await?;
        match self.servers.terminate(0).await? {
            Some(0) => {}
            code => return Err(format!("SIGTERM ended with {code:?}")),
        }
        self.succeed(&["check"])?;
        let pages = self.model().pages.clone();
        let collected = pages::compare_pages(&self.servers.data, &pages)?;
        self.summarise(&delivered, collected);
        Ok(())
    }
}

/// Runs a command that must succeed.
fn succeed(data: &Path, arguments: &[&str]) -> Result<(), String> {
    let output = try_run(data, arguments);
    if output.status.success() {
        Ok(())
    } else {
        Err(format!(
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        ))
    }
}
