//! Reads files with several threads, and creates them in batches.

mod large_file;

use std::{
    fs::File,
    io::{self, Read},
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    thread,
};

use yfs_engine::time::Millis;
use yfs_vfs::{FileKind, FsCode, FsError, Stat};

use super::{DirectoryImporter, ImportOptions, MAX_ROWS, SkipReason, scan::ImportEntry};
use crate::{
    WorkspaceFs,
    error::Result,
    fs::batch::{NewNode, PreparedNode},
};

/// The number of files that a thread claims at a time.
const CHUNK: usize = 64;

/// The most bytes of new content in one transaction.
const MAX_BYTES: usize = 16 << 20;

/// The result of a thread for one file.
struct ImportOutcome<'a> {
    found: &'a ImportEntry,
    n_bytes: u64,
    verdict: ImportVerdict,
}

/// The content of a file of the host.
enum HostContent {
    /// A content that may be a text.
    Whole(Vec<u8>),
    /// A content that is too large for a text, to be read piece by piece.
    Stream(File),
}

enum ImportVerdict {
    New(Box<NewNode>),
    Updated,
    Unchanged,
    Skipped(SkipReason),
    /// The workspace failed; the import ends.
    Failed(FsError),
}

/// Imports files whose directories exist.
pub(super) fn import(importer: &mut DirectoryImporter<'_>, files: &[ImportEntry]) -> Result<()> {
    let n_threads = match importer.options.n_threads {
        0 => thread::available_parallelism().map_or(2, usize::from),
        n_threads => n_threads,
    };
    let options = importer.options;
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let fs = importer.fs.clone();
    thread::scope(|scope| {
        let (sender, outcomes) = sync_channel(n_threads * CHUNK);
        for _ in 0..n_threads.min(files.len().div_ceil(CHUNK)) {
            let (sender, fs, next, stop) = (sender.clone(), &fs, &next, &stop);
            scope.spawn(move || compare_files(fs, files, (next, stop), options, &sender));
        }
        drop(sender);
        let mut batch = ImportBatch::default();
        let done = (|| {
            for outcome in &outcomes {
                importer.add_outcome(outcome, &mut batch)?;
                if batch.nodes.len() >= MAX_ROWS || batch.n_bytes >= MAX_BYTES {
                    importer.commit(&mut batch)?;
                }
            }
            importer.commit(&mut batch)
        })();
        // Threads that still work must not wait for a receiver that is gone: the channel closes
        // here.
        stop.store(true, Ordering::Relaxed);
        drop(outcomes);
        done
    })
}

#[derive(Default)]
struct ImportBatch<'a> {
    nodes: Vec<NewNode>,
    found: Vec<(&'a ImportEntry, u64)>,
    n_bytes: usize,
}

fn compare_files<'a>(
    fs: &WorkspaceFs,
    files: &'a [ImportEntry],
    (next, stop): (&AtomicUsize, &AtomicBool),
    options: &ImportOptions,
    outcomes: &SyncSender<ImportOutcome<'a>>,
) {
    loop {
        let start = next.fetch_add(CHUNK, Ordering::Relaxed);
        if start >= files.len() || stop.load(Ordering::Relaxed) {
            return;
        }
        for found in &files[start..files.len().min(start + CHUNK)] {
            if outcomes.send(compare_file(fs, found, options)).is_err() {
                return;
            }
        }
    }
}

fn compare_file<'a>(
    fs: &WorkspaceFs,
    found: &'a ImportEntry,
    options: &ImportOptions,
) -> ImportOutcome<'a> {
    let mut n_bytes = 0;
    let stat = fs.reader().stat_if_exists(&found.to);
    if !options.checksum && is_of_size_and_time(&stat, found) {
        return ImportOutcome { found, n_bytes, verdict: ImportVerdict::Unchanged };
    }
    let verdict = match open(fs, found, options.max_file_len) {
        Ok(HostContent::Whole(data)) => {
            n_bytes = data.len() as u64;
            stat.and_then(|stat| compare(fs, found, stat.as_ref(), &data))
        }
        Ok(HostContent::Stream(file)) => {
            n_bytes = found.size;
            large_file::compare(fs, found, file, options.max_file_len)
        }
        Err(why) => Ok(ImportVerdict::Skipped(why)),
    };
    let verdict = verdict.unwrap_or_else(|error| match error.code {
        FsCode::EIO | FsCode::ENOSPC | FsCode::EROFS => ImportVerdict::Failed(error),
        _ => ImportVerdict::Skipped(SkipReason::of(&error)),
    });
    ImportOutcome { found, n_bytes, verdict }
}

/// Reports whether the file in the workspace has the size and time of the one on the host.
fn is_of_size_and_time(stat: &Result<Option<Stat>, FsError>, found: &ImportEntry) -> bool {
    // A damaged file is compared, and reported then.
    let Ok(Some(stat)) = stat else { return false };
    has_size_and_time(stat.kind, stat.size, stat.mtime, found)
}

/// Reports whether a file has the size and time of the one on the host.
pub(super) fn has_size_and_time(
    kind: FileKind,
    size: u64,
    mtime: Millis,
    found: &ImportEntry,
) -> bool {
    kind == FileKind::File && size == found.size && Some(mtime) == found.mtime
}

