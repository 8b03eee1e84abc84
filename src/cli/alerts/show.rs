//! `toise alerts list` and `show`: lists alerts, or shows one alert with its delivery status.

use serde_json::Value;

use super::super::table_style::print_list;
use super::super::{CommandResult, Common};
use toise_accounts::account;
use toise_alerts::alert::Alert;
use toise_alerts::deliveries::PageParams;
use toise_alerts::overview::{self, Overview, operator_json};
use toise_contract::listings::codes::FlxId;
use toise_layers::Layers;
use toise_store::Store;

/// Lists the alerts of one account, or of all accounts.
pub(super) fn list(
    common: &Common,
    store: &Store,
    account: Option<&str>,
    page: PageParams,
) -> CommandResult {
    let account = match account {
        None => None,
        Some(name) => Some(
            account::get_named(store, name)
                .map_err(|error| format!("account {name:?}: {error}"))?
                .account_id,
        ),
    };
    let alerts = overview::list(store, account, page)?;
    let names = account::list(store)?;
    let answers: Vec<Value> = alerts.iter().map(operator_json).collect();
    let rows = alerts.iter().map(|alert| {
        let owner = names.iter().find(|known| known.account_id == alert.account);
        [
            alert.id.to_string(),
            owner.map_or_else(|| alert.account.to_string(), |owner| owner.name.clone()),
            alert.search_name.clone(),
            alert.subject.table().to_owned(),
            state(alert),
            alert.match_kinds.join("\n"),
            alert.webhook_url.clone(),
            alert.updated_at.to_string(),
        ]
    });
    let columns = "alert|account|name|listings|state|events|receiver|updated";
    print_list(common, &answers, "none", columns, rows)
}

/// Shows one alert of any account.
pub(super) fn show(common: &Common, store: &Store, id: FlxId) -> CommandResult {
    let layers = Layers::of(&common.data);
    let found = overview::show(store, id, &layers)?.ok_or_else(|| format!("no alert {id}"))?;
    if common.json {
        println!("{}", found.to_json())
    } else {
        print(store, &found)?
    }
    Ok(())
}

fn print(store: &Store, found: &Overview) -> CommandResult {
    let alert = &found.alert;
    let owner = account::get(store, alert.account)?;
    let deliveries: Vec<String> = found
        .deliveries
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(status, count)| format!("{count} {}", status.as_str()))
        .collect();
    let mut rows = vec![
        ("alert", alert.id.to_string()),
        ("account", format!("{} ({})", owner.name, owner.account_id)),
        ("name", alert.search_name.clone()),
        ("listings", alert.subject.table().to_owned()),
        ("state", state(alert)),
        ("search", serde_json::to_string_pretty(&alert.search_query)?),
        ("events", alert.match_kinds.join("\n")),
        ("receiver", alert.webhook_url.clone()),
        ("created", alert.created_at.to_string()),
        ("updated", alert.updated_at.to_string()),
        ("matches", found.matches.to_string()),
        (
            "waiting",
            format!("{} not yet in a delivery", found.waiting),
        ),
        (
            "deliveries",
            if deliveries.is_empty() {
                "none".into()
            } else {
                deliveries.join(", ")
            },
        ),
    ];
    if let Some(context) = &alert.context {
        rows.push(("context", serde_json::to_string_pretty(context)?));
    }
    if let Some(since) = found.failing_since {
        rows.push(("failing", format!("since {since}")));
    }
    if let Some(reason) = &found.unmatched_because {
        rows.push(("matches nothing", reason.clone()));
    }
    let mut table = crate::table();
    for (name, value) in rows {
        table.add_row([name.to_owned(), value]);
    }
    println!("{table}");
    Ok(())
}

/// Returns whether the alert is active or, if not, why it ended.
fn state(alert: &Alert) -> String {
    match alert.deactivated {
        None => "active".into(),
        Some(reason) => format!("ended: {}", reason.as_str()),
    }
}
