//! The plans of each operation, and its errors.

use expect_test::expect;

use super::*;

/// A directory with a file, a file, and links to both, to nothing, and to itself.
const TREE: &str = "dir d; file f in=d; dir e in=d; file g; file to_d link=d; file to_f link=/d/f; \
                    file to_no link=no; file loop link=loop; dir full; file x in=full";

#[test]
fn files_are_made() {
    check(
        TREE,
        &[
            "create /new",
            "create -x /new",
            "create /d/new",
            "create /to_d/new",
            "create /to_no",
            "create -x /to_no",
            "create /g",
            "create -x /g",
            "create /d",
            "create -x /d",
            "create /",
            "create /g/x",
            "create /no/new",
            "create -p /no/new",
            "create -p /to_d/a/b/new",
            "create -p /to_no/new",
            "create -p /g/x/y",
            "create /to_f",
            "create /loop",
            "create /loop/x",
            "create /a\\b",
            "create -p /no/a\\b/new",
            "create /.id/d/new",
            "create -p /.id/no/new",
        ],
        expect![[r#"
            create /new: File new1 "new" in / 600
            create -x /new: File new1 "new" in / 600
            create /d/new: File new1 "new" in d 600
            create /to_d/new: File new1 "new" in d 600
            create /to_no: File new1 "no" in / 600
            create -x /to_no: file exists: /to_no
            create /g: there is g
            create -x /g: file exists: /g
            create /d: is a directory: /d
            create -x /d: file exists: /d
            create /: is a directory: /
            create /g/x: not a directory: /g
            create /no/new: no such file or directory: /no
            create -p /no/new: Directory <no> "no" in /; File new1 "new" in <no> 600
            create -p /to_d/a/b/new: Directory <a> "a" in d; Directory <b> "b" in <a>; File new1 "new" in <b> 600
            create -p /to_no/new: file exists: /to_no
            create -p /g/x/y: not a directory: /g
            create /to_f: there is f
            create /loop: too many levels of symbolic links: /loop
            create /loop/x: too many levels of symbolic links: /loop/x
            create /a\b: invalid argument, invalid name: /a\b
            create -p /no/a\b/new: invalid argument, invalid name: /no/a\b
            create /.id/d/new: File new1 "new" in d 600
            create -p /.id/no/new: no such file or directory: /.id"#]],
    );
}

#[test]
fn names_that_are_too_long_are_refused() {
    let (fits, long) = ("n".repeat(255), "n".repeat(256));
    let mut table = Table::new("");
    assert!(table.plan(&format!("create /{fits}")).is_ok());
    for command in ["create", "mkdir", "mkdir -p", "create -p /a"] {
        let code = table
            .plan(&format!("{command} /{long}").replace("/a /", "/a/"))
            .map_err(|error| error.code);
        assert_eq!(code.map(|_| ()), Err(OpCode::NameTooLong), "{command}");
    }
    // The limit is on the length in normalization form C.
    assert!(table.plan(&format!("create /{}", "e\u{301}".repeat(127))).is_ok());
}

#[test]
fn names_are_stored_in_normal_form() {
    check(
        "",
        &["create /e\u{301}", "mkdir /e\u{301}", "mkdir -p /e\u{301}"],
        expect![[r#"
            create /é: File new1 "é" in / 600
            mkdir /é: Directory <é> "é" in /
            mkdir -p /é: Directory <é> "é" in /"#]],
    );
}

#[test]
fn directories_are_made() {
    check(
        TREE,
        &[
            "mkdir /new",
            "mkdir /d",
            "mkdir -p /d",
            "mkdir -p /to_d",
            "mkdir /to_d",
            "mkdir /g",
            "mkdir -p /g",
            "mkdir -p /g/x",
            "mkdir /no/new",
            "mkdir -p /no/new",
            "mkdir -p /to_d/a/b",
            "mkdir /to_no",
            "mkdir -p /to_no",
            "mkdir -p /to_no/a",
            "mkdir /",
            "mkdir -p /",
            "mkdir -p /loop/x",
            "mkdir -p /a/b\\c/d",
            "mkdir /.id",
            "mkdir -p /.id/d/x",
            "mkdir -p /.id/no/x",
        ],
        expect![[r#"
            mkdir /new: Directory <new> "new" in /
            mkdir /d: file exists: /d
            mkdir -p /d: nothing
            mkdir -p /to_d: nothing
            mkdir /to_d: file exists: /to_d
            mkdir /g: file exists: /g
            mkdir -p /g: file exists: /g
            mkdir -p /g/x: not a directory: /g
            mkdir /no/new: no such file or directory: /no
            mkdir -p /no/new: Directory <no> "no" in /; Directory <new> "new" in <no>
            mkdir -p /to_d/a/b: Directory <a> "a" in d; Directory <b> "b" in <a>
            mkdir /to_no: file exists: /to_no
            mkdir -p /to_no: file exists: /to_no
            mkdir -p /to_no/a: no such file or directory: /to_no
            mkdir /: file exists: /
            mkdir -p /: the root
            mkdir -p /loop/x: too many levels of symbolic links: /loop/x
            mkdir -p /a/b\c/d: invalid argument, invalid name: /a/b\c
            mkdir /.id: Directory <.id> ".id" in /
            mkdir -p /.id/d/x: Directory <x> "x" in d
            mkdir -p /.id/no/x: no such file or directory: /.id"#]],
    );
}

#[test]
fn directories_that_wait_for_their_parent_are_not_made_again() {
    let mut table = Table::new("");
    table.run("mkdir -p /a/b/c").unwrap();
    let a = table.tree.lookup(&VPath::parse("/a").unwrap()).unwrap().id().unwrap().clone();
    table.write(&RowWrite::Delete { id: a });
    assert_eq!(table.show(), "/b/\n/b/c/");
    assert_eq!(table.run("mkdir -p /a/b/c").unwrap().writes.len(), 1);
    assert_eq!(table.show(), "/a/\n/a/b/\n/a/b/c/");
}

#[test]
fn a_directory_that_was_renamed_or_trashed_is_not_made_again() {
    check_run(
        "",
        &["mkdir /a", "create /a/f", "mv /a /b", "mkdir /a", "rm -r /a", "mkdir -p /a/c"],
        expect![[r#"
            /a/
            /a/c/
            /b/
            /b/f
            trash: /a"#]],
    );
}

#[test]
fn moves_are_renames_and_moves() {
    check(
        TREE,
        &[
            "mv /g /h",
            "mv /g /d/g",
            "mv /g /d/h",
            "mv /d/f /f",
            "mv /d /new",
            "mv /g /to_d/h",
            "mv /to_f /l",
            "mv /g /g",
            "mv /d /to_d/../d",
            "mv / /x",
            "mv /no /x",
            "mv /g /no/x",
            "mv /g /g/x",
            "mv /g /a\\b",
        ],
        expect![[r#"
            mv /g /h: g name "h"
            mv /g /d/g: g parent d
            mv /g /d/h: g name "h" parent d
            mv /d/f /f: f parent /
            mv /d /new: d name "new"
            mv /g /to_d/h: g name "h" parent d
            mv /to_f /l: to_f name "l"
            mv /g /g: nothing
            mv /d /to_d/../d: nothing
            mv / /x: invalid argument, the root cannot be changed: /
            mv /no /x: no such file or directory: /no
            mv /g /no/x: no such file or directory: /no
            mv /g /g/x: not a directory: /g
            mv /g /a\b: invalid argument, invalid name: /a\b"#]],
    );
}

#[test]
fn directories_above_the_destination_are_made_with_it() {
    check(
        TREE,
        &[
            "mv -p /g /x/y/h",
            "mv -p /g /to_d/x/h",
            "mv -p /g /h",
            "mv -p /g /g/x/y",
            "mv -p /no /x/y",
            "mv -p /d /d/x/y",
            "mv -p /d /to_d/x/y",
            "cp -p /g /x/y/h",
            "cp -rp /d /x/y",
            "cp -rp /d /to_d/x/y",
            "cp -rp /d /d/e/x/y",
            "cp -p /g /x/a\\b",
        ],
        expect![[r#"
            mv -p /g /x/y/h: Directory <x> "x" in /; Directory <y> "y" in <x>; g name "h" parent <y>
            mv -p /g /to_d/x/h: Directory <x> "x" in d; g name "h" parent <x>
            mv -p /g /h: g name "h"
            mv -p /g /g/x/y: not a directory: /g
            mv -p /no /x/y: no such file or directory: /no
            mv -p /d /d/x/y: invalid argument, the destination is inside the source: /d/x/y
            mv -p /d /to_d/x/y: invalid argument, the destination is inside the source: /to_d/x/y
            cp -p /g /x/y/h: Directory <x> "x" in /; Directory <y> "y" in <x>; File new1 "h" in <y>; contents [(g, new1)]
            cp -rp /d /x/y: Directory <x> "x" in /; Directory <y> "y" in <x>; Directory <e> "e" in <y>; File new1 "f" in <y>; contents [(f, new1)]
            cp -rp /d /to_d/x/y: invalid argument, the destination is inside the source: /to_d/x/y
            cp -rp /d /d/e/x/y: invalid argument, the destination is inside the source: /d/e/x/y
            cp -p /g /x/a\b: invalid argument, invalid name: /x/a\b"#]],
    );
}

#[test]
fn moves_over_existing_nodes_are_as_in_posix() {
    check(
        TREE,
        &[
            "mv /g /d/f",
            "mv -n /g /d/f",
            "mv /g /d",
            "mv /d /g",
            "mv /full /d/e",
            "mv -n /full /d/e",
            "mv /d/e /full",
            "mv /d /d/e",
            "mv /d /d/e/x",
            "mv /d /d/f",
            "mv /d/e /d",
            "mv /d/f /d",
            "mv /d /",
            "mv /g /",
            "mv /g /to_f",
            "mv /to_f /g",
            "mv /to_d /to_f",
            "mv /d /to_d",
        ],
        expect![[r#"
            mv /g /d/f: content of g into f
            mv -n /g /d/f: file exists: /d/f
            mv /g /d: is a directory: /d
            mv /d /g: not a directory: /g
            mv /full /d/e: e trashed meta {trashed_by: human:ada}; full name "e" parent d
            mv -n /full /d/e: file exists: /d/e
            mv /d/e /full: directory not empty: /full
            mv /d /d/e: invalid argument, the destination is inside the source: /d/e
            mv /d /d/e/x: invalid argument, the destination is inside the source: /d/e/x
            mv /d /d/f: invalid argument, the destination is inside the source: /d/f
            mv /d/e /d: directory not empty: /d
            mv /d/f /d: directory not empty: /d
            mv /d /: directory not empty: /
            mv /g /: directory not empty: /
            mv /g /to_f: to_f trashed meta {trashed_by: human:ada}; g name "to_f"
            mv /to_f /g: g trashed meta {trashed_by: human:ada}; to_f name "g"
            mv /to_d /to_f: to_f trashed meta {trashed_by: human:ada}; to_d name "to_f"
            mv /d /to_d: not a directory: /to_d"#]],
    );
}

#[test]
fn renaming_an_orphan_leaves_its_parent_alone() {
    check(
        "file a in=late; dir d",
        &["mv /a /b", "mv /a /d/b"],
        expect![[r#"
        mv /a /b: a name "b"
        mv /a /d/b: a name "b" parent d"#]],
    );
}

#[test]
fn moving_what_is_suffixed_gives_it_that_name() {
    check(
        "file a x; file b x at=2; dir d",
        &["mv /x+(1) /d/x+(1)", "mv /x+(1) /d/x", "mv /x+(1) /x"],
        expect![[r#"
            mv /x+(1) /d/x+(1): b name "x (1)" parent d
            mv /x+(1) /d/x: b parent d
            mv /x+(1) /x: content of b into a"#]],
    );
}

/// `x (1)` took the name of `x` as soon as `x` was removed or renamed.
#[test]
fn what_is_shown_with_a_number_keeps_that_name() {
    check_run(
        "file a x.md; file b x.md at=2; file c x.md at=3; file d other",
        &["rm /x.md", "rm /x+(1).md"],
        expect![[r#"
            /other
            /x (2).md
            trash: /x (1).md
            trash: /x.md"#]],
    );
    check_run(
        "file a x.md; file b x.md at=2; dir d",
        &["mv /x.md /d/x.md", "create /x.md"],
        expect![[r#"
            /d/
            /d/x.md
            /x (1).md
            /x.md"#]],
    );
    check_run(
        "file a x; file b x at=2; file c x at=3; dir e y; dir f y at=2; dir g z",
        &["mv /x+(1) /w", "mv /z /y"],
        expect![[r#"
            /w
            /x
            /x (2)
            /y/
            /y (1)/
            trash: /y"#]],
    );
    // The name that was in the way is that of another node.
    check_run(
        "file a x; file b x at=2; file c x+(1)",
        &["rm /x+(1)"],
        expect![[r#"
            /x
            /x (2)
            trash: /x (1)"#]],
    );
    check(
        "file a x; file b x at=2; file c x at=3",
        &["rm /x", "mv /x /y", "rm /x+(1)"],
        expect![[r#"
            rm /x: a trashed meta {trashed_by: human:ada}; b name "x (1)"; c name "x (2)"
            mv /x /y: a name "y"; b name "x (1)"; c name "x (2)"
            rm /x+(1): b trashed meta {trashed_by: human:ada}; c name "x (2)""#]],
    );
}

#[test]
fn things_are_trashed() {
    check(
        &format!("{TREE}; dir was; file old in=was trashed=3"),
        &[
            "rm /g", "rm /d", "rm -r /d", "rm /d/e", "rm /was", "rm /to_d", "rm /", "rm -r /",
            "rm /no", "rm /g/x",
        ],
        expect![[r#"
            rm /g: g trashed meta {trashed_by: human:ada}
            rm /d: directory not empty: /d
            rm -r /d: d trashed meta {trashed_by: human:ada}
            rm /d/e: e trashed meta {trashed_by: human:ada}
            rm /was: was trashed meta {trashed_by: human:ada}
            rm /to_d: to_d trashed meta {trashed_by: human:ada}
            rm /: invalid argument, the root cannot be changed: /
            rm -r /: invalid argument, the root cannot be changed: /
            rm /no: no such file or directory: /no
            rm /g/x: not a directory: /g"#]],
    );
}

#[test]
fn things_are_restored() {
    let tree = "dir p; file a in=p trashed=3; dir q trashed=3; dir r in=q; \
                file b in=r trashed=2; file c in=r; \
                file d in=gone trashed=3; file e p trashed=4; dir s in=p trashed=3; dir t in=s; \
                file u in=t trashed=1";
    check(
        tree,
        &[
            "restore a",
            "restore q",
            "restore b",
            "restore c",
            "restore d",
            "restore e",
            "restore u",
            "restore p",
            "restore no",
            "restore a /p/new",
            "restore a /p",
            "restore b /x/y",
            "restore b /p/b",
            "restore c /c\\d",
        ],
        expect![[r#"
            restore a: a untrashed
            restore q: q untrashed
            restore b: b parent / untrashed
            restore c: c parent /
            restore d: d untrashed
            restore e: e name "p (restored)" untrashed
            restore u: u parent p untrashed
            restore p: invalid argument, not in the trash: /p
            restore no: no such file or directory: /.id/no
            restore a /p/new: a name "new" untrashed
            restore a /p: file exists: /p
            restore b /x/y: no such file or directory: /x
            restore b /p/b: b parent p untrashed
            restore c /c\d: invalid argument, invalid name: /c\d"#]],
    );
    check_run(
        tree,
        &["restore e", "restore a"],
        expect![[r#"
            /p/
            /p/a
            /p (restored)
            trash: /d
            trash: /q
            trash: /p/s
            trash: /q/r/b
            trash: /p/s/t/u"#]],
    );
}

#[test]
fn purges_are_reversed_by_restoring() {
    let tree = "dir d trashed=3; dir e in=d; file f in=e; file g in=d trashed=2; file h; \
                dir i in=d trashed=1";
    check(
        tree,
        &["purge d p1", "purge g p1", "purge e p1", "purge h p1", "purge no p1"],
        expect![[r#"
            purge d p1: d meta {purge: p1}; e meta {purge: p1}; f meta {purge: p1}; g meta {purge: p1}; i meta {purge: p1}
            purge g p1: g meta {purge: p1}
            purge e p1: e meta {purge: p1}; f meta {purge: p1}
            purge h p1: invalid argument, not in the trash: /h
            purge no p1: no such file or directory: /.id/no"#]],
    );
    check_run(tree, &["purge d p1"], expect!["/h"]);
    check_run(
        tree,
        &["purge d p1", "restore d"],
        expect![[r#"
        /d/
        /d/e/
        /d/e/f
        /h
        trash: /d/g
        trash: /d/i"#]],
    );
    check_run(
        tree,
        &["purge i p0", "purge d p1", "restore d", "restore i"],
        expect![[r#"
        /d/
        /d/e/
        /d/e/f
        /d/i/
        /h
        trash: /d/g"#]],
    );
    check_run(
        tree,
        &["purge d p1", "restore f"],
        expect![[r#"
        /f
        /h"#]],
    );
}

#[test]
fn only_what_was_purged_and_is_hidden_expires() {
    let tree = "dir d trashed=3 purged; dir e in=d purged; file f in=e purged; file late in=e; \
                dir g in=d purged; file h in=g purged; file back purged; file t trashed=1; \
                file u in=g trashed=1 purged";
    check(
        tree,
        &[
            "expire d e f late g h",
            "expire d e f late g h u",
            "expire f",
            "expire e f",
            "expire back",
            "expire t",
            "expire no",
            "expire u h",
        ],
        expect![[r#"
            expire d e f late g h: delete f; delete h; keeps [d, e, g, late]
            expire d e f late g h u: delete f; delete g; delete h; delete u; keeps [d, e, late]
            expire f: delete f
            expire e f: delete f; keeps [e]
            expire back: keeps [back]
            expire t: keeps [t]
            expire no: nothing
            expire u h: delete h; delete u"#]],
    );
}

#[test]
fn copies_are_made() {
    check(
        &format!("{TREE}; file here in=full"),
        &[
            "cp /g /h",
            "cp /g /d/h",
            "cp /d /new",
            "cp -r /d /new",
            "cp -r /d /full",
            "cp -r /d /no/new",
            "cp /g /d/f",
            "cp /g /d",
            "cp -r /d /g",
            "cp /g /g",
            "cp -r /d /d",
            "cp -r /d /d/e",
            "cp -r /d /d/e/x",
            "cp -r / /d/x",
            "cp -r / /",
            "cp /no /x",
            "cp /to_f /l",
            "cp /g /to_f",
            "cp /to_f /to_d",
            "cp /d/f /to_f",
            "cp /g /to_no",
            "cp /g /a\\b",
            "cp /g /loop",
        ],
        expect![[r#"
            cp /g /h: File new1 "h" in /; contents [(g, new1)]
            cp /g /d/h: File new1 "h" in d; contents [(g, new1)]
            cp /d /new: is a directory: /d
            cp -r /d /new: Directory <new> "new" in /; Directory <e> "e" in <new>; File new1 "f" in <new>; contents [(f, new1)]
            cp -r /d /full: Directory <e> "e" in full; File new1 "f" in full; contents [(f, new1)]
            cp -r /d /no/new: no such file or directory: /no
            cp /g /d/f: f updated 1; contents [(g, f)]
            cp /g /d: is a directory: /d
            cp -r /d /g: not a directory: /g
            cp /g /g: invalid argument, source and destination are the same: /g
            cp -r /d /d: invalid argument, the destination is inside the source: /d
            cp -r /d /d/e: invalid argument, the destination is inside the source: /d/e
            cp -r /d /d/e/x: invalid argument, the destination is inside the source: /d/e/x
            cp -r / /d/x: invalid argument, the destination is inside the source: /d/x
            cp -r / /: invalid argument, the destination is inside the source: /
            cp /no /x: no such file or directory: /no
            cp /to_f /l: File new1 "l" in / -> /d/f
            cp /g /to_f: f updated 1; contents [(g, f)]
            cp /to_f /to_d: is a directory: /d
            cp /d/f /to_f: invalid argument, source and destination are the same: /to_f
            cp /g /to_no: File new1 "no" in /; contents [(g, new1)]
            cp /g /a\b: invalid argument, invalid name: /a\b
            cp /g /loop: too many levels of symbolic links: /loop"#]],
    );
}

#[test]
fn copies_merge_directory_by_directory() {
    check_run(
        "dir a; dir x in=a; file f in=x; file l in=x link=f; dir b; dir y x in=b; file g f in=y; \
         file h in=y",
        &["cp -r /a /b", "cp -r /a /c"],
        expect![[r#"
            /a/
            /a/x/
            /a/x/f
            /a/x/l
            /b/
            /b/x/
            /b/x/f
            /b/x/h
            /b/x/l
            /c/
            /c/x/
            /c/x/f
            /c/x/l"#]],
    );
    check(
        "dir a; file x in=a; dir b; dir y x in=b",
        &["cp -r /a /b", "cp -r /b /a"],
        expect![[r#"
        cp -r /a /b: is a directory: /b/x
        cp -r /b /a: not a directory: /a/x"#]],
    );
    check(
        "dir a; file x in=a; dir b; file y x in=b link=z",
        &["cp -r /a /b", "cp -r /b /a"],
        expect![[r#"
            cp -r /a /b: file exists: /b/x
            cp -r /b /a: file exists: /a/x"#]],
    );
    check(
        "dir a; file x in=a link=y; dir b; file y x in=b link=z",
        &["cp -r /a /b"],
        expect!["cp -r /a /b: y updated 1 link y"],
    );
}

#[test]
fn copies_keep_display_names() {
    check_run(
        "dir d; file a x.md in=d; file b x.md in=d; file c .. in=d",
        &["cp -r /d /e"],
        expect![[r#"
            /d/
            /d/_invalid~c
            /d/x (1).md
            /d/x.md
            /e/
            /e/_invalid~c
            /e/x (1).md
            /e/x.md"#]],
    );
}

#[test]
fn attributes_are_set() {
    check(
        TREE,
        &[
            "chmod 100755 /g",
            "chmod 7777 /to_f",
            "chmod 600 /",
            "chmod 600 /no",
            "touch 5 /g",
            "touch 1 /g",
            "touch 5 /to_f",
            "touch -h 5 /to_f",
            "touch 0 /g",
            "touch 5 /",
            "meta {\"a\":1} /g",
            "meta {\"a\":null} /to_f",
            "meta {} /g",
            "meta 5 /g",
            "meta {\"purge\":\"x\"} /g",
            "meta {\"replaced\":\"x\"} /g",
            "meta {\"held\":\"x\"} /g",
            "meta {} /",
        ],
        expect![[r#"
            chmod 100755 /g: g mode 755
            chmod 7777 /to_f: f mode 7777
            chmod 600 /: invalid argument, the root cannot be changed: /
            chmod 600 /no: no such file or directory: /no
            touch 5 /g: g updated 5
            touch 1 /g: nothing
            touch 5 /to_f: f updated 5
            touch -h 5 /to_f: to_f updated 5
            touch 0 /g: g updated 0
            touch 5 /: invalid argument, the root cannot be changed: /
            meta {"a":1} /g: g meta {a: 1}
            meta {"a":null} /to_f: f meta {a: null}
            meta {} /g: nothing
            meta 5 /g: invalid argument, invalid metadata: /g
            meta {"purge":"x"} /g: invalid argument, invalid metadata: /g
            meta {"replaced":"x"} /g: invalid argument, invalid metadata: /g
            meta {"held":"x"} /g: invalid argument, invalid metadata: /g
            meta {} /: invalid argument, the root cannot be changed: /"#]],
    );
}
