//! Running commands.

use std::time::Duration;

use crate::{
    execute::{ExecuteError, ExecuteOptions},
    large_results::keep_large_result,
    tool::ToolReply,
    tool_call::ToolCall,
    tool_outcome::{ToolAnswer, ToolFailure, ToolOutcome},
};

/// The longest time that a caller of `execute` may ask for.
const MAX_EXECUTE_SECONDS: i64 = 3_600;

records! { arguments:
pub(super) ExecuteInput {
    /// Command line of a POSIX shell.
    command: String,
    /// The longest time in seconds.
    timeout: Option<i64>,
}
}

records! { results:
pub(super) ExecuteOutput {
    /// What the command printed, or where that was saved.
    output: String,
    /// The exit code, unless a signal ended the command.
    exit_code: Option<i32>,
    /// Whether the command printed more.
    truncated: bool,
}
}

pub(super) async fn execute(call: ToolCall, input: ExecuteInput) -> ToolOutcome<ExecuteOutput> {
    let Some(executor) = call.session().executor() else {
        return Err(ToolFailure::refused("Execution not available."));
    };
    let timeout = match input.timeout {
        Some(seconds) if seconds < 0 => {
            let text = format!("timeout must be non-negative, got {seconds}.");
            return Err(ToolFailure::refused(text));
        }
        Some(seconds) if seconds > MAX_EXECUTE_SECONDS => {
            return Err(ToolFailure::refused(format!(
                "timeout {seconds}s exceeds maximum allowed ({MAX_EXECUTE_SECONDS}s)."
            )));
        }
        // As in deepagents, 0 means the executor's own limit.
        Some(0) | None => None,
        Some(seconds) => Some(Duration::from_secs(seconds.unsigned_abs())),
    };
    let cancel = call.context().cancel.clone();
    let scope = Some(call.scope().of_unknown_part());
    let options = ExecuteOptions { timeout, cancel, scope, ..ExecuteOptions::default() };
    let ran = match executor.execute(&input.command, &options).await {
        Ok(ran) => ran,
        Err(ExecuteError::TimedOut { limit, partial }) => {
            let text =
                format!("{}\n[Command timed out after {}s]", partial.output, limit.as_secs());
            return Ok(ToolAnswer::plain(ToolReply::error(text)));
        }
        Err(error) => return Err(ToolFailure::refused(error.to_string())),
    };
    let mut text = ran.output;
    if let Some(code) = ran.exit_code {
        let word = if code == 0 { "succeeded" } else { "failed" };
        text.push_str(&format!("\n[Command {word} with exit code {code}]"));
    }
    if ran.truncated {
        text.push_str("\n[Output was truncated due to size limits]");
    }
    let text = keep_large_result(&call, text).await;
    let output =
        ExecuteOutput { output: text.clone(), exit_code: ran.exit_code, truncated: ran.truncated };
    Ok(ToolAnswer::new(text, &output))
}
