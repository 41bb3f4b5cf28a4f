//! `yfs status`: what waits: on disk, for the server, for a decision.

use std::{collections::BTreeSet, path::Path};

use yfs::{DifferenceKind, DirectoryComparison, DirectoryDifference, ImportOptions};
use yfs_engine::id::FileId;
use yfs_mirror::{Mirror, NoticeReason, PendingDeletions, untrusted_files::is_risky};
use yfs_replica::client::RemoteServer;

use crate::{
    commands::{
        diff::own_directory,
        mirror,
        mirrored_sides::{ChangedSide, MirroredSides},
    },
    output::TextRole,
    prelude::*,
    settings,
};

const HELP: &str = "\
Prints whether the directory on disk differs from the workspace, what was not sent to the server
yet, and what needs a decision: conflicts, rejected updates, damage. Nothing is changed, and the
server is not asked.

Examples:
  yfs status
  yfs status --short                    only the paths that differ on disk

JSON: {file, directory, mirrored, mirror_running, pending_deletions: {deleted, files}, differences:
[{path, change, side}], withheld: [PATH], server, unsent: [PATH], conflicts, trashed, quarantined,
parked}. change is what the disk has beside the workspace: added, removed, changed or retyped. side
is disk or workspace, whichever changed since both were equal; null if that is not known. unsent is
null if it is not known, pending_deletions if no mass deletion waits.";

/// The most paths of a list, unless all are asked for.
const MAX_LISTED: usize = 20;

/// Print what differs on disk, what was not sent, and what needs a decision
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct StatusArgs {
    /// Print only the paths that differ on disk
    #[arg(short, long)]
    short: bool,
    /// List all paths, not only the first 20
    #[arg(short, long)]
    all: bool,
}

/// What the command found.
struct WorkspaceStatus<'a> {
    file: &'a Path,
    directory: Option<&'a Path>,
    /// Whether a mirror has synchronized the directory.
    is_mirrored: bool,
    is_mirror_running: bool,
    /// The mass deletion that the mirror does not make before it is confirmed.
    pending_deletions: Option<PendingDeletions>,
    comparison: DirectoryComparison,
    /// For each difference, the side that changed; empty if that is not known.
    sides: Vec<ChangedSide>,
    /// Files that are missing on disk because tools execute them, so that the mirror does not write
    /// them unless it trusts their authors.
    withheld: Vec<VPath>,
    server: Option<String>,
    /// The paths of files that were not sent; `None` if that is not known.
    unsent: Option<Vec<String>>,
    n_conflicts: usize,
    n_trashed: u64,
    n_quarantined: u64,
    n_parked: u64,
}

/// Prints the status.
pub(crate) async fn run(args: StatusArgs, context: &mut CommandContext) -> Result {
    let file = context.file()?;
    let workspace = context.readable()?;
    let status = collect(&workspace, &file)?;
    if context.out.json {
        let differences = status.comparison.differences.iter().enumerate().map(|(nth, found)| {
            json!({
                "path": found.path.as_str(),
                "change": found.kind.as_str(),
                "side": status.sides.get(nth).map(|side| side.as_str()),
            })
        });
        return context.out.json_line(&json!({
            "file": status.file.to_string_lossy(),
            "directory": status.directory.map(|directory| directory.to_string_lossy()),
            "mirrored": status.is_mirrored,
            "mirror_running": status.is_mirror_running,
            "pending_deletions": status.pending_deletions.map(|pending| json!({
                "deleted": pending.n_deleted,
                "files": pending.n_files,
            })),
            "differences": differences.collect::<Vec<_>>(),
            "withheld": status.withheld.iter().map(VPath::as_str).collect::<Vec<_>>(),
            "server": status.server,
            "unsent": status.unsent,
            "conflicts": status.n_conflicts,
            "trashed": status.n_trashed,
            "quarantined": status.n_quarantined,
            "parked": status.n_parked,
        }));
    }
    if args.short {
        let found = status.comparison.differences.iter();
        let lines = found.map(|found| (found.kind, &found.path));
        return print_differences(lines.collect(), "", usize::MAX, context);
    }
    print(&status, if args.all { usize::MAX } else { MAX_LISTED }, context)
}

