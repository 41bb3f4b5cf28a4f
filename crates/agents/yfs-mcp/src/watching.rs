//! Changes of files as notifications.

use std::collections::BTreeSet;

use tokio::{sync::mpsc, task::JoinSet};
use yfs_types::path::VPath;
use yfs_vfs::{ChangeCursor, ChangeKind, ChangesOptions, FileChange, FsError};

use crate::{file_uri::file_uri, open_session::WatchedTree};

/// How long one read of the log of changes waits.
const WAIT: std::time::Duration = std::time::Duration::from_secs(30);

/// How long changes are gathered before a client is notified of them.
const GATHERING_TIME: std::time::Duration = std::time::Duration::from_millis(50);

/// How many changes one read returns.
const PAGE: usize = 256;

/// How many pages wait for a slow client. The log keeps what follows.
const QUEUE: usize = 4;

/// The changes of a moment, as a client sees them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ResourceChanges {
    /// Whether files appeared or disappeared.
    pub(crate) is_list_changed: bool,
    /// The files whose content may be another.
    pub(crate) updated: BTreeSet<String>,
    /// Whether the log was lost, so that every file may be another.
    pub(crate) is_all: bool,
}

/// A task that follows changes. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct TreeWatcher {
    _tasks: JoinSet<()>,
}

/// Begins to follow the changes of trees. All changes after this call returns are reported. A tree
/// without a log of changes is left out.
pub(crate) async fn watch_trees(
    trees: &[WatchedTree],
) -> (JoinSet<()>, mpsc::Receiver<ResourceChanges>) {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let mut tasks = JoinSet::new();
    for tree in trees {
        if let Ok(cursor) = tree.fs.cursor().await {
            tasks.spawn(follow_tree(tree.clone(), cursor, sender.clone()));
        }
    }
    (tasks, receiver)
}

impl TreeWatcher {
    /// Makes a watcher of the tasks that follow changes, and one that sends them.
    pub(crate) fn new(
        mut tasks: JoinSet<()>,
        send: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        tasks.spawn(send);
        Self { _tasks: tasks }
    }
}

async fn follow_tree(
    tree: WatchedTree,
    mut cursor: ChangeCursor,
    sender: mpsc::Sender<ResourceChanges>,
) {
    let options = ChangesOptions { limit: PAGE, wait: Some(WAIT) };
    loop {
        let changes = match tree.fs.changes(&cursor, &options).await {
            Ok(page) => {
                cursor = page.next;
                changes_of(&tree, &page.events)
            }
            Err(error) if error.is_cursor_lost() => {
                let Ok(now) = tree.fs.cursor().await else { return };
                cursor = now;
                ResourceChanges { is_list_changed: true, is_all: true, ..Default::default() }
            }
            // The filesystem is closed.
            Err(FsError { .. }) => return,
        };
        let is_empty = !changes.is_list_changed && changes.updated.is_empty();
        if !is_empty && sender.send(changes).await.is_err() {
            return;
        }
    }
}

fn changes_of(tree: &WatchedTree, events: &[FileChange]) -> ResourceChanges {
    let mut changes = ResourceChanges::default();
    let uri = |path: &VPath| tree.visible_path(path).map(|path| file_uri(&path));
    for event in events {
        let from = match &event.kind {
            ChangeKind::Moved { from } => uri(from),
            _ => None,
        };
        let touched: Vec<String> = uri(&event.path).into_iter().chain(from).collect();
        changes.is_list_changed |= !touched.is_empty() && event.kind != ChangeKind::Changed;
        changes.updated.extend(touched);
    }
    changes
}

/// Returns the next changes: those of a short while together, because one edit may be several
/// changes of one file. Returns `None` after the last.
pub(crate) async fn next_changes(
    receiver: &mut mpsc::Receiver<ResourceChanges>,
) -> Option<ResourceChanges> {
    let mut changes = receiver.recv().await?;
    let end = tokio::time::Instant::now() + GATHERING_TIME;
    while let Ok(Some(more)) = tokio::time::timeout_at(end, receiver.recv()).await {
        changes.is_list_changed |= more.is_list_changed;
        changes.is_all |= more.is_all;
        changes.updated.extend(more.updated);
    }
    Some(changes)
}

impl ResourceChanges {
    /// Reports whether a resource may be another.
    pub(crate) fn touches(&self, uri: &str) -> bool {
        self.is_all || self.updated.contains(uri)
    }
}
