//! What the index keeps of the files that are not text: enough to name them without their rows.
//!
//! A search reports these files, but does not read them. In a tree of many pictures, looking up
//! the row of each would cost more than the search.
//!
//! # Invariants
//!
//! A place is what the row of the file stores. It is the current one unless the row changed after
//! the position of the index. The directory is looked up by each search, because its path can
//! change with other rows. A name is the one shown unless a row that changed stores it, too.

use std::collections::{BTreeSet, HashMap, HashSet};

use smol_str::{SmolStr, ToSmolStr};
use yfs_engine::{
    id::FileId,
    lib0::{Lib0Error, Lib0Reader, write_string, write_var_uint},
    main_doc::MainDoc,
    path::{MAX_PATH_LEN, VPath},
    tree::{NodeRef, TreeIndex},
};
use yfs_vfs::{DirEntry, FileKind, WalkEntry};

/// A file that is not text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BinaryFile {
    /// The size of its content in bytes.
    pub(super) size: u64,
    pub(super) place: BinaryPlace,
}

/// The place of a file that is not text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BinaryPlace {
    /// It is not shown where its row says, or not under the name that its row stores.
    LookedUp,
    /// It is itself trashed.
    Trashed,
    Listed {
        /// The directory; `None` is the root.
        parent: Option<FileId>,
        name: SmolStr,
    },
}

impl BinaryPlace {
    pub(super) fn of(main: &MainDoc, id: &FileId) -> Self {
        match main.tree().node(id) {
            Some(node) if node.is_trashed() => Self::Trashed,
            Some(node) if !node.is_displaced() && node.name() == node.stored_name() => {
                let parent = node.stored_parent().cloned();
                Self::Listed { parent, name: node.name().into() }
            }
            _ => Self::LookedUp,
        }
    }
}

impl BinaryFile {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut value = Vec::new();
        write_var_uint(&mut value, self.size);
        match &self.place {
            BinaryPlace::LookedUp => write_var_uint(&mut value, 0),
            BinaryPlace::Trashed => write_var_uint(&mut value, 1),
            BinaryPlace::Listed { parent, name } => {
                write_var_uint(&mut value, 2);
                write_string(&mut value, name);
                write_string(&mut value, parent.as_ref().map_or("", FileId::as_str));
            }
        }
        value
    }

    pub(super) fn parse(value: &[u8]) -> Result<Self, Lib0Error> {
        let mut reader = Lib0Reader::new(value);
        let size = reader.var_uint()?;
        let place = match reader.var_uint()? {
            0 => BinaryPlace::LookedUp,
            1 => BinaryPlace::Trashed,
            2 => {
                let name = reader.string()?.to_smolstr();
                let parent = reader.string()?;
                let parent = (!parent.is_empty()).then(|| FileId::parse(parent));
                let parent = parent.transpose().map_err(|_| Lib0Error::End)?;
                BinaryPlace::Listed { parent, name }
            }
            _ => return Err(Lib0Error::End),
        };
        Ok(Self { size, place })
    }
}

/// The places that rows which changed after the position of an index may have changed, too.
#[derive(Debug, Default)]
pub(super) struct ChangedPlaces {
    rows: BTreeSet<FileId>,
    /// The directories and names that changed rows store.
    names: HashSet<(Option<FileId>, SmolStr)>,
    /// The directories in which any entry may be shown under another name; `None` is the root.
    directories: HashSet<Option<FileId>>,
}

impl ChangedPlaces {
    pub(super) fn new(tree: &TreeIndex, rows: BTreeSet<FileId>) -> Self {
        let mut places = Self { rows, ..Self::default() };
        for id in &places.rows {
            let Some(node) = tree.node(id) else {
                // What was in a directory that is no more is shown in the root.
                places.directories.insert(None);
                continue;
            };
            if node.is_directory() {
                // It can have been in a cycle, which other directories leave or enter.
                places.directories.insert(None);
            }
            let parent = node.parent().and_then(|parent| parent.id()).cloned();
            if node.name() == node.stored_name() {
                places.names.insert((parent, node.name().into()));
            } else {
                places.directories.insert(parent);
            }
        }
        places
    }

    /// Reports whether a file is possibly elsewhere, or shown under another name, than the index
    /// has it.
    pub(super) fn has(&self, id: &FileId, place: &BinaryPlace) -> bool {
        let BinaryPlace::Listed { parent, name } = place else { return self.rows.contains(id) };
        self.rows.contains(id)
            || self.directories.contains(parent)
            || (!self.names.is_empty() && self.names.contains(&(parent.clone(), name.clone())))
    }
}

/// The files that are not text, below a directory.
#[derive(Debug, Default)]
pub(super) struct NamedBinaryFiles {
    pub(super) files: Vec<WalkEntry>,
    /// Those that must be looked up.
    pub(super) looked_up: HashSet<FileId>,
    /// The number of directories that were looked up.
    pub(super) n_directories: usize,
}

/// Where a directory is.
#[derive(Debug)]
enum BinaryDirectory {
    Below(VPath),
    /// Hidden, or not below the root of the search.
    Excluded,
    /// Its files are shown elsewhere.
    Missing,
}

impl NamedBinaryFiles {
    /// Names files by what the index has of them, if they are below a directory; `None` if they
    /// can only be named by a walk, or more than `max` nodes must be looked up.
    pub(super) fn find(
        tree: &TreeIndex,
        root: &VPath,
        known: &[(FileId, BinaryFile)],
        changed: &ChangedPlaces,
        max: usize,
    ) -> Option<Self> {
        let mut named = Self::default();
        let mut directories = HashMap::new();
        for (id, BinaryFile { size, place }) in known {
            if named.looked_up.len() + directories.len() > max {
                return None;
            }
            let (parent, name) = match place {
                _ if changed.has(id, place) => {
                    named.looked_up.insert(id.clone());
                    continue;
                }
                BinaryPlace::Listed { parent, name } => (parent, name),
                BinaryPlace::Trashed => continue,
                BinaryPlace::LookedUp => {
                    named.looked_up.insert(id.clone());
                    continue;
                }
            };
            let directory = directories
                .entry(parent.as_ref())
                .or_insert_with(|| BinaryDirectory::find(tree, parent.as_ref(), root));
            match directory {
                BinaryDirectory::Below(path) => {
                    // A path that is too long is shown in another form.
                    if path.as_str().len() + 1 + name.len() > MAX_PATH_LEN {
                        return None;
                    }
                    let mut entry = DirEntry::new(name.clone(), id.clone(), FileKind::File);
                    entry.size = *size;
                    named.files.push(WalkEntry::new(path.join(name), entry));
                }
                BinaryDirectory::Excluded => {}
                BinaryDirectory::Missing => drop(named.looked_up.insert(id.clone())),
            }
        }
        named.n_directories = directories.len();
        Some(named)
    }
}

impl BinaryDirectory {
    fn find(tree: &TreeIndex, id: Option<&FileId>, root: &VPath) -> Self {
        let node = match id {
            None => Some(tree.root()),
            Some(id) => tree.node(id).filter(NodeRef::is_directory),
        };
        let Some(node) = node else { return Self::Missing };
        if !node.is_visible() {
            return Self::Excluded;
        }
        let path = node.path();
        match path.as_str().starts_with("/.id/") {
            true => Self::Missing,
            false if path.starts_with(root) => Self::Below(path),
            false => Self::Excluded,
        }
    }
}