fn collect<'a>(workspace: &Workspace, file: &'a Path) -> Result<WorkspaceStatus<'a>> {
    let directory = own_directory(file);
    let is_mirrored = mirror::mirrored_directory(file).is_some();
    let is_mirror_running = match directory.filter(|_| is_mirrored) {
        Some(directory) => {
            Mirror::is_running(workspace, directory).map_err(mirror::mirror_failure)?
        }
        None => false,
    };
    let pending_deletions = match directory.filter(|_| is_mirrored) {
        Some(directory) => Mirror::pending_deletions(directory).map_err(mirror::mirror_failure)?,
        None => None,
    };
    let comparison = match directory {
        Some(directory) => {
            let (max_file_len, ignores) = (settings::max_size(), settings::ignores());
            let options = ImportOptions { max_file_len, ignores, ..ImportOptions::default() };
            DirectoryComparison::new(workspace, directory, &options)?
        }
        None => DirectoryComparison::default(),
    };
    let (comparison, withheld) = without_withheld(comparison, is_mirrored);
    let memory = match directory.filter(|_| is_mirrored && !comparison.differences.is_empty()) {
        Some(directory) => MirroredSides::read(workspace, directory)?,
        None => None,
    };
    let sides = memory
        .iter()
        .flat_map(|memory| comparison.differences.iter().map(move |found| memory.side_of(found)));
    let sides = sides.collect();
    let remote = RemoteServer::of(workspace)?;
    let unsent = match &remote {
        Some(remote) => remote.unsent(workspace)?.map(|guids| paths_of(workspace, &guids)),
        None => None,
    };
    let stats = workspace.maintenance().stats()?;
    Ok(WorkspaceStatus {
        file,
        directory,
        is_mirrored,
        is_mirror_running,
        pending_deletions,
        comparison,
        sides,
        withheld,
        server: remote.map(|remote| remote.url().to_owned()),
        unsent,
        n_conflicts: workspace.conflicts()?.len(),
        n_trashed: stats.n_trashed,
        n_quarantined: stats.store.n_quarantined,
        n_parked: stats.n_parked,
    })
}

/// Takes the files out of a comparison that are missing because the mirror does not write them.
fn without_withheld(
    mut comparison: DirectoryComparison,
    is_mirrored: bool,
) -> (DirectoryComparison, Vec<VPath>) {
    let is_withheld = |found: &DirectoryDifference| {
        is_mirrored && found.kind == DifferenceKind::Removed && is_risky(found.path.components())
    };
    let (withheld, rest): (Vec<_>, Vec<_>) =
        comparison.differences.into_iter().partition(is_withheld);
    comparison.differences = rest;
    (comparison, withheld.into_iter().map(|found| found.path).collect())
}

/// Returns the paths of documents; of the main document, `/`, unless files changed as well.
fn paths_of(workspace: &Workspace, guids: &BTreeSet<String>) -> Vec<String> {
    let main = workspace.id().as_str();
    // A change of a content changes its row as well.
    let listed = guids.iter().filter(|guid| *guid != main || guids.len() == 1);
    let path_of = |guid: &String| match FileId::parse(guid) {
        Ok(id) if guid != main => workspace.nodes().path_of(&id).ok().flatten(),
        _ => Some(VPath::root()),
    };
    listed.filter_map(path_of).map(|path| path.to_string()).collect()
}

fn print(status: &WorkspaceStatus<'_>, max_listed: usize, context: &mut CommandContext) -> Result {
    let file = status.file.display().to_string();
    context.out.line(&format!("Workspace: {file}"))?;
    if let Some(directory) = status.directory {
        let mirror = match (status.is_mirror_running, status.is_mirrored) {
            (true, _) => "a mirror is running",
            (false, true) => "no mirror is running",
            (false, false) => "not mirrored",
        };
        context.out.line(&format!("Directory: {} ({mirror})", directory.display()))?;
    }
    if let Some(server) = &status.server {
        context.out.line(&format!("Server:    {server}"))?;
    }
    if let Some(PendingDeletions { n_deleted, n_files }) = status.pending_deletions {
        let why = NoticeReason::MassDeletion { n_deleted, n_files };
        context.out.line(&format!("\nMirroring waits: {why}"))?;
    }
    print_sides(status, max_listed, context)?;
    if !status.withheld.is_empty() {
        let files = counted(status.withheld.len() as u64, "file", "files");
        let hint = "tools execute them; `yfs mirror --trust` writes them";
        context.out.line(&format!("\n{files} not on disk ({hint}):"))?;
        for path in status.withheld.iter().take(max_listed) {
            let path = context.out.safe(path.as_str()).into_owned();
            context.out.line(&format!("  {path}"))?;
        }
        print_rest(status.withheld.len(), max_listed, "  ", context)?;
    }
    print_unsent(status, max_listed, context)?;
    let counts = [
        (status.n_conflicts as u64, "conflict", "conflicts", "`yfs conflicts` lists them"),
        (status.n_quarantined, "rejected update", "rejected updates", "`yfs admin quarantine ls`"),
        (status.n_parked, "update waits", "updates wait", "for others; `yfs admin parked ls`"),
    ];
    for (count, one, many, hint) in counts.into_iter().filter(|(count, ..)| *count > 0) {
        context.out.line(&format!("\n{} ({hint})", counted(count, one, many)))?;
    }
    for skipped in &status.comparison.skipped {
        context.remark(&format!("{}: not compared: {}", skipped.path, skipped.why));
    }
    let is_clean = status.comparison.differences.is_empty()
        && status.unsent.as_ref().is_none_or(Vec::is_empty);
    if is_clean && status.n_conflicts == 0 && status.directory.is_some() {
        context.out.line("\nThe directory and the workspace are equal")?;
    }
    Ok(())
}

