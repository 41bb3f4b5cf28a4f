//! What a session may do with its files, as one layer over them.

use std::sync::Arc;

use yfs_types::path::VPath;
use yfs_vfs::{FileSystem, ReadOnlyFs};

use super::{
    broker::ApprovalBroker,
    permitted_fs::{MissingLinkHandle, PermittedFs},
    rules::PermissionRules,
};
use crate::hooks::{HookedFs, StorageQuota, WriteHook, WriteHooks};

/// The limits of a session.
#[derive(Debug, Clone)]
pub struct AccessLimits {
    /// Whether every change is rejected.
    pub is_read_only: bool,
    /// Rules that all bind.
    pub rules: Vec<PermissionRules>,
    /// Files that the rules bind by their hard links as well.
    pub guarded: Vec<VPath>,
    /// The side that answers the questions of rules.
    pub broker: Arc<dyn ApprovalBroker>,
    /// What all files may take, those of others included.
    pub quota: Option<StorageQuota>,
}

impl AccessLimits {
    /// Returns a filesystem with these limits. All rules are one layer, so a path is resolved and
    /// checked once.
    ///
    /// # Errors
    ///
    /// Fails if there are rules, and the filesystem has no handle that follows no links.
    pub fn apply(&self, fs: Arc<dyn FileSystem>) -> Result<Arc<dyn FileSystem>, MissingLinkHandle> {
        let fs: Arc<dyn FileSystem> = match self.is_read_only {
            true => Arc::new(ReadOnlyFs::wrap(fs)),
            false => fs,
        };
        let fs = match self.quota {
            Some(quota) => {
                let hooks = WriteHooks::new([Arc::new(quota) as Arc<dyn WriteHook>]);
                Arc::new(HookedFs::new(fs, hooks))
            }
            None => fs,
        };
        if self.rules.is_empty() {
            return Ok(fs);
        }
        let rules = PermissionRules::all_of(self.rules.iter().cloned());
        let permitted = PermittedFs::new(fs, rules)?.guarding_files(&self.guarded);
        Ok(Arc::new(permitted.with_broker(self.broker.clone())))
    }
}
