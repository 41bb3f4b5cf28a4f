//! Named cases: concurrent changes of two peers, as far as the view decides them. The numbers are
//! those of the table of pairs in `docs/tree.md`.

use expect_test::expect;

use super::*;

#[test]
fn two_files_of_one_name() {
    // Pair 1.
    check(
        "file a x at=2; file b x at=1; file c x+(1)",
        expect![[r#"
        /x = b
        /x (1) = c
        /x (2) = a
        Name { parent: None, name: "x", winner: b, others: [(a, "x (2)")] }"#]],
    );
}

#[test]
fn three_siblings_do_not_share_a_suffix() {
    check(
        "file a x.md at=1; file b x.md at=2; file c x+(1).md; file d x.md at=3",
        expect![[r#"
        /x (1).md = c
        /x (2).md = b
        /x (3).md = d
        /x.md = a
        Name { parent: None, name: "x.md", winner: a, others: [(b, "x (2).md"), (d, "x (3).md")] }"#]],
    );
}

#[test]
fn dotfiles_have_no_extension() {
    check(
        "file a .env; file b .env at=2",
        expect![[r#"
        /.env = a
        /.env (1) = b
        Name { parent: None, name: ".env", winner: a, others: [(b, ".env (1)")] }"#]],
    );
}

#[test]
fn two_directories_of_one_name() {
    // Pair 2, where the ids were not derived.
    check(
        "dir a d at=1; dir b d at=2; file c in=a; file e in=b",
        expect![[r#"
        /d/ = a
        /d/c = c
        /d (1)/ = b
        /d (1)/e = e
        Name { parent: None, name: "d", winner: a, others: [(b, "d (1)")] }"#]],
    );
}

#[test]
fn a_file_and_a_directory_of_one_name() {
    // Pair 3.
    check(
        "file a d at=1; dir b d at=1",
        expect![[r#"
        /d = a
        /d (1)/ = b
        Name { parent: None, name: "d", winner: a, others: [(b, "d (1)")] }"#]],
    );
}

#[test]
fn two_files_renamed_to_one_name() {
    // Pair 5.
    check(
        "file a x at=5; file b x at=3",
        expect![[r#"
        /x = b
        /x (1) = a
        Name { parent: None, name: "x", winner: b, others: [(a, "x (1)")] }"#]],
    );
}

#[test]
fn a_node_moved_twice_is_in_one_place() {
    // Pair 7: the table decides the parent, the tree shows it once.
    check(
        "dir p; dir q; file n in=q moved=3 prev=p",
        expect![[r#"
        /p/ = p
        /q/ = q
        /q/n = n"#]],
    );
}

#[test]
fn directories_moved_into_each_other() {
    // Pair 8: y was moved later, so it goes back to where it was.
    check(
        "dir p; dir x in=y moved=5; dir y in=x moved=6 prev=p; file f in=y",
        expect![[r#"
        /p/ = p
        /p/y/ = y
        /p/y/f = f
        /p/y/x/ = x
        Cycle { breaker: y, wanted: Some(x), shown_in: Some(p), members: [y, x] }"#]],
    );
}

#[test]
fn of_equal_moves_the_greater_id_breaks_the_cycle() {
    check(
        "dir x in=y moved=5; dir y in=x moved=5",
        expect![[r#"
        /y/ = y
        /y/x/ = x
        Cycle { breaker: y, wanted: Some(x), shown_in: None, members: [y, x] }"#]],
    );
}

#[test]
fn breaker_does_not_fall_back_below_itself() {
    check(
        "dir x in=y moved=5; dir y in=x moved=6 prev=x,z; dir z in=y",
        expect![[r#"
        /y/ = y
        /y/x/ = x
        /y/z/ = z
        Cycle { breaker: y, wanted: Some(x), shown_in: None, members: [y, x] }"#]],
    );
}

#[test]
fn breaker_does_not_fall_back_into_the_trash() {
    check(
        "dir p trashed=9; dir x in=y moved=5; dir y in=x moved=6 prev=p",
        expect![[r#"
        /y/ = y
        /y/x/ = x
        trash: p of /p hides 0
        Cycle { breaker: y, wanted: Some(x), shown_in: None, members: [y, x] }"#]],
    );
}

#[test]
fn two_cycles_do_not_mend_into_a_third() {
    // Both breakers were in the other cycle before.
    check(
        "dir a in=b moved=1; dir b in=a moved=5 prev=d; dir c in=d moved=1; \
         dir d in=c moved=6 prev=b",
        expect![[r#"
            /b/ = b
            /b/a/ = a
            /b/d/ = d
            /b/d/c/ = c
            Cycle { breaker: b, wanted: Some(a), shown_in: None, members: [b, a] }
            Cycle { breaker: d, wanted: Some(c), shown_in: Some(b), members: [d, c] }"#]],
    );
}

#[test]
fn moved_into_a_trashed_directory() {
    // Pair 9.
    check(
        "dir f trashed=5; file n in=f moved=7 touched=7; file old in=f",
        expect![[r#"
        trash: f of /f hides 2, stranded [n]
        Stranded { trashed: f, ids: [n] }"#]],
    );
}

#[test]
fn made_in_a_trashed_directory() {
    // Pair 10: it stays hidden, is listed first, and comes back with the directory.
    check(
        "dir f trashed=5; dir g in=f; file n in=g touched=6; file z trashed=9",
        expect![[r#"
        trash: f of /f hides 2, stranded [n]
        trash: z of /z hides 0
        Stranded { trashed: f, ids: [n] }"#]],
    );
    check(
        "dir f; dir g in=f; file n in=g touched=6; file z trashed=9",
        expect![[r#"
        /f/ = f
        /f/g/ = g
        /f/g/n = n
        trash: z of /z hides 0"#]],
    );
}

#[test]
fn trashed_inside_a_trashed_directory() {
    check(
        "dir f trashed=5; dir g in=f trashed=3; file n in=g touched=4; file m in=f",
        expect![[r#"
        trash: g of /f/g hides 1, stranded [n]
        trash: f of /f hides 1
        Stranded { trashed: g, ids: [n] }"#]],
    );
}

#[test]
fn moved_into_a_deleted_directory() {
    // Pair 11: at the root until the directory arrives.
    check(
        "file n in=f",
        expect![[r#"
        /n = n
        Orphan { id: n, parent: f, reason: Missing }"#]],
    );
    check(
        "file n in=f; dir f",
        expect![[r#"
        /f/ = f
        /f/n = n"#]],
    );
}

#[test]
fn trashed_and_moved() {
    // Pair 14: both stay.
    check(
        "dir p; file n in=p trashed=4 moved=4",
        expect![[r#"
        /p/ = p
        trash: n of /p/n hides 0"#]],
    );
}

#[test]
fn equal_creation_times_go_by_id() {
    // Pair 29.
    check(
        "file b foo.txt; file a foo.txt; file c foo.txt",
        expect![[r#"
        /foo (1).txt = b
        /foo (2).txt = c
        /foo.txt = a
        Name { parent: None, name: "foo.txt", winner: a, others: [(b, "foo (1).txt"), (c, "foo (2).txt")] }"#]],
    );
}

#[test]
fn names_that_differ_in_case_are_two() {
    // Pair 30.
    check(
        "file a Foo; file b foo",
        expect![[r#"
        /Foo = a
        /foo = b"#]],
    );
}

#[test]
fn names_that_differ_in_normalisation_are_two() {
    // Pair 31: peers that do not normalize may store the second.
    check(
        "file a \u{e9}; file b e\u{301}",
        expect![[r#"
        /é = b
        /é = a"#]],
    );
}

#[test]
fn timestamps_of_the_future_are_reported() {
    // Pair 32.
    check(
        "file a touched=1e15; file b touched=86401000; file c touched=86401001",
        expect![[r#"
        /a = a
        /b = b
        /c = c
        Future { id: a, timestamp: 1000000000000000.0 }
        Future { id: c, timestamp: 86401001.0 }"#]],
    );
}

#[test]
fn an_early_creation_takes_the_name() {
    // Pair 33.
    check(
        "file a x at=100; file b x at=-100",
        expect![[r#"
        /x = b
        /x (1) = a
        Name { parent: None, name: "x", winner: b, others: [(a, "x (1)")] }"#]],
    );
}

#[test]
fn children_of_what_became_a_file() {
    // Pair 34.
    check(
        "file d; file a in=d",
        expect![[r#"
            /a = a
            /d = d
            Orphan { id: a, parent: d, reason: NotADirectory }"#]],
    );
}

#[test]
fn one_directory_imported_twice() {
    // Pair 35: directories with derived ids are one, files are two each.
    check(
        "dir d; file a x.c in=d; file b x.c in=d at=2; file c y.c in=d; file e y.c in=d at=2",
        expect![[r#"
            /d/ = d
            /d/x (1).c = b
            /d/x.c = a
            /d/y (1).c = e
            /d/y.c = c
            Name { parent: Some(d), name: "x.c", winner: a, others: [(b, "x (1).c")] }
            Name { parent: Some(d), name: "y.c", winner: c, others: [(e, "y (1).c")] }"#]],
    );
}

#[test]
fn a_directory_in_itself() {
    // Pair 36.
    check(
        "dir a in=a; file f in=a",
        expect![[r#"
        /a/ = a
        /a/f = f
        Cycle { breaker: a, wanted: Some(a), shown_in: None, members: [a] }"#]],
    );
    check(
        "dir p; dir a in=a prev=a,p",
        expect![[r#"
        /p/ = p
        /p/a/ = a
        Cycle { breaker: a, wanted: Some(a), shown_in: Some(p), members: [a] }"#]],
    );
    check(
        "file a in=a",
        expect![[r#"
            /a = a
            Orphan { id: a, parent: a, reason: NotADirectory }"#]],
    );
}

#[test]
fn invalid_names_are_shown_escaped() {
    check(
        "file a ..; file b x/y; file c _invalid~a; file d x\\y trashed=3",
        expect![[r#"
            /_invalid~a = a
            /_invalid~a (1) = c
            /_invalid~b = b
            trash: d of /_invalid~d hides 0
            Name { parent: None, name: "_invalid~a", winner: a, others: [(c, "_invalid~a (1)")] }
            InvalidName { id: a, stored: ".." }
            InvalidName { id: b, stored: "x/y" }
            InvalidName { id: d, stored: "x\\y" }"#]],
    );
}

#[test]
fn trashed_siblings_keep_no_name() {
    check(
        "file a x trashed=2; file b x at=2",
        expect![[r#"
        /x = b
        trash: a of /x hides 0"#]],
    );
}

#[test]
fn suffixes_move_up_when_a_stored_name_goes() {
    let mut entries = parse("file a x; file b x at=2; file c x+(1)");
    let mut tree = build(&entries);
    assert_eq!(tree.node(&id("b")).unwrap().name(), "x (2)");
    tree.remove(&id("c"));
    assert_eq!(tree.node(&id("b")).unwrap().name(), "x (1)");
    entries[2].row.name = "x (1)".into();
    tree.upsert(&entries[2]);
    assert_eq!(tree.node(&id("b")).unwrap().name(), "x (2)");
}

#[test]
fn purged_items_are_listed_only_for_stranded_work() {
    check("dir f trashed=5 purged; file m in=f purged", expect![]);
    check(
        "dir f trashed=5 purged; file m in=f touched=7 purged; file n in=f touched=7",
        expect![[r#"
        trash: f of /f hides 2, stranded [n]
        Stranded { trashed: f, ids: [n] }"#]],
    );
}

#[test]
fn deep_trees_do_not_exhaust_the_stack() {
    let depth = 50_000;
    let mut entries = parse("dir 0");
    for at in 1..depth {
        let mut entry = entry(&at.to_string(), "d", NodeKind::Directory);
        entry.row.parent = Some(id(&(at - 1).to_string()));
        entries.push(entry);
    }
    let mut tree = build(&entries);
    let deepest = id(&(depth - 1).to_string());
    assert_eq!(tree.root().walk().count(), depth);
    assert_eq!(tree.node(&id("0")).unwrap().descendants().count(), depth - 1);
    assert_eq!(tree.path_of(&deepest).unwrap().as_str(), format!("/.id/{deepest}"));
    assert_eq!(tree.lookup(&tree.path_of(&deepest).unwrap()).unwrap().id(), Some(&deepest));
    // The whole becomes one cycle, and is mended again.
    entries[0].row.parent = Some(deepest.clone());
    tree.upsert(&entries[0]);
    assert_eq!(tree.conflicts(Millis(0)).len(), 1);
    assert_eq!(tree.root().walk().count(), depth);
    entries[0].row.parent = None;
    tree.upsert(&entries[0]);
    assert_eq!(tree.conflicts(Millis(0)).len(), 0);
    let clone = tree.clone();
    drop(tree);
    assert_eq!(clone.n_directories(), depth);
}
