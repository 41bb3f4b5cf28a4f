//! A filesystem: the files of a workspace, of a directory of the host, or in memory.

use std::{
    collections::HashMap,
    io,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use pyo3::{
    exceptions::{PyOSError, PyTypeError, PyUnicodeDecodeError},
    prelude::*,
    pybacked::{PyBackedBytes, PyBackedStr},
    types::PyBytes,
};
use yfs::{Session, Workspace};
use yfs_agent::{
    CommandExecutor, ExecuteOptions,
    backends::{AgentBackend, HostShell, LocalBackend},
};
use yfs_artifacts::{AnalysisMemory, KeptAnalyses};
use yfs_shell::{ShellExecutor, ShellLimits};
use yfs_types::{path::VPath, time::Millis};
use yfs_vfs::{
    ChangeCursor, ChangesOptions, CopyOptions, CreateMode, FileContent, FileSystem, FileSystemExt,
    FsError, GlobQuery, GrepQuery, MemoryFs, MkdirOptions, MoveOptions, Op, RemoveOptions,
    TextReplacement, VersionBase, VersionToken, WalkOptions, WriteOptions, WriteOutcome,
};
use yfs_wire::{ContextBody, EditOutcomeJson, EntryJson, LinePageJson, WriteOutcomeJson};

use crate::{
    call::{ProcessOwned, block_on, claim_process, detached},
    descriptions::{self, analyses_of, context_request},
    error,
    limited::ReadBases,
    queries::{self, QueryArguments},
    records::{self, Seconds, record},
};

/// How long a call waits before it checks for signals.
const SIGNAL_POLL: Duration = Duration::from_millis(200);

/// The longest wait of one call, in seconds.
const MAX_WAIT: f64 = 86_400.0;

/// A tree of files. Paths are absolute.
///
/// The files of a workspace remember what was read through them: a later write is a change of that
/// content, and what others wrote since then is kept.
#[pyclass(name = "FileSystem", module = "yfs", frozen)]
#[derive(Debug)]
pub(crate) struct PythonFs {
    files: ProcessOwned<OpenFiles>,
}

/// The parts of a [`PythonFs`].
#[derive(Debug)]
struct OpenFiles {
    fs: Arc<dyn FileSystem>,
    /// What remembers the reads, if the filesystem can merge.
    session: Option<Session>,
    /// What remembers them in its place, if the files have limits.
    bases: Option<ReadBases>,
    workspace: Option<Workspace>,
    executor: Option<Arc<dyn CommandExecutor>>,
    /// The analyses of files that were made or read.
    analyses: Arc<AnalysisMemory>,
}

/// Bytes, or a text in UTF-8. It stays with Python, and is not copied.
pub(crate) enum FileData {
    Bytes(PyBackedBytes),
    Text(PyBackedStr),
}

/// Returns an empty filesystem in memory. Its commands run in a bash inside of this process.
#[pyfunction]
pub(crate) fn memory_fs() -> PyResult<PythonFs> {
    claim_process()?;
    let files = Arc::new(MemoryFs::new());
    let shell = ShellExecutor::new(files.clone(), ShellLimits::default());
    Ok(PythonFs::of_backend(files, Some(Arc::new(shell))))
}

/// Opens a directory of the host as a filesystem. It cannot merge.
///
/// With `shell`, commands run in that directory with the permissions of this process: it is no
/// sandbox. They see `PATH` and `env`, with `inherit_env` the whole environment of this process.
#[pyfunction]
#[pyo3(signature = (root, *, shell = false, env = None, inherit_env = false, timeout = None))]
pub(crate) fn host(
    py: Python<'_>,
    root: PathBuf,
    shell: bool,
    env: Option<HashMap<String, String>>,
    inherit_env: bool,
    timeout: Option<f64>,
) -> PyResult<PythonFs> {
    claim_process()?;
    let timeout = timeout.map(seconds).transpose()?;
    let opened = detached(py, || {
        let backend = LocalBackend::open(&root)?;
        if !shell {
            return Ok::<_, io::Error>(backend);
        }
        let mut shell = HostShell::new(&root)?.inheriting_env(inherit_env);
        for (name, value) in env.iter().flatten() {
            shell = shell.with_env(name, value);
        }
        Ok(backend.with_shell(match timeout {
            Some(timeout) => shell.with_timeout(timeout),
            None => shell,
        }))
    })??;
    Ok(PythonFs::of_backend(opened.fs(), opened.executor()))
}

impl PythonFs {
    /// Makes the filesystem of a session. Its commands run in a bash inside of this process, as
    /// the session's actor; their changes have the session's label, or else the command as label.
    pub(crate) fn of_session(session: Session, has_label: bool) -> Self {
        let fs = Arc::new(session.fs().clone());
        let files = fs.clone();
        let files_of_command = move |command: &str| match has_label {
            true => files.clone() as Arc<dyn FileSystem>,
            false => Arc::new((*files).clone().labelled(command)),
        };
        let shell =
            ShellExecutor::for_each_command(Arc::new(files_of_command), ShellLimits::default());
        let executor: Option<Arc<dyn CommandExecutor>> = Some(Arc::new(shell));
        let workspace = Some(session.workspace());
        let session = Some(session);
        Self::of(OpenFiles { session, workspace, executor, ..OpenFiles::of(fs) })
    }

    /// Makes the filesystem of files with limits. Its commands have the same limits.
    pub(crate) fn of_limited(fs: Arc<dyn FileSystem>, workspace: Workspace) -> Self {
        let shell = ShellExecutor::new(fs.clone(), ShellLimits::default());
        let executor: Option<Arc<dyn CommandExecutor>> = Some(Arc::new(shell));
        let (bases, workspace) = (Some(ReadBases::default()), Some(workspace));
        Self::of(OpenFiles { bases, workspace, executor, ..OpenFiles::of(fs) })
    }

    fn of_backend(fs: Arc<dyn FileSystem>, executor: Option<Arc<dyn CommandExecutor>>) -> Self {
        Self::of(OpenFiles { executor, ..OpenFiles::of(fs) })
    }

    fn of(files: OpenFiles) -> Self {
        Self { files: ProcessOwned::new(files) }
    }

    /// Makes a call on one path.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        (op, path): (Op, &str),
        work: impl FnOnce(&OpenFiles, &VPath) -> Result<T, FsError> + Send,
    ) -> PyResult<T> {
        let path = error::path(py, op, path)?;
        self.run(py, |files| work(files, &path))
    }

    fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&OpenFiles) -> Result<T, FsError> + Send,
    ) -> PyResult<T> {
        let files = self.files.get()?;
        detached(py, || work(files))?.map_err(|error| error::of_fs(py, &error))
    }
}

