//! The objects of the workspace by id: for programs that keep a copy of the tree in sync, such as a
//! mirror.
//!
//! Paths change while a program keeps them; an id does not. Calls on files accept the path
//! `/.id/{id}`.

use std::sync::Arc;

use bytes::Bytes;
use smol_str::SmolStr;
use yfs_engine::{
    actor::Actor,
    content::{ContentDoc, Version},
    id::FileId,
    main_doc::MainDoc,
    path::VPath,
    table::RowAttributes,
    time::Millis,
    tree::NodeRef,
};
use yfs_store::DocName;
use yfs_vfs::{FileKind, FsError, VersionToken};

use crate::{
    WorkspaceFs,
    error::{Result, WorkspaceError},
    fs::{
        ContentLocation,
        batch::{NewNode, PreparedNode},
        bytes_of,
        durable_version::DurableVersion,
        file_kind, mode_of, version_token,
    },
    state::WorkspaceState,
};

/// The number of versions of a file that are compared at most to find one with certain bytes.
const MAX_COMPARED: usize = 64;

/// A visible object of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeNode {
    /// Its id, which never changes.
    pub id: FileId,
    /// The directory in which it is visible; `None` for the root.
    pub parent: Option<FileId>,
    /// Its visible name.
    pub name: SmolStr,
    /// The kind of object.
    pub kind: FileKind,
    /// Permission bits.
    pub mode: u32,
    /// When its content last changed.
    pub mtime: Millis,
    /// The target of a link.
    pub link: Option<SmolStr>,
    /// For a file, a version that changes with its content.
    pub version: Option<VersionToken>,
}

/// The content of a file, with a version that may be kept.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DurableContent {
    /// The bytes.
    pub data: Bytes,
    /// The version as in [`TreeNode::version`].
    pub version: VersionToken,
    /// The base to pass to a later write, however much later.
    pub base: VersionToken,
}

/// An object to create.
#[derive(Debug, Clone)]
pub struct NewObject {
    /// Its path; the parent directory exists, or is earlier in the same batch.
    pub path: VPath,
    /// Permission bits, if they differ from the default.
    pub mode: Option<u32>,
    /// The time of its last change, if it is not the current time.
    pub mtime: Option<Millis>,
    /// Its kind and content.
    pub content: NewNodeContent,
}

/// The kind and content of an object to create.
#[derive(Debug, Clone)]
pub enum NewNodeContent {
    /// A directory.
    Directory,
    /// A symbolic link with this target.
    Link(SmolStr),
    /// A file with these bytes.
    File(Bytes),
}

/// The files, directories and links of a workspace by their ids, for programs that keep a second
/// tree beside it ([`Workspace::nodes`](crate::Workspace::nodes)).
#[derive(Debug, Clone, Copy)]
pub struct Nodes<'w> {
    pub(super) state: &'w Arc<WorkspaceState>,
}

/// Finds the latest version that has a text, among those after the one that has another text.
fn find_text_after(doc: &ContentDoc, text: &str, earlier: &str) -> Option<VersionToken> {
    let n_versions = doc.timeline().versions().len();
    for index in (n_versions.saturating_sub(MAX_COMPARED)..n_versions).rev() {
        let Some(version) = doc.timeline().version(index) else { continue };
        match doc.text_at(&version) {
            Ok(then) if then == text => return Some(DurableVersion::Text(version).token()),
            Ok(then) if then == earlier => return None,
            _ => (),
        }
    }
    None
}

