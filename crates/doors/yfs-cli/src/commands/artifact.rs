//! `yfs artifact`: stores large results as files with references, and renders contexts.

mod run_command;

use std::{collections::BTreeSet, path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use yfs_agent_workspace::WorkspacePast;
use yfs_analysis::{PreviewLimit, describe_stats};
use yfs_artifacts::{
    ArtifactIds, ArtifactOptions, CleanupPolicy, CleanupReport, ContextRequest, FileMetadata,
    FileSelection, FileSystemOps, FileSystemStore, NamespaceStrategy, ToolResponseContent,
    content_hash,
};
use yfs_vfs::{FileSystemExt, WalkOptions};
use yfs_wire::{ArtifactJson, CleanupReportJson, ContextJson, Rfc3339Time};

use self::run_command::RunArgs;
use crate::{
    commands::input_content::{read_host, read_host_text},
    kept_stats::kept_stats,
    parse_time::parse_duration,
    pattern::fnmatch,
    prelude::*,
};

const HELP: &str = "\
An artifact is a result of a tool that is too large for a model's context: a file below /artifacts,
and a reference with its type, statistics, preview and BLAKE3 hash. The path of an artifact is that
of its reference, from the root of all artifacts. A reference or path finds its file after a rename
or move, and the content that was stored after an edit. `yfs cat` prints what a file has now.

--namespace says where a result is put: thread_id ({thread}/{file}), task_id ({task}/{file}), flat
({file}), runs (runs/{thread}/{task}/{file}), or a template of {thread_id}, {task_id} and
{tool_call_id} that ends in {file_id}.

Examples:
  crawl | yfs artifact put --thread research-7 --call 12      prints the path
  crawl | yfs artifact put --threshold 50K --json             the result itself, unless it is larger
  yfs artifact put report.csv                                 a large file becomes a reference
  yfs artifact run cargo test                                 its output, or a reference to it
  yfs artifact get research-7/tool_call_12.json
  yfs artifact get --reference reference.json                 verified by its hash
  yfs artifact list 'research-7/*'
  yfs artifact show research-7/tool_call_12.json
  yfs artifact clean --older-than 30d --dry-run
  yfs artifact context /docs --max-tokens 2000                any files, for a model's context

JSON of put: {FileReference: {metadata, preview}}, or with --threshold {Direct: {result}}; of run:
the same with exit_status; of show: metadata: {file_id, relative_path, size, content_type, preview,
stats, checksum}; of get: {path, size, content} or base64; of list: one object per line: {path,
artifact, size, mime, changed}; of clean: {removed: [{path, size, reason}], freed_bytes, dry_run};
of context: {text, tokens, files, listed, previewed}.";

/// Store large results as files with references, and render contexts of files
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ArtifactArgs {
    /// The options of every subcommand.
    #[command(flatten)]
    place: ArtifactPlaceArgs,
    /// The subcommand.
    #[command(subcommand)]
    command: ArtifactCommand,
}

/// Where artifacts are.
#[derive(Debug, Args)]
struct ArtifactPlaceArgs {
    /// The directory of all artifacts
    #[arg(long, global = true, value_name = "PATH", default_value = "/artifacts")]
    root: String,
}

/// The subcommands of `yfs artifact`.
#[derive(Debug, Subcommand)]
enum ArtifactCommand {
    /// Store a result from standard input or a file of this machine, and print its path
    Put(PutArgs),
    /// Run a command, and print its output, or the reference to it if it is large
    Run(RunArgs),
    /// Print the content of an artifact as it was stored
    Get(GetArgs),
    /// List artifacts
    List {
        /// List only paths that match this pattern, in which * also matches slashes
        #[arg(value_name = "PATTERN")]
        pattern: Option<String>,
        /// Print sizes and times, too
        #[arg(short, long)]
        long: bool,
    },
    /// Describe an artifact: type, statistics, preview, hash
    Show {
        /// The artifact
        #[arg(value_name = "ARTIFACT")]
        artifact: String,
        /// The length of the preview in characters
        #[arg(long, value_name = "N", default_value_t = 300)]
        preview: usize,
    },
    /// Move old artifacts to the trash
    Clean(CleanArgs),
    /// Describe files for a model, within a number of tokens
    Context(ContextArgs),
}

/// A result to store.
#[derive(Debug, Args)]
struct PutArgs {
    /// A file on this machine; default: standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// Where the result is put.
    #[command(flatten)]
    placement: PlacementArgs,
    /// Store nothing, and print the result itself, unless it is larger: 50K
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    threshold: Option<u64>,
}

/// Where a result is put, and how its reference shows it.
#[derive(Debug, Args)]
struct PlacementArgs {
    /// The thread of the call
    #[arg(long, value_name = "ID", default_value = "shared")]
    thread: String,
    /// The task of the call
    #[arg(long, value_name = "ID", default_value = "shared")]
    task: String,
    /// The call; default: the beginning of the content's hash
    #[arg(long, value_name = "ID")]
    call: Option<String>,
    /// Where the file is put: thread_id, task_id, flat, runs, or a template
    #[arg(long, value_name = "NAMESPACE", default_value = "thread_id")]
    #[arg(value_parser = parse_namespace)]
    namespace: NamespaceStrategy,
    /// The length of the preview in characters
    #[arg(long, value_name = "N", default_value_t = 300)]
    preview: usize,
}

/// An artifact to print.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
struct GetArgs {
    /// The path of the artifact
    #[arg(value_name = "ARTIFACT", group = "which")]
    artifact: Option<String>,
    /// A file of this machine with the JSON of a reference, as `put` and `show` print it
    #[arg(long, value_name = "FILE", group = "which")]
    reference: Option<PathBuf>,
    /// Fail unless the BLAKE3 hash of the content begins with this
    #[arg(long, value_name = "HASH", conflicts_with = "reference")]
    checksum: Option<String>,
}

/// Which artifacts are removed.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("limits").required(true).multiple(true))]
struct CleanArgs {
    /// Remove artifacts that did not change for longer than this: 30d, 12h
    #[arg(long, value_name = "AGE", value_parser = parse_duration, group = "limits")]
    older_than: Option<Duration>,
    /// Remove the oldest, until the rest has no more bytes: 500M
    #[arg(long, value_name = "SIZE", value_parser = parse_size, group = "limits")]
    max_size: Option<u64>,
    /// Remove the oldest, until the rest is no more files
    #[arg(long, value_name = "N", group = "limits")]
    max_files: Option<usize>,
    /// Remove nothing in this directory below the root, for example of a thread; may be repeated
    #[arg(long, value_name = "NAME")]
    keep: Vec<String>,
    /// Only print what would be removed
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// The files of a context, and its length.
#[derive(Debug, Args)]
struct ContextArgs {
    /// The files and directories
    #[arg(value_name = "PATH", default_value = "/")]
    paths: Vec<String>,
    /// The most tokens; a token is estimated as four characters
    #[arg(short = 't', long, alias = "tokens", value_name = "N", default_value_t = 8_000)]
    max_tokens: usize,
    /// Only files that match this pattern, as in .gitignore; may be repeated
    #[arg(long, value_name = "PATTERN")]
    include: Vec<String>,
    /// No files and directories that match this pattern; may be repeated
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Also names that begin with a dot
    #[arg(long)]
    hidden: bool,
    /// Also files that .gitignore and .yfsignore name
    #[arg(long)]
    ignored: bool,
    /// Read no larger files, and only list them
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "64M")]
    max_file_size: u64,
    /// The length of each preview in characters
    #[arg(long, value_name = "N", default_value_t = 300)]
    preview: usize,
    /// A file on this machine with a template of Handlebars, in place of the default one
    #[arg(long, value_name = "FILE")]
    template: Option<PathBuf>,
}

