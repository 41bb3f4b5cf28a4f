//! The shares of single directories: where their stores are.
//!
//! Each is a workspace of its own, in `shares/ID/workspace.db` beside the workspace that has the
//! directory (decision 76). Its store names the directory, so a share is found again after a
//! rename.

use std::{
    fs::DirBuilder,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use yfs::{
    SharedDirectory, Workspace, WorkspaceError, WorkspaceOptions,
    clock::{IdSource as _, RandomIds},
};
use yfs_engine::id::FileId;
use yfs_store::{DocHead, DocName, StoreError, UnlockKey};

use crate::{peer_error::PeerError, peer_grant::TicketId};

/// The subdirectory that contains the shares, beside the workspace.
const DIR: &str = "shares";

/// The file of a share, in its own directory.
const FILE: &str = "workspace.db";

/// The prefix of the setting of the workspace that names the share of a directory.
const SHARE_SETTING: &str = "share.of.";

/// The shares of a workspace's directories.
#[derive(Debug, Clone)]
pub struct DirectoryShares {
    origin: Workspace,
    dir: PathBuf,
}

/// A share of a directory, in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryShareFile {
    /// The file of its workspace.
    pub file: PathBuf,
    /// The directory, in the workspace that has it.
    pub directory: FileId,
}

/// What a call does with shares. One that reads commits nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShareAccess {
    Read,
    Change,
}

/// Files of shares with which a call failed, and why.
pub(crate) type FailedShares = Vec<(PathBuf, PeerError)>;

/// What [`DirectoryShares::find`] finds.
#[derive(Debug, Default)]
pub struct FoundShares {
    /// The shares.
    pub shares: Vec<DirectoryShareFile>,
    /// Files that could not be opened.
    pub unreadable: FailedShares,
}

impl DirectoryShareFile {
    /// Returns the directory with the file, and with the lock of the process that connects it.
    pub fn dir(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("."))
    }
}

impl DirectoryShares {
    /// Returns the shares of a workspace whose store is in this directory.
    pub fn of(origin: &Workspace, store_dir: &Path) -> Self {
        Self { origin: origin.clone(), dir: store_dir.join(DIR) }
    }

    /// Returns the workspace that has the directories.
    pub fn origin(&self) -> &Workspace {
        &self.origin
    }

    /// Finds all shares.
    pub fn find(&self) -> Result<FoundShares, PeerError> {
        let (opened, unreadable) = self.open_all(ShareAccess::Read)?;
        let mut shares = Vec::new();
        for (share, workspace) in opened {
            workspace.close()?;
            shares.push(share);
        }
        Ok(FoundShares { shares, unreadable })
    }

    /// Finds the shares that have the content of a file, also those that it has left.
    pub fn find_with(&self, file: &FileId) -> Result<Vec<DirectoryShareFile>, PeerError> {
        let mut found = Vec::new();
        for (share, workspace) in self.open_all(ShareAccess::Read)?.0 {
            let head = workspace.store().doc_head(&DocName::from(file));
            workspace.close()?;
            if head? != DocHead::ZERO {
                found.push(share);
            }
        }
        Ok(found)
    }

    /// Opens all shares for one call.
    pub(crate) fn open_all(
        &self,
        access: ShareAccess,
    ) -> Result<(Vec<(DirectoryShareFile, Workspace)>, FailedShares), PeerError> {
        let (mut opened, mut failed) = (Vec::new(), Vec::new());
        for file in self.files()? {
            match self.open_if_ours(&file, access) {
                Ok(Some((directory, share))) => {
                    opened.push((DirectoryShareFile { file, directory }, share));
                }
                Ok(None) => {}
                Err(error) => failed.push((file, error)),
            }
        }
        Ok((opened, failed))
    }

    fn open_if_ours(
        &self,
        file: &Path,
        access: ShareAccess,
    ) -> Result<Option<(FileId, Workspace)>, PeerError> {
        let read_only = access == ShareAccess::Read;
        let options = WorkspaceOptions { read_only, ..self.options_of_one_call() };
        let share = Workspace::open_at(file, options)?;
        match self.directory_of(&share)? {
            Some(directory) => Ok(Some((directory, share))),
            None => Ok(share.close().map(|()| None)?),
        }
    }

    /// Returns the directory of a share; `None` if it is one of another workspace.
    fn directory_of(&self, share: &Workspace) -> Result<Option<FileId>, PeerError> {
        let shared = SharedDirectory::of(share)?;
        let shared = shared.filter(|shared| shared.origin == *self.origin.id());
        Ok(shared.map(|shared| shared.directory))
    }

