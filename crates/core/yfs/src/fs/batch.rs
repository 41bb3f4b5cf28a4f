//! Creation of many objects in one transaction, as an import needs it.

use std::collections::{HashMap, HashSet};

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
use yfs_store::DocName;
use yfs_vfs::{FsCode, FsError, Op, WalkEntry, WalkOptions};

use super::{
    WorkspaceFs,
    convert_types::{fs_error, lookup_error},
    structure::new_doc,
    write::NewFileContent,
};
use crate::{
    commit::{NewDocument, StructureAccess, Transaction},
    import::label::import_label,
    workspace::noted_imports::{LogRun, NotedImport},
};

/// An object to create.
#[derive(Debug)]
pub(crate) struct NewNode {
    /// Its path; the parent directory exists, or is earlier in the same batch.
    pub(crate) path: VPath,
    /// Permission bits.
    pub(crate) mode: Option<u32>,
    /// The time of the last change.
    pub(crate) mtime: Option<Millis>,
    /// The kind and content of the object.
    pub(crate) content: PreparedNode,
}

/// The result of creating many objects.
#[derive(Debug)]
pub(crate) struct CreatedNodes {
    /// The id of each object, or the error for which it was left out.
    pub(crate) ids: Vec<Result<FileId, FsError>>,
    /// The records of the new contents, with that of the rows; `None` if there is no content.
    pub(crate) run: Option<LogRun>,
}

/// The kind and content of an object to create.
#[derive(Debug)]
pub(crate) enum PreparedNode {
    /// A directory.
    Directory,
    /// A symbolic link.
    Link {
        /// Its id.
        id: FileId,
        /// The target of the link.
        target: SmolStr,
    },
    /// A file whose content was prepared.
    File(PreparedContent),
}

/// The content of a file to create.
#[derive(Debug)]
pub(crate) struct PreparedContent {
    id: FileId,
    size: u64,
    blob: Option<BlobRef>,
    /// The first update of its document; `None` if the file is empty.
    update: Option<Vec<u8>>,
}

/// The state of a batch while its objects are planned.
struct BatchPlanner<'a> {
    main: &'a MainDoc,
    now: Millis,
    /// The directories of this batch.
    directories: HashMap<VPath, FileId>,
    used_names: HashSet<(Option<FileId>, SmolStr)>,
    writes: Vec<RowWrite>,
    contents: Vec<NewDocument>,
}

impl NewNode {
    fn blob(&self) -> Option<ContentHash> {
        match &self.content {
            PreparedNode::File(prepared) => prepared.blob.map(|blob| blob.hash),
            _ => None,
        }
    }
}

impl PreparedContent {
    fn new(id: FileId, content: NewFileContent) -> Self {
        match content {
            NewFileContent::Text { update, size } => Self { id, size, blob: None, update },
            NewFileContent::Blob { blob, update } => {
                Self { id, size: blob.size, blob: Some(blob), update }
            }
        }
    }

    /// Returns the number of bytes that wait in memory.
    pub(crate) fn weight(&self) -> usize {
        self.update.as_ref().map_or(0, Vec::len)
    }
}

impl WorkspaceFs {
    /// Returns the same filesystem with a label of its own, and as one step, for the changes of an
    /// import from a source with this name.
    pub(crate) fn for_import(self, source: &str) -> Self {
        let label = import_label(&self.state.options.ids.file_id(), source);
        self.labelled(&label).in_own_step().into_owned()
    }

    /// Begins the note of an import by this filesystem.
    pub(crate) fn begin_import_note(&self) -> NotedImport {
        let label = self.author.label.clone().unwrap_or_default();
        NotedImport::begin(self.state.now(), self.author.actor.clone(), label)
    }

    /// Prepares a link to create.
    pub(crate) fn prepare_link(&self, target: &str) -> PreparedNode {
        PreparedNode::Link { id: self.state.options.ids.file_id(), target: target.into() }
    }

    /// Prepares the content of a file to create; bytes that are not text go to the store.
    pub(crate) fn prepare(&self, path: &VPath, data: &[u8]) -> Result<PreparedContent, FsError> {
        let id = self.state.options.ids.file_id();
        let content = self.writer().new_content(Op::Open, path, &id, data, &self.author(None))?;
        Ok(PreparedContent::new(id, content))
    }

