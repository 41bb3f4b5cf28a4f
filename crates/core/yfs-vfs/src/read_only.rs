//! A filesystem that rejects writes.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    error::{FsCode, FsError},
    file_system::FileSystem,
    guarded_fs::{FsGuard, GuardedCall, GuardedFs},
};

/// A filesystem whose writing operations all return `EROFS`, whatever their arguments.
pub type ReadOnlyFs = GuardedFs<ReadOnly>;

/// The guard that rejects every call that may write.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadOnly;

impl ReadOnlyFs {
    /// Wraps a filesystem.
    pub fn wrap(inner: Arc<dyn FileSystem>) -> Self {
        Self::new(inner, ReadOnly)
    }
}

#[async_trait]
impl FsGuard for ReadOnly {
    async fn check_call(&self, call: &GuardedCall<'_>) -> Result<Option<FsError>, FsError> {
        if call.writes { Err(call.refused(FsCode::EROFS)) } else { Ok(None) }
    }
}
