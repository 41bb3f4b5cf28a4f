//! Calls that JavaScript may end before they are done.

use tokio::runtime::Handle;
use yfs_vfs::{CancellationToken, FsCode, FsError};

use crate::prelude::*;

/// The means to end the calls that got it.
#[derive(Debug, Default)]
#[napi]
pub struct NativeCancellation {
    token: CancellationToken,
}

#[napi]
impl NativeCancellation {
    #[napi(constructor)]
    pub fn new() -> Self {
        Self { token: CancellationToken::new() }
    }

    /// Ends the calls: they fail with `ECANCELED`.
    #[napi]
    pub fn cancel(&self) {
        self.token.cancel();
    }
}

/// Returns the token of a call; one that never ends it if JavaScript gave none.
pub(crate) fn token_of(given: Option<&NativeCancellation>) -> CancellationToken {
    given.map_or_else(CancellationToken::new, |given| given.token.clone())
}

/// Runs a call on another thread, until it is done or cancelled.
pub(crate) fn cancellable<T, F>(
    cancel: CancellationToken,
    call: impl FnOnce() -> F + Send + 'static,
) -> OwnedFuture<T>
where
    T: Send + 'static,
    F: Future<Output = napi::Result<T>>,
{
    OwnedFuture::blocking(move || {
        Handle::current().block_on(async {
            tokio::select! {
                done = call() => done,
                () = cancel.cancelled() => {
                    Err(error::of(FsError::bare(FsCode::ECANCELED, Op::Read)))
                }
            }
        })
    })
}
