//! The editors of the web application, in a real browser against a real `yfs serve`.
//!
//! Each test runs a scenario of `tests/node/web` on a page that shows one file
//! (`crates/doors/yfs-web/app/harness`), which is built first. The browser is the Chromium on the
//! `PATH`, else the one in the npm package `@sparticuz/chromium`. Some scenarios are also played in
//! the Firefox on the `PATH`, if there is one.

#![expect(clippy::print_stdout, reason = "scenarios say what they measured")]

use std::{
    env,
    io::{Write, stderr},
    panic::catch_unwind,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use yfs_tests::{command, node, root};

/// Returns the directory of the built page.
fn page() -> &'static Path {
    static PAGE: OnceLock<PathBuf> = OnceLock::new();
    PAGE.get_or_init(|| {
        let app = root().join("crates/doors/yfs-web/app");
        node::ensure_installed_in(&app);
        let module = |path: &str| app.join("node_modules").join(path);
        for project in [".", "worker"] {
            run(Command::new("node").arg(module("typescript/bin/tsc")).args(["-p", project]), &app);
        }
        let mut vite = Command::new("node");
        run(vite.arg(module("vite/bin/vite.js")).args(["build", "--mode", "harness"]), &app);
        app.join("dist-harness")
    })
}

/// Runs a scenario in Chromium.
fn play(scenario: &str, args: &[&str]) {
    play_in("chromium", scenario, args);
}

/// Runs a scenario to its end: each has a server, a directory and browsers of its own.
fn play_in(browser: &str, scenario: &str, args: &[&str]) {
    let dir = node::dir().join("web");
    node::ensure_installed("web");
    // The package around it has the client of the Model Context Protocol.
    node::ensure_installed("");
    let mut node = Command::new("node");
    node.arg(dir.join(scenario)).args(args);
    node.env("YFS_COMMAND", command::program()).env("HARNESS_PAGE", page());
    node.env("YFS_BROWSER", browser);
    run(&mut node, &dir);
}

fn run(command: &mut Command, dir: &Path) {
    let output = command.current_dir(dir).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{command:?} failed:\n{stdout}{stderr}");
    println!("{stdout}");
}

fn fixtures() -> String {
    root().join("fixtures").display().to_string()
}

#[test]
fn opening_a_file_writes_nothing_in_milkdown() {
    play("opening.mjs", &["gfm", &fixtures()]);
}

#[test]
fn opening_a_file_writes_nothing_in_prosemirror() {
    play("opening.mjs", &["commonmark", &fixtures()]);
}

#[test]
fn text_is_typed_where_the_page_shows_it_whatever_ends_its_lines() {
    play("line_ends.mjs", &[]);
}

#[test]
fn the_presence_of_others_is_no_style_and_no_error() {
    play("presence.mjs", &[]);
}

#[test]
fn headings_are_undone_and_no_space_stays_at_the_end_of_a_block_in_milkdown() {
    play("writing.mjs", &["gfm"]);
}

#[test]
fn headings_are_undone_and_no_space_stays_at_the_end_of_a_block_in_prosemirror() {
    play("writing.mjs", &["commonmark"]);
}

#[test]
fn links_blocks_and_marks_are_written_in_milkdown() {
    play("format.mjs", &["gfm"]);
}

#[test]
fn links_blocks_and_marks_are_written_in_prosemirror() {
    play("format.mjs", &["commonmark"]);
}

#[test]
fn what_programs_copied_is_pasted_with_its_structure_in_milkdown() {
    play("clipboards.mjs", &["gfm", &fixtures()]);
}

#[test]
fn what_programs_copied_is_pasted_with_its_structure_in_prosemirror() {
    play("clipboards.mjs", &["commonmark", &fixtures()]);
}

#[test]
fn the_outline_and_the_bar_belong_to_the_document() {
    play("outline.mjs", &[]);
}

#[test]
fn tables_get_rows_columns_alignment_and_pasted_cells() {
    play("tables.mjs", &[]);
}

#[test]
fn code_alerts_diagrams_formulas_and_wiki_links_look_like_what_they_mean() {
    play("blocks.mjs", &[]);
}

#[test]
fn a_rename_swaps_the_editor_and_the_trash_stops_it() {
    play("swap.mjs", &[]);
}

#[test]
fn each_caret_stays_in_its_line_when_a_rename_moves_the_content() {
    play("caret.mjs", &[]);
}

#[test]
fn what_was_typed_before_a_rename_is_undone_after_it() {
    play("caret_undo.mjs", &[]);
}

#[test]
fn the_form_of_the_front_matter_agrees_with_the_file() {
    play("front_matter.mjs", &[]);
}

#[test]
fn pictures_and_bytes_are_shown() {
    play("pictures.mjs", &[&fixtures()]);
}

#[test]
fn typing_in_a_long_file_loses_nothing() {
    play("typing.mjs", &[]);
}

#[test]
fn a_long_file_is_laid_out_where_it_is_read() {
    play("long_file.mjs", &[]);
}