#[pymethods]
impl PythonFs {
    /// Whether writes merge with what others wrote since the content was read.
    #[getter]
    fn merges(&self) -> PyResult<bool> {
        let files = self.files.get()?;
        Ok(files.session.is_some() || files.bases.is_some())
    }

    /// Whether there is a runner of commands.
    #[getter]
    fn can_execute(&self) -> PyResult<bool> {
        Ok(self.files.get()?.executor.is_some())
    }

    /// Returns what a file contains: type, counts, columns or schema, and with `preview` its
    /// beginning in at most so many tokens. It is no base of a later write.
    #[pyo3(signature = (path, *, preview = None))]
    fn stats<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        preview: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stats = self.ask(py, (Op::Open, path), |files, path| {
            descriptions::stats(&files.analyses(), path, preview)
        })?;
        record(py, &stats)
    }

    /// Describes the files of a tree for a model, within a number of tokens.
    #[pyo3(signature = (paths = vec!["/".to_owned()], *, include = Vec::new(),
        exclude = Vec::new(), hidden = false, ignored = false, max_tokens = None, preview = None,
        max_file_size = None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn context<'py>(
        &self,
        py: Python<'py>,
        paths: Vec<String>,
        include: Vec<String>,
        exclude: Vec<String>,
        hidden: bool,
        ignored: bool,
        max_tokens: Option<usize>,
        preview: Option<usize>,
        max_file_size: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let body = ContextBody {
            paths,
            include,
            exclude,
            hidden,
            ignored,
            max_tokens,
            preview,
            max_file_size,
        };
        let request = context_request(py, body)?;
        let rendered = self.run(py, |files| descriptions::context(&files.analyses(), &request))?;
        record(py, &rendered)
    }

    /// Returns the content of a file.
    fn read<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyBytes>> {
        let content = self.ask(py, (Op::Open, path), OpenFiles::read)?;
        Ok(PyBytes::new(py, &content.data))
    }

    /// Returns the content of a file as text; `ValueError` if it is not UTF-8.
    fn read_text(&self, py: Python<'_>, path: &str) -> PyResult<String> {
        let content = self.ask(py, (Op::Open, path), OpenFiles::read)?;
        match std::str::from_utf8(&content.data) {
            Ok(text) => Ok(text.to_owned()),
            Err(error) => Err(PyUnicodeDecodeError::new_err_from_utf8(py, &content.data, error)),
        }
    }

    /// Returns the content of a file, and its version.
    fn read_versioned<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
        let content = self.ask(py, (Op::Open, path), OpenFiles::read)?;
        records::content(py, &content)
    }

    /// Returns up to `length` bytes from `offset` on. It is no base of a later write.
    fn read_range<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        offset: u64,
        length: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.ask(py, (Op::Open, path), |files, path| {
            block_on(files.fs.read_range(path, offset, length))
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns up to `limit` lines from line `offset` on, counted from 0. It is no base of a later
    /// write.
    #[pyo3(signature = (path, offset = 0, limit = 2000))]
    fn read_lines<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        offset: u64,
        limit: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let page = self.ask(py, (Op::Open, path), |files, path| {
            block_on(files.fs.read_lines(path, offset, limit))
        })?;
        record(py, &LinePageJson::from(page))
    }

    /// Replaces the content of a file by `data`, as a change of what was read: of `base` (the
    /// content) or `base_version`, otherwise of what was last read through this object. What others
    /// wrote since is kept; the outcome reports whether there was any, and where both changed the
    /// same part.
    ///
    /// `create` is `if_missing`, `new` (the file must not exist) or `never` (it must).
    #[pyo3(signature = (path, data, *, create = "if_missing", base = None, base_version = None,
                        expected_version = None, mode = None, parents = true))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn write<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        data: FileData,
        create: &str,
        base: Option<FileData>,
        base_version: Option<&str>,
        expected_version: Option<&str>,
        mode: Option<u32>,
        parents: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let create = match create {
            "if_missing" => CreateMode::IfMissing,
            "new" => CreateMode::New,
            "never" => CreateMode::Never,
            other => return Err(error::invalid("if_missing, new or never", other)),
        };
        let base = match (&base, base_version) {
            (Some(_), Some(_)) => {
                return Err(PyTypeError::new_err("pass either base or base_version"));
            }
            (Some(base), None) => Some(VersionBase::Content(base.to_bytes())),
            (None, version) => version.map(|text| VersionBase::Version(VersionToken::new(text))),
        };
        let expected_version = expected_version.map(VersionToken::new);
        let options =
            WriteOptions { create, base, expected_version, mode, parents, ..Default::default() };
        let written = self.ask(py, (Op::Open, path), |files, path| match &files.session {
            Some(session) => session.write(path, data.as_slice(), &options),
            None => files.write(path, data.to_bytes(), options),
        })?;
        record(py, &WriteOutcomeJson::from(&written).at(path))
    }

    /// Runs a query over a file of JSON, JSON lines, YAML, CSV, TSV or Parquet, and returns the
    /// results and whether there are more. The dialect is `jq`, `jql` or `sql`, the format that of
    /// the name unless it is given. The query runs in a process of its own, with limits on time, in
    /// seconds, and on memory and results, in bytes.
    #[pyo3(signature = (path, query, *, dialect = "jq", format = None, slurp = false, raw = false,
        cpu_time = None, max_memory = None, max_output = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn query<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        query: String,
        dialect: &str,
        format: Option<&str>,
        slurp: bool,
        raw: bool,
        cpu_time: Option<f64>,
        max_memory: Option<u64>,
        max_output: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let cpu_time = cpu_time.map(seconds).transpose()?;
        let asked = QueryArguments { query, dialect, format, slurp, raw };
        let query = asked.into_query(path)?;
        let runner = queries::runner(py, cpu_time, max_memory, max_output)?;
        let document =
            self.ask(py, (Op::Open, path), |files, path| block_on(files.fs.read(path)))?;
        let found = detached(py, || queries::run(&runner, query, document.data))?;
        let found = found.map_err(|error| error::of_query(py, &error))?;
        record(py, &found)
    }

    /// Appends to a file; creates it if it is missing.
    fn append<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        data: FileData,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = WriteOptions::default();
        let written = self.ask(py, (Op::Append, path), |files, path| match &files.session {
            Some(session) => session.append(path, data.as_slice(), &options),
            None => block_on(files.fs.append(path, data.to_bytes(), &options)),
        })?;
        record(py, &WriteOutcomeJson::from(&written).at(path))
    }

    /// Replaces `old` by `new` in a file. `old` must occur exactly once, unless `all` is set.
    /// Concurrent edits all take effect.
    #[pyo3(signature = (path, old, new, *, all = false, expected_version = None))]
    fn edit<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        old: String,
        new: String,
        all: bool,
        expected_version: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let expected_version = expected_version.map(VersionToken::new);
        let edit = TextReplacement { all, expected_version, ..TextReplacement::once(old, new) };
        let edited = self.ask(py, (Op::Edit, path), |files, path| match &files.session {
            Some(session) => session.edit(path, &edit),
            None => block_on(files.fs.edit(path, &edit)),
        })?;
        record(py, &EditOutcomeJson::from(&edited).at(path))
    }

    /// Returns the description of the object at a path; links are followed.
    fn stat<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
        let ask = |files: &OpenFiles, path: &VPath| block_on(files.fs.stat(path));
        records::stat(py, path, &self.ask(py, (Op::Stat, path), ask)?)
    }

    /// Returns the description of the object at a path; of a link itself.
    fn lstat<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
        let ask = |files: &OpenFiles, path: &VPath| block_on(files.fs.lstat(path));
        records::stat(py, path, &self.ask(py, (Op::Lstat, path), ask)?)
    }

    /// Reports whether a path exists; links are followed.
    fn exists(&self, py: Python<'_>, path: &str) -> PyResult<bool> {
        let Ok(path) = VPath::parse(path) else { return Ok(false) };
        self.run(py, |files| Ok(block_on(files.fs.stat(&path)).is_ok()))
    }

    /// Lists a directory, ordered by name.
    #[pyo3(signature = (path = "/"))]
    fn list<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
        let at = error::path(py, Op::Scandir, path)?;
        let entries = self.run(py, |files| block_on(files.fs.readdir(&at)))?;
        let described = entries
            .iter()
            .map(|entry| EntryJson::<Seconds>::new(at.join(&entry.name).as_str(), entry));
        records::records(py, described)
    }

    /// Lists all objects below a directory, each directory before its content.
    #[pyo3(signature = (path = "/", *, max_depth = None, hidden = true, max_entries = None))]
    fn walk<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        max_depth: Option<usize>,
        hidden: bool,
        max_entries: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = WalkOptions {
            max_depth: max_depth.unwrap_or(usize::MAX),
            max_entries: max_entries.unwrap_or(usize::MAX),
            hidden,
            ..WalkOptions::default()
        };
        let walked =
            self.ask(py, (Op::Walk, path), |files, path| block_on(files.fs.walk(path, &options)))?;
        records::walked(py, &walked)
    }

    /// Returns the number and size of the objects below a path.
    #[pyo3(signature = (path = "/"))]
    fn totals<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
        let ask = |files: &OpenFiles, path: &VPath| block_on(files.fs.totals(path));
        records::totals(py, &self.ask(py, (Op::Totals, path), ask)?)
    }

    /// Creates a directory; its parent must exist.
    #[pyo3(signature = (path, *, mode = None))]
    fn mkdir(&self, py: Python<'_>, path: &str, mode: Option<u32>) -> PyResult<()> {
        let options = MkdirOptions { recursive: false, mode };
        self.ask(py, (Op::Mkdir, path), |files, path| block_on(files.fs.mkdir(path, &options)))
    }

    /// Creates a directory and its missing parents. Succeeds if the directory exists.
    #[pyo3(signature = (path, *, mode = None))]
    fn mkdirs(&self, py: Python<'_>, path: &str, mode: Option<u32>) -> PyResult<()> {
        let options = MkdirOptions { recursive: true, mode };
        self.ask(py, (Op::Mkdir, path), |files, path| block_on(files.fs.mkdir(path, &options)))
    }

    /// Removes a file, a link, or a directory; in a workspace, to the trash.
    #[pyo3(signature = (path, *, recursive = false, force = false))]
    fn remove(&self, py: Python<'_>, path: &str, recursive: bool, force: bool) -> PyResult<()> {
        let options = RemoveOptions { recursive, force };
        self.ask(py, (Op::Rm, path), |files, path| match &files.session {
            Some(session) => session.rm(path, &options),
            None => files.forgetting(&[path], block_on(files.fs.rm(path, &options))),
        })
    }

    /// Moves or renames an object; it keeps its identity.
    #[pyo3(signature = (source, destination, *, replace = true, parents = true))]
    fn r#move(
        &self,
        py: Python<'_>,
        source: &str,
        destination: &str,
        replace: bool,
        parents: bool,
    ) -> PyResult<()> {
        let options = MoveOptions { replace, parents };
        let to = error::path(py, Op::Rename, destination)?;
        self.ask(py, (Op::Rename, source), |files, from| match &files.session {
            Some(session) => session.mv(from, &to, &options),
            None => files.forgetting(&[from, &to], block_on(files.fs.mv(from, &to, &options))),
        })
    }

    /// Copies an object; a directory only with `recursive`.
    #[pyo3(signature = (source, destination, *, recursive = false, replace = true, parents = true))]
    fn copy(
        &self,
        py: Python<'_>,
        source: &str,
        destination: &str,
        recursive: bool,
        replace: bool,
        parents: bool,
    ) -> PyResult<()> {
        let options = CopyOptions { recursive, replace, parents };
        let to = error::path(py, Op::Cp, destination)?;
        self.ask(py, (Op::Cp, source), |files, from| match &files.session {
            Some(session) => session.cp(from, &to, &options),
            None => block_on(files.fs.cp(from, &to, &options)),
        })
    }

    /// Creates a symbolic link at `path`.
    fn symlink(&self, py: Python<'_>, target: &str, path: &str) -> PyResult<()> {
        self.ask(py, (Op::Symlink, path), |files, path| block_on(files.fs.symlink(target, path)))
    }

    /// Returns the target of a symbolic link.
    fn readlink(&self, py: Python<'_>, path: &str) -> PyResult<String> {
        self.ask(py, (Op::Readlink, path), |files, path| block_on(files.fs.readlink(path)))
    }

    /// Returns the path of the same object without any symbolic link.
    fn realpath(&self, py: Python<'_>, path: &str) -> PyResult<String> {
        let ask = |files: &OpenFiles, path: &VPath| block_on(files.fs.realpath(path));
        Ok(self.ask(py, (Op::Realpath, path), ask)?.to_string())
    }

    /// Sets the permission bits.
    fn chmod(&self, py: Python<'_>, path: &str, mode: u32) -> PyResult<()> {
        self.ask(py, (Op::Chmod, path), |files, path| block_on(files.fs.chmod(path, mode)))
    }

    /// Sets the time of the last change, in seconds since the epoch.
    fn utime(&self, py: Python<'_>, path: &str, mtime: f64) -> PyResult<()> {
        let mtime = Millis::from_f64(mtime * 1000.0);
        self.ask(py, (Op::Utimes, path), |files, path| block_on(files.fs.utimes(path, mtime)))
    }

    /// Finds paths by pattern: `*` and `?` within a name, `**` across directories, `{a,b}` and
    /// `[a-z]`. A pattern without a slash matches names at any depth.
    #[pyo3(signature = (pattern, root = "/", *, hidden = false, ignore_case = false,
                        directories = false, limit = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn glob<'py>(
        &self,
        py: Python<'py>,
        pattern: String,
        root: &str,
        hidden: bool,
        ignore_case: bool,
        directories: bool,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let query = GlobQuery {
            root: error::path(py, Op::Glob, root)?,
            hidden,
            ignore_case,
            directories,
            limit: limit.unwrap_or(usize::MAX),
            ..GlobQuery::new(pattern)
        };
        let found = self.run(py, |files| block_on(files.fs.glob(&query)))?;
        records::globbed(py, &found)
    }

    /// Finds lines by a regular expression, or by literal text.
    #[pyo3(signature = (pattern, root = "/", *, literal = false, ignore_case = false,
                        include = Vec::new(), exclude = Vec::new(), hidden = false, before = 0,
                        after = 0, max_per_file = None, max_total = None, max_line_length = None,
                        max_file_size = None, timeout = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn grep<'py>(
        &self,
        py: Python<'py>,
        pattern: String,
        root: &str,
        literal: bool,
        ignore_case: bool,
        include: Vec<String>,
        exclude: Vec<String>,
        hidden: bool,
        before: usize,
        after: usize,
        max_per_file: Option<usize>,
        max_total: Option<usize>,
        max_line_length: Option<usize>,
        max_file_size: Option<u64>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let query = GrepQuery {
            root: error::path(py, Op::Grep, root)?,
            literal,
            ignore_case,
            include,
            exclude,
            hidden,
            before,
            after,
            max_per_file: max_per_file.unwrap_or(usize::MAX),
            max_total: max_total.unwrap_or(usize::MAX),
            max_line_len: max_line_length.unwrap_or(usize::MAX),
            max_file_len: max_file_size.unwrap_or(u64::MAX),
            timeout: timeout.map(seconds).transpose()?,
            ..GrepQuery::new(pattern)
        };
        let found = self.run(py, |files| block_on(files.fs.grep(&query)))?;
        records::found(py, &found)
    }

    /// Returns the cursor at the current end of the log of changes.
    fn cursor(&self, py: Python<'_>) -> PyResult<String> {
        let cursor = self.run(py, |files| block_on(files.fs.cursor()))?;
        Ok(cursor.as_str().to_owned())
    }

    /// Returns the changes since a cursor, those of others included. With `wait`, the call returns
    /// an empty page only after that many seconds.
    #[pyo3(signature = (since, *, limit = 1000, wait = None))]
    fn changes<'py>(
        &self,
        py: Python<'py>,
        since: &str,
        limit: usize,
        wait: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let cursor = ChangeCursor::new(since);
        let deadline = wait.map(seconds).transpose()?.map(|wait| Instant::now() + wait);
        loop {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let wait = left.filter(|left| !left.is_zero()).map(|left| left.min(SIGNAL_POLL));
            let options = ChangesOptions { limit, wait };
            let page = self.run(py, |files| block_on(files.fs.changes(&cursor, &options)))?;
            if !page.events.is_empty() || wait.is_none() {
                return records::changes(py, &page);
            }
            py.check_signals()?;
        }
    }

    /// Runs a command line. `OSError` (`ENOSYS`) if there is no runner of commands.
    ///
    /// Over a workspace or memory it is a bash inside of this process, which reaches these files
    /// only, and no process or network of the host.
    #[pyo3(signature = (command, *, timeout = None, max_output = None))]
    fn execute<'py>(
        &self,
        py: Python<'py>,
        command: &str,
        timeout: Option<f64>,
        max_output: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let defaults = ExecuteOptions::default();
        let options = ExecuteOptions {
            timeout: timeout.map(seconds).transpose()?,
            max_output_bytes: max_output.unwrap_or(defaults.max_output_bytes),
            ..defaults
        };
        let Some(executor) = &self.files.get()?.executor else {
            let code = yfs_vfs::FsCode::ENOSYS.errno();
            return Err(PyOSError::new_err((code, "this filesystem runs no commands")));
        };
        let result = detached(py, || block_on(executor.execute(command, &options)))?;
        let done = result.map_err(|error| error::of_execution(py, &error))?;
        records::command_output(py, done)
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<yfs.FileSystem {:?}>", self.files.get()?.fs))
    }
}

