//! The steps and results of a run, as tables.

use super::Torture;
use super::checks::Delivered;
use super::faults::Word;
use super::model::Advert;
use super::pages::Collected;

impl Torture {
    /// Prints the faults and what was acknowledged.
    pub(super) fn summarise(&self, delivered: &Delivered, collected: Collected) {
        let mut table = comfy_table::Table::new();
        table.set_header(["fault", "times"]);
        for (name, count) in &self.counts {
            table.add_row([(*name).to_owned(), count.to_string()]);
        }
        let total: usize = self.counts.values().sum();
        table.add_row(["all".to_owned(), total.to_string()]);
        println!("{table}");
        let model = self.model();
        let mut table = comfy_table::Table::new();
        table.set_header(["acknowledged", "number", "lost", "twice"]);
        let acknowledged = |advert: &&Advert| advert.prices.last().is_some();
        let adverts = model.adverts.values().filter(acknowledged).count();
        for (name, number) in [
            ("adverts, last price of each", adverts),
            ("adverts delivered", delivered.adverts),
            ("charged calls", model.calls.len()),
            ("calls under an idempotency key", model.repeated as usize),
            ("keys", model.keys.len()),
            ("alerts", model.alerts.len()),
            ("changes of alerts", model.alert_changes as usize),
            ("pages collected", collected.ended),
            ("pages still to be collected", collected.waiting),
            ("imports, each in full", self.tables.imported.len()),
        ] {
            table.add_row([name, &number.to_string(), "0", "0"]);
        }
        println!("{table}");
        println!(
            "{total} faults, {} system calls that failed; {} starts, the longest of {:?}; {} answers refused, {} SQL statements, {} calls without an answer; {} calls \
             repeated; {} deliveries repeated under their identifier, {} adverts still to be delivered; at most {} MiB of \
             memory; {} imports failed and left nothing, {} trainings succeeded and {} failed, {} answers of models",
            self.servers.faults.get(Word::Made),
            self.servers.starts,
            self.servers.longest_start,
            model.refused,
            model.statements,
            model.unanswered,
            model.repetitions,
            delivered.repeated,
            delivered.waiting,
            self.servers.memory_kib >> 10,
            self.tables.undone,
            self.tables.trained,
            self.tables.untrained,
            self.tables.estimates.len(),
        );
    }
}
