//! A call on its way to its endpoint, and what handlers do with it: read its body and path, work on the query pool or
//! on a blocking thread.
//!
//! What computes runs on the pool ([`Call::on_pool`]), what waits for the store on a blocking thread
//! ([`Call::blocking`]); nothing of either runs on the reactor.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use serde_json::Value;
use uuid::Uuid;
use warp::http::HeaderMap;

use super::App;
use super::error::ApiError;
use super::response::ApiResponse;
use super::router::Params;
use toise_accounts::key::KeyRecord;
use toise_contract::Fault;
use toise_contract::listings::codes::FlxId;
use toise_engine::cancellation::Interrupt;
use toise_engine::pool::Load;

/// A request that may be answered: its key is good, its body whole.
pub struct Call<'a> {
    /// What every request shares.
    pub app: &'a App,
    /// Values of the path's parameters.
    pub(crate) params: Params,
    /// The path, not decoded.
    pub path: &'a str,
    /// The query string, not decoded.
    pub query: &'a str,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The body, whole.
    pub body: Bytes,
    pub(crate) key: Option<Arc<KeyRecord>>,
    /// When the request came.
    pub received: Instant,
}

impl Call<'_> {
    /// A parameter of the path, by its place.
    pub fn param(&self, place: usize) -> &str {
        self.params.get(place).map_or("", String::as_str)
    }

    /// The identifier of a listing or an alert in the path; what is none names nothing: 404.
    pub fn flx_id(&self, what: &'static str) -> Result<FlxId, ApiError> {
        FlxId::parse(self.param(0)).ok_or(ApiError::NotFound(what))
    }

    /// An identifier in the path; what is none names nothing: 404.
    pub fn uuid(&self) -> Result<Uuid, ApiError> {
        Uuid::try_parse(self.param(0)).map_err(|_| ApiError::NotFound("record"))
    }

    /// The key of a protected endpoint's call.
    pub fn key(&self) -> Result<&KeyRecord, ApiError> {
        // Only an endpoint that is served without a key could fail here, and the policy tests walk every one.
        self.key
            .as_deref()
            .ok_or_else(|| ApiError::internal("a public endpoint asked for the key"))
    }

    /// Runs a question as one job on the query pool: what it returns is the JSON text of the answer.
    pub async fn on_pool(
        &self,
        load: Load,
        job: impl FnOnce(&App, &[u8], &Interrupt) -> Result<Bytes, ApiError> + Send + 'static,
    ) -> Result<ApiResponse, ApiError> {
        let (app, body) = (self.app.clone(), self.body.clone());
        let client = self.key()?.key_id;
        let run = move |interrupt: &Interrupt| job(&app, &body, interrupt);
        Ok(ApiResponse::json(
            self.app.pool.run(client, load, run).await??,
        ))
    }

    /// Runs a job that waits for the store on a blocking thread.
    pub async fn blocking<T: Send + 'static>(
        &self,
        job: impl FnOnce(&App) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let app = self.app.clone();
        tokio::task::spawn_blocking(move || job(&app))
            .await
            .map_err(ApiError::internal)?
    }
}

/// Reads a body; a number too great for a double is a fault of the value, not of the syntax.
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
