//! One attempt: signs and posts a delivery, and returns the outcome.

use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::time::Instant;
use uuid::Uuid;

use super::destinations::Credentials;
use crate::signature::{
    ID_HEADER, KEY_HEADER, NEXT_KEY_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, sign,
};
use toise_base::clock::Clock;
use toise_net::webhook_client::{ConnectionReuse, PostOutcome, WebhookClient};

/// A delivery to be posted.
pub(super) struct DeliveryAttempt {
    pub delivery_id: Uuid,
    pub url: String,
    pub body: Bytes,
    pub credentials: Arc<Credentials>,
    pub connection: ConnectionReuse,
}

impl DeliveryAttempt {
    /// Posts the delivery; returns the outcome and the time at which its first byte was sent.
    pub(super) async fn make(
        self,
        poster: &WebhookClient,
        clock: &Clock,
    ) -> (PostOutcome, Option<DateTime<Utc>>) {
        let now = clock.now();
        let posted = poster
            .post(
                &self.url,
                self.headers(now),
                self.body,
                self.connection,
                now,
            )
            .await;
        let sent_at = posted
            .sent_at
            .map(|sent_at| clock.now() - Instant::now().duration_since(sent_at));
        (posted, sent_at)
    }

    fn headers(&self, now: DateTime<Utc>) -> HeaderMap {
        let id = self.delivery_id.to_string();
        let secrets = self
            .credentials
            .secrets
            .iter()
            .map(|signing| signing.secret.bytes());
        let signatures = sign(secrets, &id, now.timestamp(), &self.body);
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(KEY_HEADER, self.credentials.webhook_key.clone());
        if let Some(next) = &self.credentials.next_webhook_key {
            headers.insert(NEXT_KEY_HEADER, next.clone());
        }
        headers.insert(TIMESTAMP_HEADER, HeaderValue::from(now.timestamp()));
        for (name, text) in [(ID_HEADER, id), (SIGNATURE_HEADER, signatures)] {
            // Identifiers and base64 are valid header values.
            if let Ok(value) = HeaderValue::try_from(text) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        headers
    }
}
