//! What an endpoint gives back: the answer, and how much of it is paid for.

use bytes::Bytes;
use warp::http::header::{CONTENT_TYPE, HeaderValue};
use warp::http::{Response, StatusCode};

/// An endpoint's answer.
#[derive(Debug)]
pub struct Answer {
    /// Status, headers, body.
    pub response: Response<Bytes>,
    /// Units of the route's consumption: credits are their number times the price.
    pub units: u64,
    /// Whether the call counts at all.
    pub counts: bool,
}

impl Answer {
    /// A 200 answer with a JSON text, one unit.
    pub fn json(body: impl Into<Bytes>) -> Self {
        Self::typed("application/json", body)
    }

    /// A 200 answer of another media type, one unit.
    pub fn typed(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let mut response = Response::new(body.into());
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        Self::from(response)
    }

    /// The same with another number of units.
    pub fn with_units(mut self, units: u64) -> Self {
        self.units = units;
        self
    }

    /// The same, neither priced nor counted.
    pub fn uncounted(mut self) -> Self {
        self.counts = false;
        self
    }

    /// Whether asking again would give the same: anything but "not yet".
    pub fn is_final(&self) -> bool {
        self.response.status() != StatusCode::ACCEPTED
    }
}

impl From<Response<Bytes>> for Answer {
    fn from(response: Response<Bytes>) -> Self {
        Self {
            response,
            units: 1,
            counts: true,
        }
    }
}
