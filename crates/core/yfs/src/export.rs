//! Export of a workspace's files into a directory of the host.
//!
//! Every file appears whole or not at all (a temporary file is renamed), and nothing is written
//! outside the directory: paths are resolved beneath its handle, and links are not followed.
//! Running it again writes only what is missing.

mod directory;

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    sync::mpsc::sync_channel,
    thread,
};

use yfs_engine::{name::NameError, path::VPath};
use yfs_vfs::{
    DirEntry, FileKind, FsCode, FsError, Op, WalkEntry, name_escaping::HostRules,
    reserved_names::is_reserved,
};

use self::directory::{ExportDirectory, FileWriteOutcome, LargeContent, attributes_of};
use crate::{
    Workspace, WorkspaceFs,
    error::{Result, WorkspaceError},
    import::{SkipReason, SkippedPath, TransferProgress},
};

/// The number of files that a thread claims at a time.
const CHUNK: usize = 32;

/// The number of files that are listed before they are written.
const BATCH: usize = if cfg!(test) { 32 } else { 4096 };

/// Options of an export.
#[derive(Debug, Default, Clone)]
pub struct ExportOptions {
    /// Whether existing files and links that differ are replaced.
    pub force: bool,
    /// Whether links that lead out of the directory are written, too.
    pub unsafe_links: bool,
    /// The number of threads that write files; 0 for the number of processors.
    pub n_threads: usize,
}

/// The result of an export.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportReport {
    /// Files and links that were written.
    pub n_written: u64,
    /// Files and links that existed already and were equal.
    pub n_unchanged: u64,
    /// Directories that were created.
    pub n_directories: u64,
    /// Bytes that were written.
    pub n_bytes: u64,
    /// Objects that were left out, and the reasons.
    pub skipped: Vec<SkippedPath>,
}

impl Workspace {
    /// Writes a file or directory to the host, so that the content of `from` is in the directory
    /// `to` afterwards.
    ///
    /// Other content of the directory stays. `.git` and `.yfs` are never written: write access to
    /// the workspace must not give control over tools on this host.
    pub fn export(
        &self,
        from: &VPath,
        to: &Path,
        options: &ExportOptions,
        progress: &dyn Fn(&TransferProgress),
    ) -> Result<ExportReport> {
        let fs = self.fs();
        let (base, single) = base_of(&fs, from)?;
        let host = |source| WorkspaceError::Host { action: "write", path: to.to_owned(), source };
        let disk = ExportDirectory::open(to).map_err(host)?;
        let mut exporter = DirectoryExporter {
            fs,
            base,
            disk,
            options,
            report: ExportReport::default(),
            at: TransferProgress::default(),
            directories: Vec::new(),
        };
        match single {
            Some(entry) => {
                let mut files = Vec::new();
                exporter.add(entry, &mut files);
                exporter.write_files(&files, progress);
            }
            None => exporter.run(progress)?,
        }
        exporter.finish(progress);
        Ok(exporter.report)
    }
}

struct DirectoryExporter<'a> {
    fs: WorkspaceFs,
    /// The directory whose entries become the entries of the target.
    base: VPath,
    disk: ExportDirectory,
    options: &'a ExportOptions,
    report: ExportReport,
    at: TransferProgress,
    /// The directories that were created or found.
    directories: Vec<WalkEntry>,
}

/// The result for one object.
struct ExportOutcome {
    path: VPath,
    n_bytes: u64,
    result: Result<FileWriteOutcome, SkipReason>,
}

/// Returns the directory that the paths of entries are relative to, and the entry if there is only
/// one.
fn base_of(fs: &WorkspaceFs, from: &VPath) -> Result<(VPath, Option<WalkEntry>), FsError> {
    if from.is_root() {
        return Ok((from.clone(), None));
    }
    let missing = || FsError::new(FsCode::ENOENT, Op::Open, from);
    let stat = fs.reader().stat_if_exists(from)?.ok_or_else(missing)?;
    if stat.is_directory() {
        return Ok((from.clone(), None));
    }
    let (parent, name) = (from.parent(), from.file_name());
    let (parent, name) = parent.zip(name).ok_or_else(missing)?;
    let mut entry = DirEntry::new(name, stat.id, stat.kind);
    (entry.size, entry.mtime, entry.mode) = (stat.size, stat.mtime, stat.mode);
    Ok((parent, Some(WalkEntry::new(from.clone(), entry))))
}

