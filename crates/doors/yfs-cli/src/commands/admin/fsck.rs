//! `yfs admin fsck`: checks the integrity of the workspace, and sets damage aside.

mod blobs;

use yfs::WorkspaceError;
use yfs_engine::id::FileId;
use yfs_store::CheckReport;

use self::blobs::DamagedBlobs;
use crate::{errors::EXIT_FAILED, prelude::*, progress::CommandProgress};

const HELP: &str = "\
Reads every record, snapshot and blob and verifies it, and lists the files whose content is not
here; on a clone it may still arrive.

A file with a damaged record is not read or edited, because what is left of it must not be taken for
the file. A workspace with damaged records is neither mirrored nor served, because what cannot be
read would count as deleted. Put a backup back, or decide:

--repair moves damaged records to the quarantine, so that their files can be used again, without
what the records contained. Then `yfs sync` and `yfs mirror` bring back what other machines and the
directory still have. A damaged blob is taken from the directory that contains the workspace, if a
file there still has its bytes, and otherwise requested by the next `yfs sync`. Copy the workspace
first.

Checkpoints, which are derived from the records, are verified as well. A damaged one is not used and
is made anew; --repair removes it.

If nothing is left of a text, it is still not read as an empty file: reading fails until another
machine or the directory brings the content back, or a command writes the file.

--accept leaves the records where they are, and their files unreadable, but lets the workspace be
mirrored and served. Files that had nothing left after --repair read as empty.

A damaged blob is found only by this command, and by whatever reads it: reading all blobs takes as
long as reading the disk. It makes no other file unreadable, so the workspace is mirrored and
served.

Records of versions before the check may have content in a list that it does not belong into, for
example text between the paragraphs of an editor. It is never read; --repair moves the records with
it to the quarantine, and keeps everything else that they contain.

The content of a file stays if the records that named the file are set aside. --recover makes
files of such contents in /lost+found, with their history.

Exit status: 1 if there is damage, also if it was repaired; 0 if all of it was accepted.

Examples:
  yfs admin fsck
  yfs admin fsck --repair
  yfs admin fsck --recover

JSON: one object for each problem and each missing content: {doc, path, what}; then {records,
snapshots, blobs, problems, missing, repaired, without_file, misplaced}.";

/// Check the integrity of the workspace
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct FsckArgs {
    /// Move damaged records to the quarantine
    #[arg(long, conflicts_with = "accept")]
    repair: bool,
    /// Mirror and serve the workspace although some files cannot be read
    #[arg(long)]
    accept: bool,
    /// Make files of contents that no file has, in /lost+found
    #[arg(long)]
    recover: bool,
}

/// Verifies everything that the workspace stores, and reports damage.
pub(crate) async fn run(args: FsckArgs, context: &mut CommandContext) -> Result {
    let is_decided = args.repair || args.accept || args.recover;
    let workspace = if is_decided { context.writable()? } else { context.readable()? };
    let bar = CommandProgress::new(&context.globals, "checking");
    let report = workspace.store().check_with_progress(&mut |done, total| bar.set(done, total));
    drop(bar);
    let report = report.map_err(WorkspaceError::from)?;
    let n_problems = report.problems.len();
    let blobs = DamagedBlobs::find(&workspace, &report)?;
    for problem in &report.problems {
        let id = problem.doc.as_ref().map(FileId::from);
        let path = id.as_ref().and_then(|id| path_of(&workspace, id));
        let mut paths: Vec<Option<String>> = path.into_iter().map(Some).collect();
        paths.extend(problem.blob.iter().flat_map(|hash| blobs.describe(hash)).map(Some));
        if paths.is_empty() {
            paths.push(None);
        }
        for path in paths {
            show_problem(context, id.as_ref(), path.as_deref(), &problem.description)?;
        }
    }
    let missing = workspace.maintenance().missing_contents()?;
    let n_missing = missing.len();
    let n_lost = missing.iter().filter(|missing| missing.is_lost).count();
    for missing in missing {
        let what = match missing.is_lost {
            true => format!("its content ({} bytes) was damaged and set aside", missing.size),
            false => format!("its content ({} bytes) is not here", missing.size),
        };
        show_problem(context, Some(&missing.id), Some(&missing.path), &what)?;
    }
    let n_repaired = if args.repair { repair(&workspace, context)? } else { 0 };
    if args.repair {
        blobs.mend(&workspace, context)?;
    }
    let n_misplaced = check_misplaced(&workspace, args.repair, context)?;
    let n_recoverable = show_recoverable(&workspace, args.recover, context)?;
    check_derived_maps(&workspace, args.repair, context)?;
    let n_unowned = workspace.maintenance().contents_without_files()?.len();
    let counts = [n_missing, n_repaired, n_unowned, n_recoverable, n_misplaced];
    show_summary(context, &report, counts)?;
    let n_accepted = if args.accept { accept(&workspace, context)? } else { 0 };
    let is_open = n_lost > 0 || n_recoverable > 0 || n_misplaced > 0;
    if n_problems > n_accepted || is_open && !args.accept {
        context.exit_with(EXIT_FAILED);
    }
    Ok(())
}

fn path_of(workspace: &Workspace, id: &FileId) -> Option<String> {
    if id == workspace.id() {
        return Some("the table of files".to_owned());
    }
    Some(workspace.nodes().path_of(id).ok()??.to_string())
}

