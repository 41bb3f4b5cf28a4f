//! The Rust examples of seed 004, word for word but for the paths of crates, what the seed leaves
//! out with `...`, and the lines that a comment marks.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use expect_test::expect;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use yfs_analysis::{FileStats, JsonSchema, JsonStats, JsonType, analyze};
use yfs_artifacts::{
    ArtifactError, ArtifactIds, ArtifactOptions, ContextRequest, DEFAULT_TEMPLATE, FileMetadata,
    FileSystemArtifactStore, FileSystemConfig, FileSystemStore, KeptAnalyses, NamespaceStrategy,
    Part, ToolResponse, ToolResponseContent, ToolResponseProcessor, extract_context,
    store_and_return_metadata,
};
use yfs_vfs::{FileSystem, FileSystemExt, MemoryFs};

/// Gives a literal of an example the type that its field has.
trait OfLiteral<L> {
    fn of_literal(literal: L) -> Self;
}

impl OfLiteral<&str> for String {
    fn of_literal(literal: &str) -> Self {
        literal.to_owned()
    }
}

macro_rules! same_as_literal {
    ($($kind:ty),*) => { $(impl OfLiteral<Self> for $kind {
        fn of_literal(literal: Self) -> Self {
            literal
        }
    })* };
}

same_as_literal!(bool, usize, u64);

/// An expression in which every literal has the type that its place needs: the seed writes texts as
/// `"a"` where a `String` is needed. Groups are taken apart with a stack of what surrounds them.
macro_rules! example {
    (@ [$($done:tt)*] []) => { $($done)* };
    (@ [$($done:tt)*] [(paren [$($outer:tt)*] [$($rest:tt)*]) $($stack:tt)*]) => {
        example!(@ [$($outer)* ($($done)*)] [$($stack)*] $($rest)*)
    };
    (@ [$($done:tt)*] [(bracket [$($outer:tt)*] [$($rest:tt)*]) $($stack:tt)*]) => {
        example!(@ [$($outer)* [$($done)*]] [$($stack)*] $($rest)*)
    };
    (@ [$($done:tt)*] [(brace [$($outer:tt)*] [$($rest:tt)*]) $($stack:tt)*]) => {
        example!(@ [$($outer)* {$($done)*}] [$($stack)*] $($rest)*)
    };
    (@ [$($done:tt)*] [$($stack:tt)*] ($($group:tt)*) $($rest:tt)*) => {
        example!(@ [] [(paren [$($done)*] [$($rest)*]) $($stack)*] $($group)*)
    };
    (@ [$($done:tt)*] [$($stack:tt)*] [$($group:tt)*] $($rest:tt)*) => {
        example!(@ [] [(bracket [$($done)*] [$($rest)*]) $($stack)*] $($group)*)
    };
    (@ [$($done:tt)*] [$($stack:tt)*] {$($group:tt)*} $($rest:tt)*) => {
        example!(@ [] [(brace [$($done)*] [$($rest)*]) $($stack)*] $($group)*)
    };
    (@ [$($done:tt)*] [$($stack:tt)*] $literal:literal $($rest:tt)*) => {
        example!(@ [$($done)* OfLiteral::of_literal($literal)] [$($stack)*] $($rest)*)
    };
    (@ [$($done:tt)*] [$($stack:tt)*] $other:tt $($rest:tt)*) => {
        example!(@ [$($done)* $other] [$($stack)*] $($rest)*)
    };
    ($first:ident $($rest:tt)*) => { example!(@ [$first] [] $($rest)*) };
}

/// The structs of the seed.
mod definitions {
    use std::collections::HashMap;

    use serde::{Deserialize, Serialize};
    use yfs_analysis::{ConfigFormat, CsvDataType, JsonSchema};

    macro_rules! with_serde {
        ($($kind:tt $name:ident {$($body:tt)*})*) => { $(
            #[derive(Debug, Serialize, Deserialize)]
            pub(super) $kind $name {$($body)*}
        )* };
    }