impl DirectoryExporter<'_> {
    /// Writes all entries below the base. Only a batch of files is in memory at a time.
    fn run(&mut self, progress: &dyn Fn(&TransferProgress)) -> Result<(), WorkspaceError> {
        let mut pending = vec![self.base.clone()];
        let mut files = Vec::new();
        while let Some(path) = pending.pop() {
            let entries = match self.fs.list_entries(&path) {
                Ok(entries) => entries,
                // It was removed or moved since it was listed.
                Err(error) if path != self.base && error.code == FsCode::ENOENT => continue,
                Err(error) => return Err(error.into()),
            };
            self.at.n_total += entries.len() as u64;
            for item in entries {
                if item.entry.kind == FileKind::Directory {
                    pending.push(item.path.clone());
                }
                self.add(item, &mut files);
            }
            if files.len() >= BATCH {
                self.write_files(&files, progress);
                files.clear();
                self.fs.state().checkpoint.shed_rows(self.fs.state());
            }
        }
        self.write_files(&files, progress);
        Ok(())
    }

    /// Creates a directory, or adds a file to those to write.
    fn add(&mut self, item: WalkEntry, files: &mut Vec<WalkEntry>) {
        match item.path.relative_to(&self.base) {
            Some(relative) if relative.split('/').any(is_reserved) => {
                self.skip(&item.path, SkipReason::Reserved);
            }
            // A path that is too long begins with an id.
            None => {
                let why = "its path is too long".to_owned();
                self.skip(&item.path, SkipReason::Failed(why));
            }
            _ if item.entry.kind == FileKind::Directory => {
                let made = self.relative(&item.path).and_then(|path| self.disk.make_dir(&path));
                match made {
                    Ok(true) => self.count_done(0, |report| report.n_directories += 1),
                    Ok(false) => self.count_done(0, |report| report.n_unchanged += 1),
                    Err(why) => self.skip(&item.path, why),
                }
                self.directories.push(item);
            }
            _ => files.push(item),
        }
    }

    /// Sets the attributes of the directories, now that all entries are written: innermost first.
    fn finish(&mut self, progress: &dyn Fn(&TransferProgress)) {
        for directory in self.directories.iter().rev() {
            let attributes = attributes_of(&directory.entry);
            // Directories that could not be created were reported already.
            let path = self.relative(&directory.path);
            path.and_then(|path| self.disk.set_dir(&path, attributes)).ok();
        }
        self.report.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        progress(&self.at);
    }

    fn write_files(&mut self, files: &[WalkEntry], progress: &dyn Fn(&TransferProgress)) {
        let n_threads = match self.options.n_threads {
            0 => thread::available_parallelism().map_or(2, usize::from),
            n_threads => n_threads,
        };
        let next = AtomicUsize::new(0);
        let writer = ExportWriter {
            fs: self.fs.clone(),
            base: self.base.clone(),
            disk: self.disk.clone(),
            force: self.options.force,
            unsafe_links: self.options.unsafe_links,
        };
        thread::scope(|scope| {
            let (sender, outcomes) = sync_channel::<ExportOutcome>(n_threads * CHUNK);
            for _ in 0..n_threads.min(files.len().div_ceil(CHUNK)) {
                let (sender, writer, next) = (sender.clone(), &writer, &next);
                scope.spawn(move || {
                    loop {
                        let start = next.fetch_add(CHUNK, Ordering::Relaxed);
                        let Some(rest) = files.get(start..).filter(|rest| !rest.is_empty()) else {
                            return;
                        };
                        for item in &rest[..rest.len().min(CHUNK)] {
                            if sender.send(writer.write(item)).is_err() {
                                return;
                            }
                        }
                    }
                });
            }
            drop(sender);
            for ExportOutcome { path, n_bytes, result } in outcomes {
                match result {
                    Ok(FileWriteOutcome::Written) => {
                        self.count_done(n_bytes, |report| report.n_written += 1);
                    }
                    Ok(FileWriteOutcome::Unchanged) => {
                        self.count_done(0, |report| report.n_unchanged += 1);
                    }
                    Err(why) => self.skip(&path, why),
                }
                if self.at.n_done.is_multiple_of(256) {
                    progress(&self.at);
                }
            }
        });
    }

    fn relative(&self, path: &VPath) -> Result<PathBuf, SkipReason> {
        host_path(path.relative_to(&self.base).unwrap_or_default())
    }

    fn skip(&mut self, path: &VPath, why: SkipReason) {
        let path = path.to_string();
        self.count_done(0, |report| report.skipped.push(SkippedPath { path, why }));
    }

    fn count_done(&mut self, n_bytes: u64, count: impl FnOnce(&mut ExportReport)) {
        count(&mut self.report);
        self.report.n_bytes += n_bytes;
        self.at.n_done += 1;
        self.at.n_bytes += n_bytes;
    }
}

