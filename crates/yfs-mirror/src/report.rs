//! The report of a mirror: what it did, and what it left alone and why.

use std::{collections::BTreeMap, fmt, path::PathBuf};

/// What a mirror did since it started.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MirrorReport {
    /// Changes made in the workspace, because of the directory.
    pub to_workspace: ChangeCounts,
    /// Changes made in the directory, because of the workspace.
    pub to_folder: ChangeCounts,
    /// Objects that were the same on both sides when they first met.
    pub n_matched: u64,
    /// Files that both sides had changed.
    pub n_merged: u64,
    /// What the mirror leaves alone at present, and why, by path in the directory.
    pub skipped: BTreeMap<PathBuf, NoticeReason>,
    /// Notices about completed events: the first 1,000 of them.
    pub told: Vec<MirrorNotice>,
}

/// The number of objects changed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeCounts {
    /// Created, or restored.
    pub created: u64,
    /// Content replaced or edited.
    pub written: u64,
    /// Moved or renamed. A directory counts as one.
    pub moved: u64,
    /// Deleted. In the workspace a directory counts as one.
    pub deleted: u64,
    /// Only permission bits or time changed.
    pub touched: u64,
}

/// A notice for the owner of the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MirrorNotice {
    /// The path of the object, relative to the directory.
    pub path: PathBuf,
    /// The reason of the notice.
    pub why: NoticeReason,
}

/// The reason why an object is not in step, or was not handled as requested.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoticeReason {
    /// Tools run or obey a file of this name unasked, and it comes from elsewhere.
    Risky,
    /// The workspace makes it executable, and that change comes from elsewhere.
    Executable,
    /// The link leads out of the directory.
    Escapes,
    /// It is a fifo, a socket or a device.
    Special,
    /// It is on another device.
    OtherDevice,
    /// It is larger than the limit.
    TooLarge,
    /// The host cannot store its name, not even in another spelling.
    BadName,
    /// The text of the link is not UTF-8.
    NotUtf8,
    /// An object that is not in the workspace has the name.
    InTheWay,
    /// Both sides had different content when they first met; that of the workspace is in its
    /// history.
    Joined,
    /// Both sides changed bytes that cannot be merged; those of the directory are current, those of
    /// the workspace are in its history.
    Unmerged,
    /// The directory contains files that are not in the workspace, so it stays.
    NotEmpty,
    /// The hash of its content is known, but the bytes have not arrived in this store yet.
    Absent,
    /// The workspace cannot read its content, so the file on disk stays as it is.
    Unreadable(String),
    /// The host watches no more directories; the mirror scans everything periodically instead.
    Unwatched,
    /// An operation failed; the mirror retries it.
    Failed(String),
}

impl fmt::Display for NoticeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Risky => "tools obey such files unasked (take it with --trust)",
            Self::Executable => "not made executable (allow it with --trust)",
            Self::Escapes => "the link leads out of the folder",
            Self::Special => "neither a file, a directory nor a link",
            Self::OtherDevice => "on another device",
            Self::TooLarge => "larger than the limit",
            Self::BadName => "the name cannot be used here",
            Self::NotUtf8 => "the text of the link is not UTF-8",
            Self::InTheWay => "something that is not in the workspace has the name",
            Self::Joined => "differed when they first met; the workspace's text is in its versions",
            Self::Unmerged => "changed on both sides; the workspace's bytes are in its versions",
            Self::NotEmpty => "kept, because it holds files that are not in the workspace",
            Self::Absent => "its content has not arrived yet",
            Self::Unwatched => "the host watches no more directories",
            Self::Unreadable(why) => {
                return write!(f, "left as it is, because its content cannot be read: {why}");
            }
            Self::Failed(why) => why,
        })
    }
}
