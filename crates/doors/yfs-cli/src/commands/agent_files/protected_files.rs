//! The files that decide what an agent may do: those of `--rules` and `--approvals`.
//!
//! The agent may neither read nor change them, nor what is written beside them, nor the links that
//! lead to them, wherever the files that it works on contain them. While the file is there, no
//! directory above it can be moved or removed by the agent either.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs, io,
    path::{Component, Path, PathBuf},
};

use yfs_agent::permissions::{AccessKind, PermissionRule, PermissionRules, RuleMode};
use yfs_engine::path::{MAX_LINKS, VPath};

/// What is written beside a file of approvals.
const BESIDE: [&str; 3] = ["", ".lock", ".new"];

/// The files, by paths of the host.
#[derive(Debug, Clone, Default)]
pub(super) struct ProtectedFiles {
    /// Paths without links.
    files: Vec<PathBuf>,
    /// The links that lead to them.
    links: Vec<PathBuf>,
}

/// The rules about the files that lie below the root of the agent's files.
#[derive(Debug, Clone)]
pub(super) struct ProtectedRules {
    pub(super) rules: PermissionRules,
    /// The files, which the rules bind by their hard links, too.
    pub(super) files: Vec<VPath>,
}

impl ProtectedFiles {
    /// Resolves the files of the options.
    ///
    /// # Errors
    ///
    /// Fails if one cannot be resolved.
    pub(super) fn find(rules: Option<&Path>, approvals: Option<&Path>) -> io::Result<Self> {
        let mut found = Self::default();
        for file in [rules, approvals].into_iter().flatten() {
            let resolved = found.resolve(file)?;
            for suffix in BESIDE {
                let mut beside = resolved.clone().into_os_string();
                beside.push(suffix);
                found.files.push(beside.into());
            }
        }
        Ok(found)
    }

    /// Follows the links of a path, and keeps their places. The last name need not exist.
    fn resolve(&mut self, path: &Path) -> io::Result<PathBuf> {
        let absolute = std::path::absolute(path)?;
        let mut pending: VecDeque<OsString> = names_of(&absolute).collect();
        let mut at = PathBuf::from("/");
        let mut n_links = 0;
        while let Some(name) = pending.pop_front() {
            if name == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&name);
            let is_link = fs::symlink_metadata(&next).is_ok_and(|stat| stat.is_symlink());
            if !is_link {
                at = next;
                continue;
            }
            n_links += 1;
            if n_links > MAX_LINKS {
                return Err(io::Error::other(format!("{}: too many links", path.display())));
            }
            let target = fs::read_link(&next)?;
            self.links.push(next);
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            for name in names_of(&target).collect::<Vec<_>>().into_iter().rev() {
                pending.push_front(name);
            }
        }
        Ok(at)
    }

    /// Returns the rules about the files below a directory, which is the root of the agent's files;
    /// `None` if none is there.
    pub(super) fn rules_below(&self, root: &Path) -> Option<ProtectedRules> {
        let root = root.canonicalize().ok()?;
        let below = |path: &PathBuf| {
            let rest = path.strip_prefix(&root).ok()?.to_str()?;
            VPath::parse(&format!("/{rest}")).ok()
        };
        let both = [AccessKind::Read, AccessKind::Write];
        let deny = |operations: &[AccessKind], path: VPath| {
            PermissionRule::subtree(RuleMode::Deny, operations, &path)
        };
        let files: Vec<VPath> = self.files.iter().filter_map(below).collect();
        let links = self.links.iter().filter_map(below);
        let links = links.map(|path| PermissionRule::exact(RuleMode::Deny, &both[1..], &path));
        let rules: Vec<_> =
            files.iter().map(|path| deny(&both, path.clone())).chain(links).collect();
        if rules.is_empty() {
            return None;
        }
        Some(ProtectedRules { rules: PermissionRules::new(rules).ok()?, files })
    }
}

fn names_of(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    })
}
