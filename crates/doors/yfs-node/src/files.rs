//! The files of a workspace on behalf of an actor: calls that answer from memory, and calls that
//! change the tree.

use std::sync::{Arc, Weak};

use napi::bindgen_prelude::Float64ArraySlice;
use yfs::Session;
use yfs_engine::time::Millis;
use yfs_vfs::{
    CopyOptions, DirEntry, FileKind, FsCode, FsError, Metadata, MkdirOptions, MoveOptions,
    RemoveOptions, WalkOptions,
};

use crate::{pages::NativePages, prelude::*};

/// The files of a workspace on behalf of an actor.
///
/// It is a session: what was read through it is the base of later writes.
#[derive(Debug)]
#[napi]
pub struct NativeFs {
    slot: WorkspaceSlot,
    session: Weak<Session>,
}

impl NativeFs {
    pub(crate) fn new(slot: WorkspaceSlot, session: Weak<Session>) -> Self {
        Self { slot, session }
    }

    pub(crate) fn slot(&self) -> &WorkspaceSlot {
        &self.slot
    }

    /// Returns the session, unless the workspace is closed.
    pub(crate) fn session(&self) -> napi::Result<Arc<Session>> {
        self.session.upgrade().ok_or_else(error::closed)
    }
}

impl Drop for NativeFs {
    fn drop(&mut self) {
        self.slot.release(&self.session);
    }
}

/// A change of the tree.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
enum TreeChange {
    Mkdir {
        at: String,
        recursive: bool,
        mode: Option<u32>,
    },
    Rm {
        at: String,
        recursive: bool,
        force: bool,
    },
    Cp {
        from: String,
        to: String,
        recursive: bool,
        replace: bool,
    },
    Mv {
        from: String,
        to: String,
        replace: bool,
        parents: bool,
    },
    Symlink {
        at: String,
        target: String,
    },
    Chmod {
        at: String,
        mode: u32,
    },
    /// JSON has no number for a date that is not valid.
    Utimes {
        at: String,
        mtime: Option<f64>,
    },
    SetMetadata {
        at: String,
        metadata: Metadata,
    },
}

impl TreeChange {
    fn make(self, session: &Session) -> napi::Result<()> {
        lifted(match self {
            Self::Mkdir { at, recursive, mode } => {
                session.mkdir(&path(Op::Mkdir, &at)?, &MkdirOptions { recursive, mode })
            }
            Self::Rm { at, recursive, force } => {
                session.rm(&path(Op::Rm, &at)?, &RemoveOptions { recursive, force })
            }
            Self::Cp { from, to, recursive, replace } => {
                let (to, from) = (path(Op::Cp, &to)?, path(Op::Cp, &from)?);
                let options = CopyOptions { recursive, replace, ..CopyOptions::default() };
                session.cp(&from, &to, &options)
            }
            Self::Mv { from, to, replace, parents } => {
                let (to, from) = (path(Op::Rename, &to)?, path(Op::Rename, &from)?);
                session.mv(&from, &to, &MoveOptions { replace, parents })
            }
            Self::Symlink { at, target } => session.symlink(&target, &path(Op::Symlink, &at)?),
            Self::Chmod { at, mode } => session.chmod(&path(Op::Chmod, &at)?, mode),
            Self::Utimes { at, mtime } => {
                let mtime = Millis::from_f64(mtime.unwrap_or(f64::NAN));
                session.utimes(&path(Op::Utimes, &at)?, mtime)
            }
            Self::SetMetadata { at, metadata } => {
                session.set_metadata(&path(Op::SetMetadata, &at)?, &metadata)
            }
        })
    }
}

/// How many fields [`NativeFs::stat`] fills in: kind, size, time, mode, time of making. The kind is
/// a character.
const N_STAT_FIELDS: usize = 5;

#[napi]
impl NativeFs {
    /// Returns the same files with a label on what is done through them; what was read stays known.
    #[napi]
    pub fn labelled(&self, label: String) -> napi::Result<Self> {
        let session = self.slot.keep(self.session()?.labelled(&label))?;
        Ok(Self::new(self.slot.clone(), session))
    }

    /// Describes what is at a path into `fields`, and returns its id.
    #[napi]
    pub fn stat(
        &self,
        at: String,
        follow: bool,
        mut fields: Float64ArraySlice<'_>,
    ) -> napi::Result<String> {
        let found = self.entry(&at, follow)?.map_err(error::of)?;
        // SAFETY: the array is JavaScript's, whose one thread waits for this call; no other code
        // sees it.
        Ok(describe_into(unsafe { fields.as_mut() }, &found))
    }

    /// Does the same, but where nothing is returns nothing, which costs less than an error.
    #[napi]
    pub fn find(
        &self,
        at: String,
        follow: bool,
        mut fields: Float64ArraySlice<'_>,
    ) -> napi::Result<Option<String>> {
        match self.entry(&at, follow)? {
            // SAFETY: as above.
            Ok(found) => Ok(Some(describe_into(unsafe { fields.as_mut() }, &found))),
            Err(error) if matches!(error.code, FsCode::ENOENT | FsCode::ENOTDIR) => Ok(None),
            Err(error) => Err(error::of(error)),
        }
    }

