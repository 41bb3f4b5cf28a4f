//! `yfs mirror`: keeps a directory of this machine and a workspace in step.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use tokio::{runtime::Handle, sync::broadcast::error::RecvError};
use yfs::{Workspace, WorkspaceOptions};
use yfs_mirror::{
    ChangeCounts, Mirror, MirrorError, MirrorNotice, MirrorOptions, MirrorReport, NoticeReason,
    TrustPolicy,
};

use crate::{
    commands::{init, serve::told_to_end},
    context::CommandContext,
    discover,
    errors::{CommandError, Result},
    format_text::counted,
};

const HELP: &str = "\
What is made, edited, renamed or deleted on either side is on the other within a moment; what both sides
change is merged, also what was changed while no mirror ran. When they first meet, nothing in DIR is
overwritten or deleted. What the mirror takes away stays in the trash (`yfs trash`) or in the versions of
its file (`yfs versions`).

.git and .yfs are never mirrored, nor what .gitignore and .yfsignore name. From elsewhere come no executable
bits and no files that tools obey unasked (.vscode, .envrc, .npmrc and their like), unless you --trust
everybody who can write to the workspace.

The workspace is the one in DIR/.yfs, which is made if it is missing, or the one that --workspace names.
Other commands work while it runs. Ctrl-C ends it.

Examples:
  yfs mirror ~/notes
  yfs mirror . --once                       meet once, and end
  yfs mirror build --workspace ~/notes      another folder for a workspace

Exit status: 0; with --once, 1 if something could not be brought over (what is left alone by rule is
told and is no failure).

JSON: while it runs lines of {path, why}; in the end {to_workspace, to_folder, n_matched, n_merged,
skipped: [{path, why}]}, where the first two are {created, written, moved, deleted, touched}.";

/// The subdirectory of the mirrored directory that contains the workspace.
const DIR: &str = ".yfs";

/// The name of the mirror's database, beside the workspace.
const MEMORY: &str = "mirror.db";

/// The arguments of `yfs mirror`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct MirrorArgs {
    /// The directory, which is created if it is missing
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Synchronize both sides once, and exit
    #[arg(long)]
    once: bool,
    /// Accept executable bits, and files that tools obey unasked, from all writers
    #[arg(long)]
    trust: bool,
}

/// Mirrors the directory.
pub(crate) async fn run(args: MirrorArgs, context: &mut CommandContext) -> Result {
    let options = options(args.trust);
    let workspace = open(&args.dir, args.once, context)?;
    let report = if args.once {
        Mirror::once(&workspace, &args.dir, options).map_err(anyhow::Error::from)?
    } else {
        follow(&workspace, &args.dir, options, context).await?
    };
    tell(&report, args.once, context)?;
    Ok(workspace.close()?)
}

/// Returns the options of a mirror.
pub(crate) fn options(trust: bool) -> MirrorOptions {
    let trust = if trust { TrustPolicy::AnyAuthor } else { TrustPolicy::Folder };
    MirrorOptions { trust, ..MirrorOptions::default() }
}

/// Returns the directory that contains a workspace, if it is a mirrored one.
pub(crate) fn mirrored(file: &Path) -> Option<&Path> {
    let own = file.parent().filter(|own| own.ends_with(DIR))?;
    own.join(MEMORY).is_file().then(|| own.parent())?
}

/// Synchronizes the directory and the workspace once, unless another process keeps them in step.
/// Prints what is left alone, and returns whether the workspace changed.
pub(crate) fn meet(
    workspace: &Workspace,
    folder: &Path,
    trust: bool,
    context: &mut CommandContext,
) -> Result<bool> {
    let report = match Mirror::once(workspace, folder, options(trust)) {
        Err(MirrorError::Busy(_)) => return Ok(false),
        met => met.map_err(anyhow::Error::from)?,
    };
    let told = report.told.iter().map(|notice| (&notice.path, &notice.why));
    for (path, why) in told.chain(&report.skipped) {
        context.remark(&format!("{}: {why}", path.display()));
    }
    Ok(report.to_workspace != ChangeCounts::default())
}

fn open(dir: &Path, once: bool, context: &mut CommandContext) -> Result<Workspace> {
    let actor = context.actor();
    let options = if once {
        WorkspaceOptions::one_shot(actor)
    } else {
        WorkspaceOptions { actor, ..WorkspaceOptions::default() }
    };
    if context.globals.workspace.is_some() {
        return context.open_at(&context.file()?, options);
    }
    let file = discover::file_below(dir);
    if file.is_file() { context.open_at(&file, options) } else { init::create(&file, options) }
}

/// Keeps both sides in step until the process is asked to end, and prints what is left alone.
async fn follow(
    workspace: &Workspace,
    dir: &Path,
    options: MirrorOptions,
    context: &mut CommandContext,
) -> Result<MirrorReport> {
    let mirror = Mirror::start(workspace, dir, options, &Handle::current());
    let mirror = mirror.map_err(anyhow::Error::from)?;
    let mut notices = mirror.notices();
    context.remark(&format!("mirroring {}", dir.display()));
    let mut ended = std::pin::pin!(told_to_end());
    let mut looks = tokio::time::interval(std::time::Duration::from_millis(500));
    loop {
        tokio::select! {
            () = &mut ended => break,
            _ = looks.tick() => if mirror.has_ended() { break },
            notice = notices.recv() => match notice {
                Ok(notice) => tell_notice(&notice, context)?,
                Err(RecvError::Lagged(_)) => (),
                Err(RecvError::Closed) => break,
            },
        }
    }
    Ok(mirror.stop().map_err(anyhow::Error::from)?)
}

/// Prints a notice for the owner of a directory.
pub(crate) fn tell_notice(
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

/// Prints what the mirror did.
fn tell(report: &MirrorReport, once: bool, context: &mut CommandContext) -> Result {
    if once && !context.out.json {
        for notice in &report.told {
            tell_notice(notice, context)?;
        }
    }
    for (path, why) in &report.skipped {
        let is_failure = matches!(
            why,
            NoticeReason::Failed(_) | NoticeReason::InTheWay | NoticeReason::Unreadable(_)
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
            "to_workspace": counts(&report.to_workspace),
            "to_directory": counts(&report.to_folder),
            "matched": report.n_matched,
            "merged": report.n_merged,
            "skipped": skipped,
        }));
    }
    let total = |it: &ChangeCounts| it.created + it.written + it.moved + it.deleted + it.touched;
    let (up, down) = (total(&report.to_workspace), total(&report.to_folder));
    let up = counted(up, "change", "changes");
    context.remark(&format!("{up} brought to the workspace, {down} to the folder"));
    Ok(())
}

fn counts(it: &ChangeCounts) -> Value {
    json!({
        "created": it.created,
        "written": it.written,
        "moved": it.moved,
        "deleted": it.deleted,
        "touched": it.touched,
    })
}
