//! Destinations and credentials of deliveries, read at most once in each turn of the dispatcher.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use reqwest::header::HeaderValue;
use rusqlite::{Connection, OptionalExtension, Row};
use uuid::Uuid;

use super::state::{ReceiverKey, SharedReceiverKey};
use crate::alert::read_delivery_subject;
use crate::payload::PayloadSubject;
use toise_accounts::account::{self, ActiveSecret};
use toise_accounts::signing::WebhookKey;
use toise_contract::listings::codes::FlxId;
use toise_store::columns::uuid;

/// The credentials that an account's deliveries carry.
pub(super) struct Credentials {
    pub webhook_key: HeaderValue,
    /// The webhook key that will soon replace the current one.
    pub next_webhook_key: Option<HeaderValue>,
    pub secrets: Vec<ActiveSecret>,
}

/// The fields of an alert that deliveries need.
pub(super) struct Destination {
    pub subject: PayloadSubject,
    pub account_id: Uuid,
    pub is_active: bool,
    url: String,
}

/// Cache of the rows read in one turn of the dispatcher.
pub(super) struct DestinationCache<'c> {
    connection: &'c Connection,
    now: DateTime<Utc>,
    destinations: HashMap<i64, Option<Arc<Destination>>>,
    credentials: HashMap<Uuid, Option<Arc<Credentials>>>,
}

impl<'c> DestinationCache<'c> {
    pub(super) fn new(connection: &'c Connection, now: DateTime<Utc>) -> Self {
        Self {
            connection,
            now,
            destinations: HashMap::new(),
            credentials: HashMap::new(),
        }
    }

    /// Returns the credentials that an account's deliveries carry; `None` for an unknown account, or if its webhook key
    /// is not a valid header value.
    pub(super) fn credentials(
        &mut self,
        account_id: Uuid,
    ) -> rusqlite::Result<Option<Arc<Credentials>>> {
        if let Some(known) = self.credentials.get(&account_id) {
            return Ok(known.clone());
        }
        let found = account::credentials(self.connection, account_id, self.now)?;
        let credentials = found.and_then(|(account, secrets)| {
            let next = account.next_webhook_key.as_ref();
            Some(Arc::new(Credentials {
                webhook_key: header_value(&account.webhook_key)?,
                next_webhook_key: next.and_then(|next| header_value(&next.key)),
                secrets,
            }))
        });
        self.credentials.insert(account_id, credentials.clone());
        Ok(credentials)
    }

    /// Returns the receiver of an alert's deliveries; `None` if the alert is not active.
    pub(super) fn active_receiver(
        &mut self,
        alert: i64,
    ) -> rusqlite::Result<Option<SharedReceiverKey>> {
        let destination = self.destination(alert)?;
        let active = destination.filter(|destination| destination.is_active);
        Ok(active.map(|destination| destination.receiver()))
    }

    /// Returns the destination of an alert, active or not; `None` for an unknown alert.
    pub(super) fn destination(&mut self, alert: i64) -> rusqlite::Result<Option<Arc<Destination>>> {
        if let Some(known) = self.destinations.get(&alert) {
            return Ok(known.clone());
        }
        let found = self
            .connection
            .prepare_cached(
                "SELECT alert_id, account_id, kind, activated, webhook_url, context FROM alerts WHERE alert = ?1",
            )?
            .query_row([alert], Destination::read)
            .optional()?
            .map(Arc::new);
        self.destinations.insert(alert, found.clone());
        Ok(found)
    }
}

impl Destination {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            subject: PayloadSubject {
                alert_id: FlxId(Uuid::from_bytes(row.get(0)?)),
                subject: read_delivery_subject(row, 2)?,
                context: row.get(5)?,
            },
            account_id: uuid(row, 1)?,
            is_active: row.get(3)?,
            url: row.get(4)?,
        })
    }

    pub(super) fn receiver(&self) -> SharedReceiverKey {
        Arc::new(ReceiverKey {
            account_id: self.account_id,
            url: self.url.clone(),
        })
    }
}

fn header_value(key: &WebhookKey) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(key.reveal()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Reads a receiver from the columns of its account and its URL.
pub(super) fn receiver(row: &Row<'_>) -> rusqlite::Result<SharedReceiverKey> {
    let (account_id, url) = (uuid(row, 0)?, row.get(1)?);
    Ok(Arc::new(ReceiverKey { account_id, url }))
}
