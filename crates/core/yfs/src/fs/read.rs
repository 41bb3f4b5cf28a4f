//! The reading calls.

use bytes::Bytes;
use serde_json::Value;
use yfs_engine::{
    id::FileId,
    main_doc::MainDoc,
    path::VPath,
    table::{BlobRef, RowAttributes},
    time::Millis,
    tree::{FinalLink, NodeRef},
};
use yfs_store::{DocHead, DocName};
use yfs_vfs::{
    DirEntry, FileContent, FileKind, FsCode, FsError, Op, Stat,
    stat::{DEFAULT_DIRECTORY_MODE, mime_of},
};

use super::{
    WorkspaceFs,
    convert_types::{
        ContentLocation, ResolvedFile, bytes_of, file_kind, fs_error, mode_of, resolve_file,
        version_token,
    },
};
use crate::{
    error::WorkspaceError, json_convert::to_json, state::WorkspaceState, store_keys::CREATED_KEY,
};

/// The member of a row's `meta` for the media type.
pub(crate) const MIME_KEY: &str = "mime";

/// The member of a row's `meta` for the custom metadata.
pub(crate) const CUSTOM_KEY: &str = "custom";

fs_part! {
    /// The calls that read.
    FileContentReader, reader
}

impl WorkspaceFs {
    /// Reads the log first if no thread follows it.
    pub(super) fn refresh_if_unfollowed(&self, op: Op) -> Result<(), FsError> {
        self.state.refresh().map_err(|error| fs_error(error, op, &VPath::root()))
    }
}

