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

impl From<AnswerError> for ApiError {
    fn from(error: AnswerError) -> Self {
        let of_engine = error.downcast_ref::<toise_engine::Error>();
        if matches!(of_engine, Some(toise_engine::Error::RowsChanged)) {
            ApiError::CursorExpired
        } else {
            ApiError::internal(error)
        }
    }
}

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::Budget(error) => error.into(),
            error => ApiError::Body(error),
        }
    }
}

impl From<BudgetError> for ApiError {
    fn from(error: BudgetError) -> Self {
        match error {
            BudgetError::ShareUsed => ApiError::StillWaiting(error.to_string()),
            BudgetError::Full => ApiError::Overloaded,
        }
    }
}

impl From<Malformed> for ApiError {
    fn from(malformed: Malformed) -> Self {
        ApiError::Malformed(malformed.message())
    }
}

impl From<store::Error> for ApiError {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Overloaded => ApiError::Overloaded,
            error => ApiError::internal(error),
        }
    }
}

impl From<LedgerError> for ApiError {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Overloaded => ApiError::Overloaded,
            LedgerError::Store(error) if error.is_unwritable() => {
                ApiError::unwritable("the ledger cannot be written", &error)
            }
            error => ApiError::internal(error),
        }
    }
}

impl From<SqlError> for ApiError {
    fn from(error: SqlError) -> Self {
        match error {
            SqlError::TooManyAtOnce => {
                ApiError::StillWaiting("too many queries at once for this key".to_owned())
            }
            SqlError::Overloaded => ApiError::Overloaded,
            SqlError::Cancelled => ApiError::TimedOut,
            SqlError::Internal(source) => ApiError::internal(source),
            fault @ (SqlError::Invalid { .. } | SqlError::ReadOnly(_) | SqlError::Limit(_)) => {
                ApiError::Invalid(Fault::new("query", fault.to_string()))
            }
        }
    }
}

impl From<PoolError> for ApiError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Overloaded => ApiError::Overloaded,
            PoolError::Panicked => ApiError::internal(error),
        }
    }
}

impl From<account::Error> for ApiError {
    fn from(error: account::Error) -> Self {
        match error {
            account::Error::Store(error) => error.into(),
            account::Error::BadName => Fault::new("name", account::NAME_RULE).into(),
            account::Error::NameTaken => {
                Fault::new("name", "must be a name that no account has").into()
            }
            account::Error::NoAccount => ApiError::NotFound("account"),
        }
    }
}

impl From<deliveries::Error> for ApiError {
    fn from(error: deliveries::Error) -> Self {
        match error {
            deliveries::Error::Store(error) => error.into(),
            deliveries::Error::NoDelivery => ApiError::NotFound("delivery"),
            deliveries::Error::NotDead(_) | deliveries::Error::Inactive => {
                Fault::new("deliveryId", error.to_string()).into()
            }
        }
    }
}

impl From<keys::Error> for ApiError {
    fn from(error: keys::Error) -> Self {
        match error {
            keys::Error::Store(error) => error.into(),
            keys::Error::Account(error) => error.into(),
            keys::Error::NoKey => ApiError::NotFound("key"),
            keys::Error::Revoked => ApiError::NotFound("working key"),
            keys::Error::Ended => Fault::new("key", error.to_string()).into(),
            keys::Error::PastExpiry => Fault::new("expires_at", "must be in the future").into(),
            keys::Error::BeyondBounds(error) => error.into(),
            keys::Error::AdminOnTestKey => Fault::new("grants", error.to_string()).into(),
        }
    }
}

impl From<replay::Error> for ApiError {
    fn from(error: replay::Error) -> Self {
        match error {
            replay::Error::Store(error) => error.into(),
            replay::Error::NoAlert => ApiError::NotFound("alert"),
            replay::Error::Inactive => Fault::new("alertId", error.to_string()).into(),
            replay::Error::StillWaits | replay::Error::TooMany => {
                ApiError::StillWaiting(error.to_string())
            }
        }
    }
}

