//! COPY and MOVE.

use http::StatusCode;
use yfs_types::path::VPath;
use yfs_vfs::{
    CopyOptions, FileAttribute, FsCode, FsError, MkdirOptions, MoveOptions, RemoveOptions, Stat,
    WriteOptions,
};

use crate::{
    answer::{DavError, DavResponse, empty_response},
    request::Depth,
    service::{DavCall, LockedChange},
    side_files::is_side_file,
};

/// A COPY or MOVE whose source is known.
#[derive(Debug)]
struct Transfer<'a> {
    from: &'a VPath,
    to: VPath,
    is_move: bool,
    /// Whether only the collection is copied, without what is in it.
    is_flat: bool,
    source: Stat,
    replaced: Option<Stat>,
}

impl DavCall<'_> {
    /// Answers COPY and MOVE.
    pub(crate) async fn transfer(&self, is_move: bool) -> Result<DavResponse, DavError> {
        let (from, to) = (&self.request.path, self.request.destination()?);
        let depth = self.request.depth()?.unwrap_or(Depth::Infinity);
        if depth == Depth::One || is_move && depth == Depth::Zero {
            return Err(DavError::bad_request("the depth is infinity"));
        }
        let overwrites = self.request.overwrites()?;
        if is_side_file(from) || is_side_file(&to) {
            return self.transfer_side_file(&to, is_move).await;
        }
        self.end_holds(from).await?;
        let Some(source) = self.find(from).await? else {
            return Err(FsError::new(FsCode::ENOENT, yfs_vfs::Op::Stat, from).into());
        };
        if from.starts_with(&to) || to.starts_with(from) && (source.is_directory() || *from == to) {
            return Err(DavError::new(StatusCode::FORBIDDEN, "one path is within the other"));
        }
        self.needs_parent(&to).await?;
        let replaced = self.find(&to).await?;
        if is_move {
            self.check_locks(from, LockedChange::Name)?;
        }
        self.check_locks(&to, LockedChange::Name)?;
        if replaced.is_some() && !overwrites {
            return Err(DavError::new(StatusCode::PRECONDITION_FAILED, "the destination exists"));
        }
        let status = match replaced {
            Some(_) => StatusCode::NO_CONTENT,
            None => StatusCode::CREATED,
        };
        let is_flat = depth == Depth::Zero && source.is_directory();
        let transfer = Transfer { from, to, is_move, is_flat, source, replaced };
        self.carry_out(&transfer).await?;
        if let Some(replaced) = &transfer.replaced {
            // The client has read the content that was there before, and has written over it.
            self.service.memory.lock().forget(&self.caller.client, &replaced.id);
        }
        if is_move {
            self.service.locks.lock().forget(from);
            self.note_rename(from, &transfer.to, &transfer.source);
        }
        Ok(empty_response(status))
    }

    async fn carry_out(&self, transfer: &Transfer<'_>) -> Result<(), FsError> {
        let Transfer { from, to, source, .. } = transfer;
        // A file takes the place of a file in one step, and the file there keeps its identity.
        let is_in_place = |stat: &Stat| stat.is_file() && source.is_file();
        let fs = &self.caller.fs;
        if transfer.replaced.as_ref().is_some_and(|stat| !is_in_place(stat)) {
            fs.rm(to, &RemoveOptions { recursive: true, force: false }).await?;
        }
        if transfer.is_move {
            if transfer.replaced.is_none() && source.is_file() && self.has_created(source) {
                self.restore_renamed(to).await?;
            }
            return fs.mv(from, to, &MoveOptions { replace: true, parents: false }).await;
        }
        if transfer.is_flat {
            fs.mkdir(to, &MkdirOptions { recursive: false, mode: Some(source.mode) }).await?;
            if !source.metadata.is_empty() {
                let metadata = FileAttribute::Metadata(source.metadata.clone());
                fs.set_attribute(to, metadata).await?;
            }
            return Ok(());
        }
        let options = CopyOptions { recursive: true, replace: true, parents: false };
        fs.cp(from, to, &options).await
    }

    /// Copies or moves a file that is held in memory, to memory or to the workspace.
    async fn transfer_side_file(&self, to: &VPath, is_move: bool) -> Result<DavResponse, DavError> {
        let (from, credential) = (&self.request.path, &self.caller.client.credential);
        let Some(file) = self.side_file(from).await? else {
            let is_there = self.find(from).await?.is_some();
            return Err(match is_there {
                true => DavError::new(StatusCode::FORBIDDEN, "the name is for files of macOS"),
                false => DavError::new(StatusCode::NOT_FOUND, "no such file"),
            });
        };
        self.needs_parent(to).await?;
        let status = if is_side_file(to) {
            match self.service.sides.lock().put(credential, to, &file.content, file.mtime) {
                Some(true) => StatusCode::CREATED,
                _ => StatusCode::NO_CONTENT,
            }
        } else {
            self.check_locks(to, LockedChange::Name)?;
            let is_there = self.find(to).await?.is_some();
            if is_there && !self.request.overwrites()? {
                return Err(DavError::new(
                    StatusCode::PRECONDITION_FAILED,
                    "the destination exists",
                ));
            }
            let options = WriteOptions { parents: false, ..WriteOptions::default() };
            self.caller.fs.write(to, file.content, &options).await?;
            if is_there { StatusCode::NO_CONTENT } else { StatusCode::CREATED }
        };
        if is_move {
            self.service.sides.lock().remove(credential, from);
        }
        Ok(empty_response(status))
    }
}
