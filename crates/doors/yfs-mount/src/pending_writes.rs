//! What programs wrote becomes edits.
//!
//! The content that a program began with is the base, so what others changed meanwhile is kept. A
//! content that cannot be merged, because it is no text, becomes a version above theirs.

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    sync::Arc,
};

use bytes::Bytes;
use fuser::Errno;
use futures::executor::block_on;
use smol_str::SmolStr;
use yfs::WorkspaceFs;
use yfs_types::id::FileId;
use yfs_vfs::{
    ChangeAuthor, CreateMode, FileSystem, FsCode, FsError, Op, VersionBase, WriteOptions,
    WriteOutcome,
};

use crate::{
    errno::{CallResult, errno, workspace_errno},
    file_view::FileView,
    mount::MountedTree,
    node_table::path_by_id,
    node_times::millis,
    open_file::{FileState, PendingWrites},
    program_name::Writer,
    working_copy::WorkingCopy,
};

impl MountedTree {
    /// Applies what programs wrote to a file. If that fails, it stays pending.
    pub(crate) fn apply(&self, state: &mut FileState) -> CallResult {
        if state.is_unlinked {
            // It lasts as long as the programs have the file open.
            return Ok(());
        }
        let (sent, own_version, writer) = match &state.pending {
            PendingWrites::None => return Ok(()),
            PendingWrites::Appended { data, writer, .. } => {
                self.append(&state.id, data, &writer.label)?;
                (None, None, writer)
            }
            PendingWrites::Copy(copy) => {
                let outcome = self.write_or_keep_in_trash(&state.id, copy)?;
                let sent = copy.in_memory().map(Bytes::copy_from_slice);
                (sent, outcome.version.filter(|_| !outcome.merged), &copy.writer)
            }
        };
        let by_version = own_version.clone().map(VersionBase::Version);
        match by_version.or_else(|| sent.clone().map(VersionBase::Content)) {
            Some(known) => self.read_log.note(writer.process, &state.id, known),
            // It does not know what it appended to.
            None => self.read_log.forget(writer.process, &state.id),
        }
        state.own_version = own_version;
        state.pending = PendingWrites::None;
        state.generation += 1;
        state.sent = sent.map(FileView::Sent).map(Arc::new);
        Ok(())
    }

    /// Applies what is pending of a file that the last program that can write has closed. What the
    /// workspace does not accept goes to a file of the host.
    pub(crate) fn apply_or_rescue(&self, state: &mut FileState) {
        if self.apply(state).is_ok() {
            return;
        }
        // The program has the error: closing the file reported it.
        let name = format!("{}-{}", state.id, millis(std::time::SystemTime::now()).0);
        let rescue = || {
            fs::create_dir_all(&self.options.unsaved)?;
            let path = self.options.unsaved.join(name);
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            match &state.pending {
                PendingWrites::None => Ok(0),
                PendingWrites::Appended { data, .. } => io::copy(&mut &data[..], &mut file),
                PendingWrites::Copy(copy) => io::copy(&mut copy.reader(), &mut file),
            }
        };
        if rescue().is_ok() {
            state.pending = PendingWrites::None;
        }
    }

    fn append(&self, id: &FileId, data: &[u8], label: &SmolStr) -> CallResult {
        let options = self.write_options(label);
        let append = || {
            let data = Bytes::copy_from_slice(data);
            block_on(self.fs.append(&path_by_id(id), data, &options))
        };
        self.in_trash_if_gone(id, append).map(drop)
    }

    fn write_or_keep_in_trash(&self, id: &FileId, copy: &WorkingCopy) -> CallResult<WriteOutcome> {
        self.in_trash_if_gone(id, || self.write_copy(id, copy))
    }

    /// Makes a change of a file. If another writer has removed the file meanwhile, the change is
    /// made to what is in the trash.
    fn in_trash_if_gone<T>(
        &self,
        id: &FileId,
        change: impl Fn() -> Result<T, FsError>,
    ) -> CallResult<T> {
        match change() {
            Err(error) if error.code == FsCode::ENOENT => (),
            changed => return changed.map_err(errno),
        }
        let path = self.workspace().trash().restore(id, None).map_err(workspace_errno)?;
        let changed = change();
        block_on(self.fs.rm(&path, &yfs_vfs::RemoveOptions::default())).map_err(errno)?;
        changed.map_err(errno)
    }

    fn write_copy(&self, id: &FileId, copy: &WorkingCopy) -> Result<WriteOutcome, FsError> {
        let mut options = self.write_options(&copy.writer.label);
        options.mtime = Some(millis(copy.modified));
        let mut stale = None;
        for base in copy.base.bases() {
            options.base = Some(base);
            match write_bytes(&self.fs, id, copy, &options) {
                Err(error) if error.code == FsCode::ESTALE => stale = Some(error),
                written => return written,
            }
        }
        let is_text = copy.base.in_memory().is_some_and(|data| std::str::from_utf8(data).is_ok());
        if is_text {
            return Err(stale.unwrap_or_else(|| FsError::bare(FsCode::ESTALE, Op::Write)));
        }
        // What others wrote stays as a version.
        options.base = None;
        write_bytes(&self.fs, id, copy, &options)
    }

    /// The options of a write of a program.
    pub(crate) fn write_options(&self, label: &SmolStr) -> WriteOptions {
        let actor = self.options.actor.clone();
        let author = ChangeAuthor { actor, label: Some(label.clone()), step: None };
        WriteOptions {
            create: CreateMode::Never,
            author: Some(author),
            parents: false,
            follow: false,
            ..WriteOptions::default()
        }
    }

    /// Applies what is pending of a file, if it is open.
    pub(crate) fn apply_open(&self, id: &FileId) -> CallResult {
        match self.handles.find_file(id) {
            Some(file) => self.apply(&mut file.lock()),
            None => Ok(()),
        }
    }

    /// Takes a copy of a view to write to, if there is none yet.
    pub(crate) fn working_copy<'a>(
        &self,
        state: &'a mut FileState,
        view: &Arc<FileView>,
        writer: &Writer,
    ) -> CallResult<&'a mut WorkingCopy> {
        if let PendingWrites::Appended { .. } = state.pending {
            // It must be first: what follows replaces the content.
            self.apply(state)?;
        }
        if let PendingWrites::None = state.pending {
            let copy = WorkingCopy::new(view.clone(), writer.clone())?;
            state.pending = PendingWrites::Copy(copy);
        }
        match &mut state.pending {
            PendingWrites::Copy(copy) => {
                copy.writer = writer.clone();
                Ok(copy)
            }
            _ => Err(Errno::EIO),
        }
    }
}

fn write_bytes(
    fs: &WorkspaceFs,
    id: &FileId,
    copy: &WorkingCopy,
    options: &WriteOptions,
) -> Result<WriteOutcome, FsError> {
    let path = path_by_id(id);
    match copy.in_memory() {
        Some(data) => block_on(fs.write(&path, Bytes::copy_from_slice(data), options)),
        None => {
            // The bases of what is not in memory are named by their versions.
            let mut options = options.clone();
            options.base = options.base.filter(|base| matches!(base, VersionBase::Version(_)));
            fs.write_from(&path, &mut copy.reader(), &options)
        }
    }
}