/// Reads a file of the host, or opens it if it is too large for a text.
fn open(fs: &WorkspaceFs, found: &ImportEntry, max_len: u64) -> Result<HostContent, SkipReason> {
    let failed = |error: io::Error| SkipReason::Failed(error.to_string());
    let mut file = File::open(&found.from).map_err(failed)?;
    // The file may have grown since the scan.
    let size = file.metadata().map_err(failed)?.len();
    if size > max_len {
        return Err(SkipReason::TooLarge { size });
    }
    if fs.reader().is_surely_blob(size) {
        return Ok(HostContent::Stream(file));
    }
    let mut data = Vec::with_capacity(size as usize);
    (&mut file).take(max_len.saturating_add(1)).read_to_end(&mut data).map_err(failed)?;
    let size = data.len() as u64;
    if size > max_len { Err(SkipReason::TooLarge { size }) } else { Ok(HostContent::Whole(data)) }
}

/// Reports whether the file in the workspace, of the same size, has the content of the one on the
/// host.
pub(super) fn has_equal_content(
    fs: &WorkspaceFs,
    found: &ImportEntry,
    max_len: u64,
) -> Result<Result<bool, SkipReason>, FsError> {
    match open(fs, found, max_len) {
        Ok(HostContent::Whole(data)) => fs.reader().has_content(&found.to, &data).map(Ok),
        Ok(HostContent::Stream(mut file)) => {
            let equal = fs.reader().has_streamed_content(&found.to, &mut file)?;
            Ok(equal.map_err(|error| SkipReason::Failed(error.to_string())))
        }
        Err(why) => Ok(Err(why)),
    }
}

/// Compares a file with the object at its destination, and writes it there if that is a file.
///
/// If another writer creates it after `stat` was taken, the transaction that creates it fails, and
/// it is compared again.
fn compare(
    fs: &WorkspaceFs,
    found: &ImportEntry,
    stat: Option<&Stat>,
    data: &[u8],
) -> Result<ImportVerdict, FsError> {
    let Some(stat) = stat else {
        let prepared = fs.prepare(&found.to, data)?;
        return Ok(ImportVerdict::New(Box::new(NewNode {
            path: found.to.clone(),
            mode: found.mode,
            mtime: found.mtime,
            content: PreparedNode::File(prepared),
        })));
    };
    if stat.kind != FileKind::File {
        return Ok(ImportVerdict::Skipped(SkipReason::InTheWay));
    }
    if stat.size == data.len() as u64 && fs.reader().has_content(&found.to, data)? {
        return Ok(ImportVerdict::Unchanged);
    }
    fs.writer().overwrite(&found.to, data, found.mode, found.mtime)?;
    Ok(ImportVerdict::Updated)
}

impl DirectoryImporter<'_> {
    fn add_outcome<'f>(
        &mut self,
        outcome: ImportOutcome<'f>,
        batch: &mut ImportBatch<'f>,
    ) -> Result<()> {
        let ImportOutcome { found, n_bytes, verdict } = outcome;
        match verdict {
            ImportVerdict::New(node) => {
                if let PreparedNode::File(prepared) = &node.content {
                    batch.n_bytes += prepared.weight();
                }
                batch.nodes.push(*node);
                batch.found.push((found, n_bytes));
            }
            ImportVerdict::Updated => self.count_done(n_bytes, |report| report.n_updated += 1),
            ImportVerdict::Unchanged => self.count_done(n_bytes, |report| report.n_unchanged += 1),
            ImportVerdict::Skipped(why) => self.skip_entry(found, why),
            ImportVerdict::Failed(error) => return Err(error.into()),
        }
        if self.at.n_done.is_multiple_of(256) {
            (self.progress)(&self.at);
        }
        Ok(())
    }

    fn commit(&mut self, batch: &mut ImportBatch<'_>) -> Result<()> {
        if batch.nodes.is_empty() {
            return Ok(());
        }
        let made = self.fs.create_many(&batch.nodes)?;
        made.run.into_iter().for_each(|run| self.note.add_run(run));
        for ((found, n_bytes), made) in batch.found.iter().zip(made.ids) {
            match made {
                Ok(_) => self.count_done(*n_bytes, |report| report.n_created += 1),
                // Another writer created it meanwhile, so it is compared now.
                Err(error) if error.code == FsCode::EEXIST => {
                    let again = compare_file(&self.fs, found, self.options);
                    self.count_verdict(found, again.n_bytes, again.verdict)?;
                }
                Err(error) => self.skip_entry(found, SkipReason::of(&error)),
            }
        }
        *batch = ImportBatch::default();
        self.fs.state().checkpoint.shed_rows(self.fs.state());
        (self.progress)(&self.at);
        Ok(())
    }

    fn count_verdict(
        &mut self,
        found: &ImportEntry,
        n_bytes: u64,
        verdict: ImportVerdict,
    ) -> Result<()> {
        match verdict {
            // It was created and removed again; the next run imports it.
            ImportVerdict::New(_) => self.skip_entry(found, SkipReason::InTheWay),
            ImportVerdict::Updated => self.count_done(n_bytes, |report| report.n_updated += 1),
            ImportVerdict::Unchanged => self.count_done(n_bytes, |report| report.n_unchanged += 1),
            ImportVerdict::Skipped(why) => self.skip_entry(found, why),
            ImportVerdict::Failed(error) => return Err(error.into()),
        }
        Ok(())
    }
}
