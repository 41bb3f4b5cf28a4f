//! `yfs mirror`: synchronizes a directory of this machine with a workspace.

use std::path::{Path, PathBuf};

use tokio::{runtime::Handle, sync::broadcast::error::RecvError};
use yfs::{WorkspaceError, WorkspaceOptions, clock::new_step};
use yfs_mirror::{
    ChangeCounts, Mirror, MirrorError, MirrorNotice, MirrorOptions, MirrorReport, NoticeReason,
    TrustPolicy,
};

pub(crate) use crate::discover::mirrored_directory;
use crate::{
    commands::{clone, init},
    discover,
    errors::DAMAGE_HINT,
    prelude::*,
    settings,
    stop_signal::wait_for_signal,
};

const HELP: &str = "\
A change on either side is applied to the other within a moment. Concurrent changes are merged,
also changes made while no mirror was running. The first synchronization overwrites and deletes
nothing in DIR: if a file has other content than in the workspace, that of DIR becomes the
present one. In a clone it gets a number, and both stay. Content that the mirror removes stays
in the trash (`yfs trash`) or in the versions of its file (`yfs versions`).

A file that an editor renames to a backup (f~, f.bak) and creates again within 2 s stays the
same file. If it is not created again, the mirror applies the rename then.

If the workspace no longer has more than half of the files in DIR, and more than 10, the mirror
deletes none of them. With --once it fails; otherwise it prints a notice, and writes nothing to DIR
until the files are restored or you confirm with `yfs mirror DIR --once --confirm`, also while
another process mirrors DIR.

If an older copy of the workspace was put back, both sides are merged as at the first
synchronization: nothing in DIR is overwritten or deleted.

.git, .yfs and paths that .gitignore or .yfsignore exclude are not mirrored, nor are files that
editors leave behind (f~, .#f, #f#, .f.swp, .~lock.f#, ~$f, .DS_Store, Thumbs.db, 4913 and
similar), unless a line of these files (`!*~`) includes them or the workspace has them. If other
writers change the rules so that they include files of DIR, these files are reported and not
mirrored, until you pass --accept-rules or change the rules in DIR.

Executable bits, and files that tools and agents execute or load automatically (.vscode, .envrc,
.npmrc, AGENTS.md and similar), are not written to DIR, unless you pass --trust; do so only if you
trust all writers of the workspace.

A file that is larger than --max-size is reported and not mirrored. If a mirrored file grows over
it, the workspace keeps the earlier content, and the file on disk stays as it is until the limit is
raised. Text over 8 MiB (see yfs config max-text), files with NUL bytes and binary formats are
versioned as a whole and not merged.

The workspace is DIR/.yfs, which is created if it is missing, or the one that --workspace names.
`git clean -x` deletes .yfs; `git clean -x -e .yfs` does not.
Other commands can use the workspace meanwhile. Ctrl-C stops the mirror.

Examples:
  yfs mirror ~/notes
  yfs mirror . --once                       synchronize once, and exit
  yfs mirror . --once --accept-rules        mirror what changed rules of other writers include
  yfs mirror build --workspace ~/notes      mirror a workspace to another directory

Exit status: 0; 1 if the mirror stopped because of an error, and with --once if a path could not be
synchronized. Paths that a rule excludes are
reported, and are not failures.

JSON: while it runs, lines of {path, why}; at the end {to_workspace, to_directory, matched, merged,
skipped: [{path, why}]}, where the first two are {created, written, moved, deleted, touched}.";

/// Synchronize a directory of this machine with a workspace, in both directions
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct MirrorArgs {
    /// The directory, which is created if it is missing
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Synchronize both sides once, and exit
    #[arg(long)]
    once: bool,
    /// Delete files in DIR even if they are more than half of all
    #[arg(long)]
    confirm: bool,
    /// Mirror also what is included by rules (.gitignore, .yfsignore) that other writers changed
    #[arg(long)]
    accept_rules: bool,
    #[command(flatten)]
    policy: MirrorPolicyArgs,
}

/// The options of all commands that mirror a directory.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct MirrorPolicyArgs {
    /// Accept executable bits, and files that tools execute or load automatically
    #[arg(long)]
    pub(crate) trust: bool,
    /// Do not mirror files larger than SIZE [default: 256M, or the setting max-size]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, env = "YFS_MAX_SIZE")]
    #[arg(hide_env_values = true)]
    max_size: Option<u64>,
}

