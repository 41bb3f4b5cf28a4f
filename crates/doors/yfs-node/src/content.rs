//! What files hold, in and out.

use yfs::TextInMemory;
use yfs_engine::time::Millis;
use yfs_vfs::{
    CreateMode, FileSystemExt, TextReplacement, VersionBase, VersionToken, WriteOptions,
};

use crate::{files::NativeFs, prelude::*};

/// Longer contents are handed over from another thread.
const MAX_AT_ONCE: usize = 256 * 1024;

/// The content of a file, and its version.
#[expect(missing_debug_implementations, reason = "the bytes of napi have none")]
#[napi(object)]
pub struct NativeContent {
    pub data: Uint8Array,
    pub version: String,
}

/// How content is written.
#[derive(Debug)]
#[napi(object)]
pub struct NativeWrite {
    /// `any`, `new` or `never`.
    pub create: Option<String>,
    pub base_version: Option<String>,
    pub expected_version: Option<String>,
    pub mode: Option<u32>,
    pub mime: Option<String>,
    pub mtime: Option<f64>,
    pub parents: Option<bool>,
    pub follow: Option<bool>,
}

#[napi]
impl NativeFs {
    /// Returns the id of a text that is in memory already, a blank, its version, a line feed, and
    /// the text; nothing where it is not. The text counts as read.
    #[napi]
    pub fn text_in_memory(&self, at: String) -> napi::Result<Option<String>> {
        let known = self.in_memory(&at)?;
        Ok(known.map(|text| format!("{} {}\n{}", text.id.as_str(), text.version(), text.content)))
    }

    /// Returns a number that no other file has, nor this one for another text; nothing where no
    /// text is in memory. The text counts as read: the caller has it from an earlier call.
    #[napi]
    pub fn text_state(&self, at: String) -> napi::Result<Option<f64>> {
        Ok(self.in_memory(&at)?.and_then(|text| text.state()).map(|state| state as f64))
    }

    /// Reads a file.
    #[napi]
    pub fn read(&self, at: String) -> napi::Result<OwnedFuture<NativeContent>> {
        let (session, at) = (self.session()?, path(Op::Open, &at)?);
        Ok(OwnedFuture::blocking(move || {
            let content = lifted(session.read(&at))?;
            let data = Uint8Array::new(content.data.to_vec());
            Ok(NativeContent { data, version: content.version.to_string() })
        }))
    }

    /// Reads a part of a file.
    #[napi]
    pub fn read_range(
        &self,
        at: String,
        offset: f64,
        len: f64,
    ) -> napi::Result<OwnedFuture<Uint8Array>> {
        let (session, at) = (self.session()?, path(Op::Open, &at)?);
        Ok(OwnedFuture::blocking(move || {
            let data = lifted(session.read_range(&at, offset as u64, len as u64))?;
            Ok(Uint8Array::new(data.to_vec()))
        }))
    }

    /// Reads some lines of a file.
    #[napi]
    pub fn read_lines(
        &self,
        at: String,
        offset: f64,
        limit: f64,
    ) -> napi::Result<OwnedFuture<String>> {
        let (session, at) = (self.session()?, path(Op::Open, &at)?);
        Ok(OwnedFuture::blocking(move || {
            let page = at_once(session.fs().read_lines(&at, offset as u64, limit as u64))?;
            Ok(message::lines(page).to_string())
        }))
    }

    /// Makes `data` the content of a file.
    #[napi]
    pub fn write(
        &self,
        at: String,
        data: Uint8ArraySlice<'_>,
        base: Option<Uint8ArraySlice<'_>>,
        options: NativeWrite,
    ) -> napi::Result<OwnedFuture<String>> {
        let (session, at) = (self.session()?, path(Op::Open, &at)?);
        let mut options = write_options(&options)?;
        if let Some(base) = base {
            options.base = Some(VersionBase::Content(base.to_vec().into()));
        }
        let data = data.to_vec();
        Ok(OwnedFuture::blocking(move || {
            let written = lifted(session.write(&at, &data, &options))?;
            Ok(message::written(&written).to_string())
        }))
    }

