//! The context of a mirror, which its scanner, importers and appliers borrow: both sides, the state
//! between them, the options and the report.

use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    fs::File,
    io,
    path::{Path, PathBuf},
};

use smol_str::SmolStr;
use yfs::{Workspace, workspace::nodes::TreeNode};
use yfs_engine::{actor::Actor, id::FileId, name::NodeName};
use yfs_vfs::{
    VersionToken,
    confined_dir::{ConfinedDir, HostStat, read_open_file},
    name_escaping::is_spelling,
};

use super::{
    mirror_reporter::{MirrorReporter, Notify},
    mirrored_directory::MirroredDirectory,
    open_files::OpenFileTracker,
    superseded_directory,
    workspace_access::WorkspaceAccess,
};
use crate::{
    error::{MirrorError, Result},
    layout_plan::{ObjectLocation, parked_name},
    lease::OpenWriters,
    mirror_clock::MirrorClock,
    mirror_state::{
        EditBase, MirrorState,
        database::{CIPHER, MirrorDatabase},
    },
    options::{MirrorOptions, TrustPolicy},
    pending_deletions::PendingDeletions,
    report::NoticeReason,
    unread::UnreadTexts,
};

/// Reports whether a name on disk is the same in the workspace, whatever other names there are.
fn is_in_normal_form(host: &OsStr) -> bool {
    let Some(text) = host.to_str() else { return false };
    text.is_ascii() || NodeName::new(text).is_ok_and(|name| name.as_str() == text)
}

/// The context of a mirror.
pub(super) struct MirrorContext {
    pub(super) workspace: WorkspaceAccess,
    pub(super) directory: MirroredDirectory,
    pub(super) database: MirrorDatabase,
    pub(super) state: MirrorState,
    pub(super) options: MirrorOptions,
    pub(super) clock: MirrorClock,
    /// Whether the state was empty when the mirror started.
    pub(super) is_first: bool,
    /// The last agreed content of objects whose agreement was forgotten, as bases of their edits.
    pub(super) former_bases: HashMap<FileId, EditBase>,
    pub(super) reporter: MirrorReporter,
    pub(super) open_files: OpenFileTracker,
    /// The texts that files had, and the watch for readers of the last ones.
    pub(super) unread: UnreadTexts,
    /// The mass deletion that waits for a confirmation.
    pub(super) pending: Option<PendingDeletions>,
}

impl MirrorContext {
    /// Opens a directory for a workspace, and reads the state.
    pub(super) fn open(
        workspace: &Workspace,
        directory: &Path,
        options: MirrorOptions,
        notify: Notify,
    ) -> Result<Self> {
        workspace.maintenance().check_damage()?;
        let host =
            |source| MirrorError::Host { action: "open", path: directory.to_owned(), source };
        std::fs::create_dir_all(directory).map_err(host)?;
        let path = directory.canonicalize().map_err(host)?;
        let (database, state) =
            MirrorDatabase::open(&path, workspace.id(), workspace.store().cipher(CIPHER))?;
        let (held, seen) = (database.held_rules()?, database.seen_texts()?);
        let directory =
            MirroredDirectory::open(path, options.host, &options.ignores, held).map_err(host)?;
        let pending = PendingDeletions::read(&directory.path)?;
        superseded_directory::open_dir(&directory.root).map_err(host)?;
        let name = database.actor_name(options.owner.as_deref())?;
        let actor = match options.actor.name.is_empty() {
            true => Actor::new(options.actor.kind, &name),
            false => options.actor.clone(),
        };
        Ok(Self {
            workspace: WorkspaceAccess::new(workspace, actor, name),
            directory,
            database,
            is_first: state.is_empty(),
            former_bases: HashMap::new(),
            state,
            options,
            clock: MirrorClock::default(),
            reporter: MirrorReporter::new(notify),
            open_files: OpenFileTracker::default(),
            unread: UnreadTexts::new(seen),
            pending,
        })
    }

    /// Notes a mass deletion without a confirmation; returns the error that ends the pass.
    pub(super) fn refuse_deletions(&mut self, refused: PendingDeletions) -> MirrorError {
        let PendingDeletions { n_deleted, n_files } = refused;
        if self.pending != Some(refused) {
            if let Err(error) = refused.write(&self.directory.path) {
                return error;
            }
            self.pending = Some(refused);
        }
        self.reporter.skip(Path::new("."), NoticeReason::MassDeletion { n_deleted, n_files });
        MirrorError::MassDeletion { n_deleted, n_files }
    }