impl PlacementArgs {
    /// Returns the ids of a result, and the options of the store.
    fn resolve(&self, root: VPath, content: &[u8]) -> (ArtifactIds, ArtifactOptions) {
        let call = self.call.clone();
        let ids = ArtifactIds {
            thread_id: self.thread.clone(),
            task_id: self.task.clone(),
            tool_call_id: call.unwrap_or_else(|| content_hash(content)[..16].to_owned()),
        };
        let options = ArtifactOptions {
            root,
            namespace_strategy: self.namespace.clone(),
            preview: PreviewLimit::Characters(self.preview),
            ..ArtifactOptions::default()
        };
        (ids, options)
    }
}

/// Runs `yfs artifact`.
pub(crate) async fn run(args: ArtifactArgs, context: &mut CommandContext) -> Result {
    let root = context.path(&args.place.root)?.path;
    match args.command {
        ArtifactCommand::Put(args) => put(context, root, args).await,
        ArtifactCommand::Run(args) => run_command::run(context, root, args).await,
        ArtifactCommand::Get(args) => get(context, root, args).await,
        ArtifactCommand::List { pattern, long } => {
            list(context, &root, pattern.as_deref(), long).await
        }
        ArtifactCommand::Show { artifact, preview } => {
            show(context, root, &artifact, preview).await
        }
        ArtifactCommand::Clean(args) => clean(context, root, args).await,
        ArtifactCommand::Context(args) => render(context, args).await,
    }
}

