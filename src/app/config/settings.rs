//! The table of settings: what each is called, what it may be, and what it does.
//!
//! Adding a setting is adding a row here and a field of the same name to the section's structure; a test holds the two
//! against each other. Defaults are those of the structure.

use std::net::SocketAddr;
use std::sync::LazyLock;

use toml::Value;
use tracing_subscriber::EnvFilter;

use super::ENVIRONMENT_PREFIX;
use toise_accounts::prices::Consumption;
use toise_net::receiver::Allowed;

/// Longest time a setting takes: a day.
const SECONDS_MAX: u64 = 86_400;
/// Greatest price of a call.
const CREDITS_MAX: u64 = 1_000_000;
/// Greatest rate of a key, requests a second.
const RATE_PER_S_MAX: u64 = 100_000;
/// Greatest quota of a key, calls a month.
const MONTHLY_QUOTA_MAX: u64 = 1_000_000_000_000;
/// Greatest number of estimates of a key at once.
const ESTIMATES_MAX: u64 = 1_000;
/// Greatest number of alerts of an account.
const ALERTS_MAX: u64 = 10_000_000;
/// Greatest number of conditions of an alert.
const CONDITIONS_MAX: u64 = 100_000;
/// Longest time notifications are kept, in days: ten years.
const RETENTION_DAYS_MAX: u64 = 3_650;
/// Greatest number of notifications kept.
const OUTBOX_MAX: u64 = 1_000_000_000;
/// Longest time collection takes: a year.
const COLLECT_SECONDS_MAX: u64 = 31_536_000;
/// Longest text that goes into a header, characters.
const HEADER_CHARS_MAX: usize = 200;
/// Greatest memory setting: 16 TiB.
const MEBIBYTES_MAX: u64 = 16 << 20;

/// What a setting may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `HOST:PORT`.
    Address,
    /// A file; empty for none.
    Path,
    /// A level, or directives of `tracing`'s filter.
    Level,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A whole number between these, both included.
    Whole(u64, u64),
    /// Host names and addresses separated by commas; empty for none.
    Hosts,
    /// Visible ASCII characters; empty for none.
    Header,
    /// `true` or `false`.
    Flag,
}

/// One setting.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Section it stands in.
    pub section: &'static str,
    /// Its key there.
    pub key: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// What it does, in a sentence with its unit.
    pub doc: String,
}

/// What a section is about.
pub const SECTIONS: [(&str, &str); 9] = [
    ("server", "Connections and requests"),
    ("log", "Log lines, on standard error"),
    ("engine", "Memory and threads of questions"),
    (
        "limits",
        "What a key gets when it is made, unless it is made with values of its own",
    ),
    ("alerts", "What alerts may be"),
    ("estimate", "Values of homes"),
    ("webhooks", "Deliveries of alerts to their receivers"),
    ("collect", "Pages of listings, collected on demand"),
    ("prices", "Credits by consumption type"),
];

