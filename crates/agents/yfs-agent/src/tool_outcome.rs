//! The result of a tool's work: an answer with a typed value, or a failure as text for the model.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;
use yfs_vfs::FsError;

use crate::{agent_path::AgentPathError, session::WriteFailure, tool::ToolReply};

/// The result of a tool whose structured result is a `T`.
pub(crate) type ToolOutcome<T = TextResult> = Result<ToolAnswer<T>, ToolFailure>;

/// A reply whose structured result, if it has one, is a `T`.
pub(crate) struct ToolAnswer<T>(ToolReply, PhantomData<fn() -> T>);

/// The structured result of a tool whose result is text.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TextResult {
    /// The text of the reply.
    content: String,
}

/// The failure of a tool, as text for the model.
#[derive(Debug, Clone, Error)]
pub(crate) enum ToolFailure {
    /// The path is not one that an agent may use.
    #[error(transparent)]
    Path(#[from] AgentPathError),
    /// The filesystem rejected the call.
    #[error("{}", describe(.0))]
    Fs(#[from] FsError),
    /// A write cannot be merged with the changes of others.
    #[error(transparent)]
    Conflict(WriteFailure),
    /// The tool rejected the call.
    #[error("{0}")]
    Refused(String),
}

impl<T> ToolAnswer<T> {
    /// Makes an answer of a reply without a structured result.
    pub(crate) fn plain(reply: ToolReply) -> Self {
        Self(reply, PhantomData)
    }

    pub(crate) fn into_reply(self) -> ToolReply {
        self.0
    }
}

impl<T: Serialize> ToolAnswer<T> {
    pub(crate) fn new(text: impl Into<String>, structured: &T) -> Self {
        Self::of(ToolReply::text(text), structured)
    }

    /// Adds the structured result to a reply.
    pub(crate) fn of(reply: ToolReply, structured: &T) -> Self {
        Self::plain(reply.with_structured(structured))
    }
}

/// Makes an answer of text, whose structured result has the same text.
pub(crate) fn text_answer(text: impl Into<String>) -> ToolAnswer<TextResult> {
    let content = text.into();
    ToolAnswer::new(content.clone(), &TextResult { content })
}

impl ToolFailure {
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self::Refused(text.into())
    }
}

impl From<WriteFailure> for ToolFailure {
    fn from(failure: WriteFailure) -> Self {
        match failure {
            WriteFailure::Fs(error) => Self::Fs(error),
            conflict => Self::Conflict(conflict),
        }
    }
}

/// Returns a result whose errors of the filesystem are in the words that `words` has for them.
pub(crate) fn in_words<T>(
    result: Result<T, impl Into<ToolFailure>>,
    words: impl FnOnce(&FsError) -> Option<String>,
) -> Result<T, ToolFailure> {
    result.map_err(|failure| match failure.into() {
        ToolFailure::Fs(error) => match words(&error) {
            Some(text) => ToolFailure::Refused(text),
            None => ToolFailure::Fs(error),
        },
        failure => failure,
    })
}

/// Returns an error of the filesystem with its cause, if that says more.
fn describe(error: &FsError) -> String {
    match &error.source {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