    /// Adds `data` to the end of a file.
    #[napi]
    pub fn append(
        &self,
        at: String,
        data: Uint8ArraySlice<'_>,
        options: NativeWrite,
    ) -> napi::Result<OwnedFuture<String>> {
        let (session, at) = (self.session()?, path(Op::Append, &at)?);
        let (options, data) = (write_options(&options)?, data.to_vec());
        Ok(OwnedFuture::blocking(move || {
            let written = lifted(session.append(&at, &data, &options))?;
            Ok(message::written(&written).to_string())
        }))
    }

    /// Empties a file as the first step of writing it anew: held back until `write` or `append`
    /// follows, or `settle`.
    #[napi]
    pub fn truncate(&self, at: String) -> napi::Result<OwnedFuture<()>> {
        let (session, at) = (self.session()?, path(Op::Open, &at)?);
        Ok(OwnedFuture::blocking(move || lifted(session.truncate(&at))))
    }

    /// Makes the truncations that are held back: of one file, or of all.
    #[napi]
    pub fn settle(&self, at: Option<String>) -> napi::Result<OwnedFuture<()>> {
        let at = at.map(|at| path(Op::Open, &at)).transpose()?;
        let session = self.session()?;
        Ok(OwnedFuture::blocking(move || lifted(session.write_truncations(at.as_ref()))))
    }

    /// Makes the truncation of a file that is held back, unless others have changed the file since
    /// it was read. Returns whether none is held back any more.
    #[napi]
    pub fn settle_if_unchanged(&self, at: String) -> napi::Result<OwnedFuture<bool>> {
        let (session, at) = (self.session()?, path(Op::Open, &at)?);
        Ok(OwnedFuture::blocking(move || lifted(session.write_truncation_if_unchanged(&at))))
    }

    /// Forgets what was read of a file, so that the next write replaces whatever it holds.
    #[napi]
    pub fn forget(&self, at: String) -> napi::Result<()> {
        self.session()?.forget(&path(Op::Open, &at)?);
        Ok(())
    }

    /// Returns when everything written so far survives a power cut.
    #[napi]
    pub fn flush(&self) -> napi::Result<OwnedFuture<()>> {
        let workspace = self.session()?.workspace();
        Ok(OwnedFuture::blocking(move || workspace.flush().map_err(error::of)))
    }

    /// Replaces text inside a file.
    #[napi]
    pub fn edit(
        &self,
        at: String,
        old: String,
        new: String,
        all: bool,
        expected_version: Option<String>,
    ) -> napi::Result<OwnedFuture<String>> {
        let (session, at) = (self.session()?, path(Op::Edit, &at)?);
        let expected_version = expected_version.map(VersionToken::new);
        let edit = TextReplacement { all, expected_version, ..TextReplacement::once(old, new) };
        Ok(OwnedFuture::blocking(move || {
            Ok(message::edited(&lifted(session.edit(&at, &edit))?).to_string())
        }))
    }

    fn in_memory(&self, at: &str) -> napi::Result<Option<TextInMemory>> {
        let (session, at) = (self.session()?, path(Op::Open, at)?);
        lifted(session.text_in_memory(&at, MAX_AT_ONCE))
    }
}

pub(crate) fn write_options(options: &NativeWrite) -> napi::Result<WriteOptions> {
    let create = match options.create.as_deref() {
        None | Some("any") => CreateMode::IfMissing,
        Some("new") => CreateMode::New,
        Some("never") => CreateMode::Never,
        Some(other) => return Err(error::invalid("any, new or never", other)),
    };
    let base = options
        .base_version
        .as_deref()
        .map(|version| VersionBase::Version(VersionToken::new(version)));
    Ok(WriteOptions {
        create,
        base,
        expected_version: options.expected_version.as_deref().map(VersionToken::new),
        mode: options.mode,
        mime: options.mime.as_deref().map(Into::into),
        mtime: options.mtime.map(Millis::from_f64),
        parents: options.parents.unwrap_or(true),
        follow: options.follow.unwrap_or(true),
        ..WriteOptions::default()
    })
}