#[test]
fn saved_means_that_the_server_has_stored_it() {
    play("saving.mjs", &[]);
}

#[test]
fn the_history_names_authors_and_restores() {
    play("history.mjs", &[]);
}

#[test]
fn activity_trash_conflicts_and_news_are_told_and_settled() {
    play("trust.mjs", &[]);
}

#[test]
fn a_document_that_the_schema_cannot_build_is_not_bound() {
    play("unfit.mjs", &[]);
}

#[test]
fn two_people_work_in_the_application() {
    play("application.mjs", &[]);
}

#[test]
fn the_page_says_where_one_is_and_leads_to_each_file() {
    play("finding.mjs", &[]);
}

#[test]
fn the_source_of_markdown_is_edited_beside_its_rich_text() {
    play("source.mjs", &[]);
}

#[test]
fn texts_keep_their_indentation_and_say_where_the_caret_is() {
    play("code.mjs", &[]);
}

#[test]
fn a_panel_finds_and_replaces_in_text_and_in_rich_text() {
    play("find.mjs", &[]);
}

#[test]
fn words_are_found_and_replaced_in_all_files() {
    play("search.mjs", &[]);
}

#[test]
fn each_text_of_the_page_is_translated() {
    play("texts.mjs", &[]);
}

#[test]
fn files_are_named_arranged_and_found_in_the_tree() {
    play("files.mjs", &[]);
}

#[test]
fn files_are_uploaded_and_downloaded() {
    play("upload.mjs", &[]);
}

#[test]
fn people_an_agent_and_the_disk_change_one_file() {
    play("together.mjs", &[]);
}

#[test]
fn ten_thousand_files_are_listed_and_little_is_loaded() {
    play("many_files.mjs", &[]);
}

#[test]
fn the_application_is_accessible() {
    play("accessible.mjs", &[&fixtures()]);
}

#[test]
fn the_application_works_without_its_server() {
    play("offline.mjs", &[]);
}

#[test]
fn the_application_is_installed_and_upgraded() {
    play("installed.mjs", &[]);
}

#[test]
fn a_link_for_a_directory_opens_it_and_nothing_else() {
    play("share.mjs", &[]);
}

#[test]
fn people_have_names_and_colors_and_follow_each_other() {
    play("people.mjs", &[]);
}

#[test]
fn agents_are_seen_while_they_work() {
    play("agents_present.mjs", &[]);
}

/// The scenarios that are played in Firefox, with their arguments. The first
/// [`N_ALWAYS_IN_FIREFOX`], in which the editors get most keys, are part of each run of the tests;
/// `just firefox` plays all.
const IN_FIREFOX: &[(&str, &[&str])] = &[
    ("writing.mjs", &["gfm"]),
    ("line_ends.mjs", &[]),
    ("application.mjs", &[]),
    ("caret.mjs", &[]),
    ("caret_undo.mjs", &[]),
    ("clipboards.mjs", &["gfm", FIXTURES_OF_SCENARIOS]),
    ("files.mjs", &[]),
    ("find.mjs", &[]),
    ("finding.mjs", &[]),
    ("format.mjs", &["gfm"]),
    ("front_matter.mjs", &[]),
    ("history.mjs", &[]),
    ("outline.mjs", &[]),
    ("people.mjs", &[]),
    ("pictures.mjs", &[FIXTURES_OF_SCENARIOS]),
    ("presence.mjs", &[]),
    ("saving.mjs", &[]),
    ("share.mjs", &[]),
    ("source.mjs", &[]),
    ("swap.mjs", &[]),
    ("tables.mjs", &[]),
    ("together.mjs", &[]),
    ("trust.mjs", &[]),
    ("unfit.mjs", &[]),
];
/// The fixtures, from the directory in which scenarios are played.
const FIXTURES_OF_SCENARIOS: &str = "../../../fixtures";
const N_ALWAYS_IN_FIREFOX: usize = 2;

#[test]
fn the_editors_work_in_firefox() {
    let path = env::var_os("PATH").unwrap_or_default();
    let has_firefox =
        |dir: PathBuf| ["firefox-esr", "firefox"].iter().any(|name| dir.join(name).is_file());
    if !env::split_paths(&path).any(has_firefox) {
        // Not by a macro: its output is kept from the log of a test that passes.
        let reason = "the scenarios in Firefox were left out: there is none on the PATH";
        writeln!(stderr(), "{reason}").expect("stderr can be written");
        return;
    }
    let n = match env::var_os("YFS_FIREFOX") {
        Some(_) => IN_FIREFOX.len(),
        None => N_ALWAYS_IN_FIREFOX,
    };
    let (chosen, _) = IN_FIREFOX.split_at(n);
    let fails = |(scenario, args): &&(&str, &[&str])| {
        catch_unwind(|| play_in("firefox", scenario, args)).is_err()
    };
    let failed: Vec<_> = chosen.iter().filter(fails).map(|(scenario, _)| scenario).collect();
    assert!(failed.is_empty(), "failed in Firefox: {failed:?}");
}