/// Parses a namespace.
fn parse_namespace(text: &str) -> Result<NamespaceStrategy, String> {
    NamespaceStrategy::parse(text).map_err(|error| error.to_string())
}

/// Makes the store of a workspace's artifacts.
fn store_of(
    context: &CommandContext,
    workspace: &Workspace,
    options: ArtifactOptions,
) -> FileSystemStore {
    let fs = Arc::new(workspace.fs_for(context.actor()));
    FileSystemStore::new(fs, options).with_past(Arc::new(WorkspacePast::new(workspace.clone())))
}

async fn put(context: &mut CommandContext, root: VPath, args: PutArgs) -> Result {
    let content = read_host(&args.file)?;
    if args.threshold.is_some_and(|threshold| content.len() as u64 <= threshold) {
        return print_direct(context, &content);
    }
    let (ids, options) = args.placement.resolve(root, &content);
    let workspace = context.writable()?;
    let metadata = store_of(context, &workspace, options).store_file(&ids, content).await?;
    if context.out.json {
        return context.out.json_line(&ToolResponseContent::from(metadata));
    }
    context.out.safe_line(&metadata.relative_path)
}

/// Prints a result that is not stored.
fn print_direct(context: &mut CommandContext, content: &Bytes) -> Result {
    if !context.out.json {
        return context.out.raw(content);
    }
    let direct = ToolResponseContent::direct(content).ok_or_else(|| {
        CommandError::other("the result is not UTF-8 text, and too small to be stored")
    })?;
    context.out.json_line(&direct)
}

async fn get(context: &mut CommandContext, root: VPath, args: GetArgs) -> Result {
    let metadata = match (&args.reference, &args.artifact) {
        (Some(file), _) => parse_reference(&read_host(file)?)?,
        (None, artifact) => {
            let artifact = artifact.as_deref().unwrap_or_default();
            FileMetadata::at_path(relative_path(context, &root, artifact)?, args.checksum)
        }
    };
    let workspace = context.readable()?;
    let options = ArtifactOptions { root, ..ArtifactOptions::default() };
    let read = store_of(context, &workspace, options).read_verified(&metadata).await?;
    if read.is_earlier {
        context.remark("the file was changed since; this is the version that was stored");
    }
    if context.out.json {
        return context.out.json_line(&json::content(&metadata.relative_path, &read.data));
    }
    context.out.raw(&read.data)
}

/// Parses the JSON of a reference: its metadata, or what contains them.
fn parse_reference(json: &[u8]) -> Result<FileMetadata> {
    let parsed = FileMetadata::parse_reference(json);
    parsed.map_err(|error| CommandError::other(format!("this is no reference: {error}")))
}

/// Returns the path of an artifact from the root of all artifacts, for a path from there or from
/// the root of the workspace.
fn relative_path(context: &CommandContext, root: &VPath, artifact: &str) -> Result<String> {
    let path = context.path(artifact)?.path;
    let below = path.relative_to(root).filter(|_| artifact.starts_with('/'));
    Ok(below.unwrap_or(artifact).trim_end_matches('/').to_owned())
}

