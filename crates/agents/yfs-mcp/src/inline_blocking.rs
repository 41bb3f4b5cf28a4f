//! Futures that block when polled, such as calls of a workspace, on tokio's threads.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::block_in_place,
};

/// A future whose polls may block: other tasks of the thread move to another thread meanwhile.
///
/// While the future waits, it holds no thread.
pub(crate) struct InlineBlocking<F> {
    inner: Pin<Box<F>>,
    is_multi_threaded: bool,
}

impl<F: Future> InlineBlocking<F> {
    /// Wraps a future. On a runtime with one thread it is polled as it is.
    pub(crate) fn new(future: F) -> Self {
        let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
        let is_multi_threaded = matches!(flavor, Ok(RuntimeFlavor::MultiThread));
        Self { inner: Box::pin(future), is_multi_threaded }
    }
}

impl<F: Future> Future for InlineBlocking<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        match self.is_multi_threaded {
            true => block_in_place(|| self.inner.as_mut().poll(cx)),
            false => self.inner.as_mut().poll(cx),
        }
    }
}
