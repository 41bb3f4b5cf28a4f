//! `yfs thread`: the threads of agents, and their files.

mod files;

use std::time::Duration;

use yfs_threads::{NamespaceStrategy, ThreadError, Threads};
use yfs_wire::{
    RemovedThreadJson, RetentionReportJson, RetentionRules, Rfc3339Time, ThreadFileRequest,
    ThreadJson, ThreadOpening, ThreadRequest, ThreadResponse,
};

use self::files::ThreadFileCommand;
use crate::{parse_time::parse_duration, prelude::*};

const HELP: &str = "\
A thread is a directory with a tree of files of its own, by default below /threads. Paths of its
files start at its root; nothing outside of the thread can be named, found or linked to. `yfs thread
path` prints the directory, for all other commands. Deleted threads and files are in the trash.

--namespace selects the threads: thread_id (the default) and task_id have one part, flat is one tree
that all share, with the id `shared`, and a template such as {agent}/{thread_id} has several parts:
the id is then bob/7.

Examples:
  yfs thread new research-7
  yfs thread list --long
  yfs thread show research-7
  yfs thread stats research-7
  yfs thread fork research-7 research-8      all files of the first
  yfs thread archive research-7              read-only, and not in the list
  yfs thread unarchive research-7
  yfs thread delete research-7               to the trash
  yfs thread restore research-7
  yfs thread prune --older-than 30d --dry-run
  yfs tree $(yfs thread path research-8)

  yfs thread write research-7 /notes.md --content '# Notes'
  yfs thread link research-7 /scan.pdf s3://scans/7.pdf --size 12M
  yfs thread mkdir research-7 /drafts
  yfs thread ls -l research-7 /drafts
  yfs thread stat research-7 /notes.md
  yfs thread cat research-7 /notes.md
  yfs thread thumbnail research-7 /plot.png > small.png
  yfs thread set research-7 /notes.md reviewed=true
  yfs thread mv research-7 /notes.md /drafts/notes.md
  yfs thread rm research-7 /drafts/notes.md
  yfs thread rmdir research-7 /drafts
  yfs thread grep research-8 TODO
  yfs thread find research-8 '/**/*.md'

JSON of list, new, show, fork, restore: one object per line: {id, path, directory, created, changed,
archived, forked_from, files, directories, bytes}; of archive and unarchive: {id, archived}; of
path: {id, path}; of stats: {id, files, directories, bytes}; of delete: {id, deleted}; of prune:
{removed, kept, kept_bytes, dry_run}, with the removed threads and the reason age or size.
JSON of files (ls, stat, write, link, mkdir, mv, set): {path, name, mime, storage, size,
is_directory, metadata, width, height}; of cat: {path, size, content} or base64; of thumbnail:
{path, mime, width, height, size, base64}; of rm and rmdir: {path, removed}; of grep: {path,
matches: [{line, content}]}, and at the end {binary, binary_paths} if files are not text; of find:
{path}.";

/// Create, list, fork and archive threads of agents, and change their files
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ThreadArgs {
    /// The options of every subcommand.
    #[command(flatten)]
    place: ThreadPlaceArgs,
    /// The subcommand.
    #[command(subcommand)]
    command: ThreadCommand,
}

/// Which threads there are.
#[derive(Debug, Args)]
struct ThreadPlaceArgs {
    /// The namespace: thread_id, task_id, flat, or a template with placeholders
    #[arg(long, global = true, value_name = "NAMESPACE", default_value = "thread_id")]
    #[arg(value_parser = parse_namespace)]
    namespace: NamespaceStrategy,
    /// The directory of all threads
    #[arg(long, global = true, value_name = "PATH", default_value = "/threads")]
    root: String,
}