    /// Forgets the pending deletion, which was made, or is no longer due.
    pub(super) fn clear_pending(&mut self) -> Result<()> {
        if self.pending.is_some() {
            PendingDeletions::clear(&self.directory.path)?;
            self.pending = None;
            self.reporter.clear_skipped(Path::new("."));
        }
        Ok(())
    }

    /// Writes the changes of the state to the database, and settles the intents of objects. The
    /// store is synced before, so that it has all that the state says both sides agree on.
    pub(super) fn commit(&mut self, settled: &[FileId]) -> Result<()> {
        if self.unread.texts.is_changed() {
            self.database.write_seen_texts(&mut self.unread.texts)?;
        }
        if !self.state.is_changed() && settled.is_empty() {
            return Ok(());
        }
        let mark = self.workspace.sync_and_mark()?;
        self.database.commit(&mut self.state, settled, &mark)
    }

    /// Reports whether the store has all that the state says both sides agreed on.
    pub(super) fn check_proven(&mut self) -> Result<bool> {
        self.workspace.has_mark_of(&self.database)
    }

    /// Forgets what both sides agreed on: they meet as for the first time, and nothing is deleted.
    /// The store may have got the content back that both sides agreed on, from a replica.
    pub(super) fn forget_agreement(&mut self) {
        let nodes = self.state.nodes();
        self.former_bases = nodes.map(|node| (node.id.clone(), node.base.clone())).collect();
        self.state.clear();
        self.is_first = true;
        self.reporter.notify_event(Path::new("."), NoticeReason::Unproven);
    }

    /// Returns the name that the workspace is to have for an object on disk, or none if it cannot
    /// store one.
    pub(super) fn work_name(
        &self,
        parent: Option<&FileId>,
        path: &Path,
    ) -> Result<Option<SmolStr>> {
        let Some(host) = path.file_name() else { return Ok(None) };
        let rules = &self.directory.rules;
        if is_in_normal_form(host) {
            return Ok(rules.to_workspace(host, &|_| false));
        }
        // Of several names on disk that are one name in the workspace, the one in normal form keeps
        // it, or else the one that has it. So do imports.
        let is_taken = |name: &str| {
            let mut siblings = self.state.children(parent).filter(|node| node.name != host);
            siblings.any(|node| node.work.name == name)
                || self.is_on_disk(&path.with_file_name(name))
        };
        let name = rules.to_workspace(host, &is_taken);
        let known = self.state.at_path(path);
        if known.is_some_and(|node| name.as_ref() == Some(&node.work.name)) {
            return Ok(name);
        }
        // The spelling that an import gave the name, although it could be had plain now.
        let spelt = rules.to_workspace(host, &|name| !is_spelling(name));
        let Some(spelt) = spelt.filter(|name| is_spelling(name)) else { return Ok(name) };
        let there = self.workspace.nodes().child(parent, &spelt)?;
        let is_unmatched = there.is_some_and(|there| self.state.get(&there.id).is_none());
        Ok(if is_unmatched { Some(spelt) } else { name })
    }

    /// Reports whether the disk has an object at a path, and not the same under another spelling of
    /// its name.
    fn is_on_disk(&self, path: &Path) -> bool {
        !self.directory.rules.folds_unicode
            && self.directory.facts(path).is_ok_and(|facts| facts.is_some())
    }

    /// Returns the object that has the workspace's name for a new object on disk, although its own
    /// name on disk is another form of that name: it is to get a spelling.
    pub(super) fn find_displaced(&self, path: &Path) -> Result<Option<FileId>> {
        let Some(host) = path.file_name().filter(|host| is_in_normal_form(host)) else {
            return Ok(None);
        };
        let parent = path.parent().and_then(|above| self.state.directory(above));
        let (Some(name), Some(parent)) = (host.to_str().filter(|name| !name.is_ascii()), parent)
        else {
            return Ok(None);
        };
        let Some(there) = self.workspace.nodes().child(parent.as_ref(), name)? else {
            return Ok(None);
        };
        let node = self.state.get(&there.id);
        let is_displaced = node.is_some_and(|node| {
            node.parent == parent && node.name != host && node.name != parked_name(&node.id)
        });
        let path = path.with_file_name(node.map_or(host, |node| &node.name));
        Ok((is_displaced && self.is_on_disk(&path)).then_some(there.id))
    }

