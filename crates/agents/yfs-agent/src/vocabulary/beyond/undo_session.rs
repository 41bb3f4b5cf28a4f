//! `undo_session`: takes back what a session did, and reports it in as many lines as a model can
//! use, however much it was.

use std::collections::BTreeMap;

use yfs_types::path::VPath;
use yfs_vfs::FsCode;

use super::history_of;
use crate::{
    history::{UndoneChange, UndoneResult},
    large_results::keep_items,
    tool_call::ToolCall,
    tool_outcome::{ToolAnswer, ToolFailure, ToolOutcome},
};

/// The most lines of a reply. What is beyond is counted by its kind.
const MAX_LINES: usize = 100;

records! { arguments:
pub(super) UndoSessionInput {
    /// Whether the changes are only listed. Default false.
    #[serde(default)]
    dry_run: bool,
}
}

records! { results:
pub(super) UndoSessionResult {
    /// One entry for all that was done alike with one file: what was not undone, then the rest, the
    /// latest first.
    changes: Vec<UndoneChangeResult>,
    /// Whether there are more, which were undone as well.
    truncated: bool,
}
UndoneChangeResult {
    /// The path of the file.
    path: String,
    /// `created`, `edited` or `deleted`; absent if only listed.
    change: Option<String>,
    /// What happened.
    result: String,
    /// What is counted of a change that is not listed.
    #[serde(skip)]
    kind: &'static str,
}
}

pub(super) async fn undo_session(
    call: ToolCall,
    input: UndoSessionInput,
) -> ToolOutcome<UndoSessionResult> {
    let history = history_of(&call)?;
    let (actor, session) = (call.session().actor().clone(), call.session().id().clone());
    let paths = history.session_paths(&actor, &session).await?;
    check_paths(&call, &paths).await?;
    let changes: Vec<UndoneChangeResult> = match input.dry_run {
        true => paths.iter().map(UndoneChangeResult::planned).collect(),
        false => {
            let mut undone = call.recorded_undo(history, &paths).await?;
            undone.sort_by_key(|change| !matches!(change.result, UndoneResult::Kept(_)));
            undone.into_iter().map(UndoneChangeResult::from).collect()
        }
    };
    Ok(answer_of(changes, call.session().limits().max_list_chars))
}

/// Checks that the session may read the files: the history knows no permissions.
async fn check_paths(call: &ToolCall, paths: &[VPath]) -> Result<(), ToolFailure> {
    for path in paths {
        match call.fs().read_range(path, 0, 1).await {
            // What was deleted is not there to be read.
            Err(error) if !matches!(error.code, FsCode::ENOENT | FsCode::EISDIR) => {
                return Err(error.into());
            }
            _ => (),
        }
    }
    Ok(())
}

fn answer_of(
    mut changes: Vec<UndoneChangeResult>,
    max_chars: usize,
) -> ToolAnswer<UndoSessionResult> {
    let beyond = changes.split_off(changes.len().min(MAX_LINES));
    let n_listed = changes.len();
    let (changes, _) = keep_items(changes, max_chars);
    let (is_cut, is_empty) = (n_listed > changes.len(), n_listed == 0);
    let mut lines: Vec<String> =
        changes.iter().map(|change| format!("{}: {}", change.path, change.result)).collect();
    if is_empty {
        lines.push("There is nothing to undo".to_owned());
    }
    if is_cut {
        lines.push(format!("... [{} more are not listed]", n_listed - changes.len()));
    }
    if !beyond.is_empty() {
        lines.push(format!("... [{} more: {}]", beyond.len(), counts_of(&beyond)));
    }
    let truncated = is_cut || !beyond.is_empty();
    ToolAnswer::new(lines.join("\n"), &UndoSessionResult { changes, truncated })
}

/// Returns how many changes there are of each kind.
fn counts_of(changes: &[UndoneChangeResult]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for change in changes {
        *counts.entry(change.kind).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    counts.join(", ")
}

impl UndoneChangeResult {
    fn planned(path: &VPath) -> Self {
        let kind = "would be undone";
        Self { path: path.to_string(), change: None, result: kind.to_owned(), kind }
    }
}

impl From<UndoneChange> for UndoneChangeResult {
    fn from(undone: UndoneChange) -> Self {
        Self {
            path: undone.path.to_string(),
            change: Some(undone.change.to_owned()),
            result: undone_words(&undone.result),
            kind: undone_kind(&undone.result),
        }
    }
}

fn undone_words(result: &UndoneResult) -> String {
    match result {
        UndoneResult::Reverted { kept_others: false } => "changed back".to_owned(),
        UndoneResult::Reverted { kept_others: true } => {
            "changed back; later changes by others were kept".to_owned()
        }
        UndoneResult::Removed => "moved to the trash, because the session created it".to_owned(),
        UndoneResult::MovedBack(path) => format!("moved back to {path}"),
        UndoneResult::Nothing => "nothing of the change was left".to_owned(),
        UndoneResult::Kept(reason) => format!("not undone: {reason}"),
        other => undone_kind(other).to_owned(),
    }
}

/// Returns the words for changes that are only counted.
fn undone_kind(result: &UndoneResult) -> &'static str {
    match result {
        UndoneResult::Reverted { kept_others: false } => "changed back",
        UndoneResult::Reverted { kept_others: true } => "changed back beside changes by others",
        UndoneResult::Removed => "moved to the trash",
        UndoneResult::Restored => "restored from the trash",
        UndoneResult::MovedBack(_) => "moved back",
        UndoneResult::ModeRestored => "permission bits set back",
        UndoneResult::Nothing => "without any of the change left",
        UndoneResult::Kept(_) => "not undone",
    }
}
