//! `yfs query`: queries JSON, tables, YAML and Parquet.

use std::time::Duration;

use clap::{Args, ValueEnum};
use yfs_agent::json_query::{
    DocumentFormat, JsonQuery, JsonQueryLimits, JsonQueryRunner, QueryDialect,
};
use yfs_vfs::CancellationToken;

use crate::{
    commands::input_content::read_host, json_query_runner, parse_time::parse_duration, prelude::*,
};

const HELP: &str = "\
A query runs once for each value of a file: of JSON and YAML each document, of JSON lines each line,
of CSV and TSV each row, as an object whose keys are the names of the columns. The delimiter, and
whether the first row has names, are those that `yfs describe` shows; without names, they are
column_1, column_2 and so on. A cell is a number if JSON would write it so, null if it is empty, and
otherwise text; a column of codes, such as 02108, is text. Of Parquet it runs for each row, with
dates and times as text and binary values in base64. The format is that of the name; other names are
JSON.

JQL gets one value: the only one, or an array of all. It has keys (\"a\"), indexes ([0]), ranges
([1:3]), groups (\"a\",\"b\"), pipes (|> and <|), lenses (|={\"a\"=1}), keys (@), flat values (..)
and empty ones (!).

SQL is that of SQLite, over a table `data` with a row for each value, or each element of an array;
arrays and objects in it are JSON. Only SELECT, WITH and VALUES run.

The query runs in a process of its own, with limits on time and memory.

Examples:
  yfs query '.items[] | select(.size > 10) | .name' api.json
  yfs query --slurp 'group_by(.place) | map({place: .[0].place, n: length})' gauges.csv
  yfs query -r .image deploy.yaml
  yfs query --dialect jql '\"items\"|={\"kind\"=\"gauge\"}' api.json
  yfs query 'select(.level > 3)' levels.parquet
  yfs query -d sql 'SELECT place, count(*) AS n FROM data GROUP BY place' gauges.csv

JSON: one object per file: {path, results, truncated}.";

/// Query JSON, JSON lines, YAML, CSV, TSV and Parquet with jq, JQL or SQL
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct QueryArgs {
    /// The query
    #[arg(value_name = "QUERY", allow_hyphen_values = true)]
    query: String,
    /// The files; default: standard input
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// The language of the query
    #[arg(short, long, value_name = "DIALECT", default_value = "jq")]
    dialect: DialectChoice,
    /// The format of the files; default: by the name
    #[arg(short, long, value_name = "FORMAT")]
    format: Option<FormatChoice>,
    /// Run the query once, over an array of all values of a file
    #[arg(short, long)]
    slurp: bool,
    /// Print texts as they are, and not as JSON
    #[arg(short, long)]
    raw: bool,
    /// The longest processor time for each file: 5s, 1m
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10s")]
    timeout: Duration,
    /// The most memory for each file
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1G")]
    memory: u64,
    /// The longest results of each file
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "64M")]
    limit: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DialectChoice {
    Jq,
    Jql,
    Sql,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatChoice {
    /// Values one after the other
    Json,
    /// Cells with commas, semicolons, tabs or bars between
    Csv,
    /// Cells with tabs between
    Tsv,
    Yaml,
    Parquet,
}

/// Runs the query over each file.
pub(crate) async fn run(args: QueryArgs, context: &mut CommandContext) -> Result {
    let runner = json_query_runner();
    let runner = runner.ok_or_else(|| CommandError::other("cannot find this program"))?;
    let limits = JsonQueryLimits {
        cpu_time: args.timeout.max(Duration::from_secs(1)),
        max_memory: args.memory,
        max_output_len: usize::try_from(args.limit).unwrap_or(usize::MAX),
        ..JsonQueryLimits::default()
    };
    let runner = JsonQueryRunner { limits, ..runner };
    if args.paths.is_empty() {
        let document = read_host(&"-".into())?;
        return query(context, &runner, args.query_for("-"), "-", document).await;
    }
    let fs = context.reader()?;
    for path in context.paths(&args.paths) {
        let part = match fs.read(&path.path).await {
            Ok(content) => {
                let query_of_file = args.query_for(path.path.as_str());
                query(context, &runner, query_of_file, path.path.as_str(), content.data).await
            }
            Err(error) => Err(error.into()),
        };
        context.continue_after(part)?;
    }
    Ok(())
}

impl QueryArgs {
    /// Returns the query for a file.
    fn query_for(&self, path: &str) -> JsonQuery {
        JsonQuery {
            text: self.query.clone(),
            dialect: match self.dialect {
                DialectChoice::Jq => QueryDialect::Jq,
                DialectChoice::Jql => QueryDialect::Jql,
                DialectChoice::Sql => QueryDialect::Sql,
            },
            format: match self.format {
                Some(FormatChoice::Json) => DocumentFormat::Json,
                Some(FormatChoice::Csv) => DocumentFormat::Csv,
                Some(FormatChoice::Tsv) => DocumentFormat::Tsv,
                Some(FormatChoice::Yaml) => DocumentFormat::Yaml,
                Some(FormatChoice::Parquet) => DocumentFormat::Parquet,
                None => DocumentFormat::of_name(path),
            },
            slurp: self.slurp,
            raw: self.raw,
        }
    }
}

async fn query(
    context: &mut CommandContext,
    runner: &JsonQueryRunner,
    query: JsonQuery,
    path: &str,
    document: bytes::Bytes,
) -> Result {
    let failed = |reason: String| CommandError::other(format!("{path}: {reason}"));
    let found = runner.run(query, document, &CancellationToken::new()).await;
    let found = found.map_err(|error| failed(error.to_string()))?;
    if context.out.json {
        let results = found.text.lines();
        // Numbers such as NaN, and raw texts, are no JSON.
        let results: Vec<Value> = results
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| Value::from(line)))
            .collect();
        return context
            .out
            .json_line(&json!({ "path": path, "results": results, "truncated": found.truncated }));
    }
    context.out.safe_lines(&found.text)?;
    if found.truncated {
        return Err(failed("the results were cut: ask for less, or set --limit".to_owned()));
    }
    Ok(())
}
