//! The workspace as the mirror uses it: by ids, under the mirror's actor.

use std::{collections::BTreeSet, future::Future};

use bytes::Bytes;
use smol_str::{SmolStr, format_smolstr};
use yfs::{
    Workspace, WorkspaceError, WorkspaceFs,
    replica::LogCursor,
    workspace::nodes::{NewObject, Nodes, TreeNode},
};
use yfs_engine::{actor::Actor, id::FileId, name::split_extension, path::VPath, time::Millis};
use yfs_vfs::{
    ChangeAuthor, CreateMode, FileSystem, FileSystemExt, FsCode, FsError, MoveOptions,
    RemoveOptions, VersionBase, WriteOptions,
};

use crate::{
    error::Result,
    mirror_state::{EditBase, database::MirrorDatabase},
};

/// A workspace, and the actor of the changes that the mirror makes there.
pub(super) struct WorkspaceAccess {
    workspace: Workspace,
    fs: WorkspaceFs,
    actor: Actor,
    /// The name under which the mirror marks the log.
    name: String,
    /// The last mark of the log; everything before it was synced.
    mark: Option<LogCursor>,
}

/// An edit of a file that was made on disk.
pub(super) struct DiskEdit<'a> {
    pub(super) id: &'a FileId,
    pub(super) data: Bytes,
    /// The content that the edit started from.
    pub(super) base: &'a EditBase,
    /// The permission bits, if they changed, too.
    pub(super) mode: Option<u32>,
    pub(super) mtime_ms: i64,
    /// The label of the version.
    pub(super) label: SmolStr,
}

/// A content that is a version of the workspace.
pub(super) struct KnownContent {
    /// The version as a base.
    pub(super) base: EditBase,
    /// The version as in [`TreeNode::version`] if it is the present one, or else empty.
    pub(super) version: SmolStr,
}

/// The outcome of writing an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EditOutcome {
    /// The edit was merged with the changes that others made since its base.
    Merged,
    /// The edit was merged, and met changes of others in the same place; one of them, if known.
    Overlapped(Option<Actor>),
    /// The content is not text, or its base cannot be found again: the bytes of the edit are
    /// current, and those of others stay in the versions.
    Replaced,
}

impl WorkspaceAccess {
    pub(super) fn new(workspace: &Workspace, actor: Actor, name: String) -> Self {
        let fs = workspace.fs_for(actor.clone());
        Self { workspace: workspace.clone(), fs, actor, name, mark: None }
    }

    /// Syncs the store, and returns a mark of the end of its log.
    pub(super) fn sync_and_mark(&mut self) -> Result<String> {
        let last = self.mark.as_ref();
        let mark = self.workspace.replication().mark_for_mirror(&self.name, last)?;
        if last != Some(&mark) {
            self.workspace.store().flush().map_err(WorkspaceError::from)?;
            self.mark = Some(mark.clone());
        }
        Ok(mark.to_string())
    }

    /// Reports whether the store has all that a mirror's database says both sides agreed on. A
    /// store that went back in time does not have the mark that was written there.
    pub(super) fn has_mark_of(&mut self, database: &MirrorDatabase) -> Result<bool> {
        if database.is_empty()? {
            return Ok(true);
        }
        match database.mark()? {
            Some(mark) => self.find_mark(&mark),
            None => Ok(false),
        }
    }

    /// Reports whether the store's log has a mark that was made earlier. The next marks follow it.
    fn find_mark(&mut self, mark: &str) -> Result<bool> {
        let Ok(mark) = mark.parse() else { return Ok(false) };
        let has_mark = self.workspace.replication().has_mirror_mark(&self.name, &mark)?;
        self.mark = has_mark.then_some(mark);
        Ok(has_mark)
    }

    /// Reports whether an object is in the workspace or in its trash.
    pub(super) fn still_has(&self, id: &FileId) -> Result<bool> {
        Ok(self.workspace.trash().still_has(id)?)
    }

