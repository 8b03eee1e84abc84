//! Who may call, and what a call costs: the one place that admits keys and spends credits, for every way in.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::App;
use super::error::ApiError;
use toise_accounts::key::KeyRecord;
use toise_accounts::ledger::{CallRecord, LedgerEntry};
use toise_accounts::meter::{KeyMeter, Reservation};
use toise_accounts::prices::Consumption;
use toise_telemetry::Refusal;

/// Counts a call against the rate of its key.
///
/// # Errors
/// The key makes too many calls a second.
pub fn admit(app: &App, meter: &KeyMeter) -> Result<(), ApiError> {
    match meter.admit() {
        Ok(_) => Ok(()),
        Err(refused) => {
            app.metrics.record_refusal(Refusal::Rate);
            Err(ApiError::RateLimited(refused))
        }
    }
}

/// Reserves a counted call in the month's quota of a key; released unless it is committed.
///
/// # Errors
/// The quota is used up.
pub async fn reserve(
    app: &App,
    meter: Arc<KeyMeter>,
    now: DateTime<Utc>,
) -> Result<Reservation, ApiError> {
    let reserved = match meter.reserve_known(now) {
        Some(reserved) => reserved,
        None => {
            let store = app.store.clone();
            tokio::task::spawn_blocking(move || meter.reserve(&store, now))
                .await
                .map_err(ApiError::internal)??
        }
    };
    reserved.map_err(|refused| {
        app.metrics.record_refusal(Refusal::Quota);
        ApiError::QuotaReached(refused)
    })
}

/// The row of the ledger for a call that counts.
pub fn ledger_entry(
    app: &App,
    key: &KeyRecord,
    request_id: Uuid,
    consumption: Consumption,
    units: u64,
) -> LedgerEntry {
    LedgerEntry {
        request_id,
        account_id: key.account_id,
        key_id: key.key_id,
        consumption,
        credits: u64::from(app.prices.of(consumption)) * units,
        at: app.clock.now(),
    }
}

/// Writes a call of one unit to the ledger; the reservation is committed with it.
///
/// # Errors
/// The ledger cannot be written.
pub async fn charge(
    app: &App,
    key: &KeyRecord,
    request_id: Uuid,
    consumption: Consumption,
    reservation: Reservation,
) -> Result<(), ApiError> {
    let entry = ledger_entry(app, key, request_id, consumption, 1);
    let credits = entry.credits;
    let record = CallRecord {
        account_id: key.account_id,
        at: entry.at,
        entry: Some(entry),
        answer: None,
    };
    app.ledger.record(record).await?;
    let name = consumption.as_str();
    app.metrics.record_consumption(name, credits, 1);
    reservation.commit();
    Ok(())
}
