//! The threads of agents, and their files: each call is a request of `yfs-wire`.

use std::collections::BTreeMap;

use pyo3::{
    prelude::*,
    types::{PyAny, PyBytes},
};
use pythonize::depythonize;
use yfs::clock::{Clock, SystemClock};
use yfs_threads::{
    BadTemplate, NamespaceStrategy, NamespaceTemplate, ThreadError, ThreadFileError, ThreadFiles,
    Threads,
};
use yfs_vfs::Metadata;
use yfs_wire::{
    RetentionRules, ThreadFileJson, ThreadFileRequest, ThreadLinkRequest, ThreadMkdirRequest,
    ThreadMoveRequest, ThreadOpening, ThreadRequest, ThreadResponse, ThreadSearchRequest,
};

use crate::{
    call::{ProcessOwned, block_on, detached},
    error,
    filesystem::FileData,
    records::{Seconds, record},
    workspace::{PythonWorkspace, parse_actor},
};

/// The threads of a workspace: a tree of files for each.
#[pyclass(name = "Threads", module = "yfs", frozen)]
#[derive(Debug)]
pub(crate) struct PythonThreads {
    threads: ProcessOwned<Threads>,
}

/// The files of a thread. Paths begin at its root.
#[pyclass(name = "ThreadFiles", module = "yfs", frozen)]
#[derive(Debug)]
pub(crate) struct PythonThreadFiles {
    files: ProcessOwned<ThreadFiles>,
}

#[pymethods]
impl PythonWorkspace {
    /// Returns the threads on behalf of an actor, in an activity. The strategy is `thread_id`,
    /// `task_id`, `flat`, or a template of a namespace such as `{org}/{user}`.
    #[pyo3(signature = (*, actor = None, label = None, strategy = "thread_id"))]
    fn threads(
        &self,
        actor: Option<&str>,
        label: Option<&str>,
        strategy: &str,
    ) -> PyResult<PythonThreads> {
        let actor = actor.map(parse_actor).transpose()?.unwrap_or_else(|| self.actor.clone());
        let parsed = match NamespaceStrategy::parse(strategy) {
            Err(BadTemplate::Unknown) => {
                NamespaceTemplate::parse(strategy).map(NamespaceStrategy::Custom)
            }
            parsed => parsed,
        };
        let parsed =
            parsed.map_err(|why| error::invalid(&format!("a namespace ({why})"), strategy))?;
        let threads = Threads::open(self.workspace.get()?).acting_for(actor).with_strategy(parsed);
        let threads = match label {
            Some(label) => threads.labelled(label),
            None => threads,
        };
        Ok(PythonThreads { threads: ProcessOwned::new(threads) })
    }
}

impl PythonThreads {
    fn call<'py>(&self, py: Python<'py>, request: ThreadRequest) -> PyResult<Bound<'py, PyAny>> {
        let threads = self.threads.get()?;
        let now = SystemClock.now();
        let served = detached(py, || block_on(request.serve::<Seconds>(threads, now)))?;
        match served.map_err(|error| of_thread(py, &error))? {
            ThreadResponse::Threads(list) => record(py, &list.threads),
            served => record(py, &served),
        }
    }

    fn opened(&self, py: Python<'_>, opening: &ThreadOpening) -> PyResult<PythonThreadFiles> {
        let threads = self.threads.get()?;
        let opened = detached(py, || block_on(opening.open(threads)))?;
        let files = opened.map_err(|error| of_thread(py, &error))?.files();
        Ok(PythonThreadFiles { files: ProcessOwned::new(files) })
    }
}

#[pymethods]
impl PythonThreads {
    /// Returns the files of a thread, which is made if it does not exist.
    fn open(&self, py: Python<'_>, id: String) -> PyResult<PythonThreadFiles> {
        self.opened(py, &ThreadOpening::Open { id })
    }

    /// The same for the thread that the values of a template lead to.
    fn open_for(
        &self,
        py: Python<'_>,
        values: BTreeMap<String, String>,
    ) -> PyResult<PythonThreadFiles> {
        self.opened(py, &ThreadOpening::OpenFor { values })
    }

