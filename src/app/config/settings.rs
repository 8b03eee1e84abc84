//! The table of settings: name, kind and documentation of each.
//!
//! To add a setting, add a row here and a field of the same name to the section's structure; a test compares the two.
//! The defaults come from the structures.

use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::LazyLock;

use toml::Value;
use tracing_subscriber::EnvFilter;

use super::ENVIRONMENT_PREFIX;
use toise_accounts::prices::Consumption;
use toise_dedup::Thresholds;
use toise_geocode::settings::is_base_address;
use toise_lake::settings::{KEEP_VERSIONS_MAX, departments};
use toise_net::egress::AllowedHosts;
use toise_service::console_page::BaseMap;
use toise_transport::client_address::Networks;
use toise_transport::cors::AllowedOrigins;

/// Maximum of a setting in seconds: a day.
const SECONDS_MAX: u64 = 86_400;
/// Maximum price of a call, in credits.
const CREDITS_MAX: u64 = 1_000_000;
/// Maximum rate of a key, in requests per second.
const RATE_PER_S_MAX: u64 = 100_000;
/// Maximum quota of a key, in calls per month.
const MONTHLY_QUOTA_MAX: u64 = 1_000_000_000_000;
/// Maximum concurrent estimates of a key.
const ESTIMATES_MAX: u64 = 1_000;
/// Maximum alerts of an account.
const ALERTS_MAX: u64 = 10_000_000;
/// Maximum conditions of an alert.
const CONDITIONS_MAX: u64 = 100_000;
/// Maximum retention of notifications, in days: ten years.
const RETENTION_DAYS_MAX: u64 = 3_650;
/// Maximum notifications in the outbox.
const OUTBOX_MAX: u64 = 1_000_000_000;
/// Maximum of a setting of collection, in seconds: a year.
const COLLECT_SECONDS_MAX: u64 = 31_536_000;
/// Maximum rate of requests to the upstream geocoding service, per second.
const UPSTREAM_RATE_PER_S_MAX: u64 = 1_000;
/// Maximum rows of an answer.
const SQL_ROWS_MAX: u64 = 1_000_000_000_000;
/// Maximum memory setting, in MiB: 16 TiB.
const MEBIBYTES_MAX: u64 = 16 << 20;

/// Maximum hours between two refreshes: a year.
const HOURS_MAX: u64 = 8_784;
/// Maximum rate of downloads, in KiB per second: 10 GiB.
const KIB_PER_S_MAX: u64 = 10 << 20;

/// Kind of values that a setting accepts.
#[derive(Clone, Copy, Debug)]
pub enum SettingKind {
    /// A text that this function allows, and the description of such a text.
    Text(fn(&str) -> bool, &'static str),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A whole number in this range, bounds included.
    Whole(u64, u64),
    /// A probability threshold of deduplication: from [`Thresholds::PROBABILITY_MIN`], below 1.
    Probability,
    /// `true` or `false`.
    Flag,
}

const ADDRESS: SettingKind = SettingKind::Text(
    is_address,
    "HOST:PORT with a port from 0 to 65535, as in \"127.0.0.1:8080\"",
);
const ADDRESS_OR_NONE: SettingKind = SettingKind::Text(
    |text| text.is_empty() || is_address(text),
    "HOST:PORT with a port from 0 to 65535, as in \"127.0.0.1:8081\", empty for none",
);
const PATH: SettingKind = SettingKind::Text(|_| true, "a path, empty for none");
const LEVEL: SettingKind = SettingKind::Text(
    |text| !text.is_empty() && EnvFilter::try_new(text).is_ok(),
    "error, warn, info, debug, trace, off, or directives by module",
);
const HOSTS: SettingKind = SettingKind::Text(
    |text| AllowedHosts::parse(text).is_ok(),
    "host names or addresses separated by commas, empty for none",
);
const NETWORKS: SettingKind = SettingKind::Text(
    |text| Networks::parse(text).is_ok(),
    "addresses or networks separated by commas, as in \"10.0.0.0/8\"",
);
const ORIGINS: SettingKind = SettingKind::Text(
    |text| AllowedOrigins::parse(text).is_ok(),
    "origins separated by commas, as in \"https://app.example.com\"",
);
const DEPARTMENTS: SettingKind = SettingKind::Text(
    |text| departments(text).is_some(),
    "codes of departments separated by commas, as in \"13,2A,75\"",
);
const BASE_ADDRESS: SettingKind = SettingKind::Text(
    |text| text.is_empty() || is_base_address(text),
    "an http or https address without user and query, empty for none",
);
const BASE_ADDRESSES: SettingKind = SettingKind::Text(
    |text| text.is_empty() || text.split(',').map(str::trim).all(is_base_address),
    "http or https addresses separated by commas, empty for none",
);
/// A text that goes into a header.
const HEADER: SettingKind = SettingKind::Text(
    |text| text.len() <= 200 && text.bytes().all(|byte| byte.is_ascii_graphic()),
    "at most 200 visible ASCII characters",
);
/// A text that is shown.
const LINE: SettingKind = SettingKind::Text(
    |text| text.chars().count() <= 200 && !text.chars().any(char::is_control),
    "text of at most 200 characters in one line",
);
const MAP_ADDRESS: SettingKind = SettingKind::Text(
    |text| text.is_empty() || BaseMap::parse(text, "").is_some(),
    "an http or https address without user, with {z}, {x} and {y} for tiles or without for a style, \
     empty for none",
);

/// One setting.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Section.
    pub section: &'static str,
    /// Key in the section.
    pub key: &'static str,
    /// Kind of values it accepts.
    pub kind: SettingKind,
    /// Documentation: one sentence with the unit.
    pub doc: String,
}

