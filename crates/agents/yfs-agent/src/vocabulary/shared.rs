//! What several vocabularies need.

use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use similar::TextDiff;
use thiserror::Error;
use yfs_types::path::VPath;
use yfs_vfs::{EditRefusal, FsError};

use crate::{
    agent_path::{AgentPathError, parse_agent_path},
    catalog::{RegisteredTool, TextResult, ToolWords},
    session::WriteFailure,
    tool::{ToolAnnotations, ToolReply},
    tool_call::ToolCall,
};

/// The failure of a tool, as text for the model.
#[derive(Debug, Clone, Error)]
pub(super) enum ToolFailure {
    /// The path is not one that an agent may use.
    #[error(transparent)]
    Path(#[from] AgentPathError),
    /// The filesystem rejected the call.
    #[error("{}", describe(.0))]
    Fs(#[from] FsError),
    /// A write was rejected.
    #[error("{}", describe_write(.0))]
    Write(#[from] WriteFailure),
    /// The tool rejected the call.
    #[error("{0}")]
    Refused(String),
}

/// The result of a tool's work.
pub(super) type ToolOutcome = Result<ToolReply, ToolFailure>;

impl ToolFailure {
    pub(super) fn refused(text: impl Into<String>) -> Self {
        Self::Refused(text.into())
    }
}

/// Makes a reply of text, whose structured result has the same text.
pub(super) fn text_reply(text: impl Into<String>) -> ToolReply {
    let content = text.into();
    ToolReply::text(content.clone()).with_structured(&TextResult { content })
}

/// Returns the reply of a tool that reports failures as `Error: ...`.
pub(super) fn or_error(outcome: ToolOutcome) -> ToolReply {
    outcome.unwrap_or_else(|failure| ToolReply::error(format!("Error: {failure}")))
}

/// Returns the reply of a tool that reports failures by their message alone.
pub(super) fn by_message(outcome: ToolOutcome) -> ToolReply {
    outcome.unwrap_or_else(|failure| ToolReply::error(failure.to_string()))
}

/// Makes a tool that reports failures as `Error: ...`.
pub(super) fn tool<I, O, F, R>(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    annotations: ToolAnnotations,
    run: F,
) -> RegisteredTool
where
    I: DeserializeOwned + JsonSchema,
    O: JsonSchema,
    F: Fn(ToolCall, I) -> R + Send + Sync + 'static,
    R: Future<Output = ToolOutcome> + Send + 'static,
{
    let words = ToolWords { name, title, description };
    reporting_tool::<I, O, F, R>(words, annotations, run, or_error)
}

/// Makes a tool whose failures `report` turns into replies.
pub(super) fn reporting_tool<I, O, F, R>(
    words: ToolWords,
    annotations: ToolAnnotations,
    run: F,
    report: fn(ToolOutcome) -> ToolReply,
) -> RegisteredTool
where
    I: DeserializeOwned + JsonSchema,
    O: JsonSchema,
    F: Fn(ToolCall, I) -> R + Send + Sync + 'static,
    R: Future<Output = ToolOutcome> + Send + 'static,
{
    let run = move |call, input| {
        let outcome = run(call, input);
        async move { report(outcome.await) }
    };
    RegisteredTool::new::<I, O, _, _>(words, annotations, run)
}

/// Returns the path that an agent wrote.
pub(super) fn path_of(text: &str) -> Result<VPath, ToolFailure> {
    Ok(parse_agent_path(text)?)
}

/// Returns an error of the filesystem with its cause, if that says more.
fn describe(error: &FsError) -> String {
    match &error.source {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn describe_write(failure: &WriteFailure) -> String {
    match failure {
        WriteFailure::Fs(error) => describe(error),
        failure => failure.to_string(),
    }
}

/// Returns the reason of a rejected edit, if that is what the error is.
pub(super) fn edit_refusal(failure: &ToolFailure) -> Option<&EditRefusal> {
    match failure {
        ToolFailure::Fs(error) | ToolFailure::Write(WriteFailure::Fs(error)) => {
            error.edit_refusal()
        }
        _ => None,
    }
}

/// Returns a unified diff; empty if the texts are equal.
pub(super) fn unified_diff(old: &str, new: &str, names: (&str, &str), context: usize) -> String {
    let mut config = TextDiff::configure();
    let diff = config.timeout(Duration::from_secs(2)).diff_lines(old, new);
    let mut unified = diff.unified_diff();
    unified.context_radius(context).header(names.0, names.1).to_string()
}
