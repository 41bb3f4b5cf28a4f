//! The reference of all commands, which is generated from the definition of the command line.

use std::{fmt::Write as _, path::Path};

use clap::Command;
use expect_test::expect_file;

use super::{CliArgs, overview::GROUPS};
use crate::commands::CommandList;

/// The width of the help texts in the reference.
const WIDTH: usize = 96;

const INTRODUCTION: &str = "\
# Commands

`yfs help COMMAND` prints the same texts. [The `yfs` command](../cli.md) describes what all commands
have in common: paths, times, output, errors, exit status and JSON. This page is generated from the
definition of the command line; `just reference` writes it.
";

/// `UPDATE_EXPECT=1 cargo test -p yfs-cli --bins reference` writes the page.
#[test]
fn the_reference_is_what_the_command_line_accepts() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference/commands.md");
    expect_file![page].assert_eq(&reference());
}

#[test]
fn each_command_of_a_group_is_in_no_other_place() {
    let root = CliArgs::definition();
    let names = |group: &str| -> Vec<String> {
        let group = root.find_subcommand(group).expect("the group");
        subcommands(group).map(|command| command.get_name().to_owned()).collect()
    };
    let (admin, peer) = (names("admin"), names("peer"));
    let top: Vec<&str> = subcommands(&root).map(Command::get_name).collect();
    assert!(!admin.iter().any(|name| peer.contains(name)));
    for name in admin.iter().chain(&peer).filter(|name| *name != "ls") {
        assert!(!top.contains(&name.as_str()), "`{name}` is in a group and outside");
    }
}

#[test]
fn messages_have_the_whole_name_of_a_command() {
    for (line, name) in [
        ("yfs ls", "ls"),
        ("yfs thread list", "thread"),
        ("yfs admin fsck", "admin fsck"),
        ("yfs admin key info", "admin key"),
    ] {
        let parsed = CliArgs::parse_words(line.split(' ').map(Into::into));
        assert_eq!(parsed.expect("a valid line").command.name(), name);
    }
}

#[test]
fn the_help_of_each_command_has_an_example() {
    fn check(command: &Command, name: &str) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let is_example = |line: &str| line.starts_with("  ") && line.contains(name);
        assert!(help.lines().any(is_example), "`{name}` has no example");
        for subcommand in subcommands(command) {
            check(subcommand, &format!("{name} {}", subcommand.get_name()));
        }
    }
    let root = CliArgs::definition();
    for command in subcommands(&root) {
        check(command, &format!("yfs {}", command.get_name()));
    }
}

/// Returns the reference of all commands as a page of the book.
fn reference() -> String {
    let mut root = CliArgs::definition().term_width(WIDTH);
    root.build();
    let mut page = INTRODUCTION.to_owned();
    page += "\n| Command | Description |\n|---|---|\n";
    for (subject, names) in GROUPS {
        writeln!(page, "| **{subject}** | |").expect("a string takes all writes");
        for command in names.iter().filter_map(|name| root.find_subcommand(name)) {
            let (name, about) = (command.get_name(), about(command));
            let link = format!("[`{name}`](#yfs-{name})");
            writeln!(page, "| {link} | {about} |").expect("a string takes all writes");
        }
    }
    page += "\n## Options of every command\n\n```text\n";
    page += &options_of_every_command(&root);
    page += "```\n";
    for command in subcommands(&root) {
        add_command(command, "yfs", 2, &mut page);
    }
    page
}

/// Adds the help of a command and of its subcommands.
fn add_command(command: &Command, parent: &str, level: usize, page: &mut String) {
    let name = format!("{parent} {}", command.get_name());
    let heading = "#".repeat(level);
    let help = help_of(command);
    write!(page, "\n{heading} {name}\n\n```text\n{help}\n```\n")
        .expect("a string takes all writes");
    for subcommand in subcommands(command) {
        add_command(subcommand, &name, level + 1, page);
    }
}

/// Returns the help of a command, without the options of every command.
fn help_of(command: &Command) -> String {
    let command = command.clone().mut_args(|arg| {
        let is_common = arg.is_global_set() || arg.get_id() == "help";
        if is_common { arg.hide(true) } else { arg }
    });
    let command = match command.get_long_about().cloned() {
        Some(about) => command.about(about),
        None => command,
    };
    trimmed(&command.term_width(WIDTH).render_help().to_string())
}

/// Returns the help of the options of every command.
fn options_of_every_command(root: &Command) -> String {
    let help = root.clone().term_width(WIDTH).render_help().to_string();
    let (_, options) = help.split_once("Options of every command:\n").expect("the heading");
    let (options, _) = options.split_once("\n\n").expect("examples follow the options");
    trimmed(options) + "\n"
}

/// Removes spaces at the ends of lines, and empty lines at the end.
fn trimmed(help: &str) -> String {
    let lines: Vec<_> = help.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// Returns the subcommands that users see, without `help`.
fn subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    let all = command.get_subcommands();
    all.filter(|command| command.get_name() != "help" && !command.is_hide_set())
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}