    /// Returns the files of a thread, which must exist.
    fn existing(&self, py: Python<'_>, id: String) -> PyResult<PythonThreadFiles> {
        self.opened(py, &ThreadOpening::Existing { id })
    }

    /// Makes a thread, which must not exist.
    fn create(&self, py: Python<'_>, id: String) -> PyResult<PythonThreadFiles> {
        self.opened(py, &ThreadOpening::Create { id })
    }

    /// Makes a thread with the files of another.
    fn fork(&self, py: Python<'_>, source: String, to: String) -> PyResult<PythonThreadFiles> {
        self.opened(py, &ThreadOpening::Fork { from: source, to })
    }

    /// Restores the thread that was deleted last of those with this id.
    fn restore(&self, py: Python<'_>, id: String) -> PyResult<PythonThreadFiles> {
        self.opened(py, &ThreadOpening::Restore { id })
    }

    /// Lists the threads in order of their ids.
    #[pyo3(signature = (*, archived = false))]
    fn list<'py>(&self, py: Python<'py>, archived: bool) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, ThreadRequest::List { archived })
    }

    /// Describes a thread.
    fn info<'py>(&self, py: Python<'py>, id: String) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, ThreadRequest::Info { id })
    }

    /// Makes a thread read-only, and leaves it out of lists.
    fn archive(&self, py: Python<'_>, id: String) -> PyResult<()> {
        self.call(py, ThreadRequest::Archive { id }).map(drop)
    }

    /// Reverses that.
    fn unarchive(&self, py: Python<'_>, id: String) -> PyResult<()> {
        self.call(py, ThreadRequest::Unarchive { id }).map(drop)
    }

    /// Moves a thread to the trash.
    fn delete(&self, py: Python<'_>, id: String) -> PyResult<()> {
        self.call(py, ThreadRequest::Delete { id }).map(drop)
    }

    /// Moves the threads to the trash that have not changed for a number of seconds, and those that
    /// changed the longest time ago until the rest has no more bytes; or only reports them.
    #[pyo3(signature = (*, older_than = None, max_size = None, archived = false, dry_run = false))]
    fn prune<'py>(
        &self,
        py: Python<'py>,
        older_than: Option<f64>,
        max_size: Option<f64>,
        archived: bool,
        dry_run: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let older_than_ms = older_than.map(|seconds| seconds * 1000.0);
        let rules = RetentionRules { older_than_ms, max_size, archived, dry_run };
        self.call(py, ThreadRequest::Prune(rules))
    }
}

impl PythonThreadFiles {
    fn call<'py>(
        &self,
        py: Python<'py>,
        request: ThreadFileRequest,
    ) -> PyResult<Bound<'py, PyAny>> {
        let files = self.files.get()?;
        let served = detached(py, || block_on(request.serve::<Seconds>(files)))?;
        match served.map_err(|error| of_thread_file(py, &error))? {
            ThreadResponse::Listing(listing) => record(py, &listing.entries),
            ThreadResponse::Paths(found) => record(py, &found.paths),
            served => record(py, &served),
        }
    }
}

#[pymethods]
impl PythonThreadFiles {
    /// The id of the thread.
    #[getter]
    fn id(&self) -> PyResult<String> {
        Ok(self.files.get()?.thread().address().to_string())
    }