    /// Returns the workspace name that matches the name on disk. Where the workspace had to choose
    /// another name, the disk is to follow.
    pub(super) fn agreed_name(&self, object: &TreeNode, path: &Path) -> Result<SmolStr> {
        let name = self.work_name(object.parent.as_ref(), path)?;
        Ok(name.unwrap_or_else(|| object.name.clone()))
    }

    /// Returns the name that an object is to have on disk. `given` has the names that other objects
    /// get in the same pass.
    pub(super) fn host_name(
        &self,
        id: &FileId,
        object: &TreeNode,
        given: &HashMap<(Option<FileId>, Vec<u8>), FileId>,
    ) -> Option<OsString> {
        let node = self.state.get(id);
        let parent = object.parent.as_ref();
        let is_taken = |name: &OsStr| {
            if !self.directory.rules.folds() {
                return false;
            }
            let key = (parent.cloned(), self.directory.rules.fold(name));
            let is_given = given.get(&key).is_some_and(|other| other != id);
            let mut others = self.state.children(parent).filter(|node| node.id != *id);
            is_given || others.any(|node| self.directory.rules.fold(&node.name) == key.1)
        };
        if let Some(node) = node.filter(|node| node.work.name == object.name)
            && node.name != parked_name(id)
            && (node.work.parent == object.parent || !is_taken(&node.name))
        {
            return Some(node.name.clone());
        }
        self.directory.rules.to_host(&object.name, &is_taken)
    }

    /// Returns the permission bits that an object had on disk, if it left the directory and the
    /// workspace has it again as it was.
    pub(super) fn former_mode(&self, object: &TreeNode) -> Option<u32> {
        let version = object.version.as_ref().map(VersionToken::as_str);
        let former = self.state.former(&object.id)?;
        former.mode_if_same(&object.name, object.kind, version)
    }

    /// Returns the permission bits for an object that has the bits `old`, if the workspace has
    /// `mode`.
    pub(super) fn mode_for(&mut self, path: &Path, mode: u32, old: u32) -> u32 {
        let added = mode & 0o111 & !old;
        if self.options.trust == TrustPolicy::AnyAuthor || added == 0 {
            return mode;
        }
        self.reporter.skip(path, NoticeReason::Executable);
        mode & !added
    }

    /// Returns the path on disk of a location.
    pub(super) fn path_of_location(&self, place: &ObjectLocation) -> PathBuf {
        let above = place.parent.as_ref().map(|parent| self.state.path(parent));
        above.unwrap_or_default().join(&place.name)
    }

    /// Opens a directory that the state knows on disk.
    pub(super) fn open_directory_of(&self, parent: Option<&FileId>) -> io::Result<ConfinedDir> {
        match parent {
            None => Ok(self.directory.root.root()),
            Some(parent) if self.state.get(parent).is_none() => Err(io::ErrorKind::NotFound.into()),
            Some(parent) => self.directory.root.dir(&self.state.path(parent)),
        }
    }

    /// Keeps writers out of a file if no program has it open for writing, and readers as well if
    /// the mirror watches for the file's first reader.
    pub(super) fn lease_file<'a>(&self, id: Option<&FileId>, file: &'a File) -> OpenWriters<'a> {
        match id.is_some_and(|id| self.unread.is_watched(id)) {
            true => OpenWriters::alone(file),
            false => OpenWriters::of(file),
        }
    }

    /// Reads a file, without counting as the program that first reads it.
    pub(super) fn read_open(
        &mut self,
        id: Option<&FileId>,
        file: &File,
        writers: &OpenWriters<'_>,
    ) -> io::Result<(Vec<u8>, HostStat)> {
        let max_len = self.options.max_file_len;
        let Some(id) = id.filter(|_| writers.is_alone()) else {
            return read_open_file(file, max_len);
        };
        self.unread.catch_up();
        let read = read_open_file(file, max_len);
        self.unread.ignore_own(id);
        read
    }
}
