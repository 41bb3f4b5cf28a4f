//! A directory for files that are derived from a store, with the cipher that they must be sealed
//! under.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::encryption::{Cipher, DataKey};

/// A directory for files, and the cipher of an encrypted store to which they belong.
///
/// A function that writes files takes this instead of a path, so that it cannot miss that the files
/// of an encrypted store must be sealed.
#[derive(Debug, Clone)]
pub struct SealedDirectory {
    path: PathBuf,
    cipher: Option<Arc<Cipher>>,
}

impl SealedDirectory {
    /// Makes the directory of a store; without a key, its files are plain.
    pub fn new(path: impl Into<PathBuf>, key: Option<&DataKey>) -> Self {
        Self { path: path.into(), cipher: key.map(|key| key.cipher("derived files")) }
    }

    /// Makes a directory of plain files.
    pub fn plain(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), cipher: None }
    }

    /// Returns a directory in this one.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        Self { path: self.path.join(name), cipher: self.cipher.clone() }
    }

    /// Returns the directory beside this one whose name has another extension.
    #[must_use]
    pub fn with_extension(&self, extension: &str) -> Self {
        Self { path: self.path.with_extension(extension), cipher: self.cipher.clone() }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the cipher that every file must be sealed under; `None` if the store is plain.
    pub fn cipher(&self) -> Option<&Arc<Cipher>> {
        self.cipher.as_ref()
    }
}
