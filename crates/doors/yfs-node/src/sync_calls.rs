//! The calls of `fs` that do not wait: the same as the others, on the thread that asks.
//!
//! # Cost
//!
//! Each blocks the event loop until it is done, a write to the log included. They exist for
//! synchronous programs; other programs use the calls that return a promise.

use yfs_engine::{id::FileId, path::VPath};
use yfs_vfs::{FileSystem as _, VersionBase};

use crate::{
    content::{NativeContent, NativeWrite, write_options},
    files::NativeFs,
    prelude::*,
};

#[napi]
impl NativeFs {
    /// Reads a file.
    #[napi]
    pub fn read_sync(&self, at: String) -> napi::Result<NativeContent> {
        let session = self.session()?;
        let content = lifted(session.read(&path(Op::Open, &at)?))?;
        let data = Uint8Array::new(content.data.to_vec());
        Ok(NativeContent { data, version: content.version.to_string() })
    }

    /// Makes `data` the content of a file.
    #[napi]
    pub fn write_sync(
        &self,
        at: String,
        data: Uint8ArraySlice<'_>,
        base: Option<Uint8ArraySlice<'_>>,
        options: NativeWrite,
    ) -> napi::Result<String> {
        let session = self.session()?;
        let mut options = write_options(&options)?;
        if let Some(base) = base {
            options.base = Some(VersionBase::Content(base.to_vec().into()));
        }
        let at = path(Op::Open, &at)?;
        let written = lifted(session.write(&at, &data, &options))?;
        Ok(message::written(&written).to_string())
    }

    /// Adds `data` to the end of a file.
    #[napi]
    pub fn append_sync(
        &self,
        at: String,
        data: Uint8ArraySlice<'_>,
        options: NativeWrite,
    ) -> napi::Result<String> {
        let session = self.session()?;
        let options = write_options(&options)?;
        let at = path(Op::Append, &at)?;
        let written = lifted(session.append(&at, &data, &options))?;
        Ok(message::written(&written).to_string())
    }

    /// Empties a file, held back as by `truncate`.
    #[napi]
    pub fn truncate_sync(&self, at: String) -> napi::Result<()> {
        lifted(self.session()?.truncate(&path(Op::Open, &at)?))
    }

    /// Makes the truncations that are held back: of one file, or of all.
    #[napi]
    pub fn settle_sync(&self, at: Option<String>) -> napi::Result<()> {
        let at = at.map(|at| path(Op::Open, &at)).transpose()?;
        lifted(self.session()?.write_truncations(at.as_ref()))
    }

    /// Returns where an object is; nothing if it is in the trash, or unknown.
    #[napi]
    pub fn path_of(&self, id: String) -> napi::Result<Option<String>> {
        let id = FileId::parse(&id).map_err(|_| error::invalid("an id", &id))?;
        let found = self.session()?.workspace().nodes().path_of(&id).map_err(error::of)?;
        Ok(found.map(|path: VPath| path.to_string()))
    }

    /// Returns the place in the log of changes that is now.
    #[napi]
    pub fn cursor_sync(&self) -> napi::Result<String> {
        Ok(at_once(self.session()?.fs().cursor())?.as_str().to_owned())
    }

    /// Returns when everything written so far survives a power cut.
    #[napi]
    pub fn flush_sync(&self) -> napi::Result<()> {
        self.session()?.workspace().flush().map_err(error::of)
    }

    /// Returns the version of a file, which changes with its content.
    #[napi]
    pub fn version(&self, at: String) -> napi::Result<String> {
        let version = self.session()?.fs().version(&path(Op::Open, &at)?);
        Ok(version.map_err(error::of)?.to_string())
    }
}
