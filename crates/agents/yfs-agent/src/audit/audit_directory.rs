//! Audit records in a directory of the host: append-only, bounded, readable by any process.
//!
//! Each writer appends to a file of its own, so writers never wait for each other, and a record is
//! one line of JSON written by one call. A killed process loses nothing that it recorded; the line
//! that it was writing may be cut, and readers skip it. A power cut may lose what the host had not
//! written yet, unless [`flush`](DirectoryAuditSink::flush) had returned.
//!
//! The records of an encrypted workspace are sealed: each line is the base64 of its sealed JSON,
//! bound to the name of the file and to its offset there.
//!
//! The directory is kept below a size: the oldest files are removed first.

use std::{
    collections::VecDeque,
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use base64::{Engine, prelude::BASE64_STANDARD as BASE64};
use parking_lot::Mutex;
use yfs_store::{Cipher, SealedDirectory};

use super::{AuditQuery, AuditRecord, AuditSink};

/// The longest line that a reader accepts, in bytes.
const MAX_LINE_LEN: u64 = 4 << 20;

/// The longest line of sealed records, in bytes.
const MAX_SEALED_LINE_LEN: u64 = MAX_LINE_LEN / 3 * 4 + 1024;

/// The number of records that a query without a limit returns.
const DEFAULT_LIMIT: usize = 10_000;

/// The name of a file of records begins and ends like this; a time, a process and a number are
/// between, so that the order of names is the order of beginning.
const FILE_PREFIX: &str = "audit-";
const FILE_SUFFIX: &str = ".jsonl";

/// Distinguishes the files that one process begins in the same millisecond.
static N_FILES: AtomicU64 = AtomicU64::new(0);

/// The bounds of a directory of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditDirectoryLimits {
    /// The size at which a writer begins another file, in bytes.
    pub max_file_len: u64,
    /// The size of all files together, in bytes. Open files count, and may exceed it.
    pub max_total_len: u64,
}

/// A sink that appends records to a file in a directory.
#[derive(Debug)]
pub struct DirectoryAuditSink {
    directory: SealedDirectory,
    limits: AuditDirectoryLimits,
    /// The open file. Held while a line is written; released before the next record.
    file: Mutex<Option<OpenAuditFile>>,
    n_lost: AtomicU64,
}

#[derive(Debug)]
struct OpenAuditFile {
    path: PathBuf,
    file: File,
    len: u64,
}

/// The records of a directory that a query selects.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SelectedRecords {
    /// The records, in the order of their times.
    pub records: Vec<AuditRecord>,
    /// The number of lines that could not be read: cut by a crash, or damaged.
    pub n_damaged: u64,
}

impl Default for AuditDirectoryLimits {
    fn default() -> Self {
        Self { max_file_len: 4 << 20, max_total_len: 64 << 20 }
    }
}

impl DirectoryAuditSink {
    /// Makes a sink that writes to a directory, which is created if it is missing.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be created.
    pub fn open(directory: &SealedDirectory, limits: AuditDirectoryLimits) -> io::Result<Self> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(directory.path())?;
        let (file, n_lost) = (Mutex::default(), AtomicU64::default());
        Ok(Self { directory: directory.clone(), limits, file, n_lost })
    }

    /// Returns the number of records that could not be written.
    pub fn n_lost(&self) -> u64 {
        self.n_lost.load(Ordering::Relaxed)
    }

    /// Returns after all records so far survive a power cut.
    ///
    /// # Errors
    ///
    /// Fails if the host cannot write them.
    pub fn flush(&self) -> io::Result<()> {
        self.file.lock().as_ref().map_or(Ok(()), |open| open.file.sync_data())
    }

    /// Appends a record, which is JSON.
    fn append(&self, record: Vec<u8>) -> io::Result<()> {
        let mut slot = self.file.lock();
        if slot.as_ref().is_some_and(|open| open.len >= self.limits.max_file_len) {
            *slot = None;
        }
        let open = match &mut *slot {
            Some(open) => open,
            empty => {
                let opened = self.begin_file()?;
                self.remove_oldest(&opened.path);
                empty.insert(opened)
            }
        };
        let mut line = match self.directory.cipher() {
            Some(cipher) => seal_line(cipher, &open.path, open.len, &record),
            None => record,
        };
        line.push(b'\n');
        let written = open.file.write_all(&line);
        match written {
            Ok(()) => open.len += line.len() as u64,
            // What was written of the line would be joined with the next one.
            Err(_) => *slot = None,
        }
        written
    }

    fn begin_file(&self) -> io::Result<OpenAuditFile> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let number = N_FILES.fetch_add(1, Ordering::Relaxed);
        let (millis, pid) = (since.as_millis(), process::id());
        let name = format!("{FILE_PREFIX}{millis:014}-{pid:010}-{number:06}{FILE_SUFFIX}");
        let path = self.directory.path().join(name);
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        Ok(OpenAuditFile { path, file, len: 0 })
    }

    /// Removes the oldest files while the directory is too large. A file that another process has
    /// open is removed like the others: that process then writes to no name, and begins another
    /// file when its own is full.
    fn remove_oldest(&self, own: &Path) {
        let Ok(files) = list_files(self.directory.path()) else { return };
        let len_of = |path: &PathBuf| fs::metadata(path).map_or(0, |metadata| metadata.len());
        let lens: Vec<u64> = files.iter().map(len_of).collect();
        let mut total: u64 = lens.iter().sum();
        for (path, len) in files.iter().zip(lens) {
            if total <= self.limits.max_total_len || path == own {
                return;
            }
            // Another process may have removed it in the same moment.
            fs::remove_file(path).ok();
            total = total.saturating_sub(len);
        }
    }
}