impl Nodes<'_> {
    /// Returns the path of a node; `None` if it is in the trash or unknown.
    pub fn path_of(&self, id: &FileId) -> Result<Option<VPath>> {
        self.state.refresh()?;
        Ok(self.state.main.read().tree().path_of(id))
    }

    /// Returns the object with an id, if it is visible.
    pub fn get(&self, id: &FileId) -> Result<Option<TreeNode>> {
        self.state.refresh()?;
        let found = {
            let main = self.state.main.read();
            let node = main.tree().node(id).filter(NodeRef::is_visible);
            node.and_then(|node| describe(&main, node))
        };
        let Some((mut object, location)) = found else { return Ok(None) };
        self.add_content_attributes(&mut object, location)?;
        Ok(Some(object))
    }

    /// Returns the object that a directory, or the root, shows under exactly this name.
    pub fn child(&self, parent: Option<&FileId>, name: &str) -> Result<Option<TreeNode>> {
        self.state.refresh()?;
        let found = {
            let main = self.state.main.read();
            let directory = match parent {
                None => Some(main.tree().root()),
                Some(id) => main.tree().node(id).filter(NodeRef::is_visible),
            };
            let child = directory.and_then(|directory| main.tree().child(directory, name));
            // A node with another visible name may be found by this one, too; it does not count.
            child.filter(|child| child.name() == name).and_then(|child| describe(&main, child))
        };
        let Some((mut object, location)) = found else { return Ok(None) };
        self.add_content_attributes(&mut object, location)?;
        Ok(Some(object))
    }

    /// Lists all objects below a directory, or below the root: each directory before its entries.
    pub fn objects(&self, below: Option<&FileId>) -> Result<Vec<TreeNode>> {
        self.state.refresh()?;
        let mut found = Vec::new();
        {
            let main = self.state.main.read();
            let is_there = |id| main.tree().node(id).is_some_and(|node| node.is_visible());
            if below.is_none_or(is_there) {
                add_entries(&main, below, &mut found);
            }
            let mut at = 0;
            while let Some((object, _)) = found.get(at) {
                if object.kind == FileKind::Directory {
                    let id = object.id.clone();
                    add_entries(&main, Some(&id), &mut found);
                }
                at += 1;
            }
        }
        let mut objects = Vec::with_capacity(found.len());
        for (mut object, location) in found {
            self.add_content_attributes(&mut object, location)?;
            objects.push(object);
        }
        Ok(objects)
    }

    /// Returns the content of a file, with a base for later writes.
    ///
    /// # Errors
    ///
    /// Fails with [`WorkspaceError::NoFile`] if it is not a file, or in the trash; with
    /// [`WorkspaceError::Damaged`] if some of its records cannot be read; with
    /// [`WorkspaceError::ContentLost`] if its content was set aside and has not come back.
    pub fn read_durable(&self, id: &FileId) -> Result<DurableContent> {
        self.state.refresh()?;
        let location = self.visible_location(id)?;
        match location {
            ContentLocation::Text => self.read_durable_text(id, &location),
            ContentLocation::Blob(blob) => {
                let head = self.state.store.doc_head(&DocName::from(id))?;
                let data = self.state.store.read_blob(&blob.hash, 0..blob.size)?;
                let base = DurableVersion::Blob(blob.hash).token();
                Ok(DurableContent {
                    data: data.into(),
                    version: version_token(head, &location),
                    base,
                })
            }
        }
    }

    fn read_durable_text(&self, id: &FileId, location: &ContentLocation) -> Result<DurableContent> {
        self.state.documents.read_once(id, |loaded| {
            loaded.check_readable(id)?;
            let data = bytes_of(loaded.doc.text().into());
            // A document in which the CRDT library panicked reads as empty.
            loaded.doc.gate().health()?;
            let version = version_token(loaded.head, location);
            let base = DurableVersion::Text(loaded.doc.version()).token();
            Ok(DurableContent { data, version, base })
        })?
    }

    /// Finds a version of a file with exactly this content, to be passed as the base of a write:
    /// the last such one among the latest versions. Returns `None` if there is none.
    pub fn find_base(&self, id: &FileId, data: &[u8]) -> Result<Option<VersionToken>> {
        let location = self.visible_location(id)?;
        let text = std::str::from_utf8(data).ok();
        self.state.documents.acquire(id).with(|loaded| match (&location, text) {
            (ContentLocation::Text, Some(text)) => {
                let n_versions = loaded.doc.timeline().versions().len();
                let latest = (n_versions.saturating_sub(MAX_COMPARED)..n_versions).rev();
                let mut versions = latest.filter_map(|index| loaded.doc.timeline().version(index));
                let found = versions
                    .find(|version| loaded.doc.text_at(version).is_ok_and(|then| then == text));
                // Every file was empty before its first edit, which no version says.
                let found = found.or_else(|| text.is_empty().then(Version::empty));
                found.map(|version| DurableVersion::Text(version).token())
            }
            (ContentLocation::Blob(_), _) => {
                let hash = yfs_engine::hash::ContentHash::of(data);
                let is_known = loaded.doc.blobs().versions().iter().any(|blob| blob.hash == hash);
                is_known.then(|| DurableVersion::Blob(hash).token())
            }
            _ => None,
        })
    }

    /// Finds a version of a file with exactly this content that is later than another version, to
    /// be passed as the base of a write. Returns `None` if there is none among the latest versions.
    ///
    /// A program whose memory is older than the workspace learns from it that a content is no edit.
    pub fn find_base_after(
        &self,
        id: &FileId,
        data: &[u8],
        earlier: &VersionToken,
    ) -> Result<Option<VersionToken>> {
        let location = self.visible_location(id)?;
        let text = std::str::from_utf8(data).ok();
        self.state.documents.acquire(id).with(|loaded| {
            match (&location, text, DurableVersion::of_token(earlier)) {
                (ContentLocation::Text, Some(text), Some(DurableVersion::Text(earlier))) => {
                    let earlier = loaded.doc.text_at(&earlier).ok()?;
                    find_text_after(&loaded.doc, text, &earlier)
                }
                (ContentLocation::Blob(_), _, Some(DurableVersion::Blob(earlier))) => {
                    let hash = yfs_engine::hash::ContentHash::of(data);
                    let versions = loaded.doc.blobs().versions();
                    let mut later =
                        versions.iter().rev().take_while(|version| version.hash != earlier);
                    let is_later = later.any(|version| version.hash == hash);
                    is_later.then(|| DurableVersion::Blob(hash).token())
                }
                _ => None,
            }
        })
    }

    /// Returns the length of all text ever inserted into a file on behalf of an actor: it grows
    /// with each insertion. An interrupted writer learns from it whether its text was written.
    pub fn n_written_by(&self, id: &FileId, actor: &Actor) -> Result<u64> {
        self.state.refresh()?;
        self.state.documents.acquire(id).with(|loaded| {
            let entries =
                loaded.doc.log().entries().into_iter().filter(|entry| entry.actor == *actor);
            let lengths = entries.map(|entry| {
                let end = entry.to.unwrap_or_else(|| loaded.doc.gate().clock_of(entry.client));
                u64::from(end.saturating_sub(entry.from))
            });
            lengths.sum()
        })
    }

    fn visible_location(&self, id: &FileId) -> Result<ContentLocation> {
        let main = self.state.main.read();
        let is_visible = main.tree().node(id).is_some_and(|node| node.is_visible());
        let row = main.files().attributes(id).filter(|_| is_visible);
        let row = row.ok_or_else(|| WorkspaceError::NoFile(id.clone()))?;
        match file_kind(&row) {
            FileKind::File => {
                Ok(row.blob.map_or(ContentLocation::Text, |blob| ContentLocation::Blob(*blob)))
            }
            _ => Err(WorkspaceError::NoFile(id.clone())),
        }
    }

    /// Sets the attributes that come from the content rather than from the row.
    fn add_content_attributes(
        &self,
        object: &mut TreeNode,
        location: ContentLocation,
    ) -> Result<()> {
        if let (_, Some(touched)) = self.state.texts.live.get(&object.id) {
            object.mtime = touched.max(object.mtime);
        }
        if object.kind == FileKind::File {
            // The callers have just read the log.
            let head = self.state.store.tailed_doc_head(&DocName::from(&object.id))?;
            object.version = Some(version_token(head, &location));
        }
        Ok(())
    }
}

