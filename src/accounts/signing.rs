//! The credentials of an account's deliveries: a webhook key that receivers compare, and a secret with which they
//! verify signatures.
//!
//! Both must be readable to be used, so they are not hashed as API keys are. They are stored in plain text, or
//! encrypted if there is a master key ([`toise_store::master_key`]), in a file that only its owner can read. Neither
//! can be printed by accident.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Length of a signing secret, bytes; Standard Webhooks recommends at least 24.
const SECRET_BYTES: usize = 32;
const SECRET_PREFIX: &str = "whsec_";
const WEBHOOK_KEY_PREFIX: &str = "whk_";

/// The secret with which deliveries are signed (HMAC-SHA256).
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret([u8; SECRET_BYTES]);

impl SigningSecret {
    /// Generates a new secret.
    pub fn generate() -> Self {
        // The thread's generator is ChaCha, seeded and reseeded from the operating system.
        Self(rand::random())
    }

    /// Returns the bytes of the HMAC key.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the secret in the format of Standard Webhooks, to show to the account's owner: `whsec_` and the bytes in
    /// base64.
    pub fn reveal(&self) -> String {
        format!("{SECRET_PREFIX}{}", STANDARD.encode(self.0))
    }

    pub(super) fn stored(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn from_stored(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SigningSecret(hidden)")
    }
}

/// Value of the `x-webhook-key` header on deliveries.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookKey(String);

impl WebhookKey {
    /// Generates a new key.
    pub fn generate() -> Self {
        let random: [u8; SECRET_BYTES] = rand::random();
        let mut text = WEBHOOK_KEY_PREFIX.to_owned();
        for byte in random {
            text.push_str(&format!("{byte:02x}"));
        }
        Self(text)
    }

    /// Returns the value of the header.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub(super) fn from_stored(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for WebhookKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WebhookKey(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_the_standard_webhooks_format_and_is_not_printed() {
        let secret = SigningSecret::generate();
        let text = secret.reveal();
        let base64 = text.strip_prefix("whsec_").unwrap();
        assert_eq!(STANDARD.decode(base64).unwrap(), secret.bytes());
        assert_ne!(SigningSecret::generate(), secret);
        assert!(!format!("{secret:?}").contains(base64));
        let stored = SigningSecret::from_stored(secret.stored());
        assert_eq!(stored, Some(secret));
        assert_eq!(SigningSecret::from_stored(b"short"), None);
    }

    #[test]
    fn a_webhook_key_fits_a_header_and_is_not_printed() {
        let key = WebhookKey::generate();
        assert!(key.reveal().starts_with("whk_") && key.reveal().len() == 68);
        assert!(key.reveal().bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(!format!("{key:?}").contains(&key.reveal()[4..]));
    }
}
