//! The shapes of `docs/spec/artifacts.md` for results of tools: a value, or a reference to the file
//! with it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use yfs_analysis::{FileStats, TextStats, TextStructure, describe_stats};

/// What is known of a stored file without reading it; a reference to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileMetadata {
    /// The name of the file.
    pub file_id: String,
    /// The path of the file, from the root of the artifacts.
    pub relative_path: String,
    /// The size, in bytes.
    pub size: u64,
    /// The media type.
    pub content_type: Option<String>,
    /// The beginning of the content, or its structure.
    pub preview: Option<String>,
    /// The statistics of the content.
    pub stats: FileStats,
    /// The BLAKE3 hash of the content in hexadecimal; a shorter text is its beginning.
    pub checksum: Option<String>,
}

/// The content of a tool's response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "`docs/spec/artifacts.md` defines the fields")]
pub enum ToolResponseContent {
    /// The result itself.
    Direct {
        /// The result.
        result: Value,
    },
    /// A reference to the file with the result.
    FileReference {
        /// The file.
        metadata: FileMetadata,
        /// What a model sees of it.
        preview: Option<String>,
    },
}

/// The response of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResponse {
    /// The id of the call.
    pub tool_call_id: String,
    /// The name of the tool.
    pub tool_name: String,
    /// The result, or a reference to it.
    pub content: ToolResponseContent,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Part {
    /// Text.
    Text(String),
    /// A value.
    Data(Value),
    /// The response of a tool.
    ToolResult(ToolResponse),
    /// A reference to a large content.
    FileMetadata(FileMetadata),
}

impl FileMetadata {
    /// Makes a reference from a path and a hash alone; its other fields say nothing.
    pub fn at_path(relative_path: String, checksum: Option<String>) -> Self {
        let stats = TextStats {
            lines: 0,
            words: 0,
            characters: 0,
            encoding: String::new(),
            language: None,
            structure_hints: TextStructure::PlainText,
        };
        Self {
            file_id: String::new(),
            relative_path,
            size: 0,
            content_type: None,
            preview: None,
            stats: FileStats::Text(stats),
            checksum: checksum.map(|checksum| checksum.to_ascii_lowercase()),
        }
    }

    /// Parses the JSON of a reference: the fields of this type, or a
    /// [`FileReference`](ToolResponseContent::FileReference) with them.
    ///
    /// # Errors
    ///
    /// Fails if the text is no JSON or has other fields.
    pub fn parse_reference(json: &[u8]) -> Result<Self, serde_json::Error> {
        Self::of_reference(&serde_json::from_slice(json)?)
    }

    /// Returns the reference in a JSON value, as [`parse_reference`](Self::parse_reference) does.
    ///
    /// # Errors
    ///
    /// Fails if the value has other fields.
    pub fn of_reference(value: &Value) -> Result<Self, serde_json::Error> {
        Self::deserialize(value.pointer("/FileReference/metadata").unwrap_or(value))
    }
}

impl From<FileMetadata> for ToolResponseContent {
    /// Makes the reference that shows the preview of the file.
    fn from(metadata: FileMetadata) -> Self {
        let preview = metadata.preview.clone();
        Self::FileReference { metadata, preview }
    }
}

impl ToolResponseContent {
    /// Makes the result of a content that is no file: its JSON, or its text; `None` if it is not
    /// UTF-8.
    pub fn direct(content: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(content).ok()?;
        let result = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
        Some(Self::Direct { result })
    }

    /// Returns the result as callers got it before there were references: the value, or for a
    /// reference an object with the file, its size, type, preview and summary.
    pub fn result(&self) -> Value {
        match self {
            Self::Direct { result } => result.clone(),
            Self::FileReference { metadata, preview } => json!({
                "file": metadata.relative_path,
                "size": metadata.size,
                "content_type": metadata.content_type,
                "preview": preview,
                "summary": describe_stats(&metadata.stats),
            }),
        }
    }

    /// Returns the file, if the content is a reference.
    pub fn get_file_metadata(&self) -> Option<&FileMetadata> {
        match self {
            Self::Direct { .. } => None,
            Self::FileReference { metadata, .. } => Some(metadata),
        }
    }

    /// Returns the text that stands for the content in a model's context: a value as JSON, a
    /// reference as `FileRef[name, size, "preview"]`.
    pub fn context_text(&self) -> String {
        match self {
            Self::Direct { result: Value::String(text) } => text.clone(),
            Self::Direct { result } => result.to_string(),
            Self::FileReference { metadata, preview } => {
                let preview = preview.as_deref().unwrap_or_default();
                let size = human_size(metadata.size);
                format!("FileRef[{}, {size}, {preview:?}]", metadata.file_id)
            }
        }
    }
}

impl ToolResponse {
    /// Returns the result. See [`ToolResponseContent::result`].
    pub fn result(&self) -> Value {
        self.content.result()
    }

    /// Returns the file, if the content is a reference.
    pub fn get_file_metadata(&self) -> Option<&FileMetadata> {
        self.content.get_file_metadata()
    }
}

/// Returns the context of a stored file: what it is and what to know before reading it.
pub fn extract_context(metadata: &FileMetadata) -> String {
    describe_stats(&metadata.stats)
}

/// Returns a size as people write it: `950B`, `50KB`, `1.5MB`; 1 KB is 1,024 bytes.
pub fn human_size(n_bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KB", "MB", "GB", "TB", "PB"];
    if n_bytes < 1_024 {
        return format!("{n_bytes}B");
    }
    let mut size = n_bytes as f64 / 1_024.0;
    let mut unit = 0;
    // Rounding may reach the next unit.
    while size >= 1_023.95 && unit + 1 < UNITS.len() {
        size /= 1_024.0;
        unit += 1;
    }
    let shown = format!("{size:.1}");
    format!("{}{}", shown.strip_suffix(".0").unwrap_or(&shown), UNITS[unit])
}
