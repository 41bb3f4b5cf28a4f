//! The commands of `find -exec`.
//!
//! The paths that `find` prints are those of the workspace. A program of the host would take them
//! for paths of the disk: `-exec rm {} \;` would delete other files. Therefore `-exec` runs the
//! commands of yfs, with or without `yfs` before their name, and programs that only print.

use std::{env, io, process::Command};

use yfs_engine::time::Millis;

use crate::{
    commands::{CliCommand, CommandList},
    parse_time,
};

/// Programs of the host that take no paths.
const HARMLESS_PROGRAMS: [&str; 4] = ["echo", "printf", "true", "false"];

/// The most paths of one run with `+`.
const MAX_BATCH_PATHS: usize = 1_000;

/// A command of `-exec` or `-ok`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExecCommand {
    /// The name of the command, and its arguments.
    words: Vec<String>,
    /// Whether the command is one of yfs.
    is_yfs: bool,
    /// Whether one run takes many paths, at its end (`+`).
    pub(super) is_batch: bool,
    /// Whether each run is a question first (`-ok`).
    pub(super) asks: bool,
}

/// The environment of a command of yfs.
#[derive(Debug, Clone)]
pub(crate) struct ExecEnvironment {
    /// The file of the workspace.
    pub(super) workspace: std::path::PathBuf,
    /// The actor.
    pub(super) actor: String,
    /// The earlier time at which the workspace is read.
    pub(super) past: Option<Millis>,
}

impl ExecCommand {
    /// Parses the words up to `;` or `{} +`.
    pub(super) fn parse<'a>(
        asks: bool,
        mut next: impl FnMut() -> Option<&'a str>,
    ) -> Result<Self, String> {
        let option = if asks { "-ok" } else { "-exec" };
        let mut words: Vec<String> = Vec::new();
        let is_batch = loop {
            match next() {
                Some(";") => break false,
                Some("+") if !asks && words.last().is_some_and(|word| word == "{}") => break true,
                Some(word) => words.push(word.to_owned()),
                None => return Err(format!("missing ';' or '{{}} +' at the end of {option}")),
            }
        };
        if is_batch {
            words.pop();
            if words.iter().any(|word| word.contains("{}")) {
                return Err(format!("{option} with '+' takes '{{}}' once, at the end"));
            }
        }
        let is_named = words.first().is_some_and(|word| word == "yfs");
        if is_named {
            words.remove(0);
        }
        let name = words.first().ok_or_else(|| format!("missing the command of {option}"))?;
        let is_yfs = CliCommand::definition_of(name).is_some();
        if !is_yfs && (is_named || !HARMLESS_PROGRAMS.contains(&name.as_str())) {
            return Err(format!(
                "{option} runs commands of yfs, and '{name}' is none: for programs that read \
                 standard input, pipe `yfs cat`; for others, `yfs export` the files first"
            ));
        }
        Ok(Self { words, is_yfs, is_batch, asks })
    }

    /// Reports whether a run with these paths is large enough to start.
    pub(super) fn is_full(paths: &[String]) -> bool {
        paths.len() >= MAX_BATCH_PATHS
    }

    /// Returns the command for a path, as the question of `-ok` shows it.
    pub(super) fn describe(&self, path: &str) -> String {
        let words: Vec<String> = self.words.iter().map(|word| word.replace("{}", path)).collect();
        words.join(" ")
    }

    /// Runs the command with paths. Reports whether it succeeded.
    ///
    /// # Errors
    ///
    /// If the command cannot be started.
    pub(super) fn run(&self, paths: &[String], environment: &ExecEnvironment) -> io::Result<bool> {
        let mut words: Vec<String> = match (self.is_batch, paths) {
            (false, [path]) => self.words.iter().map(|word| word.replace("{}", path)).collect(),
            _ => self.words.iter().chain(paths).cloned().collect(),
        };
        let mut command = match self.is_yfs {
            true => Command::new(env::current_exe()?),
            false => Command::new(words.remove(0)),
        };
        if let Some(time) = environment.past.filter(|_| self.is_yfs) {
            command.args(["at", &parse_time::rfc3339(time)]);
        }
        command.args(words);
        command.env("YFS_WORKSPACE", &environment.workspace);
        command.env("YFS_ACTOR", &environment.actor);
        Ok(command.status()?.success())
    }
}