    #[rustfmt::skip]
    with_serde! {
// Type-specific stats enum
enum FileStats {
    Json(JsonStats),
    JsonArray(JsonArrayStats),
    Csv(CsvStats),
    Html(HtmlStats),
    Markdown(MarkdownStats),
    Text(TextStats),
    Binary(BinaryStats),
}

struct JsonStats {
    is_array: bool,
    array_length: Option<usize>,
    schema: Option<JsonSchema>,
    top_level_keys: Vec<String>,
    nested_depth: usize,
    unique_values_sample: HashMap<String, Vec<String>>, // field_path -> sample values
    cardinality_estimates: HashMap<String, usize>, // field_path -> estimated unique count
}

struct JsonArrayStats {
    length: usize,
    element_schema: Option<JsonSchema>,
    sample_elements: Vec<serde_json::Value>, // First few elements
    cardinality_per_field: HashMap<String, usize>,
    data_types_distribution: HashMap<String, HashMap<String, usize>>, // field -> type -> count
}

struct CsvStats {
    rows: usize,
    columns: usize,
    headers: Vec<String>,
    data_types: Vec<CsvDataType>, // inferred type per column
    cardinality_per_column: Vec<usize>,
    sample_values: Vec<Vec<String>>, // First few rows
    null_counts: Vec<usize>, // Null/empty count per column
}

struct HtmlStats {
    title: Option<String>,
    meta_description: Option<String>,
    headings: Vec<(String, usize)>, // (text, level)
    link_count: usize,
    image_count: usize,
    script_tags: usize,
    main_content_length: usize,
    language: Option<String>,
}

struct MarkdownStats {
    headings: Vec<(String, usize)>, // (text, level)
    word_count: usize,
    code_blocks: usize,
    links: usize,
    images: usize,
    tables: usize,
    lists: usize,
    front_matter: Option<String>, // YAML/TOML frontmatter type
}

struct TextStats {
    lines: usize,
    words: usize,
    characters: usize,
    encoding: String,
    language: Option<String>,
    structure_hints: TextStructure, // Detected structure patterns
}

enum TextStructure {
    LogFile { log_level_counts: HashMap<String, usize> },
    ConfigFile { format: ConfigFormat },
    CodeFile { language: String, functions: Vec<String> },
    PlainText,
}

struct BinaryStats {
    format: String, // PDF, PNG, etc.
    metadata: HashMap<String, String>, // Format-specific metadata
}
    }
}

/// The responses of the seed.
#[expect(clippy::large_enum_variant, reason = "the seed defines the fields")]
mod response_definitions {
    use serde::{Deserialize, Serialize};
    use yfs_artifacts::FileMetadata;

    macro_rules! with_serde {
        ($(pub $kind:tt $name:ident {$($body:tt)*})*) => { $(
            #[derive(Debug, Serialize, Deserialize)]
            pub(super) $kind $name {$($body)*}
        )* };
    }

    #[rustfmt::skip]
    with_serde! {
pub enum ToolResponseContent {
    Direct { result: serde_json::Value },
    FileReference { 
        metadata: FileMetadata,
        preview: Option<String>,
    },
}

pub enum Part {
    // ... existing types
    FileMetadata(FileMetadata), // New type for large content references
}
    }
}

/// A content of each kind, and of each structure of text.
const CONTENTS: [&str; 11] = [
    r#"{"results": [{"type": "a", "author": "x"}], "metadata": {}}"#,
    r#"[1, 2]"#,
    r#"[{"a": 1}, {"a": "x"}]"#,
    "name,age\nAda,36\nAlan,41\n",
    "<html lang=en><title>A page</title><h1>One</h1><h2>Two</h2><a href=x>x</a></html>",
    "# One\n\nText [link](x).\n\n```\ncode\n```\n\n- item\n- item\n",
    "10:00:00 INFO a\n10:00:01 ERROR b\n10:00:02 INFO c\n",
    "[server]\nport = 1\nhost = a\n",
    "#!/bin/sh\nmain() {\n}\n",
    "plain text",
    "\0\x01\x02",
];

fn file_store(options: ArtifactOptions) -> FileSystemStore {
    FileSystemStore::new(Arc::new(MemoryFs::new()), options)
}

