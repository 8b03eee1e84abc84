//! The rows of the table of routes.

use warp::http::Method;

use super::super::docs;
use super::super::samples::Sample;
use super::rows::{
    ADVERTS_BODY_BYTES_MAX, BODY_BYTES_MAX, JSON_BODY, MANY_BODY_BYTES_MAX, admin, alerts, get,
    post, post_bare, public, sample,
};
use super::{Access, AdminAction, AlertAction, BodyRule, Counting, Endpoint, Route};
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_contract::listings::filters::{Listing, Part};
use toise_opendata::Dataset;

use Access::{Keyed, Scoped};
use AlertAction::{
    Activate, Create, CreateMany, Delete, Deliveries, Get, History, List, Preview, Replay, Update,
};
use Counting::{As, Free};

/// Every route.
pub static ROUTES: [Route; 74] = [
    public("/healthz", Endpoint::Healthz),
    public("/livez", Endpoint::Livez),
    public("/metrics", Endpoint::Metrics),
    public("/version", Endpoint::Version),
    public("/portals", Endpoint::Portals),
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
    admin(
        Method::GET,
        "/v2/protected/admin/alerts",
        "admin.alerts.list",
        BodyRule::None,
        AdminAction::ListAlerts,
    ),
    admin(
        Method::GET,
        "/v2/protected/admin/alerts/{alertId}",
        "admin.alerts.get",
        BodyRule::None,
        AdminAction::GetAlert,
    ),
    admin(
        Method::GET,
        "/v2/protected/admin/alerts/dead-letters",
        "admin.alerts.dead_letters",
        BodyRule::None,
        AdminAction::ListDeadLetters,
    ),
    admin(
        Method::POST,
        "/v2/protected/admin/alerts/dead-letters/{deliveryId}/retry",
        "admin.alerts.retry",
        BodyRule::None,
        AdminAction::RetryDeadLetter,
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
    get(
        "/v2/protected/adverts/url",
        Scoped(Scope::Refetch, "adverts.url"),
        As(Consumption::AdvertsGetByUrl),
        Endpoint::ByUrl(Listing::Advert),
    ),
    post_bare(
        "/v2/protected/adverts/{flxId}/check",
        Scoped(Scope::Refetch, "adverts.check"),
        As(Consumption::AdvertsCheck),
        Endpoint::Check(Listing::Advert),
    ),
    post(
        "/v2/protected/adverts/{flxId}/report",
        Scoped(Scope::Refetch, "adverts.report"),
        Free,
        BODY_BYTES_MAX,
        Endpoint::Report(Listing::Advert),
    ),
    get(
        "/v2/protected/properties/url",
        Scoped(Scope::Refetch, "properties.url"),
        As(Consumption::PropertiesGetByUrl),
        Endpoint::ByUrl(Listing::Property),
    ),
    post_bare(
        "/v2/protected/properties/{flxId}/check",
        Scoped(Scope::Refetch, "properties.check"),
        As(Consumption::PropertiesCheck),
        Endpoint::Check(Listing::Property),
    ),
    post(
        "/v2/protected/properties/{flxId}/report",
        Scoped(Scope::Refetch, "properties.report"),
        Free,
        BODY_BYTES_MAX,
        Endpoint::Report(Listing::Property),
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
    post(
        "/v2/protected/estimate/property/lite",
        Scoped(Scope::Ai, "estimate.property.lite"),
        As(Consumption::EstimatePropertyLite),
        BODY_BYTES_MAX,
        Endpoint::EstimateLite,
    ),
    post(
        "/v2/protected/estimate/property/lite/_many",
        Scoped(Scope::Ai, "estimate.property.lite.many"),
        As(Consumption::EstimatePropertyLite),
        MANY_BODY_BYTES_MAX,
        Endpoint::EstimateLiteMany,
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
