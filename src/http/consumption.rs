//! The consumption report of the key's account.

use serde_json::json;

use super::answer::Answer;
use super::error::ApiError;
use super::pipeline::Call;
use toise_accounts::answers::consumption_answer;
use toise_accounts::requests::parse_period;
use toise_accounts::usage::{Consumer, by_key, by_type};
use toise_contract::query::pairs;

/// Answers with what the account consumed in a period, by type.
pub async fn report(call: &Call<'_>) -> Result<Answer, ApiError> {
    let today = call.app.clock.now().date_naive();
    let period = parse_period(&pairs(call.query)?, today)?;
    let (store, account_id) = (call.app.store.clone(), call.key()?.account_id);
    let read = move || by_key(&store, Consumer::Account(account_id), period);
    let usage = tokio::task::spawn_blocking(read)
        .await
        .map_err(ApiError::internal)?
        .map_err(ApiError::internal)?;
    let body = json!({"data": consumption_answer(&by_type(&usage))});
    Ok(Answer::json(body.to_string()))
}