fn show_problem(
    context: &mut CommandContext,
    id: Option<&FileId>,
    path: Option<&str>,
    what: &str,
) -> Result {
    if context.out.json {
        let doc = id.map(FileId::as_str);
        return context.out.json_line(&json!({ "doc": doc, "path": path, "what": what }));
    }
    let subject = path.or(id.map(FileId::as_str));
    let prefix = subject.map(|subject| format!("{subject}: ")).unwrap_or_default();
    context.out.safe_line(&format!("{prefix}{what}"))
}

/// Sets damaged records aside, and returns of how many documents.
fn repair(workspace: &Workspace, context: &mut CommandContext) -> Result<usize> {
    let repaired = workspace.maintenance().set_damage_aside()?;
    for document in &repaired {
        let path = document.path.as_deref().unwrap_or("the table of files");
        let path = context.out.safe(path).into_owned();
        let records = counted(document.n_records, "record", "records");
        context.remark(&format!("{path}: {records} moved to the quarantine"));
    }
    Ok(repaired.len())
}

/// Reports content that does not belong into its list, or sets it aside. Returns the number of
/// documents with such content.
fn check_misplaced(
    workspace: &Workspace,
    repair: bool,
    context: &mut CommandContext,
) -> Result<usize> {
    let maintenance = workspace.maintenance();
    let found = match repair {
        true => maintenance.set_misplaced_aside()?,
        false => maintenance.misplaced_contents()?,
    };
    for content in &found {
        let items = counted(content.n_items, "character or value", "characters or values");
        let then = if repair { "moved to the quarantine" } else { "not read" };
        let what = format!("{items} where they do not belong, {then}");
        show_problem(context, Some(&content.id), content.path.as_deref(), &what)?;
    }
    if !repair && !found.is_empty() {
        context.remark("`yfs admin fsck --repair` takes out what does not belong there");
    }
    Ok(found.len())
}

/// Reports the contents that lost their rows with damaged records, or makes files of them. Returns
/// how many are left.
fn show_recoverable(
    workspace: &Workspace,
    recover: bool,
    context: &mut CommandContext,
) -> Result<usize> {
    let maintenance = workspace.maintenance();
    let contents = match recover {
        true => maintenance.recover_lost_contents()?,
        false => maintenance.lost_contents()?,
    };
    for content in &contents {
        let what = match recover {
            true => format!("recovered, {} bytes", content.size),
            false => format!("no file has this content of {} bytes", content.size),
        };
        let path = content.path();
        let path = recover.then_some(path.as_str());
        show_problem(context, Some(&content.id), path, &what)?;
    }
    if !recover && !contents.is_empty() {
        context.remark("`yfs admin fsck --recover` makes files of contents that no file has");
    }
    Ok(if recover { 0 } else { contents.len() })
}

/// Reports damage of what is derived from the log, and removes it on request. Nothing is lost with
/// it, so it is no problem of the workspace.
fn check_derived_maps(workspace: &Workspace, repair: bool, context: &mut CommandContext) -> Result {
    let maintenance = workspace.maintenance();
    for name in maintenance.damaged_derived_maps()? {
        let then = if repair { "was removed" } else { "is not used" };
        context.remark(&format!("the checkpoint {name:?} is damaged and {then}: it is made anew"));
        if repair {
            maintenance.remove_derived_map(&name)?;
        }
    }
    Ok(())
}

/// Accepts all damage, and returns the number of problems.
fn accept(workspace: &Workspace, context: &mut CommandContext) -> Result<usize> {
    let maintenance = workspace.maintenance();
    let n_lost = maintenance.accept_lost_contents()? as u64;
    if n_lost > 0 {
        let files = counted(n_lost, "file", "files");
        context.remark(&format!("{files} whose content was set aside: read as empty from now on"));
    }
    let n_accepted = maintenance.accept_damage()?;
    let problems = counted(n_accepted as u64, "problem", "problems");
    context.remark(&format!("{problems} accepted"));
    Ok(n_accepted)
}

fn show_summary(
    context: &mut CommandContext,
    report: &CheckReport,
    [n_missing, n_repaired, n_unowned, n_listed, n_misplaced]: [usize; 5],
) -> Result {
    let CheckReport { n_records, n_snapshots, n_blobs, problems, .. } = report;
    let n_problems = problems.len();
    if context.out.json {
        return context.out.json_line(&json!({
            "records": n_records,
            "snapshots": n_snapshots,
            "blobs": n_blobs,
            "problems": n_problems,
            "missing": n_missing,
            "repaired": n_repaired,
            "without_file": n_unowned,
            "misplaced": n_misplaced,
        }));
    }
    let read = format!("{n_records} records, {n_snapshots} snapshots and {n_blobs} blobs");
    context.remark(&format!("{read} checked, {n_problems} problems"));
    if n_unowned > n_listed {
        let n_unowned = n_unowned - n_listed;
        let contents = counted(n_unowned as u64, "content belongs", "contents belong");
        context.remark(&format!(
            "{contents} to no file: deleted for good, or lost with damaged records of the table of \
             files, which `yfs sync` may bring back"
        ));
    }
    if n_repaired > 0 {
        context.remark("`yfs sync` and `yfs mirror` bring back what others still have");
    }
    Ok(())
}
