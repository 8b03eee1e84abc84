//! `toise alerts`: lists alerts, shows their deliveries and retries or replays them. Works while the server is running;
//! the server does the sending.

mod show;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use super::result::Failure;
use super::table_style::print_list;
use super::values::{id, moment};
use super::{CommandResult, Common};
use toise_accounts::audit::{Act, audited, audited_with_subject};
use toise_alerts::deliveries::{self, PageParams};
use toise_alerts::delivery::{Delivery, DeliveryStatus};
use toise_alerts::replay::{self, ITEMS_MAX, ReplayWindow, replay};
use toise_alerts::request::queries::TAKE_MAX;
use toise_base::clock::Clock;
use toise_contract::dates::DateOrInstant;
use toise_contract::listings::codes::FlxId;
use toise_store::Store;
use toise_store::new_id::NewId;

/// Arguments of `alerts`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example: recover after a receiver outage on Monday

  toise alerts dead-letters
  toise alerts dead-letters --retry-all
  toise alerts replay 019bb126-cee2-7a45-a98c-3cba58e89b2d --from 2026-11-16 --to 2026-11-16")]
pub struct AlertsArgs {
    #[command(subcommand)]
    action: AlertsAction,
}

#[derive(Subcommand, Debug)]
enum AlertsAction {
    /// List alerts, newest first
    List {
        /// Name or id of one account [default: all]
        #[arg(long)]
        account: Option<String>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show an alert, its matches and the state of its deliveries
    Show {
        /// Identifier of the alert
        #[arg(value_parser = id)]
        alert: FlxId,
    },
    /// List the deliveries of an alert, newest first
    Deliveries {
        /// Identifier of the alert
        #[arg(value_parser = id)]
        alert: FlxId,
        /// Filter by status
        #[arg(long, value_enum)]
        status: Option<StatusArg>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// List dead letters, newest first, or retry them
    DeadLetters {
        /// Retry this delivery under its identifier; repeatable
        #[arg(long, value_name = "DELIVERY", value_parser = id)]
        retry: Vec<FlxId>,
        /// Retry all dead letters of active alerts
        #[arg(long, conflicts_with = "retry")]
        retry_all: bool,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Replay the matches of an alert in a time window
    Replay {
        /// Identifier of the alert
        #[arg(value_parser = id)]
        alert: FlxId,
        /// First day or time of the window
        #[arg(long, value_name = "DATE", value_parser = moment)]
        from: DateOrInstant,
        /// Last day or time of the window, included
        #[arg(long, value_name = "DATE", value_parser = moment)]
        to: DateOrInstant,
        /// Maximum number of items; the oldest are sent first
        #[arg(long, value_name = "NUMBER", default_value_t = ITEMS_MAX)]
        max_items: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StatusArg {
    /// Not attempted yet
    Pending,
    /// Accepted by the receiver
    Delivered,
    /// Failed and scheduled for a retry
    Failed,
    /// No longer retried
    Dead,
}

#[derive(Args, Debug)]
struct PageArgs {
    /// Entries to skip
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    skip: usize,
    /// Maximum number of entries to list, up to 100
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    take: usize,
}

impl PageArgs {
    fn page(&self) -> PageParams {
        PageParams {
            skip: self.skip,
            take: self.take.min(TAKE_MAX),
        }
    }
}

/// Runs `alerts`.
pub fn run(common: &Common, arguments: &AlertsArgs) -> CommandResult {
    let store = Store::open(&common.data)?;
    let clock = Clock::system();
    match &arguments.action {
        AlertsAction::List { account, page } => {
            show::list(common, &store, account.as_deref(), page.page())?;
        }
        AlertsAction::Show { alert } => show::show(common, &store, *alert)?,
        AlertsAction::Deliveries {
            alert,
            status,
            page,
        } => {
            deliveries::alert_exists(&store, *alert)?
                .then_some(())
                .ok_or_else(|| format!("no alert {alert}"))?;
            let status = status.map(status_of);
            let found = deliveries::list_for_alert(&store, *alert, status, page.page())?;
            print(common, &found)?;
        }
        AlertsAction::DeadLetters {
            retry,
            retry_all,
            page,
        } => {
            if retry.is_empty() && !retry_all {
                return print(common, &deliveries::dead(&store, page.page())?);
            }
            retry_dead_letters(common, &store, &clock, retry, *retry_all)?;
        }
        AlertsAction::Replay {
            alert,
            from,
            to,
            max_items,
        } => {
            if from.is_after(*to) {
                return Err("--from must not be after --to".into());
            }
            let window = ReplayWindow {
                from_ms: from.first_millisecond(),
                to_ms: to.last_millisecond(),
            };
            replay_matches(common, &store, &clock, *alert, window, *max_items)?;
        }
    }
    Ok(())
}

/// Queues dead letters for another attempt: the given ones, or all dead letters of active alerts.
fn retry_dead_letters(
    common: &Common,
    store: &Store,
    clock: &Clock,
    named: &[FlxId],
    all: bool,
) -> CommandResult {
    let mut retried = 0;
    for delivery in named {
        let retry = Act::at_command_line("alerts dead-letters --retry");
        let retry = retry.on(format!("delivery {delivery}"));
        audited(store, clock, retry, || {
            let retried = deliveries::retry(store, clock, delivery.0);
            retried.map_err(|error| Failure::from(format!("{delivery}: {error}")))
        })?;
        retried += 1;
    }
    if all {
        let act = Act::at_command_line("alerts dead-letters --retry-all");
        let subject = |retried: &usize| Some(format!("{retried} deliveries"));
        let retry = || deliveries::retry_all(store, clock);
        retried = audited_with_subject(store, clock, act, subject, retry)?;
    }
    common.print_result(
        json!({"retried": retried}),
        format!("{retried} deliveries queued; the server retries them"),
    );
    Ok(())
}

/// Queues the matches of an alert in a time window to be sent again.
fn replay_matches(
    common: &Common,
    store: &Store,
    clock: &Clock,
    alert: FlxId,
    window: ReplayWindow,
    items_max: usize,
) -> CommandResult {
    let act = Act::at_command_line("alerts replay").on(format!("alert {alert}"));
    let begun = audited(store, clock, act, || {
        replay(store, clock, alert, window, items_max, NewId::Random).map_err(|error| match error {
            replay::Error::NoAlert => Failure::from(format!("no alert {alert}")),
            error => error.into(),
        })
    })?;
    common.print_result(
        json!({"replay_id": begun.replay_id, "items": begun.items}),
        format!(
            "{} items queued for replay {}; the server sends them",
            begun.items, begun.replay_id
        ),
    );
    Ok(())
}

fn status_of(status: StatusArg) -> DeliveryStatus {
    match status {
        StatusArg::Pending => DeliveryStatus::Pending,
        StatusArg::Delivered => DeliveryStatus::Delivered,
        StatusArg::Failed => DeliveryStatus::Failed,
        StatusArg::Dead => DeliveryStatus::Dead,
    }
}

fn print(common: &Common, deliveries: &[Delivery]) -> CommandResult {
    let rows = deliveries.iter().map(|delivery| {
        let answer = delivery
            .last_error
            .clone()
            .or(delivery.last_status.map(|status| status.to_string()));
        let next = delivery.next_attempt_at.map(|at| at.to_string());
        [
            delivery.delivery_id.to_string(),
            delivery.alert_id.to_string(),
            delivery.created_at.to_string(),
            delivery.items.to_string(),
            delivery.status.as_str().to_owned(),
            delivery.attempts.to_string(),
            answer.unwrap_or_default(),
            next.unwrap_or_default(),
        ]
    });
    let columns = "delivery|alert|created|items|status|attempts|last response|next attempt";
    print_list(common, deliveries, "none", columns, rows)
}
