//! What becomes of a request whose client is out of turn ([`super::pace`]).

use std::error::Error;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use warp::Reply;
use warp::http::request::Parts;

use super::answer_headers;
use super::error::ApiError;
use super::pace::{Pace, PacedClient};

/// An extension of answers that are not to be sent: their connection ends instead.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndsConnection;

/// Turns clients away that are out of turn, before anything is done for them. Cheap to clone.
#[derive(Clone)]
pub struct Doorkeeper {
    pace: Pace,
    is_unkeyed: Arc<dyn Fn(&Parts) -> bool + Send + Sync>,
}

impl fmt::Debug for Doorkeeper {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Doorkeeper").finish_non_exhaustive()
    }
}

impl Doorkeeper {
    /// Turns away requests of which `is_unkeyed` says that they show no key and are no health checks.
    pub fn new(pace: &Pace, is_unkeyed: impl Fn(&Parts) -> bool + Send + Sync + 'static) -> Self {
        Self {
            pace: pace.clone(),
            is_unkeyed: Arc::new(is_unkeyed),
        }
    }

    /// Whether an address may open a connection.
    pub(super) fn lets_in(&self, peer: IpAddr) -> bool {
        self.pace.may_connect(peer)
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

    /// Whether the connection of a request is to end at once.
    pub(super) fn turns_away(&self, head: &Parts, peer: IpAddr) -> bool {
        self.pace.is_out_of_turn(peer, || (self.is_unkeyed)(head))
    }
}

/// The answer to a client whose turn is too far away. Its connection ends, unless it is one of a proxy.
pub fn refuse(client: PacedClient, wait: Duration, request_id: Uuid) -> warp::reply::Response {
    let mut response = ApiError::TooManyUnkeyed(wait.into()).into_response(request_id);
    answer_headers::set_request_id(response.headers_mut(), request_id);
    if !client.is_proxied {
        response.extensions_mut().insert(EndsConnection);
    }
    response.into_response()
}
