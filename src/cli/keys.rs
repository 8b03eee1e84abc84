//! `toise keys`: makes, lists and revokes keys, also beside a running server, which notices within a second.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{CommandResult, Common};
use crate::accounts::DEFAULT_ACCOUNT;
use crate::accounts::keys::{self, KeyRecord, Kind};
use crate::accounts::scopes::Scopes;
use crate::clock::Clock;
use crate::store::Store;

/// Arguments of `keys`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example: a key to try with, for one account

  toise keys create --kind test --account agence-du-port")]
pub struct KeysArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Make a key and show it, this once
    Create {
        /// A test key lives 7 days, a production key until revoked
        #[arg(long, value_enum, default_value = "production")]
        kind: Kind,
        /// Scopes separated by commas [default: those of the kind, never admin]
        #[arg(long, value_name = "SCOPES")]
        scopes: Option<String>,
        /// Name of the account that owns it, made when there is none
        #[arg(long, value_name = "NAME", default_value = DEFAULT_ACCOUNT)]
        account: String,
    },
    /// List keys, without their text
    List,
    /// Revoke a key
    Revoke {
        /// The key, or its id
        key: String,
    },
}

/// Runs `keys`.
pub fn run(common: &Common, arguments: &KeysArgs) -> CommandResult {
    let store = Store::open(&common.data)?;
    let clock = Clock::system();
    match &arguments.action {
        Action::Create {
            kind,
            scopes,
            account,
        } => {
            let scopes = match scopes {
                Some(scopes) => Scopes::parse(scopes)?,
                None => kind.default_scopes(),
            };
            let new = keys::create(&store, &clock, *kind, scopes, account)?;
            if common.json {
                let (key_id, account_id) = (new.key_id, new.account_id);
                println!(
                    "{}",
                    json!({"key": new.key, "key_id": key_id, "account_id": account_id})
                );
            } else {
                println!("{}", new.key);
                eprintln!(
                    "key {} of account {account}; it is not shown again",
                    new.key_id
                );
            }
        }
        Action::List => {
            let records = keys::list(&store)?;
            if common.json {
                let records: Vec<Value> = records.iter().map(as_json).collect();
                println!("{}", Value::from(records));
            } else {
                print_table(&records, &clock);
            }
        }
        Action::Revoke { key } => {
            let key_id = keys::revoke(&store, &clock, key)?.ok_or("no such key")?;
            if common.json {
                println!("{}", json!({"key_id": key_id, "revoked": true}));
            } else {
                println!("revoked {key_id}");
            }
        }
    }
    Ok(())
}

fn as_json(record: &KeyRecord) -> Value {
    let moment = |moment: chrono::DateTime<chrono::Utc>| {
        moment.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
    };
    json!({
        "key_id": record.key_id,
        "account_id": record.account_id,
        "account": record.account,
        "kind": record.kind.as_str(),
        "scopes": record.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>(),
        "created_at": moment(record.created_at),
        "expires_at": record.expires_at.map(moment),
        "revoked_at": record.revoked_at.map(moment),
    })
}

fn print_table(records: &[KeyRecord], clock: &Clock) {
    let mut table = comfy_table::Table::new();
    table.set_header(["key id", "account", "kind", "scopes", "created", "state"]);
    for record in records {
        let state = if record.revoked_at.is_some() {
            "revoked"
        } else if record.works_at(clock.now()) {
            "works"
        } else {
            "expired"
        };
        table.add_row([
            record.key_id.to_string(),
            record.account.clone(),
            record.kind.as_str().to_owned(),
            record.scopes.to_string(),
            record.created_at.date_naive().to_string(),
            state.to_owned(),
        ]);
    }
    println!("{table}");
}
