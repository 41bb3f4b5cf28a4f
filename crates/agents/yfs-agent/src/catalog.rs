//! The tools that a caller offers, and the one function that calls them.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
    time::{Instant, SystemTime},
};

use serde_json::Value;
use smol_str::SmolStr;
use thiserror::Error;
use yfs_vfs::CallScope;

use crate::{
    audit::{AuditOutcome, AuditRecord},
    registered_tool::RegisteredTool,
    session::AgentSession,
    tool::{CallContext, ToolDefinition, ToolReply},
    tool_call::ToolCall,
    vocabulary::ToolVocabulary,
};

/// The most characters of an error's text that its audit record keeps.
const MAX_REASON_CHARS: usize = 200;

/// The tools of one or several vocabularies.
///
/// Making a catalog generates the schemas, so a program makes it once and shares it.
pub struct ToolCatalog {
    tools: Vec<RegisteredTool>,
    by_name: HashMap<SmolStr, usize>,
}

/// Two vocabularies have a tool of the same name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("two tools are named {0:?}")]
pub struct ToolNameClash(pub SmolStr);

/// No tool has this name, or the session cannot offer it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no tool named {name:?}")]
pub struct UnknownTool {
    /// The name.
    pub name: SmolStr,
}

impl ToolCatalog {
    /// Makes a catalog of vocabularies.
    ///
    /// # Errors
    ///
    /// Fails if two of them have a tool of the same name.
    pub fn new(vocabularies: &[ToolVocabulary]) -> Result<Self, ToolNameClash> {
        let mut catalog = Self { tools: Vec::new(), by_name: HashMap::new() };
        for tool in vocabularies.iter().flat_map(|vocabulary| vocabulary.tools()) {
            match catalog.by_name.entry(tool.definition.name.clone()) {
                Entry::Occupied(entry) => return Err(ToolNameClash(entry.key().clone())),
                Entry::Vacant(entry) => entry.insert(catalog.tools.len()),
            };
            catalog.tools.push(tool);
        }
        Ok(catalog)
    }

    /// Returns the definitions of all tools.
    pub fn definitions(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.tools.iter().map(|tool| &tool.definition)
    }

    /// Returns the definitions of the tools that a session can offer: without a runner of commands
    /// there is no `execute`, without a history there are no versions.
    pub fn definitions_for<'a>(
        &'a self,
        session: &'a AgentSession,
    ) -> impl Iterator<Item = &'a ToolDefinition> {
        let offered = self.tools.iter().filter(|tool| tool.is_offered_by(session));
        offered.map(|tool| &tool.definition)
    }

    /// Calls a tool. Whatever goes wrong inside is a reply with
    /// [`is_error`](ToolReply::is_error), for the model to read.
    ///
    /// # Errors
    ///
    /// Fails if the session offers no tool of this name.
    pub async fn call_tool(
        &self,
        session: &AgentSession,
        name: &str,
        arguments: Value,
        context: CallContext,
    ) -> Result<ToolReply, UnknownTool> {
        let found = self.by_name.get(name).map(|index| &self.tools[*index]);
        let Some(tool) = found.filter(|tool| tool.is_offered_by(session)) else {
            return Err(UnknownTool { name: name.into() });
        };
        let scope = match tool.definition.annotations.read_only {
            true => CallScope::new(),
            false => CallScope::changing(),
        };
        let call = ToolCall::with_scope(session, name, context, scope.clone());
        if session.audit().is_none() {
            let reply = tool.run(call, arguments).await;
            return Ok(reply.with_left_out(scope.n_left_out(), &tool.definition));
        }
        let digest = blake3::hash(arguments.to_string().as_bytes()).to_hex().to_string();
        let mut recorded = RecordedCall {
            call: call.clone(),
            digest,
            at: SystemTime::now(),
            started: Instant::now(),
            outcome: AuditOutcome::Abandoned,
        };
        let reply = tool.run(call, arguments).await;
        recorded.outcome = match reply.is_error {
            false => AuditOutcome::Done,
            true => {
                let reason = reply.joined_text().chars().take(MAX_REASON_CHARS).collect();
                AuditOutcome::Failed { reason }
            }
        };
        Ok(reply.with_left_out(scope.n_left_out(), &tool.definition))
    }
}

/// A call under way; dropped before its end, it is recorded as abandoned.
struct RecordedCall {
    call: ToolCall,
    digest: String,
    at: SystemTime,
    started: Instant,
    outcome: AuditOutcome,
}

impl Drop for RecordedCall {
    fn drop(&mut self) {
        let Some((origin, files)) = self.call.audited() else { return };
        let outcome = std::mem::replace(&mut self.outcome, AuditOutcome::Abandoned);
        let record = origin.record(self.at, self.started, outcome, files);
        let arguments_digest = Some(std::mem::take(&mut self.digest));
        if let Some(sink) = self.call.session().audit() {
            sink.record(AuditRecord { arguments_digest, ..record });
        }
    }
}

impl fmt::Debug for ToolCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.tools.iter().map(|tool| &tool.definition.name);
        f.debug_list().entries(names).finish()
    }
}
