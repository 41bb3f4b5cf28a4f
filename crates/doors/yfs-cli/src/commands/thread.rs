//! `yfs thread`: the threads of agents, and their files.

mod files;

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use yfs_engine::path::VPath;
use yfs_threads::{NamespaceStrategy, RetentionPolicy, ThreadError, ThreadInfo, Threads};
use yfs_wire::{ArchivedThreadJson, RetentionReportJson, Rfc3339Time, ThreadJson, ThreadStatsJson};

use self::files::ThreadFileCommand;
use crate::{
    context::CommandContext,
    errors::{CommandError, Result},
    format_text::{counted, human_size, parse_size},
    json,
    parse_time::{self, parse_duration},
};

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
    Show {
        /// The threads
        #[arg(value_name = "THREAD", required = true)]
        ids: Vec<String>,
    },
    /// Print the directory of a thread in the workspace
    Path {
        /// The thread
        #[arg(value_name = "THREAD")]
        id: String,
    },
    /// Count the files and directories of a thread, and the bytes of the files
    Stats {
        /// The thread
        #[arg(value_name = "THREAD")]
        id: String,
    },
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
    Archive {
        /// The threads
        #[arg(value_name = "THREAD", required = true)]
        ids: Vec<String>,
    },
    /// Make archived threads writable again
    Unarchive {
        /// The threads
        #[arg(value_name = "THREAD", required = true)]
        ids: Vec<String>,
    },
    /// Move threads to the trash, with their files
    Delete {
        /// The threads
        #[arg(value_name = "THREAD", required = true)]
        ids: Vec<String>,
    },
    /// Restore threads from the trash: of each id the one deleted last
    Restore {
        /// The threads
        #[arg(value_name = "THREAD", required = true)]
        ids: Vec<String>,
    },
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

/// Runs `yfs thread`.
pub(crate) async fn run(args: ThreadArgs, context: &mut CommandContext) -> Result {
    let place = args.place;
    match args.command {
        ThreadCommand::List { long, all } => list(context, &place, long, all).await,
        ThreadCommand::New { ids, if_missing } => create(context, &place, &ids, if_missing).await,
        ThreadCommand::Show { ids } => show(context, &place, &ids).await,
        ThreadCommand::Path { id } => print_path(context, &place, &id).await,
        ThreadCommand::Stats { id } => print_stats(context, &place, &id).await,
        ThreadCommand::Fork { from, to } => {
            let threads = place.writable(context)?;
            threads.fork(&from, &to).await?;
            print_created(context, &threads.info(&to).await?)
        }
        ThreadCommand::Archive { ids } => archive(context, &place, &ids, true).await,
        ThreadCommand::Unarchive { ids } => archive(context, &place, &ids, false).await,
        ThreadCommand::Delete { ids } => delete(context, &place, &ids).await,
        ThreadCommand::Restore { ids } => restore(context, &place, &ids).await,
        ThreadCommand::Prune { older_than, max_size, all, dry_run } => {
            let policy = RetentionPolicy {
                max_age: older_than,
                max_bytes: max_size,
                archived: all,
                dry_run,
            };
            prune(context, &place, &policy).await
        }
        ThreadCommand::File(command) => files::run(command, &place, context).await,
    }
}

impl ThreadPlaceArgs {
    /// Opens the threads for reading.
    fn readable(&self, context: &mut CommandContext) -> Result<Threads> {
        let workspace = context.readable()?;
        self.threads(context, Threads::open(&workspace))
    }

    /// Opens the threads for reading and writing.
    fn writable(&self, context: &mut CommandContext) -> Result<Threads> {
        let workspace = context.writable()?;
        self.threads(context, Threads::open(&workspace))
    }

    fn threads(&self, context: &CommandContext, threads: Threads) -> Result<Threads> {
        let root = context.path(&self.root)?.path;
        let threads = threads.acting_for(context.actor()).in_directory(root);
        Ok(threads.with_strategy(self.namespace.clone()))
    }
}