    /// Lists the files that may be shares.
    fn files(&self) -> Result<Vec<PathBuf>, PeerError> {
        let entries = match self.dir.read_dir() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let files = entries.filter_map(|entry| Some(entry.ok()?.path().join(FILE)));
        let mut files: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
        files.sort();
        Ok(files)
    }

    /// Opens a share for a process that keeps it open.
    pub fn open(&self, share: &DirectoryShareFile) -> Result<Workspace, PeerError> {
        Ok(Workspace::open_at(&share.file, self.options())?)
    }

    /// Opens the share of a directory, which is created the first time.
    pub fn open_or_create(
        &self,
        directory: &FileId,
    ) -> Result<(DirectoryShareFile, Workspace), PeerError> {
        let known = self.find()?.shares;
        if let Some(share) = known.into_iter().find(|share| share.directory == *directory) {
            let opened = self.open(&share)?;
            return Ok((share, opened));
        }
        // The name is stored first, so that two processes make one share.
        let setting = format!("{SHARE_SETTING}{directory}");
        let name = RandomIds.file_id().to_string();
        let stored = self.origin.store().init_meta(&setting, name.as_bytes())?;
        let stored = String::from_utf8(stored).ok().filter(|name| is_share_name(name));
        // A share that was removed by hand is made again.
        let dir = self.dir.join(stored.unwrap_or(name));
        create_private_dir(&dir)?;
        let share = DirectoryShareFile { file: dir.join(FILE), directory: directory.clone() };
        let is_encrypted = self.origin.store().key_kind()?.is_some();
        let profile = self.origin.profile();
        let options = WorkspaceOptions { profile, ..self.options() };
        if is_encrypted && options.key.is_none() {
            return Err(PeerError::KeyUnknown);
        }
        let opened = match Workspace::create_at(&share.file, options) {
            Err(_) if share.file.is_file() => self.open(&share)?,
            created => created?,
        };
        let origin = self.origin.id().clone();
        SharedDirectory { origin, directory: directory.clone() }.assign(&opened)?;
        Ok((share, opened))
    }

    /// Gives all shares of an encrypted workspace another key, also those to which an interrupted
    /// call gave it already. Call it before the key of the workspace is changed. Returns the shares
    /// that could not be changed, and why.
    pub fn change_key(&self, key: &Arc<UnlockKey>) -> Result<FailedShares, PeerError> {
        let mut failed = Vec::new();
        for file in self.files()? {
            if let Err(error) = self.change_key_of(&file, key) {
                failed.push((file, error));
            }
        }
        Ok(failed)
    }

    fn change_key_of(&self, file: &Path, key: &Arc<UnlockKey>) -> Result<(), PeerError> {
        let options = self.options_of_one_call();
        let share = match Workspace::open_at(file, options.clone()) {
            Err(WorkspaceError::Store(StoreError::Key { .. })) => {
                let changed = WorkspaceOptions { key: Some(key.clone()), ..options };
                return Ok(Workspace::open_at(file, changed)?.close()?);
            }
            opened => opened?,
        };
        let changed = match self.directory_of(&share)? {
            Some(_) => share.store().change_key(key),
            None => Ok(()),
        };
        share.close()?;
        Ok(changed?)
    }

    /// Returns the path of a directory; by its id, if it is in the trash or gone.
    pub fn path_of(&self, directory: &FileId) -> Result<String, PeerError> {
        let path = self.origin.nodes().path_of(directory)?;
        Ok(path.map_or_else(|| format!("/.id/{directory}"), |path| path.to_string()))
    }

    /// Returns the options of a share: those of the workspace, with its key.
    fn options(&self) -> WorkspaceOptions {
        let options = self.origin.maintenance().options();
        WorkspaceOptions {
            follow: true,
            read_only: false,
            step: None,
            provider: None,
            ..options.clone()
        }
    }

    fn options_of_one_call(&self) -> WorkspaceOptions {
        let options = self.origin.maintenance().options();
        let key = options.key.clone();
        WorkspaceOptions {
            key,
            limits: options.limits,
            ..WorkspaceOptions::one_shot(options.actor.clone())
        }
    }
}

/// Notes that a ticket is one for this share, so that it can be withdrawn by its id.
pub fn note_ticket_of_share(share: &Workspace, ticket: TicketId) -> Result<(), PeerError> {
    let now = share.maintenance().options().clock.now();
    Ok(share.store().note_first_seen(&[&ticket_key(ticket)], now)?)
}

/// Reports whether a ticket is one for this share.
pub(crate) fn has_ticket_of_share(share: &Workspace, ticket: TicketId) -> Result<bool, PeerError> {
    Ok(share.store().first_seen(&ticket_key(ticket))?.is_some())
}

fn ticket_key(ticket: TicketId) -> String {
    format!("share.ticket.{ticket}")
}

fn is_share_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn create_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}
