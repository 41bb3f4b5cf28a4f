//! The components of a path that a lookup still has to walk, including those of followed links.
//!
//! The backends that walk paths themselves share this module, so that they resolve links alike.

use smol_str::SmolStr;
use unicode_normalization::{UnicodeNormalization, is_nfc};
use yfs_types::{
    name::{NameError, NodeName},
    path::{MAX_LINKS, VPath},
};

use crate::error::FsCode;

/// The components that are still to be walked, the next one last.
#[derive(Debug)]
pub(crate) struct PendingComponents {
    components: Vec<PathComponent>,
    n_links: usize,
    spelling: NameComparison,
}

/// How names are compared in a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameComparison {
    /// In normalization form C, as they are stored.
    FormC,
    /// Byte for byte.
    Exact,
}

/// One component: a name, `.` or `..`.
#[derive(Debug)]
pub(crate) struct PathComponent {
    pub(crate) name: SmolStr,
    /// Whether it came from the target of a link, not from the path.
    from_link: bool,
}

impl PendingComponents {
    /// Starts a walk at the root.
    pub(crate) fn new(path: &VPath, spelling: NameComparison) -> Self {
        let component = |name| PathComponent { name: spelling.of(name), from_link: false };
        let components = path.components().rev().map(component).collect();
        Self { components, n_links: 0, spelling }
    }

    pub(crate) fn next(&mut self) -> Option<PathComponent> {
        self.components.pop()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.components.is_empty()
    }

    /// Inserts the components of a link's target, and reports whether the target starts at the
    /// root.
    pub(crate) fn follow(&mut self, target: &str) -> Result<bool, FsCode> {
        self.n_links += 1;
        if self.n_links > MAX_LINKS {
            return Err(FsCode::ELOOP);
        }
        let component = |name| PathComponent { name: self.spelling.of(name), from_link: true };
        if target.ends_with('/') {
            // The target must be a directory: a final `.` makes the walk check that.
            self.components.push(component("."));
        }
        let names = target.split('/').filter(|name| !name.is_empty());
        self.components.extend(names.rev().map(component));
        Ok(target.starts_with('/'))
    }

    /// Returns the names that are missing, beginning with `first`, if they can be created.
    ///
    /// The file that a dangling link at the end of a path names can be created; a directory that a
    /// link before the end names cannot.
    pub(crate) fn missing(self, first: PathComponent) -> Result<Vec<SmolStr>, FsCode> {
        if first.from_link && !self.components.is_empty() {
            return Err(FsCode::ENOENT);
        }
        let rest = self.components.into_iter().rev().map(|component| component.name);
        Ok(std::iter::once(first.name).chain(rest).collect())
    }
}

impl NameComparison {
    fn of(self, name: &str) -> SmolStr {
        match self {
            Self::FormC if !is_nfc(name) => name.nfc().collect(),
            Self::FormC | Self::Exact => SmolStr::new(name),
        }
    }
}

/// The greatest length of a link's target, in bytes.
const MAX_TARGET_LEN: usize = 4095;

/// Checks the target of a link that is to be created.
pub(crate) fn check_target(target: &str) -> Result<(), FsCode> {
    if target.is_empty() {
        Err(FsCode::ENOENT)
    } else if target.contains('\0') {
        Err(FsCode::EINVAL)
    } else if target.len() > MAX_TARGET_LEN {
        Err(FsCode::ENAMETOOLONG)
    } else {
        Ok(())
    }
}

/// Checks a name that is to be created.
pub(crate) fn check_name(name: &str) -> Result<(), FsCode> {
    match NodeName::new(name) {
        Ok(_) => Ok(()),
        Err(NameError::TooLong(_)) => Err(FsCode::ENAMETOOLONG),
        Err(_) => Err(FsCode::EINVAL),
    }
}
