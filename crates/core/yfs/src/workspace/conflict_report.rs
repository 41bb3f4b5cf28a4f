//! The report of a conflict.

use yfs_engine::{id::FileId, main_doc::MainDoc};

/// A conflict that was resolved by rule, or a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConflictReport {
    /// Its kind.
    pub kind: ConflictKind,
    /// The file or directory concerned.
    pub id: FileId,
    /// The path at which it is visible; for a removal with a record, the one that it had.
    pub path: String,
    /// A description of what happened, for people.
    pub detail: String,
}

/// The kinds of conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ConflictKind {
    /// Several files in one directory have the same name: all but one are shown with a number.
    Name,
    /// Directories were moved into each other: one is shown at its earlier place.
    Cycle,
    /// Its parent directory is missing: it is shown at the root.
    Orphan,
    /// It changed inside a directory that another writer put into the trash.
    Stranded,
    /// One writer put it into the trash, and another changed it without knowing of that.
    Removed,
    /// Its stored name cannot be shown as it is.
    InvalidName,
    /// It was written with a clock that is more than a day ahead.
    FutureTimestamp,
    /// Several writers replaced it at the same time, or one typed into the text that another
    /// replaced by bytes; the other contents are among its versions.
    Blob,
    /// It has its whole content twice, because peers that do not follow the conversion rules
    /// converted it at the same time: [`Maintenance::repair`](crate::Maintenance::repair) keeps one
    /// half.
    Doubled,
    /// It was edited in a root that is no longer its current one, or its content is not in the root
    /// that its name requires: [`Maintenance::repair`](crate::Maintenance::repair) merges it.
    Unsettled,
    /// Writers that did not know of each other changed the same word, or words side by side: the
    /// file has all their words. The conflict ends when one of them is kept, when a writer who has
    /// seen it changes the place, or when a person says that it is right.
    Words,
    /// It was moved over another file, is in the trash, and was edited by a writer that did not
    /// know of the move: the other file lacks that edit.
    Late,
    /// A peer sent other content for items that it has: its writer gave peers different changes
    /// under the same ids. [`Maintenance::repair`](crate::Maintenance::repair), at one of the
    /// peers, gives all the content of that one.
    Forked,
    /// A save of an earlier text took out words that others had written since. It ends when they
    /// are in the file again, or after 30 days.
    Overwritten,
}

impl ConflictKind {
    /// Returns the name of the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Cycle => "cycle",
            Self::Orphan => "orphan",
            Self::Stranded => "stranded",
            Self::Removed => "removed",
            Self::InvalidName => "invalid-name",
            Self::FutureTimestamp => "future-timestamp",
            Self::Blob => "blob",
            Self::Doubled => "doubled",
            Self::Unsettled => "unsettled",
            Self::Words => "words",
            Self::Late => "late",
            Self::Forked => "forked",
            Self::Overwritten => "overwritten",
        }
    }
}

/// Writes a text as one word of a command for a POSIX shell.
pub(super) fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns the path of a file, or a path that names its id if it has none.
pub(crate) fn path_of(main: &MainDoc, id: &FileId) -> String {
    main.tree().path_of(id).map_or_else(|| format!("/.id/{id}"), |path| path.to_string())
}