/// The context of a thread that writes files.
struct ExportWriter {
    fs: WorkspaceFs,
    base: VPath,
    disk: ExportDirectory,
    force: bool,
    unsafe_links: bool,
}

impl ExportWriter {
    fn write(&self, item: &WalkEntry) -> ExportOutcome {
        let relative = item.path.relative_to(&self.base).unwrap_or_default();
        let mut n_bytes = 0;
        let result = host_path(relative).and_then(|on_host| match item.entry.kind {
            FileKind::Symlink => self.write_link(item, relative, &on_host),
            _ => self.write_file(item, &on_host, &mut n_bytes),
        });
        ExportOutcome { path: item.path.clone(), n_bytes, result }
    }

    fn write_file(
        &self,
        item: &WalkEntry,
        on_host: &Path,
        n_bytes: &mut u64,
    ) -> Result<FileWriteOutcome, SkipReason> {
        let failed = |error: FsError| SkipReason::Failed(error.to_string());
        let attributes = attributes_of(&item.entry);
        let blob = self.fs.reader().blob_at(&item.path).map_err(failed)?;
        if let Some(blob) = blob.filter(|blob| self.fs.reader().is_surely_blob(blob.size)) {
            *n_bytes = blob.size;
            let content = LargeContent { fs: &self.fs, path: &item.path, blob };
            return self.disk.write_large_file(on_host, &content, attributes, self.force);
        }
        let data = self.fs.reader().read(&item.path).map_err(failed)?.data;
        *n_bytes = data.len() as u64;
        self.disk.write_file(on_host, &data, attributes, self.force)
    }

    fn write_link(
        &self,
        item: &WalkEntry,
        relative: &str,
        on_host: &Path,
    ) -> Result<FileWriteOutcome, SkipReason> {
        let target = self.fs.reader().readlink(&item.path);
        let target = target.map_err(|error| SkipReason::Failed(error.to_string()))?;
        if !self.unsafe_links && link_escapes(relative, &target) {
            return Err(SkipReason::Escapes);
        }
        self.disk.write_link(on_host, &target, self.force)
    }
}

/// Returns the host's path for a relative path of the workspace: a name that is the spelling of
/// another is decoded, as in a mirrored directory.
fn host_path(relative: &str) -> Result<PathBuf, SkipReason> {
    let host_name = |name| {
        let host = HostRules::default().to_host(name, &|_| false);
        host.ok_or_else(|| SkipReason::BadName(NameError::Invalid(name.to_owned()).to_string()))
    };
    relative.split('/').map(host_name).collect()
}

/// Reports whether a link, by its text, may lead out of the directory that is exported to.
///
/// The check does not resolve links on the way. It counts `..` from the link's own directory, and
/// rejects a `..` after any other component, because that component may be a link.
pub fn link_escapes(relative: &str, target: &str) -> bool {
    let mut depth = relative.split('/').count() - 1;
    let mut went_down = false;
    if target.starts_with('/') {
        return true;
    }
    for component in target.split('/') {
        match component {
            "" | "." => (),
            ".." if went_down || depth == 0 => return true,
            ".." => depth -= 1,
            _ => went_down = true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_may_lead_out_are_recognised() {
        let cases = [
            ("a", "b", false),
            ("a", "../b", true),
            ("a", "/etc/passwd", true),
            ("x/a", "../b", false),
            ("x/a", "../../b", true),
            ("x/y/a", "../../b", false),
            ("x/a", "link/../../b", true),
            ("x/a", "./b", false),
        ];
        for (at, target, expected) in cases {
            assert_eq!(link_escapes(at, target), expected, "{at} -> {target}");
        }
    }
}
