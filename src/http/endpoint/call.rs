//! The call that a handler answers: its body and path, and methods that run work on the query pool or a blocking
//! thread.
//!
//! CPU work runs on the pool ([`Call::on_pool`]), work that waits for the store on a blocking thread
//! ([`Call::blocking`]); neither runs on the reactor.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::Mutex;
use uuid::Uuid;
use warp::http::HeaderMap;

use crate::endpoint::response::ApiResponse;
use toise_accounts::holds::CallHold;
use toise_accounts::key::KeyRecord;
use toise_accounts::stored::STORED_RESPONSE_TTL;
use toise_contract::Fault;
use toise_contract::cursor::CursorKey;
use toise_contract::listings::codes::FlxId;
use toise_engine::cancellation::Interrupt;
use toise_engine::pool::Load;
use toise_service::App;
use toise_service::error::ApiError;
use toise_sql::audit::Protocol;
use toise_store::new_id::NewId;
use toise_transport::body::Incoming;

/// Maximum bytes of a short body. It is not checked for the memory that it takes once parsed, and reading it is not a
/// batch job.
pub(crate) const SHORT_BODY_BYTES: usize = 64 << 10;

/// Values of the `{name}` segments of a path, in order, percent-decoded.
pub type Params = Vec<String>;

/// An authenticated request with its complete body.
pub struct Call<'a> {
    /// State shared by all requests.
    pub app: &'a App,
    /// Identifier of the request.
    pub request_id: Uuid,
    /// Values of the path parameters.
    pub(crate) params: Params,
    /// The path, not percent-decoded.
    pub path: &'a str,
    /// The query string, not percent-decoded.
    pub query: &'a str,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The protocol of the call.
    pub protocol: Protocol,
    /// The client's address; `None` if this process calls itself.
    pub(crate) client: Option<IpAddr>,
    /// The complete body; empty where the handler reads it.
    pub body: Bytes,
    /// The body that the handler reads piece by piece.
    pub(crate) upload: Mutex<&'a mut Incoming>,
    pub(crate) key: Option<Arc<KeyRecord>>,
    /// Identifies the call, if it may be repeated under its idempotency key.
    pub(crate) repeatable_as: Option<[u8; 32]>,
    /// Keeps the call from being made again under its idempotency key.
    pub(crate) hold: Option<Arc<CallHold>>,
    /// When the request arrived.
    pub received: Instant,
}

impl Call<'_> {
    /// Returns a path parameter by its position; empty if there is none.
    pub fn param(&self, place: usize) -> &str {
        self.params.get(place).map_or("", String::as_str)
    }

    /// Returns the identifier of a listing or an alert in the path; an invalid one is answered with 404.
    pub fn flx_id(&self, what: &'static str) -> Result<FlxId, ApiError> {
        FlxId::parse(self.param(0)).ok_or(ApiError::NotFound(what))
    }

    /// Returns a UUID in the path; an invalid one is answered with 404.
    pub fn uuid(&self) -> Result<Uuid, ApiError> {
        Uuid::try_parse(self.param(0)).map_err(|_| ApiError::NotFound("record"))
    }

    /// Returns the key of a call to a protected endpoint.
    pub fn key(&self) -> Result<&KeyRecord, ApiError> {
        // Only an endpoint without a key could fail here; the policy tests call every endpoint.
        self.key
            .as_deref()
            .ok_or_else(|| ApiError::internal("a public endpoint asked for the key"))
    }

    /// Returns the key for the cursors of the caller's account.
    pub fn cursors(&self) -> Result<CursorKey, ApiError> {
        Ok(self.app.cursors.of_owner(self.key()?.account_id.as_bytes()))
    }

    /// Returns the identifier of what the call creates: the same one if it is repeated under its idempotency key.
    pub fn new_id(&self) -> NewId {
        match &self.repeatable_as {
            None => NewId::Random,
            Some(call) => NewId::of_call(call, self.app.clock.now() - STORED_RESPONSE_TTL),
        }
    }

    /// Runs a query as one job on the query pool; the job returns the JSON text of the response.
    pub async fn on_pool(
        &self,
        load: Load,
        job: impl FnOnce(&App, &[u8], &Interrupt) -> Result<Bytes, ApiError> + Send + 'static,
    ) -> Result<ApiResponse, ApiError> {
        let body = self.body.clone();
        let run = move |app: &App, interrupt: &Interrupt| job(app, &body, interrupt);
        Ok(ApiResponse::json(self.compute(load, run).await?))
    }

    /// Runs a job on the query pool and returns its result.
    pub async fn compute<T: Send + 'static>(
        &self,
        load: Load,
        job: impl FnOnce(&App, &Interrupt) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let (app, client) = (self.app.clone(), self.key()?.key_id);
        let run = move |interrupt: &Interrupt| job(&app, interrupt);
        self.app.capacity.pool.run(client, load, run).await?
    }

    /// Parses and reads the body on the query pool, where a long one delays no other call.
    pub async fn read_on_pool<T: Send + 'static>(
        &self,
        read: impl FnOnce(Value) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let body = self.body.clone();
        let load = if body.len() > SHORT_BODY_BYTES {
            Load::Batch
        } else {
            Load::Single
        };
        self.compute(load, move |_, _| read(read_json(&body)?))
            .await
    }

    /// Runs a job that waits for the store on a blocking thread. The job runs to its end even if the call is cut off;
    /// until then the call is not made again.
    pub async fn blocking<T: Send + 'static>(
        &self,
        job: impl FnOnce(&App) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let (app, hold) = (self.app.clone(), self.hold.clone());
        let running = tokio::task::spawn_blocking(move || {
            let outcome = job(&app);
            drop(hold);
            outcome
        });
        running.await.map_err(ApiError::internal)?
    }
}

/// Parses a body; a number too large for a double is reported as an invalid value, not as a syntax error.
pub fn read_json(body: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        let message = error.to_string();
        if message.starts_with("number out of range") {
            ApiError::Invalid(Fault::new("", message))
        } else {
            ApiError::NotJson(message)
        }
    })
}
