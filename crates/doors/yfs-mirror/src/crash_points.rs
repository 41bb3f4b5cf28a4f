//! Points in the code where a test can kill the process. `YFS_MIRROR_FAULT=name:count` aborts it,
//! as `kill -9` would, when it reaches the point of that name for the count-th time.

use std::sync::{
    LazyLock,
    atomic::{AtomicU32, Ordering},
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

/// Aborts the process if a test requested it for this point.
pub(crate) fn point(name: &str) {
    let Some(fault) = &*FAULT else { return };
    if fault.name == name && fault.left.fetch_sub(1, Ordering::Relaxed) == 1 {
        std::process::abort();
    }
}
