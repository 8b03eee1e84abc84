//! `toise accounts`: creates and shows accounts, rotates signing secrets and reports consumption. Works while the
//! server is running.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use uuid::Uuid;

use super::result::Failure;
use super::table_style::print_list;
use super::usage::{self, PeriodArgs, UsagePart};
use super::{CommandResult, Common};
use toise_accounts::DEFAULT_ACCOUNT;
use toise_accounts::account::{self, Account, ActiveSecret, SECRET_OVERLAP};
use toise_accounts::audit::{Act, audited, audited_with_subject};
use toise_accounts::json::{account_json, moment};
use toise_accounts::signing::SigningSecret;
use toise_accounts::usage::{Usage, UsageScope, by_key};
use toise_base::clock::Clock;
use toise_store::Store;
use toise_store::new_id::NewId;

/// Arguments of `accounts`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example: show what a webhook receiver needs

  toise accounts show --json")]
pub struct AccountsArgs {
    #[command(subcommand)]
    action: AccountsAction,
}

impl AccountsArgs {
    /// Returns whether the command creates something, also in a new data folder.
    pub(crate) fn creates(&self) -> bool {
        matches!(self.action, AccountsAction::Create { .. })
    }
}

#[derive(Subcommand, Debug)]
enum AccountsAction {
    /// Create an account and show its secrets
    Create {
        /// Name of the account; must be unique
        name: String,
    },
    /// List accounts, without their signing secrets
    List,
    /// Show an account, its webhook key and its signing secret
    Show {
        /// Name or id of the account; the account `default` is created if absent
        #[arg(default_value = DEFAULT_ACCOUNT)]
        account: String,
    },
    /// Replace the signing secret; deliveries carry both signatures for 24 hours
    Rotate {
        /// Name or id of the account
        #[arg(default_value = DEFAULT_ACCOUNT)]
        account: String,
    },
    /// Replace the webhook key; for 24 hours deliveries carry the new one in x-webhook-key-next
    RotateWebhookKey {
        /// Name or id of the account
        #[arg(default_value = DEFAULT_ACCOUNT)]
        account: String,
        /// Replace it immediately, because it has leaked
        #[arg(long)]
        now: bool,
    },
    /// Report the consumption of accounts in a period
    Usage {
        /// Name or id of one account [default: all]
        account: Option<String>,
        #[command(flatten)]
        period: PeriodArgs,
    },
}

/// Runs `accounts`.
pub fn run(common: &Common, arguments: &AccountsArgs) -> CommandResult {
    let store = Store::open(&common.data)?;
    let clock = Clock::system();
    match &arguments.action {
        AccountsAction::Create { name } => {
            let create = || account::create(&store, &clock, name, NewId::Random);
            let (account, secret) = audited_with_subject(
                &store,
                &clock,
                Act::at_command_line("accounts create"),
                |made| Some(subject(made.0.account_id)),
                create,
            )?;
            print_new(common, &account, &secret);
        }
        AccountsAction::List => {
            let accounts = account::list(&store)?.into_iter();
            let accounts: Vec<Account> = accounts.map(|one| one.at(clock.now())).collect();
            print_all(common, &accounts)?;
        }
        AccountsAction::Show { account } => {
            let act = act_on(&store, "accounts show", account);
            let seen = |shown: &(Account, Vec<ActiveSecret>)| Some(subject(shown.0.account_id));
            let show = || show(&store, &clock, account);
            let (account, signing) = audited_with_subject(&store, &clock, act, seen, show)?;
            print_whole(common, &account, &signing);
        }
        AccountsAction::Rotate { account } => {
            let act = act_on(&store, "accounts rotate", account);
            let (account, secret) = audited(&store, &clock, act, || -> Result<_, Failure> {
                let account_id = named(&store, account)?.account_id;
                Ok(account::rotate_secret(&store, &clock, account_id)?)
            })?;
            print_new(common, &account, &secret);
            if !common.json {
                eprintln!("the old secret also signs deliveries for 24 hours");
            }
        }
        AccountsAction::RotateWebhookKey { account, now } => {
            let overlap = if *now { Duration::ZERO } else { SECRET_OVERLAP };
            let act = act_on(&store, "accounts rotate-webhook-key", account);
            let account = audited(&store, &clock, act, || -> Result<_, Failure> {
                let account_id = named(&store, account)?.account_id;
                let rotated = account::rotate_webhook_key(&store, &clock, account_id, overlap);
                Ok(rotated?)
            })?;
            print_whole(common, &account, &[]);
        }
        AccountsAction::Usage { account, period } => {
            let period = period.period()?;
            let (consumer, accounts) = match account {
                None => (UsageScope::All, account::list(&store)?),
                Some(account) => {
                    let account = named(&store, account)?;
                    (UsageScope::Account(account.account_id), vec![account])
                }
            };
            usage::write_journals(&store, &clock);
            let consumed = by_key(&store, consumer, period)?;
            let parts: Vec<UsagePart<'_>> = accounts
                .iter()
                .map(|account| part_of(account, &consumed))
                .collect();
            usage::print(common, "account", period, &parts)?;
        }
    }
    Ok(())
}

