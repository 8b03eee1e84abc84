//! The egress guard: restricts the URLs of customers to https and public hosts.
//!
//! A URL is checked when it is submitted ([`EgressGuard::check`]) and again at every request: literal addresses before
//! the request, names when they are resolved, by passing only the checked addresses to the connection. A name that
//! later points to a private address therefore cannot be used to reach it. An operator may exempt hosts by name, for
//! trials on one machine.

use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Host;

use super::address::non_public_reason;
use super::resolver::NameResolver;
use toise_base::supervise::Supervisor;

/// Maximum URL length, in characters.
pub const URL_CHARS_MAX: usize = 2_048;
/// Endings of names that no public host has.
const LOCAL_ENDINGS: [&str; 14] = [
    "localhost", "local", "localdomain", "internal", "intranet", "private", "corp", "home", "lan",
    "home.arpa", "in-addr.arpa", "ip6.arpa", "svc", "onion",
];

/// Reason that a URL is refused; the message completes "webhook_url ...".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefusal {
    /// It is not a URL.
    #[error("must be a URL such as \"https://hooks.example.com/toise\": {0}")]
    NotUrl(String),
    /// It is too long.
    #[error("must not exceed {URL_CHARS_MAX} characters")]
    TooLong,
    /// Its scheme is not https.
    #[error("must begin with https://")]
    NotHttps,
    /// It contains a user name or a password.
    #[error("must not contain a user name or password")]
    Credentials,
    /// Its port is 0.
    #[error("must not name port 0")]
    PortZero,
    /// It specifies a port although only the default port is allowed.
    #[error("must not name a port")]
    Port,
    /// Its host is an address that is not public, or a name that no public host has.
    #[error("must name a public host: {host} is {range}")]
    NotPublic {
        /// The host as parsed.
        host: String,
        /// Description of the range or name.
        range: &'static str,
    },
    /// The host does not resolve.
    #[error("must name a host that resolves: {0} does not")]
    Unresolved(String),
    /// The name resolves to an address that is not public. The message does not disclose which one.
    #[error("must name a public host: {0} resolves to an address that is not public")]
    ResolvesToPrivate(String),
}

/// Hosts that an operator exempts: plain http is allowed, and any address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedHosts(Arc<HashSet<String>>);

impl AllowedHosts {
    /// Parses names and addresses separated by commas; an empty text exempts none.
    ///
    /// # Errors
    /// An entry that is neither a name nor an address, as a message for the operator.
    pub fn parse(list: &str) -> Result<Self, String> {
        let names = list
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        let hosts = names.map(|name| match parse_host(name) {
            Some(host) => Ok(key(&host)),
            None => Err(format!("{name:?} is neither a host name nor an address")),
        });
        hosts
            .collect::<Result<_, _>>()
            .map(|hosts| Self(Arc::new(hosts)))
    }

    fn holds(&self, host: &Host<&str>) -> bool {
        !self.0.is_empty() && self.0.contains(&key(&host.to_owned()))
    }

    fn holds_name(&self, name: &str) -> bool {
        self.holds(&Host::Domain(name))
    }
}

/// Parses a host without scheme or port; IPv6 with or without brackets.
fn parse_host(text: &str) -> Option<Host> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    if let Ok(IpAddr::V6(address)) = bare.parse() {
        return Some(Host::Ipv6(address));
    }
    if text.contains([':', '/', '\\', '?', '#', '@']) {
        return None;
    }
    let url = Url::parse(&format!("http://{text}/")).ok()?;
    url.host().map(|host| host.to_owned())
}

/// Normalises a host to one spelling.
fn key(host: &Host<impl AsRef<str>>) -> String {
    match host {
        Host::Domain(name) => name.as_ref().trim_end_matches('.').to_ascii_lowercase(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    }
}

/// The use of a URL, which determines what it may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EgressPurpose {
    /// Receivers of customers: https on any port.
    Receivers,
    /// Pages of portals: the default port, https or, if enabled, plain http.
    Pages { plain_http: bool },
}

/// Decides which hosts requests may reach, and resolves names for the HTTP client. Cheap to clone; clones share the
/// permits for lookups, so one guard serves the whole service.
#[derive(Clone, Debug)]
pub struct EgressGuard {
    allowed: AllowedHosts,
    purpose: EgressPurpose,
    lookups: NameResolver,
}

impl EgressGuard {
    /// Creates a guard that uses the system's name service.
    pub fn new(allowed: AllowedHosts) -> Self {
        Self {
            allowed,
            purpose: EgressPurpose::Receivers,
            lookups: NameResolver::system(),
        }
    }

