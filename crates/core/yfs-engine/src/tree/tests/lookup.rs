//! Look-ups by display name, stored name, alias and id, with and without links; paths; walks.

use expect_test::expect;

use super::*;
use crate::name::NodeName;

/// Looks up each path, unchanged and following links.
#[track_caller]
fn check_paths(script: &str, paths: &[&str], expected: Expect) {
    let tree = build(&parse(script));
    let show = |found: Result<NodeRef<'_>, LookupError>| match found {
        Ok(node) => node.id().map_or("root".to_owned(), ToString::to_string),
        Err(error) => error.to_string(),
    };
    let lines = paths.iter().map(|text| {
        let (plain, followed) =
            (tree.lookup(&path(text)), tree.resolve(&path(text), FinalLink::Yes));
        format!("{text}: {} | {}", show(plain), show(followed))
    });
    expected.assert_eq(&lines.collect::<Vec<String>>().join("\n"));
}

#[test]
fn look_up_walks_display_names() {
    check_paths(
        "dir d; file a x.md in=d; file b x.md in=d at=2; file t in=d trashed=1; dir g trashed=1; \
         file h in=g",
        &[
            "/",
            "/d",
            "/d/x.md",
            "/d/x (1).md",
            "/d/y",
            "/d/y/z",
            "/d/x.md/z",
            "/d/t",
            "/g",
            "/g/h",
            "/q/r",
        ],
        expect![[r#"
            /: root | root
            /d: d | d
            /d/x.md: a | a
            /d/x (1).md: b | b
            /d/y: no such file or directory: /d/y | no such file or directory: /d/y
            /d/y/z: no such file or directory: /d/y | no such file or directory: /d/y
            /d/x.md/z: not a directory: /d/x.md | not a directory: /d/x.md
            /d/t: no such file or directory: /d/t | no such file or directory: /d/t
            /g: no such file or directory: /g | no such file or directory: /g
            /g/h: no such file or directory: /g | no such file or directory: /g
            /q/r: no such file or directory: /q | no such file or directory: /q"#]],
    );
}

#[test]
fn aliases_find_what_names_hide() {
    check_paths(
        "file abcdefghijklmno x.md; file bbcdefghijklmno x.md at=2; file z ~; dir abcdefgh0 d.d; \
         file q in=abcdefgh0",
        &[
            "/x~abcdefgh.md",
            "/x~bbcdefgh.md",
            "/x~bbcdefg.md",
            "/~~z",
            "/.id/bbcdefghijklmno",
            "/.id/unknown",
            "/.id",
            "/.id/abcdefgh0/q",
            "/d~abcdefgh.d/q",
        ],
        expect![[r#"
            /x~abcdefgh.md: abcdefghijklmno | abcdefghijklmno
            /x~bbcdefgh.md: bbcdefghijklmno | bbcdefghijklmno
            /x~bbcdefg.md: no such file or directory: /x~bbcdefg.md | no such file or directory: /x~bbcdefg.md
            /~~z: z | z
            /.id/bbcdefghijklmno: bbcdefghijklmno | bbcdefghijklmno
            /.id/unknown: no such file or directory: /.id/unknown | no such file or directory: /.id/unknown
            /.id: no such file or directory: /.id | no such file or directory: /.id
            /.id/abcdefgh0/q: q | q
            /d~abcdefgh.d/q: q | q"#]],
    );
}

#[test]
fn display_names_win_over_aliases() {
    check_paths(
        "file abcdefghijklmno x; file b x~abcdefgh; dir c .id; file d abcdefghijklmno in=c",
        &["/x~abcdefgh", "/.id/abcdefghijklmno", "/.id/b"],
        expect![[r#"
            /x~abcdefgh: b | b
            /.id/abcdefghijklmno: d | d
            /.id/b: no such file or directory: /.id/b | no such file or directory: /.id/b"#]],
    );
}

#[test]
fn stored_names_that_are_escaped_can_be_looked_up() {
    let long = "y".repeat(300);
    check_paths(
        &format!("file a x\\y; file b x\\y at=0; file c {long}"),
        &["/x\\y", "/_invalid~a", &format!("/{long}"), "/_invalid~c"],
        expect![[r#"
            /x\y: b | b
            /_invalid~a: a | a
            /yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy: c | c
            /_invalid~c: c | c"#]],
    );
}

#[test]
fn names_are_tried_in_normal_form() {
    check_paths(
        "file a \u{e9}",
        &["/\u{e9}", "/e\u{301}"],
        expect![[r#"
        /é: a | a
        /é: a | a"#]],
    );
    check_paths(
        "file a \u{e9}; file b e\u{301}",
        &["/\u{e9}", "/e\u{301}"],
        expect![[r#"
        /é: a | a
        /é: b | b"#]],
    );
}

#[test]
fn links_are_followed_as_posix_does() {
    check_paths(
        "dir d; dir e in=d; file f in=e; file up in=d link=../g; file g; file abs link=/d/e; \
         file dangling link=nowhere; file loop link=loop; file ring link=/gnir; \
         file gnir link=ring; \
         file trick link=abs/../e/f; file slash link=d/",
        &[
            "/d/up",
            "/abs",
            "/abs/f",
            "/dangling",
            "/loop",
            "/ring/x",
            "/trick",
            "/slash",
            "/slash/e/f",
            "/g/x",
            "/d/up/x",
            "/.id/e/f",
        ],
        expect![[r#"
            /d/up: up | g
            /abs: abs | e
            /abs/f: not a directory: /abs | f
            /dangling: dangling | no such file or directory: /dangling
            /loop: loop | too many levels of symbolic links: /loop
            /ring/x: not a directory: /ring | too many levels of symbolic links: /ring/x
            /trick: trick | f
            /slash: slash | d
            /slash/e/f: not a directory: /slash | f
            /g/x: not a directory: /g | not a directory: /g
            /d/up/x: not a directory: /d/up | not a directory: /g
            /.id/e/f: f | f"#]],
    );
}

#[test]
fn a_chain_of_forty_links_is_the_longest() {
    let chain = |n: usize| {
        let mut script = "file l0; ".to_owned();
        for at in 1..=n {
            script += &format!("file l{at} link=l{}; ", at - 1);
        }
        build(&parse(&script)).resolve(&path(&format!("/l{n}")), FinalLink::Yes).map(|_| ())
    };
    assert_eq!(chain(40), Ok(()));
    assert_eq!(chain(41), Err(LookupError::Loop { at: path("/l41") }));
}

#[test]
fn links_that_grow_are_refused() {
    // Each round makes the rest of the path longer.
    let target = format!("x/{}", "y/".repeat(400));
    let tree = build(&parse(&format!("file x link={target}")));
    let found = tree.resolve(&path("/x/z"), FinalLink::Yes).map(|_| ());
    assert_eq!(found, Err(LookupError::TooLong { at: path("/x/z") }));
}

#[test]
fn place_finds_where_a_node_could_be_made() {
    let tree = build(&parse("dir d; file l link=d/new; file m link=gone/new; file f"));
    let show = |text: &str, follow| match tree.place(&path(text), follow) {
        Ok(PathTarget::Taken(node)) => format!("taken by {node:?}"),
        Ok(PathTarget::Free { parent, name }) => format!("{name} free in {}", parent.path()),
        Err(error) => error.to_string(),
    };
    let lines = [
        show("/l", FinalLink::Yes),
        show("/l", FinalLink::No),
        show("/m", FinalLink::Yes),
        show("/x", FinalLink::No),
        show("/f/x", FinalLink::No),
        show("/x/y", FinalLink::No),
        show("/", FinalLink::No),
    ];
    expect![[r#"
        new free in /d
        taken by Some(l) /l
        no such file or directory: /gone
        x free in /
        not a directory: /f
        no such file or directory: /x
        taken by None /"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn children_come_in_byte_order_and_can_be_resumed() {
    let tree = build(&parse(
        "file a b; file b \u{ffff}; file c \u{1f600}; file d a.b; file e a; file f Z",
    ));
    let names = |children: DirectoryChildren<'_>| {
        let names = children.map(|(name, _)| name.to_owned());
        names.collect::<Vec<String>>().join(" ")
    };
    expect!["Z a a.b b ￿ 😀"].assert_eq(&names(tree.root().children()));
    expect!["b ￿ 😀"].assert_eq(&names(tree.root().children().after("a.b")));
    assert_eq!(tree.root().n_children(), 6);
}

#[test]
fn a_node_in_the_trash_has_a_path_below_what_was_trashed() {
    let tree = build(&parse(
        "dir p; dir f in=p trashed=5; dir g in=f; file n in=g; file t x in=g trashed=3; \
         file u x in=g trashed=4",
    ));
    let node = |text: &str| tree.node(&id(text)).unwrap();
    assert_eq!(node("n").path_in_trash(), Some((id("f"), "g/n".to_owned())));
    assert_eq!(node("p").path_in_trash(), None);
    assert_eq!(node("f").restore_destination().path().as_str(), "/p");
    assert_eq!(node("t").restore_destination().path().as_str(), "/p");
    assert!(node("n").is_within(node("f")) && !node("f").is_within(node("n")));
}

#[test]
fn directories_made_twice_are_one() {
    let (workspace, name) = (id("w"), NodeName::new("src").unwrap());
    let derived = derive_directory_id(&workspace, None, &name, 0);
    expect!["xl38sslus0c8fta"].assert_eq(derived.as_str());
    assert_ne!(derived, derive_directory_id(&workspace, None, &name, 1));
    assert_ne!(derived, derive_directory_id(&workspace, Some(&id("p")), &name, 0));
    assert_ne!(derived, derive_directory_id(&id("v"), None, &name, 0));

    let show = |tree: &TreeIndex| {
        let (id, there) = tree.directory_id_for_creation(None, &name);
        (id == derived, there.is_some())
    };
    let mut tree = TreeIndex::new(workspace);
    assert_eq!(show(&tree), (true, false));
    let mut directory = entry(derived.as_str(), "src", NodeKind::Directory);
    tree.upsert(&directory);
    assert_eq!(show(&tree), (true, true));
    directory.row.trashed_at = Some(Millis(3));
    tree.upsert(&directory);
    assert_eq!(show(&tree), (false, false));
    directory.row.trashed_at = None;
    directory.row.name = "lib".into();
    tree.upsert(&directory);
    assert_eq!(show(&tree), (false, false));
    directory.row.name = "src".into();
    directory.row.parent = Some(id("p"));
    tree.upsert(&directory);
    assert_eq!(show(&tree), (false, false));
    directory.row.parent = None;
    tree.upsert(&directory);
    assert_eq!(show(&tree), (true, true));
}

#[test]
fn derived_directory_ids_do_not_depend_on_where_texts_end() {
    let name = |text: &str| NodeName::new(text).unwrap();
    let one = derive_directory_id(&id("w"), Some(&id("ab")), &name("c"), 0);
    assert_ne!(one, derive_directory_id(&id("w"), Some(&id("a")), &name("bc"), 0));
    assert_ne!(one, derive_directory_id(&id("wa"), Some(&id("b")), &name("c"), 0));
}