/// The sections and their titles.
pub const SECTIONS: [(&str, &str); 20] = [
    ("server", "Connections and requests"),
    (
        "admin",
        "Metrics and administration, on a separate listener",
    ),
    ("log", "Log lines, on standard error"),
    ("engine", "Memory and threads of queries"),
    ("lake", "Tables and their versions"),
    ("refresh", "New editions of the official sources"),
    (
        "limits",
        "Defaults for new keys; existing keys do not change",
    ),
    ("alerts", "Limits of alerts"),
    ("dedup", "Which adverts are of one home"),
    ("estimate", "Valuation of homes"),
    ("webhooks", "Deliveries of alerts to their receivers"),
    ("collect", "Pages of listings, collected on demand"),
    ("personal_data", "Retention of personal data"),
    ("geocoding", "Addresses to positions and back"),
    ("sql", "SQL over the network, for keys with the scope sql"),
    ("flight", "Arrow Flight SQL, next to HTTP"),
    (
        "cluster",
        "Workers, for executables built with the feature cluster",
    ),
    ("mcp", "Model Context Protocol, for agents"),
    ("console", "The page at /console"),
    ("prices", "Credits by consumption type"),
];

#[rustfmt::skip]
const ROWS: [(&str, &str, SettingKind, &str); 90] = [
    ("server", "listen", ADDRESS,
        "Address to listen on, HOST:PORT; port 0 picks a free one"),
    ("server", "tls_certificate", PATH,
        "PEM file with the certificate chain, leaf first; with tls_key it turns TLS on. SIGHUP reloads both"),
    ("server", "tls_key", PATH,
        "PEM file with the private key of the certificate"),
    ("server", "tls_handshake_timeout_s", SettingKind::Whole(1, SECONDS_MAX),
        "Maximum duration of a TLS handshake, in seconds"),
    ("server", "connections_max", SettingKind::Whole(1, 1_000_000),
        "Maximum open connections; more wait in the backlog. The limit on open files (ulimit -n) must allow them"),
    ("server", "connections_per_address_max", SettingKind::Whole(1, 1_000_000),
        "Maximum open connections of one client address, or one /64 of IPv6; further ones are closed. Trusted proxies \
         have server.connections_max"),
    ("server", "unkeyed_rate_per_s", SettingKind::Whole(1, RATE_PER_S_MAX),
        "Requests per second without a valid key that one client address, or one /64 network of IPv6, may send; \
         further ones get 429"),
    ("server", "trusted_proxies", NETWORKS,
        "Addresses and networks of proxies, separated by commas, whose X-Forwarded-For names the client; empty for none"),
    ("server", "cors_origins", ORIGINS,
        "Origins whose pages may call from a browser, such as https://app.example.com, separated by commas; * for all, \
         empty for none"),
    ("server", "bodies_mib", SettingKind::Whole(64, MEBIBYTES_MAX),
        "Maximum memory of request bodies, and of long responses until they are sent, in MiB; a key and an address may each \
         hold a quarter"),
    ("server", "disk_free_min_mib", SettingKind::Whole(0, MEBIBYTES_MAX),
        "Free space of the data folder's disk below which the service is not ready (/healthz), in MiB"),
    ("server", "header_read_timeout_s", SettingKind::Whole(1, SECONDS_MAX),
        "Maximum time to receive a request head, from the start of the connection or the head, in seconds"),
    ("server", "keep_alive_idle_s", SettingKind::Whole(1, SECONDS_MAX),
        "Maximum idle time of a connection between two requests, in seconds"),
    ("server", "request_timeout_s", SettingKind::Whole(1, SECONDS_MAX),
        "Maximum duration of a request including its body, in seconds"),
    ("server", "drain_timeout_s", SettingKind::Whole(0, SECONDS_MAX),
        "Maximum wait for running requests when the service stops, in seconds"),
    ("admin", "listen", ADDRESS_OR_NONE,
        "Address for metrics and administration, HOST:PORT, which are then served nowhere else; empty to serve \
         administration with everything else, and metrics to clients on this machine"),
    ("log", "format", SettingKind::OneOf(&["text", "json"]),
        "text for people, json for one object per line"),
    ("log", "level", LEVEL,
        "error, warn, info, debug, trace or off, also by module (info,toise::http=debug); RUST_LOG takes precedence"),
    ("engine", "column_cache_mib", SettingKind::Whole(1, MEBIBYTES_MAX),
        "Maximum size of the cache of decoded columns, in MiB"),
    ("engine", "sql_memory_mib", SettingKind::Whole(16, MEBIBYTES_MAX),
        "Memory of SQL queries before they spill to disk, in MiB"),
    ("engine", "query_threads", SettingKind::Whole(0, 1_024),
        "Query threads; 0 for one per core"),
    ("engine", "query_queue_max", SettingKind::Whole(0, 1_000_000),
        "Maximum queries waiting for a thread; beyond it the response is 503 with Retry-After"),
    ("lake", "keep_versions", SettingKind::Whole(1, KEEP_VERSIONS_MAX as u64),
        "Versions of each table that stay readable, the current one included; each publication creates one"),
    ("lake", "publish", HEADER,
        "Object store to publish the data folder to (s3://bucket/prefix, gs://, az://, file://); empty for none"),
    ("lake", "publish_every_s", SettingKind::Whole(1, SECONDS_MAX),
        "Pause between two checks for something to publish, in seconds"),
    ("lake", "metering_every_s", SettingKind::Whole(1, SECONDS_MAX),
        "Pause between two shipments of the consumption that a replica metered, and between two checks for them, in \
         seconds"),
    ("lake", "writer_address", BASE_ADDRESS,
        "Address of this server, to which its replicas refer requests that only it can answer; empty to name none"),
    ("lake", "replica", HEADER,
        "Object store whose publications to serve as a replica, in a separate data folder; empty for none"),
    ("lake", "replica_departments", DEPARTMENTS,
        "Departments whose data files a replica holds on its disk, such as 13,2A,75; what it reads of other \
         departments is fetched from the object store; empty for all"),
    ("lake", "replica_fetched_mib", SettingKind::Whole(16, MEBIBYTES_MAX),
        "Maximum disk space for data of other departments that a replica of some departments fetched, in MiB; beyond it, \
         the data fetched longest ago is deleted"),
    ("refresh", "every_h", SettingKind::Whole(0, HOURS_MAX),
        "Hours between two refreshes of sales, diagnostics and addresses from the official sources (toise refresh); 0 for \
         none"),
    ("refresh", "from_h", SettingKind::Whole(0, 23),
        "First hour of the day, in UTC, at which a refresh may start"),
    ("refresh", "until_h", SettingKind::Whole(1, 24),
        "Hour of the day, in UTC, from which no refresh starts; if it is not later than from_h, the window spans midnight"),
    ("refresh", "departments", DEPARTMENTS,
        "Departments to refresh, such as 13,2A,75; empty for those that the data folder holds"),
    ("refresh", "kib_per_s_max", SettingKind::Whole(0, KIB_PER_S_MAX),
        "Maximum rate of downloads, in KiB per second; 0 for no maximum"),
    ("refresh", "webhook", BASE_ADDRESS,
        "Address to which the server posts what a refresh changed and what failed, as JSON with a text; empty for none"),
    ("limits", "test_rate_per_s", SettingKind::Whole(1, RATE_PER_S_MAX),
        "Requests per second of a test key"),
    ("limits", "test_monthly_quota", SettingKind::Whole(0, MONTHLY_QUOTA_MAX),
        "Calls per month of a test key; 0 for no quota"),
    ("limits", "production_rate_per_s", SettingKind::Whole(1, RATE_PER_S_MAX),
        "Requests per second of a production key"),
    ("limits", "production_monthly_quota", SettingKind::Whole(0, MONTHLY_QUOTA_MAX),
        "Calls per month of a production key; 0 for no quota"),
    ("limits", "concurrent_estimates_max", SettingKind::Whole(1, ESTIMATES_MAX),
        "Maximum concurrent estimates of one key"),
    ("alerts", "per_account_max", SettingKind::Whole(0, ALERTS_MAX),
        "Maximum active alerts per account"),
    ("alerts", "kept_per_account_max", SettingKind::Whole(0, ALERTS_MAX),
        "Maximum alerts per account including ended ones, which keep their history and can be reactivated"),
    ("alerts", "conditions_max", SettingKind::Whole(1, CONDITIONS_MAX),
        "Maximum conditions per alert; every code, value, range, place and text of its search counts"),
    ("dedup", "same_probability", SettingKind::Probability,
        "Probability from which two adverts are merged into one property; a lower value merges more adverts, and more of them \
         wrongly"),
    ("dedup", "possible_probability", SettingKind::Probability,
        "Probability from which two adverts that are not merged are listed for a person to decide (`toise properties \
         candidates`); at most same_probability"),
    ("estimate", "adjustments", SettingKind::Flag,
        "Whether features that sales do not record (balcony, lift, condition, ...) adjust the price, within bounds"),
    ("webhooks", "allow_hosts", HOSTS,
        "Hosts that webhooks may reach at any address, also over plain http; for trials, never on a public service"),
    ("webhooks", "retention_days", SettingKind::Whole(1, RETENTION_DAYS_MAX),
        "Retention of notifications for replays, delivered or not, in days"),
    ("webhooks", "outbox_max", SettingKind::Whole(1_000, OUTBOX_MAX),
        "Maximum notifications in the outbox; beyond it, delivered ones are evicted first, then dead ones, then those of the \
          account with the most waiting. About 150 bytes each, and 1 KiB per advert"),
    ("collect", "allow_hosts", HOSTS,
        "Hosts whose pages may be fetched at any address and port, also over plain http; for trials"),
    ("collect", "plain_http", SettingKind::OneOf(&["refused", "allowed"]),
        "Whether pages are fetched over plain http; if refused, they are requested over https"),
    ("collect", "hosts", SettingKind::OneOf(&["any", "portals"]),
        "any for every public host, portals for hosts of portals with rules"),
    ("collect", "share", SettingKind::OneOf(&["none", "portals", "all"]),
        "Which pages requested with test keys reach the alerts of other accounts: none, those of portals with rules, or \
         all. Pages requested with production keys always do"),
    ("collect", "fresh_s", SettingKind::Whole(0, COLLECT_SECONDS_MAX),
        "Age up to which an advert is returned without fetching its page again, in seconds"),
    ("collect", "wait_s", SettingKind::Whole(0, 600),
        "Maximum wait of a call for its page before the response is 202, in seconds"),
    ("collect", "page_timeout_s", SettingKind::Whole(1, 30),
        "Maximum time to fetch a page, redirects and body included, in seconds"),
    ("collect", "rejected_for_s", SettingKind::Whole(0, COLLECT_SECONDS_MAX),
        "Time during which a rejected page is not fetched again, in seconds"),
    ("collect", "running_max", SettingKind::Whole(1, 10_000),
        "Maximum pages fetched concurrently"),
    ("collect", "per_host_max", SettingKind::Whole(1, 1_000),
        "Maximum pages fetched concurrently from one host"),
    ("collect", "host_delay_ms", SettingKind::Whole(0, 600_000),
        "Minimum time between two fetches from one host, in milliseconds; robots.txt and Retry-After may demand more"),
    ("collect", "waiting_per_account_max", SettingKind::Whole(1, 1_000_000),
        "Maximum waiting pages of one account; beyond it the response is 503 with Retry-After"),
    ("collect", "keep_pages_days", SettingKind::Whole(0, RETENTION_DAYS_MAX),
        "Retention of fetched pages, for disputes, in days; 0 stores none"),
    ("collect", "contact", HEADER,
        "Web or email address for portals, added to the user agent; empty for none"),
    ("personal_data", "offline_contacts_days", SettingKind::Whole(0, RETENTION_DAYS_MAX),
        "Retention of the contact person and of a private seller's name after an advert went offline, in days; 0 keeps them"),
    ("geocoding", "upstream", BASE_ADDRESS,
        "Base address of a geocoding service of the same contract, such as https://data.geopf.fr/geocodage, queried as \
         upstream_mode says; empty for none"),
    ("geocoding", "upstream_mode", SettingKind::OneOf(&["fallback", "only"]),
        "fallback queries it if the index finds nothing better than low confidence; only always queries it and never \
         the index"),
    ("geocoding", "upstream_cache_days", SettingKind::Whole(0, RETENTION_DAYS_MAX),
        "Retention of its answers in the store, in days; 0 keeps none. A response without results is kept for at \
         most a day"),
    ("geocoding", "upstream_rate_per_s", SettingKind::Whole(1, UPSTREAM_RATE_PER_S_MAX),
        "Maximum requests to it per second; its Retry-After may demand less"),
    ("geocoding", "isochrones", BASE_ADDRESS,
        "Address of the service that computes areas within reach of a position, when a filter asks for one; empty for none"),
    ("sql", "rows_max", SettingKind::Whole(1, SQL_ROWS_MAX),
        "Maximum rows of a query's result"),
    ("sql", "answer_mib", SettingKind::Whole(1, MEBIBYTES_MAX),
        "Maximum size of a query's result, in MiB"),
    ("sql", "memory_mib", SettingKind::Whole(16, MEBIBYTES_MAX),
        "Memory of one query before it spills to disk, in MiB; all queries together have engine.sql_memory_mib"),
    ("sql", "spill_mib", SettingKind::Whole(0, MEBIBYTES_MAX),
        "Maximum disk space that one query spills to, in MiB"),
    ("sql", "time_s", SettingKind::Whole(1, SECONDS_MAX),
        "Maximum duration of a query, including the sending of its result, in seconds"),
    ("sql", "concurrent_max", SettingKind::Whole(1, 1_000),
        "Maximum queries of one key that run at once; a few more wait"),
    ("sql", "threads", SettingKind::Whole(0, 1_024),
        "Threads that run queries, at low priority; 0 for one per core"),
    ("sql", "audit_days", SettingKind::Whole(1, RETENTION_DAYS_MAX),
        "Retention of the audit log of queries, in days"),
    ("flight", "listen", ADDRESS_OR_NONE,
        "Address of Arrow Flight SQL, HOST:PORT, with the certificate of the server; empty for off"),
    ("cluster", "token", HEADER,
        "Token that callers send to workers, over TLS or on loopback; empty to use certificates on both sides instead"),
    ("cluster", "certificate", PATH,
        "PEM file with the certificate of this worker or caller, leaf first; empty for none"),
    ("cluster", "key", PATH,
        "PEM file with the private key of that certificate"),
    ("cluster", "ca", PATH,
        "PEM file with the certificate of the authority that signed those of workers and callers; empty for none"),
    ("cluster", "part_rows", SettingKind::Whole(1, 1_000_000),
        "Maximum rows in a part of a bulk job; when a worker dies, only its unfinished parts are repeated"),
    ("cluster", "workers", BASE_ADDRESSES,
        "Workers that run large SQL queries of the server, such as https://a.example:9101,https://b.example:9101; empty \
         for none"),
    ("cluster", "sql_scan_mib", SettingKind::Whole(0, MEBIBYTES_MAX),
        "A query goes to the workers if the data files that it scans have at least this many MiB"),
    ("mcp", "enabled", SettingKind::Flag,
        "Whether the server answers agents at /mcp, with the keys, limits and credits of HTTP"),
    ("console", "base_map", MAP_ADDRESS,
        "Base map of another service: address of raster tiles with {z}, {x} and {y}, or of a MapLibre style; browsers then \
         load from that origin. Empty for the outlines of departments and communes, which need no network"),
    ("console", "attribution", LINE,
        "Attribution shown on the base map, such as © IGN; required with base_map"),
    ("console", "behind_tls", SettingKind::Flag,
        "Whether a proxy in front of the server terminates TLS: the session cookie is then Secure, as it is under the \
         server's own TLS"),
];