/// Parses a namespace.
fn parse_namespace(text: &str) -> Result<NamespaceStrategy, String> {
    NamespaceStrategy::parse(text).map_err(|error| error.to_string())
}

async fn list(
    context: &mut CommandContext,
    place: &ThreadPlaceArgs,
    long: bool,
    all: bool,
) -> Result {
    let infos = place.readable(context)?.list(all).await?;
    let cells = infos.iter().map(|info| {
        let n_files = counted(info.totals.n_files, "file", "files");
        [n_files, human_size(info.totals.n_bytes)]
    });
    let cells: Vec<[String; 2]> = cells.collect();
    let width = |column: usize| cells.iter().map(|cells| cells[column].len()).max().unwrap_or(0);
    let (files_width, size_width) = (width(0), width(1));
    for (info, [n_files, size]) in infos.iter().zip(&cells) {
        if context.out.json {
            context.out.json_line(&describe(info))?;
            continue;
        }
        let mut line = context.out.safe(&info.id).into_owned();
        if long {
            let time = parse_time::short(info.changed, parse_time::now());
            line = format!("{n_files:>files_width$}  {size:>size_width$}  {time}  {line}");
            if let Some(from) = &info.forked_from {
                line += &format!("  (fork of {})", context.out.safe(from));
            }
            if info.archived.is_some() {
                line += "  (archived)";
            }
        }
        context.out.line(&line)?;
    }
    Ok(())
}

async fn create(
    context: &mut CommandContext,
    place: &ThreadPlaceArgs,
    ids: &[String],
    if_missing: bool,
) -> Result {
    let threads = place.writable(context)?;
    for id in ids {
        let created = match threads.create(id).await {
            Err(ThreadError::Exists(_)) if if_missing => Ok(()),
            created => created.map(drop),
        };
        let info = match created {
            Ok(()) => threads.info(id).await,
            Err(error) => Err(error),
        };
        let part = info.map_err(CommandError::from);
        let part = part.and_then(|info| print_created(context, &info));
        context.continue_after(part)?;
    }
    Ok(())
}

async fn show(context: &mut CommandContext, place: &ThreadPlaceArgs, ids: &[String]) -> Result {
    let threads = place.readable(context)?;
    for id in ids {
        let info = threads.info(id).await.map_err(CommandError::from);
        let part = info.and_then(|info| print_info(context, &info));
        context.continue_after(part)?;
    }
    Ok(())
}

fn print_info(context: &mut CommandContext, info: &ThreadInfo) -> Result {
    if context.out.json {
        return context.out.json_line(&describe(info));
    }
    let mut rows = vec![
        ("Thread", info.id.clone()),
        ("Path", info.path.to_string()),
        ("Created", parse_time::long(info.created)),
        ("Changed", parse_time::long(info.changed)),
    ];
    rows.extend(info.archived.map(|at| ("Archived", parse_time::long(at))));
    rows.extend(info.forked_from.clone().map(|from| ("Fork of", from)));
    rows.push(("Files", info.totals.n_files.to_string()));
    rows.push(("Directories", info.totals.n_directories.to_string()));
    rows.push(("Bytes", info.totals.n_bytes.to_string()));
    print_rows(context, &rows)
}

async fn print_path(context: &mut CommandContext, place: &ThreadPlaceArgs, id: &str) -> Result {
    let threads = place.readable(context)?;
    let directory = threads.existing(id).await?.rooted().directory_path();
    let path = directory.ok_or_else(|| ThreadError::Missing(id.to_owned()))?;
    if context.out.json {
        return context.out.json_line(&json!({ "id": id, "path": path.as_str() }));
    }
    print_directory(context, &path)
}

async fn print_stats(context: &mut CommandContext, place: &ThreadPlaceArgs, id: &str) -> Result {
    let thread = place.readable(context)?.existing(id).await?;
    let stats = thread.files().file_stats().await?;
    if context.out.json {
        return context.out.json_line(&json::value(&ThreadStatsJson::new(id, &stats)));
    }
    let rows = [
        ("Files", stats.file_count.to_string()),
        ("Directories", stats.directory_count.to_string()),
        ("Bytes", stats.total_size.to_string()),
    ];
    print_rows(context, &rows)
}

