//! Results of searches, and pages of lines.

use serde::Serialize;
use yfs_vfs::{FileMatches, GrepLine, GrepResult, LinePage, SearchLimit};

/// A line that matches a pattern, or one near it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(rename = "GrepLine"))]
#[cfg_attr(feature = "schema", ts(rename_all = "camelCase"))]
pub struct GrepLineJson {
    /// The path, where the answer would not say it otherwise; absent in the Node package.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(skip))]
    pub path: Option<String>,
    /// The number of the line, from 1.
    pub line: u64,
    /// The text of the line, without its newline.
    pub text: String,
    /// The ranges that match, in bytes of `text`: start and end.
    pub matches: Vec<(usize, usize)>,
    /// Whether the line matches; otherwise it is context.
    pub is_match: bool,
    /// Whether `text` is only a part of the line.
    pub cut: bool,
}

/// The lines of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(rename = "GrepFile"))]
pub struct GrepFileJson {
    /// The path of the file.
    pub path: String,
    /// The id of the file.
    pub id: String,
    /// The lines that were found.
    pub lines: Vec<GrepLineJson>,
    /// Whether the limit of lines per file ended the search in this file.
    pub cut: bool,
}

/// The counts of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "schema", ts(rename = "GrepTotals", rename_all = "camelCase"))]
pub struct GrepTotalsJson {
    /// The number of matching lines.
    pub matches: usize,
    /// The number of files that were searched.
    pub searched: u64,
    /// The number of files that were skipped because they are not text.
    pub binary: u64,
    /// The paths of the first 20 of these files.
    pub binary_paths: Vec<String>,
    /// The number of files that were skipped because of their size.
    pub too_large: u64,
    /// The number of files that could not be read.
    pub unreadable: u64,
    /// The reason why the search ended early.
    pub cut: Option<SearchLimitJson>,
}

/// The answer of `GET /api/search`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SearchResult"))]
pub struct SearchResultJson {
    /// The files with matches, in the order of the tree.
    pub files: Vec<GrepFileJson>,
    /// The counts.
    pub totals: GrepTotalsJson,
}

/// The reason why a search ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(rename = "SearchLimit"))]
pub enum SearchLimitJson {
    /// The limit on the number of results.
    Limit,
    /// The timeout.
    Deadline,
    /// Cancellation by the caller.
    Cancelled,
}

/// Some lines of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "schema", ts(rename = "LinePage", rename_all = "camelCase"))]
pub struct LinePageJson {
    /// The lines, without their newlines.
    pub lines: Vec<String>,
    /// The number of the first line, from 0.
    pub offset: u64,
    /// The number of lines of the file, if known.
    pub total: Option<u64>,
    /// The offset of the next page; null if this page reaches the end.
    pub next: Option<u64>,
    /// Whether a newline follows the last line of the page.
    pub ends_with_newline: bool,
    /// The version of the content.
    pub version: String,
}

impl From<&GrepLine> for GrepLineJson {
    fn from(line: &GrepLine) -> Self {
        Self {
            path: None,
            line: line.number,
            text: line.text.clone(),
            matches: line.matches.iter().map(|range| (range.start, range.end)).collect(),
            is_match: line.is_match,
            cut: line.cut,
        }
    }
}

impl From<&FileMatches> for GrepFileJson {
    fn from(file: &FileMatches) -> Self {
        Self {
            path: file.path.to_string(),
            id: file.id.to_string(),
            lines: file.lines.iter().map(GrepLineJson::from).collect(),
            cut: file.cut,
        }
    }
}

impl From<&GrepResult> for GrepTotalsJson {
    fn from(result: &GrepResult) -> Self {
        Self {
            matches: result.n_matches,
            searched: result.n_searched,
            binary: result.n_binary,
            binary_paths: result.binary_paths.iter().map(ToString::to_string).collect(),
            too_large: result.n_too_large,
            unreadable: result.n_unreadable,
            cut: result.cut.map(SearchLimitJson::from),
        }
    }
}

impl From<SearchLimit> for SearchLimitJson {
    fn from(limit: SearchLimit) -> Self {
        match limit {
            SearchLimit::Limit => Self::Limit,
            SearchLimit::Deadline => Self::Deadline,
            _ => Self::Cancelled,
        }
    }
}

impl From<LinePage> for LinePageJson {
    fn from(page: LinePage) -> Self {
        Self {
            version: page.version.to_string(),
            lines: page.lines,
            offset: page.offset,
            total: page.n_total,
            next: page.next_offset,
            ends_with_newline: page.ends_with_newline,
        }
    }
}
