//! Where customers may have requests sent: https, a public host, nothing clever.
//!
//! A URL is checked when it is given ([`Gate::check`]) and again at every request: literal addresses before it, names
//! when they are resolved, by handing the connection only the addresses that were checked. So a name that points
//! elsewhere later reaches nothing it should not. An operator may exempt hosts by name, for trials on one machine.

use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Host;

use super::address::why_not_public;
use super::lookup::Lookups;
use toise_base::supervise::Supervisor;

/// Longest URL, characters.
pub const URL_CHARS_MAX: usize = 2_048;
/// Last labels, or last two, of names that mean something else on every network.
const LOCAL_ENDINGS: [&str; 14] = [
    "localhost",
    "local",
    "localdomain",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "home.arpa",
    "in-addr.arpa",
    "ip6.arpa",
    "svc",
    "onion",
];

/// Why a URL is not taken; completes "webhook_url ...".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is not a URL.
    #[error("must be a URL such as \"https://hooks.example.com/toise\": {0}")]
    NotUrl(String),
    /// It is longer than any real one.
    #[error("must not exceed {URL_CHARS_MAX} characters")]
    TooLong,
    /// Its scheme is another one.
    #[error("must begin with https://")]
    NotHttps,
    /// It carries a user name or a password.
    #[error("must not carry a user name or password")]
    Credentials,
    /// Its port is 0.
    #[error("must not name port 0")]
    PortZero,
    /// It names a port, where only the usual one will do.
    #[error("must not name a port")]
    Port,
    /// Its host is an address that is not public, or a name that no public host has.
    #[error("must name a public host: {host} is {what}")]
    NotPublic {
        /// The host as it was understood.
        host: String,
        /// What it is instead.
        what: &'static str,
    },
    /// The name service does not know the host.
    #[error("must name a host that resolves: {0} does not")]
    Unresolved(String),
    /// The name stands for an address that is not public. Which one is nobody's business.
    #[error("must name a public host: {0} resolves to an address that is not public")]
    ResolvesInside(String),
}

/// Hosts an operator exempts: plain http to them is fine, wherever they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed(Arc<HashSet<String>>);

impl Allowed {
    /// Reads names and addresses separated by commas; an empty text exempts none.
    ///
    /// # Errors
    /// What is neither a name nor an address, in words for an operator.
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

/// A host without scheme or port; IPv6 with or without brackets.
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

/// One spelling for each host.
fn key(host: &Host<impl AsRef<str>>) -> String {
    match host {
        Host::Domain(name) => name.as_ref().trim_end_matches('.').to_ascii_lowercase(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    }
}

/// What addresses may ask for, beside being public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Receivers of customers: https on any port.
    Receivers,
    /// Pages of portals: the usual port, https or, where it is allowed, plain http.
    Pages { plain_http: bool },
}

/// Decides where requests may go, and resolves names for the client that makes them. Cheap to clone; clones share the
/// places of their look-ups, so one gate serves all of a service.
#[derive(Clone, Debug)]
pub struct Gate {
    allowed: Allowed,
    purpose: Purpose,
    lookups: Lookups,
}

impl Gate {
    /// Asks the system's name service.
    pub fn new(allowed: Allowed) -> Self {
        Self {
            allowed,
            purpose: Purpose::Receivers,
            lookups: Lookups::system(),
        }
    }

    /// Asks another name service, through a call that may block its thread.
    pub fn asking(
        allowed: Allowed,
        ask: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            allowed,
            purpose: Purpose::Receivers,
            lookups: Lookups::new(ask),
        }
    }

    /// The same with its look-ups on threads of a supervisor.
    pub fn supervised_by(self, supervisor: &Supervisor) -> Self {
        let lookups = self.lookups.supervised_by(supervisor);
        Self { lookups, ..self }
    }

    /// The same for pages of portals: the usual port only, plain http where it is allowed.
    pub fn for_pages(self, plain_http: bool) -> Self {
        let purpose = Purpose::Pages { plain_http };
        Self { purpose, ..self }
    }