impl MirrorPolicyArgs {
    /// Returns the size above which files are not mirrored.
    pub(crate) fn max_size(self) -> u64 {
        self.max_size.unwrap_or_else(settings::max_size)
    }
}

/// The policy of a mirror without options.
pub(crate) const DEFAULT_POLICY: MirrorPolicyArgs =
    MirrorPolicyArgs { trust: false, max_size: None };

/// Mirrors the directory.
pub(crate) async fn run(args: MirrorArgs, context: &mut CommandContext) -> Result {
    let (confirm_deletions, accept_rules) = (args.confirm, args.accept_rules);
    let workspace = open(&args.dir, args.once, context)?;
    let options = options(args.policy, &workspace)?;
    let options = MirrorOptions { confirm_deletions, accept_rules, ..options };
    let result = if args.once {
        Mirror::once(&workspace, &args.dir, options).map_err(mirror_failure)
    } else {
        run_mirror(&workspace, &args.dir, options, context).await
    };
    if result.as_ref().is_err_and(is_busy) {
        let is_confirmed = args.confirm && confirm(&args.dir, context)?;
        let is_accepted = args.accept_rules && accept_changed_rules(&args.dir, context)?;
        if is_confirmed || is_accepted {
            return Ok(workspace.close()?);
        }
    }
    let report = result?;
    print_report(&report, args.once, context)?;
    Ok(workspace.close()?)
}

fn is_busy(error: &CommandError) -> bool {
    match error {
        CommandError::Other(cause) => {
            matches!(cause.downcast_ref(), Some(MirrorError::Busy(_)))
        }
        _ => false,
    }
}

/// Confirms the mass deletion that another process, which mirrors the directory, did not make.
/// Returns whether there is one.
fn confirm(dir: &Path, context: &mut CommandContext) -> Result<bool> {
    let Some(pending) = Mirror::pending_deletions(dir).map_err(mirror_failure)? else {
        return Ok(false);
    };
    Mirror::confirm_deletions(dir).map_err(mirror_failure)?;
    context.remark(&format!(
        "confirmed: the process that mirrors {} deletes {} of the {} files",
        dir.display(),
        pending.n_deleted,
        pending.n_files
    ));
    Ok(true)
}

/// Accepts the rules of other writers that wait, for the process that mirrors the directory.
/// Returns whether any wait.
fn accept_changed_rules(dir: &Path, context: &mut CommandContext) -> Result<bool> {
    let is_accepted = Mirror::accept_rules(dir).map_err(mirror_failure)?;
    if is_accepted {
        let dir = dir.display();
        context.remark(&format!("accepted: the process that mirrors {dir} applies the rules"));
    }
    Ok(is_accepted)
}

/// Returns the options of a mirror of a workspace.
pub(crate) fn options(policy: MirrorPolicyArgs, workspace: &Workspace) -> Result<MirrorOptions> {
    let trust = if policy.trust { TrustPolicy::AnyAuthor } else { TrustPolicy::Directory };
    let (max_file_len, ignores) = (policy.max_size(), settings::ignores());
    // The text of the directory of a clone does not replace that of the others.
    let keep_both = clone::is_clone(workspace)?;
    let owner = workspace.maintenance().options().actor.name.to_string();
    let options = MirrorOptions::default();
    Ok(MirrorOptions { trust, max_file_len, ignores, keep_both, owner: Some(owner), ..options })
}

/// Converts the error of a mirror, and adds a hint if the workspace is damaged.
pub(crate) fn mirror_failure(error: MirrorError) -> CommandError {
    match error {
        MirrorError::Workspace(error @ WorkspaceError::DamagedLog { .. }) => {
            CommandError::Hinted(error, DAMAGE_HINT)
        }
        error => CommandError::Other(error.into()),
    }
}

/// Fails if the workspace is damaged, and no person accepted that.
pub(crate) fn check_damage(workspace: &Workspace) -> Result {
    let checked = workspace.maintenance().check_damage();
    checked.map_err(|error| mirror_failure(MirrorError::Workspace(error)))
}

