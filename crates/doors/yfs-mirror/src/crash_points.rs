//! Points in the code where a test can kill the process or hold it. `YFS_MIRROR_FAULT=name:count`
//! aborts it, as `kill -9` would, when it reaches the point of that name for the count-th time.
//! `YFS_MIRROR_PAUSE=name:path` has it read the named pipe at this path, to its end, each time it
//! reaches the point of that name: it goes on when the test has closed the pipe.

use std::{
    path::PathBuf,
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
};

struct MirrorFault {
    name: String,
    left: AtomicU32,
}

static FAULT: LazyLock<Option<MirrorFault>> = LazyLock::new(|| {
    let text = std::env::var("YFS_MIRROR_FAULT").ok()?;
    let (name, count) = text.split_once(':')?;
    Some(MirrorFault { name: name.to_owned(), left: AtomicU32::new(count.parse().ok()?) })
});

/// Waits until a test closes its pipe, if it requested that for this point.
pub(crate) fn pause(name: &str) {
    static PAUSE: LazyLock<Option<(String, PathBuf)>> = LazyLock::new(|| {
        let text = std::env::var("YFS_MIRROR_PAUSE").ok()?;
        text.split_once(':').map(|(name, path)| (name.to_owned(), path.into()))
    });
    if let Some((_, pipe)) = PAUSE.as_ref().filter(|(paused, _)| paused == name) {
        std::fs::read(pipe).ok();
    }
}

/// Aborts the process if a test requested it for this point.
pub(crate) fn point(name: &str) {
    let Some(fault) = &*FAULT else { return };
    if fault.name == name && fault.left.fetch_sub(1, Ordering::Relaxed) == 1 {
        std::process::abort();
    }
}
