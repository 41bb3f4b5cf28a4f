//! Contents that arrive as a stream.

use std::io::{self, Read};

use yfs_engine::{path::VPath, tree::FinalLink};
use yfs_vfs::{FsCode, FsError, MkdirOptions, Op, WriteOptions};

use super::RootedFs;
use crate::fs::{
    WorkspaceFs,
    batch::{NewNode, PreparedNode},
};

impl RootedFs {
    /// Replaces the content of a file by the bytes that a reader gives, as
    /// [`write`](yfs_vfs::FileSystem::write) does. At most the size of a text is held in memory.
    /// Media type, metadata, mode and time are those of the options; the others are ignored.
    ///
    /// # Errors
    ///
    /// Fails as a write does, and with `EIO` if the reader fails.
    pub fn write_from(
        &self,
        path: &VPath,
        data: &mut dyn Read,
        options: &WriteOptions,
    ) -> Result<(), FsError> {
        let broken = |error: io::Error| FsError::io(Op::Write, path, error);
        let mut head = Vec::new();
        let limit = self.fs.text_limit();
        data.take(limit as u64 + 1).read_to_end(&mut head).map_err(broken)?;
        let WriteOptions { mode, mime, metadata, mtime, .. } = options.clone();
        let options = WriteOptions { mode, mime, metadata, mtime, ..WriteOptions::default() };
        if head.len() <= limit {
            let write = |fs: &WorkspaceFs, at: &VPath| fs.write_now(at, &head, &options);
            return self.at(Op::Open, path, FinalLink::Yes, write).map(drop);
        }
        // The bytes are stored once; which file names them is decided afterwards.
        let mut whole = head.as_slice().chain(data);
        let blob = self.fs.put_stream(Op::Write, path, &mut whole)?;
        self.at(Op::Open, path, FinalLink::Yes, |fs, at| {
            if at.file_name().is_none()
                || fs.stat_if_exists(at)?.is_some_and(|stat| stat.is_directory())
            {
                return Err(FsError::new(FsCode::EISDIR, Op::Open, at));
            }
            if let Some(parent) = at.parent().filter(|parent| !parent.is_root()) {
                fs.mkdir_now(&parent, &MkdirOptions::recursive())?;
            }
            if fs.stat_if_exists(at)?.is_none() {
                let content = PreparedNode::File(fs.prepare_blob(at, blob)?);
                let node = NewNode { path: at.clone(), mode, mtime, content };
                match fs.create_many(&[node])?.remove(0) {
                    Err(error) if error.code != FsCode::EEXIST => return Err(error),
                    Err(_) => fs.overwrite_by_blob(at, blob, mode, mtime)?,
                    Ok(_) => (),
                }
            } else {
                fs.overwrite_by_blob(at, blob, mode, mtime)?;
            }
            fs.write_options_at(at, &options)
        })
    }
}
