//! Giving files on disk other bytes, of which none that are not in the workspace are lost.
//!
//! The new file is made beside the old one, noted as about to be there, and the two change places at once.
//! Only then is the old one looked at: if it is what the state says it goes; if somebody wrote to it in the
//! last moment the two change back.

use std::{io, path::Path};

use yfs::workspace::objects::{Held, Object};
use yfs_engine::{hash::ContentHash, id::FileId};
use yfs_vfs::host::beneath::{Dir, Looks};

use super::{Engine, is_absent};
use crate::{
    error::Result,
    ignores::Ignores,
    plan::parked,
    state::{Base, Node, Stamp, store::Intent},
};

/// A file that is about to take the place of another.
struct Prepared {
    node: Node,
    object: Object,
    dir: Dir,
    held: Held,
    hash: ContentHash,
    /// The inode of the new file.
    stamp: Stamp,
}

impl Engine {
    /// Gives files the content that they have in the workspace.
    pub(super) fn replace(&mut self, objects: &[Object]) -> Result<()> {
        let mut prepared = Vec::with_capacity(objects.len());
        for object in objects {
            let Some(node) = self.state.get(&object.id).cloned() else { continue };
            let path = self.state.path(&object.id);
            match self.prepare(object, node, &path)? {
                Ok(Some(one)) => prepared.push(one),
                Ok(None) => (),
                Err(error) if is_absent(&error) => {
                    self.later.insert(path, true);
                }
                Err(error) => self.failed_on_disk(&path, &error),
            }
        }
        let intents: Vec<(FileId, Intent)> = prepared.iter().map(Prepared::intent).collect();
        self.memory.intend(&intents)?;
        crate::fault::point("intended-replace");
        let mut settled = Vec::with_capacity(prepared.len());
        for one in prepared {
            let path = self.state.path(&one.node.id);
            settled.push(one.node.id.clone());
            match self.exchange(&one, &path) {
                Ok(()) => (),
                Err(error) if is_absent(&error) => {
                    self.unused.push((one.dir, one.node.id.clone()));
                    self.later.insert(path, true);
                    self.dirty_work.insert(one.node.id);
                }
                Err(error) => {
                    self.unused.push((one.dir, one.node.id));
                    self.failed_on_disk(&path, &error);
                }
            }
        }
        crate::fault::point("replaced");
        self.commit(&settled)?;
        // Not before: that a file in the making is gone says that it is made.
        for (dir, id) in std::mem::take(&mut self.unused) {
            dir.remove_file(&parked(&id)).ok();
        }
        Ok(())
    }

    /// Makes the new file beside the old one; nothing where they are the same.
    fn prepare(
        &mut self,
        object: &Object,
        node: Node,
        path: &Path,
    ) -> Result<io::Result<Option<Prepared>>> {
        let Ok(held) = self.workspace.held(&object.id) else {
            self.note_absent(&object.id, path);
            return Ok(Ok(None));
        };
        let hash = ContentHash::of(&held.data);
        if hash == node.hash {
            self.state.update(&object.id, |node| {
                node.work.version = held.version.as_str().into();
                node.base = Base::Version(held.base);
            });
            return Ok(Ok(None));
        }
        let mode = match node.work.mode == object.mode {
            true => node.stamp.mode,
            false => self.mode_for(path, object.mode, node.stamp.mode),
        };
        let looks = Looks { mode, mtime: object.mtime };
        let sync = self.options.sync;
        let made = path.parent().map_or_else(|| Ok(self.root.root()), |dir| self.root.dir(dir));
        let made = made.and_then(|dir| {
            let temporary = parked(&node.id);
            dir.remove_file(&temporary).ok();
            dir.make_file(&temporary, &held.data, looks, sync)?;
            let facts = dir.facts(&temporary)?.ok_or(io::ErrorKind::NotFound)?;
            Ok((dir, Stamp::of(&facts)))
        });
        let object = object.clone();
        Ok(made.map(|(dir, stamp)| Some(Prepared { node, object, dir, held, hash, stamp })))
    }

    fn exchange(&mut self, one: &Prepared, path: &Path) -> io::Result<()> {
        let (node, dir) = (&one.node, &one.dir);
        let (name, temporary) = (&node.name, parked(&node.id));
        match dir.exchange(&temporary, name) {
            Ok(()) => {
                crate::fault::point("exchanged");
                if !self.is_recorded(dir, &temporary, node)? {
                    return self.change_back(one, path);
                }
                dir.remove_file(&temporary)?;
            }
            // Filesystems that cannot: look first, and then replace.
            Err(error) if cannot(&error) => {
                if !self.is_recorded(dir, name, node)? {
                    self.unused.push((dir.clone(), node.id.clone()));
                    self.news_on_disk(&node.id, path);
                    return Ok(());
                }
                dir.rename_over(&temporary, name)?;
            }
            Err(error) => return Err(error),
        }
        if self.options.sync {
            dir.sync()?;
        }
        let facts = dir.facts(name)?.ok_or(io::ErrorKind::NotFound)?;
        let now = Stamp::of(&facts);
        let is_ours = now.is_same_inode(&one.stamp)
            && (now.size, now.mtime_ns) == (one.stamp.size, one.stamp.mtime_ns);
        self.state.update(&node.id, |node| {
            node.stamp = if is_ours { now } else { one.stamp };
            node.hash = one.hash;
            node.base = Base::Version(one.held.base.clone());
            node.work.version = one.held.version.as_str().into();
            (node.work.mode, node.work.mtime_ms) = (one.object.mode, one.object.mtime.0);
        });
        if is_ours {
            self.note_racy(&node.id, &now);
        } else {
            self.news_on_disk(&node.id, path);
        }
        self.n_done += 1;
        self.report.to_folder.written += 1;
        self.unskip_unless_executable(path);
        if Ignores::is_rules(name) {
            self.reread_rules(path.parent().unwrap_or(Path::new("")));
        }
        Ok(())
    }

    /// Puts back what somebody wrote to in the last moment.
    fn change_back(&mut self, one: &Prepared, path: &Path) -> io::Result<()> {
        let temporary = parked(&one.node.id);
        one.dir.exchange(&temporary, &one.node.name)?;
        let back = one.dir.facts(&temporary)?.map(|facts| Stamp::of(&facts));
        let is_ours = back.is_some_and(|back| {
            back.is_same_inode(&one.stamp)
                && (back.size, back.mtime_ns) == (one.stamp.size, one.stamp.mtime_ns)
        });
        if is_ours {
            self.unused.push((one.dir.clone(), one.node.id.clone()));
        } else {
            // Somebody wrote to ours while it stood there.
            self.strays.push(path.with_file_name(temporary));
        }
        self.news_on_disk(&one.node.id, path);
        Ok(())
    }

    /// Has something looked at whose bytes are news, and then made what the workspace comes to.
    fn news_on_disk(&mut self, id: &FileId, path: &Path) {
        self.racy.insert(id.clone());
        self.later.insert(path.to_owned(), true);
        self.dirty_work.insert(id.clone());
    }
}

impl Prepared {
    fn intent(&self) -> (FileId, Intent) {
        let intent = Intent::Replace {
            temporary: parked(&self.node.id).to_string_lossy().into_owned(),
            hash: self.hash,
            version: self.held.version.as_str().to_owned(),
            base: self.held.base.clone(),
        };
        (self.node.id.clone(), intent)
    }
}

fn cannot(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
