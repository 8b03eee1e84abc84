//! Billing of calls: reserves quota for all protocols, and charges calls of Flight SQL. The pipeline of HTTP writes its
//! own record of a call, because it also stores the response.

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

/// Reserves a counted call in the month's quota of a key; released unless it is committed.
///
/// # Errors
/// The quota is used up.
pub(crate) async fn reserve(
    app: &App,
    meter: Arc<KeyMeter>,
    now: DateTime<Utc>,
) -> Result<Reservation, ApiError> {
    let reserved = match meter.reserve_known(now) {
        Some(reserved) => reserved,
        None => {
            let (store, ledger) = (app.store.clone(), app.billing.ledger.clone());
            let reserving = move || {
                let waiting = ledger.waiting().calls_of_month(meter.key_id(), now);
                meter.reserve(&store, waiting, now)
            };
            tokio::task::spawn_blocking(reserving)
                .await
                .map_err(ApiError::internal)??
        }
    };
    reserved.map_err(|refused| {
        app.metrics.record_refusal(Refusal::Quota);
        ApiError::QuotaReached(refused)
    })
}

/// Writes the rows of free calls that wait, so that a report includes them. If the ledger cannot be written, the report
/// lacks them. Blocks.
pub fn write_waiting(app: &App) {
    let _ = app.billing.ledger.write_waiting();
}

/// Returns the ledger entry of a counted call.
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
        credits: u64::from(app.billing.prices.of(consumption)) * units,
        at: app.clock.now(),
    }
}

/// Writes a call of one unit to the ledger and commits its reservation.
///
/// # Errors
/// The call costs credits, and the ledger cannot be written. A free call succeeds anyway.
pub async fn charge(
    app: &App,
    key: &KeyRecord,
    request_id: Uuid,
    consumption: Consumption,
    reservation: Option<Reservation>,
) -> Result<(), ApiError> {
    let entry = ledger_entry(app, key, request_id, consumption, 1);
    let credits = entry.credits;
    let record = CallRecord {
        account_id: key.account_id,
        at: entry.at,
        entry: Some(entry),
        answer: None,
    };
    app.billing.ledger.record(record).await?;
    let name = consumption.as_str();
    app.metrics.record_consumption(name, credits, 1);
    if let Some(reservation) = reservation {
        reservation.commit();
    }
    Ok(())
}
