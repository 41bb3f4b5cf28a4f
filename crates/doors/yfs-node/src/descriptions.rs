//! What files contain: statistics, previews, contexts, and queries.

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde_json::{Value, json};
use yfs_agent::json_query::{
    DocumentFormat, JsonQuery, JsonQueryLimits, JsonQueryRunner, QueryDialect,
};
use yfs_analysis::PreviewLimit;
use yfs_artifacts::ContextRequest;
use yfs_engine::path::VPath;
use yfs_query_worker::serve_json_query;
use yfs_vfs::FileSystem;
use yfs_wire::{ContextBody, ContextJson, FileStatsJson};

use crate::{
    cancellation::{NativeCancellation, cancellable, token_of},
    files::NativeFs,
    pages::NativePages,
    prelude::*,
};

/// The length of a preview: one of these.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum PreviewOptions {
    Characters(usize),
    Bytes(usize),
    Tokens(usize),
}

/// The files of a context, and its length.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ContextOptions {
    body: ContextBody,
    preview: Option<PreviewOptions>,
    template: Option<String>,
}

/// A query, its limits, and the program that runs it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct QueryOptions {
    text: String,
    dialect: Option<String>,
    format: Option<String>,
    #[serde(default)]
    slurp: bool,
    #[serde(default)]
    raw: bool,
    cpu_time_ms: f64,
    max_memory: u64,
    max_output_len: usize,
    program: PathBuf,
    arguments: Vec<String>,
}

impl From<PreviewOptions> for PreviewLimit {
    fn from(given: PreviewOptions) -> Self {
        match given {
            PreviewOptions::Characters(n) => Self::Characters(n),
            PreviewOptions::Bytes(n) => Self::Bytes(n),
            PreviewOptions::Tokens(n) => Self::Tokens(n),
        }
    }
}

impl ContextOptions {
    fn into_request(self) -> napi::Result<ContextRequest> {
        let paths = self.body.paths.iter().map(|at| path(Op::Walk, at));
        let paths = paths.collect::<napi::Result<_>>()?;
        let request = self.body.request(paths);
        let preview = self.preview.map_or(request.preview, PreviewLimit::from);
        Ok(ContextRequest { preview, template: self.template, ..request })
    }
}

impl QueryOptions {
    /// Returns the query of a file, and what runs it.
    fn for_file(self, at: &VPath) -> napi::Result<(JsonQuery, JsonQueryRunner)> {
        let dialect = self.dialect.as_deref().unwrap_or("jq");
        let dialect =
            QueryDialect::named(dialect).ok_or_else(|| error::invalid("a dialect", dialect))?;
        let format = match self.format.as_deref() {
            None => DocumentFormat::of_name(at.as_str()),
            Some(format) => {
                DocumentFormat::named(format).ok_or_else(|| error::invalid("a format", format))?
            }
        };
        let query =
            JsonQuery { text: self.text, dialect, format, slurp: self.slurp, raw: self.raw };
        let limits = JsonQueryLimits {
            // The limit of the system is in whole seconds.
            cpu_time: Duration::from_secs((self.cpu_time_ms / 1000.0).ceil() as u64),
            max_memory: self.max_memory,
            max_output_len: self.max_output_len,
            ..JsonQueryLimits::default()
        };
        let (program, arguments) = (self.program, self.arguments);
        Ok((query, JsonQueryRunner { program, arguments, limits, share: None }))
    }
}

#[napi]
impl NativeFs {
    /// Returns what a file contains, with a preview if there is a limit for it.
    #[napi]
    pub fn file_stats(
        &self,
        at: String,
        preview: Option<String>,
        cancel: Option<&NativeCancellation>,
    ) -> napi::Result<OwnedFuture<String>> {
        let (analyses, at) = (self.analyses()?, path(Op::Open, &at)?);
        let preview = preview.as_deref().map(preview_limit).transpose()?;
        Ok(cancellable(token_of(cancel), async move || {
            let analysis = analyses.analysis_of(&at).await;
            let analysis = analysis.map_err(error::of)?;
            let preview = preview.map(|limit| analysis.preview(limit));
            let described = FileStatsJson::new(&at, &analysis, preview);
            let mut described = serde_json::to_value(&described).expect("statistics are JSON");
            described["description"] = analysis.description().into();
            Ok(described.to_string())
        }))
    }

    /// Renders the context of files.
    #[napi]
    pub fn context(
        &self,
        options: String,
        cancel: Option<&NativeCancellation>,
    ) -> napi::Result<OwnedFuture<String>> {
        let options: ContextOptions =
            serde_json::from_str(&options).map_err(|error| error::invalid_options(&error))?;
        let (analyses, request) = (self.analyses()?, options.into_request()?);
        Ok(cancellable(token_of(cancel), async move || {
            let rendered = analyses.render_context(&request).await;
            let rendered = rendered.map_err(error::of)?;
            Ok(message::json(&ContextJson::from(rendered)))
        }))
    }

    /// Runs one query, from standard input to standard output; returns the exit code of the
    /// process, which must do nothing else.
    #[napi]
    pub fn serve_query() -> u32 {
        serve_json_query().into()
    }

    /// Runs a query over a file in a process of its own.
    #[napi]
    pub fn query(
        &self,
        at: String,
        options: String,
        cancel: Option<&NativeCancellation>,
    ) -> napi::Result<OwnedFuture<NativePages>> {
        let options: QueryOptions =
            serde_json::from_str(&options).map_err(|error| error::invalid_options(&error))?;
        let (session, at) = (self.session()?, path(Op::Open, &at)?);
        let (query, runner) = options.for_file(&at)?;
        let cancel = token_of(cancel);
        Ok(cancellable(cancel.clone(), async move || {
            let document = session.fs().read(&at).await;
            // The files are not held while the query runs: the workspace may be closed.
            drop(session);
            let document = document.map_err(error::of)?.data;
            let found = runner.run(query, document, &cancel).await;
            let found = found.map_err(error::of)?;
            // Numbers such as NaN, and raw texts, are no JSON.
            let results = found
                .text
                .lines()
                .map(|line| serde_json::from_str(line).unwrap_or_else(|_| Value::from(line)));
            Ok(NativePages::new(results, &json!({ "truncated": found.truncated })))
        }))
    }
}

impl NativeFs {
    fn analyses(&self) -> napi::Result<yfs_artifacts::KeptAnalyses> {
        let fs: Arc<dyn FileSystem> = Arc::new(self.session()?.fs().clone());
        self.slot().analyses(fs)
    }
}

/// Parses the length of a preview.
pub(crate) fn preview_limit(text: &str) -> napi::Result<PreviewLimit> {
    let given: PreviewOptions =
        serde_json::from_str(text).map_err(|error| error::invalid_options(&error))?;
    Ok(given.into())
}
