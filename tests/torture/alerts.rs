//! A client that creates, changes and deletes alerts, and repeats each call under its idempotency key until it is
//! answered; and the comparison of all alerts with the acknowledged ones.

use std::collections::BTreeMap;
use std::sync::Mutex;

use reqwest::Method;
use serde_json::{Value, json};
use toise::contract::listings::filters::ListingKind;

use super::answers::read;
use super::history::History;
use super::model::{BETWEEN, Client, Model};
use crate::support::alerts::{body, with};

/// Maximum alerts that the client creates; afterwards it only changes them.
const ALERTS_MAX: usize = 24;
/// One call in this many creates an alert, until there are enough.
const NEW_ONCE_IN: usize = 4;
const ALERTS: &str = "adverts/search/alerts";

/// An alert: its name, and whether it is active.
#[derive(Clone, Debug, Default)]
pub struct Alert {
    name: History<String>,
    is_active: History<bool>,
}

impl Client {
    /// Creates and changes alerts that match nothing, for a receiver.
    pub async fn change_alerts(mut self, receiver: String) {
        let mut own: Vec<String> = Vec::new();
        for number in 0_u64.. {
            if !self.goes_on() {
                return;
            }
            tokio::time::sleep(BETWEEN * 4).await;
            let name = format!("alert {number}");
            let makes = own.is_empty() || self.draw.once_in(NEW_ONCE_IN);
            if makes && own.len() < ALERTS_MAX {
                let alert = body(
                    ListingKind::Advert,
                    &json!({"type": ["CLASS_PARKING"]}),
                    &["ALERT_MATCH_CREATED"],
                );
                let alert = with(alert, json!({"webhook_url": receiver, "search_name": name}));
                self.model().alerts_asked += 1;
                let made = self.insist(Method::PUT, ALERTS, &alert).await;
                let Some(id) = made["data"]["alert_id"].as_str().map(str::to_owned) else {
                    return;
                };
                let alert = Alert {
                    name: History::begun(name),
                    is_active: History::begun(true),
                };
                self.model().alerts.insert(id.clone(), alert);
                own.push(id);
                continue;
            }
            let id = self.draw.one_of(&own).clone();
            let path = format!("{ALERTS}/{id}");
            if self.draw.once_in(3) {
                self.with_alert(&id, |alert| alert.is_active.ask(false));
                self.insist(Method::DELETE, &path, &Value::Null).await;
                self.with_alert(&id, |alert| alert.is_active.acknowledge(false));
            } else {
                self.with_alert(&id, |alert| {
                    alert.name.ask(name.clone());
                    alert.is_active.ask(true);
                });
                let change = json!({"search_name": name});
                self.insist(Method::PATCH, &path, &change).await;
                self.with_alert(&id, |alert| {
                    alert.name.acknowledge(name);
                    alert.is_active.acknowledge(true);
                });
            }
            self.model().alert_changes += 1;
        }
    }

    fn with_alert(&self, id: &str, change: impl FnOnce(&mut Alert)) {
        change(self.model().alerts.get_mut(id).unwrap());
    }
}

/// Compares the alerts that a server lists with the acknowledged ones.
///
/// # Errors
/// One is lost, duplicated, or differs from its acknowledged state.
pub async fn compare_alerts(address: &str, key: &str, model: &Mutex<Model>) -> Result<(), String> {
    let before = model.lock().unwrap().alerts.clone();
    let told = read(address, key, &format!("{ALERTS}/all")).await?;
    let told: BTreeMap<&str, &Value> = told["data"]
        .as_array()
        .ok_or_else(|| format!("no alerts: {told}"))?
        .iter()
        .filter_map(|alert| Some((alert["alert_id"].as_str()?, alert)))
        .collect();
    let now = model.lock().unwrap();
    for (id, before) in &before {
        let (now, Some(told)) = (&now.alerts[id], told.get(id.as_str())) else {
            return Err(format!("alert {id} is lost"));
        };
        let name = told["search_name"].as_str().unwrap_or_default().to_owned();
        let is_active = told["activated"].as_bool().unwrap_or_default();
        if !now.name.allows(&before.name, &name)
            || !now.is_active.allows(&before.is_active, &is_active)
        {
            return Err(format!(
                "alert {id} is {told} in place of {before:?}, {now:?}"
            ));
        }
    }
    // There is one more: the alert whose deliveries are compared.
    if told.len() as u64 > now.alerts_asked + 1 {
        return Err(format!(
            "{} alerts of {} asked for",
            told.len(),
            now.alerts_asked + 1
        ));
    }
    Ok(())
}
