//! `yfs artifact run`: runs a command, and stores its output if it is large (decision 63).

use std::{
    ffi::OsString,
    io::{self, Read},
    process::{Command, ExitStatus, Stdio},
};

use bytes::Bytes;
use yfs_artifacts::{FileMetadata, FileSystemOps, ToolResponseContent, extract_context};

use super::{PlacementArgs, store_of};
use crate::prelude::*;

/// A command to run.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// Where the output is put.
    #[command(flatten)]
    placement: PlacementArgs,
    /// Print output up to this size as it is
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "50K")]
    threshold: u64,
    /// Keep what the command writes to standard error with its output, too
    #[arg(long)]
    stderr: bool,
    /// End the command if its output is larger
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "256M")]
    max_size: u64,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    #[arg(allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// What a command wrote, and how it ended.
struct CommandRun {
    output: Vec<u8>,
    status: ExitStatus,
    /// Whether it was ended because of the size of its output.
    is_cut: bool,
}

/// Runs the command, and prints its output or the reference to it.
pub(super) async fn run(context: &mut CommandContext, root: VPath, args: RunArgs) -> Result {
    let run = run_command(&args)?;
    let name = args.command[0].to_string_lossy();
    context.exit_with(exit_code(run.status));
    if run.is_cut {
        let limit = human_size(args.max_size);
        context.fail(&CommandError::other(format!("{name} was ended: its output exceeds {limit}")));
    }
    let content = Bytes::from(run.output);
    if content.len() as u64 <= args.threshold {
        return print_output(context, &content, run.status);
    }
    match store(context, root, &args, content.clone()).await {
        Ok(metadata) => print_reference(context, metadata, run.status),
        // The output is worth more than its size.
        Err(error) => {
            context.fail(&error);
            print_output(context, &content, run.status)
        }
    }
}

async fn store(
    context: &mut CommandContext,
    root: VPath,
    args: &RunArgs,
    content: Bytes,
) -> Result<FileMetadata> {
    let (ids, options) = args.placement.resolve(root, &content);
    let workspace = context.writable()?;
    Ok(store_of(context, &workspace, options).store_file(&ids, content).await?)
}

fn print_output(context: &mut CommandContext, content: &[u8], status: ExitStatus) -> Result {
    if !context.out.json {
        return context.out.raw(content);
    }
    let text = String::from_utf8_lossy(content);
    let result = serde_json::from_str(&text).unwrap_or_else(|_| Value::from(text.as_ref()));
    let answer = json::value(&ToolResponseContent::Direct { result });
    context.out.json_line(&json::with(&answer, json!({ "exit_status": exit_code(status) })))
}

fn print_reference(
    context: &mut CommandContext,
    metadata: FileMetadata,
    status: ExitStatus,
) -> Result {
    let described = extract_context(&metadata);
    let path = metadata.relative_path.clone();
    let reference = ToolResponseContent::from(metadata);
    if context.out.json {
        let answer = json::value(&reference);
        let status = json!({ "exit_status": exit_code(status) });
        return context.out.json_line(&json::with(&answer, status));
    }
    let text = format!(
        "{}\n{described}\nThe whole output: yfs artifact get {path}\n",
        reference.context_text()
    );
    context.out.safe_lines(&text)
}

/// Runs the command to the end of its output.
fn run_command(args: &RunArgs) -> Result<CommandRun> {
    let name = args.command[0].to_string_lossy();
    let failed = |error: io::Error| CommandError::other(format!("cannot run {name}: {error}"));
    let (reader, writer) = io::pipe().map_err(failed)?;
    let mut command = Command::new(&args.command[0]);
    command.args(&args.command[1..]);
    if args.stderr {
        command.stderr(Stdio::from(writer.try_clone().map_err(failed)?));
    }
    command.stdout(Stdio::from(writer));
    let mut child = command.spawn().map_err(failed)?;
    // The command has the writing ends now: without it, the output ends with the last program.
    drop(command);
    let mut output = Vec::new();
    // Open until the command ended: it would end by itself if its output had no reader.
    let mut limited = reader.take(args.max_size + 1);
    let read = limited.read_to_end(&mut output);
    let is_cut = output.len() as u64 > args.max_size;
    if is_cut || read.is_err() {
        // It may have ended by itself.
        child.kill().ok();
    }
    output.truncate(usize::try_from(args.max_size).unwrap_or(usize::MAX));
    let status = child.wait().map_err(failed)?;
    drop(limited);
    read.map_err(failed)?;
    Ok(CommandRun { output, status, is_cut })
}

/// Returns the exit code that a shell reports: of a signal, 128 and its number.
fn exit_code(status: ExitStatus) -> u8 {
    let signal = {
        #[cfg(unix)]
        {
            std::os::unix::process::ExitStatusExt::signal(&status)
        }
        #[cfg(not(unix))]
        {
            None::<i32>
        }
    };
    let code = signal.map_or_else(|| status.code().unwrap_or(1), |signal| 128 + signal);
    u8::try_from(code).unwrap_or(1)
}