/// Returns the name of an account in the audit log.
fn subject(account_id: Uuid) -> String {
    format!("account {account_id}")
}

/// Returns an act on the account with this name or id. If there is no such account, the act names the given text.
fn act_on(store: &Store, action: &str, name_or_id: &str) -> Act {
    let found = account::get_named(store, name_or_id);
    let subject = found.map_or_else(
        |_| format!("account {name_or_id:?}"),
        |account| subject(account.account_id),
    );
    Act::at_command_line(action).on(subject)
}

/// Returns an account and the secrets that sign its deliveries. Creates the default account if it does not exist.
fn show(
    store: &Store,
    clock: &Clock,
    name_or_id: &str,
) -> Result<(Account, Vec<ActiveSecret>), Failure> {
    let account = named_or_default(store, clock, name_or_id)?;
    let signing = account::signing_secrets(store, account.account_id, clock.now())?;
    Ok((account, signing))
}

/// Finds an account by name or id. Creates the default account if it does not exist.
pub(crate) fn named_or_default(
    store: &Store,
    clock: &Clock,
    name_or_id: &str,
) -> Result<Account, Failure> {
    match account::get_named(store, name_or_id) {
        Err(account::Error::NoAccount) if name_or_id == DEFAULT_ACCOUNT => {
            Ok(account::find_or_create(store, clock, name_or_id)?)
        }
        _ => Ok(named(store, name_or_id)?.at(clock.now())),
    }
}

/// Finds an account by name or id; the error message for an unknown account names the command that creates one.
fn named(store: &Store, name_or_id: &str) -> Result<Account, Failure> {
    account::get_named(store, name_or_id).map_err(|error| match error {
        account::Error::NoAccount => {
            format!("no account {name_or_id:?}; create it with `toise accounts create`").into()
        }
        error => error.into(),
    })
}

fn part_of<'u>(account: &Account, consumed: &'u [Usage]) -> UsagePart<'u> {
    UsagePart {
        label: account.name.clone(),
        identity: json!({"account_id": account.account_id, "name": account.name}),
        usage: consumed
            .iter()
            .filter(|part| part.account_id == account.account_id)
            .collect(),
    }
}

fn print_new(common: &Common, account: &Account, secret: &SigningSecret) {
    let signing = ActiveSecret {
        secret: secret.clone(),
        valid_until: None,
    };
    print_whole(common, account, &[signing]);
}

fn print_all(common: &Common, accounts: &[Account]) -> CommandResult {
    let answers = accounts.iter().map(|account| account_json(account, None));
    let answers: Vec<Value> = answers.collect();
    let rows = accounts.iter().map(|account| {
        [
            account.account_id.to_string(),
            account.name.clone(),
            account.created_at.date_naive().to_string(),
        ]
    });
    let none = "none; the first key creates one: toise keys create";
    print_list(common, &answers, none, "account id|name|created", rows)
}

fn print_whole(common: &Common, account: &Account, signing: &[ActiveSecret]) {
    let present = signing.iter().find(|signing| signing.valid_until.is_none());
    let former = signing
        .iter()
        .filter_map(|signing| Some((&signing.secret, signing.valid_until?)));
    if common.json {
        let mut answer = account_json(account, present.map(|signing| &signing.secret));
        let former: Vec<Value> = former
            .map(
                |(secret, until)| json!({"signing_secret": secret.reveal(), "valid_until": moment(until)}),
            )
            .collect();
        if !former.is_empty() {
            answer["former_signing_secrets"] = Value::from(former);
        }
        println!("{answer}");
        return;
    }
    let mut table = crate::table();
    table.add_row(["account id", &account.account_id.to_string()]);
    table.add_row(["name", &account.name]);
    table.add_row(["created", &account.created_at.date_naive().to_string()]);
    table.add_row(["webhook key", account.webhook_key.reveal()]);
    if let Some(next) = &account.next_webhook_key {
        let from = next.from.format("%Y-%m-%d %H:%M UTC");
        table.add_row([
            format!("next webhook key, from {from}"),
            next.key.reveal().to_owned(),
        ]);
    }
    if let Some(present) = present {
        table.add_row(["signing secret", &present.secret.reveal()]);
    }
    for (secret, until) in former {
        let until = until.format("%Y-%m-%d %H:%M UTC");
        table.add_row([
            format!("previous secret, signs until {until}"),
            secret.reveal(),
        ]);
    }
    println!("{table}");
}
