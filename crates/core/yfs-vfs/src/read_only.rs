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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{conformance::script, memory::MemoryFs};

    #[tokio::test]
    async fn reads_pass_and_writes_do_not() {
        let inner: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
        script::check(&inner, "write /d/f hello\nln d /l").await.unwrap();
        let fs: Arc<dyn FileSystem> = Arc::new(ReadOnlyFs::wrap(inner));
        let script = "
            cat /l/f => hello
            range /d/f 1 2 => el
            lines /d/f 0 1 => hello next end of 1
            stream /d/f 9 => 1/1:hello!
            stat /d => directory 0
            ls / => d/ l@
            realpath /l => /d
            walk / => /d/ /d/f /l@
            glob f => /d/f
            grep hello => /d/f:1:hello
            totals / => 1 1 5
            write /d/f x !! EROFS
            write /new x !! EROFS
            append /d/f x !! EROFS
            edit /d/f hello x !! EROFS
            mkdir /e !! EROFS
            rm /d/f !! EROFS
            rm -r -f /none !! EROFS
            cp /d/f /g !! EROFS
            mv /d /e !! EROFS
            ln x /m !! EROFS
            link /d/f /m !! EROFS
            utimes 1 /d/f !! EROFS
            chmod 600 /d/f !! EROFS";
        script::check(&fs, script).await.unwrap();
        let error =
            fs.mv(&"/a".parse().unwrap(), &"/b".parse().unwrap(), &Default::default()).await;
        let shown = error.unwrap_err().to_string();
        assert_eq!(shown, "EROFS: read-only file system, rename '/a' -> '/b'");
    }
}
