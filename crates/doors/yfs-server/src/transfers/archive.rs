//! A directory, or several files, as one ZIP archive that is written while it is sent.

use std::{
    io::{self, BufWriter, Write},
    sync::Arc,
};

use futures::StreamExt;
use tokio::runtime::Handle;
use yfs_engine::{path::VPath, time::Millis};
use yfs_vfs::{FileKind, FileSystem, FileSystemExt, FsCode, FsError, StreamOptions, WalkOptions};
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

use super::byte_stream::BodyWriter;

/// Longer files are stored as they are, in bytes: most are compressed already.
const MAX_DEFLATED: u64 = 8 << 20;

/// Writes an archive of files and of directories with all below them. What the caller may not read,
/// links, and what vanishes meanwhile are left out.
pub(super) fn write_archive(
    fs: &Arc<dyn FileSystem>,
    paths: &[VPath],
    to: &mut BufWriter<BodyWriter>,
) -> io::Result<()> {
    let mut archive = Archive { fs, runtime: Handle::current(), zip: ZipWriter::new_stream(to) };
    // Two of one name in different directories keep the names of these.
    let above = directory_of_all(paths);
    for path in paths {
        archive.add(path, &above)?;
    }
    archive.zip.finish().map(drop).map_err(io::Error::other)
}

/// Returns the directory that has all paths below it.
fn directory_of_all(paths: &[VPath]) -> VPath {
    let mut above = paths.first().and_then(VPath::parent).unwrap_or_else(VPath::root);
    while !paths.iter().all(|path| path.starts_with(&above)) {
        above = above.parent().unwrap_or_else(VPath::root);
    }
    above
}

struct Archive<'a, W: Write> {
    fs: &'a Arc<dyn FileSystem>,
    runtime: Handle,
    zip: ZipWriter<zip::write::StreamWriter<W>>,
}

impl<W: Write> Archive<'_, W> {
    /// Adds a file or a directory. Names begin below the directory `above`.
    fn add(&mut self, path: &VPath, above: &VPath) -> io::Result<()> {
        let Some(stat) = present(self.runtime.block_on(self.fs.stat(path)))? else { return Ok(()) };
        if !stat.is_directory() {
            return self.add_file(path, above, stat.size, stat.mtime, stat.mode);
        }
        let walk = self.runtime.block_on(self.fs.walk(path, &WalkOptions::default()));
        for found in present(walk)?.unwrap_or_default() {
            let entry = found.entry;
            match entry.kind {
                FileKind::File => {
                    self.add_file(&found.path, above, entry.size, entry.mtime, entry.mode)?;
                }
                FileKind::Directory => {
                    let options = options_of(entry.mtime).unix_permissions(entry.mode);
                    let name = name_below(&found.path, above);
                    self.zip.add_directory(name, options).map_err(io::Error::other)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn add_file(
        &mut self,
        path: &VPath,
        above: &VPath,
        size: u64,
        mtime: Millis,
        mode: u32,
    ) -> io::Result<()> {
        let stream = self.runtime.block_on(self.fs.read_stream(path, &StreamOptions::default()));
        let Some(mut stream) = present(stream)? else { return Ok(()) };
        let method = match size <= MAX_DEFLATED {
            true => CompressionMethod::Deflated,
            false => CompressionMethod::Stored,
        };
        let options = options_of(mtime).unix_permissions(mode).compression_method(method);
        let options = options.large_file(size >= u64::from(u32::MAX) / 2);
        let started = self.zip.start_file(name_below(path, above), options);
        started.map_err(io::Error::other)?;
        while let Some(chunk) = self.runtime.block_on(stream.next()) {
            self.zip.write_all(&chunk.map_err(io::Error::other)?.data)?;
        }
        Ok(())
    }
}

/// Returns what was found; `None` if it is not there, or not for this caller.
fn present<T>(found: Result<T, FsError>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.code, FsCode::ENOENT | FsCode::EACCES) => Ok(None),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Returns a path as an archive has it. A backslash would separate directories on Windows.
fn name_below(path: &VPath, above: &VPath) -> String {
    let above = if above.is_root() { 0 } else { above.as_str().len() };
    path.as_str()[above..].trim_start_matches('/').replace('\\', "_")
}

/// Returns options with a time, in UTC. Times before 1980 are the earliest that an archive has.
fn options_of(mtime: Millis) -> SimpleFileOptions {
    let time = jiff::Timestamp::from_millisecond(mtime.0).ok().and_then(|time| {
        let time = time.to_zoned(jiff::tz::TimeZone::UTC);
        let [month, day, hour, minute, second] =
            [time.month(), time.day(), time.hour(), time.minute(), time.second()]
                .map(i8::unsigned_abs);
        let year = u16::try_from(time.year()).ok()?;
        DateTime::from_date_and_time(year, month, day, hour, minute, second).ok()
    });
    SimpleFileOptions::default().last_modified_time(time.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_name_keep_their_directories() {
        for (paths, above) in [
            (&["/a/x.txt"][..], "/a"),
            (&["/a/x.txt", "/a/y"], "/a"),
            (&["/a/b/x.txt", "/a/c/x.txt"], "/a"),
            (&["/ab/x.txt", "/a/x.txt"], "/"),
            (&["/x.txt"], "/"),
        ] {
            let paths: Vec<_> = paths.iter().map(|path| VPath::parse(path).unwrap()).collect();
            assert_eq!(directory_of_all(&paths).as_str(), above, "{paths:?}");
        }
    }
}
