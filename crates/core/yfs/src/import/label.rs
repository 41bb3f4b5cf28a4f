//! The label of an import: all its changes have it, so that a history shows and undoes them as one.

use yfs_engine::id::FileId;

use crate::workspace::change_list::HistoryEntry;

const PREFIX: &str = "import ";

/// The most bytes of the name of a source that a label has.
const MAX_SOURCE_LEN: usize = 64;

/// Returns the label of an import: an id that no other import has, and the name of the source. The
/// directories above the source are not named: they are no concern of other peers.
pub(crate) fn import_label(id: &FileId, source: &str) -> String {
    let source = &source[..source.floor_char_boundary(MAX_SOURCE_LEN)];
    format!("{PREFIX}{id} {source}").trim_end().to_owned()
}

impl HistoryEntry {
    /// Returns the name of the source, if an import made this change; the name is empty if it is
    /// not recorded. Changes of one import have the same label.
    pub fn import_source(&self) -> Option<&str> {
        source_of(self.label.as_deref()?)
    }
}

/// Returns the name of the source in the label of an import; `None` if it is another label.
pub(crate) fn source_of(label: &str) -> Option<&str> {
    let import = label.strip_prefix(PREFIX)?;
    let (id, source) = import.split_once(' ').unwrap_or((import, ""));
    FileId::parse(id).is_ok().then_some(source)
}
