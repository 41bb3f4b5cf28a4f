//! The tools that a caller offers, and the one function that calls them.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
    pin::Pin,
    sync::Arc,
    time::{Instant, SystemTime},
};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use smol_str::SmolStr;
use thiserror::Error;

use yfs_vfs::{CallScope, work_meter::metered};

use crate::{
    audit::{AuditOutcome, AuditRecord},
    call_progress::CallProgress,
    session::AgentSession,
    tool::{CallContext, JsonSchemaObject, ToolAnnotations, ToolDefinition, ToolReply},
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

/// The part of a session without which a tool is not offered.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolNeed {
    /// None: every session offers the tool.
    #[default]
    Filesystem,
    /// [`AgentSession::executor`].
    Executor,
    /// [`AgentSession::history`].
    History,
    /// [`AgentSession::json_query`].
    JsonQuery,
}

pub(crate) type ReplyFuture = Pin<Box<dyn Future<Output = ToolReply> + Send>>;

/// A check of arguments before they are read. The error is the text of the reply.
type ArgumentCheck = fn(&ToolDefinition, &Value) -> Result<(), String>;

type ToolFunction = dyn Fn(ToolCall, Value) -> ReplyFuture + Send + Sync;

/// A tool and its function.
pub(crate) struct RegisteredTool {
    definition: ToolDefinition,
    need: ToolNeed,
    check: Option<ArgumentCheck>,
    run: Box<ToolFunction>,
}

/// The words with which a tool is described.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolWords {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
}

/// The structured result of a tool whose result is text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TextResult {
    /// The text of the reply.
    pub content: String,
}

impl RegisteredTool {
    /// Makes a tool from a function of its arguments.
    pub(crate) fn new<I, O, F, R>(words: ToolWords, annotations: ToolAnnotations, run: F) -> Self
    where
        I: DeserializeOwned + JsonSchema,
        O: JsonSchema,
        F: Fn(ToolCall, I) -> R + Send + Sync + 'static,
        R: Future<Output = ToolReply> + Send + 'static,
    {
        let ToolWords { name, title, description } = words;
        let definition = ToolDefinition {
            name: SmolStr::new_static(name),
            title: title.to_owned(),
            description: description.to_owned(),
            input_schema: schema_of::<I>(),
            output_schema: Some(schema_of::<O>()),
            annotations,
        };
        let run = Box::new(move |call, arguments| -> ReplyFuture {
            match I::deserialize(arguments) {
                Ok(input) => Box::pin(run(call, input)),
                Err(error) => {
                    let text = format!("Error: invalid arguments for {name}: {error}");
                    Box::pin(std::future::ready(ToolReply::error(text)))
                }
            }
        });
        Self { definition, need: ToolNeed::default(), check: None, run }
    }

    pub(crate) fn name(&self) -> &str {
        &self.definition.name
    }

    /// Replaces the schemas, which were made from the types.
    pub(crate) fn with_schemas(
        mut self,
        input: JsonSchemaObject,
        output: JsonSchemaObject,
    ) -> Self {
        self.definition.input_schema = input;
        self.definition.output_schema = Some(output);
        self
    }

    /// Sets a check of the arguments.
    pub(crate) fn checked_by(self, check: ArgumentCheck) -> Self {
        Self { check: Some(check), ..self }
    }

    async fn run(&self, call: ToolCall, arguments: Value) -> ToolReply {
        let arguments = with_object(arguments);
        if let Err(text) = self.check.map_or(Ok(()), |check| check(&self.definition, &arguments)) {
            return ToolReply::error(text);
        }
        match call.context().progress.clone() {
            None => (self.run)(call, arguments).await,
            Some(receiver) => {
                let progress = Arc::new(CallProgress::new(receiver));
                metered(progress, (self.run)(call, arguments)).await
            }
        }
    }

    /// Sets what the tool needs of a session.
    pub(crate) fn needs(self, need: ToolNeed) -> Self {
        Self { need, ..self }
    }

    /// Removes the schema of the result, for a tool that mostly replies with other than text.
    pub(crate) fn without_output_schema(mut self) -> Self {
        self.definition.output_schema = None;
        self
    }

    fn is_offered_by(&self, session: &AgentSession) -> bool {
        match self.need {
            ToolNeed::Filesystem => true,
            ToolNeed::Executor => session.executor().is_some(),
            ToolNeed::History => session.history().is_some(),
            ToolNeed::JsonQuery => session.json_query().is_some(),
        }
    }
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

/// Returns the arguments of a call; a call without any has an empty object.
fn with_object(arguments: Value) -> Value {
    if arguments.is_null() { Value::Object(Map::new()) } else { arguments }
}

/// Returns the schema of a type, with subschemas in place.
fn schema_of<T: JsonSchema>() -> JsonSchemaObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut object = match schema.to_value() {
        Value::Object(object) => object,
        _ => Map::new(),
    };
    object.remove("title");
    object.values_mut().for_each(remove_number_formats);
    object
}

/// Removes the formats of Rust's numbers, such as `uint64`: JSON Schema has none of that name, and
/// clients warn about them.
fn remove_number_formats(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            let is_number = members.get("format").and_then(Value::as_str).is_some_and(|format| {
                ["int", "uint", "float", "double"].iter().any(|kind| format.starts_with(kind))
            });
            if is_number {
                members.remove("format");
            }
            members.values_mut().for_each(remove_number_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_number_formats),
        _ => (),
    }
}