    /// Checks the address of a page; one in plain http is asked over https where plain http is not allowed.
    ///
    /// # Errors
    /// What is wrong with the URL.
    pub fn check_page(&self, text: &str) -> Result<Url, Refused> {
        match (self.check_form(text), text.split_at_checked("http:".len())) {
            (Err(Refused::NotHttps), Some((scheme, rest)))
                if scheme.eq_ignore_ascii_case("http:") =>
            {
                self.check_form(&format!("https:{rest}"))
            }
            (checked, _) => checked,
        }
    }

    /// Checks all that can be told without the name service; costs a microsecond.
    ///
    /// # Errors
    /// What is wrong with the URL.
    pub fn check_form(&self, text: &str) -> Result<Url, Refused> {
        if text.chars().count() > URL_CHARS_MAX {
            return Err(Refused::TooLong);
        }
        // The parser reads addresses in every notation browsers do, and letters and digits of every script.
        let url = Url::parse(text).map_err(|error| Refused::NotUrl(error.to_string()))?;
        let host = url.host().ok_or(Refused::NotHttps)?;
        let exempt = self.allowed.holds(&host);
        match url.scheme() {
            "https" => {}
            "http" if exempt || self.purpose == (Purpose::Pages { plain_http: true }) => {}
            _ => return Err(Refused::NotHttps),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::Credentials);
        }
        if url.port() == Some(0) {
            return Err(Refused::PortZero);
        }
        if self.purpose != Purpose::Receivers && url.port().is_some() && !exempt {
            return Err(Refused::Port);
        }
        let what = match host {
            _ if exempt => None,
            Host::Domain(name) => why_no_public_name(name),
            Host::Ipv4(address) => why_not_public(address.into()),
            Host::Ipv6(address) => why_not_public(address.into()),
        };
        match what {
            Some(what) => Err(Refused::NotPublic {
                host: key(&host.to_owned()),
                what,
            }),
            None => Ok(url),
        }
    }

    /// Checks a URL and every address its host resolves to.
    ///
    /// # Errors
    /// What is wrong with the URL.
    pub async fn check(&self, text: &str) -> Result<Url, Refused> {
        let url = self.check_form(text)?;
        if let Some(Host::Domain(name)) = url.host() {
            let addresses = found(name, self.lookups.for_check(name).await)?;
            let inside = addresses
                .iter()
                .any(|address| why_not_public(*address).is_some());
            if inside && !self.allowed.holds_name(name) {
                return Err(Refused::ResolvesInside(name.to_owned()));
            }
        }
        Ok(url)
    }

    /// The addresses a connection to a name may go to: the public ones, or all of an exempt name.
    async fn admitted(&self, name: &str) -> Result<Vec<IpAddr>, Refused> {
        let mut addresses = found(name, self.lookups.for_connection(name).await)?;
        if !self.allowed.holds_name(name) {
            addresses.retain(|address| why_not_public(*address).is_none());
        }
        match addresses.is_empty() {
            true => Err(Refused::ResolvesInside(name.to_owned())),
            false => Ok(addresses),
        }
    }
}

/// What a name was found to stand for.
fn found(name: &str, answer: io::Result<Vec<IpAddr>>) -> Result<Vec<IpAddr>, Refused> {
    let addresses = answer.ok().filter(|addresses| !addresses.is_empty());
    addresses.ok_or_else(|| Refused::Unresolved(name.to_owned()))
}

impl Resolve for Gate {
    fn resolve(&self, name: Name) -> Resolving {
        let gate = self.clone();
        Box::pin(async move {
            let addresses = gate.admitted(name.as_str()).await?;
            // Port 0 stands for the URL's.
            let addresses = addresses
                .into_iter()
                .map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

/// What a name is when no public host has it.
fn why_no_public_name(name: &str) -> Option<&'static str> {
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

#[cfg(test)]
mod tests;