    /// Prepares a file to create whose bytes are in the store already.
    pub(crate) fn prepare_blob(
        &self,
        path: &VPath,
        blob: BlobRef,
    ) -> Result<PreparedContent, FsError> {
        let id = self.state.options.ids.file_id();
        let content =
            self.writer().new_blob_content(Op::Open, path, &id, blob, &self.author(None))?;
        Ok(PreparedContent::new(id, content))
    }

    /// Creates many objects in one transaction. An object that cannot be created is left out, with
    /// its error.
    pub(crate) fn create_many(&self, nodes: &[NewNode]) -> Result<CreatedNodes, FsError> {
        let now = self.state.now();
        let by = Some(&self.author.actor);
        let author = self.content_author(&self.author);
        let made = self.state.commit(StructureAccess::Change, by, |main| {
            let mut planner = BatchPlanner::new(main, now, nodes.len());
            let results = nodes.iter().map(|node| planner.plan(node)).collect();
            let BatchPlanner { writes, contents, .. } = planner;
            let blobs = nodes.iter().filter_map(NewNode::blob).collect();
            let rows = Transaction::rows(writes, results);
            let transaction = Transaction { new_documents: contents, blobs, ..rows };
            self.check_rows(main, Op::Open, &VPath::root(), &transaction.main)?;
            Ok(transaction.by(main, &author))
        });
        let made = made.map_err(|error| fs_error(error, Op::Open, &VPath::root()))?;
        let last = made.new_documents.iter().max_by_key(|(_, seq)| **seq);
        let run = made.main.zip(last).map(|(first, (id, last))| LogRun {
            first,
            last: *last,
            last_doc: DocName::from(id),
        });
        Ok(CreatedNodes { ids: made.value, run })
    }

    /// Lists the entries of a directory with their paths.
    pub(crate) fn list_entries(&self, path: &VPath) -> Result<Vec<WalkEntry>, FsError> {
        self.lister().walk(path, &WalkOptions { max_depth: 1, ..WalkOptions::default() })
    }

    /// Lists all entries below a directory.
    pub(crate) fn list_all(&self, path: &VPath) -> Result<Vec<WalkEntry>, FsError> {
        self.lister().walk(path, &WalkOptions::default())
    }
}

impl<'a> BatchPlanner<'a> {
    fn new(main: &'a MainDoc, now: Millis, n_nodes: usize) -> Self {
        Self {
            main,
            now,
            directories: HashMap::new(),
            used_names: HashSet::new(),
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
        let parent = self.parent_id(&above, path)?;
        let key = (parent.clone(), name.to_smol_str());
        if self.used_names.contains(&key) {
            return Err(fail(FsCode::EEXIST));
        }
        if !self.directories.contains_key(&above)
            && let Some(directory) = self.find_existing(&above)
            && self.main.tree().child(directory, name.as_str()).is_some()
        {
            return Err(fail(FsCode::EEXIST));
        }
        let id = self.write(node, &name, parent);
        self.used_names.insert(key);
        Ok(id)
    }

    /// Returns the id of the parent directory of a new object; `None` for the root.
    fn parent_id(&self, above: &VPath, path: &VPath) -> Result<Option<FileId>, FsError> {
        if let Some(id) = self.directories.get(above) {
            return Ok(Some(id.clone()));
        }
        let node = self.main.tree().resolve(above, FinalLink::Yes);
        let node = node.map_err(|error| lookup_error(error, Op::Open, path))?;
        match node.is_directory() {
            true => Ok(node.id().cloned()),
            false => Err(FsError::new(FsCode::ENOTDIR, Op::Open, path)),
        }
    }

    fn find_existing(&self, above: &VPath) -> Option<NodeRef<'a>> {
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
        match &node.content {
            PreparedNode::Directory => {
                let (id, existing) =
                    self.main.tree().directory_id_for_creation(row.parent.as_ref(), name);
                self.directories.insert(node.path.clone(), id.clone());
                if existing.is_some() {
                    // An orphan that becomes visible in the directory made just before.
                    return id;
                }
                (row.id, row.kind) = (id.clone(), NodeKind::Directory);
                self.writes.push(RowWrite::Create { row, derived: true });
                return id;
            }
            PreparedNode::Link { id, target } => {
                row.id = id.clone();
                row.size = target.len() as u64;
                row.link = Some(target.clone());
            }
            PreparedNode::File(prepared) => {
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
