//! The workspace for Python: the native half of the Python package `yfs`.
//!
//! Each call releases the interpreter lock while it works (`call`), and returns values of its own
//! (`records`). Errors of paths are `OSError`s with an `errno` (`error`). The Python half of the
//! package (`python/yfs/`) builds on this one: types, deepagents, Anthropic's memory tool.
//!
//! ```python
//! import yfs
//! with yfs.open("plans.db", actor="agent:planner") as ws:
//!     fs = ws.files()
//!     fs.write("/docs/plan.md", "1. Listen\n2. Answer\n")
//!     fs.edit("/docs/plan.md", "Answer", "Answer well")
//! ```
//!
//! # Invariants
//!
//! - No call holds the interpreter lock while it waits for a lock, a disk or another thread.
//! - A panic becomes a `RuntimeError`.
//! - An object is used and released only in the process that made it. A child that was forked from
//!   a process that uses yfs gets errors, and leaves the parent's claims in the store alone.

mod artifacts;
mod call;
mod descriptions;
mod error;
mod filesystem;
mod history;
mod limited;
mod maintenance;
mod queries;
mod records;
mod threads;
mod workspace;

use pyo3::prelude::*;

use crate::{
    artifacts::PythonArtifacts,
    error::{EditRefusedError, WorkspaceFailedError},
    filesystem::PythonFs,
    threads::{PythonThreadFiles, PythonThreads},
    workspace::PythonWorkspace,
};

/// The native half of the package `yfs`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PythonArtifacts>()?;
    module.add_class::<PythonFs>()?;
    module.add_class::<PythonThreadFiles>()?;
    module.add_class::<PythonThreads>()?;
    module.add_class::<PythonWorkspace>()?;
    let python = module.py();
    module.add("EditRefusedError", python.get_type::<EditRefusedError>())?;
    // Tracebacks print the name of the type.
    let failed = python.get_type::<WorkspaceFailedError>();
    failed.setattr("__name__", "WorkspaceError")?;
    failed.setattr("__qualname__", "WorkspaceError")?;
    module.add("WorkspaceError", failed)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(queries::serve_query, module)?)?;
    module.add_function(wrap_pyfunction!(workspace::open, module)?)?;
    module.add_function(wrap_pyfunction!(filesystem::memory_fs, module)?)?;
    module.add_function(wrap_pyfunction!(filesystem::host, module)?)
}
