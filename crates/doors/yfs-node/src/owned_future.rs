//! Promises: what a call returns that runs on another thread.

use std::pin::Pin;

use napi::{
    Env,
    bindgen_prelude::{JsValue, ToNapiValue},
    sys,
};
use tokio::{runtime::Handle, task::spawn_blocking};

use crate::error::{self, NodeFailure};

/// A call that runs on another thread, and that JavaScript gets as a promise.
///
/// The caller's environment may be torn down while the call runs: a worker thread is terminated, or
/// exits. Its objects are freed then, the one whose method was called included. So nothing here may
/// borrow from an object of JavaScript, which `'static` ensures; an `async fn` of an exported
/// object would borrow the object itself, and none is (`tests/tests/it/node_package.rs`).
#[expect(missing_debug_implementations, reason = "a future has none")]
pub struct OwnedFuture<T>(Pin<Box<dyn Future<Output = napi::Result<T>> + Send>>);

impl<T: Send + 'static> OwnedFuture<T> {
    /// Returns a call that may block.
    pub(crate) fn blocking(work: impl FnOnce() -> napi::Result<T> + Send + 'static) -> Self {
        Self::future(async { spawn_blocking(work).await.map_err(|panic| error::died(&panic))? })
    }

    /// Returns a call of asynchronous functions that block.
    pub(crate) fn calling<E: NodeFailure, F: Future<Output = Result<T, E>>>(
        work: impl FnOnce() -> F + Send + 'static,
    ) -> Self {
        Self::blocking(move || Handle::current().block_on(work()).map_err(error::of))
    }

    /// Returns a call that waits for events.
    pub(crate) fn future(work: impl Future<Output = napi::Result<T>> + Send + 'static) -> Self {
        Self(Box::pin(work))
    }
}

impl<T: ToNapiValue + Send + 'static> ToNapiValue for OwnedFuture<T> {
    unsafe fn to_napi_value(env: sys::napi_env, promised: Self) -> napi::Result<sys::napi_value> {
        let env = Env::from_raw(env);
        Ok(env.spawn_future(promised.0)?.raw())
    }
}
