//! `yfs describe`: prints what files contain.

use std::collections::BTreeMap;

use unicode_width::UnicodeWidthStr;
use yfs_analysis::{
    CsvStats, FileStats, JsonArrayStats, JsonStats, MarkdownStats, PreviewLimit, TextStats,
    TextStructure, type_words,
};
use yfs_artifacts::{FileAnalysis, KeptAnalyses};
use yfs_wire::FileStatsJson;

use crate::{kept_stats::kept_stats, prelude::*};

const HELP: &str = "\
The type comes from the content, and from the name where the content leaves it open. Notes say what
precedes a table, and where a file with a name of JSON is no JSON. Numbers of
different values are estimates (standard error 1.6 %), all other counts are exact. Statistics are
kept in the workspace until the file changes.

Examples:
  yfs describe gauges.csv              columns with types, different and empty values
  yfs describe --json api.json         schema, depth, values and cardinality by path
  yfs describe server.log --preview 200
  yfs at yesterday describe gauges.csv

JSON: one object per line: {path, version, mime, size, stats, notes, preview}. stats has one member,
named Json, JsonArray, Csv, Html, Markdown, Text or Binary; preview is null without --preview.";

/// The most rows of a table on a terminal or in a pipe; JSON has all.
const MAX_TABLE_ROWS: usize = 40;

/// Print what files contain: types, counts, columns, schemas
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct DescribeArgs {
    /// The files
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// Also print a preview of at most N tokens
    #[arg(short, long, value_name = "N")]
    preview: Option<usize>,
}

/// What a person reads of statistics: facts, and a table.
#[derive(Debug, Default)]
struct StatsTable {
    facts: Vec<(String, String)>,
    headers: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

/// Prints the statistics.
pub(crate) async fn run(args: DescribeArgs, context: &mut CommandContext) -> Result {
    let kept = kept_stats(context)?;
    let paths = context.paths(&args.paths);
    let mut is_first = true;
    for path in paths {
        let separated = !std::mem::take(&mut is_first) && !context.out.json;
        let part = print(context, &kept, &path, args.preview, separated).await;
        context.continue_after(part)?;
    }
    Ok(())
}

async fn print(
    context: &mut CommandContext,
    kept: &KeptAnalyses,
    path: &TypedPath,
    preview: Option<usize>,
    separated: bool,
) -> Result {
    let analysis = kept.analysis_of(&path.path).await?;
    let preview = preview.map(|n_tokens| analysis.preview(PreviewLimit::Tokens(n_tokens)));
    if context.out.json {
        return context.out.json_line(&FileStatsJson::new(&path.path, &analysis, preview));
    }
    if separated {
        context.out.line("")?;
    }
    let mut table = StatsTable::of(&analysis);
    table.facts.insert(0, ("Path".to_owned(), path.typed.clone()));
    table.print(context)?;
    for note in &analysis.notes {
        let note = context.out.safe(note).into_owned();
        context.out.line(&format!("Note: {note}"))?;
    }
    if let Some(preview) = preview {
        context.out.line("")?;
        context.out.safe_lines(&preview)?;
    }
    Ok(())
}

impl StatsTable {
    fn of(analysis: &FileAnalysis) -> Self {
        let mut table = Self::default();
        table.add("Type", &analysis.media_type);
        table.add("Size", analysis.size);
        match &analysis.stats {
            FileStats::Json(stats) => table.add_json(stats),
            FileStats::JsonArray(stats) => table.add_json_array(stats),
            FileStats::Csv(stats) => table.add_csv(stats),
            FileStats::Html(stats) => {
                table.add_some("Title", stats.title.as_ref());
                table.add_some("Description", stats.meta_description.as_ref());
                table.add_some("Language", stats.language.as_ref());
                table.add("Characters", stats.main_content_length);
                table.add("Links", stats.link_count);
                table.add("Images", stats.image_count);
                table.add("Scripts", stats.script_tags);
                table.add_headings(&stats.headings);
            }
            FileStats::Markdown(stats) => table.add_markdown(stats),
            FileStats::Text(stats) => table.add_text(stats),
            FileStats::Binary(stats) => {
                table.add("Format", &stats.format);
                for (name, value) in stats.metadata.iter().collect::<BTreeMap<_, _>>() {
                    table.add(name, value);
                }
            }
        }
        table
    }

    fn add(&mut self, name: &str, value: impl ToString) {
        self.facts.push((name.to_owned(), value.to_string()));
    }

    fn add_some(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }

