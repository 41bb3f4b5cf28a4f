//! Making many objects in one transaction: what import does.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use smol_str::SmolStr;
use yfs_engine::{
    hash::ContentHash,
    id::FileId,
    main_doc::MainDoc,
    name::NodeName,
    path::VPath,
    table::{BlobRef, FileRow, NodeKind, RowWrite},
    time::Millis,
    tree::{FinalLink, NodeRef},
};
use yfs_vfs::{
    FsCode, FsError, MkdirOptions, Op, RemoveOptions, Stat, WalkEntry, WalkOptions, WriteOptions,
};

use super::{
    WorkspaceFs,
    convert_types::{fs_error, lookup_error},
    structure::new_doc,
    write_content::NewFileContent,
};
use crate::commit::{NewDocument, StructureAccess, Transaction};

/// Something to be made.
#[derive(Debug)]
pub(crate) struct NewNode {
    /// Where; the folder above is there, or earlier in the same batch.
    pub(crate) path: VPath,
    /// Permission bits.
    pub(crate) mode: Option<u32>,
    /// The time of the last change.
    pub(crate) mtime: Option<Millis>,
    /// What.
    pub(crate) what: NewWhat,
}

/// What is to be made.
#[derive(Debug)]
pub(crate) enum NewWhat {
    /// A folder.
    Folder,
    /// A symbolic link.
    Link {
        /// Its id.
        id: FileId,
        /// Its text.
        target: SmolStr,
    },
    /// A file whose content was prepared.
    File(PreparedContent),
}

/// The content of a file that is not there yet.
#[derive(Debug)]
pub(crate) struct PreparedContent {
    id: FileId,
    size: u64,
    blob: Option<BlobRef>,
    /// The first update of its document; nothing if the file is empty.
    update: Option<Vec<u8>>,
}

/// Where the objects of a batch go, while they are planned.
struct BatchPlanner<'a> {
    main: &'a MainDoc,
    now: Millis,
    /// Folders of this batch.
    folders: HashMap<VPath, FileId>,
    taken: HashSet<(Option<FileId>, SmolStr)>,
    writes: Vec<RowWrite>,
    contents: Vec<NewDocument>,
}

impl NewNode {
    fn blob(&self) -> Option<ContentHash> {
        match &self.what {
            NewWhat::File(prepared) => prepared.blob.map(|blob| blob.hash),
            _ => None,
        }
    }
}

impl PreparedContent {
    /// Returns the number of bytes that wait in memory.
    pub(crate) fn weight(&self) -> usize {
        self.update.as_ref().map_or(0, Vec::len)
    }
}

impl WorkspaceFs {
    /// Returns the same filesystem with a label of its own for one operation of many changes.
    pub(crate) fn for_operation(self, what: &str) -> Self {
        let label = format!("{what} {}", self.state.options.ids.file_id());
        self.labelled(&label)
    }

    /// Prepares a link that is to be made.
    pub(crate) fn prepare_link(&self, target: &str) -> NewWhat {
        NewWhat::Link { id: self.state.options.ids.file_id(), target: target.into() }
    }

    /// Prepares the content of a file that is to be made; bytes that are no text go to the store.
    pub(crate) fn prepare(&self, path: &VPath, data: &[u8]) -> Result<PreparedContent, FsError> {
        let id = self.state.options.ids.file_id();
        let by = self.author(None);
        Ok(match self.new_content(Op::Open, path, &id, data, &by)? {
            NewFileContent::Text { update, size } => {
                PreparedContent { id, size, blob: None, update }
            }
            NewFileContent::Blob { blob, update } => {
                PreparedContent { id, size: blob.size, blob: Some(blob), update }
            }
        })
    }

    /// Makes many objects in one transaction, and returns their ids. What cannot be made is left out,
    /// and said why.
    pub(crate) fn create_many(
        &self,
        nodes: &[NewNode],
    ) -> Result<Vec<Result<FileId, FsError>>, FsError> {
        let now = self.state.now();
        let by = Some(&self.author.actor);
        let made = self.state.commit(StructureAccess::Change, by, |main| {
            let mut planner = BatchPlanner::new(main, now, nodes.len());
            let results = nodes.iter().map(|node| planner.plan(node)).collect();
            let BatchPlanner { writes, contents, .. } = planner;
            let blobs = nodes.iter().filter_map(NewNode::blob).collect();
            let rows = Transaction::rows(writes, results);
            let transaction = Transaction { new_documents: contents, blobs, ..rows };
            self.check_rows(main, Op::Open, &VPath::root(), &transaction.main)?;
            Ok(transaction)
        });
        let made = made.map_err(|error| fs_error(error, Op::Open, &VPath::root()))?;
        Ok(made.value)
    }

