//! Maps the errors of other crates to errors for clients.

use toise_accounts::ledger::LedgerError;
use toise_accounts::{account, areas, keys};
use toise_alerts::{deliveries, registry, replay};
use toise_collect as collect;
use toise_contract::Fault;
use toise_engine::pool::PoolError;
use toise_geocode::file::csv;
use toise_geocode::upstream::Unavailable;
use toise_geocode::{projects, service};
use toise_listings as listings;
use toise_listings::search::projection;
use toise_portfolios as portfolios;
use toise_sql::SqlError;
use toise_store as store;
use toise_transport::body::BodyError;
use toise_transport::body_budget::BudgetError;
use toise_transport::malformed::Malformed;

use super::ApiError;
use crate::open_data::AnswerError;

/// Implements `From` for [`ApiError`] with a function of each error.
macro_rules! conversions {
    ($(|$error:ident: $kind:ty| $body:expr;)+) => {$(
        impl From<$kind> for ApiError {
            fn from($error: $kind) -> Self {
                $body
            }
        }
    )+};
}

conversions! {
    |error: AnswerError| {
        let of_engine = error.downcast_ref::<toise_engine::Error>();
        if matches!(of_engine, Some(toise_engine::Error::RowsChanged)) {
            ApiError::CursorExpired
        } else {
            ApiError::internal(error)
        }
    };
    |error: BodyError| match error {
        BodyError::Budget(error) => error.into(),
        error => ApiError::Body(error),
    };
    |error: BudgetError| match error {
        BudgetError::ShareUsed => ApiError::StillWaiting(error.to_string()),
        BudgetError::Full => ApiError::Overloaded,
    };
    |malformed: Malformed| ApiError::Malformed(malformed.message());
    |error: store::Error| match error {
        store::Error::Overloaded => ApiError::Overloaded,
        error => ApiError::internal(error),
    };
    |error: LedgerError| match error {
        LedgerError::Overloaded => ApiError::Overloaded,
        LedgerError::Store(error) if error.is_unwritable() => {
            ApiError::unwritable("the ledger cannot be written", &error)
        }
        error => ApiError::internal(error),
    };
    |error: SqlError| match error {
        SqlError::TooManyAtOnce => {
            ApiError::StillWaiting("too many queries at once for this key".to_owned())
        }
        SqlError::Overloaded => ApiError::Overloaded,
        SqlError::Cancelled => ApiError::TimedOut,
        SqlError::Internal(source) => ApiError::internal(source),
        fault @ (SqlError::Invalid { .. } | SqlError::ReadOnly(_) | SqlError::Limit(_)) => {
            ApiError::Invalid(Fault::new("query", fault.to_string()))
        }
    };
    |error: PoolError| match error {
        PoolError::Overloaded => ApiError::Overloaded,
        PoolError::Panicked => ApiError::internal(error),
    };
    |error: account::Error| match error {
        account::Error::Store(error) => error.into(),
        account::Error::BadName => Fault::new("name", account::NAME_RULE).into(),
        account::Error::NameTaken => {
            Fault::new("name", "must be a name that no account has").into()
        }
        account::Error::NoAccount => ApiError::NotFound("account"),
    };
    |error: deliveries::Error| match error {
        deliveries::Error::Store(error) => error.into(),
        deliveries::Error::NoDelivery => ApiError::NotFound("delivery"),
        deliveries::Error::NotDead(_) | deliveries::Error::Inactive => {
            Fault::new("deliveryId", error.to_string()).into()
        }
    };
    |error: keys::Error| match error {
        keys::Error::Store(error) => error.into(),
        keys::Error::Account(error) => error.into(),
        keys::Error::NoKey => ApiError::NotFound("key"),
        keys::Error::Revoked => ApiError::NotFound("working key"),
        keys::Error::Ended => Fault::new("key", error.to_string()).into(),
        keys::Error::PastExpiry => Fault::new("expires_at", "must be in the future").into(),
        keys::Error::BeyondBounds(error) => error.into(),
        keys::Error::AdminOnTestKey => Fault::new("grants", error.to_string()).into(),
    };
    |error: replay::Error| match error {
        replay::Error::Store(error) => error.into(),
        replay::Error::NoAlert => ApiError::NotFound("alert"),
        replay::Error::Inactive => Fault::new("alertId", error.to_string()).into(),
        replay::Error::StillWaits | replay::Error::TooMany => {
            ApiError::StillWaiting(error.to_string())
        }
    };
    |error: registry::Error| match error {
        registry::Error::Store(error) => error.into(),
        registry::Error::Lake(error) => ApiError::internal(toise_engine::Error::Lake(error)),
        registry::Error::Json(_) => ApiError::internal(error),
        registry::Error::NoAlert => ApiError::NotFound("alert"),
        registry::Error::Refused(fault) => fault.into(),
        registry::Error::TooMany { .. }
        | registry::Error::TooManyKept { .. }
        | registry::Error::TooLong => Fault::new("alerts", error.to_string()).into(),
    };
    |error: Unavailable| {
        let seconds = error.retry_after.as_secs_f64().ceil();
        ApiError::UpstreamUnavailable {
            service: "geocoding",
            // A pause lasts an hour at most.
            retry_after_s: seconds as u32,
        }
    };
    |error: service::Error| match error {
        service::Error::Request(fault) => ApiError::Invalid(fault),
        error => ApiError::internal(error),
    };
    |error: csv::Error| match error {
        csv::Error::Request(fault) => ApiError::Invalid(fault),
        csv::Error::Io(error) => ApiError::internal(error),
    };
    |error: areas::Error| match error {
        areas::Error::Store(error) => error.into(),
        areas::Error::BadName => Fault::new("name", areas::NAME_RULE).into(),
        areas::Error::TooMany => Fault::new("name", error.to_string()).into(),
    };
    |error: toise_report::Error| match error {
        toise_report::Error::Invalid(fault) => fault.into(),
        toise_report::Error::NoModel => ApiError::NoModel,
        error => ApiError::internal(error),
    };
    |error: portfolios::Error| match error {
        portfolios::Error::NotFound => ApiError::NotFound("portfolio"),
        portfolios::Error::Refused(fault) => fault.into(),
        portfolios::Error::Store(error) => error.into(),
        error => ApiError::internal(error),
    };
    |error: projects::Error| match error {
        projects::Error::NotFound => ApiError::NotFound("project"),
        projects::Error::WrongState(reason) => ApiError::WrongState(reason),
        projects::Error::Request(fault) => ApiError::Invalid(fault),
        error @ projects::Error::TooManyDrafts => ApiError::StillWaiting(error.to_string()),
        error @ projects::Error::DiskFull => ApiError::NotReady(error.to_string().into()),
        projects::Error::Store(error) => error.into(),
        projects::Error::Io(error) => ApiError::internal(error),
    };
    |error: collect::Error| match error {
        collect::Error::Store(error) => error.into(),
        collect::Error::Listings(error) => error.into(),
        error => ApiError::internal(error),
    };
    |error: projection::Error| match error {
        projection::Error::Behind => ApiError::Overloaded,
        projection::Error::TextIndexUnavailable => ApiError::NotReady(
            "the text index is being built; searches without keywords and texts are answered"
                .into(),
        ),
        projection::Error::CursorExpired => ApiError::CursorExpired,
        projection::Error::TooManyTexts => Fault::new("search_query", error.to_string()).into(),
        error => ApiError::internal(error),
    };
    |error: toise_erasure::Error| match error {
        toise_erasure::Error::Busy(_) => ApiError::WrongState(
            "another erasure is running; retry when it has ended".to_owned(),
        ),
        toise_erasure::Error::Store(error) => error.into(),
        toise_erasure::Error::Listings(error) => error.into(),
        error => ApiError::internal(error),
    };
    |error: listings::Error| match error {
        listings::Error::Store(error) => error.into(),
        error => ApiError::internal(error),
    };
}