/// Synchronizes the directory and the workspace once, unless another process mirrors them. Prints
/// the skipped paths, and returns whether the workspace changed. A file that grew over the limit is
/// a failure.
pub(crate) fn synchronize_once(
    workspace: &Workspace,
    directory: &Path,
    policy: MirrorPolicyArgs,
    context: &mut CommandContext,
) -> Result<bool> {
    let report = match Mirror::once(workspace, directory, options(policy, workspace)?) {
        Err(MirrorError::Busy(_)) => return Ok(false),
        report => report.map_err(mirror_failure)?,
    };
    let notices = report.notices.iter().map(|notice| (&notice.path, &notice.why));
    for (path, why) in notices.chain(&report.skipped) {
        let message = format!("{}: {why}", path.display());
        match why {
            NoticeReason::Outgrown => context.fail(&CommandError::other(message)),
            _ => context.remark(&message),
        }
    }
    Ok(report.to_workspace != ChangeCounts::default())
}

fn open(dir: &Path, once: bool, context: &mut CommandContext) -> Result<Workspace> {
    let actor = context.actor();
    let options = match once {
        true => WorkspaceOptions { step: Some(new_step()), ..settings::one_shot(actor) },
        false => settings::following(actor),
    };
    if context.globals.workspace.is_some() {
        return context.open_at(&context.file()?, options);
    }
    let file = discover::file_below(dir);
    if file.is_file() {
        context.open_at(&file, options)
    } else {
        init::create(&file, options, false)
    }
}

/// Mirrors until the process receives a signal to stop, and prints notices.
async fn run_mirror(
    workspace: &Workspace,
    dir: &Path,
    options: MirrorOptions,
    context: &mut CommandContext,
) -> Result<MirrorReport> {
    let mirror = Mirror::start(workspace, dir, options, &Handle::current());
    let mirror = mirror.map_err(mirror_failure)?;
    let mut notices = mirror.notices();
    context.remark(&format!("mirroring {}", dir.display()));
    let mut stopped = std::pin::pin!(wait_for_signal());
    let mut checks = tokio::time::interval(std::time::Duration::from_millis(500));
    loop {
        tokio::select! {
            () = &mut stopped => break,
            _ = checks.tick() => if mirror.has_ended() { break },
            notice = notices.recv() => match notice {
                Ok(notice) => print_notice(&notice, context)?,
                Err(RecvError::Lagged(_)) => (),
                Err(RecvError::Closed) => break,
            },
        }
    }
    Ok(mirror.stop()?)
}

/// Prints a notice about a path of the directory.
pub(crate) fn print_notice(
    MirrorNotice { path, why, .. }: &MirrorNotice,
    context: &mut CommandContext,
) -> Result {
    if context.out.json {
        context
            .out
            .json_line(&json!({ "path": path.to_string_lossy(), "why": why.to_string() }))?;
        return context.out.flush();
    }
    context.remark(&format!("{}: {why}", path.display()));
    Ok(())
}

/// Prints the notices, the failures and the counts of a mirror that ended.
fn print_report(report: &MirrorReport, once: bool, context: &mut CommandContext) -> Result {
    if once && !context.out.json {
        for notice in &report.notices {
            print_notice(notice, context)?;
        }
    }
    for (path, why) in &report.skipped {
        let is_failure = matches!(
            why,
            NoticeReason::Failed(_)
                | NoticeReason::InTheWay
                | NoticeReason::Outgrown
                | NoticeReason::Unreadable(_)
        );
        if once && is_failure {
            context.fail(&CommandError::other(format!("{}: {why}", path.display())));
        } else if once && !context.out.json {
            context.remark(&format!("{}: {why}", path.display()));
        }
    }
    if context.out.json {
        let skipped: Vec<Value> = report
            .skipped
            .iter()
            .map(|(path, why)| json!({ "path": path.to_string_lossy(), "why": why.to_string() }))
            .collect();
        return context.out.json_line(&json!({
            "to_workspace": counts_json(&report.to_workspace),
            "to_directory": counts_json(&report.to_directory),
            "matched": report.n_matched,
            "merged": report.n_merged,
            "skipped": skipped,
        }));
    }
    let total = |counts: &ChangeCounts| {
        counts.created + counts.written + counts.moved + counts.deleted + counts.touched
    };
    let to_workspace = counted(total(&report.to_workspace), "change", "changes");
    let to_directory = total(&report.to_directory);
    context.remark(&format!(
        "{to_workspace} applied to the workspace, {to_directory} to the directory"
    ));
    Ok(())
}

fn counts_json(counts: &ChangeCounts) -> Value {
    json!({
        "created": counts.created,
        "written": counts.written,
        "moved": counts.moved,
        "deleted": counts.deleted,
        "touched": counts.touched,
    })
}