/// All settings, section by section.
pub static SETTINGS: LazyLock<Vec<Setting>> = LazyLock::new(|| {
    let rows = ROWS.iter().map(|(section, key, kind, doc)| Setting {
        section,
        key,
        kind: *kind,
        doc: (*doc).into(),
    });
    let prices = Consumption::ALL.into_iter().map(|consumption| Setting {
        section: "prices",
        key: consumption.as_str(),
        kind: SettingKind::Whole(0, CREDITS_MAX),
        doc: format!("Credits per {}", consumption.unit()),
    });
    rows.chain(prices).collect()
});

impl Setting {
    /// `section.key`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    /// Returns the environment variable that sets it.
    pub fn environment(&self) -> String {
        let name = format!("{ENVIRONMENT_PREFIX}{}__{}", self.section, self.key);
        name.to_uppercase()
    }
}

impl SettingKind {
    /// Parses a value given as text, by the environment or a flag.
    ///
    /// # Errors
    /// The value is not allowed; the message says what it must be.
    pub fn read(self, text: &str) -> Result<Value, String> {
        let value = match self {
            SettingKind::Whole(..) => parsed(text, Value::Integer),
            SettingKind::Flag => parsed(text, Value::Boolean),
            SettingKind::Probability => parsed(text, Value::Float),
            _ => Value::String(text.into()),
        };
        self.check(&value)?;
        Ok(value)
    }

