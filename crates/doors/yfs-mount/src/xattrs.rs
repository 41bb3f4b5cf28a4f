//! Extended attributes (`xattr(7)`): those of programs in `user.`, and three of the file.
//!
//! Those of programs are kept in the custom metadata of the file, as Base64.

use std::{ffi::OsStr, ops::Deref};

use base64::{Engine, prelude::BASE64_STANDARD};
use fuser::{Errno, INodeNo};
use futures::executor::block_on;
use serde_json::{Map, Value};
use yfs_types::path::VPath;
use yfs_vfs::{FileAttribute, FileSystem};

use crate::{
    errno::{CallResult, errno, workspace_errno},
    mount::MountedTree,
};

/// The member of the metadata that has the attributes of programs.
const MEMBER: &str = "xattr";

/// The most bytes of all attributes of a file: that of one value in Linux (`XATTR_SIZE_MAX`).
const MAX_BYTES: usize = 64 << 10;

const ID: &str = "user.yfs.id";
const VERSION: &str = "user.yfs.version";
const AUTHORS: &str = "user.yfs.authors";

/// The calls on extended attributes of a mounted workspace.
#[derive(Debug)]
pub(crate) struct XattrCalls<'a> {
    tree: &'a MountedTree,
}

impl MountedTree {
    /// Returns the calls on extended attributes.
    pub(crate) fn xattrs(&self) -> XattrCalls<'_> {
        XattrCalls { tree: self }
    }
}

impl Deref for XattrCalls<'_> {
    type Target = MountedTree;

    fn deref(&self) -> &MountedTree {
        self.tree
    }
}

impl XattrCalls<'_> {
    pub(crate) fn getxattr(&self, number: INodeNo, name: &OsStr) -> CallResult<Vec<u8>> {
        // The kernel asks for attributes of its own at many calls.
        let name = name.to_str().filter(|name| name.starts_with("user."));
        let name = name.ok_or(Errno::NO_XATTR)?;
        let path = self.nodes.path(number).ok_or(Errno::ESTALE)?;
        match name {
            ID => Ok(self.stat_of(&path)?.id.as_str().into()),
            VERSION => {
                let version = self.stat_of(&path)?.version.ok_or(Errno::NO_XATTR)?;
                Ok(version.as_str().into())
            }
            AUTHORS => self.authors(&path).map(String::into_bytes),
            _ => {
                let kept = self.kept_attributes(&path)?;
                let value = kept.get(name).and_then(Value::as_str).ok_or(Errno::NO_XATTR)?;
                BASE64_STANDARD.decode(value).map_err(|_| Errno::EIO)
            }
        }
    }

    pub(crate) fn listxattr(&self, number: INodeNo) -> CallResult<Vec<u8>> {
        let path = self.nodes.path(number).ok_or(Errno::ESTALE)?;
        let is_file = self.stat_of(&path)?.is_file();
        let own = [(ID, true), (VERSION, is_file), (AUTHORS, is_file)];
        let own = own.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name);
        let kept = self.kept_attributes(&path)?;
        let names = own.chain(kept.keys().map(String::as_str));
        Ok(names.flat_map(|name| name.bytes().chain([0])).collect())
    }

    pub(crate) fn setxattr(
        &self,
        number: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
    ) -> CallResult {
        let name = own_name(name)?;
        self.change_attributes(number, |kept| {
            match (flags, kept.contains_key(name)) {
                (libc::XATTR_CREATE, true) => return Err(Errno::EEXIST),
                (libc::XATTR_REPLACE, false) => return Err(Errno::NO_XATTR),
                _ => (),
            }
            kept.insert(name.to_owned(), BASE64_STANDARD.encode(value).into());
            Ok(())
        })
    }

    pub(crate) fn removexattr(&self, number: INodeNo, name: &OsStr) -> CallResult {
        let name = own_name(name)?;
        self.change_attributes(number, |kept| kept.remove(name).map(drop).ok_or(Errno::NO_XATTR))
    }

    fn change_attributes(
        &self,
        number: INodeNo,
        change: impl FnOnce(&mut Map<String, Value>) -> CallResult,
    ) -> CallResult {
        self.check_writable()?;
        let path = self.nodes.path(number).ok_or(Errno::ESTALE)?;
        let mut metadata = self.stat_of(&path)?.metadata;
        let mut kept = match metadata.remove(MEMBER) {
            Some(Value::Object(kept)) => kept,
            _ => Map::new(),
        };
        change(&mut kept)?;
        let n_bytes: usize =
            kept.iter().map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum();
        if n_bytes > MAX_BYTES {
            return Err(Errno::ENOSPC);
        }
        if !kept.is_empty() {
            metadata.insert(MEMBER.to_owned(), kept.into());
        }
        let set = self.fs.set_attribute(&path, FileAttribute::Metadata(metadata));
        block_on(set).map_err(errno)?;
        self.times.set(self.inode_number(number).0, |_| ());
        Ok(())
    }

    fn kept_attributes(&self, path: &VPath) -> CallResult<Map<String, Value>> {
        match self.stat_of(path)?.metadata.remove(MEMBER) {
            Some(Value::Object(kept)) => Ok(kept),
            _ => Ok(Map::new()),
        }
    }

    fn stat_of(&self, path: &VPath) -> CallResult<yfs_vfs::Stat> {
        block_on(self.fs.lstat(path)).map_err(errno)
    }

    /// Returns the authors of the lines of a file, each once, in the order of their first lines.
    fn authors(&self, path: &VPath) -> CallResult<String> {
        let lines = self.workspace().history().blame(path).map_err(workspace_errno)?;
        let mut authors = Vec::new();
        for actor in
            lines.iter().flat_map(|line| &line.shares).filter_map(|share| share.actor.as_ref())
        {
            let actor = actor.to_string();
            if !authors.contains(&actor) {
                authors.push(actor);
            }
        }
        Ok(authors.join("\n"))
    }
}

/// The name of an attribute that programs may set.
fn own_name(name: &OsStr) -> CallResult<&str> {
    let name = name.to_str().filter(|name| name.starts_with("user.")).ok_or(Errno::EOPNOTSUPP)?;
    if name.starts_with("user.yfs.") { Err(Errno::EPERM) } else { Ok(name) }
}
