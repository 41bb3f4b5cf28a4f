//! Calls without the interpreter lock, and the objects that they use.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    process,
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
};

use pyo3::{exceptions::PyRuntimeError, prelude::*};
use tokio::runtime::{Builder, Runtime};

/// The number of threads that search for one process.
const N_WORKERS: usize = 4;

/// Runs `work` without the interpreter lock. A panic is a `RuntimeError`.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let result = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        PyRuntimeError::new_err(format!("internal error of yfs: {text}"))
    })
}

/// Runs a future to its end on this thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(future)
}

/// Returns the runtime of this process.
fn runtime() -> &'static Runtime {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        let mut builder = Builder::new_multi_thread();
        let built = builder.worker_threads(N_WORKERS).thread_name("yfs-python").enable_all();
        built.build().expect("the system has threads for the searches")
    });
    &RUNTIME
}

/// Claims the use of yfs for this process. A child that was forked from a process that uses yfs is
/// rejected: locks in its memory wait for threads that the child does not have.
pub(crate) fn claim_process() -> PyResult<()> {
    static USER: AtomicU32 = AtomicU32::new(0);
    let own = process::id();
    match USER.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Err(user) if user != own => {
            Err(PyRuntimeError::new_err("this process was forked from one that uses yfs; spawn it"))
        }
        _ => Ok(()),
    }
}

/// A value that only the process that made it uses and drops.
#[derive(Debug)]
pub(crate) struct ProcessOwned<T> {
    /// Present until the drop.
    value: Option<T>,
    owner: u32,
}

impl<T> ProcessOwned<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Some(value), owner: process::id() }
    }

    /// Returns the value, unless this process is a fork of the one that made it.
    pub(crate) fn get(&self) -> PyResult<&T> {
        let is_owner = self.owner == process::id();
        self.value.as_ref().filter(|_| is_owner).ok_or_else(|| {
            PyRuntimeError::new_err("opened before this process was forked; spawn it instead")
        })
    }
}

impl<T> Drop for ProcessOwned<T> {
    fn drop(&mut self) {
        let value = self.value.take();
        if self.owner != process::id() {
            // Its threads are the parent's, and so are its claims in the store.
            mem::forget(value);
            return;
        }
        // Python has no caller to raise in, and a panic out of here would end the process.
        catch_unwind(AssertUnwindSafe(|| drop(value))).ok();
    }
}