    /// Creates a guard that resolves names with a function that may block its thread.
    pub fn asking(
        allowed: AllowedHosts,
        ask: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            allowed,
            purpose: EgressPurpose::Receivers,
            lookups: NameResolver::new(ask),
        }
    }

    /// Runs the lookups on threads of a supervisor.
    pub fn supervised_by(self, supervisor: &Supervisor) -> Self {
        let lookups = self.lookups.supervised_by(supervisor);
        Self { lookups, ..self }
    }

    /// Applies the rules for pages of portals: only the default port, and plain http if it is enabled.
    pub fn with_page_rules(self, plain_http: bool) -> Self {
        let purpose = EgressPurpose::Pages { plain_http };
        Self { purpose, ..self }
    }

    /// Checks the address of a page. If plain http is disabled, an http address is changed to https.
    ///
    /// # Errors
    /// Why the URL is refused.
    pub fn check_page(&self, text: &str) -> Result<Url, UrlRefusal> {
        match (
            self.check_syntax(text),
            text.split_at_checked("http:".len()),
        ) {
            (Err(UrlRefusal::NotHttps), Some((scheme, rest)))
                if scheme.eq_ignore_ascii_case("http:") =>
            {
                self.check_syntax(&format!("https:{rest}"))
            }
            (checked, _) => checked,
        }
    }

    /// Checks everything that needs no name resolution; takes a microsecond.
    ///
    /// # Errors
    /// Why the URL is refused.
    pub fn check_syntax(&self, text: &str) -> Result<Url, UrlRefusal> {
        if text.chars().count() > URL_CHARS_MAX {
            return Err(UrlRefusal::TooLong);
        }
        // The parser drops line ends and tabs and reads forms such as `https:host`; what is stored must be what is
        // called.
        if self.purpose == EgressPurpose::Receivers
            && let Some(fault) = notation_fault(text)
        {
            return Err(UrlRefusal::NotUrl(fault.to_owned()));
        }
        // The parser accepts every notation of addresses that browsers accept, and letters and digits of every script.
        let url = Url::parse(text).map_err(|error| UrlRefusal::NotUrl(error.to_string()))?;
        let host = url.host().ok_or(UrlRefusal::NotHttps)?;
        let exempt = self.allowed.holds(&host);
        match url.scheme() {
            "https" => {}
            "http" if exempt || self.purpose == (EgressPurpose::Pages { plain_http: true }) => {}
            _ => return Err(UrlRefusal::NotHttps),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlRefusal::Credentials);
        }
        if url.port() == Some(0) {
            return Err(UrlRefusal::PortZero);
        }
        if self.purpose != EgressPurpose::Receivers && url.port().is_some() && !exempt {
            return Err(UrlRefusal::Port);
        }
        let range = match host {
            _ if exempt => None,
            Host::Domain(name) => non_public_name_reason(name),
            Host::Ipv4(address) => non_public_reason(address.into()),
            Host::Ipv6(address) => non_public_reason(address.into()),
        };
        match range {
            Some(range) => Err(UrlRefusal::NotPublic {
                host: key(&host.to_owned()),
                range,
            }),
            None => Ok(url),
        }
    }

    /// Checks a URL and every address that its host resolves to.
    ///
    /// # Errors
    /// Why the URL is refused.
    pub async fn check(&self, text: &str) -> Result<Url, UrlRefusal> {
        let url = self.check_syntax(text)?;
        if let Some(Host::Domain(name)) = url.host() {
            let addresses = found(name, self.lookups.resolve_for_check(name).await)?;
            let inside = addresses
                .iter()
                .any(|address| non_public_reason(*address).is_some());
            if inside && !self.allowed.holds_name(name) {
                return Err(UrlRefusal::ResolvesToPrivate(name.to_owned()));
            }
        }
        Ok(url)
    }

    /// Returns the addresses that a connection to a name may use: the public ones, or all addresses of an exempt name.
    async fn admitted(&self, name: &str) -> Result<Vec<IpAddr>, UrlRefusal> {
        let mut addresses = found(name, self.lookups.resolve_for_connection(name).await)?;
        if !self.allowed.holds_name(name) {
            addresses.retain(|address| non_public_reason(*address).is_none());
        }
        if addresses.is_empty() {
            Err(UrlRefusal::ResolvesToPrivate(name.to_owned()))
        } else {
            Ok(addresses)
        }
    }
}

/// Returns the addresses of a lookup; an error if there are none.
fn found(name: &str, answer: io::Result<Vec<IpAddr>>) -> Result<Vec<IpAddr>, UrlRefusal> {
    let addresses = answer.ok().filter(|addresses| !addresses.is_empty());
    addresses.ok_or_else(|| UrlRefusal::Unresolved(name.to_owned()))
}

impl Resolve for EgressGuard {
    fn resolve(&self, name: Name) -> Resolving {
        let gate = self.clone();
        Box::pin(async move {
            let addresses = gate.admitted(name.as_str()).await?;
            // Port 0 is replaced by the port of the URL.
            let addresses = addresses
                .into_iter()
                .map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

/// Returns why a name cannot belong to a public host; `None` if it can.
fn non_public_name_reason(name: &str) -> Option<&'static str> {
    let name = name.trim_end_matches('.');
    if !name.contains('.') {
        return Some("a name without a domain");
    }
    let local = LOCAL_ENDINGS.iter().any(|ending| {
        name.strip_suffix(ending)
            .is_some_and(|rest| rest.ends_with('.'))
    });
    local.then_some("a name of local networks")
}

/// Returns why a text is not the usual notation of a URL, although a browser would read it as one.
fn notation_fault(text: &str) -> Option<&'static str> {
    let is_separator = |letter: char| letter.is_whitespace() || letter.is_control();
    if text.chars().any(is_separator) {
        return Some("contains spaces, line ends or control characters");
    }
    if text.contains('\\') {
        return Some("contains a backslash");
    }
    let after_scheme = text.split_once(':').map(|(_, rest)| rest);
    match after_scheme {
        Some(rest) if rest.starts_with("//") && !rest.starts_with("///") => None,
        _ => Some("has no \"//\" after the scheme"),
    }
}

#[cfg(test)]
mod tests;
