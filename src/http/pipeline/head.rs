//! The head of a request, with the values that the process itself adds to it.

use std::net::IpAddr;

use warp::http::{HeaderMap, Method};
use warp::path::FullPath;

use crate::endpoint::audience::Audience;
use toise_service::App;
use toise_sql::audit::Protocol;
use toise_transport::client_address::{PeerAddress, client_address};
use toise_transport::malformed::Malformed;

/// The head of a request. Clients cannot set `protocol` and the fields after it: these come from extensions, which only
/// code of this process adds.
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
    /// The protocol through which the request arrived.
    pub protocol: Protocol,
    /// The peer of the connection; `None` if this process made the request itself.
    pub peer: Option<PeerAddress>,
    /// The audience of the listener.
    pub audience: Audience,
    /// Why HTTP forbids the request.
    pub malformed: Option<Malformed>,
    /// Whether the call has been counted against the rate of its key.
    pub is_counted: bool,
}

/// An extension of requests that have been counted against the rate of their key.
#[derive(Clone, Copy, Debug)]
pub struct AlreadyCounted;

impl Head {
    /// Returns the address of the client; `None` if this process made the request itself.
    pub fn client(&self, app: &App) -> Option<IpAddr> {
        let peer = self.peer?;
        Some(client_address(peer.0, &self.headers, &app.access.proxies))
    }
}