impl WorkspaceFs {
    /// Creates many objects in one transaction, and returns the id of each. An object that cannot
    /// be created is left out, with its error: `EEXIST` if the path exists.
    ///
    /// # Errors
    ///
    /// Fails if the store does; then nothing was created.
    pub fn make_many(
        &self,
        objects: &[NewObject],
    ) -> Result<Vec<Result<FileId, FsError>>, FsError> {
        let fs = self.in_own_step();
        let mut nodes = Vec::with_capacity(objects.len());
        for object in objects {
            let content = match &object.content {
                NewNodeContent::Directory => PreparedNode::Directory,
                NewNodeContent::Link(target) => fs.prepare_link(target),
                NewNodeContent::File(data) => PreparedNode::File(fs.prepare(&object.path, data)?),
            };
            let NewObject { path, mode, mtime, .. } = object.clone();
            nodes.push(NewNode { path, mode, mtime, content });
        }
        Ok(fs.create_many(&nodes)?.ids)
    }
}

/// Adds the entries of a directory, or of the root. Nodes that are not in memory are not kept.
fn add_entries(
    main: &MainDoc,
    directory: Option<&FileId>,
    found: &mut Vec<(TreeNode, ContentLocation)>,
) {
    main.for_each_child(directory, |id, name, row| {
        found.push(describe_row(id, directory.cloned(), name, &row));
    });
}

fn describe(main: &MainDoc, node: NodeRef<'_>) -> Option<(TreeNode, ContentLocation)> {
    let id = node.id()?;
    let row = main.files().attributes(id)?;
    let parent = node.parent().and_then(|parent| parent.id().cloned());
    Some(describe_row(id, parent, node.name(), &row))
}

fn describe_row(
    id: &FileId,
    parent: Option<FileId>,
    name: &str,
    row: &RowAttributes<'_>,
) -> (TreeNode, ContentLocation) {
    let object = TreeNode {
        id: id.clone(),
        parent,
        name: name.into(),
        kind: file_kind(row),
        mode: mode_of(row),
        mtime: row.updated_at,
        link: row.link.map(SmolStr::new),
        version: None,
    };
    (object, row.blob.map_or(ContentLocation::Text, |blob| ContentLocation::Blob(*blob)))
}
