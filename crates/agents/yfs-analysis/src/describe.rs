//! A content in a few lines, from its statistics: the strategies of `docs/spec/artifacts.md`.

use std::collections::BTreeMap;

use crate::file_stats::{
    FileStats, JsonArrayStats, JsonSchema, JsonStats, JsonType, TextStructure,
};

/// A field with more different values than this is worth a mention.
const HIGH_CARDINALITY: usize = 100;

/// The most headings that are listed.
const N_HEADINGS: usize = 5;

/// The most fields of a schema that are listed.
const MAX_FIELDS: usize = 40;

/// Returns the context of a content: what it is, how large, and what to know before reading it.
///
/// Where `docs/spec/artifacts.md` takes the first entry of a map, this takes the first by name.
pub fn describe_stats(stats: &FileStats) -> String {
    match stats {
        FileStats::Json(stats) => describe_json(stats),
        FileStats::JsonArray(stats) => describe_json_array(stats),
        FileStats::Csv(stats) => {
            let mut context = format!(
                "CSV: {} rows × {} columns\nHeaders: {}\nData types: {:?}",
                stats.rows,
                stats.columns,
                stats.headers.join(", "),
                stats.data_types
            );
            let columns = stats.headers.iter().zip(&stats.cardinality_per_column);
            let high = columns.filter(|(_, cardinality)| **cardinality > stats.rows / 2);
            let high: Vec<&str> = high.map(|(header, _)| header.as_str()).collect();
            if !high.is_empty() {
                context.push_str(&format!("\nHigh-cardinality columns: {}", high.join(", ")));
            }
            context
        }
        FileStats::Html(stats) => {
            let mut context = "HTML document".to_owned();
            if let Some(title) = &stats.title {
                context.push_str(&format!(": {title}"));
            }
            context.push_str(&format!(
                "\n{} links, {} images, {} headings",
                stats.link_count,
                stats.image_count,
                stats.headings.len()
            ));
            if !stats.headings.is_empty() {
                context.push_str("\nHeadings:");
                for (heading, level) in stats.headings.iter().take(N_HEADINGS) {
                    context.push_str(&format!("\n  {}: {heading}", "H".repeat((*level).min(6))));
                }
            }
            context
        }
        FileStats::Markdown(stats) => format!(
            "Markdown: {} words, {} headings, {} code blocks, {} tables",
            stats.word_count,
            stats.headings.len(),
            stats.code_blocks,
            stats.tables
        ),
        FileStats::Text(stats) => {
            let words = format!("Text file: {} lines, {} words", stats.lines, stats.words);
            words + &describe_structure(&stats.structure_hints)
        }
        FileStats::Binary(stats) => {
            let metadata: BTreeMap<_, _> = stats.metadata.iter().collect();
            format!("Binary file: {} format\nMetadata: {metadata:?}", stats.format)
        }
    }
}

fn describe_json(stats: &JsonStats) -> String {
    let mut context = format!("JSON file: {} keys", stats.top_level_keys.len());
    if stats.is_array {
        let length = stats.array_length.unwrap_or(0);
        context.push_str(&format!(" (array with {length} elements)"));
    }
    let high = stats.cardinality_estimates.iter();
    let high = high.filter(|(_, count)| **count > HIGH_CARDINALITY);
    if let Some(field) = high.map(|(field, _)| field).min() {
        context.push_str(&format!("\nHigh-cardinality field detected: {field}"));
    }
    context
}

fn describe_json_array(stats: &JsonArrayStats) -> String {
    let mut context = format!("JSON array: {} elements", stats.length);
    if let Some(schema) = &stats.element_schema {
        context.push_str(&format!("\nFields: {}", schema_words(schema)));
    }
    let fields: BTreeMap<_, _> = stats.cardinality_per_field.iter().collect();
    let high = fields.iter().filter(|(_, count)| ***count > stats.length / 2);
    let high: Vec<&str> = high.map(|(field, _)| field.as_str()).collect();
    if stats.length > 1 && !high.is_empty() {
        context.push_str(&format!("\nHigh-cardinality fields: {}", high.join(", ")));
    }
    context
}

fn describe_structure(structure: &TextStructure) -> String {
    match structure {
        TextStructure::LogFile { log_level_counts } => {
            let counts: BTreeMap<_, _> = log_level_counts.iter().collect();
            format!("\nLog levels: {counts:?}")
        }
        TextStructure::CodeFile { language, functions } => {
            format!("\n{language} code: {} functions", functions.len())
        }
        TextStructure::ConfigFile { format } => format!("\nConfig file: {format:?}"),
        TextStructure::PlainText => String::new(),
    }
}

/// Returns a schema as `{name: type, ...}`, in the order of the names.
pub(crate) fn schema_words(schema: &JsonSchema) -> String {
    let fields: BTreeMap<_, _> = schema.properties.iter().collect();
    let mut words: Vec<String> = fields
        .iter()
        .take(MAX_FIELDS)
        .map(|(name, kind)| format!("{name}: {}", type_words(kind)))
        .collect();
    if fields.len() > MAX_FIELDS {
        words.push(format!("… {} more", fields.len() - MAX_FIELDS));
    }
    format!("{{{}}}", words.join(", "))
}

/// Returns a type in words, for example `integer | string?`.
pub fn type_words(kind: &JsonType) -> String {
    match kind {
        JsonType::Nullable(inner) => format!("{}?", type_words(inner)),
        JsonType::Union(kinds) => kinds.iter().map(type_words).collect::<Vec<_>>().join(" | "),
        kind => kind.name().to_owned(),
    }
}
