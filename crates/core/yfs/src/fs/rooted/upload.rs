//! Contents that arrive as a stream.

use std::io::Read;

use yfs_engine::{path::VPath, tree::FinalLink};
use yfs_vfs::{FsError, Op, WriteOptions};

use super::RootedFs;

impl RootedFs {
    /// Replaces the content of a file by the bytes that a reader gives, as
    /// [`WorkspaceFs::write_from`](crate::WorkspaceFs::write_from) does. Media type, metadata, mode
    /// and time are those of the options; the others are ignored.
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
        let WriteOptions { mode, mime, metadata, mtime, .. } = options.clone();
        let options = WriteOptions { mode, mime, metadata, mtime, ..WriteOptions::default() };
        let content = self.fs.writer().upload(path, data, self.fs.text_limit())?;
        let write = |fs: &crate::WorkspaceFs, at: &VPath| {
            fs.writer().write_uploaded(at, &content, &options)
        };
        self.at(Op::Open, path, FinalLink::Yes, write).map(drop)
    }
}
