//! Tools: definitions and replies in the form of the protocol.

use std::{pin::pin, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock,
        ProgressNotificationParam, ProgressToken, ResourceContents, Tool, ToolAnnotations,
    },
    service::{Peer, RequestContext},
};
use serde_json::Value;
use tokio::sync::{
    Notify,
    watch::{self, Receiver, Sender},
};
use yfs_agent::{CallContext, ReplyBlock, ToolDefinition, ToolReply, tool::ProgressReceiver};

use crate::{
    approvals::{CANNOT_ASK, CallApprovals},
    http_service::AbandonedRequest,
    open_session::OpenedSession,
};

/// A report on how far a call has come.
#[derive(Debug, Clone)]
struct ProgressReport {
    done: u64,
    total: Option<u64>,
    message: String,
}

/// A receiver that passes reports on without waiting. For a slow client, the latest one waits, in
/// the place of earlier ones.
#[derive(Debug)]
struct ProgressForwarder {
    sender: Sender<Option<ProgressReport>>,
}

impl ProgressReceiver for ProgressForwarder {
    fn report_progress(&self, done: u64, total: Option<u64>, message: &str) {
        // If the call has ended, the report is not needed.
        drop(self.sender.send(Some(ProgressReport { done, total, message: message.to_owned() })));
    }
}

/// Returns a definition in the form of the protocol.
pub(crate) fn tool_of(definition: &ToolDefinition) -> Tool {
    let given = definition.annotations;
    let mut annotations =
        ToolAnnotations::new().read_only(given.read_only).open_world(given.open_world);
    if !given.read_only {
        // These mean nothing for a tool that only reads.
        annotations = annotations.destructive(given.destructive).idempotent(given.idempotent);
    }
    let (name, description) = (definition.name.to_string(), definition.description.clone());
    let tool = Tool::new(name, description, Arc::new(definition.input_schema.clone()))
        .with_title(definition.title.clone())
        .with_annotations(annotations);
    match &definition.output_schema {
        Some(schema) => tool.with_raw_output_schema(Arc::new(schema.clone())),
        None => tool,
    }
}

/// Calls a tool.
pub(crate) async fn call_tool(
    session: &OpenedSession,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let name = &*request.name;
    if !session.offered_tools().any(|tool| tool.name == name) {
        return Ok(unknown_tool(name).into());
    }
    let state = request.request_state.as_deref();
    let approvals = CallApprovals::of_request(&context, request.input_responses, state);
    let (sender, reports) = watch::channel(None);
    let token = context.meta.get_progress_token();
    let progress = token
        .is_some()
        .then(|| -> Arc<dyn ProgressReceiver> { Arc::new(ProgressForwarder { sender }) });
    let call_context = CallContext { cancel: context.ct.clone(), progress, call_id: None };
    let arguments = Value::Object(request.arguments.unwrap_or_default());
    let call = session.tools.call_tool(&session.agent, name, arguments, call_context);
    let has_ended = Arc::new(Notify::new());
    // A task of its own, because a call may keep its thread busy.
    let forwarding = token.map(|token| {
        let peer = context.peer.clone();
        tokio::spawn(forward_progress(peer, token, reports, has_ended.clone()))
    });
    let abandoned = AbandonedRequest::of(&context.extensions);
    let mut call = pin!(approvals.scope(call));
    let called = tokio::select! {
        called = &mut call => called,
        () = abandoned.cancelled() => {
            // The tool ends its work where it can, and leaves nothing half done.
            context.ct.cancel();
            call.await
        }
    };
    if let Some(forwarding) = forwarding {
        has_ended.notify_one();
        // What was reported belongs before the result.
        drop(forwarding.await);
    }
    let Ok(reply) = called else { return Ok(unknown_tool(name).into()) };
    if let Some(questions) = approvals.open_questions() {
        return Ok(questions.into());
    }
    let refused = reply.is_error && approvals.was_unable();
    let mut result = result_of(reply);
    if refused {
        result.content.push(ContentBlock::text(CANNOT_ASK));
    }
    Ok(result.into())
}

/// Waits for the next report of a call, and returns it or a later one. Returns `None` after the
/// last.
async fn next_report(reports: &mut Receiver<Option<ProgressReport>>) -> Option<ProgressReport> {
    reports.changed().await.ok()?;
    reports.borrow_and_update().clone()
}

/// Sends the reports of a call to its client. Ends when the call has ended, or was dropped, and the
/// last one is sent.
async fn forward_progress(
    peer: Peer<RoleServer>,
    token: ProgressToken,
    mut reports: Receiver<Option<ProgressReport>>,
    has_ended: Arc<Notify>,
) {
    loop {
        let report = tokio::select! {
            biased;
            report = next_report(&mut reports) => report,
            () = has_ended.notified() => None,
        };
        let Some(report) = report else { return };
        let mut notice = ProgressNotificationParam::new(token.clone(), report.done as f64);
        notice.total = report.total.map(|total| total as f64);
        notice.message = Some(report.message);
        // A client that is gone gets no reply either.
        drop(peer.notify_progress(notice).await);
    }
}

/// Returns the result of a call of a tool that there is not. It is a result, which models see, and
/// not an error of the protocol.
fn unknown_tool(name: &str) -> CallToolResult {
    let text = format!("MCP error -32602: Tool {name} not found");
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn result_of(reply: ToolReply) -> CallToolResult {
    let content = reply.blocks.into_iter().map(block_of).collect();
    let mut result = match reply.is_error {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    };
    // The member is only for errors; some clients compare whole results.
    result.is_error = result.is_error.filter(|is_error| *is_error);
    result.structured_content = reply.structured;
    result
}

fn block_of(block: ReplyBlock) -> ContentBlock {
    match block {
        ReplyBlock::Text(text) => ContentBlock::text(text),
        ReplyBlock::Image { data, mime } => ContentBlock::image(STANDARD.encode(data), mime),
        ReplyBlock::Audio { data, mime } => ContentBlock::audio(STANDARD.encode(data), mime),
        ReplyBlock::Resource { uri, data, mime } => {
            let contents = ResourceContents::blob(STANDARD.encode(data), uri);
            ContentBlock::resource(contents.with_mime_type(mime))
        }
        _ => ContentBlock::text("[a result that this server cannot show]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that was slow got the first 16 reports of a call, and never learned of its end.
    #[tokio::test]
    async fn the_last_report_reaches_a_slow_client() {
        let (sender, mut reports) = watch::channel(None);
        let forwarder = ProgressForwarder { sender };
        for done in 1..=100 {
            forwarder.report_progress(done, Some(100), "files");
        }
        let report = next_report(&mut reports).await.expect("it is reported");
        assert_eq!((report.done, report.total), (100, Some(100)));
        forwarder.report_progress(101, None, "more");
        drop(forwarder);
        assert_eq!(next_report(&mut reports).await.map(|report| report.done), Some(101));
        assert!(next_report(&mut reports).await.is_none());
    }
}
