//! The directories that exist only because a prefix lies in them.

use yfs_types::path::VPath;
use yfs_vfs::{DirEntry, FileKind, FsCode, FsError, Op, Stat};

use super::{CompositeFs, id_of};

impl CompositeFs {
    /// Returns the description of an object. A directory above a prefix exists in any case.
    pub(super) async fn stat_routed(
        &self,
        op: Op,
        path: &VPath,
        follow: bool,
    ) -> Result<Stat, FsError> {
        let at = self.route(op, path)?;
        let stat =
            if follow { at.fs().stat(&at.inner).await } else { at.fs().lstat(&at.inner).await };
        match stat {
            Ok(mut stat) if stat.is_directory() || !self.holds_prefix(path) => {
                stat.id = at.route.outer_id(stat.id);
                Ok(stat)
            }
            Err(error) if !is_missing(&error) || !self.holds_prefix(path) => at.lift(Err(error)),
            // A prefix hides what its place holds otherwise.
            _ => Ok(Stat::new(id_of(&format!("prefix\0{path}")), FileKind::Directory)),
        }
    }

    pub(super) async fn list_routed(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError> {
        let at = self.route(Op::Scandir, path)?;
        let names = self.prefix_names(path);
        let mut entries = match at.fs().readdir(&at.inner).await {
            Ok(entries) => entries,
            Err(error) if is_missing(&error) && self.holds_prefix(path) => Vec::new(),
            Err(error) => return at.lift(Err(error)),
        };
        for entry in &mut entries {
            entry.id = at.route.outer_id(entry.id.clone());
        }
        entries.retain(|entry| !names.contains(&entry.name));
        for name in names {
            let stat = self.stat_routed(Op::Scandir, &path.join(&name), false).await?;
            let mut entry = DirEntry::new(name, stat.id, FileKind::Directory);
            (entry.mtime, entry.mode) = (stat.mtime, stat.mode);
            entries.push(entry);
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }
}

fn is_missing(error: &FsError) -> bool {
    matches!(error.code, FsCode::ENOENT | FsCode::ENOTDIR)
}
