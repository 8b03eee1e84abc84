//! What becomes of a request whose client is out of turn ([`super::pace`]).

use std::time::Duration;

use uuid::Uuid;
use warp::Reply;

use super::answer_headers;
use super::error::ApiError;
use super::pace::PacedClient;

/// An extension of answers that are not to be sent: their connection ends instead.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndsConnection;

/// The answer to a client whose turn is too far away. Its connection ends, unless it is one of a proxy.
pub fn refuse(client: PacedClient, wait: Duration, request_id: Uuid) -> warp::reply::Response {
    let mut response = ApiError::TooManyUnkeyed(wait.into()).into_response(request_id);
    answer_headers::set_request_id(response.headers_mut(), request_id);
    if !client.is_proxied {
        response.extensions_mut().insert(EndsConnection);
    }
    response.into_response()
}
