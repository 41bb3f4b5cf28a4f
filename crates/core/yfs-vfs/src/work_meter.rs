//! Counting the work of a long operation while it runs.
//!
//! A caller that wants to know how far an operation has come runs it in [`metered`]. Searches,
//! walks and copies then count the objects that they list, read or write, through any number of
//! wrappers of the filesystem.

use std::{fmt, sync::Arc};

tokio::task_local! {
    /// The meter of the operation that this task runs.
    static METER: Arc<dyn WorkMeter>;
}

/// A counter of the objects (files and directories) that an operation has listed, read or written.
pub trait WorkMeter: Send + Sync + fmt::Debug {
    /// Adds to the count. Called from any thread, also while locks are held: it must not wait.
    fn count_objects(&self, n_objects: u64);
}

/// Runs an operation, whose work `meter` counts.
pub async fn metered<F: Future>(meter: Arc<dyn WorkMeter>, operation: F) -> F::Output {
    METER.scope(meter, operation).await
}

/// Returns the meter of the operation that this task runs, for work that goes on in a thread.
pub(crate) fn current_meter() -> Option<Arc<dyn WorkMeter>> {
    METER.try_with(Arc::clone).ok()
}

/// Adds to the count of the operation that this task runs, if it has one.
pub fn count_objects(n_objects: u64) {
    // Without a meter the work is not counted.
    METER.try_with(|meter| meter.count_objects(n_objects)).ok();
}
