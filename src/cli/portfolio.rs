//! `toise portfolio`: stores homes under a name, shows their values and changes, lists and deletes portfolios. Works
//! while a server is running; the server does the valuing.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::accounts::named_or_default;
use super::result::Failure;
use super::table_style::print_list;
use super::values::moment;
use super::{CommandResult, Common};
use toise_accounts::DEFAULT_ACCOUNT;
use toise_base::clock::Clock;
use toise_contract::dates::DateOrInstant;
use toise_net::egress::EgressGuard;
use toise_portfolios::page::{PageRequest, SIZE_DEFAULT, SIZE_MAX};
use toise_portfolios::{
    MOVED_PERCENT_DEFAULT, Portfolio, PortfolioOptions, Portfolios, StoredPortfolio, ValuedHome,
};
use toise_store::Store;

/// Maximum attempts to read a portfolio: one fails if a valuation has just replaced its files.
const READS_MAX: usize = 3;

/// Arguments of `portfolio`.
#[derive(Args, Debug)]
#[command(after_help = "\
The file (csv, parquet, ndjson or a JSON array, also packed) has one home per row: a unique key in the column key or
id, and the columns of toise estimate. A running server values the homes, and does so again after each new model; it
matches them again after each import of sales or diagnostics.

Example:

  toise portfolio put lyon homes.csv --webhook-url https://client.example/hook --moved-percent 3
  toise portfolio show lyon --changes-since 2026-11-01")]
pub struct PortfolioArgs {
    #[command(subcommand)]
    action: PortfolioAction,
    /// Name or id of the account
    #[arg(long, global = true, default_value = DEFAULT_ACCOUNT)]
    account: String,
}

#[derive(Subcommand, Debug)]
enum PortfolioAction {
    /// Store the homes of a file under a name, replacing those stored before
    Put {
        /// Name of the portfolio
        name: String,
        /// File of homes
        file: PathBuf,
        /// Address to which changes are posted
        #[arg(long, value_name = "URL")]
        webhook_url: Option<String>,
        /// Change of a value, or of an end of its interval, that counts, in percent
        #[arg(long, value_name = "PERCENT", default_value_t = MOVED_PERCENT_DEFAULT)]
        moved_percent: f64,
    },
    /// Show the totals and the homes of a portfolio, or what changed
    Show {
        /// Name of the portfolio
        name: String,
        /// Only homes that changed on this day or later
        #[arg(long, value_name = "DATE", value_parser = moment)]
        changes_since: Option<DateOrInstant>,
        /// Homes to skip
        #[arg(long, value_name = "NUMBER", default_value_t = 0)]
        skip: u64,
        /// Maximum number of homes, up to 1,000
        #[arg(long, value_name = "NUMBER", default_value_t = SIZE_DEFAULT)]
        take: usize,
    },
    /// List the portfolios of the account
    List,
    /// Delete a portfolio with its values
    Delete {
        /// Name of the portfolio
        name: String,
    },
}

/// Runs `portfolio`.
pub fn run(common: &Common, arguments: &PortfolioArgs) -> CommandResult {
    let store = Store::open(&common.data)?;
    let account = named_or_default(&store, &Clock::system(), &arguments.account)?;
    let account = account.account_id;
    let portfolios = Portfolios::new(&common.data, store, Clock::system());
    match &arguments.action {
        PortfolioAction::Put {
            name,
            file,
            webhook_url,
            moved_percent,
        } => {
            if let Some(url) = webhook_url {
                let webhooks = common.configuration(Vec::new())?.config.webhooks;
                let checked = EgressGuard::new(webhooks.allowed()).check_syntax(url);
                checked.map_err(|refused| format!("--webhook-url: {refused}"))?;
            }
            let options = PortfolioOptions {
                webhook_url: webhook_url.clone(),
                moved_percent: *moved_percent,
            };
            let stored = portfolios.put(account, name, file, options);
            print_stored(
                common,
                &stored.map_err(|error| format!("{}: {error}", file.display()))?,
            );
        }
        PortfolioAction::Show {
            name,
            changes_since,
            skip,
            take,
        } => {
            let request = PageRequest {
                changed_since_ms: changes_since.map(DateOrInstant::first_millisecond),
                first: *skip,
                size: (*take).min(SIZE_MAX),
            };
            show(common, &portfolios, (account, name), request)?;
        }
        PortfolioAction::List => list(common, &portfolios.list(account)?)?,
        PortfolioAction::Delete { name } => {
            portfolios
                .delete(account, name)
                .map_err(|error| format!("{name}: {error}"))?;
            common.print_result(json!({"name": name}), format!("{name} deleted"));
        }
    }
    Ok(())
}

