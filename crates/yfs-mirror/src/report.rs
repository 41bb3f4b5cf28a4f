//! What a mirror did, and what it left alone and why.

use std::{collections::BTreeMap, fmt, path::PathBuf};

/// What a mirror did since it began.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MirrorReport {
    /// What was done in the workspace, because of the folder.
    pub to_workspace: ChangeCounts,
    /// What was done in the folder, because of the workspace.
    pub to_folder: ChangeCounts,
    /// Files that were the same on both sides when they first met.
    pub n_matched: u64,
    /// Files that both sides had changed.
    pub n_merged: u64,
    /// What is left alone at present, and why, by path in the folder.
    pub skipped: BTreeMap<PathBuf, NoticeReason>,
    /// What the owner of the folder was told that is over: the first thousand of it.
    pub told: Vec<MirrorNotice>,
}

/// How many objects were changed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeCounts {
    /// Made, or brought back.
    pub created: u64,
    /// Given other content.
    pub written: u64,
    /// Moved or renamed. A folder counts as one.
    pub moved: u64,
    /// Deleted. In the workspace a folder counts as one.
    pub deleted: u64,
    /// Given other permission bits or another time alone.
    pub touched: u64,
}

/// Something that the owner of the folder may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MirrorNotice {
    /// Where, relative to the folder.
    pub path: PathBuf,
    /// What.
    pub why: NoticeReason,
}

/// Why something is not in step, or was not done as asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoticeReason {
    /// Tools run or obey a file of this name unasked, and it comes from elsewhere.
    Risky,
    /// It is to be executable, and that comes from elsewhere.
    Executable,
    /// The link leads out of the folder.
    Escapes,
    /// It is a fifo, a socket or a device.
    Special,
    /// It is on another device.
    OtherDevice,
    /// It is larger than the limit.
    TooLarge,
    /// The host cannot hold its name, not even in another spelling.
    BadName,
    /// The text of the link is not UTF-8.
    NotUtf8,
    /// Something that is not in the workspace has the name.
    InTheWay,
    /// Both sides had something else here when they first met; what the workspace had is in its history.
    Joined,
    /// Both sides had changed bytes that cannot be merged; the folder's are current, what the workspace had
    /// is in its history.
    Unmerged,
    /// The directory holds files that are not in the workspace, so it stays.
    NotEmpty,
    /// Its bytes are known and have not arrived in this store yet.
    Absent,
    /// The workspace cannot read its content, so the file on disk stays as it is.
    Unreadable(String),
    /// The host watches no more directories: everything is looked at now and then instead.
    Unwatched,
    /// It failed, and is tried again.
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
