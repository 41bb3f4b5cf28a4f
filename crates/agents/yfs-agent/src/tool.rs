//! Tools as a caller sees them: what a tool accepts, the circumstances of one call, its reply.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use smol_str::SmolStr;
use yfs_vfs::CancellationToken;

/// A JSON Schema, as the members of its object.
pub(crate) type JsonSchemaObject = Map<String, Value>;

/// The description of a tool, from which a model learns how to call it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// The name by which the tool is called.
    pub name: SmolStr,
    /// A title for people.
    pub title: String,
    /// What the tool does, for the model.
    pub description: String,
    /// The schema of the arguments, which are an object.
    pub input_schema: JsonSchemaObject,
    /// The schema of [`ToolReply::structured`].
    pub output_schema: Option<JsonSchemaObject>,
    /// What a call can change.
    pub annotations: ToolAnnotations,
}

/// What a call of a tool can change. The members are those of the Model Context Protocol.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolAnnotations {
    /// Whether the tool changes nothing.
    pub read_only: bool,
    /// Whether the tool may replace or remove what is there.
    pub destructive: bool,
    /// Whether a second call with the same arguments has no further effect.
    pub idempotent: bool,
    /// Whether the tool reaches beyond the filesystem.
    pub open_world: bool,
}

/// The circumstances of one call.
#[derive(Debug, Default, Clone)]
pub struct CallContext {
    /// Ends the call when triggered: searches stop, commands are ended.
    pub cancel: CancellationToken,
    /// The receiver of progress reports, if the caller wants them.
    pub progress: Option<Arc<dyn ProgressReceiver>>,
    /// The caller's id of the call, which labels the changes that the call makes.
    pub call_id: Option<SmolStr>,
}

/// A receiver of reports on how far a call has come.
pub trait ProgressReceiver: Send + Sync + fmt::Debug {
    /// Receives a report: `done` of `total` steps, if the total is known.
    fn report_progress(&self, done: u64, total: Option<u64>, message: &str);
}

/// The reply of a tool, which the model reads.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct ToolReply {
    /// The blocks, in order; mostly one text.
    pub blocks: Vec<ReplyBlock>,
    /// The same result as a value, in the form of [`ToolDefinition::output_schema`]. A reply that
    /// reports an error has none.
    pub structured: Option<Value>,
    /// Whether the call failed; a block says why. A failed call has changed nothing, unless its
    /// text says so.
    pub is_error: bool,
}

/// A part of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyBlock {
    /// Text.
    Text(String),
    /// An image.
    Image {
        /// The bytes, not encoded.
        data: Bytes,
        /// The media type.
        mime: SmolStr,
    },
    /// Sound.
    Audio {
        /// The bytes, not encoded.
        data: Bytes,
        /// The media type.
        mime: SmolStr,
    },
    /// Another file: a document, a video.
    Resource {
        /// The `file:` URI of the file, percent-encoded.
        uri: String,
        /// The bytes, not encoded.
        data: Bytes,
        /// The media type.
        mime: SmolStr,
    },
}

impl ToolAnnotations {
    /// A tool that only reads.
    pub(crate) const READS: Self = Self { read_only: true, idempotent: true, ..Self::CREATES };
    /// A tool that reads on where an earlier call ended.
    pub(crate) const READS_ON: Self = Self { idempotent: false, ..Self::READS };
    /// A tool that adds, and never replaces.
    pub(crate) const CREATES: Self =
        Self { read_only: false, destructive: false, idempotent: false, open_world: false };
    /// A tool that adds, and a second time nothing more.
    pub(crate) const ADDS: Self = Self { idempotent: true, ..Self::CREATES };
    /// A tool that may replace or remove.
    pub(crate) const CHANGES: Self = Self { destructive: true, ..Self::CREATES };
    /// A tool that may replace or remove, and a second time nothing more.
    pub(crate) const SETS: Self = Self { idempotent: true, ..Self::CHANGES };
    /// A tool that runs what a model wrote.
    pub(crate) const RUNS: Self = Self { open_world: true, ..Self::CHANGES };
}

impl ToolReply {
    /// Makes a reply of one text.
    pub fn text(text: impl Into<String>) -> Self {
        let blocks = vec![ReplyBlock::Text(text.into())];
        Self { blocks, ..Self::default() }
    }

    /// Makes a reply that reports an error.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Sets the structured result.
    #[must_use]
    pub(crate) fn with_structured(self, value: &impl Serialize) -> Self {
        // Our results are plain data with string keys, so this cannot fail.
        Self { structured: serde_json::to_value(value).ok(), ..self }
    }

    /// Adds how many files were left out because an approval is missing, if any were: as a text,
    /// and as the member `n_left_out` of a structured result that may have further members.
    #[must_use]
    pub(crate) fn with_left_out(mut self, n_left_out: u64, tool: &ToolDefinition) -> Self {
        if n_left_out == 0 {
            return self;
        }
        let text = match n_left_out {
            1 => "1 file was left out: approval needed".to_owned(),
            n => format!("{n} files were left out: approval needed"),
        };
        self.blocks.push(ReplyBlock::Text(text));
        let schema = tool.output_schema.as_ref();
        let is_open = schema.is_none_or(|schema| {
            schema.get("additionalProperties").is_none_or(|more| *more != Value::Bool(false))
        });
        if let Some(Value::Object(members)) = self.structured.as_mut().filter(|_| is_open) {
            members.insert("n_left_out".to_owned(), n_left_out.into());
        }
        self
    }

    /// Returns the text blocks, joined with newlines.
    pub fn joined_text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            ReplyBlock::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}