fn print_stored(common: &Common, stored: &StoredPortfolio) {
    let portfolio = &stored.portfolio;
    if common.json {
        let mut answer = portfolio.to_json();
        answer["faulty"] = json!(stored.faulty);
        let faults = stored.faults.iter();
        let faults = faults
            .map(|fault| json!({"row": fault.row, "key": fault.key, "message": fault.message}));
        answer["faults"] = faults.collect();
        answer["warnings"] = json!(stored.warnings);
        println!("{answer}");
        return;
    }
    println!(
        "{}: {} homes stored; a running server values them",
        portfolio.name, portfolio.homes
    );
    for fault in &stored.faults {
        eprintln!("row {}: {}: {}", fault.row, fault.key, fault.message);
    }
    if stored.faulty > 0 {
        eprintln!("{} homes cannot be valued", stored.faulty);
    }
    for warning in &stored.warnings {
        eprintln!("warning: {warning}");
    }
}

fn list(common: &Common, portfolios: &[Portfolio]) -> CommandResult {
    let answers: Vec<Value> = portfolios.iter().map(Portfolio::to_json).collect();
    let rows = portfolios.iter().map(|portfolio| {
        [
            portfolio.name.clone(),
            portfolio.homes.to_string(),
            portfolio.updated_at.format("%F %R").to_string(),
            portfolio
                .valued_at
                .map_or_else(|| "waiting".into(), |at| at.format("%F %R").to_string()),
            portfolio.options.webhook_url.clone().unwrap_or_default(),
        ]
    });
    let columns = "name|homes|stored|valued|receiver";
    print_list(common, &answers, "none", columns, rows)
}

fn show(
    common: &Common,
    portfolios: &Portfolios,
    (account, name): (uuid::Uuid, &str),
    request: PageRequest,
) -> Result<(), Failure> {
    let mut read = None;
    for _ in 0..READS_MAX {
        let portfolio = portfolios
            .get(account, name)
            .map_err(|error| format!("{name}: {error}"))?;
        if let Some(page) = portfolios.page(&portfolio, request)? {
            read = Some((portfolio, page));
            break;
        }
    }
    let (portfolio, page) = read.ok_or_else(|| {
        format!("{name}: its files are missing; a running server values it again")
    })?;
    if common.json {
        let mut answer = portfolio.to_json();
        answer["totals"] = json!(page.totals);
        answer["changes"] = json!(page.changes);
        answer["homes"] = page.homes.iter().map(ValuedHome::to_json).collect();
        println!("{answer}");
        return Ok(());
    }
    if portfolio.history_lost {
        eprintln!(
            "warning: a file of values was damaged; the homes are valued again, and what changed until then is lost"
        );
    }
    if portfolio.homes_lost {
        eprintln!(
            "warning: the stored homes were damaged; they keep their values, and are not valued again until you store them again"
        );
    }
    let Some(totals) = page.totals else {
        println!("{name}: {} homes, not valued yet", portfolio.homes);
        return Ok(());
    };
    println!(
        "{name}: {} homes, {} valued at {} EUR in total, {} with errors",
        portfolio.homes, totals.valued, totals.value, totals.errors
    );
    if let Some(changes) = page.changes {
        println!(
            "{} changed; {} values from {} to {} EUR",
            changes.homes, changes.values, changes.value_before, changes.value
        );
    }
    let mut table = crate::table_of("key|value|interval|before|diagnostic|sale|last change");
    for home in &page.homes {
        table.add_row(cells(home));
    }
    println!("{table}");
    Ok(())
}

fn cells(home: &ValuedHome) -> [String; 7] {
    let number = |value: Option<i64>| value.map_or_else(String::new, |value| value.to_string());
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let interval = home.lower.zip(home.upper);
    let mut changes = text(&home.changes);
    // Comparables are named last.
    if let Some(count) = home.new_comparable_count.filter(|count| *count > 1) {
        changes.push_str(&format!(" ({count})"));
    }
    [
        home.key.clone(),
        home.error.clone().unwrap_or_else(|| number(home.price)),
        interval.map_or_else(String::new, |(lower, upper)| format!("{lower} to {upper}")),
        number(home.previous_price),
        text(&home.dpe_class),
        text(&home.sale_date),
        changes,
    ]
}
