//! `yfs sync --dry-run`: what an exchange would bring to either side.

use std::collections::{BTreeMap, BTreeSet};

use yfs::WorkspaceError;
use yfs_engine::id::FileId;
use yfs_vfs::{FileSystemExt, WalkOptions};

use super::{SyncArgs, disk_changes, find_remote};
use crate::{commands::mirror, prelude::*, progress::CommandProgress, settings, workspace_key};

/// The name of the temporary copy.
const COPY: &str = "workspace.db";

/// Prints the files that would be received and sent.
pub(super) async fn run(args: &SyncArgs, context: &mut CommandContext) -> Result {
    let workspace = context.readable()?;
    let remote = find_remote(args, &workspace)?;
    let directory = tempfile::tempdir();
    let directory = directory.map_err(|error| CommandError::host(&std::env::temp_dir(), &error))?;
    let file = directory.path().join(COPY);
    let copied = workspace.store().backup(&file, &mut |_, _| ());
    copied.map_err(WorkspaceError::from)?;
    let copy = workspace_key::open_at(&file, settings::one_shot(context.actor()))?;
    let before = list(&copy).await?;
    let bar = CommandProgress::new(&context.globals, "asking");
    let previewed =
        remote.preview(&copy, |progress| bar.set(progress.n_received, progress.n_received)).await;
    drop(bar);
    let progress = previewed?;
    let after = list(&copy).await?;
    let main = workspace.id().as_str();
    // `yfs sync` imports them before it sends.
    let on_disk = match mirror::mirrored_directory(&context.file()?) {
        Some(directory) => disk_changes::list(&workspace, directory)?,
        None => BTreeSet::new(),
    };
    let preview = ExchangePreview {
        receive: received(&before, &after, &progress.changed),
        // A change of a content changes its row as well.
        send: progress
            .unsent
            .iter()
            .filter(|guid| *guid != main)
            .filter_map(|guid| after.get(&FileId::parse(guid).ok()?))
            .map(|(path, _)| path.to_string())
            .chain(on_disk.iter().cloned())
            .collect(),
        has_news: progress.n_new > 0,
        has_unsent: !progress.unsent.is_empty() || !on_disk.is_empty(),
    };
    copy.close()?;
    preview.print(context)
}

/// What an exchange would bring to either side.
struct ExchangePreview {
    receive: BTreeSet<String>,
    send: BTreeSet<String>,
    /// Whether anything is received, also what changes no file.
    has_news: bool,
    /// Whether anything is sent.
    has_unsent: bool,
}

/// The objects of a workspace: their paths, and the ids of the directories that they are in.
type Objects = BTreeMap<FileId, (VPath, Option<FileId>)>;

async fn list(workspace: &Workspace) -> Result<Objects> {
    let found = workspace.fs().walk(&VPath::root(), &WalkOptions::default()).await?;
    let ids: BTreeMap<VPath, FileId> =
        found.iter().map(|found| (found.path.clone(), found.entry.id.clone())).collect();
    let objects = found.into_iter().map(|found| {
        let parent = found.path.parent().and_then(|parent| ids.get(&parent).cloned());
        (found.entry.id, (found.path, parent))
    });
    Ok(objects.collect())
}

/// Lists the received changes: paths, renames as `from -> to`, and removals.
fn received(before: &Objects, after: &Objects, changed: &BTreeSet<FileId>) -> BTreeSet<String> {
    let ids: BTreeSet<&FileId> = before.keys().chain(after.keys()).collect();
    let describe = |id: &FileId| match (before.get(id), after.get(id)) {
        (Some((from, old)), Some((to, new))) => {
            let is_moved = old != new || from.file_name() != to.file_name();
            match is_moved {
                true => Some(format!("{from} -> {to}")),
                false => changed.contains(id).then(|| to.to_string()),
            }
        }
        (None, Some((to, _))) => Some(to.to_string()),
        (Some((from, _)), None) => Some(format!("{from} (removed)")),
        (None, None) => None,
    };
    ids.into_iter().filter_map(describe).collect()
}

impl ExchangePreview {
    fn print(&self, context: &mut CommandContext) -> Result {
        if context.out.json {
            return context.out.json_line(&json!({ "receive": self.receive, "send": self.send }));
        }
        let sides =
            [("receive", &self.receive, self.has_news), ("send", &self.send, self.has_unsent)];
        for (verb, paths, has_any) in sides {
            for path in paths {
                let path = context.out.safe(path).into_owned();
                context.out.line(&format!("{verb:<7}  {path}"))?;
            }
            if paths.is_empty() && has_any {
                context.out.line(&format!("{verb:<7}  changes of no present file"))?;
            }
        }
        if !self.has_news && !self.has_unsent {
            context.remark("both sides are equal");
        }
        Ok(())
    }
}
