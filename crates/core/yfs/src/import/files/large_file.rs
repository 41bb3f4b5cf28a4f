//! Files that are too large for a text: they are read piece by piece, and never held in memory.

use std::{
    fs::File,
    io::{Read, Seek},
};

use yfs_vfs::{FileKind, FsError, Op};

use super::{HostContent, ImportVerdict, open};
use crate::{
    WorkspaceFs,
    fs::batch::{NewNode, PreparedNode},
    import::{SkipReason, scan::ImportEntry},
};

/// Compares a large file with the object at its destination, and writes it there if that is a
/// file.
pub(super) fn compare(
    fs: &WorkspaceFs,
    found: &ImportEntry,
    mut file: File,
    max_len: u64,
) -> Result<ImportVerdict, FsError> {
    let stat = fs.reader().stat_if_exists(&found.to)?;
    if let Some(stat) = &stat {
        if stat.kind != FileKind::File {
            return Ok(ImportVerdict::Skipped(SkipReason::InTheWay));
        }
        if stat.size == found.size {
            let is_equal = fs.reader().has_streamed_content(&found.to, &mut file)?;
            match is_equal.and_then(|is_equal| file.rewind().map(|()| is_equal)) {
                Ok(true) => return Ok(ImportVerdict::Unchanged),
                Ok(false) => (),
                Err(error) => return Ok(failed(&error)),
            }
        }
    }
    let mut content = file.take(max_len.saturating_add(1));
    let blob = fs.writer().put_stream(Op::Open, &found.to, &mut content)?;
    if blob.size > max_len {
        return Ok(ImportVerdict::Skipped(SkipReason::TooLarge { size: blob.size }));
    }
    // It was cut short while it was read, and may be a text now.
    if !fs.reader().is_surely_blob(blob.size) {
        return match open(fs, found, max_len) {
            Ok(HostContent::Whole(data)) => super::compare(fs, found, stat.as_ref(), &data),
            Ok(HostContent::Stream(_)) => {
                Ok(ImportVerdict::Skipped(SkipReason::Failed("it changes while it is read".into())))
            }
            Err(why) => Ok(ImportVerdict::Skipped(why)),
        };
    }
    if stat.is_some() {
        fs.writer().overwrite_by_blob(&found.to, blob, found.mode, found.mtime)?;
        return Ok(ImportVerdict::Updated);
    }
    Ok(ImportVerdict::New(Box::new(NewNode {
        path: found.to.clone(),
        mode: found.mode,
        mtime: found.mtime,
        content: PreparedNode::File(fs.prepare_blob(&found.to, blob)?),
    })))
}

fn failed(error: &std::io::Error) -> ImportVerdict {
    ImportVerdict::Skipped(SkipReason::Failed(error.to_string()))
}
