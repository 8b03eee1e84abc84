//! The consumption report of the key's account.

use serde_json::json;

use super::answer::Answer;
use super::error::ApiError;
use super::pipeline::Call;
use crate::accounts::consumption::of_account;
use crate::wire::query::{pairs, period};

/// Answers with what the account consumed in a period, by type.
pub async fn report(call: &Call<'_>) -> Result<Answer, ApiError> {
    let today = call.app.clock.now().date_naive();
    let period = period(&pairs(call.query)?, today)?;
    let (store, account_id) = (call.app.store.clone(), call.key()?.account_id);
    let consumed = tokio::task::spawn_blocking(move || of_account(&store, account_id, period))
        .await
        .map_err(ApiError::internal)?
        .map_err(ApiError::internal)?;
    let total: i64 = consumed.iter().map(|consumed| consumed.credits).sum();
    let per_type: Vec<_> = consumed
        .iter()
        .map(|consumed| {
            json!({
                "type": consumed.consumption,
                "credits": consumed.credits,
                "calls": consumed.calls,
            })
        })
        .collect();
    let body = json!({"data": {"total_credits": total, "consumption_per_type": per_type}});
    Ok(Answer::json(body.to_string()))
}