async fn list(
    context: &mut CommandContext,
    root: &VPath,
    pattern: Option<&str>,
    long: bool,
) -> Result {
    let pattern = pattern.map(|pattern| fnmatch(pattern, false)).transpose();
    let pattern = pattern.map_err(CommandError::Usage)?;
    let fs = context.reader()?;
    let entries = match fs.walk(root, &WalkOptions::default()).await {
        Err(error) if error.code == FsCode::ENOENT => return Ok(()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for walked in entries.iter().filter(|walked| walked.entry.kind == FileKind::File) {
        let relative = walked.path.relative_to(root).unwrap_or_default();
        if pattern.as_ref().is_none_or(|pattern| pattern.is_match(relative)) {
            found.push((relative, walked));
        }
    }
    let sizes: Vec<String> =
        found.iter().map(|(_, walked)| human_size(walked.entry.size)).collect();
    let width = sizes.iter().map(String::len).max().unwrap_or(0);
    for ((relative, walked), size) in found.iter().zip(&sizes) {
        if context.out.json {
            let stat = fs.stat(&walked.path).await?;
            let artifact = stat.metadata.get("artifact").and_then(Value::as_str);
            context.out.json_line(&ArtifactJson::<Rfc3339Time> {
                path: walked.path.to_string(),
                artifact: artifact.unwrap_or(relative).to_owned(),
                size: stat.size,
                mime: stat.mime.as_deref().map(str::to_owned),
                changed: stat.mtime.into(),
            })?;
            continue;
        }
        let mut line = context.out.safe(relative).into_owned();
        if long {
            let time = parse_time::short(walked.entry.mtime, parse_time::now());
            line = format!("{size:>width$}  {time}  {line}");
        }
        context.out.line(&line)?;
    }
    Ok(())
}

async fn show(context: &mut CommandContext, root: VPath, artifact: &str, preview: usize) -> Result {
    let reference = FileMetadata::at_path(relative_path(context, &root, artifact)?, None);
    let workspace = context.readable()?;
    let preview = PreviewLimit::Characters(preview);
    let options = ArtifactOptions { root, preview, ..ArtifactOptions::default() };
    let store = store_of(context, &workspace, options);
    let path = store.path_now(&reference).await?;
    let metadata = store.reference_at(&path).await?;
    if context.out.json {
        return context.out.json_line(&metadata);
    }
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let rows = [
        ("Artifact", metadata.relative_path.clone()),
        ("Path", path.to_string()),
        ("Type", text(&metadata.content_type)),
        ("Size", metadata.size.to_string()),
        ("BLAKE3", text(&metadata.checksum)),
    ];
    context.out.rows(8, &rows)?;
    let described = format!("\n{}\n\n{}", describe_stats(&metadata.stats), text(&metadata.preview));
    context.out.safe_lines(&described)
}

async fn clean(context: &mut CommandContext, root: VPath, args: CleanArgs) -> Result {
    let policy = CleanupPolicy {
        max_age: args.older_than,
        max_total_bytes: args.max_size,
        max_files: args.max_files,
        kept_directories: args.keep.into_iter().collect::<BTreeSet<_>>(),
    };
    let workspace = if args.dry_run { context.readable()? } else { context.writable()? };
    let options = ArtifactOptions { root, ..ArtifactOptions::default() };
    let store = store_of(context, &workspace, options);
    let report = store.clean_up(&policy, parse_time::now(), args.dry_run).await?;
    print_cleanup(context, &report, args.dry_run)?;
    for (_, error) in report.failed {
        context.fail(&error.into());
    }
    Ok(())
}

fn print_cleanup(context: &mut CommandContext, report: &CleanupReport, dry_run: bool) -> Result {
    if context.out.json {
        let report = CleanupReportJson::new(report, dry_run, |(path, _)| path.to_string());
        let mut value = json::value(&report);
        // Failures are reported on standard error.
        value.as_object_mut().map(|members| members.remove("failed"));
        return context.out.json_line(&value);
    }
    for removed in &report.removed {
        let path = context.out.safe(removed.path.as_str()).into_owned();
        let size = human_size(removed.size);
        context.out.line(&format!("{:<5}  {size:>5}  {path}", removed.reason.name()))?;
    }
    let n_removed = counted(report.removed.len() as u64, "artifact", "artifacts");
    let would = if dry_run { "would be removed" } else { "removed" };
    context.remark(&format!("{n_removed} {would} ({})", human_size(report.freed_bytes)));
    Ok(())
}

async fn render(context: &mut CommandContext, args: ContextArgs) -> Result {
    let mut paths = Vec::new();
    for path in &args.paths {
        paths.push(context.path(path)?.path);
    }
    let template = args.template.as_ref().map(read_host_text).transpose()?;
    let request = ContextRequest {
        selection: FileSelection {
            paths,
            include: args.include,
            exclude: args.exclude,
            hidden: args.hidden,
            ignored: args.ignored,
            max_file_size: args.max_file_size,
        },
        max_tokens: args.max_tokens,
        preview: PreviewLimit::Characters(args.preview),
        template,
    };
    let rendered = kept_stats(context)?.render_context(&request).await?;
    if context.out.json {
        return context.out.json_line(&ContextJson::from(rendered));
    }
    context.out.safe_lines(&rendered.text)
}
