//! The list of commands in the help of `yfs`: by subject, or the most used ones.

use std::fmt::Write as _;

use clap::Command;

/// The commands by subject, in the order of `yfs --help`. `yfs -h` shows those of [`MOST_USED`].
pub(super) const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["init", "demo", "import", "export"]),
    (
        "Files",
        &[
            "ls", "tree", "cat", "head", "tail", "write", "append", "edit", "mkdir", "mv", "cp",
            "rm", "rmdir", "ln", "readlink", "stat", "touch", "chmod", "trash",
        ],
    ),
    ("Search", &["find", "glob", "grep", "query", "describe", "du", "thumbnail"]),
    (
        "History",
        &[
            "status",
            "log",
            "diff",
            "undo",
            "at",
            "watch",
            "versions",
            "label",
            "blame",
            "anchor",
            "conflicts",
        ],
    ),
    ("Sync and peers", &["clone", "sync", "mirror", "mount", "umount", "peer"]),
    ("Agents", &["mcp", "tool", "thread", "artifact", "audit"]),
    ("Server", &["serve", "token"]),
    ("Administration", &["admin", "config", "completions", "man"]),
];

/// The commands that fill one screen.
const MOST_USED: [&str; 20] = [
    "init", "demo", "import", "export", "ls", "cat", "write", "edit", "rm", "grep", "status",
    "log", "undo", "versions", "serve", "clone", "sync", "peer", "mcp", "admin",
];

/// Lists the commands by subject in the help of `yfs`, or only the most used ones.
pub(super) fn with_overview(root: Command, is_short: bool) -> Command {
    let mut list = String::new();
    for (subject, names) in GROUPS {
        let shown = names.iter().filter(|name| !is_short || MOST_USED.contains(name));
        let commands: Vec<&Command> = shown.filter_map(|name| root.find_subcommand(name)).collect();
        if !commands.is_empty() {
            add_group(&mut list, &root, subject, &commands);
        }
    }
    if is_short {
        list +=
            "`yfs --help` lists all commands and options, `yfs help COMMAND` describes one.\n\n";
    }
    let rest = if is_short { "" } else { "{all-args}{after-help}" };
    let root = root.override_usage("yfs [OPTIONS] <COMMAND>");
    let root = root.mut_subcommands(|command| command.hide(true));
    root.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{rest}"
    ))
}

fn add_group(list: &mut String, root: &Command, subject: &str, commands: &[&Command]) {
    let (header, literal) = (root.get_styles().get_header(), root.get_styles().get_literal());
    let mut write = || {
        writeln!(list, "{header}{subject}:{header:#}")?;
        for command in commands {
            let name = command.get_name();
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            writeln!(list, "  {literal}{name:<11}{literal:#}  {about}")?;
        }
        writeln!(list)
    };
    write().expect("a string takes all writes");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::args::CliArgs;

    #[test]
    fn each_command_has_one_subject() {
        let all: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let grouped: BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(grouped.len(), all.len(), "a command has two subjects");
        let root = CliArgs::definition();
        for command in root.get_subcommands() {
            assert!(grouped.contains(command.get_name()), "{} has none", command.get_name());
        }
        assert!(MOST_USED.iter().all(|name| grouped.contains(name)));
    }

    #[test]
    fn the_short_help_fits_on_a_screen() {
        let help = with_overview(CliArgs::definition(), true).render_help().to_string();
        assert!(help.lines().count() <= 48, "{} lines", help.lines().count());
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }

    #[test]
    fn the_long_help_has_all_commands_and_options() {
        let help = with_overview(CliArgs::definition(), false).render_long_help().to_string();
        for words in
            ["\n  init ", "\n  peer ", "\n  admin ", "--workspace <DIR|FILE>", "Exit status: 0"]
        {
            assert!(help.contains(words), "{words:?} in {help}");
        }
    }
}