impl FileContentReader<'_> {
    /// Returns the attributes of the object at a path, or `None` if there is none.
    pub(crate) fn stat_if_exists(&self, path: &VPath) -> Result<Option<Stat>, FsError> {
        match self.stat(path, Op::Lstat) {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if error.code == FsCode::ENOENT => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reports whether a file has exactly this content.
    pub(crate) fn has_content(&self, path: &VPath, data: &[u8]) -> Result<bool, FsError> {
        Ok(self.read(path)?.data == data)
    }

    pub(crate) fn read(&self, path: &VPath) -> Result<FileContent, FsError> {
        self.refresh_if_unfollowed(Op::Open)?;
        let found = self.resolve_file(&self.state.main.read(), Op::Open, path)?;
        self.read_found(path, &found)
    }

    /// Reads a resolved file.
    pub(super) fn read_found(
        &self,
        path: &VPath,
        found: &ResolvedFile,
    ) -> Result<FileContent, FsError> {
        match found.location {
            ContentLocation::Text => {
                let text = self.state.texts.read(&self.state, &found.id);
                let text = text.map_err(|error| fs_error(error, Op::Read, path))?;
                let version = version_token(text.head, &ContentLocation::Text);
                Ok(FileContent { data: bytes_of(text.content), version })
            }
            ContentLocation::Blob(blob) => {
                let version = self.refreshed_version_of(found, path)?;
                let data = self.read_blob(path, blob, 0, blob.size)?;
                Ok(FileContent { data, version })
            }
        }
    }

    pub(crate) fn read_range(&self, path: &VPath, offset: u64, len: u64) -> Result<Bytes, FsError> {
        self.refresh_if_unfollowed(Op::Open)?;
        let found = self.resolve_file(&self.state.main.read(), Op::Open, path)?;
        if let ContentLocation::Blob(blob) = found.location {
            let start = offset.min(blob.size);
            return self.read_blob(path, blob, start, start.saturating_add(len).min(blob.size));
        }
        let text = self
            .state
            .texts
            .read(&self.state, &found.id)
            .map_err(|error| fs_error(error, Op::Read, path))?;
        let data = bytes_of(text.content);
        let start = offset.min(data.len() as u64);
        let end = start.saturating_add(len).min(data.len() as u64);
        Ok(data.slice(start as usize..end as usize))
    }

    /// Returns a range of a blob.
    pub(super) fn read_blob(
        &self,
        path: &VPath,
        blob: BlobRef,
        start: u64,
        end: u64,
    ) -> Result<Bytes, FsError> {
        let bytes = self.state.store.read_blob(&blob.hash, start..end);
        let bytes =
            bytes.map_err(|error| fs_error(WorkspaceError::Store(error), Op::Read, path))?;
        Ok(bytes.into())
    }

    /// Returns the token of a file's current state.
    pub(super) fn version_of(
        &self,
        found: &ResolvedFile,
        path: &VPath,
    ) -> Result<yfs_vfs::VersionToken, FsError> {
        let head = self.state.store.doc_head(&DocName::from(&found.id));
        let head = head.map_err(|error| fs_error(error.into(), Op::Stat, path))?;
        Ok(version_token(head, &found.location))
    }

    /// Returns the token of a file's state as of the last [refresh](Self::refresh_if_unfollowed),
    /// without reading the log again.
    pub(super) fn refreshed_version_of(
        &self,
        found: &ResolvedFile,
        path: &VPath,
    ) -> Result<yfs_vfs::VersionToken, FsError> {
        let head = self.state.store.tailed_doc_head(&DocName::from(&found.id));
        let head = head.map_err(|error| fs_error(error.into(), Op::Stat, path))?;
        Ok(version_token(head, &found.location))
    }

    pub(crate) fn stat(&self, path: &VPath, op: Op) -> Result<Stat, FsError> {
        self.refresh_if_unfollowed(op)?;
        let follow = if op == Op::Lstat { FinalLink::No } else { FinalLink::Yes };
        let shown = {
            let main = self.state.main.read();
            let node = self.resolve(&main, op, path, follow)?;
            node_stat(&main, node)
        };
        match shown {
            Some((stat, location)) => self.stat_of(stat, location, path),
            None => self.stat_of_root().map_err(|error| fs_error(error, op, path)),
        }
    }

    fn stat_of_root(&self) -> Result<Stat, WorkspaceError> {
        let mut stat = Stat::new(self.state.id.clone(), FileKind::Directory);
        stat.mode = DEFAULT_DIRECTORY_MODE;
        (stat.created, stat.mtime) = self.state.times_of_root()?;
        Ok(stat)
    }

    /// Sets the attributes that come from the content rather than from the row, without the main
    /// document's lock.
    fn stat_of(
        &self,
        mut stat: Stat,
        location: ContentLocation,
        path: &VPath,
    ) -> Result<Stat, FsError> {
        let mut measured = MeasuredContent {
            is_text: stat.kind == FileKind::File && location == ContentLocation::Text,
            size: &mut stat.size,
            mtime: &mut stat.mtime,
        };
        let is_known = self.state.measure(&stat.id, &mut measured);
        if !is_known {
            stat.size = self
                .state
                .text_size_or(&stat.id, stat.size)
                .map_err(|error| fs_error(error, Op::Stat, path))?;
        }
        if stat.kind == FileKind::File {
            let found = ResolvedFile { location, id: stat.id.clone() };
            stat.version = Some(self.refreshed_version_of(&found, path)?);
        }
        Ok(stat)
    }

    pub(crate) fn readdir(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError> {
        self.refresh_if_unfollowed(Op::Scandir)?;
        let mut entries = Vec::new();
        let mut texts = Vec::new();
        {
            let main = self.state.main.read();
            let node = self.resolve(&main, Op::Scandir, path, FinalLink::Yes)?;
            if !node.is_directory() {
                return Err(FsError::new(FsCode::ENOTDIR, Op::Scandir, path));
            }
            let directory = node.path();
            main.for_each_child(node.id(), |id, name, row| {
                if !self.lists(&directory, name) {
                    return;
                }
                let (entry, is_text) = row_entry(id, name, &row);
                entries.push(entry);
                texts.push(is_text);
            });
        }
        let measured = self.state.measure_all(entries.iter_mut().zip(&texts));
        measured.map_err(|error| fs_error(error, Op::Scandir, path))?;
        Ok(entries)
    }

    pub(crate) fn readlink(&self, path: &VPath) -> Result<String, FsError> {
        self.refresh_if_unfollowed(Op::Readlink)?;
        let main = self.state.main.read();
        let node = self.resolve(&main, Op::Readlink, path, FinalLink::No)?;
        let target = node.link().map(str::to_owned);
        target.ok_or_else(|| FsError::new(FsCode::EINVAL, Op::Readlink, path))
    }

    pub(crate) fn realpath(&self, path: &VPath) -> Result<VPath, FsError> {
        self.refresh_if_unfollowed(Op::Realpath)?;
        let main = self.state.main.read();
        Ok(self.resolve(&main, Op::Realpath, path, FinalLink::Yes)?.path())
    }
}

impl WorkspaceState {
    /// Sets the known attributes of a content. Reports whether they are complete; if not, the
    /// length of the text must be read.
    fn measure(&self, id: &FileId, measured: &mut MeasuredContent<'_>) -> bool {
        let (size, touched) = self.texts.live.get(id);
        if let Some(touched) = touched {
            *measured.mtime = touched.max(*measured.mtime);
        }
        match size {
            _ if !measured.is_text => true,
            Some(size) => {
                *measured.size = size;
                true
            }
            None => false,
        }
    }

    /// Measures a listing; unknown lengths are read in one call.
    pub(crate) fn measure_all<'a>(
        &self,
        entries: impl Iterator<Item = (&'a mut DirEntry, &'a bool)>,
    ) -> Result<(), WorkspaceError> {
        let mut unknown = Vec::new();
        for (entry, is_text) in entries {
            let (size, mtime) = (&mut entry.size, &mut entry.mtime);
            let mut measured = MeasuredContent { is_text: *is_text, size, mtime };
            if !self.measure(&entry.id, &mut measured) {
                unknown.push(entry);
            }
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let names: Vec<DocName> = unknown.iter().map(|entry| DocName::from(&entry.id)).collect();
        for (entry, fact) in unknown.into_iter().zip(self.store.doc_facts(&names)?) {
            match fact {
                Some(fact) => {
                    self.texts.live.set_size(&entry.id, fact.size);
                    entry.size = fact.size;
                }
                None => entry.size = self.text_size_or(&entry.id, entry.size)?,
            }
        }
        Ok(())
    }

    /// Returns the creation time of the workspace, and the time of the last change of its root
    /// directory.
    fn times_of_root(&self) -> Result<(Millis, Millis), WorkspaceError> {
        let created = self.store.get_meta(CREATED_KEY)?;
        let created = created.and_then(|bytes| String::from_utf8(bytes).ok()?.parse().ok());
        let created = created.map_or(Millis(0), Millis);
        let main = self.main.read();
        let root = main.tree().root();
        let here = root.children().map(|(_, child)| child).chain(root.trashed_children());
        let changed = here.filter_map(|child| main.files().get(child.id()?)).map(|entry| {
            let structural = Millis::from_f64(entry.structural_ts);
            structural.max(entry.row.created_at)
        });
        let changed = changed.max().unwrap_or(created).max(created);
        Ok((if created == Millis(0) { changed } else { created }, changed))
    }

    /// Returns the length of a text; if the text has not arrived or is damaged, the length that its
    /// author reported.
    fn text_size_or(&self, id: &FileId, reported: u64) -> Result<u64, WorkspaceError> {
        if self.store.tailed_doc_head(&DocName::from(id))? == DocHead::ZERO {
            return Ok(reported);
        }
        match self.texts.size(self, id) {
            Err(WorkspaceError::Damaged(_)) => Ok(reported),
            size => size,
        }
    }

    /// Resolves the path of a file, through links.
    pub(crate) fn resolve_file(&self, path: &VPath) -> Result<FileId, FsError> {
        Ok(resolve_file(&self.main.read(), Op::Open, path)?.id)
    }
}

/// The content attributes from a row, to be corrected by the content itself.
struct MeasuredContent<'a> {
    /// Whether the content is a text, for which the row may have an outdated length.
    is_text: bool,
    size: &'a mut u64,
    mtime: &'a mut Millis,
}

/// Returns the attributes of a node from its row; `None` for the root.
fn node_stat(main: &MainDoc, node: NodeRef<'_>) -> Option<(Stat, ContentLocation)> {
    let id = node.id()?;
    let row = main.files().attributes(id)?;
    let kind = file_kind(&row);
    let mut stat = Stat::new(id.clone(), kind);
    stat.mode = mode_of(&row);
    (stat.size, stat.mtime) = (reported_size(&row), row.updated_at);
    stat.created = row.created_at;
    if kind == FileKind::File {
        let mime = meta_member(&row, MIME_KEY);
        stat.mime = Some(match mime {
            Some(Value::String(mime)) => mime.into(),
            _ => mime_of(node.name()),
        });
    }
    if let Some(Value::Object(custom)) = meta_member(&row, CUSTOM_KEY) {
        stat.metadata = custom;
    }
    Some((stat, row.blob.map_or(ContentLocation::Text, |blob| ContentLocation::Blob(*blob))))
}

/// Returns the entry of a listing from its row, and whether its content is a text.
pub(crate) fn node_entry(main: &MainDoc, child: NodeRef<'_>) -> Option<(DirEntry, bool)> {
    let id = child.id()?;
    Some(row_entry(id, child.name(), &main.files().attributes(id)?))
}

pub(super) fn row_entry(id: &FileId, name: &str, row: &RowAttributes<'_>) -> (DirEntry, bool) {
    let mut entry = DirEntry::new(name, id.clone(), file_kind(row));
    entry.mode = mode_of(row);
    (entry.size, entry.mtime) = (reported_size(row), row.updated_at);
    let is_text = entry.kind == FileKind::File && row.blob.is_none();
    (entry, is_text)
}

/// Returns the length that the file's row reports.
fn reported_size(row: &RowAttributes<'_>) -> u64 {
    match (file_kind(row), row.blob) {
        (FileKind::Directory, _) => 0,
        (FileKind::Symlink, _) => row.link.map_or(0, |link| link.len() as u64),
        (_, Some(blob)) => blob.size,
        (_, None) => row.size,
    }
}

fn meta_member(row: &RowAttributes<'_>, key: &str) -> Option<Value> {
    let Some(yfs_engine::Any::Map(meta)) = row.meta else { return None };
    meta.get(key).map(to_json)
}
