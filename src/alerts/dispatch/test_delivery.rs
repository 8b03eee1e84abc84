//! Test deliveries: posts an empty delivery to the receiver of an alert, so that its owner can check the address and
//! the signature before anything matches.
//!
//! A test is one attempt. It is neither stored nor retried nor charged, and does not count in the receiver's health. It
//! takes none of the slots of deliveries; the service limits tests to [`AT_ONCE_MAX`].

use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde::Serialize;
use uuid::Uuid;

use super::attempt::DeliveryAttempt;
use super::destinations::DestinationCache;
use super::verdict::failure_reason;
use crate::deliveries::find_alert;
use crate::payload::body;
use toise_base::clock::Clock;
use toise_contract::listings::codes::FlxId;
use toise_net::webhook_client::{ConnectionReuse, WebhookClient};
use toise_store::{Result, Store};

/// Maximum test deliveries of all accounts at the same time.
pub const AT_ONCE_MAX: usize = 8;

/// The result of a test delivery, as in the contract.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestedReceiver {
    /// Whether the receiver accepted the delivery.
    pub delivered: bool,
    /// HTTP status of the response; `None` without a response.
    pub status: Option<u16>,
    /// Why the receiver did not accept it.
    pub error: Option<String>,
    /// Time from the first byte sent to the response, milliseconds; `None` if nothing was sent.
    pub duration_ms: Option<i64>,
}

/// A test delivery that is ready to be sent.
pub struct TestDelivery(DeliveryAttempt);

impl TestDelivery {
    /// Prepares a delivery without items to the receiver of an alert, active or not. `None` for an unknown alert.
    /// Blocks.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn prepare(store: &Store, now: DateTime<Utc>, alert_id: FlxId) -> Result<Option<Self>> {
        store.read(|connection| {
            let Some((alert, _)) = find_alert(connection, alert_id)? else {
                return Ok(None);
            };
            let mut cache = DestinationCache::new(connection, now);
            let Some(destination) = cache.destination(alert)? else {
                return Ok(None);
            };
            let Some(credentials) = cache.credentials(destination.account_id)? else {
                return Ok(None);
            };
            let (body, _) = body(&destination.subject, &[], &[]);
            Ok(Some(Self(DeliveryAttempt {
                delivery_id: Uuid::now_v7(),
                url: destination.receiver().url.clone(),
                body: Bytes::from(body),
                credentials,
                connection: ConnectionReuse::Close,
            })))
        })
    }

    /// Sends the delivery, and waits for the response as long as for any delivery.
    pub async fn send(self, poster: &WebhookClient, clock: &Clock) -> TestedReceiver {
        let (posted, sent_at) = self.0.make(poster, clock).await;
        let error = failure_reason(&posted);
        TestedReceiver {
            delivered: error.is_none(),
            status: posted.outcome.ok().map(|answer| answer.status),
            error,
            duration_ms: sent_at.map(|sent_at| (clock.now() - sent_at).num_milliseconds().max(0)),
        }
    }
}