/// Prints what differs, for each side that changed.
fn print_sides(
    status: &WorkspaceStatus<'_>,
    max_listed: usize,
    context: &mut CommandContext,
) -> Result {
    let found = &status.comparison.differences;
    let hint = "`yfs diff` shows how; a mirror makes both sides equal";
    if status.sides.is_empty() && !found.is_empty() {
        let differ = counted(found.len() as u64, "file differs", "files differ");
        context.out.line(&format!("\n{differ} on disk ({hint}):"))?;
        let lines = found.iter().map(|found| (found.kind, &found.path));
        return print_differences(lines.collect(), "  ", max_listed, context);
    }
    for side in [ChangedSide::Disk, ChangedSide::Workspace] {
        let of_side = found.iter().zip(&status.sides).filter(|(_, of)| **of == side);
        let lines: Vec<ListedDifference<'_>> = of_side
            .map(|(found, _)| {
                // The workspace has what the disk lacks.
                let kind = match (side, found.kind) {
                    (ChangedSide::Workspace, DifferenceKind::Added) => DifferenceKind::Removed,
                    (ChangedSide::Workspace, DifferenceKind::Removed) => DifferenceKind::Added,
                    (_, kind) => kind,
                };
                (kind, &found.path)
            })
            .collect();
        if lines.is_empty() {
            continue;
        }
        let changed = counted(lines.len() as u64, "file changed", "files changed");
        let place = match side {
            ChangedSide::Disk => "on disk",
            ChangedSide::Workspace => "in the workspace",
        };
        context.out.line(&format!("\n{changed} {place} ({hint}):"))?;
        print_differences(lines, "  ", max_listed, context)?;
    }
    Ok(())
}

/// The kind of a difference, and the path.
type ListedDifference<'a> = (DifferenceKind, &'a VPath);

fn print_differences(
    listed: Vec<ListedDifference<'_>>,
    indent: &str,
    max_listed: usize,
    context: &mut CommandContext,
) -> Result {
    for (kind, path) in listed.iter().take(max_listed) {
        let role = match kind {
            DifferenceKind::Added => TextRole::Added,
            DifferenceKind::Removed => TextRole::Removed,
            _ => TextRole::Separator,
        };
        let word = context.out.painted(role, &format!("{:<7}", kind.as_str()));
        let path = context.out.safe(path.as_str()).into_owned();
        context.out.line(&format!("{indent}{word}  {path}"))?;
    }
    print_rest(listed.len(), max_listed, indent, context)
}

fn print_unsent(
    status: &WorkspaceStatus<'_>,
    max_listed: usize,
    context: &mut CommandContext,
) -> Result {
    let Some(unsent) = status.unsent.as_ref().filter(|unsent| !unsent.is_empty()) else {
        return Ok(());
    };
    let changed = counted(unsent.len() as u64, "file", "files");
    context.out.line(&format!("\n{changed} changed since the last `yfs sync`:"))?;
    for path in unsent.iter().take(max_listed) {
        let path = context.out.safe(path).into_owned();
        context.out.line(&format!("  {path}"))?;
    }
    print_rest(unsent.len(), max_listed, "  ", context)
}

fn print_rest(n: usize, max_listed: usize, indent: &str, context: &mut CommandContext) -> Result {
    match n.saturating_sub(max_listed) {
        0 => Ok(()),
        rest => context.out.line(&format!("{indent}and {rest} more (--all lists them)")),
    }
}