#[rustfmt::skip]
const ROWS: [(&str, &str, Kind, &str); 40] = [
    ("server", "listen", Kind::Address,
        "Address to listen on, HOST:PORT; port 0 picks a free one"),
    ("server", "tls_certificate", Kind::Path,
        "PEM file with the certificate chain, leaf first; with tls_key it turns TLS on. Both are read again on SIGHUP"),
    ("server", "tls_key", Kind::Path,
        "PEM file with the private key of the certificate"),
    ("server", "tls_handshake_timeout_s", Kind::Whole(1, SECONDS_MAX),
        "Longest TLS handshake, in seconds"),
    ("server", "connections_max", Kind::Whole(1, 1_000_000),
        "Connections open at once; more wait in the backlog. The limit of open files (ulimit -n) must allow them"),
    ("server", "header_read_timeout_s", Kind::Whole(1, SECONDS_MAX),
        "Longest wait for a whole request head once a connection or a head has begun, in seconds"),
    ("server", "keep_alive_idle_s", Kind::Whole(1, SECONDS_MAX),
        "Longest a connection may stay idle between two requests, in seconds"),
    ("server", "request_timeout_s", Kind::Whole(1, SECONDS_MAX),
        "Longest a request may take, its body included, in seconds"),
    ("server", "drain_timeout_s", Kind::Whole(0, SECONDS_MAX),
        "Longest wait for running requests when the service is told to stop, in seconds"),
    ("log", "format", Kind::OneOf(&["text", "json"]),
        "text for people, json for one object a line"),
    ("log", "level", Kind::Level,
        "error, warn, info, debug, trace or off, also by module (info,toise::http=debug); RUST_LOG goes before it"),
    ("engine", "column_cache_mib", Kind::Whole(1, MEBIBYTES_MAX),
        "Decoded columns kept in memory, in MiB"),
    ("engine", "sql_memory_mib", Kind::Whole(16, MEBIBYTES_MAX),
        "What SQL queries may hold before they spill to disk, in MiB"),
    ("engine", "query_threads", Kind::Whole(0, 1_024),
        "Threads that questions compute on; 0 for one per core"),
    ("engine", "query_queue_max", Kind::Whole(0, 1_000_000),
        "Questions that may wait for a thread; past it the answer is 503 with Retry-After"),
    ("limits", "test_rate_per_s", Kind::Whole(1, RATE_PER_S_MAX),
        "Requests a second of a test key"),
    ("limits", "test_monthly_quota", Kind::Whole(0, MONTHLY_QUOTA_MAX),
        "Calls a month of a test key; 0 for no quota"),
    ("limits", "production_rate_per_s", Kind::Whole(1, RATE_PER_S_MAX),
        "Requests a second of a production key"),
    ("limits", "production_monthly_quota", Kind::Whole(0, MONTHLY_QUOTA_MAX),
        "Calls a month of a production key; 0 for no quota"),
    ("limits", "concurrent_estimates_max", Kind::Whole(1, ESTIMATES_MAX),
        "Estimates of one key that may run at once"),
    ("alerts", "per_account_max", Kind::Whole(0, ALERTS_MAX),
        "Active alerts an account may have"),
    ("alerts", "kept_per_account_max", Kind::Whole(0, ALERTS_MAX),
        "Alerts an account may have, ended ones included: these keep their history and may be taken up again"),
    ("alerts", "conditions_max", Kind::Whole(1, CONDITIONS_MAX),
        "Conditions an alert may hold: every code, value, range and place of its filter counts"),
    ("estimate", "adjustments", Kind::Flag,
        "Whether what recorded sales cannot teach (balcony, lift, condition, ...) moves the price, within bounds"),
    ("webhooks", "allow_hosts", Kind::Hosts,
        "Hosts that webhooks may reach wherever they are, also over plain http: for trials, never on a public service"),
    ("webhooks", "retention_days", Kind::Whole(1, RETENTION_DAYS_MAX),
        "Days that notifications are kept, delivered or not, so that they can be replayed"),
    ("webhooks", "outbox_max", Kind::Whole(1_000, OUTBOX_MAX),
        "Notifications kept; past it delivered ones leave first, then dead ones, then those of the account with most \
          waiting. About 150 bytes each, and 1 KiB an advert"),
    ("collect", "allow_hosts", Kind::Hosts,
        "Hosts whose pages may be fetched wherever they are, on any port, also over plain http: for trials"),
    ("collect", "plain_http", Kind::OneOf(&["refused", "allowed"]),
        "Whether pages are fetched over plain http; where it is refused they are asked for over https"),
    ("collect", "hosts", Kind::OneOf(&["any", "portals"]),
        "any public host, or only those of portals there are rules for"),
    ("collect", "fresh_s", Kind::Whole(0, COLLECT_SECONDS_MAX),
        "How long after it was seen an advert is given without looking at its page again, in seconds"),
    ("collect", "wait_s", Kind::Whole(0, 600),
        "Longest a call waits for its page before it is answered 202, in seconds"),
    ("collect", "page_timeout_s", Kind::Whole(1, 30),
        "Longest a page may take, redirects and body included, in seconds"),
    ("collect", "rejected_for_s", Kind::Whole(0, COLLECT_SECONDS_MAX),
        "How long it is remembered that a page is no listing, in seconds"),
    ("collect", "running_max", Kind::Whole(1, 10_000),
        "Pages fetched at once"),
    ("collect", "per_host_max", Kind::Whole(1, 1_000),
        "Pages fetched at once of one host"),
    ("collect", "host_delay_ms", Kind::Whole(0, 600_000),
        "Least time between two fetches of one host, in milliseconds; robots.txt and Retry-After may ask for more"),
    ("collect", "waiting_per_account_max", Kind::Whole(1, 1_000_000),
        "Pages of one account that may wait; past it the answer is 503 with Retry-After"),
    ("collect", "keep_pages_days", Kind::Whole(0, RETENTION_DAYS_MAX),
        "Days that pages are kept as they were fetched, for disputes; 0 for none kept"),
    ("collect", "contact", Kind::Header,
        "Address of a page or mailbox that portals find in the name this program gives itself; empty for none"),
];