    /// Checks whether a value is allowed.
    ///
    /// # Errors
    /// The value is not allowed; the message says what it must be.
    pub fn check(self, value: &Value) -> Result<(), String> {
        let text = value.as_str();
        let allowed = match self {
            SettingKind::Text(allows, _) => text.is_some_and(allows),
            SettingKind::OneOf(words) => text.is_some_and(|text| words.contains(&text)),
            SettingKind::Flag => value.is_bool(),
            SettingKind::Probability => value
                .as_float()
                .is_some_and(|probability| Thresholds::ALLOWED.contains(&probability)),
            SettingKind::Whole(min, max) => value
                .as_integer()
                .and_then(|number| u64::try_from(number).ok())
                .is_some_and(|number| (min..=max).contains(&number)),
        };
        if allowed {
            Ok(())
        } else {
            Err(self.refusal(&value.to_string()))
        }
    }

    /// Returns the message with what a value must be and what was found.
    pub(super) fn refusal(self, found: &str) -> String {
        let expected = match self {
            SettingKind::Text(_, expected) if found.starts_with(['"', '\'']) => expected.into(),
            SettingKind::Text(_, expected) => format!("text in quotes: {expected}"),
            SettingKind::OneOf(words) => format!("one of: {}", words.join(", ")),
            SettingKind::Whole(min, max) => format!("a whole number from {min} to {max}"),
            SettingKind::Flag => "true or false, without quotes".into(),
            SettingKind::Probability => format!(
                "a number from {} up to but not including 1, as in 0.98",
                Thresholds::PROBABILITY_MIN
            ),
        };
        format!("must be {expected}; found {found}")
    }
}

/// Parses a text as a value of another type. A text that cannot be parsed stays text, so that the refusal shows it.
fn parsed<T: FromStr>(text: &str, value: fn(T) -> Value) -> Value {
    let parsed = text.trim().parse();
    parsed.map_or_else(|_| Value::String(text.into()), value)
}

/// Returns whether a text is a host and a port; the host name is not resolved.
fn is_address(text: &str) -> bool {
    if text.parse::<SocketAddr>().is_ok() {
        return true;
    }
    text.rsplit_once(':').is_some_and(|(host, port)| {
        let named = !host.is_empty()
            && host
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
        named && port.parse::<u16>().is_ok()
    })
}

/// Returns the setting with a path, as `section.key`.
pub fn find(path: &str) -> Option<&'static Setting> {
    let (section, key) = path.split_once('.')?;
    SETTINGS
        .iter()
        .find(|setting| setting.section == section && setting.key == key)
}