/// The subcommands of `yfs thread`.
#[derive(Debug, Subcommand)]
enum ThreadCommand {
    /// List threads by their ids
    List {
        /// Print the number of files, their size and the time of the last change, too
        #[arg(short, long)]
        long: bool,
        /// List archived threads, too
        #[arg(short, long)]
        all: bool,
    },
    /// Create threads, and print their directories
    New {
        /// The ids
        #[arg(value_name = "THREAD", required = true)]
        ids: Vec<String>,
        /// Accept threads that exist
        #[arg(long)]
        if_missing: bool,
    },
    /// Describe threads
    Show(ThreadIdsArgs),
    /// Print the directory of a thread in the workspace
    Path(ThreadIdArgs),
    /// Count the files and directories of a thread, and the bytes of the files
    Stats(ThreadIdArgs),
    /// Create a thread with the present files of another, and print its directory
    Fork {
        /// The thread with the files
        #[arg(value_name = "THREAD")]
        from: String,
        /// The id of the new thread
        #[arg(value_name = "NEW")]
        to: String,
    },
    /// Make threads read-only, and leave them out of lists
    Archive(ThreadIdsArgs),
    /// Make archived threads writable again
    Unarchive(ThreadIdsArgs),
    /// Move threads to the trash, with their files
    Delete(ThreadIdsArgs),
    /// Restore threads from the trash: of each id the one deleted last
    Restore(ThreadIdsArgs),
    /// Move threads to the trash that are old, or too much together
    #[command(group = clap::ArgGroup::new("limits").required(true).multiple(true))]
    Prune {
        /// Delete threads without a change for longer than this: 30d, 12h
        #[arg(long, value_name = "AGE", value_parser = parse_duration, group = "limits")]
        older_than: Option<Duration>,
        /// Delete those without a change for longest, until the rest has no more bytes: 500M
        #[arg(long, value_name = "SIZE", value_parser = parse_size, group = "limits")]
        max_size: Option<u64>,
        /// Delete archived threads, too, and count them
        #[arg(short, long)]
        all: bool,
        /// Only print which threads would be deleted
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
    /// A subcommand on files.
    #[command(flatten)]
    File(ThreadFileCommand),
}

/// A thread.
#[derive(Debug, Args)]
struct ThreadIdArgs {
    /// The thread
    #[arg(value_name = "THREAD")]
    id: String,
}

/// Threads.
#[derive(Debug, Args)]
struct ThreadIdsArgs {
    /// The threads
    #[arg(value_name = "THREAD", required = true)]
    ids: Vec<String>,
}

/// Runs `yfs thread`.
pub(crate) async fn run(args: ThreadArgs, context: &mut CommandContext) -> Result {
    let place = args.place;
    let (requests, is_long) = match args.command {
        ThreadCommand::Path(ThreadIdArgs { id }) => return print_path(context, &place, &id).await,
        ThreadCommand::Stats(ThreadIdArgs { id }) => {
            return files::serve(context, &place, &id, vec![ThreadFileRequest::Stats], true).await;
        }
        ThreadCommand::File(command) => return files::run(command, &place, context).await,
        ThreadCommand::List { long, all } => (vec![ThreadRequest::List { archived: all }], long),
        ThreadCommand::New { ids, if_missing } => {
            let open = |id| match if_missing {
                true => ThreadOpening::Open { id },
                false => ThreadOpening::Create { id },
            };
            (ids.into_iter().map(open).map(ThreadRequest::Open).collect(), false)
        }
        ThreadCommand::Show(threads) => (threads.each(|id| ThreadRequest::Info { id }), true),
        ThreadCommand::Fork { from, to } => {
            (vec![ThreadRequest::Open(ThreadOpening::Fork { from, to })], false)
        }
        ThreadCommand::Archive(ids) => (ids.each(|id| ThreadRequest::Archive { id }), false),
        ThreadCommand::Unarchive(ids) => (ids.each(|id| ThreadRequest::Unarchive { id }), false),
        ThreadCommand::Delete(ids) => (ids.each(|id| ThreadRequest::Delete { id }), false),
        ThreadCommand::Restore(ids) => {
            (ids.each(|id| ThreadRequest::Open(ThreadOpening::Restore { id })), false)
        }
        ThreadCommand::Prune { older_than, max_size, all: archived, dry_run } => {
            let older_than_ms = older_than.map(|age| age.as_millis() as f64);
            let max_size = max_size.map(|size| size as f64);
            let rules = RetentionRules { older_than_ms, max_size, archived, dry_run };
            (vec![ThreadRequest::Prune(rules)], false)
        }
    };
    // A dry run writes nothing, and works in a read-only directory.
    let threads = place.open(context, requests.iter().any(ThreadRequest::writes))?;
    for request in requests {
        let id = match &request {
            ThreadRequest::Delete { id } => id.clone(),
            _ => String::new(),
        };
        let served = request.serve(&threads, parse_time::now()).await.map_err(CommandError::from);
        let part = served.and_then(|served| print(context, served, is_long, &id));
        context.continue_after(part)?;
    }
    Ok(())
}

impl ThreadIdsArgs {
    /// Makes a request for each thread.
    fn each(self, request: fn(String) -> ThreadRequest) -> Vec<ThreadRequest> {
        self.ids.into_iter().map(request).collect()
    }
}

impl ThreadPlaceArgs {
    /// Opens the threads for reading, or for writing, too.
    fn open(&self, context: &mut CommandContext, writes: bool) -> Result<Threads> {
        let workspace = if writes { context.writable()? } else { context.readable()? };
        let root = context.path(&self.root)?.path;
        let threads = Threads::open(&workspace).acting_for(context.actor()).in_directory(root);
        Ok(threads.with_strategy(self.namespace.clone()))
    }
}

/// Parses a namespace.
fn parse_namespace(text: &str) -> Result<NamespaceStrategy, String> {
    NamespaceStrategy::parse(text).map_err(|error| error.to_string())
}

/// Prints the answer to a request. `deleted` is the id of the thread that it deleted.
fn print(
    context: &mut CommandContext,
    served: ThreadResponse<Rfc3339Time>,
    is_long: bool,
    deleted: &str,
) -> Result {
    match served {
        ThreadResponse::Threads(list) => print_list(context, &list.threads, is_long),
        ThreadResponse::Removed => {
            context.out.json_only(&json!({ "id": deleted, "deleted": true }))
        }
        served if context.out.json => context.out.json_line(&served),
        ThreadResponse::Thread(thread) if is_long => print_info(context, &thread),
        ThreadResponse::Thread(thread) => context.out.safe_line(&thread.path),
        ThreadResponse::Retention(report) => print_retention(context, &report),
        _ => Ok(()),
    }
}

fn print_list(
    context: &mut CommandContext,
    threads: &[ThreadJson<Rfc3339Time>],
    long: bool,
) -> Result {
    let cells = threads
        .iter()
        .map(|thread| [counted(thread.files, "file", "files"), human_size(thread.bytes)]);
    let cells: Vec<[String; 2]> = cells.collect();
    let width = |column: usize| cells.iter().map(|cells| cells[column].len()).max().unwrap_or(0);
    let (files_width, size_width) = (width(0), width(1));
    for (thread, [n_files, size]) in threads.iter().zip(&cells) {
        if context.out.json {
            context.out.json_line(&json::value(thread))?;
            continue;
        }
        let mut line = context.out.safe(&thread.id).into_owned();
        if long {
            let time = parse_time::short(thread.changed.0, parse_time::now());
            line = format!("{n_files:>files_width$}  {size:>size_width$}  {time}  {line}");
            if let Some(from) = &thread.forked_from {
                line += &format!("  (fork of {})", context.out.safe(from));
            }
            if thread.archived.is_some() {
                line += "  (archived)";
            }
        }
        context.out.line(&line)?;
    }
    Ok(())
}

fn print_info(context: &mut CommandContext, thread: &ThreadJson<Rfc3339Time>) -> Result {
    let mut rows = vec![
        ("Thread", thread.id.clone()),
        ("Path", thread.path.clone()),
        ("Created", parse_time::long(thread.created.0)),
        ("Changed", parse_time::long(thread.changed.0)),
    ];
    rows.extend(thread.archived.map(|at| ("Archived", parse_time::long(at.0))));
    rows.extend(thread.forked_from.clone().map(|from| ("Fork of", from)));
    rows.push(("Files", thread.files.to_string()));
    rows.push(("Directories", thread.directories.to_string()));
    rows.push(("Bytes", thread.bytes.to_string()));
    context.out.rows(11, &rows)
}

fn print_retention(
    context: &mut CommandContext,
    report: &RetentionReportJson<Rfc3339Time>,
) -> Result {
    for RemovedThreadJson { thread, reason } in &report.removed {
        let time = parse_time::short(thread.changed.0, parse_time::now());
        let size = human_size(thread.bytes);
        context
            .out
            .line(&format!("{reason:<4}  {size:>5}  {time}  {}", context.out.safe(&thread.id)))?;
    }
    let would = if report.dry_run { "would be deleted" } else { "deleted" };
    let n_removed = counted(report.removed.len() as u64, "thread", "threads");
    let kept = human_size(report.kept_bytes);
    context.remark(&format!("{n_removed} {would}, {} kept ({kept})", report.kept));
    Ok(())
}

async fn print_path(context: &mut CommandContext, place: &ThreadPlaceArgs, id: &str) -> Result {
    let directory = place.open(context, false)?.existing(id).await?.rooted().directory_path();
    let path = directory.ok_or_else(|| ThreadError::Missing(id.to_owned()))?;
    if context.out.json {
        return context.out.json_line(&json!({ "id": id, "path": path.as_str() }));
    }
    context.out.safe_line(path.as_str())
}
