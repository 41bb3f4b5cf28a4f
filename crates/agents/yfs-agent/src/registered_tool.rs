//! A tool and the function that runs it.

use std::{pin::Pin, sync::Arc};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use smol_str::SmolStr;
use yfs_vfs::work_meter::metered;

use crate::{
    call_progress::CallProgress,
    session::AgentSession,
    tool::{JsonSchemaObject, ToolAnnotations, ToolDefinition, ToolReply},
    tool_call::ToolCall,
    tool_outcome::{ToolFailure, ToolOutcome},
};

type ReplyFuture = Pin<Box<dyn Future<Output = ToolReply> + Send>>;

/// A check of arguments before they are read. The error is the text of the reply.
type ArgumentCheck = fn(&ToolDefinition, &Value) -> Result<(), String>;

type ToolFunction = dyn Fn(ToolCall, Value) -> ReplyFuture + Send + Sync;

/// A tool and its function.
pub(crate) struct RegisteredTool {
    pub(crate) definition: ToolDefinition,
    /// Whether a session has what the tool needs.
    is_offered: fn(&AgentSession) -> bool,
    check: Option<ArgumentCheck>,
    run: Box<ToolFunction>,
}

/// The words with which a tool is described, and reports failures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolWords {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) report: fn(ToolFailure) -> String,
}

impl RegisteredTool {
    /// Makes a tool from a function of its arguments.
    pub(crate) fn new<I, O, F, R>(words: ToolWords, annotations: ToolAnnotations, run: F) -> Self
    where
        I: DeserializeOwned + JsonSchema,
        O: Serialize + JsonSchema,
        F: Fn(ToolCall, I) -> R + Send + Sync + 'static,
        R: Future<Output = ToolOutcome<O>> + Send + 'static,
    {
        let ToolWords { name, title, description, report } = words;
        let definition = ToolDefinition {
            name: SmolStr::new_static(name),
            title: title.to_owned(),
            description: description.to_owned(),
            input_schema: schema_of::<I>(),
            output_schema: Some(schema_of::<O>()),
            annotations,
        };
        let run = Box::new(move |call, arguments| -> ReplyFuture {
            let outcome = I::deserialize(arguments).map(|input| run(call, input));
            Box::pin(async move {
                match outcome {
                    Ok(outcome) => match outcome.await {
                        Ok(answer) => answer.into_reply(),
                        Err(failure) => ToolReply::error(report(failure)),
                    },
                    Err(error) => {
                        ToolReply::error(format!("Error: invalid arguments for {name}: {error}"))
                    }
                }
            })
        });
        Self { definition, is_offered: |_| true, check: None, run }
    }

    /// Sets a check of the arguments.
    pub(crate) fn checked_by(self, check: ArgumentCheck) -> Self {
        Self { check: Some(check), ..self }
    }

    pub(crate) async fn run(&self, call: ToolCall, arguments: Value) -> ToolReply {
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

    /// Offers the tool only to sessions that have what it needs.
    pub(crate) fn needs(self, is_offered: fn(&AgentSession) -> bool) -> Self {
        Self { is_offered, ..self }
    }

    /// Removes the schema of the result, for a tool that mostly replies with other than text.
    pub(crate) fn without_output_schema(mut self) -> Self {
        self.definition.output_schema = None;
        self
    }

    pub(crate) fn is_offered_by(&self, session: &AgentSession) -> bool {
        (self.is_offered)(session)
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