    /// Describes what is at a path, if anything is.
    pub(crate) fn look(&self, path: &VPath) -> Result<Option<Stat>, FsError> {
        match self.stat_now(path, Op::Lstat) {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if error.code == FsCode::ENOENT => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the text of the link at a path.
    pub(crate) fn link_target(&self, path: &VPath) -> Result<String, FsError> {
        self.readlink_now(path)
    }

    /// Makes a folder.
    pub(crate) fn make_folder(&self, path: &VPath, options: &MkdirOptions) -> Result<(), FsError> {
        self.mkdir_now(path, options)
    }

    /// Removes what is at a path.
    pub(crate) fn remove(&self, path: &VPath, options: &RemoveOptions) -> Result<(), FsError> {
        self.rm_now(path, options)
    }

    /// Returns what a file holds.
    pub(crate) fn content(&self, path: &VPath) -> Result<Bytes, FsError> {
        Ok(self.read_now(path)?.data)
    }

    /// Lists what lies below a folder.
    pub(crate) fn list_all(&self, path: &VPath) -> Result<Vec<WalkEntry>, FsError> {
        self.walk_now(path, &WalkOptions::default())
    }

    /// Returns whether a file holds exactly this.
    pub(crate) fn holds(&self, path: &VPath, data: &[u8]) -> Result<bool, FsError> {
        Ok(self.read_now(path)?.data == data)
    }

    /// Makes `data` the content of a file that is there, as the least edit.
    pub(crate) fn overwrite(
        &self,
        path: &VPath,
        data: &[u8],
        mode: Option<u32>,
        mtime: Option<Millis>,
    ) -> Result<(), FsError> {
        let options = WriteOptions { mode, mtime, follow: false, ..WriteOptions::default() };
        self.write_now(path, data, &options).map(drop)
    }
}

impl<'a> BatchPlanner<'a> {
    fn new(main: &'a MainDoc, now: Millis, n_nodes: usize) -> Self {
        Self {
            main,
            now,
            folders: HashMap::new(),
            taken: HashSet::new(),
            writes: Vec::with_capacity(n_nodes),
            contents: Vec::with_capacity(n_nodes),
        }
    }

    fn plan(&mut self, node: &NewNode) -> Result<FileId, FsError> {
        let path = &node.path;
        let fail = |code| FsError::new(code, Op::Open, path);
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(fail(FsCode::EEXIST));
        };
        let name = NodeName::new(name).map_err(|error| FsError::bad_name(Op::Open, path, error))?;
        let parent = self.folder(&above, path)?;
        let key = (parent.clone(), name.to_smol_str());
        if self.taken.contains(&key) {
            return Err(fail(FsCode::EEXIST));
        }
        if !self.folders.contains_key(&above)
            && let Some(folder) = self.existing(&above)
            && self.main.tree().child(folder, name.as_str()).is_some()
        {
            return Err(fail(FsCode::EEXIST));
        }
        let id = self.write(node, &name, parent);
        self.taken.insert(key);
        Ok(id)
    }

    /// Returns the id of the folder that something goes into; none for the root.
    fn folder(&self, above: &VPath, path: &VPath) -> Result<Option<FileId>, FsError> {
        if let Some(id) = self.folders.get(above) {
            return Ok(Some(id.clone()));
        }
        let node = self.main.tree().resolve(above, FinalLink::Yes);
        let node = node.map_err(|error| lookup_error(error, Op::Open, path))?;
        match node.is_directory() {
            true => Ok(node.id().cloned()),
            false => Err(FsError::new(FsCode::ENOTDIR, Op::Open, path)),
        }
    }

    fn existing(&self, above: &VPath) -> Option<NodeRef<'a>> {
        self.main.tree().resolve(above, FinalLink::Yes).ok()
    }

    fn write(&mut self, node: &NewNode, name: &NodeName, parent: Option<FileId>) -> FileId {
        let mut row = FileRow {
            id: self.main.tree().workspace().clone(),
            name: name.to_smol_str(),
            parent,
            kind: NodeKind::File,
            size: 0,
            created_at: self.now,
            updated_at: node.mtime.unwrap_or(self.now),
            trashed_at: None,
            mode: node.mode,
            link: None,
            blob: None,
            meta: None,
        };
        match &node.what {
            NewWhat::Folder => {
                let (id, there) =
                    self.main.tree().directory_id_for_creation(row.parent.as_ref(), name);
                self.folders.insert(node.path.clone(), id.clone());
                if there.is_some() {
                    // An orphan that waits for the folder above it, made just before.
                    return id;
                }
                (row.id, row.kind) = (id.clone(), NodeKind::Directory);
                self.writes.push(RowWrite::Create { row, derived: true });
                return id;
            }
            NewWhat::Link { id, target } => {
                row.id = id.clone();
                row.size = target.len() as u64;
                row.link = Some(target.clone());
            }
            NewWhat::File(prepared) => {
                row.id = prepared.id.clone();
                (row.size, row.blob) = (prepared.size, prepared.blob);
                let text_size = prepared.blob.is_none().then_some(prepared.size);
                let new = |update| new_doc(&prepared.id, &row.name, update, text_size);
                self.contents.extend(prepared.update.clone().map(new));
            }
        }
        let id = row.id.clone();
        self.writes.push(RowWrite::Create { row, derived: false });
        id
    }
}