    /// Lists a directory: of each name the letter of its kind and the name, with NULs between.
    #[napi]
    pub fn readdir(&self, at: String) -> napi::Result<String> {
        let names = self.session()?.fs().names(&path(Op::Scandir, &at)?);
        Ok(message::listing(&lifted(names)?))
    }

    /// Lists all paths of the workspace, as [`readdir`](Self::readdir) does.
    #[napi]
    pub fn all_paths(&self) -> napi::Result<String> {
        let paths = self.session()?.fs().all_paths();
        Ok(message::listing(&lifted(paths)?))
    }

    /// Returns the path of the same object without any link.
    #[napi]
    pub fn realpath(&self, at: String) -> napi::Result<String> {
        let real = self.session()?.realpath(&path(Op::Realpath, &at)?);
        Ok(lifted(real)?.to_string())
    }

    /// Returns where a link points.
    #[napi]
    pub fn readlink(&self, at: String) -> napi::Result<String> {
        lifted(self.session()?.readlink(&path(Op::Readlink, &at)?))
    }

    /// Describes what is at a path whole: media type, metadata and version included.
    #[napi]
    pub fn describe(&self, at: String, follow: bool) -> napi::Result<OwnedFuture<String>> {
        let session = self.session()?;
        let op = if follow { Op::Stat } else { Op::Lstat };
        let at = path(op, &at)?;
        Ok(OwnedFuture::blocking(move || {
            let stat = if follow { session.stat(&at) } else { session.lstat(&at) };
            Ok(message::stat(&lifted(stat)?).to_string())
        }))
    }

    /// Changes the tree.
    #[napi]
    pub fn change(&self, change: String) -> napi::Result<OwnedFuture<()>> {
        let (session, change) = (self.session()?, message::request::<TreeChange>(&change)?);
        Ok(OwnedFuture::blocking(move || change.make(&session)))
    }

    /// Does the same on the thread that asks.
    #[napi]
    pub fn change_sync(&self, change: String) -> napi::Result<()> {
        message::request::<TreeChange>(&change)?.make(&*self.session()?)
    }

    /// Lists a tree.
    #[napi]
    pub fn walk(
        &self,
        at: String,
        max_depth: Option<u32>,
        hidden: bool,
    ) -> napi::Result<OwnedFuture<NativePages>> {
        let max_depth = max_depth.map_or(usize::MAX, |depth| depth as usize);
        let options = WalkOptions { max_depth, hidden, ..WalkOptions::default() };
        let (session, at) = (self.session()?, path(Op::Walk, &at)?);
        Ok(OwnedFuture::blocking(move || Ok(message::walk(&lifted(session.walk(&at, &options))?))))
    }

    /// Adds up a tree.
    #[napi]
    pub fn totals(&self, at: String) -> napi::Result<OwnedFuture<String>> {
        let (session, at) = (self.session()?, path(Op::Totals, &at)?);
        Ok(OwnedFuture::blocking(move || {
            Ok(message::totals(lifted(session.totals(&at))?).to_string())
        }))
    }

    /// Finds paths by pattern.
    #[napi]
    pub fn glob(&self, query: String) -> napi::Result<OwnedFuture<NativePages>> {
        let (session, query) = (self.session()?, message::glob_query(&query)?);
        Ok(OwnedFuture::blocking(move || Ok(message::found(&lifted(session.glob(&query))?))))
    }

    /// Finds lines by pattern.
    #[napi]
    pub fn grep(&self, query: String) -> napi::Result<OwnedFuture<NativePages>> {
        let (session, query) = (self.session()?, message::grep_query(&query)?);
        Ok(OwnedFuture::blocking(move || Ok(message::matches(&lifted(session.grep(&query))?))))
    }

    fn entry(&self, at: &str, follow: bool) -> napi::Result<Result<(DirEntry, Millis), FsError>> {
        let op = if follow { Op::Stat } else { Op::Lstat };
        Ok(self.session()?.fs().entry(&path(op, at)?, op))
    }
}

/// Fills in kind, size, time, mode and time of making, and returns the id.
fn describe_into(fields: &mut [f64], (entry, created): &(DirEntry, Millis)) -> String {
    let described = [
        f64::from(u32::from(kind_letter(entry.kind))),
        entry.size as f64,
        entry.mtime.0 as f64,
        f64::from(entry.mode),
        created.0 as f64,
    ];
    if let Some(fields) = fields.get_mut(..N_STAT_FIELDS) {
        fields.copy_from_slice(&described);
    }
    entry.id.as_str().to_owned()
}

fn kind_letter(kind: FileKind) -> u8 {
    match kind {
        FileKind::Directory => b'd',
        FileKind::Symlink => b'l',
        _ => b'f',
    }
}
