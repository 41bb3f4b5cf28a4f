//! The `yfs` command.
//!
//! [`args`] defines the command line, `commands` implements it, one file per command or family. A
//! command gets a [`context::CommandContext`]: the workspace, standard output, and a reporter of
//! failures. Standard output carries only results; messages and progress go to standard error. Exit
//! codes are those of POSIX tools: 0, 1 after a failure, 2 for wrong usage.

mod account;
mod arenas;
mod args;
mod commands;
mod compare;
mod complete_paths;
mod context;
mod discover;
mod errors;
mod format_text;
mod history_steps;
mod json;
mod kept_stats;
mod mode;
mod number_options;
mod output;
mod pager;
mod parse_date;
mod parse_time;
mod pattern;
mod posix_regex;
mod prelude;
mod progress;
mod settings;
mod stop_signal;
mod typed_path;
mod workspace_key;

use std::process::ExitCode;

use futures::future::LocalBoxFuture;
use yfs_agent::json_query::JsonQueryRunner;
use yfs_query_worker::serve_json_query;

use crate::{args::CliArgs, commands::CommandList, context::CommandContext, errors::ErrorReporter};

/// The argument with which `yfs mcp` starts the process of a query.
const JSON_QUERY: &str = "--serve-json-query";

/// Returns the runner of queries, which is this program.
fn json_query_runner() -> Option<JsonQueryRunner> {
    std::env::current_exe().ok().map(|program| JsonQueryRunner::new(program, JSON_QUERY))
}

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == JSON_QUERY) {
        return ExitCode::from(serve_json_query());
    }
    match complete_paths::answer_shell() {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(error) => return errors::wrong_usage(&error),
    }
    let mut cli = match CliArgs::parse_words(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return errors::wrong_usage(&error),
    };
    // `yfs config` mends a file that cannot be read.
    if !matches!(cli.command.name(), "config" | "completions")
        && let Err(error) = settings::apply(&mut cli.globals)
    {
        return ErrorReporter::of(&cli).fatal(&error);
    }
    workspace_key::set_options(&cli.globals.key);
    let mut context = CommandContext::new(&cli);
    let runtime = match cli.command.create_runtime() {
        Ok(runtime) => runtime,
        Err(error) => return ErrorReporter::of(&cli).fatal(&error.into()),
    };
    // Behind a pointer: the compiler makes a copy of all commands for each place of tokio that
    // would poll them, and there are four.
    let command: LocalBoxFuture<'_, _> = Box::pin(cli.command.run(&mut context));
    let result = runtime.block_on(command);
    // The process does not wait for background work whose result is no longer needed.
    runtime.shutdown_background();
    context.finish(result)
}
