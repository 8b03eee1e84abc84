//! The head of a request, with what this process knows of it.

use std::net::IpAddr;

use warp::http::{HeaderMap, Method};
use warp::path::FullPath;

use super::App;
use super::audience::Audience;
use super::auth;
use super::body::{DRAIN_BYTES_MAX, declared};
use super::client_address::{PeerAddress, client_address};
use super::endpoint::Endpoint;
use super::malformed::Malformed;
use super::pace::PacedClient;
use super::paid_reads::PaidReads;
use toise_sql::audit::Door;

/// The head of a request.
#[derive(Debug)]
pub struct Head {
    /// Method.
    pub method: Method,
    /// The path, not percent-decoded.
    pub path: FullPath,
    /// The query string, not percent-decoded.
    pub query: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The way in. No client can set it: it is an extension that code of this process adds to a request.
    pub door: Door,
    /// The other end of the connection; likewise. `None` if this process made the request itself.
    pub peer: Option<PeerAddress>,
    /// What its connection may still read; likewise.
    pub paid: Option<PaidReads>,
    /// Who the listener is for; likewise.
    pub audience: Audience,
    /// Why HTTP forbids the request; likewise.
    pub malformed: Option<Malformed>,
    /// Whether the call has been counted against the rate of its key; likewise.
    pub is_admitted: bool,
    /// Whether it waited for its turn at the door; likewise.
    pub is_in_turn: bool,
}

/// A call that has been counted against the rate of its key. An extension of requests, which no client can set.
#[derive(Clone, Copy, Debug)]
pub struct Admitted;

impl Head {
    /// The address of the client.
    pub fn client(&self, app: &App) -> Option<IpAddr> {
        let peer = self.peer?;
        Some(client_address(peer.0, &self.headers, &app.proxies))
    }

    /// Who is answered at a pace if the answer costs nobody anything.
    pub fn paced_client(&self, app: &App, endpoint: Option<&Endpoint>) -> PacedClient {
        PacedClient {
            address: match self.audience {
                Audience::Operators => None,
                _ if self.is_in_turn => None,
                Audience::Everyone | Audience::Customers => self.client(app),
            },
            is_proxied: self
                .peer
                .is_some_and(|peer| app.proxies.contain(peer.0.to_canonical())),
            is_probe: endpoint.is_some_and(Audience::is_probe),
        }
    }

    /// Pays for the body of a request whose key is valid, of at most `bytes_max` bytes and those that are discarded.
    pub fn pay(&self, bytes_max: usize) {
        if let Some(paid) = &self.paid {
            let most = (bytes_max + DRAIN_BYTES_MAX) as u64;
            paid.pay(declared(&self.headers).map_or(most, |declared| declared.min(most)));
        }
    }

    /// Whether the request shows something that may be a key.
    pub(super) fn shows_key(&self, app: &App) -> bool {
        auth::shows_key(app, &self.method, &self.headers)
    }
}
