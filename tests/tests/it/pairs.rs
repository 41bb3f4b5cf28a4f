//! Every pair of concurrent operations that is known to be delicate, between two workspaces: what
//! both show after they have exchanged their updates. The numbers are those of the table of pairs
//! in `docs/tree.md`.

use expect_test::{Expect, expect};
use yfs_tests::pair::Pair;
use yrs::Any;

#[track_caller]
fn check(common: &[&str], one: &[&str], other: &[&str], expected: Expect) {
    expected.assert_eq(&Pair::play(common, one, other));
}

#[test]
fn pair_01_both_create_a_file() {
    check(
        &[],
        &["write /x.txt = of a|"],
        &["write /x.txt = of b|"],
        expect![[r#"
        /x (1).txt = of b|
        /x.txt = of a|
        conflict: name /x (1).txt"#]],
    );
}

#[test]
fn pair_02_both_make_a_folder() {
    check(
        &[],
        &["mkdir /d", "write /d/a = a|"],
        &["mkdir /d", "write /d/b = b|"],
        expect![[r#"
        /d/
        /d/a = a|
        /d/b = b|"#]],
    );
}

#[test]
fn pair_03_one_creates_a_file_and_one_a_folder() {
    check(
        &[],
        &["write /d = file|"],
        &["mkdir /d"],
        expect![[r#"
        /d = file|
        /d (1)/
        conflict: name /d (1)"#]],
    );
}

#[test]
fn pair_04_both_rename_a_file() {
    check(&["write /a = text|"], &["mv /a /x"], &["mv /a /y"], expect!["/y = text|"]);
}

#[test]
fn pair_05_two_files_are_renamed_to_one_name() {
    check(
        &["write /a = a|", "write /b = b|"],
        &["mv /a /x"],
        &["mv /b /x"],
        expect![[r#"
        /x = a|
        /x (1) = b|
        conflict: name /x (1)"#]],
    );
}

#[test]
fn pair_06_one_renames_and_one_moves() {
    check(
        &["write /f = text|", "mkdir /d"],
        &["mv /f /g"],
        &["mv /f /d/f"],
        expect![[r#"
        /d/
        /d/g = text|"#]],
    );
}

#[test]
fn pair_07_both_move_a_file() {
    check(
        &["write /n = text|", "mkdir /a", "mkdir /b"],
        &["mv /n /a/n"],
        &["mv /n /b/n"],
        expect![[r#"
            /a/
            /b/
            /b/n = text|"#]],
    );
}

#[test]
fn pair_08_folders_are_moved_into_each_other() {
    check(
        &["write /x/in-x = x|", "write /y/in-y = y|"],
        &["mv /x /y/x"],
        &["mv /y /x/y"],
        expect![[r#"
            /y/
            /y/in-y = y|
            /y/x/
            /y/x/in-x = x|
            conflict: cycle /y"#]],
    );
}

#[test]
fn pair_09_one_moves_into_a_folder_that_one_trashes() {
    check(
        &["write /n = text|", "mkdir /f"],
        &["rm /f"],
        &["mv /n /f/n"],
        expect![[r#"
            trash: /f, with late work in n
            conflict: stranded /f/n"#]],
    );
}

#[test]
fn pair_10_one_creates_in_a_folder_that_one_trashes() {
    check(
        &["mkdir /f"],
        &["rm /f"],
        &["write /f/new = work|"],
        expect![[r#"
            trash: /f, with late work in new
            conflict: stranded /f/new"#]],
    );
}

#[test]
fn pair_11_one_moves_into_a_folder_that_one_deletes_for_good() {
    // Nothing is deleted at once: a purge marks. The move is late work in what was purged.
    check(
        &["write /n = text|", "mkdir /f"],
        &["rm /f", "purge f"],
        &["mv /n /f/n"],
        expect![[r#"
            trash: /f, with late work in n
            conflict: stranded /f/n"#]],
    );
}

#[test]
fn pair_12_one_trashes_and_one_renames() {
    check(
        &["write /f = text|"],
        &["rm /f"],
        &["mv /f /g"],
        expect![[r#"
        trash: /g
        conflict: removed /g"#]],
    );
}

#[test]
fn pair_13_one_trashes_and_one_edits() {
    // The edit is in the trash with the file.
    check(
        &["write /f = text|"],
        &["rm /f"],
        &["append /f = more|"],
        expect![[r#"
        trash: /f
        conflict: removed /f"#]],
    );
}

#[test]
fn pair_14_one_trashes_and_one_moves() {
    check(
        &["write /f = text|", "mkdir /d"],
        &["rm /f"],
        &["mv /f /d/f"],
        expect![[r#"
            /d/
            trash: /d/f
            conflict: removed /d/f"#]],
    );
}

#[test]
fn pair_15_both_trash() {
    check(&["write /f = text|"], &["rm /f"], &["rm /f"], expect!["trash: /f"]);
}

#[test]
fn pair_16_one_trashes_again_and_one_restores() {
    // The later of the two decides.
    check(
        &["write /f = text|", "rm /f"],
        &["restore f", "rm /f"],
        &["restore f"],
        expect!["/f = text|"],
    );
}

#[test]
fn pair_17_one_restores_and_one_deletes_for_good() {
    // What is restored comes back with all that was in it.
    check(
        &["write /d/f = text|", "rm /d"],
        &["purge d"],
        &["restore d"],
        expect![[r#"
        /d/
        /d/f = text|"#]],
    );
}

#[test]
fn pair_18_one_deletes_for_good_and_one_changes_the_row() {
    check(
        &["write /f = text|"],
        &["rm /f", "purge f"],
        &["chmod 420 /f", "mv /f /g"],
        expect!["conflict: removed /g"],
    );
}

#[test]
fn pair_19_one_deletes_for_good_and_one_edits() {
    check(
        &["write /f = text|"],
        &["rm /f", "purge f"],
        &["append /f = more|"],
        expect!["conflict: removed /f"],
    );
}

#[test]
fn pair_20_one_saves_by_renaming_over_and_one_edits() {
    check(
        &["write /f = one|two|three|"],
        &["write /f.tmp = one|two|three|by a|", "mv /f.tmp /f"],
        &["edit /f = one -> ONE"],
        expect![[r#"
            /f = ONE|two|three|by a|
            trash: /f.tmp"#]],
    );
}

#[test]
fn pair_21_both_change_the_category() {
    // The foundation keeps every category as text, so nothing is converted, and nothing doubles.
    check(
        &["write /f.md = # Title|"],
        &["mv /f.md /f.txt"],
        &["mv /f.md /f.txt"],
        expect!["/f.txt = # Title|"],
    );
}

#[test]
fn pair_22_one_changes_the_category_and_one_edits() {
    // As 21: the edit is in the text that both names stand for.
    check(
        &["write /f.md = # Title|"],
        &["mv /f.md /f.txt"],
        &["append /f.md = more|"],
        expect!["/f.txt = # Title|more|"],
    );
}

#[test]
fn pair_23_one_changes_the_category_and_one_there_and_back() {
    // As 21: only names compete.
    check(
        &["write /f.md = # Title|"],
        &["mv /f.md /f.txt"],
        &["mv /f.md /f.rst", "mv /f.rst /f.md"],
        expect!["/f.md = # Title|"],
    );
}

#[test]
fn pair_24_both_write_the_whole_file() {
    check(
        &["write /f = one|two|three|"],
        &["write /f = one|two|three|by a|"],
        &["write /f = by b|one|two|three|"],
        expect!["/f = by b|one|two|three|by a|"],
    );
}

#[test]
fn pair_25_one_writes_the_whole_file_and_one_types() {
    check(
        &["write /f = one|two|three|"],
        &["write /f = one|2|three|"],
        &["type /f = typed |"],
        expect!["/f = typed |one|2|three|"],
    );
}

#[test]
fn pair_26_both_append() {
    check(
        &["write /f = one|"],
        &["append /f = by a|"],
        &["append /f = by b|"],
        expect!["/f = one|by a|by b|"],
    );
}

#[test]
fn pair_27_one_edits_and_one_renames_moves_and_marks() {
    // Size and time of an edit undo nothing.
    check(
        &["write /f = one|", "mkdir /d"],
        &["append /f = more|", "flush"],
        &["mv /f /d/g", "chmod 384 /d/g"],
        expect![[r#"
            /d/
            /d/g = one|more|"#]],
    );
}

#[test]
fn pair_28_one_sets_the_time_and_one_renames() {
    check(&["write /f = one|"], &["utimes 1600000000000 /f"], &["mv /f /g"], expect!["/g = one|"]);
}

#[test]
fn pair_29_both_create_in_the_same_millisecond() {
    // The id decides, wherever it is asked.
    check(
        &[],
        &["write /x = of a|"],
        &["stop", "write /x = of b|"],
        expect![[r#"
        /x = of a|
        /x (1) = of b|
        conflict: name /x (1)"#]],
    );
}

#[test]
fn pair_30_names_that_differ_in_case() {
    // Two files here; what a mirror on a disk that folds case does is the mirror's to decide.
    check(
        &[],
        &["write /Foo = of a|"],
        &["write /foo = of b|"],
        expect![[r#"
        /Foo = of a|
        /foo = of b|"#]],
    );
}

#[test]
fn pair_31_names_that_differ_in_normal_form() {
    // Names are written in form C, so these are one name.
    check(
        &[],
        &["write /\u{e9} = of a|"],
        &["write /e\u{301} = of b|"],
        expect![[r#"
        /é = of a|
        /é (1) = of b|
        conflict: name /é (1)"#]],
    );
}

#[test]
fn pair_32_a_clock_is_years_ahead() {
    // Only the rows that it wrote are late for others; renames of other files obey the right
    // clocks.
    check(
        &["write /f = one|", "write /g = two|"],
        &["clock 300000000", "mv /f /far"],
        &["mv /f /near", "mv /g /here"],
        expect![[r#"
            /far = one|
            /here = two|
            conflict: future-timestamp /far"#]],
    );
}

#[test]
fn pair_33_a_file_pretends_to_be_old() {
    // It takes the plain name; the other keeps its id, and both are there.
    check(
        &[],
        &["write /x = of a|"],
        &["clock -300000000", "write /x = of b|"],
        expect![[r#"
        /x = of b|
        /x (1) = of a|
        conflict: name /x (1)"#]],
    );
}

#[test]
fn pair_34_a_plain_peer_makes_a_folder_of_a_file() {
    // The winning row says what it is. What was in the folder is an orphan, and at the root.
    let mut pair = Pair::default();
    pair.all(0, &["write /d/f = text|", "write /g = text|"]);
    pair.plain("g", "type", Any::from("folder"));
    pair.plain("d", "type", Any::from("file"));
    pair.meet();
    expect![[r#"
        /d = 
        /f = text|
        /g/
        conflict: orphan /f"#]]
    .assert_eq(&pair.seen());
}

#[test]
fn pair_35_both_import_the_same_tree() {
    // Folders are the same; files of one name are two.
    check(
        &[],
        &["write /src/lib/a.rs = a|", "write /src/b.rs = b|"],
        &["write /src/lib/a.rs = a|", "write /src/b.rs = b|"],
        expect![[r#"
            /src/
            /src/b (1).rs = b|
            /src/b.rs = b|
            /src/lib/
            /src/lib/a (1).rs = a|
            /src/lib/a.rs = a|
            conflict: name /src/lib/a (1).rs
            conflict: name /src/b (1).rs"#]],
    );
}

#[test]
fn pair_36_a_plain_peer_puts_a_folder_into_itself() {
    let mut pair = Pair::default();
    pair.all(0, &["write /d/f = text|"]);
    let id = pair.id_of("/d");
    pair.plain("d", "parentId", Any::from(id));
    pair.meet();
    expect![[r#"
        /d/
        /d/f = text|
        conflict: cycle /d"#]]
    .assert_eq(&pair.seen());
}
