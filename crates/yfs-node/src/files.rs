//! Files on behalf of somebody: the calls that answer from memory, and those that change the tree.

use napi::bindgen_prelude::Float64ArraySlice;
use napi_derive::napi;
use yfs_engine::{path::VPath, time::Millis};
use yfs_vfs::{
    CopyOptions, DirEntry, FileKind, FileSystem, FsCode, FsError, MkdirOptions, MoveOptions, Op,
    RemoveOptions, WalkOptions,
};

use crate::{
    error, message,
    pages::NativePages,
    promised::Promised,
    slot::{Behalf, Slot, now, path},
};

/// A workspace's files on behalf of somebody.
#[derive(Debug)]
#[napi]
pub struct NativeFs {
    pub(crate) slot: Slot,
    pub(crate) behalf: Behalf,
}

/// How many fields [`NativeFs::stat`] fills in: kind, size, time, mode, time of making. The kind is a character.
const N_STAT_FIELDS: usize = 5;

#[napi]
impl NativeFs {
    /// Returns the same files with a label on what is done from now on.
    #[napi]
    pub fn labelled(&self, label: String) -> Self {
        let behalf = Behalf { label: Some(label), ..self.behalf.clone() };
        Self { slot: self.slot.clone(), behalf }
    }

    /// Describes what is at a path into `fields`, and returns its id.
    #[napi]
    pub fn stat(
        &self,
        at: String,
        follow: bool,
        mut fields: Float64ArraySlice<'_>,
    ) -> napi::Result<String> {
        let found = self.entry(&at, follow)?.map_err(|error| error::of_fs(&error))?;
        // SAFETY: the array is JavaScript's, whose one thread waits for this call; nobody else sees it.
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
            Err(error) => Err(error::of_fs(&error)),
        }
    }

    /// Lists a directory: of each name the letter of its kind and the name, with NULs between.
    #[napi]
    pub fn readdir(&self, at: String) -> napi::Result<String> {
        let names = self.slot.fs(&self.behalf)?.names(&path(Op::Scandir, &at)?);
        Ok(message::listing(&names.map_err(|error| error::of_fs(&error))?))
    }

    /// Lists all paths of the workspace, as [`readdir`](Self::readdir) does.
    #[napi]
    pub fn all_paths(&self) -> napi::Result<String> {
        let paths = self.slot.fs(&self.behalf)?.all_paths();
        Ok(message::listing(&paths.map_err(|error| error::of_fs(&error))?))
    }

    /// Returns the path of the same object without any link.
    #[napi]
    pub fn realpath(&self, at: String) -> napi::Result<String> {
        let (fs, at) = (self.slot.fs(&self.behalf)?, path(Op::Realpath, &at)?);
        let real = fs.real_path(&at).map_err(|error| error::of_fs(&error))?;
        Ok(real.to_string())
    }

    /// Returns where a link points.
    #[napi]
    pub fn readlink(&self, at: String) -> napi::Result<String> {
        let (fs, at) = (self.slot.fs(&self.behalf)?, path(Op::Readlink, &at)?);
        fs.target_of(&at).map_err(|error| error::of_fs(&error))
    }

    /// Describes what is at a path whole: media type, metadata and version included.
    #[napi]
    pub fn describe(&self, at: String, follow: bool) -> napi::Result<Promised<String>> {
        let fs = self.slot.fs(&self.behalf)?;
        let op = if follow { Op::Stat } else { Op::Lstat };
        let at = path(op, &at)?;
        Ok(Promised::blocking(move || {
            let stat = if follow { now(fs.stat(&at)) } else { now(fs.lstat(&at)) };
            Ok(message::stat(&stat?).to_string())
        }))
    }

    /// Makes a directory.
    #[napi]
    pub fn mkdir(
        &self,
        at: String,
        recursive: bool,
        mode: Option<u32>,
    ) -> napi::Result<Promised<()>> {
        let options = MkdirOptions { recursive, mode };
        self.change(Op::Mkdir, at, move |fs, at| now(fs.mkdir(at, &options)))
    }

    /// Removes something.
    #[napi]
    pub fn rm(&self, at: String, recursive: bool, force: bool) -> napi::Result<Promised<()>> {
        let options = RemoveOptions { recursive, force };
        self.change(Op::Rm, at, move |fs, at| now(fs.rm(at, &options)))
    }

    /// Copies something.
    #[napi]
    pub fn cp(
        &self,
        from: String,
        to: String,
        recursive: bool,
        replace: bool,
    ) -> napi::Result<Promised<()>> {
        let to = path(Op::Cp, &to)?;
        let options = CopyOptions { recursive, replace, ..CopyOptions::default() };
        self.change(Op::Cp, from, move |fs, from| now(fs.cp(from, &to, &options)))
    }

    /// Moves something.
    #[napi]
    pub fn mv(
        &self,
        from: String,
        to: String,
        replace: bool,
        parents: bool,
    ) -> napi::Result<Promised<()>> {
        let to = path(Op::Rename, &to)?;
        let options = MoveOptions { replace, parents };
        self.change(Op::Rename, from, move |fs, from| now(fs.mv(from, &to, &options)))
    }

    /// Makes a symbolic link.
    #[napi]
    pub fn symlink(&self, target: String, at: String) -> napi::Result<Promised<()>> {
        self.change(Op::Symlink, at, move |fs, at| now(fs.symlink(&target, at)))
    }

    /// Sets the permission bits.
    #[napi]
    pub fn chmod(&self, at: String, mode: u32) -> napi::Result<Promised<()>> {
        self.change(Op::Chmod, at, move |fs, at| now(fs.chmod(at, mode)))
    }

    /// Sets the time of the last change, in milliseconds.
    #[napi]
    pub fn utimes(&self, at: String, mtime: f64) -> napi::Result<Promised<()>> {
        let mtime = Millis::from_f64(mtime);
        self.change(Op::Utimes, at, move |fs, at| now(fs.utimes(at, mtime)))
    }

    /// Replaces the custom metadata: the members of a JSON object.
    #[napi]
    pub fn set_metadata(&self, at: String, metadata: String) -> napi::Result<Promised<()>> {
        let parsed = serde_json::from_str(&metadata);
        let metadata = parsed.map_err(|_| error::invalid("a JSON object", &metadata))?;
        self.change(Op::SetMetadata, at, move |fs, at| now(fs.set_metadata(at, metadata)))
    }

    /// Lists a tree.
    #[napi]
    pub fn walk(
        &self,
        at: String,
        max_depth: Option<u32>,
        hidden: bool,
    ) -> napi::Result<Promised<NativePages>> {
        let max_depth = max_depth.map_or(usize::MAX, |depth| depth as usize);
        let options = WalkOptions { max_depth, hidden, ..WalkOptions::default() };
        let (fs, at) = (self.slot.fs(&self.behalf)?, path(Op::Walk, &at)?);
        Ok(Promised::blocking(move || Ok(message::walk(&now(fs.walk(&at, &options))?))))
    }

    /// Adds up a tree.
    #[napi]
    pub fn totals(&self, at: String) -> napi::Result<Promised<String>> {
        let (fs, at) = (self.slot.fs(&self.behalf)?, path(Op::Totals, &at)?);
        Ok(Promised::blocking(move || Ok(message::totals(now(fs.totals(&at))?).to_string())))
    }

    /// Finds paths by pattern.
    #[napi]
    pub fn glob(&self, query: String) -> napi::Result<Promised<NativePages>> {
        let (fs, query) = (self.slot.fs(&self.behalf)?, message::glob_query(&query)?);
        Ok(Promised::blocking(move || Ok(message::found(&now(fs.glob(&query))?))))
    }

    /// Finds lines by pattern.
    #[napi]
    pub fn grep(&self, query: String) -> napi::Result<Promised<NativePages>> {
        let (fs, query) = (self.slot.fs(&self.behalf)?, message::grep_query(&query)?);
        Ok(Promised::blocking(move || Ok(message::matches(&now(fs.grep(&query))?))))
    }

    fn entry(&self, at: &str, follow: bool) -> napi::Result<Result<(DirEntry, Millis), FsError>> {
        let op = if follow { Op::Stat } else { Op::Lstat };
        Ok(self.slot.fs(&self.behalf)?.entry(&path(op, at)?, op))
    }

    fn change(
        &self,
        op: Op,
        at: String,
        work: impl FnOnce(&yfs::WorkspaceFs, &VPath) -> napi::Result<()> + Send + 'static,
    ) -> napi::Result<Promised<()>> {
        let (fs, at) = (self.slot.fs(&self.behalf)?, path(op, &at)?);
        Ok(Promised::blocking(move || work(&fs, &at)))
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