    /// Returns the objects of the workspace, by id.
    pub(super) fn nodes(&self) -> Nodes<'_> {
        self.workspace.nodes()
    }

    /// Returns the object with an id.
    pub(super) fn object(&self, id: &FileId) -> Result<Option<TreeNode>> {
        Ok(self.nodes().get(id)?)
    }

    /// Describes the conflicts in the content of a file.
    pub(super) fn describe_conflicts(&self, id: &FileId) -> Result<Vec<String>> {
        let ids = BTreeSet::from([id.clone()]);
        let conflicts = self.workspace.replication().content_conflicts(&ids)?;
        Ok(conflicts.into_iter().map(|conflict| conflict.detail).collect())
    }

    /// Notes that a save took out words of others.
    pub(super) fn note_lost_words(&self, id: &FileId, label: &str, words: &[&str]) -> Result<()> {
        Ok(self.workspace.history().note_lost_words(id, label, words)?)
    }

    /// Returns how much the mirror has written to a file.
    pub(super) fn n_written(&self, id: &FileId) -> Result<u64, WorkspaceError> {
        self.nodes().n_written_by(id, &self.actor)
    }

    /// Creates objects, and returns the result for each.
    pub(super) fn create_objects(
        &self,
        objects: &[NewObject],
    ) -> Result<Vec<Result<FileId, FsError>>> {
        Ok(self.fs.make_many(objects)?)
    }

    /// Returns the base that a content is, if it is no edit: the workspace has it now, or had it
    /// after the base that a mirror remembers. A memory that lost its last records remembers an
    /// earlier base than the one that the content came from.
    pub(super) fn find_known_content(
        &self,
        id: &FileId,
        data: &[u8],
        base: &EditBase,
    ) -> Result<Option<KnownContent>> {
        // If it cannot be read, writing it reports the reason.
        let Ok(held) = self.nodes().read_durable(id) else { return Ok(None) };
        if *held.data == *data {
            let version = held.version.as_str().into();
            return Ok(Some(KnownContent { base: EditBase::Version(held.base), version }));
        }
        let EditBase::Version(earlier) = base else { return Ok(None) };
        let base = self.nodes().find_base_after(id, data, earlier)?;
        let known =
            |base| KnownContent { base: EditBase::Version(base), version: SmolStr::default() };
        Ok(base.map(known))
    }

    /// Writes an edit.
    pub(super) fn write_edit(&self, edit: DiskEdit<'_>) -> Result<EditOutcome, FsError> {
        let options = WriteOptions {
            create: CreateMode::Never,
            base: version_base(edit.base),
            mode: edit.mode,
            mtime: Some(Millis(edit.mtime_ms)),
            author: Some(ChangeAuthor {
                actor: self.actor.clone(),
                label: Some(edit.label),
                step: None,
            }),
            follow: false,
            ..WriteOptions::default()
        };
        let path = path_by_id(edit.id);
        match block_on_call(self.fs.write(&path, edit.data.clone(), &options)) {
            Err(error) if error.code == FsCode::ESTALE => {
                let options = WriteOptions { base: None, ..options };
                block_on_call(self.fs.write(&path, edit.data, &options))?;
                Ok(EditOutcome::Replaced)
            }
            written => written.map(|mut outcome| match outcome.overlaps.pop() {
                Some(overlap) => EditOutcome::Overlapped(overlap.actor),
                None => EditOutcome::Merged,
            }),
        }
    }

    /// Sets those attributes of an object that are given.
    pub(super) fn set_attributes(
        &self,
        id: &FileId,
        mode: Option<u32>,
        mtime_ms: Option<i64>,
    ) -> Result<(), FsError> {
        let path = path_by_id(id);
        let changed = match mode {
            Some(mode) => block_on_call(self.fs.chmod(&path, mode)),
            None => Ok(()),
        };
        match mtime_ms {
            Some(mtime) => changed.and(block_on_call(self.fs.utimes(&path, Millis(mtime)))),
            None => changed,
        }
    }

    /// Moves an object to a name that is free.
    pub(super) fn move_object(
        &self,
        id: &FileId,
        parent: Option<&FileId>,
        name: &str,
    ) -> Result<(), FsError> {
        let options = MoveOptions { replace: false, parents: false };
        block_on_call(self.fs.mv(&path_by_id(id), &path_in_directory(parent, name), &options))
    }

    /// Moves an object into the trash, with all its content.
    pub(super) fn trash_object(&self, id: &FileId) -> Result<(), FsError> {
        let options = RemoveOptions { recursive: true, force: true };
        block_on_call(self.fs.rm(&path_by_id(id), &options))
    }

    /// Restores a deleted object. Returns whether it was in the trash.
    pub(super) fn restore_object(&self, id: &FileId) -> bool {
        self.workspace.trash().restore(id, None).is_ok()
    }

    /// Restores a deleted object to a name that is free. Returns whether it was in the trash.
    pub(super) fn restore_object_to(
        &self,
        id: &FileId,
        parent: Option<&FileId>,
        name: &str,
    ) -> bool {
        let to = path_in_directory(parent, name);
        self.workspace.trash().restore(id, Some(&to)).is_ok()
    }

    /// Returns a numbered variant of a name that is free in a directory.
    pub(super) fn free_name(&self, parent: Option<&FileId>, name: &str) -> Result<SmolStr> {
        let (base, extension) = split_extension(name);
        for number in 1.. {
            let name = format_smolstr!("{base} ({number}){extension}");
            if self.nodes().child(parent, &name)?.is_none() {
                return Ok(name);
            }
        }
        Ok(name.into())
    }
}

/// Waits for a call on the workspace, which completes at once.
fn block_on_call<T>(call: impl Future<Output = T>) -> T {
    futures::executor::block_on(call)
}

/// Returns the path of an object by its id, independent of its name.
fn path_by_id(id: &FileId) -> VPath {
    VPath::parse(&format!("/.id/{id}")).expect("ids are names")
}

/// Returns the path of a name in a directory.
pub(super) fn path_in_directory(parent: Option<&FileId>, name: &str) -> VPath {
    parent.map_or_else(VPath::root, path_by_id).join(name)
}

/// Converts a base to the option of a write.
fn version_base(base: &EditBase) -> Option<VersionBase> {
    match base {
        EditBase::Version(token) => Some(VersionBase::Version(token.clone())),
        EditBase::Bytes(bytes) => Some(VersionBase::Content(bytes.to_vec().into())),
        EditBase::Unknown => None,
    }
}
