//! What a file contains: its type, typed statistics, and previews, in one bounded pass.
//!
//! A [`ContentAnalyzer`] takes a content in chunks and returns a [`ContentAnalysis`]: the media
//! type, [`FileStats`] in the shapes of `docs/spec/artifacts.md`, notes about what is left out or
//! wrong, and what a preview of any length needs. [`describe_stats`] says the same in a few lines
//! for a model.
//!
//! ```
//! use yfs_analysis::{FileStats, PreviewLimit, analyze, describe_stats};
//!
//! let analysis = analyze("people.csv", b"name,age\nAda,36\nAlan,41\n");
//! let FileStats::Csv(stats) = &analysis.stats else { panic!("a table") };
//! assert_eq!((stats.rows, stats.columns), (2, 2));
//! assert_eq!(
//!     describe_stats(&analysis.stats),
//!     "CSV: 2 rows × 2 columns\nHeaders: name, age\nData types: [String, Integer]\n\
//!      High-cardinality columns: name, age"
//! );
//! assert_eq!(analysis.preview(PreviewLimit::Characters(35)), "name,age\nAda,36\n… 1 more rows");
//! ```
//!
//! # Invariants
//!
//! - No I/O, clock, environment, thread or randomness: the same bytes have the same result.
//! - The result does not depend on where chunks end.
//! - No content causes a panic, a recursion that it controls, or memory beyond 64 MiB.

mod analyzer;
mod binary_stats;
mod cardinality;
mod code_outline;
mod column_kinds;
mod content_type;
mod csv_stats;
mod describe;
mod file_stats;
pub(crate) mod html_scanner;
mod html_stats;
pub mod json_lexer;
mod json_sample;
mod json_stats;
mod markdown_stats;
mod preview;
mod table_dialect;
mod text_hints;
mod text_stats;
mod tokens;

pub use crate::{
    analyzer::{ContentAnalysis, ContentAnalyzer, analyze},
    cardinality::RELATIVE_ERROR,
    column_kinds::is_digit_code,
    content_type::{HEAD_LEN, decode_text, extension_for, table_dialect_of},
    describe::{describe_stats, type_words},
    file_stats::{
        BinaryStats, ConfigFormat, CsvDataType, CsvStats, FileStats, HtmlStats, JsonArrayStats,
        JsonSchema, JsonStats, JsonType, MarkdownStats, TextStats, TextStructure,
    },
    preview::{ContentPreview, PreviewLimit},
    table_dialect::{TableDialect, TableHint},
    tokens::{estimate_tokens, token_budget_chars},
};
