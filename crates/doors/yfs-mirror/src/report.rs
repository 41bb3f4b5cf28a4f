//! The report of a mirror: counts of changes, skipped paths, notices.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use smol_str::SmolStr;
use yfs_engine::actor::Actor;

/// The changes that a mirror made since it started, and the paths that it skips.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MirrorReport {
    /// Changes made in the workspace, because of the directory.
    pub to_workspace: ChangeCounts,
    /// Changes made in the directory, because of the workspace.
    pub to_directory: ChangeCounts,
    /// Objects that were equal on both sides at the first synchronization.
    pub n_matched: u64,
    /// Files that both sides had changed.
    pub n_merged: u64,
    /// The paths that are currently skipped, relative to the directory, with the reasons.
    pub skipped: BTreeMap<PathBuf, NoticeReason>,
    /// Notices about completed events: the first 1,000 of them.
    pub notices: Vec<MirrorNotice>,
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

/// The reason why an object is not synchronized, or why the mirror treated it specially.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoticeReason {
    /// The rules excluded it before other writers changed them. It is not imported before a person
    /// accepts their rules ([`Mirror::accept_rules`](crate::Mirror::accept_rules)).
    HeldByRules,
    /// Another writer moved the directory, and it has files that are excluded only under its
    /// present name. It keeps that.
    WouldInclude,
    /// Tools execute or load a file of this name automatically, and another author made it.
    Risky,
    /// The workspace makes the file executable, and another author made that change.
    Executable,
    /// The link leads out of the directory.
    Escapes,
    /// The object is a fifo, a socket or a device.
    Special,
    /// The object is on another device.
    OtherDevice,
    /// The file is larger than the limit.
    TooLarge,
    /// The file grew over the limit, and the workspace keeps an earlier content. It stays as it is
    /// on disk.
    Outgrown,
    /// The host cannot store the name, not even escaped.
    BadName,
    /// The text of the link is not UTF-8.
    NotUtf8,
    /// An object that is not in the workspace has the name.
    InTheWay,
    /// Both sides had different content at the first synchronization; that of the workspace is in
    /// its history.
    Joined,
    /// The workspace has another file of the name, so the one of the directory got this name on
    /// both sides.
    Renamed(SmolStr),
    /// Both sides changed bytes that cannot be merged; those of the directory are current, those of
    /// the workspace are in its history.
    Unmerged,
    /// The workspace removed the object, and it changed in the directory: it was restored.
    Restored,
    /// The directory lacks the object, and it changed in the workspace: it is written again.
    Rewritten,
    /// A save met a change in the same place by another writer, if known: the file has both.
    Overlapped(Option<Actor>),
    /// A save was merged with a change by another writer, and their words meet: a description.
    Mixed(String),
    /// A save of an earlier text took out this many words that others wrote since. The workspace
    /// lists them as a conflict.
    TookOut(usize),
    /// The directory contains files that are not in the workspace, so it stays.
    NotEmpty,
    /// The hash of its content is known, but the bytes have not arrived in this store yet.
    Absent,
    /// The workspace cannot read its content, so the file on disk stays as it is.
    Unreadable(String),
    /// The store does not prove that it has all that the mirror agreed on with it: an older copy
    /// was restored, or a power cut took its last records. The directory was treated as on the
    /// first synchronization.
    Unproven,
    /// The workspace no longer has most of the directory's files. The mirror writes nothing to the
    /// directory until a person confirms the deletion, or the files are back in the workspace.
    MassDeletion {
        /// The number of files that the workspace no longer has.
        n_deleted: usize,
        /// The number of files that both sides had.
        n_files: usize,
    },
    /// The host watches no more directories; the mirror scans everything periodically instead.
    Unwatched,
    /// An operation failed; the mirror retries it.
    Failed(String),
}

impl fmt::Display for NoticeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HeldByRules => {
                "not mirrored: excluded before other writers changed the rules (see --accept-rules)"
            }
            Self::WouldInclude => {
                "not moved here: it has files that are excluded only under this name (see --trust)"
            }
            Self::Risky => {
                "not written: tools execute or load such files automatically (see --trust)"
            }
            Self::Executable => "not made executable (see --trust)",
            Self::Escapes => "the link leads out of the directory",
            Self::Special => "not a file, a directory or a link",
            Self::OtherDevice => "on another device",
            Self::TooLarge => "not mirrored: larger than the limit (see --max-size)",
            Self::Outgrown => {
                "grew over the limit (see --max-size); the workspace keeps an earlier content"
            }
            Self::BadName => "the filesystem cannot store the name",
            Self::NotUtf8 => "the target of the link is not UTF-8",
            Self::InTheWay => "an object that is not in the workspace has the same name",
            Self::Joined => {
                "differed at the first synchronization; `yfs versions` has the other text"
            }
            Self::Renamed(name) => {
                return write!(
                    f,
                    "made on both sides with different contents; the file of this directory is now \
                     {name:?}"
                );
            }
            Self::Unmerged => {
                "changed on both sides, not mergeable; `yfs versions` has the other content"
            }
            Self::Restored => "was removed in the workspace and changed here, so it was restored",
            Self::Rewritten => {
                "was removed here and changed in the workspace, so it is written here again"
            }
            Self::Overlapped(by) => {
                let by = by.as_ref().map_or("another writer".to_owned(), ToString::to_string);
                return write!(f, "{by} changed the same place; the file has both changes");
            }
            Self::TookOut(n_words) => {
                let words = if *n_words == 1 { "word" } else { "words" };
                return write!(
                    f,
                    "a save of an earlier text took out {n_words} {words} that others wrote since \
                     (see `yfs conflicts`)"
                );
            }
            Self::Mixed(what) => return write!(f, "{what} (see `yfs conflicts`)"),
            Self::NotEmpty => "kept, because it contains files that are not in the workspace",
            Self::Absent => "the content has not been received yet",
            Self::Unproven => {
                "the workspace may have lost changes that were synchronized (a restored backup?); \
                 both sides were merged, and nothing was deleted"
            }
            Self::Unwatched => {
                "the system watches no more directories; the mirror scans periodically"
            }
            Self::MassDeletion { n_deleted, n_files } => {
                return write_mass_deletion(f, *n_deleted, *n_files);
            }
            Self::Unreadable(why) => {
                return write!(f, "not updated, because its content cannot be read: {why}");
            }
            Self::Failed(why) => why,
        })
    }
}

fn write_mass_deletion(
    f: &mut fmt::Formatter<'_>,
    n_deleted: usize,
    n_files: usize,
) -> fmt::Result {
    write!(
        f,
        "the workspace no longer has {n_deleted} of the {n_files} files; none was deleted here, \
         and nothing is written here until you confirm the deletion with \
         `yfs mirror --once --confirm` or restore the files (`yfs trash`)"
    )
}
