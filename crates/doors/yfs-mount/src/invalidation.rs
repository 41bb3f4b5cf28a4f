//! What the kernel must forget, because others changed it.
//!
//! Two threads: one follows the changes of the workspace, one passes to the kernel what it must
//! forget. The kernel may wait for locks that a request holds, so no request waits for these.

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    sync::{Arc, Weak, mpsc},
    thread,
    time::Duration,
};

use fuser::{INodeNo, Notifier};
use yfs_types::path::VPath;
use yfs_vfs::{ChangeKind, ChangesOptions, FileChange, FileSystem, Op};

use crate::{file_view::FileView, mount::MountedTree, passes::Followed};

/// The most changes that are read at once.
const PAGE: usize = 1024;

/// The longest wait for changes, after which the end of the mount is noticed.
const WAIT: Duration = Duration::from_millis(250);

/// The wait for changes while a program is in the middle of reading what has changed.
const RETRY: Duration = Duration::from_millis(10);

/// The pause after an error of the store.
const REST: Duration = Duration::from_millis(500);

/// What the kernel must forget.
#[derive(Debug)]
pub(crate) enum Notice {
    /// That a directory has, or has not, an entry of a name.
    Name(INodeNo, OsString),
    /// The attributes of a node, and its content in the page cache.
    Node(INodeNo),
}

/// Starts the thread that passes notices to the kernel. It ends when the mount does.
pub(crate) fn spawn_notifier(notifier: Notifier, notices: mpsc::Receiver<Notice>) {
    let pass = move || {
        for notice in notices {
            let passed = match notice {
                Notice::Name(parent, name) => notifier.inval_entry(parent, &name),
                Notice::Node(number) => notifier.inval_inode(number, 0, 0),
            };
            // The mount has ended.
            if passed.is_err_and(|error| error.raw_os_error() == Some(libc::ENODEV)) {
                return;
            }
        }
    };
    spawn("yfs-mount-tell", pass);
}

/// Starts the thread that follows the changes of the workspace.
pub(crate) fn spawn_follower(tree: &Arc<MountedTree>) {
    let weak = Arc::downgrade(tree);
    spawn("yfs-mount-follow", move || follow(&weak));
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) {
    let builder = thread::Builder::new().name(name.to_owned());
    builder.spawn(run).expect("the system has room for a thread");
}

fn follow(weak: &Weak<MountedTree>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let Ok(runtime) = runtime else { return };
    let mut since = None;
    // Nodes whose content has changed while programs were in the middle of reading them.
    let mut late: HashSet<INodeNo> = HashSet::new();
    while let Some(tree) = weak.upgrade() {
        let fs = tree.fs.clone();
        drop(tree);
        let wait = Some(if late.is_empty() { WAIT } else { RETRY });
        let page = runtime.block_on(async {
            let since = match &since {
                Some(since) => Clone::clone(since),
                None => fs.cursor().await?,
            };
            fs.changes(&since, &ChangesOptions { limit: PAGE, wait }).await
        });
        let Some(tree) = weak.upgrade() else { return };
        match page {
            Ok(page) => {
                for change in &page.events {
                    tree.follow_change(change, &mut late);
                }
                since = Some(page.next);
            }
            Err(error) if error.is_cursor_lost() => {
                since = None;
                tree.forget_all();
            }
            Err(_) => thread::sleep(REST),
        }
        late.retain(|number| !tree.follow_and_forget(*number));
    }
}

impl MountedTree {
    /// Lets the kernel forget what a change made old.
    fn follow_change(&self, change: &FileChange, late: &mut HashSet<INodeNo>) {
        for number in self.nodes.known(&change.id) {
            if self.follow_and_forget(number) {
                continue;
            }
            late.insert(number);
            // A program that opens the file now gets another node.
            self.forget_path(&change.path);
        }
        match &change.kind {
            ChangeKind::Changed => (),
            ChangeKind::Moved { from } => {
                self.forget_path(from);
                self.forget_path(&change.path);
            }
            _ => self.forget_path(&change.path),
        }
    }

    /// Lets a node show what others changed, and the kernel forget it. Reports whether it shows the
    /// newest content.
    fn follow_and_forget(&self, number: INodeNo) -> bool {
        // The size before the attributes: an answer that crosses their invalidation counts for
        // nothing.
        let followed = self.follow_in(number);
        if let (Followed::Changed, Some(kernel)) = (followed, self.kernel.get()) {
            kernel.inval_inode(number, 0, 0).ok();
        }
        followed != Followed::Late
    }

    /// Lets the kernel forget a name, if it knows the directory.
    fn forget_path(&self, path: &VPath) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        let parent = if parent.is_root() {
            Some(INodeNo::ROOT)
        } else {
            let found = self.fs.entry(&parent, Op::Stat).ok();
            found.and_then(|(entry, _)| self.nodes.known(&entry.id).first().copied())
        };
        if let Some(parent) = parent {
            self.forget_name(parent, OsStr::new(name));
            self.forget_node(parent);
        }
    }

    /// Lets the kernel forget everything.
    fn forget_all(&self) {
        self.forget_node(INodeNo::ROOT);
        for (number, id) in self.nodes.all() {
            self.forget_node(number);
            if let Ok(Some(path)) = self.workspace().nodes().path_of(&id) {
                self.forget_path(&path);
            }
        }
    }

    /// Lets the kernel forget a name, soon.
    pub(crate) fn forget_name(&self, parent: INodeNo, name: &OsStr) {
        // After the end of the mount there is nothing to forget.
        self.notices.send(Notice::Name(parent, name.to_owned())).ok();
    }

    /// Lets the kernel forget the attributes and the content of a node, soon.
    pub(crate) fn forget_node(&self, number: INodeNo) {
        self.notices.send(Notice::Node(number)).ok();
    }

    /// Lets the kernel know that a node has at least the bytes of a content.
    ///
    /// `copy_file_range` and `mmap` go by the size that the kernel has, which may be older than the
    /// one that a program got: an answer that crosses a notice counts for the program only
    /// (`fuse_change_attributes_i` of Linux). A byte that is stored extends it.
    pub(crate) fn extend_in_kernel(&self, number: INodeNo, view: &FileView) {
        let size = view.size();
        if size <= self.nodes.sure_size(number) {
            return;
        }
        let last = view.read(size - 1, 1);
        if let (Some(kernel), Ok(last)) = (self.kernel.get(), last)
            && kernel.store(number, size - 1, &last).is_ok()
        {
            self.nodes.note_stored(number, size);
        }
    }

    /// Lets the kernel forget the attributes of a node, at once. It waits for no lock.
    pub(crate) fn forget_attributes(&self, number: INodeNo) {
        if let Some(kernel) = self.kernel.get() {
            kernel.inval_inode(number, -1, 0).ok();
        }
    }
}