    fn add_json(&mut self, stats: &JsonStats) {
        self.add_some("Elements", stats.array_length);
        self.add("Depth", stats.nested_depth);
        if let Some(schema) = &stats.schema {
            self.headers = vec!["KEY", "TYPE"];
            self.rows.extend(stats.top_level_keys.iter().map(|key| {
                vec![key.clone(), schema.properties.get(key).map(type_words).unwrap_or_default()]
            }));
        }
        let paths: BTreeMap<_, _> = stats.cardinality_estimates.iter().collect();
        if self.rows.is_empty() && !paths.is_empty() {
            self.headers = vec!["PATH", "DIFFERENT"];
            let rows = paths.into_iter().map(|(path, count)| vec![path.clone(), count.to_string()]);
            self.rows = rows.collect();
        }
    }

    fn add_json_array(&mut self, stats: &JsonArrayStats) {
        self.add("Elements", stats.length);
        let Some(schema) = &stats.element_schema else { return };
        self.headers = vec!["FIELD", "TYPE", "DIFFERENT"];
        let fields: BTreeMap<_, _> = schema.properties.iter().collect();
        self.rows.extend(fields.into_iter().map(|(field, kind)| {
            let different = stats.cardinality_per_field.get(field).copied().unwrap_or(0);
            vec![field.clone(), type_words(kind), different.to_string()]
        }));
    }

    fn add_csv(&mut self, stats: &CsvStats) {
        self.add("Rows", stats.rows);
        self.add("Columns", stats.columns);
        self.headers = vec!["COLUMN", "TYPE", "DIFFERENT", "EMPTY"];
        self.rows.extend(stats.headers.iter().enumerate().map(|(at, header)| {
            let count = |counts: &[usize]| counts.get(at).map(ToString::to_string);
            vec![
                header.clone(),
                stats.data_types.get(at).map(|kind| format!("{kind:?}")).unwrap_or_default(),
                count(&stats.cardinality_per_column).unwrap_or_default(),
                count(&stats.null_counts).unwrap_or_default(),
            ]
        }));
    }

    fn add_markdown(&mut self, stats: &MarkdownStats) {
        self.add("Words", stats.word_count);
        self.add("Links", stats.links);
        self.add("Images", stats.images);
        self.add("Tables", stats.tables);
        self.add("Lists", stats.lists);
        self.add("Code blocks", stats.code_blocks);
        self.add_some("Front matter", stats.front_matter.as_ref());
        self.add_headings(&stats.headings);
    }

    fn add_text(&mut self, stats: &TextStats) {
        self.add("Lines", stats.lines);
        self.add("Words", stats.words);
        self.add("Characters", stats.characters);
        self.add("Encoding", &stats.encoding);
        self.add_some("Language", stats.language.as_ref());
        match &stats.structure_hints {
            TextStructure::LogFile { log_level_counts } => {
                self.headers = vec!["LEVEL", "LINES"];
                let levels: BTreeMap<_, _> = log_level_counts.iter().collect();
                let rows = levels.into_iter().map(|(level, n)| vec![level.clone(), n.to_string()]);
                self.rows = rows.collect();
            }
            TextStructure::ConfigFile { format } => {
                self.add("Configuration", format!("{format:?}"));
            }
            TextStructure::CodeFile { language, functions } => {
                self.add("Source code", language);
                self.headers = vec!["FUNCTION"];
                self.rows = functions.iter().map(|name| vec![name.clone()]).collect();
            }
            TextStructure::PlainText => (),
        }
    }

    fn add_headings(&mut self, headings: &[(String, usize)]) {
        self.add("Headings", headings.len());
        self.headers = vec!["LEVEL", "HEADING"];
        self.rows
            .extend(headings.iter().map(|(text, level)| vec![level.to_string(), text.clone()]));
    }

    fn print(&self, context: &mut CommandContext) -> Result {
        let width = self.facts.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
        for (name, value) in &self.facts {
            let pad = " ".repeat(width - name.width());
            let line = format!("{pad}{name}: {}", value.replace('\n', " "));
            context.out.safe_line(&line)?;
        }
        if self.rows.is_empty() {
            return Ok(());
        }
        context.out.line("")?;
        let shown = &self.rows[..self.rows.len().min(MAX_TABLE_ROWS)];
        let headers: Vec<String> = self.headers.iter().map(ToString::to_string).collect();
        let lines: Vec<&Vec<String>> = std::iter::once(&headers).chain(shown).collect();
        let widths = (0..headers.len()).map(|column| {
            lines.iter().filter_map(|line| Some(line.get(column)?.width())).max().unwrap_or(0)
        });
        let widths: Vec<usize> = widths.collect();
        for cells in lines {
            let mut line = String::new();
            for (cell, width) in cells.iter().zip(&widths) {
                let pad = " ".repeat(width.saturating_sub(cell.width()) + 2);
                line += &format!("{}{pad}", cell.replace('\n', " "));
            }
            context.out.safe_line(line.trim_end())?;
        }
        if shown.len() < self.rows.len() {
            let n_more = self.rows.len() - shown.len();
            context.out.line(&format!("… {n_more} more; --json has all"))?;
        }
        Ok(())
    }
}