impl From<registry::Error> for ApiError {
    fn from(error: registry::Error) -> Self {
        match error {
            registry::Error::Store(error) => error.into(),
            registry::Error::Lake(error) => ApiError::internal(toise_engine::Error::Lake(error)),
            registry::Error::Json(_) => ApiError::internal(error),
            registry::Error::NoAlert => ApiError::NotFound("alert"),
            registry::Error::Refused(fault) => fault.into(),
            registry::Error::TooMany { .. }
            | registry::Error::TooManyKept { .. }
            | registry::Error::TooLong => Fault::new("alerts", error.to_string()).into(),
        }
    }
}

impl From<Unavailable> for ApiError {
    fn from(error: Unavailable) -> Self {
        let seconds = error.retry_after.as_secs_f64().ceil();
        ApiError::UpstreamUnavailable {
            service: "geocoding",
            // A pause lasts an hour at most.
            retry_after_s: seconds as u32,
        }
    }
}

impl From<service::Error> for ApiError {
    fn from(error: service::Error) -> Self {
        match error {
            service::Error::Request(fault) => ApiError::Invalid(fault),
            error => ApiError::internal(error),
        }
    }
}

impl From<csv::Error> for ApiError {
    fn from(error: csv::Error) -> Self {
        match error {
            csv::Error::Request(fault) => ApiError::Invalid(fault),
            csv::Error::Io(error) => ApiError::internal(error),
        }
    }
}

impl From<areas::Error> for ApiError {
    fn from(error: areas::Error) -> Self {
        match error {
            areas::Error::Store(error) => error.into(),
            areas::Error::BadName => Fault::new("name", areas::NAME_RULE).into(),
            areas::Error::TooMany => Fault::new("name", error.to_string()).into(),
        }
    }
}

impl From<toise_report::Error> for ApiError {
    fn from(error: toise_report::Error) -> Self {
        match error {
            toise_report::Error::Invalid(fault) => fault.into(),
            toise_report::Error::NoModel => ApiError::NoModel,
            error => ApiError::internal(error),
        }
    }
}

impl From<portfolios::Error> for ApiError {
    fn from(error: portfolios::Error) -> Self {
        match error {
            portfolios::Error::NotFound => ApiError::NotFound("portfolio"),
            portfolios::Error::Refused(fault) => fault.into(),
            portfolios::Error::Store(error) => error.into(),
            error => ApiError::internal(error),
        }
    }
}

impl From<projects::Error> for ApiError {
    fn from(error: projects::Error) -> Self {
        match error {
            projects::Error::NotFound => ApiError::NotFound("project"),
            projects::Error::WrongState(reason) => ApiError::WrongState(reason),
            projects::Error::Request(fault) => ApiError::Invalid(fault),
            error @ projects::Error::TooManyDrafts => ApiError::StillWaiting(error.to_string()),
            error @ projects::Error::DiskFull => ApiError::NotReady(error.to_string().into()),
            projects::Error::Store(error) => error.into(),
            projects::Error::Io(error) => ApiError::internal(error),
        }
    }
}

impl From<collect::Error> for ApiError {
    fn from(error: collect::Error) -> Self {
        match error {
            collect::Error::Store(error) => error.into(),
            collect::Error::Listings(error) => error.into(),
            error => ApiError::internal(error),
        }
    }
}

impl From<projection::Error> for ApiError {
    fn from(error: projection::Error) -> Self {
        match error {
            projection::Error::Behind => ApiError::Overloaded,
            projection::Error::TextIndexUnavailable => ApiError::NotReady(
                "the text index is being built; searches without keywords and texts are answered"
                    .into(),
            ),
            projection::Error::CursorExpired => ApiError::CursorExpired,
            projection::Error::TooManyTexts => Fault::new("search_query", error.to_string()).into(),
            error => ApiError::internal(error),
        }
    }
}

impl From<toise_erasure::Error> for ApiError {
    fn from(error: toise_erasure::Error) -> Self {
        match error {
            toise_erasure::Error::Busy(_) => ApiError::WrongState(
                "another erasure is running; retry when it has ended".to_owned(),
            ),
            toise_erasure::Error::Store(error) => error.into(),
            toise_erasure::Error::Listings(error) => error.into(),
            error => ApiError::internal(error),
        }
    }
}

impl From<listings::Error> for ApiError {
    fn from(error: listings::Error) -> Self {
        match error {
            listings::Error::Store(error) => error.into(),
            error => ApiError::internal(error),
        }
    }
}
