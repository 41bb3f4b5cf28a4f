//! Moving a file or folder to another workspace, with its ids and its history.

use std::io;

use yfs_engine::{
    hash::ContentHash,
    main_doc::MainDoc,
    ops,
    path::VPath,
    table::{FileRow, RowChanges, RowWrite},
    tree::{Follow, Place},
};
use yfs_vfs::{FsCode, FsError, Op};

use super::Workspace;
use crate::{
    any,
    error::{Result, WorkspaceError},
    fs::{lookup_error, op_error, resolve},
    shared::{NewDoc, Plan, Shared},
};

/// The member of a trashed row's `meta` that names the workspace that it was moved to.
pub const MOVED_KEY: &str = "moved";

/// A subtree on its way.
struct Parcel {
    /// The rows, each folder before what it holds; the first is what was moved.
    rows: Vec<FileRow>,
    /// Each content document as one update, with its history.
    contents: Vec<NewDoc>,
    /// The blobs that it needs.
    blobs: Vec<ContentHash>,
}

impl Workspace {
    /// Moves what is at `path` to `to` in another workspace. Files keep their ids, and so their content
    /// documents and all of their history; here they go to the trash.
    ///
    /// The copy is durable over there before anything changes here: whatever fails on the way, nothing
    /// is lost, and the call may be made again.
    ///
    /// # Errors
    ///
    /// `EEXIST` if something is at `to`, or if the other workspace shows one of the files already;
    /// `ENOENT` if the folder of `to` is missing; `EBUSY` for the root.
    pub fn move_to(&self, path: &VPath, other: &Self, to: &VPath) -> Result<()> {
        self.shared.check_writable()?;
        other.shared.check_writable()?;
        self.shared.catch_up()?;
        let by = Some(&self.shared.options.actor);
        let parcel = self.shared.pack(path)?;
        for hash in &parcel.blobs {
            copy_blob(&self.shared, &other.shared, hash)?;
        }
        other.shared.structural(by, |main| unpack(main, &parcel, to))?;
        other.flush()?;
        let (now, home) = (self.shared.now(), other.shared.id.clone());
        self.shared.structural(by, |main| {
            let mut writes = ops::plan_trash(main.tree(), path, now, true)
                .map_err(|error| WorkspaceError::Fs(op_error(error, Op::Rename, path)))?;
            for write in &mut writes {
                if let RowWrite::Update { changes, .. } = write {
                    let moved = serde_json::json!({ MOVED_KEY: home.as_str() });
                    changes.meta = Some(any::from_json(&moved));
                }
            }
            Ok::<_, WorkspaceError>(Plan::rows(writes, ()))
        })
    }
}

impl Shared {
    /// Takes a copy of a subtree.
    fn pack(&self, path: &VPath) -> Result<Parcel> {
        let rows: Vec<FileRow> = {
            let main = self.main.read();
            let top = resolve(&main, Op::Rename, path, Follow::No)?;
            if top.is_root() {
                return Err(FsError::new(FsCode::EBUSY, Op::Rename, path).into());
            }
            let nodes = std::iter::once(top).chain(top.walk());
            nodes.filter_map(|node| Some(main.files().get(node.id()?)?.row)).collect()
        };
        let mut parcel = Parcel { rows, contents: Vec::new(), blobs: Vec::new() };
        let files = parcel.rows.iter().filter(|row| row.kind == yfs_engine::table::NodeKind::File);
        for row in files {
            parcel.blobs.extend(row.blob.map(|blob| blob.hash));
            let (update, blobs, size) = self.pool.acquire(&row.id).with(|loaded| {
                let size = loaded.doc.text().len() as u64;
                (loaded.doc.gate().encode_state(), loaded.doc.blobs(), size)
            })?;
            parcel.blobs.extend(blobs.into_iter().map(|version| version.hash));
            // An empty document is two zeros.
            if update.len() > 2 {
                let text_size = row.blob.is_none().then_some(size);
                parcel.contents.push(NewDoc { id: row.id.clone(), update, text_size });
            }
        }
        parcel.blobs.sort();
        parcel.blobs.dedup();
        Ok(parcel)
    }
}

/// Plans the rows of a parcel at `to`.
fn unpack(main: &MainDoc, parcel: &Parcel, to: &VPath) -> Result<Plan<()>> {
    let fail = |code| WorkspaceError::Fs(FsError::new(code, Op::Rename, to));
    let place = main.tree().place(to, Follow::No);
    let place = place.map_err(|error| lookup_error(error, Op::Rename, to))?;
    let Place::Free { parent, name } = place else { return Err(fail(FsCode::EEXIST)) };
    let name = ops::check_name(&name, to).map_err(|error| op_error(error, Op::Rename, to))?;
    let mut writes = Vec::with_capacity(parcel.rows.len());
    for (at, row) in parcel.rows.iter().enumerate() {
        let mut row = row.clone();
        row.trashed_at = None;
        if at == 0 {
            row.name = name.to_smol_str();
            row.parent = parent.id().cloned();
        }
        let known = main.tree().node(&row.id);
        writes.push(match known {
            None => RowWrite::Create { row, derived: false },
            Some(node) if node.is_visible() => return Err(fail(FsCode::EEXIST)),
            // It was here before, and comes back.
            Some(_) => RowWrite::Update { id: row.id.clone(), changes: whole(row) },
        });
    }
    Ok(Plan { contents: parcel.contents.clone(), ..Plan::rows(writes, ()) })
}

/// Returns the changes that make a row what this one is.
fn whole(row: FileRow) -> RowChanges {
    let came_back = serde_json::json!({ MOVED_KEY: null });
    RowChanges {
        name: Some(row.name),
        parent: Some(row.parent),
        size: Some(row.size),
        updated_at: Some(row.updated_at),
        trashed_at: Some(None),
        mode: Some(row.mode),
        link: Some(row.link),
        blob: Some(row.blob),
        meta: Some(any::from_json(&came_back)),
    }
}

/// Copies a blob through a pipe, so that it never is in memory as a whole.
fn copy_blob(from: &Shared, to: &Shared, hash: &ContentHash) -> Result<()> {
    if to.store.blob_info(hash)?.is_some() {
        return Ok(());
    }
    let failed = |source| WorkspaceError::Host {
        action: "make a pipe for",
        path: hash.to_string().into(),
        source,
    };
    let (mut reader, mut writer) = io::pipe().map_err(failed)?;
    std::thread::scope(|scope| {
        let sender = scope.spawn(move || from.store.copy_blob(hash, &mut writer));
        to.store.put_blob(&mut reader, to.now())?;
        sender.join().expect("copying does not panic")?;
        Ok(())
    })
}