#[test]
fn statistics_have_the_fields_of_the_seed() {
    let mut kinds = Vec::new();
    for content in CONTENTS {
        let stats = analyze("", content.as_bytes()).stats;
        let ours = serde_json::to_value(&stats).unwrap();
        let theirs: definitions::FileStats = serde_json::from_value(ours.clone()).unwrap();
        assert_eq!(serde_json::to_value(&theirs).unwrap(), ours, "{theirs:?}");
        kinds.push(stats.kind_name());
    }
    expect!["Json Json JsonArray Csv Html Markdown Text Text Text Text Binary"]
        .assert_eq(&kinds.join(" "));
}

#[test]
fn metadata_schema() {
    #[rustfmt::skip]
    let metadata: FileMetadata = example! {
FileMetadata {
    file_id: "tool_call_001.json",
    relative_path: "thread_abc123/task_def456/tool_call_001.json", 
    size: 51200, // 50KB
    content_type: Some("application/json"),
    preview: Some("{\"results\": [{\"title\": \"First Result\"..."),
    stats: FileStats::Json(JsonStats {
        is_array: true,
        array_length: Some(250),
        schema: Some(JsonSchema {
            properties: HashMap::from([
                ("results", JsonType::Array),
                ("metadata", JsonType::Object),
                ("pagination", JsonType::Object),
            ]),
        }),
        top_level_keys: vec!["results", "metadata", "pagination"],
        nested_depth: 3,
        unique_values_sample: HashMap::from([
            ("results.*.type", vec!["article", "video", "image"]),
            ("results.*.status", vec!["published", "draft"]),
        ]),
        cardinality_estimates: HashMap::from([
            ("results.*.author", 15), // ~15 unique authors
            ("results.*.category", 5), // ~5 categories
        ]),
    }),
    checksum: Some("a1b2c3d4"),
}
    };
    let written = serde_json::to_string(&metadata).unwrap();
    assert_eq!(serde_json::from_str::<FileMetadata>(&written).unwrap(), metadata);
    expect!["JSON file: 3 keys (array with 250 elements)"].assert_eq(&extract_context(&metadata));
    let part = Part::FileMetadata(metadata);
    assert!(serde_json::to_string(&part).unwrap().starts_with(r#"{"FileMetadata":{"file_id":"#));
}

#[test]
fn configuration() {
    #[rustfmt::skip]
    let config =
FileSystemConfig {
    base_path: current_working_dir().join(".distri/runtime"),
    size_threshold: 50 * 1024, // 50KB
    namespace_strategy: NamespaceStrategy::ThreadId,
};

    #[rustfmt::skip]
fn current_working_dir() -> PathBuf {
    std::env::var("CURRENT_WORKING_DIR")
        .map(PathBuf::from)
        .unwrap_or_else(|_| PathBuf::from("."))
}
    let presets = [
        ArtifactOptions::development(),
        ArtifactOptions::production(),
        ArtifactOptions::high_memory(),
    ];
    assert_eq!(presets.map(|preset| preset.size_threshold / 1024), [10, 50, 100]);
    assert_eq!(ArtifactOptions::default().size_threshold, config.size_threshold);
    let ids = ArtifactIds {
        thread_id: "thread_abc123".to_owned(),
        task_id: "task_def456".to_owned(),
        tool_call_id: "001".to_owned(),
    };
    let custom = "/{thread_id}/{task_id}/{file_id}".to_owned();
    let strategies = [
        config.namespace_strategy,
        NamespaceStrategy::TaskId,
        NamespaceStrategy::Flat,
        NamespaceStrategy::Custom(custom),
        NamespaceStrategy::runs(),
    ];
    let paths = strategies.map(|strategy| strategy.relative_path(&ids, "tool_call_001.json"));
    expect![[r#"
        thread_abc123/tool_call_001.json
        task_def456/tool_call_001.json
        tool_call_001.json
        thread_abc123/task_def456/tool_call_001.json
        runs/thread_abc123/task_def456/tool_call_001.json"#]]
    .assert_eq(&paths.map(Result::unwrap).join("\n"));
}

/// The executor of the first usage pattern.
struct AgentExecutor {
    file_system: Arc<FileSystemStore>,
}

impl AgentExecutor {
    #[rustfmt::skip]
    async fn handle_tool_responses(
        &self,
        tool_response_data: &Value,
        thread_id: &str,
        task_id: &str,
        tool_call_id: &str,
    ) -> Result<FileMetadata, ArtifactError> {
// In handle_tool_responses - automatic threshold detection
let file_system = self.file_system.clone(); // Arc<FileSystem>
let metadata = store_and_return_metadata(
    &file_system,
    tool_response_data,
    thread_id,
    task_id,
    tool_call_id,
).await?;

// Automatically stores files based on:
// - JSON: Creates metadata with 100 row preview + optional schema
// - Size threshold: Configured defaults (no manual setup)
// - File extension: Based on content type detection
        Ok(metadata)
    }
}

#[tokio::test]
async fn automatic_tool_result_processing() {
    let executor = AgentExecutor { file_system: Arc::new(file_store(ArtifactOptions::default())) };
    let rows: Vec<Value> = (0..300).map(|id| json!({"id": id, "kind": "a"})).collect();
    let stored = executor.handle_tool_responses(&json!(rows), "thread_abc123", "t", "001").await;
    let metadata = stored.unwrap();
    assert_eq!(metadata.relative_path, "thread_abc123/tool_call_001.json");
    assert_eq!(metadata.content_type.as_deref(), Some("application/json"));
    let FileStats::JsonArray(stats) = &metadata.stats else { panic!("an array") };
    assert_eq!(stats.length, 300);
    let path = "/thread_abc123/tool_call_001.json".parse().unwrap();
    let content = executor.file_system.fs().read_to_string(&path).await.unwrap();
    assert_eq!(content, json!(rows).to_string());
}

#[tokio::test]
async fn file_resolution_for_processing() {
    let store = FileSystemArtifactStore::new(file_store(ArtifactOptions::development()));
    let processor = ToolResponseProcessor::new(store);
    let html = format!("<!DOCTYPE html><head><title>Search Results</title>{}", "x".repeat(50_000));
    let direct = |result| ToolResponse {
        tool_call_id: "002".to_owned(),
        tool_name: "search_web".to_owned(),
        content: ToolResponseContent::Direct { result },
    };
    let small = processor.process(direct(json!({"a": 1})), "t", "k").await.unwrap();
    assert_eq!(small, (direct(json!({"a": 1})), None));
    assert_eq!(small.0.result(), json!({"a": 1}));
    let (tool_response, warning) = processor.process(direct(json!(html)), "t", "k").await.unwrap();
    assert_eq!(warning, None);
    resolve(&processor, &tool_response, &html).await.unwrap();
    // Old callers get a value all the same.
    let result = tool_response.result();
    assert_eq!(result["file"], "t/tool_call_002.html");
    let ToolResponseContent::FileReference { metadata, preview } = &tool_response.content else {
        panic!("a reference")
    };
    assert_eq!(*preview, metadata.preview);
    let text = tool_response.content.context_text();
    assert!(text.starts_with("FileRef[tool_call_002.html, 48.9KB, \"Search Results"), "{text}");
    assert!(processor.store().metrics().saved_tokens > 12_000);
}

#[rustfmt::skip]
async fn resolve(
    processor: &ToolResponseProcessor,
    tool_response: &ToolResponse,
    expected: &str,
) -> Result<(), ArtifactError> {
// When agent needs full content:
if let Some(metadata) = tool_response.get_file_metadata() {
    let full_content = processor.resolve_file_content(metadata).await?;
    // Process full content...
    assert_eq!(full_content, expected); // This line is not in the seed.
}
    Ok(())
}

#[tokio::test]
async fn template() {
    const SEED: &str = "<file_list>
{{#each files}}
- {{this.path}} ({{this.size}}, {{this.type}})
  {{#if this.preview}}Preview: {{this.preview}}{{/if}}
{{/each}}
</file_list>";
    assert!(DEFAULT_TEMPLATE.starts_with(SEED));
    let fs: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
    fs.write_text(&"/a.json".parse().unwrap(), "{\"a\": [1, \"<b>\"]}").await.unwrap();
    fs.write_text(&"/b/empty.txt".parse().unwrap(), "").await.unwrap();
    let request = ContextRequest { template: Some(SEED.to_owned()), ..ContextRequest::default() };
    let rendered = KeptAnalyses::new(fs).render_context(&request).await.unwrap();
    // The line of the empty file's preview has the two spaces of the template.
    let lines = [
        "<file_list>",
        "- /a.json (17B, application/json)",
        "  Preview: {\"a\": [1, \"<b>\"]}",
        "- /b/empty.txt (0B, text/plain)",
        "  ",
        "</file_list>",
    ];
    assert_eq!(rendered.text, lines.join("\n"));
}

/// The strategies of `extract_context()`. The seed's code does not compile: two `mut` are missing,
/// and a list of `&String` has no `join`. These are mended, fields are borrowed, and long
/// lines are divided.
#[rustfmt::skip]
#[expect(
    clippy::too_many_lines, clippy::uninlined_format_args, clippy::useless_format,
    reason = "the seed's code"
)]
mod seed_strategies {
    use yfs_analysis::{FileStats, TextStructure};
    use yfs_artifacts::FileMetadata;

    type Result<T> = std::result::Result<T, ()>;

pub(super) async fn extract_context(metadata: &FileMetadata) -> Result<String> {
    match &metadata.stats {
        FileStats::Json(stats) => {
            let mut context = format!("JSON file: {} keys", stats.top_level_keys.len());
            if stats.is_array {
                context.push_str(&format!(" (array with {} elements)",
                    stats.array_length.unwrap_or(0)));
            }
            
            // Use cardinality info for smart sampling
            if let Some(high_cardinality_fields) = stats.cardinality_estimates.iter()
                .filter(|(_, count)| **count > 100)
                .map(|(field, _)| field)
                .collect::<Vec<_>>()
                .first() {
                context.push_str(&format!("\nHigh-cardinality field detected: {}",
                    high_cardinality_fields));
                // Use JQL to extract unique values sample
            }
            
            Ok(context)
        },
        
        FileStats::Csv(stats) => {
            let mut context = format!(
                "CSV: {} rows × {} columns\nHeaders: {}\nData types: {:?}",
                stats.rows, stats.columns, 
                stats.headers.join(", "),
                stats.data_types
            );
            
            // Include cardinality insights
            let high_card_cols: Vec<_> = stats.cardinality_per_column.iter()
                .enumerate()
                .filter(|(_, card)| **card > stats.rows / 2) // High cardinality columns
                .map(|(i, _)| stats.headers[i].as_str())
                .collect();
                
            if !high_card_cols.is_empty() {
                context.push_str(&format!("\nHigh-cardinality columns: {}",
                    high_card_cols.join(", ")));
            }
            
            Ok(context)
        },
        
        FileStats::Html(stats) => {
            let mut context = format!("HTML document");
            if let Some(title) = &stats.title {
                context.push_str(&format!(": {}", title));
            }
            context.push_str(&format!("\n{} links, {} images, {} headings", 
                stats.link_count, stats.image_count, stats.headings.len()));
            
            // Include heading structure for navigation
            if !stats.headings.is_empty() {
                context.push_str("\nHeadings:");
                for (heading, level) in &stats.headings[..5.min(stats.headings.len())] {
                    context.push_str(&format!("\n  {}: {}", "H".repeat(*level), heading));
                }
            }
            
            Ok(context)
        },
        
        FileStats::Markdown(stats) => {
            let context = format!(
                "Markdown: {} words, {} headings, {} code blocks, {} tables",
                stats.word_count, stats.headings.len(), stats.code_blocks, stats.tables
            );
            Ok(context)
        },
        
        FileStats::Text(stats) => {
            let mut context = format!("Text file: {} lines, {} words", stats.lines, stats.words);
            match &stats.structure_hints {
                TextStructure::LogFile { log_level_counts } => {
                    context.push_str(&format!("\nLog levels: {:?}", log_level_counts));
                },
                TextStructure::CodeFile { language, functions } => {
                    context.push_str(&format!("\n{} code: {} functions",
                        language, functions.len()));
                },
                TextStructure::ConfigFile { format } => {
                    context.push_str(&format!("\nConfig file: {:?}", format));
                },
                TextStructure::PlainText => {},
            }
            Ok(context)
        },
        
        FileStats::Binary(stats) => {
            Ok(format!("Binary file: {} format\nMetadata: {:?}", stats.format, stats.metadata))
        },
        FileStats::JsonArray(_) => Err(()), // The seed has no strategy for it.
    }
}
}

#[tokio::test]
async fn strategies() {
    let mut shown = String::new();
    for content in CONTENTS {
        // A map with one entry has one order.
        let content = content.replace("10:00:01 ERROR b\n", "10:00:01 INFO b\n");
        let analysis = analyze("", content.as_bytes());
        let metadata = FileMetadata {
            file_id: "a".to_owned(),
            relative_path: "a".to_owned(),
            size: analysis.size,
            content_type: Some(analysis.media_type),
            preview: None,
            stats: analysis.stats,
            checksum: None,
        };
        let ours = extract_context(&metadata);
        if let Ok(theirs) = seed_strategies::extract_context(&metadata).await {
            assert_eq!(ours, theirs);
        }
        shown.push_str(&format!("{ours}\n"));
    }
    expect![[r#"
        JSON file: 2 keys
        JSON file: 0 keys (array with 2 elements)
        JSON array: 2 elements
        Fields: {a: integer | string}
        High-cardinality fields: a
        CSV: 2 rows × 2 columns
        Headers: name, age
        Data types: [String, Integer]
        High-cardinality columns: name, age
        HTML document: A page
        1 links, 0 images, 2 headings
        Headings:
          H: One
          HH: Two
        Markdown: 5 words, 1 headings, 1 code blocks, 0 tables
        Text file: 3 lines, 9 words
        Log levels: {"INFO": 3}
        Text file: 3 lines, 7 words
        Config file: Ini
        Text file: 3 lines, 4 words
        Shell code: 1 functions
        Text file: 1 lines, 2 words
        Binary file: unknown format
        Metadata: {}
    "#]]
    .assert_eq(&shown);
}

#[tokio::test]
async fn responses_have_the_fields_of_the_seed() {
    let store = FileSystemArtifactStore::new(file_store(ArtifactOptions::development()));
    let ids = ArtifactIds {
        thread_id: "t".to_owned(),
        task_id: "k".to_owned(),
        tool_call_id: "1".to_owned(),
    };
    for result in [json!({"a": 1}), json!("x".repeat(20_000))] {
        let ours = store.store(result, &ids).await.unwrap().content;
        let written = serde_json::to_value(&ours).unwrap();
        let theirs: response_definitions::ToolResponseContent =
            serde_json::from_value(written.clone()).unwrap();
        assert_eq!(serde_json::to_value(&theirs).unwrap(), written);
        let Some(metadata) = ours.get_file_metadata() else { continue };
        let part = serde_json::to_value(Part::FileMetadata(metadata.clone())).unwrap();
        let theirs: response_definitions::Part = serde_json::from_value(part.clone()).unwrap();
        assert_eq!(serde_json::to_value(&theirs).unwrap(), part);
    }
}

/// The shapes can be stored and sent.
#[test]
fn responses_are_values() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Message {
        parts: Vec<Part>,
    }
    let content = ToolResponseContent::Direct { result: json!([1]) };
    let response = ToolResponse { tool_call_id: "1".into(), tool_name: "ls".into(), content };
    let message = Message { parts: vec![Part::Text("a".into()), Part::ToolResult(response)] };
    let written = serde_json::to_string(&message).unwrap();
    expect![[r#"{"parts":[{"Text":"a"},{"ToolResult":{"tool_call_id":"1","tool_name":"ls","content":{"Direct":{"result":[1]}}}}]}"#]].assert_eq(&written);
    assert_eq!(serde_json::from_str::<Message>(&written).unwrap(), message);
}