/// Every setting, section by section.
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
        kind: Kind::Whole(0, CREDITS_MAX),
        doc: format!("Credits per {}", consumption.unit()),
    });
    rows.chain(prices).collect()
});

impl Setting {
    /// `section.key`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    /// The environment variable that sets it.
    pub fn environment(&self) -> String {
        let name = format!("{ENVIRONMENT_PREFIX}{}__{}", self.section, self.key);
        name.to_uppercase()
    }
}

impl Kind {
    /// Reads a value given as text, by the environment or a flag.
    ///
    /// # Errors
    /// What the value must be.
    pub fn read(self, text: &str) -> Result<Value, String> {
        let value = match self {
            Kind::Whole(..) => text.trim().parse().map_or_else(
                |_| Value::String(text.into()),
                |number: i64| Value::Integer(number),
            ),
            Kind::Flag => text.trim().parse().map_or_else(
                |_| Value::String(text.into()),
                |flag: bool| Value::Boolean(flag),
            ),
            _ => Value::String(text.into()),
        };
        self.check(&value)?;
        Ok(value)
    }

    /// Whether a value is allowed.
    ///
    /// # Errors
    /// What the value must be.
    pub fn check(self, value: &Value) -> Result<(), String> {
        let text = value.as_str();
        let allowed = match self {
            Kind::Address => text.is_some_and(is_address),
            Kind::Path => text.is_some(),
            Kind::Level => {
                text.is_some_and(|text| !text.is_empty() && EnvFilter::try_new(text).is_ok())
            }
            Kind::OneOf(words) => text.is_some_and(|text| words.contains(&text)),
            Kind::Hosts => text.is_some_and(|text| Allowed::parse(text).is_ok()),
            Kind::Header => text.is_some_and(|text| {
                text.len() <= HEADER_CHARS_MAX && text.bytes().all(|byte| byte.is_ascii_graphic())
            }),
            Kind::Flag => value.is_bool(),
            Kind::Whole(min, max) => value
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

    /// What a value must be, and what was found instead.
    pub(super) fn refusal(self, found: &str) -> String {
        let expected = match self {
            Kind::Address => "HOST:PORT in quotes, as in \"127.0.0.1:8080\"".into(),
            Kind::Path => "a path in quotes, empty for none".into(),
            Kind::Level => "error, warn, info, debug, trace, off, or directives by module".into(),
            Kind::OneOf(words) => format!("one of: {}", words.join(", ")),
            Kind::Hosts => {
                "host names or addresses in quotes, separated by commas, empty for none".into()
            }
            Kind::Header => {
                format!("at most {HEADER_CHARS_MAX} visible ASCII characters in quotes")
            }
            Kind::Whole(min, max) => format!("a whole number from {min} to {max}"),
            Kind::Flag => "true or false, without quotes".into(),
        };
        format!("must be {expected}; found {found}")
    }
}

/// Whether a text is a host and a port; the host's name is not looked up.
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

/// The setting with a path, if there is one.
pub fn find(path: &str) -> Option<&'static Setting> {
    let (section, key) = path.split_once('.')?;
    SETTINGS
        .iter()
        .find(|setting| setting.section == section && setting.key == key)
}

/// The text of a list that takes the fewest changes of letters (Levenshtein) to come from a mistyped one, whatever their
/// case.
pub fn nearest(mistyped: &str, known: impl Iterator<Item = String>) -> String {
    known
        .min_by_key(|name| strsim::levenshtein(&mistyped.to_lowercase(), &name.to_lowercase()))
        .unwrap_or_default()
}
