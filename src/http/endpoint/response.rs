//! The result of an endpoint: the response, and how many units it costs.

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Value, json};
use warp::Reply;
use warp::http::header::{CONTENT_TYPE, HeaderName, HeaderValue, LOCATION};
use warp::http::{Response, StatusCode};

use toise_service::error::ApiError;
use toise_transport::pieces::BodyPieces;

/// Bytes of a response in addition to its records.
const ENVELOPE_BYTES: usize = 16;

/// An endpoint's response.
#[derive(Debug)]
pub struct ApiResponse {
    /// Status, headers, body.
    pub response: Response<Bytes>,
    /// Units of the endpoint's consumption type; credits are their number times the price.
    pub units: u64,
    /// Whether the call is counted.
    pub counts: bool,
    /// Pieces that follow the body.
    pub rest: Option<BodyPieces>,
    /// Whether a repeated call may get another response, because the work that it asks for is still in progress.
    pub is_pending: bool,
    /// Subject of an administrative act, for the audit log, if the response does not name a key or an account.
    pub about: Option<String>,
}

impl ApiResponse {
    /// Returns a 200 response with a JSON text, one unit.
    pub fn json(body: impl Into<Bytes>) -> Self {
        Self::typed("application/json", body)
    }

    /// Returns a 200 response `{"data": …}`.
    pub fn data(data: Value) -> Self {
        Self::json(json!({ "data": data }).to_string())
    }

    /// Returns a response without a body.
    pub fn empty(status: StatusCode) -> Self {
        Self::from(Response::new(Bytes::new())).with_status(status)
    }

    /// Returns a redirect to an address, which may be relative.
    pub fn redirect(status: StatusCode, address: &str) -> Self {
        Self::empty(status).with_header(LOCATION, address)
    }

    /// Returns a 200 response `{"data": …}` with a stored record; 404 if there is none.
    pub fn record(record: Option<Vec<u8>>, what: &'static str) -> Result<Self, ApiError> {
        let record = record.ok_or(ApiError::NotFound(what))?;
        let mut bytes = BytesMut::with_capacity(record.len() + ENVELOPE_BYTES);
        bytes.put_slice(br#"{"data":"#);
        bytes.put_slice(&record);
        bytes.put_u8(b'}');
        Ok(Self::json(bytes))
    }

    /// Sets the status.
    pub fn with_status(mut self, status: StatusCode) -> Self {
        *self.response.status_mut() = status;
        self
    }

    /// Returns a 200 response of another media type, one unit.
    pub fn typed(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let mut response = Response::new(body.into());
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        Self::from(response)
    }

    /// Sets the number of units.
    pub fn with_units(mut self, units: u64) -> Self {
        self.units = units;
        self
    }

    /// Continues the body with pieces that are produced while it is sent.
    pub fn with_rest(mut self, rest: BodyPieces) -> Self {
        self.rest = Some(rest);
        self
    }

    /// Sets a header; leaves it out if the value is not a valid header value.
    pub fn with_header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.response.headers_mut().insert(name, value);
        }
        self
    }

    /// Sets what an administrative act was about.
    pub fn about(mut self, subject: String) -> Self {
        self.about = Some(subject);
        self
    }

    /// Makes the call free and not counted.
    pub fn free_of_charge(mut self) -> Self {
        self.counts = false;
        self
    }

    /// Marks the response as 202, not final: the work that the call asks for is still in progress.
    pub fn pending(mut self) -> Self {
        self.is_pending = true;
        self.with_status(StatusCode::ACCEPTED)
    }
}

/// Returns `{"data": […]}` with stored records.
pub fn list(records: &[Vec<u8>]) -> Bytes {
    let length: usize = records.iter().map(|record| record.len() + 1).sum();
    let mut bytes = BytesMut::with_capacity(length + ENVELOPE_BYTES);
    bytes.put_slice(br#"{"data":["#);
    for (place, record) in records.iter().enumerate() {
        if place > 0 {
            bytes.put_u8(b',');
        }
        bytes.put_slice(record);
    }
    bytes.put_slice(b"]}");
    bytes.freeze()
}

impl From<Response<Bytes>> for ApiResponse {
    fn from(response: Response<Bytes>) -> Self {
        Self {
            response,
            units: 1,
            counts: true,
            rest: None,
            is_pending: false,
            about: None,
        }
    }
}

/// Returns a response whose body continues with the pieces of a stream.
pub(crate) fn streamed(response: Response<Bytes>, rest: BodyPieces) -> warp::reply::Response {
    let (head, begin) = response.into_parts();
    let mut response = warp::reply::stream(rest.after(begin)).into_response();
    *response.status_mut() = head.status;
    *response.headers_mut() = head.headers;
    response
}