impl AuditSink for DirectoryAuditSink {
    fn record(&self, record: AuditRecord) {
        let record = serde_json::to_vec(&record).map_err(io::Error::from);
        if record.and_then(|record| self.append(record)).is_err() {
            self.n_lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Returns the records in a directory that a query selects: without a limit, the latest 10,000.
///
/// # Errors
///
/// Fails if the directory cannot be listed. Files that vanish meanwhile are left out.
pub fn select_audit_records(
    directory: &SealedDirectory,
    query: &AuditQuery,
) -> io::Result<SelectedRecords> {
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
    let mut latest: VecDeque<AuditRecord> = VecDeque::new();
    let mut n_damaged = 0;
    let cipher = directory.cipher();
    let max_len = if cipher.is_some() { MAX_SEALED_LINE_LEN } else { MAX_LINE_LEN };
    for path in list_files(directory.path())? {
        let Ok(file) = File::open(&path) else { continue };
        let mut reader = BufReader::new(file);
        let mut offset = 0;
        loop {
            let mut line = Vec::new();
            let n_read = reader.by_ref().take(max_len).read_until(b'\n', &mut line)?;
            if n_read == 0 {
                break;
            }
            if let Some(cipher) = cipher {
                line = open_line(cipher, &path, offset, &line).unwrap_or_default();
            }
            offset += n_read as u64;
            let Ok(record) = serde_json::from_slice::<AuditRecord>(&line) else {
                n_damaged += 1;
                continue;
            };
            if record.is_selected_by(query) {
                insert_by_time(&mut latest, record);
                if latest.len() > limit {
                    latest.pop_front();
                }
            }
        }
    }
    Ok(SelectedRecords { records: latest.into(), n_damaged })
}

fn seal_line(cipher: &Cipher, path: &Path, offset: u64, record: &[u8]) -> Vec<u8> {
    let offset = offset.to_le_bytes();
    BASE64.encode(cipher.seal(&line_place(path, &offset), record)).into_bytes()
}

/// Opens a sealed line; `None` if it was changed, cut or moved.
fn open_line(cipher: &Cipher, path: &Path, offset: u64, line: &[u8]) -> Option<Vec<u8>> {
    let sealed = BASE64.decode(line.strip_suffix(b"\n")?).ok()?;
    cipher.open(&line_place(path, &offset.to_le_bytes()), &sealed)
}

/// Returns the place to which a sealed line is bound.
fn line_place<'a>(path: &'a Path, offset: &'a [u8; 8]) -> [&'a [u8]; 3] {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    [b"audit", name, offset]
}

/// Inserts a record after those that began before it. Records come nearly in order.
fn insert_by_time(records: &mut VecDeque<AuditRecord>, record: AuditRecord) {
    let later = records.iter().rev().take_while(|known| known.at_ms > record.at_ms).count();
    records.insert(records.len() - later, record);
}

fn list_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(FILE_PREFIX) && name.ends_with(FILE_SUFFIX) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