impl OpenFiles {
    fn of(fs: Arc<dyn FileSystem>) -> Self {
        let (session, bases, workspace, executor) = (None, None, None, None);
        Self { fs, session, bases, workspace, executor, analyses: Arc::default() }
    }

    fn analyses(&self) -> KeptAnalyses {
        analyses_of(self.fs.clone(), self.workspace.as_ref(), self.analyses.clone())
    }

    fn read(&self, path: &VPath) -> Result<FileContent, FsError> {
        if let Some(session) = &self.session {
            return session.read(path);
        }
        let content = block_on(self.fs.read(path))?;
        if let Some(bases) = &self.bases {
            bases.note_read(path, &content);
        }
        Ok(content)
    }

    /// Writes to files without a session.
    fn write(
        &self,
        path: &VPath,
        data: Bytes,
        mut options: WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let Some(bases) = &self.bases else {
            return block_on(self.fs.write(path, data, &options));
        };
        if options.base.is_none() && options.create != CreateMode::New {
            options.base = bases.base_of(path);
        }
        let written = block_on(self.fs.write(path, data.clone(), &options))?;
        bases.note_write(path, data, &written);
        Ok(written)
    }

    /// Forgets what was read below paths that have other content now.
    fn forgetting<T>(&self, paths: &[&VPath], done: Result<T, FsError>) -> Result<T, FsError> {
        if let Some(bases) = self.bases.as_ref().filter(|_| done.is_ok()) {
            paths.iter().for_each(|path| bases.forget_below(path));
        }
        done
    }
}

impl FileData {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
        }
    }

    pub(crate) fn to_bytes(&self) -> Bytes {
        Bytes::copy_from_slice(self.as_slice())
    }
}

impl<'py> FromPyObject<'_, 'py> for FileData {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = value.cast::<pyo3::types::PyString>() {
            return Ok(Self::Text(PyBackedStr::try_from(text.to_owned())?));
        }
        let other = |_| PyTypeError::new_err("expected bytes, bytearray or str");
        value.extract::<PyBackedBytes>().map(Self::Bytes).map_err(other)
    }
}

/// Converts a number of seconds.
pub(crate) fn seconds(number: f64) -> PyResult<Duration> {
    let bounded = if number > MAX_WAIT { MAX_WAIT } else { number };
    Duration::try_from_secs_f64(bounded)
        .map_err(|_| error::invalid("a number of seconds", &number.to_string()))
}
