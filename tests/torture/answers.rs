//! Compares responses of a server with the model, while clients continue and at the end.

use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

use reqwest::{Client, RequestBuilder};
use serde_json::Value;

use super::model::Model;
use super::{CALLING, REPEATING};

/// Maximum wait for a response: a server may still be busy after a fault.
const ANSWERED_WITHIN: Duration = Duration::from_secs(60);
const ASK_EVERY: Duration = Duration::from_millis(50);
/// Credits of a charged call. Not 1, so that wrong sums are noticed.
pub const PRICE: u64 = 7;
/// The charged call's type.
pub const CHARGED: &str = "API_OPENDATA_DVF_SEARCH";
/// A period that contains all calls, even if the clock jumped.
const PERIOD: &str = "from_date=2000-01-01&to_date=2999-12-31";

/// One client for all requests: creating a client reads the certificates of the system, which takes longer than most
/// responses.
static CLIENT: LazyLock<Client> = LazyLock::new(crate::support::http_client);

/// The response of a server to a GET.
///
/// # Errors
/// It does not respond with success.
pub async fn read(address: &str, key: &str, path: &str) -> Result<Value, String> {
    answered(address, key, |client, url| client.get(url), path).await
}

/// The response of a server to a request with a body.
///
/// # Errors
/// It does not respond with success.
pub async fn post(address: &str, key: &str, path: &str, body: &Value) -> Result<Value, String> {
    answered(
        address,
        key,
        |client, url| client.post(url).json(body),
        path,
    )
    .await
}

async fn answered(
    address: &str,
    key: &str,
    request: impl Fn(&Client, &str) -> RequestBuilder,
    path: &str,
) -> Result<Value, String> {
    let url = format!("{address}/v2/protected/{path}");
    let since = Instant::now();
    loop {
        let asked = request(&CLIENT, &url).header("x-api-key", key);
        let said = match asked.timeout(ANSWERED_WITHIN).send().await {
            Ok(answer) if answer.status() == 200 => {
                return answer.json().await.map_err(|error| error.to_string());
            }
            Ok(answer) => answer.text().await.unwrap_or_default(),
            Err(error) => error.to_string(),
        };
        if since.elapsed() > ANSWERED_WITHIN {
            return Err(format!("{path}: {said}"));
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}

/// Compares the prices of some adverts with those acknowledged.
///
/// # Errors
/// A price is neither the last acknowledged one nor one requested since.
pub async fn compare_prices(
    address: &str,
    key: &str,
    model: &Mutex<Model>,
    numbers: impl Iterator<Item = u64>,
) -> Result<(), String> {
    for number in numbers {
        let before = model.lock().unwrap().adverts[&number].clone();
        let (Some(id), Some(_)) = (&before.id, before.prices.last()) else {
            continue;
        };
        let record = read(address, key, &format!("adverts/{id}")).await?;
        let price = record["data"]["currentPrice"]["value"].as_u64();
        let now = model.lock().unwrap().adverts[&number].clone();
        let is_right = price.is_some_and(|price| now.prices.allows(&before.prices, &price));
        if !is_right {
            return Err(format!(
                "advert {number}: {price:?} in place of {before:?}, {now:?}: {record}"
            ));
        }
    }
    Ok(())
}

/// Compares the credits in the account's report with those of the calls acknowledged and made.
///
/// # Errors
/// A call was not charged, was charged twice, or at another price.
pub async fn compare_consumption(
    address: &str,
    key: &str,
    model: &Mutex<Model>,
) -> Result<(), String> {
    let of = |model: &Model| (model.calls.len() as u64 + model.repeated, model.unanswered);
    let (answered, _) = of(&model.lock().unwrap());
    let told = read(address, key, &format!("consumption?{PERIOD}")).await?;
    let types = told["data"]["consumption_per_type"].as_array();
    let charged = types.and_then(|types| types.iter().find(|row| row["type"] == CHARGED));
    let number = |field: &str| charged.and_then(|row| row[field].as_u64()).unwrap_or(0);
    let (calls, credits) = (number("calls"), number("credits"));
    let (answered_now, unanswered) = of(&model.lock().unwrap());
    // Those in flight may have been charged and are not counted as made yet.
    let made = answered_now + unanswered + CALLING + REPEATING;
    if credits != calls * PRICE || calls < answered || calls > made {
        return Err(format!(
            "{credits} credits of {calls} calls for {answered} answered and {made} made: {told}"
        ));
    }
    Ok(())
}
