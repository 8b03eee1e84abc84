//! A delivery as shown to the owner of the alert and to operators.

use serde::Serialize;
use utoipa::ToSchema;

use toise_contract::listings::codes::{FlxId, Timestamp};

toise_base::named! {
    /// Status of a delivery.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum DeliveryStatus {
        /// Not tried yet, or in flight for the first time.
        Pending = "pending",
        /// Taken by the receiver.
        Delivered = "delivered",
        /// Tried and not taken; it is tried again.
        Failed = "failed",
        /// Given up; sent again only on request.
        Dead = "dead",
    }
}

/// A delivery to an alert's receiver, with all its attempts.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Delivery {
    /// Identifier, the `webhook-id` of every attempt.
    pub delivery_id: FlxId,
    /// The alert that it reports on.
    pub alert_id: FlxId,
    /// Status of the delivery.
    pub status: DeliveryStatus,
    /// Number of attempts made.
    pub attempts: u32,
    /// When the next attempt is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// HTTP status of the last answer; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_status: Option<u16>,
    /// Why the last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the receiver accepted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Timestamp>,
    /// Number of items it reports, 1 to 100.
    pub items: u32,
}
