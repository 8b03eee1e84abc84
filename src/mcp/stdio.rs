//! The protocol over standard input and output, for one agent that started this process and acts with the rights of its
//! operator.
//!
//! Messages are lines of JSON. Standard output carries nothing else; log lines go to standard error.

use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;
use warp::http::HeaderValue;

use crate::backend::{self, Backend};
use crate::handler::ToolHandler;
use toise_http::filters;
use toise_net::api_client::{ApiClient, Error};
use toise_service::App;

/// Maximum bytes of a message. A longer one is dropped with a log line and not answered, because its identifier is
/// unknown.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Errors of the exchange with an agent.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The key of this process cannot be sent.
    #[error("the key is not visible ASCII")]
    Key,
    /// The server cannot be reached, or does not accept the key.
    #[error("{0}")]
    Server(String),
    /// The agent did not initialize as the protocol demands.
    #[error("the agent did not initialize: {0}")]
    Initialize(#[from] Box<ServerInitializeError>),
    /// A bug made the exchange panic.
    #[error("the exchange ended: {0}")]
    Ended(#[from] tokio::task::JoinError),
}

/// Serves an agent from the service of this process, with this key, until the agent closes standard input.
///
/// # Errors
/// The key is not visible ASCII, or the agent does not speak the protocol.
pub async fn serve_here(app: &App, key: &str) -> Result<(), StdioError> {
    let key = HeaderValue::from_str(key).map_err(|_| StdioError::Key)?;
    let backend = Backend::Here(filters::service(app.clone()));
    exchange(ToolHandler::new(backend, Some(key))).await
}

/// Serves an agent through a server, with this key, until the agent closes standard input.
///
/// # Errors
/// The server cannot be reached or does not accept the key, or the agent does not speak the protocol.
pub async fn serve_remote(url: &str, key: &str) -> Result<(), StdioError> {
    let client = ApiClient::new(url, key);
    let client = client.map_err(|error: Error| StdioError::Server(error.to_string()))?;
    backend::check(&client).await.map_err(StdioError::Server)?;
    exchange(ToolHandler::new(Backend::Server(client), None)).await
}

async fn exchange(handler: ToolHandler) -> Result<(), StdioError> {
    let (input, output) = rmcp::transport::stdio();
    let transport =
        AsyncRwTransport::new_server(input, output).with_max_line_length(MESSAGE_BYTES_MAX);
    let running = match handler.serve(transport).await {
        Ok(running) => running,
        // Closed before the first message: the agent only checked whether the command runs.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(Box::new(error).into()),
    };
    match running.waiting().await? {
        QuitReason::JoinError(error) => Err(error.into()),
        _ => Ok(()),
    }
}
