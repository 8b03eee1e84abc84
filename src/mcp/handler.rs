//! Implements the protocol: lists the tools and calls them. Keeps no state between two messages.

use std::future::Future;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation,
    InitializeResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use warp::http::HeaderValue;
use warp::http::request::Parts;

use crate::backend::{Backend, Caller, ToolResponse};
use crate::catalog::{self, CATALOG};
use crate::request::build_request;
use toise_service::admission::KEY_HEADER;

/// The instructions that an agent receives first.
const INSTRUCTIONS: &str = "French property data: homes for sale and to rent, recorded sales (DVF), energy \
                            diagnostics (DPE), addresses, estimates and market indicators. Prices are in EUR, \
                            surfaces in m2, positions in degrees (WGS 84). Most calls cost credits of the API key. \
                            If a tool needs a position or an INSEE code, geocode the address first. An error gives \
                            the path of the argument and says what is allowed there: correct the argument and call \
                            again.";

/// The handler of the messages of one client.
#[derive(Clone)]
pub(crate) struct ToolHandler {
    backend: Backend,
    /// The key for messages that carry none.
    key: Option<HeaderValue>,
}

impl ToolHandler {
    pub fn new(backend: Backend, key: Option<HeaderValue>) -> Self {
        Self { backend, key }
    }

    async fn call(
        &self,
        called: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<ToolResponse, ErrorData> {
        let served = catalog::find(&called.name).ok_or_else(|| {
            let names: Vec<_> = CATALOG.iter().map(|served| &*served.tool.name).collect();
            let message = format!("no such tool; must be one of: {}", names.join(", "));
            ErrorData::invalid_params(message, None)
        })?;
        let request = match build_request(served, called.arguments.unwrap_or_default()) {
            Ok(request) => request,
            Err(fault) => return Ok(ToolResponse::refused(fault.into())),
        };
        let sent = context.extensions.get::<Parts>();
        let key = sent.and_then(|parts| parts.headers.get(KEY_HEADER));
        let caller = Caller {
            key: key.or(self.key.as_ref()),
            peer: sent.and_then(|parts| parts.extensions.get().copied()),
            counted: sent.and_then(|parts| parts.extensions.get().copied()),
        };
        let sending = self.backend.send(request, caller);
        tokio::select! {
            response = sending => Ok(response),
            // Dropping the pending request stops its query, as when a client hangs up.
            () = context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
        }
    }
}

impl ServerHandler for ToolHandler {
    fn get_info(&self) -> InitializeResult {
        InitializeResult::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(
                Implementation::new("toise", env!("CARGO_PKG_VERSION")).with_title("toise"),
            )
            .with_instructions(INSTRUCTIONS)
    }

    fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorData>> + Send + '_ {
        let tools = CATALOG.iter().map(|served| served.tool.clone()).collect();
        std::future::ready(Ok(ListToolsResult::with_all_items(tools)))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        catalog::find(name).map(|served| served.tool.clone())
    }

    async fn call_tool(
        &self,
        called: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let response = self.call(called, &context).await?;
        let result = if response.is_success {
            CallToolResult::structured(response.body)
        } else {
            CallToolResult::structured_error(response.body)
        };
        Ok(result.into())
    }
}
