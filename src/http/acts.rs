//! Administrative acts over HTTP, for the audit log.

use serde_json::Value;

use super::App;
use super::error::ApiError;
use toise_accounts::audit::{self, Act};

/// Maximum length of an answer that is looked into for what it is about, in bytes.
const SUBJECT_BODY_BYTES_MAX: usize = 16 << 10;

/// Appends an act to the log; durable on return.
///
/// # Errors
/// The store cannot be written.
pub(super) async fn append(app: &App, act: Act) -> Result<(), ApiError> {
    let (store, clock) = (app.store.clone(), app.clock.clone());
    let appended = tokio::task::spawn_blocking(move || audit::append(&store, &clock, act)).await;
    Ok(appended.map_err(ApiError::internal)??)
}

/// The key, or else the account, that an administrative answer is about.
pub(super) fn subject(body: &[u8]) -> Option<String> {
    if body.len() > SUBJECT_BODY_BYTES_MAX {
        return None;
    }
    let body: Value = serde_json::from_slice(body).ok()?;
    let (kind, id) = [("key", "key_id"), ("account", "account_id")]
        .into_iter()
        .find_map(|(kind, field)| Some((kind, body["data"][field].as_str()?)))?;
    Some(format!("{kind} {id}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_is_about_the_key_or_else_the_account_of_its_answer() {
        let of = |text: &str| subject(text.as_bytes());
        let both = r#"{"data": {"key_id": "k", "account_id": "a"}}"#;
        assert_eq!(of(both).as_deref(), Some("key k"));
        assert_eq!(
            of(r#"{"data": {"account_id": "a"}}"#).as_deref(),
            Some("account a")
        );
        assert_eq!(of(r#"{"data": []}"#), None);
    }
}
