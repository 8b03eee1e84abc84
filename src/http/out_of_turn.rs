//! What becomes of a request whose client is out of turn ([`super::pace`]): it waits at the door, or its connection ends.

use std::error::Error;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use warp::Reply;
use warp::http::{HeaderMap, Method, Request};

use super::answer_headers;
use super::error::ApiError;
use super::pace::{Pace, PacedClient};

/// An extension of answers that are not to be sent: their connection ends instead.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndsConnection;

/// An extension of requests that waited for their turn at the door, which no client can set.
#[derive(Clone, Copy, Debug)]
pub struct InTurn;

/// Whether a request of a method, a path and headers waits at the door.
type Waits = dyn Fn(&Method, &str, &HeaderMap) -> bool + Send + Sync;

/// Lets requests wait for the turn of their client, before anything is done for them. Cheap to clone.
#[derive(Clone)]
pub struct Doorkeeper {
    pace: Pace,
    waits: Arc<Waits>,
}

impl fmt::Debug for Doorkeeper {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Doorkeeper").finish_non_exhaustive()
    }
}

impl Doorkeeper {
    /// Those wait of which `waits` says so.
    pub fn new(
        pace: &Pace,
        waits: impl Fn(&Method, &str, &HeaderMap) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            pace: pace.clone(),
            waits: Arc::new(waits),
        }
    }

    /// Holds a new connection until it may be read; `false` if it is to be closed.
    pub(super) async fn let_in(&self, peer: IpAddr) -> bool {
        self.pace.let_in(peer).await
    }

    /// Notes how a connection ended: one that the protocol ends for the load it makes, such as that of streams that are
    /// begun and taken back, counts like one that was turned away.
    pub(super) fn note_end(&self, peer: IpAddr, error: &(dyn Error + 'static)) {
        let (mut next, mut reason) = (Some(error), None);
        while let (Some(error), None) = (next, reason) {
            reason = error
                .downcast_ref::<h2::Error>()
                .and_then(h2::Error::reason);
            next = error.source();
        }
        if reason == Some(h2::Reason::ENHANCE_YOUR_CALM) {
            self.pace.cut_off(peer);
        }
    }

    /// Waits for the turn of a client, if its request is one that waits. Its connection is to end if that is too far away.
    pub(super) async fn keep<B>(
        &self,
        peer: IpAddr,
        request: &Request<B>,
    ) -> Result<Option<InTurn>, EndsConnection> {
        if !(self.waits)(request.method(), request.uri().path(), request.headers()) {
            return Ok(None);
        }
        let client = PacedClient {
            address: Some(peer),
            is_proxied: false,
            is_probe: false,
        };
        let kept = self.pace.keep(client).await;
        kept.map(|()| Some(InTurn)).map_err(|_wait| EndsConnection)
    }
}

/// The answer to a client whose turn is too far away. Its connection ends, unless it is one of a proxy.
pub fn refuse(
    pace: &Pace,
    client: PacedClient,
    wait: Duration,
    request_id: Uuid,
) -> warp::reply::Response {
    let mut response = ApiError::TooManyUnkeyed(wait.into()).into_response(request_id);
    let headers = response.headers_mut();
    answer_headers::set_request_id(headers, request_id);
    if let Some(address) = client.address {
        answer_headers::set_rate_headers(headers, answer_headers::unkeyed_rate(pace.rate(address)));
    }
    if !client.is_proxied {
        response.extensions_mut().insert(EndsConnection);
    }
    response.into_response()
}