async fn archive(
    context: &mut CommandContext,
    place: &ThreadPlaceArgs,
    ids: &[String],
    archived: bool,
) -> Result {
    let threads = place.writable(context)?;
    for id in ids {
        let at = archived.then(parse_time::now);
        let part = threads.set_archived(id, at).await.map_err(CommandError::from);
        let part = part.and_then(|at| {
            let archived = at.map(Rfc3339Time::from);
            let described = ArchivedThreadJson { id: id.clone(), archived };
            print_json_only(context, &json::value(&described))
        });
        context.continue_after(part)?;
    }
    Ok(())
}

async fn delete(context: &mut CommandContext, place: &ThreadPlaceArgs, ids: &[String]) -> Result {
    let threads = place.writable(context)?;
    for id in ids {
        let part = threads.delete(id).await.map_err(CommandError::from);
        let deleted = json!({ "id": id, "deleted": true });
        let part = part.and_then(|()| print_json_only(context, &deleted));
        context.continue_after(part)?;
    }
    Ok(())
}

async fn restore(context: &mut CommandContext, place: &ThreadPlaceArgs, ids: &[String]) -> Result {
    let threads = place.writable(context)?;
    for id in ids {
        let info = match threads.restore(id).await {
            Ok(_) => threads.info(id).await,
            Err(error) => Err(error),
        };
        let part = info.map_err(CommandError::from);
        let part = part.and_then(|info| print_created(context, &info));
        context.continue_after(part)?;
    }
    Ok(())
}

async fn prune(
    context: &mut CommandContext,
    place: &ThreadPlaceArgs,
    policy: &RetentionPolicy,
) -> Result {
    // A dry run writes nothing, and works in a read-only directory.
    let threads = match policy.dry_run {
        true => place.readable(context)?,
        false => place.writable(context)?,
    };
    let report = threads.prune(policy, parse_time::now()).await?;
    if context.out.json {
        let described = RetentionReportJson::<Rfc3339Time>::new(&report, policy.dry_run);
        return context.out.json_line(&json::value(&described));
    }
    for thread in &report.removed {
        let time = parse_time::short(thread.info.changed, parse_time::now());
        let reason = thread.reason.name();
        let id = context.out.safe(&thread.info.id).into_owned();
        let size = human_size(thread.info.totals.n_bytes);
        context.out.line(&format!("{reason:<4}  {size:>5}  {time}  {id}"))?;
    }
    let would = if policy.dry_run { "would be deleted" } else { "deleted" };
    let n_removed = counted(report.removed.len() as u64, "thread", "threads");
    let kept = human_size(report.kept_bytes);
    context.remark(&format!("{n_removed} {would}, {} kept ({kept})", report.n_kept));
    Ok(())
}

/// Prints a thread that a command has made: its directory, or its description as JSON.
fn print_created(context: &mut CommandContext, info: &ThreadInfo) -> Result {
    match context.out.json {
        true => context.out.json_line(&describe(info)),
        false => print_directory(context, &info.path),
    }
}

fn print_directory(context: &mut CommandContext, path: &VPath) -> Result {
    let path = context.out.safe(path.as_str()).into_owned();
    context.out.line(&path)
}

fn print_json_only(context: &mut CommandContext, value: &Value) -> Result {
    if context.out.json { context.out.json_line(value) } else { Ok(()) }
}

/// Prints names and values, one pair per line.
fn print_rows(context: &mut CommandContext, rows: &[(&str, String)]) -> Result {
    for (name, value) in rows {
        let line = format!("{name:>11}: {}", context.out.safe(value));
        context.out.line(&line)?;
    }
    Ok(())
}

fn describe(info: &ThreadInfo) -> Value {
    json::value(&ThreadJson::<Rfc3339Time>::from(info))
}
