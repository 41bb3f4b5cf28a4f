//! `apply_patch`: one patch of any number of files.
//!
//! The patch is first applied to copies in memory, so that a bad one changes nothing. Then each
//! file is written on the condition that it still has the version that was read. If another writer
//! was faster, the hunks are applied to what is there now. Only if they do not apply any more are
//! the files that were written before changed back, by the reverse change: what others wrote
//! meanwhile stays.

mod envelope;
mod file_changes;
mod hunks;
mod patch_steps;

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use self::{
    envelope::parse_patch,
    file_changes::{PatchPlan, PatchProgress, StepFailure},
};
use crate::{
    tool_call::ToolCall,
    tool_outcome::{ToolAnswer, ToolFailure, ToolOutcome},
};

/// How often a patch is applied again because a file changed meanwhile. Each time, another writer
/// has finished.
const MAX_ATTEMPTS: usize = 500;

/// The longest pause before a patch is applied again.
const MAX_PAUSE: Duration = Duration::from_millis(50);

records! { arguments:
pub(super) PatchFilesInput {
    /// The patch, from `*** Begin Patch` to `*** End Patch`.
    patch: String,
    /// Whether the operations before one that fails are kept. Default false: all or nothing.
    #[serde(default)]
    keep_earlier: bool,
}
}

records! { results:
pub(super) PatchFilesResult {
    /// The paths of new files.
    added: Vec<String>,
    /// The paths of changed files, after their moves.
    modified: Vec<String>,
    /// The paths of deleted files.
    deleted: Vec<String>,
}
}

/// Applies a patch.
pub(super) async fn apply_patch(
    call: ToolCall,
    input: PatchFilesInput,
) -> ToolOutcome<PatchFilesResult> {
    let operations = parse_patch(&input.patch)?;
    if input.keep_earlier {
        let mut done = PatchPlan::default();
        for operation in &operations {
            let one = std::slice::from_ref(operation);
            match apply_all(&call, one).await {
                Ok(plan) => done.merge_report(plan),
                Err(failure) => {
                    let text = format!("{failure}\n\nDone before:\n{}", done.summary());
                    return Err(ToolFailure::Refused(text));
                }
            }
        }
        return Ok(answer_of(done));
    }
    Ok(answer_of(apply_all(&call, &operations).await?))
}

fn answer_of(plan: PatchPlan) -> ToolAnswer<PatchFilesResult> {
    let text = format!("Success. Updated the following files:\n{}", plan.summary());
    let PatchPlan { added, modified, deleted, .. } = plan;
    ToolAnswer::new(text, &PatchFilesResult { added, modified, deleted })
}

async fn apply_all(
    call: &ToolCall,
    operations: &[envelope::PatchOperation],
) -> Result<PatchPlan, ToolFailure> {
    let paths = file_changes::paths_of(operations)?;
    call.session().prepare_writes(&paths).await?;
    let _locks = call.session().locks().lock(paths).await;
    let mut progress = PatchProgress::default();
    for attempt in 0..MAX_ATTEMPTS {
        let plan = match PatchPlan::make(call, operations, &progress).await {
            Ok(plan) => plan,
            Err(failure) => return Err(progress.take_back(call, failure).await),
        };
        match plan.write(call, &mut progress).await {
            Ok(()) => return Ok(plan),
            Err(StepFailure::Stale) => pause_after(attempt).await,
            Err(StepFailure::Failed(error)) => {
                return Err(progress.take_back(call, error.into()).await);
            }
        }
    }
    let failure = ToolFailure::refused("others keep changing the files; try again");
    Err(progress.take_back(call, failure).await)
}

/// Waits, longer after more attempts, and not as long as another writer of the same files.
async fn pause_after(attempt: usize) {
    let longest = MAX_PAUSE.min(Duration::from_millis(1 << attempt.min(10)));
    let share = (RandomState::new().hash_one(attempt) % 1_000) as f64 / 1_000.0;
    // The caller's runtime may have no timers.
    let slept = tokio::task::spawn_blocking(move || std::thread::sleep(longest.mul_f64(share)));
    drop(slept.await);
}
