//! How a row of the table is written: what each kind of route has in common.

use warp::http::Method;

use super::super::samples::Sample;
use super::{Access, AdminAction, AlertAction, BodyRule, Counting, Endpoint, Route};
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_contract::listings::filters::Listing;

use Access::Scoped;
use AlertAction::{
    Activate, Create, CreateMany, Delete, Deliveries, Get, History, List, Preview, Replay, Update,
};
use Counting::{As, Free};

/// Bytes the body of an ordinary request may have.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Bytes the body of a `_many` request may have.
pub const MANY_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes the body of a call that brings adverts may have.
pub const ADVERTS_BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

pub(super) const JSON_BODY: BodyRule = BodyRule::Json {
    bytes_max: BODY_BYTES_MAX,
};
pub(super) const MANY_JSON_BODY: BodyRule = BodyRule::Json {
    bytes_max: MANY_BODY_BYTES_MAX,
};

pub(super) const fn public(path: &'static str, endpoint: Endpoint) -> Route {
    Route {
        method: Method::GET,
        path,
        access: Access::Public,
        counting: Counting::Free,
        body: BodyRule::None,
        endpoint,
    }
}

pub(super) const fn sample(sample: Sample) -> Route {
    public(sample.path(), Endpoint::Sample(sample))
}

pub(super) const fn get(
    path: &'static str,
    access: Access,
    counting: Counting,
    endpoint: Endpoint,
) -> Route {
    Route {
        method: Method::GET,
        path,
        access,
        counting,
        body: BodyRule::None,
        endpoint,
    }
}

/// An operator's route, under the scope `admin` or the endpoint's own grant.
pub(super) const fn admin(
    method: Method,
    path: &'static str,
    grant: &'static str,
    body: BodyRule,
    action: AdminAction,
) -> Route {
    Route {
        method,
        path,
        access: Scoped(Scope::Admin, grant),
        counting: Free,
        body,
        endpoint: Endpoint::Admin(action),
    }
}

pub(super) const fn post(
    path: &'static str,
    access: Access,
    counting: Counting,
    bytes_max: usize,
    endpoint: Endpoint,
) -> Route {
    Route {
        method: Method::POST,
        path,
        access,
        counting,
        body: BodyRule::Json { bytes_max },
        endpoint,
    }
}

/// A POST without a body.
pub(super) const fn post_bare(
    path: &'static str,
    access: Access,
    counting: Counting,
    endpoint: Endpoint,
) -> Route {
    Route {
        method: Method::POST,
        path,
        access,
        counting,
        body: BodyRule::None,
        endpoint,
    }
}

/// A route to the alerts of an account, under the scope `alerts` or the action's own grant.
pub(super) const fn alerts(path: &'static str, listing: Listing, action: AlertAction) -> Route {
    let none = BodyRule::None;
    let (method, grant, body) = match action {
        Create => (Method::PUT, "alerts.create", JSON_BODY),
        CreateMany => (Method::PUT, "alerts.create_many", MANY_JSON_BODY),
        List => (Method::GET, "alerts.list", none),
        Get => (Method::GET, "alerts.get", none),
        Update => (Method::PATCH, "alerts.update", JSON_BODY),
        Delete => (Method::DELETE, "alerts.delete", none),
        Activate => (Method::GET, "alerts.activate", none),
        History => (Method::GET, "alerts.history", none),
        Deliveries => (Method::GET, "alerts.deliveries", none),
        Replay => (Method::POST, "alerts.replay", JSON_BODY),
        Preview => (Method::POST, "alerts.preview", JSON_BODY),
    };
    let counting = match (action, listing) {
        // A preview is the history an alert would have.
        (History | Preview, Listing::Property) => As(Consumption::PropertiesGetAlertHistory),
        (History | Preview, Listing::Advert) => As(Consumption::AdvertsGetAlertHistory),
        _ => Free,
    };
    Route {
        method,
        path,
        access: Scoped(Scope::Alerts, grant),
        counting,
        body,
        endpoint: Endpoint::Alerts(listing, action),
    }
}
