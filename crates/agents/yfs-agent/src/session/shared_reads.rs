//! The base of a write in a session that several programs share.
//!
//! The server cannot tell such programs apart, so what one has read must not become the base of
//! another's write: the changes in between would be taken back. A write differs least from the
//! content that its author has read, so that content is chosen.

use std::time::{Duration, Instant};

use similar::{Algorithm, ChangeTag, TextDiff};
use yfs_types::id::FileId;

use super::RememberedRead;
use crate::tool_call::ToolCall;

/// Texts up to this length are compared by characters, longer ones by lines.
const MAX_CHARS_LEN: usize = 4096;

/// How long the reads of one file are compared with a write.
const COMPARE_LIMIT: Duration = Duration::from_secs(2);

impl ToolCall {
    /// Returns the read that a write is a change of. `last` is the last content that the session
    /// knows.
    pub(super) fn base_of_write(
        &self,
        id: &FileId,
        last: RememberedRead,
        data: &[u8],
    ) -> RememberedRead {
        let open = self.session().memory().lock().open_reads(id);
        let deadline = Instant::now() + COMPARE_LIMIT;
        let mut best = (distance(&last, data, deadline), last);
        // The newest of several equally near ones.
        for read in open.into_iter().rev() {
            let distance = distance(&read, data, deadline);
            if distance < best.0 {
                best = (distance, read);
            }
        }
        best.1
    }
}

/// Returns how much of a text was changed; the most if it is unknown.
fn distance(read: &RememberedRead, data: &[u8], deadline: Instant) -> usize {
    let texts = (read.content.as_deref().map(std::str::from_utf8), std::str::from_utf8(data));
    let (Some(Ok(old)), Ok(new)) = texts else { return usize::MAX };
    if old == new {
        return 0;
    }
    let mut config = TextDiff::configure();
    let config = config.algorithm(Algorithm::Myers).deadline(deadline);
    let diff = match old.len().max(new.len()) <= MAX_CHARS_LEN {
        true => config.diff_chars(old, new),
        false => config.diff_lines(old, new),
    };
    let changes = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    changes.map(|change| change.value().len()).sum()
}
