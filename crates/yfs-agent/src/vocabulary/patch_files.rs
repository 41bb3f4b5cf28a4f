//! `apply_patch`: one patch of any number of files.
//!
//! The patch is first applied to copies in memory, so that a bad one changes nothing. Then each
//! file is written on the condition that it still has the version that was read. If one of them
//! changed meanwhile, those written before are put back, and the patch is applied again.

mod envelope;
mod file_changes;
mod hunks;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{
    envelope::parse_patch,
    file_changes::{PatchPlan, StaleFile},
};
use super::shared::{ToolFailure, ToolOutcome, path_of};
use crate::{tool::ToolReply, tool_call::ToolCall};

/// How often a patch is applied again because a file changed meanwhile.
const MAX_ATTEMPTS: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PatchFilesInput {
    /// The patch, from `*** Begin Patch` to `*** End Patch`.
    patch: String,
    /// Whether the operations before one that fails are kept. Default false: all or nothing.
    #[serde(default)]
    keep_earlier: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PatchFilesResult {
    /// The paths of new files.
    added: Vec<String>,
    /// The paths of changed files, after their moves.
    modified: Vec<String>,
    /// The paths of deleted files.
    deleted: Vec<String>,
}

/// Applies a patch.
pub(super) async fn apply_patch(call: ToolCall, input: PatchFilesInput) -> ToolOutcome {
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
        return Ok(reply_of(done));
    }
    Ok(reply_of(apply_all(&call, &operations).await?))
}

fn reply_of(plan: PatchPlan) -> ToolReply {
    let text = format!("Success. Updated the following files:\n{}", plan.summary());
    let PatchPlan { added, modified, deleted, .. } = plan;
    ToolReply::text(text).with_structured(&PatchFilesResult { added, modified, deleted })
}

async fn apply_all(
    call: &ToolCall,
    operations: &[envelope::PatchOperation],
) -> Result<PatchPlan, ToolFailure> {
    let paths = file_changes::paths_of(operations)?;
    call.session().prepare_writes(&paths).await?;
    let _locks = call.session().locks().lock(paths).await;
    for _ in 0..MAX_ATTEMPTS {
        let plan = PatchPlan::make(call, operations).await?;
        match plan.write(call).await {
            Ok(()) => return Ok(plan),
            Err(StaleFile::Changed) => (),
            Err(StaleFile::Failed(failure)) => return Err(failure),
        }
    }
    Err(ToolFailure::refused("others keep changing the files; try again"))
}
