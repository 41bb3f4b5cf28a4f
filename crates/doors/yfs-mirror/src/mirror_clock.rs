//! The clock of a mirror's waits: how long a file has been missing or empty.

use std::{fmt, sync::Arc, time::Instant};

/// A clock that never goes back. By default it is that of the host; tests have one that they
/// advance.
#[derive(Clone)]
pub(crate) struct MirrorClock(Arc<dyn Fn() -> Instant + Send + Sync>);

impl MirrorClock {
    /// Makes a clock of a function that returns the present time.
    pub(crate) fn new(now: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Returns the present time.
    pub(crate) fn now(&self) -> Instant {
        (self.0)()
    }
}

impl Default for MirrorClock {
    fn default() -> Self {
        Self::new(Instant::now)
    }
}

impl fmt::Debug for MirrorClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("MirrorClock").field(&self.now()).finish()
    }
}
