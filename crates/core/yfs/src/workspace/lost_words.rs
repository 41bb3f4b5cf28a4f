//! Words that a save of an earlier text took out of a file, kept as a conflict until a person has
//! brought them back or a month is over.

use serde_json::{Value, json};
use yfs_engine::{id::FileId, time::Millis};

use super::{
    conflict_report::{ConflictKind, ConflictReport, path_of, shell_word},
    history::History,
};
use crate::{core::WorkspaceCore, error::Result, state::WorkspaceState};

/// The setting of the store with the list, oldest first.
const SETTING: &str = "mirror.lost-words";

/// The greatest number of entries, and of words of each.
const MAX_ENTRIES: usize = 256;
const MAX_WORDS: usize = 8;

/// The maximum length of a word that is kept, in characters.
const MAX_WORD_LEN: usize = 64;

/// How long an entry is kept, in milliseconds.
const MAX_AGE_MS: i64 = 30 * 24 * 3_600 * 1_000;

/// A save that took out words of others.
struct LostWords {
    id: FileId,
    /// The label of the version that the save made.
    label: String,
    words: Vec<String>,
    at: Millis,
}

impl History<'_> {
    /// Notes that a save took out words that others had written since the text that it is an edit
    /// of. `label` is the label of its version. They are a conflict until they are in the file
    /// again.
    pub fn note_lost_words(&self, id: &FileId, label: &str, words: &[&str]) -> Result<()> {
        let state = self.state;
        let now = state.now();
        let mut list = lost_words(state)?;
        list.retain(|lost| now.0 - lost.at.0 < MAX_AGE_MS);
        let shorten = |word: &&str| word.chars().take(MAX_WORD_LEN).collect();
        let words = words.iter().take(MAX_WORDS).map(shorten).collect();
        list.push(LostWords { id: id.clone(), label: label.to_owned(), words, at: now });
        let excess = list.len().saturating_sub(MAX_ENTRIES);
        list.drain(..excess);
        let list: Vec<Value> = list.iter().map(LostWords::to_json).collect();
        Ok(state.store.set_meta(SETTING, Value::from(list).to_string().as_bytes())?)
    }
}

fn lost_words(core: &WorkspaceCore) -> Result<Vec<LostWords>> {
    let stored = core.store.get_meta(SETTING)?.unwrap_or_default();
    let Ok(Value::Array(list)) = serde_json::from_slice(&stored) else {
        return Ok(Vec::new());
    };
    Ok(list.iter().filter_map(LostWords::from_json).collect())
}

/// Lists the saves whose files still lack the words that they took out.
pub(super) fn lost_word_conflicts(state: &WorkspaceState) -> Result<Vec<ConflictReport>> {
    let now = state.now();
    let mut conflicts = Vec::new();
    for LostWords { id, label, words, at } in lost_words(state)? {
        let is_visible = state.main.read().tree().node(&id).is_some_and(|node| node.is_visible());
        if !is_visible || now.0 - at.0 >= MAX_AGE_MS {
            continue;
        }
        // A file that is no text any more has none of them.
        let Ok(text) = state.texts.read_once(state, &id) else { continue };
        let has_all = words.iter().all(|word| text.content.contains(word.as_str()));
        if has_all {
            continue;
        }
        let path = path_of(&state.main.read(), &id);
        let detail = format!(
            "a save of an earlier text took out what others wrote since: {}; bring it back \
             with: yfs undo {} --label {}",
            words.join(" "),
            shell_word(&path),
            shell_word(&label)
        );
        conflicts.push(ConflictReport { kind: ConflictKind::Overwritten, id, path, detail });
    }
    Ok(conflicts)
}

impl LostWords {
    fn to_json(&self) -> Value {
        json!({
            "id": self.id.as_str(), "label": self.label, "words": self.words, "at": self.at.0,
        })
    }

    fn from_json(value: &Value) -> Option<Self> {
        let words = value.get("words")?.as_array()?.iter();
        Some(Self {
            id: FileId::parse(value.get("id")?.as_str()?).ok()?,
            label: value.get("label")?.as_str()?.to_owned(),
            words: words.filter_map(|word| word.as_str().map(str::to_owned)).collect(),
            at: Millis(value.get("at")?.as_i64()?),
        })
    }
}
