//! Posts notices for the operator to the address in the configuration, such as an incoming webhook of a chat.
//!
//! The address is the operator's own choice, so it may be a private one, unlike the addresses of customers.

use std::time::Duration;

use serde_json::Value;

use crate::api_client::Error;

/// Attempts to deliver one message.
const ATTEMPTS_MAX: u32 = 3;
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_secs(5);
/// Maximum duration of an attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// Posts a JSON body, up to three times, until the receiver answers with a status of success. Takes 40 s at most.
///
/// # Errors
/// The last attempt failed: the receiver cannot be reached, or answered with another status.
pub async fn post(url: &str, body: &Value) -> Result<(), Error> {
    let failed = |source: reqwest::Error| Error::Connection {
        // The path may hold a secret.
        url: origin(url),
        source: source.without_url(),
    };
    let client = crate::tls::client_builder()
        .user_agent(concat!("toise/", env!("CARGO_PKG_VERSION")))
        .timeout(ATTEMPT_TIMEOUT)
        .build()
        .map_err(failed)?;
    let mut attempt = 1;
    loop {
        let outcome = match client.post(url).json(body).send().await {
            Ok(response) if response.status().is_success() => return Ok(()),
            Ok(response) => Err(Error::Refused(format!(
                "{} answered {}",
                origin(url),
                response.status()
            ))),
            Err(source) => Err(failed(source)),
        };
        if attempt == ATTEMPTS_MAX {
            return outcome;
        }
        attempt += 1;
        tokio::time::sleep(PAUSE).await;
    }
}

/// Returns an address without path and query.
fn origin(url: &str) -> String {
    url::Url::parse(url).map_or_else(
        |_| "the webhook".to_owned(),
        |url| url.origin().ascii_serialization(),
    )
}
