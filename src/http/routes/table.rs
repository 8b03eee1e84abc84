//! The rows of the table of routes.

use warp::http::Method;

use super::super::docs;
use super::super::samples::Sample;
use super::{Access, AdminAction, AlertAction, BodyRule, Counting, Endpoint, Route};
use crate::accounts::scopes::Scope;
use crate::config::prices::Consumption;
use crate::opendata::Dataset;
use crate::wire::listings::filters::{Listing, Part};

use Access::{Keyed, Scoped};
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

const JSON_BODY: BodyRule = BodyRule::Json {
    bytes_max: BODY_BYTES_MAX,
};
const MANY_JSON_BODY: BodyRule = BodyRule::Json {
    bytes_max: MANY_BODY_BYTES_MAX,
};

const fn public(path: &'static str, endpoint: Endpoint) -> Route {
    Route {
        method: Method::GET,
        path,
        access: Access::Public,
        counting: Counting::Free,
        body: BodyRule::None,
        endpoint,
    }
}

const fn sample(sample: Sample) -> Route {
    public(sample.path(), Endpoint::Sample(sample))
}

const fn get(path: &'static str, access: Access, counting: Counting, endpoint: Endpoint) -> Route {
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
const fn admin(
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

const fn post(
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

/// A route to the alerts of an account, under the scope `alerts` or the action's own grant.
const fn alerts(path: &'static str, listing: Listing, action: AlertAction) -> Route {
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

/// Every route.
pub static ROUTES: [Route; 61] = [
    public("/healthz", Endpoint::Healthz),
    public("/livez", Endpoint::Livez),
    public("/metrics", Endpoint::Metrics),
    public("/version", Endpoint::Version),
    public("/openapi.json", Endpoint::OpenApi),
    public(docs::PAGE_PATH, Endpoint::Docs),
    public(docs::FILES_PREFIX, Endpoint::Docs),
    public("/docs/{file}", Endpoint::Docs),
    sample(Sample::Properties),
    sample(Sample::Adverts),
    sample(Sample::WebhookProperties),
    sample(Sample::WebhookAdverts),
    get(
        "/v2/protected/consumption",
        Keyed,
        Free,
        Endpoint::Consumption,
    ),
    get(
        "/v2/protected/admin/consumption",
        Keyed,
        Free,
        Endpoint::Consumption,
    ),
    admin(
        Method::POST,
        "/v2/protected/admin/adverts",
        "admin.adverts",
        BodyRule::Json {
            bytes_max: ADVERTS_BODY_BYTES_MAX,
        },
        AdminAction::TakeAdverts,
    ),
    admin(
        Method::GET,
        "/v2/protected/admin/accounts",
        "admin.accounts.list",
        BodyRule::None,
        AdminAction::ListAccounts,
    ),
    admin(
        Method::POST,
        "/v2/protected/admin/accounts",
        "admin.accounts.create",
        JSON_BODY,
        AdminAction::CreateAccount,
    ),
    admin(
        Method::GET,
        "/v2/protected/admin/accounts/{accountId}",
        "admin.accounts.get",
        BodyRule::None,
        AdminAction::GetAccount,
    ),
    admin(
        Method::POST,
        "/v2/protected/admin/accounts/{accountId}/secrets/rotate",
        "admin.secrets.rotate",
        BodyRule::None,
        AdminAction::RotateSecret,
    ),
    admin(
        Method::GET,
        "/v2/protected/admin/keys",
        "admin.keys.list",
        BodyRule::None,
        AdminAction::ListKeys,
    ),
    admin(
        Method::POST,
        "/v2/protected/admin/keys",
        "admin.keys.create",
        JSON_BODY,
        AdminAction::CreateKey,
    ),
    admin(
        Method::PATCH,
        "/v2/protected/admin/keys/{keyId}",
        "admin.keys.update",
        JSON_BODY,
        AdminAction::UpdateKey,
    ),
    admin(
        Method::DELETE,
        "/v2/protected/admin/keys/{keyId}",
        "admin.keys.revoke",
        BodyRule::None,
        AdminAction::RevokeKey,
    ),
    admin(
        Method::GET,
        "/v2/protected/admin/usage",
        "admin.usage",
        BodyRule::None,
        AdminAction::Usage,
    ),
    post(
        "/v2/protected/properties/search",
        Scoped(Scope::Search, "properties.search"),
        As(Consumption::PropertiesSearch),
        BODY_BYTES_MAX,
        Endpoint::PropertiesSearch(Part::Whole),
    ),
    post(
        "/v2/protected/properties/search/lite",
        Scoped(Scope::Search, "properties.search.lite"),
        As(Consumption::PropertiesSearchLite),
        BODY_BYTES_MAX,
        Endpoint::PropertiesSearch(Part::Lite),
    ),
    post(
        "/v2/protected/properties/search/count",
        Scoped(Scope::Search, "properties.count"),
        As(Consumption::PropertiesSearch),
        BODY_BYTES_MAX,
        Endpoint::PropertiesCount,
    ),
    post(
        "/v2/protected/properties/similars",
        Scoped(Scope::Search, "properties.similars"),
        As(Consumption::PropertiesSearch),
        BODY_BYTES_MAX,
        Endpoint::PropertiesSimilars,
    ),
    post(
        "/v2/protected/analytics/property/search",
        Scoped(Scope::Analytics, "analytics.property.search"),
        As(Consumption::Analytics),
        BODY_BYTES_MAX,
        Endpoint::Analytics,
    ),
    get(
        "/v2/protected/properties/{flxId}",
        Scoped(Scope::Search, "properties.get"),
        As(Consumption::PropertiesGetById),
        Endpoint::Property,
    ),
    get(
        "/v2/protected/properties/advert/{flxId}",
        Scoped(Scope::Search, "properties.by_advert"),
        As(Consumption::PropertiesGetByAdvertId),
        Endpoint::PropertyOfAdvert,
    ),
    post(
        "/v2/protected/properties/_many",
        Scoped(Scope::Search, "properties.many"),
        As(Consumption::PropertiesGetById),
        MANY_BODY_BYTES_MAX,
        Endpoint::PropertiesMany,
    ),
    get(
        "/v2/protected/adverts/{flxId}",
        Scoped(Scope::Search, "adverts.get"),
        As(Consumption::AdvertsGetById),
        Endpoint::Advert,
    ),
    post(
        "/v2/protected/opendata/dpe/search",
        Scoped(Scope::Search, "opendata.dpe.search"),
        As(Consumption::OpendataDpeSearch),
        BODY_BYTES_MAX,
        Endpoint::Search(Dataset::Dpe),
    ),
    post(
        "/v2/protected/opendata/dpe/match",
        Scoped(Scope::Search, "opendata.dpe.match"),
        As(Consumption::OpendataDpeMatch),
        BODY_BYTES_MAX,
        Endpoint::Match(Dataset::Dpe),
    ),
    post(
        "/v2/protected/opendata/dpe/match/_many",
        Scoped(Scope::Search, "opendata.dpe.match_many"),
        As(Consumption::OpendataDpeMatch),
        MANY_BODY_BYTES_MAX,
        Endpoint::MatchMany(Dataset::Dpe),
    ),
    post(
        "/v2/protected/opendata/dvf/search",
        Scoped(Scope::Search, "opendata.dvf.search"),
        As(Consumption::OpendataDvfSearch),
        BODY_BYTES_MAX,
        Endpoint::Search(Dataset::Dvf),
    ),
    post(
        "/v2/protected/opendata/dvf/match",
        Scoped(Scope::Search, "opendata.dvf.match"),
        As(Consumption::OpendataDvfMatch),
        BODY_BYTES_MAX,
        Endpoint::Match(Dataset::Dvf),
    ),
    post(
        "/v2/protected/opendata/dvf/match/_many",
        Scoped(Scope::Search, "opendata.dvf.match_many"),
        As(Consumption::OpendataDvfMatch),
        MANY_BODY_BYTES_MAX,
        Endpoint::MatchMany(Dataset::Dvf),
    ),
    alerts(
        "/v2/protected/properties/search/alerts",
        Listing::Property,
        Create,
    ),
    alerts(
        "/v2/protected/properties/search/alerts/many",
        Listing::Property,
        CreateMany,
    ),
    alerts(
        "/v2/protected/properties/search/alerts/all",
        Listing::Property,
        List,
    ),
    alerts(
        "/v2/protected/properties/search/alerts/{alertId}",
        Listing::Property,
        Get,
    ),
    alerts(
        "/v2/protected/properties/search/alerts/{alertId}",
        Listing::Property,
        Update,
    ),
    alerts(
        "/v2/protected/properties/search/alerts/{alertId}",
        Listing::Property,
        Delete,
    ),
    alerts(
        "/v2/protected/properties/search/alerts/{alertId}/activate",
        Listing::Property,
        Activate,
    ),
    alerts(
        "/v2/protected/properties/search/alerts/history/{alertId}",
        Listing::Property,
        History,
    ),
    alerts(
        "/v2/protected/properties/search/alerts/{alertId}/deliveries",
        Listing::Property,
        Deliveries,
    ),
    alerts(
        "/v2/protected/properties/search/alerts/{alertId}/replay",
        Listing::Property,
        Replay,
    ),
    alerts(
        "/v2/protected/properties/search/alerts/preview",
        Listing::Property,
        Preview,
    ),
    alerts(
        "/v2/protected/adverts/search/alerts",
        Listing::Advert,
        Create,
    ),
    alerts(
        "/v2/protected/adverts/search/alerts/many",
        Listing::Advert,
        CreateMany,
    ),
    alerts(
        "/v2/protected/adverts/search/alerts/all",
        Listing::Advert,
        List,
    ),
    alerts(
        "/v2/protected/adverts/search/alerts/{alertId}",
        Listing::Advert,
        Get,
    ),
    alerts(
        "/v2/protected/adverts/search/alerts/{alertId}",
        Listing::Advert,
        Update,
    ),
    alerts(
        "/v2/protected/adverts/search/alerts/{alertId}",
        Listing::Advert,
        Delete,
    ),
    alerts(
        "/v2/protected/adverts/search/alerts/{alertId}/activate",
        Listing::Advert,
        Activate,
    ),
    alerts(
        "/v2/protected/adverts/search/alerts/history/{alertId}",
        Listing::Advert,
        History,
    ),
    alerts(
        "/v2/protected/adverts/search/alerts/{alertId}/deliveries",
        Listing::Advert,
        Deliveries,
    ),
    alerts(
        "/v2/protected/adverts/search/alerts/{alertId}/replay",
        Listing::Advert,
        Replay,
    ),
    alerts(
        "/v2/protected/adverts/search/alerts/preview",
        Listing::Advert,
        Preview,
    ),
];