    /// Returns the content of a file; None if there is none.
    fn read<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let files = self.files.get()?;
        let content = detached(py, || block_on(files.read_file(path)))?;
        let content = content.map_err(|error| of_thread_file(py, &error))?;
        Ok(content.map(|content| PyBytes::new(py, &content)))
    }

    /// Writes a file, and returns its record.
    #[pyo3(signature = (path, data, *, mime = None, metadata = None))]
    fn write<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        data: FileData,
        mime: Option<&str>,
        metadata: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let metadata = metadata.as_ref().map(members).transpose()?;
        let (files, data) = (self.files.get()?, data.to_bytes());
        let written = detached(py, || block_on(files.write_file(path, data, mime, metadata)))?;
        let written = written.map_err(|error| of_thread_file(py, &error))?;
        record(py, &ThreadFileJson::from(&written))
    }

    /// Lists a directory.
    #[pyo3(signature = (path = "/".to_owned()))]
    fn list<'py>(&self, py: Python<'py>, path: String) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, ThreadFileRequest::List { path })
    }

    /// Returns the record of a file or directory; None if there is none.
    fn stat<'py>(&self, py: Python<'py>, path: String) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, ThreadFileRequest::Stat { path })
    }

    /// Returns the number and size of the files.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, ThreadFileRequest::Stats)
    }

    /// Returns the paths of the files with a glob.
    fn find<'py>(&self, py: Python<'py>, glob: String) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, ThreadFileRequest::Find { glob })
    }

    /// Returns the lines with a text, or with a regular expression.
    #[pyo3(signature = (pattern, *, regex = false, ignore_case = false, include = Vec::new(),
        limit = None))]
    fn grep<'py>(
        &self,
        py: Python<'py>,
        pattern: String,
        regex: bool,
        ignore_case: bool,
        include: Vec<String>,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let search = ThreadSearchRequest { pattern, regex, ignore_case, include, limit };
        self.call(py, ThreadFileRequest::Grep(search))
    }

    /// Makes an entry for a file whose bytes are elsewhere.
    #[pyo3(signature = (path, url, *, size = None, hash = None, mime = None, metadata = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn link<'py>(
        &self,
        py: Python<'py>,
        path: String,
        url: String,
        size: Option<u64>,
        hash: Option<String>,
        mime: Option<String>,
        metadata: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let metadata = metadata.as_ref().map(members).transpose()?;
        let link = ThreadLinkRequest { path, url, size, hash, mime, metadata };
        self.call(py, ThreadFileRequest::Link(link))
    }

    /// Sets members of the metadata of a file; None removes one.
    fn patch<'py>(
        &self,
        py: Python<'py>,
        path: String,
        metadata: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let metadata = members(metadata)?;
        self.call(py, ThreadFileRequest::Patch { path, metadata })
    }

    /// Makes a directory, and those above it.
    fn mkdir<'py>(&self, py: Python<'py>, path: String) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, ThreadFileRequest::Mkdir(ThreadMkdirRequest { path }))
    }

    /// Moves a file or directory; nothing is replaced.
    fn r#move<'py>(
        &self,
        py: Python<'py>,
        source: String,
        destination: String,
    ) -> PyResult<Bound<'py, PyAny>> {
        let moved = ThreadMoveRequest { from: source, to: destination };
        self.call(py, ThreadFileRequest::Move(moved))
    }

    /// Moves a file or an empty directory to the trash.
    fn delete(&self, py: Python<'_>, path: String) -> PyResult<()> {
        self.call(py, ThreadFileRequest::Delete { path }).map(drop)
    }
}

/// Converts the metadata that a caller gives: what JSON can express.
fn members(given: &Bound<'_, PyAny>) -> PyResult<Metadata> {
    Ok(depythonize(given)?)
}

fn of_thread(py: Python<'_>, raised: &ThreadError) -> PyErr {
    let code = match raised {
        ThreadError::Fs(error) => return error::of_fs(py, error),
        ThreadError::Workspace(error) => return error::of_workspace(py, error),
        ThreadError::Id(_) => return error::causes_of(raised),
        ThreadError::Missing(_) => "NO_THREAD",
        ThreadError::Exists(_) => "THREAD_EXISTS",
        // The enum may grow.
        _ => "OTHER",
    };
    error::failed(py, raised, code)
}

fn of_thread_file(py: Python<'_>, raised: &ThreadFileError) -> PyErr {
    match raised {
        ThreadFileError::Fs(error) => error::of_fs(py, error),
        _ => error::causes_of(raised),
    }
}
