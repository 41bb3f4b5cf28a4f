//! A server for tests of transports.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult},
    service::RequestContext,
};
use tokio::sync::Notify;

use crate::unread_request;

/// A server whose tool `wait` ends at a signal.
#[derive(Clone)]
pub(crate) struct WaitingServer(pub(crate) Arc<Notify>);

impl ServerHandler for WaitingServer {
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name == "wait" {
            self.0.notified().await;
        }
        Ok(CallToolResult::success(Vec::new()).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(unread_request::error_of(request))
    }
}
