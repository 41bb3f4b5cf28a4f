//! The history of files: timelines and names, blame, anchors, and redaction.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::Path, sync::Arc};

use crate::support::handles::{at, cat, create, now, put};
use expect_test::expect;
use yfs::{
    Workspace, WorkspaceError, WorkspaceOptions,
    workspace::{anchors::AnchorTarget, redact::RedactionScope, versions::VersionSelector},
};
use yfs_engine::{actor::Actor, content::AnchorSide};
use yfs_store::SqliteStore;
use yfs_vfs::{CopyOptions, FileSystem, FsCode, MoveOptions, TextReplacement, WriteOptions};

fn write_as(workspace: &Workspace, actor: &str, path: &str, text: &str) {
    let fs = workspace.fs_for(actor.parse::<Actor>().unwrap());
    now(fs.write(&at(path), text.to_owned().into(), &WriteOptions::default())).unwrap();
}

/// Returns the versions of a file: number, actor, label, names, and content.
fn timeline(workspace: &Workspace, path: &str) -> String {
    let mut shown = String::new();
    for version in workspace.history().versions(&at(path)).unwrap() {
        let text = match workspace.history().version_content(&at(path), version.number) {
            Ok(text) => format!("{:?}", String::from_utf8_lossy(&text)),
            Err(WorkspaceError::Redacted { .. }) => "redacted".to_owned(),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(version.redacted, text == "redacted");
        let actor = version.actor.map(|actor| actor.to_string()).unwrap_or_default();
        let label = version.label.map(|label| format!(" ({label})")).unwrap_or_default();
        let names: Vec<String> = version.names.iter().map(|name| format!(" [{name}]")).collect();
        let (names, now) = (names.concat(), if version.current { " now" } else { "" });
        shown += &format!("{} {actor}{label}{names} {text}{now}\n", version.number);
    }
    shown
}

fn blame(workspace: &Workspace, path: &str) -> String {
    let lines = workspace.history().blame(&at(path)).unwrap();
    let shown = lines.iter().map(|line| {
        let actor = line.actor.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{} {actor} v{} {}\n", line.number, line.version.unwrap_or(0), line.text)
    });
    shown.collect()
}

/// Returns the actor of each line, and the shares of lines of several.
fn authors(workspace: &Workspace, path: &str) -> String {
    let lines = workspace.history().blame(&at(path)).unwrap();
    let name = |actor: &Option<Actor>| {
        actor.as_ref().map_or_else(|| "-".to_owned(), |actor| actor.name.to_string())
    };
    let shown = lines.iter().map(|line| {
        let shares = line.shares.iter();
        let shares = shares.map(|share| format!(" {}={}", name(&share.actor), share.n_chars));
        let shares = if line.is_shared() { shares.collect() } else { String::new() };
        format!("{}|{}{shares}\n", name(&line.actor), line.text)
    });
    shown.collect()
}

fn is_in_files(directory: &Path, secret: &str) -> bool {
    fs::read_dir(directory).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return is_in_files(&path, secret);
        }
        let bytes = fs::read(path).unwrap();
        bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
    })
}

#[test]
fn each_edit_and_each_rewrite_is_a_version() {
    let workspace = create();
    for path in ["/a.txt", "/a.md"] {
        let long: String = (0..20).map(|n| format!("line {n} of the text\n")).collect();
        put(&workspace, path, &long);
        now(workspace.fs().edit(&at(path), &TextReplacement::once("line 3 ", "third "))).unwrap();
        put(&workspace, path, "everything else went away");
        now(workspace.fs().edit(&at(path), &TextReplacement::once("away", "off"))).unwrap();
        let versions = workspace.history().versions(&at(path)).unwrap();
        assert_eq!(versions.len(), 4);
        let content = |number| workspace.history().version_content(&at(path), number).unwrap();
        assert_eq!(content(1), long);
        assert_eq!(content(2), long.replace("line 3 ", "third "));
        assert_eq!(content(3), "everything else went away");
        assert_eq!(content(4), "everything else went off");
    }
}

#[test]
fn what_replaces_a_file_is_a_version_of_its_own() {
    let workspace = create();
    put(&workspace, "/a.txt", "one\n");
    put(&workspace, "/b.txt", "one\ntwo\n");
    now(workspace.fs().mv(&at("/b.txt"), &at("/a.txt"), &MoveOptions::default())).unwrap();
    put(&workspace, "/c.txt", "one\nthree\n");
    now(workspace.fs().edit(&at("/a.txt"), &TextReplacement::once("two", "2"))).unwrap();
    now(workspace.fs().cp(&at("/c.txt"), &at("/a.txt"), &CopyOptions::default())).unwrap();
    expect![[r#"
        1 system: "one\n"
        2 system: (replaced by a file) "one\ntwo\n"
        3 system: "one\n2\n"
        4 system: (replaced by a file) "one\nthree\n" now
    "#]]
    .assert_eq(&timeline(&workspace, "/a.txt"));
}

#[test]
fn versions_have_names_and_are_found_by_name_and_time() {
    let workspace = create();
    put(&workspace, "/a.txt", "one\n");
    workspace.history().name_version(&at("/a.txt"), "first draft").unwrap();
    workspace.history().name_version(&at("/a.txt"), "to Bob").unwrap();
    now(workspace.fs().edit(&at("/a.txt"), &TextReplacement::once("one", "two"))).unwrap();
    workspace.history().name_version(&at("/a.txt"), "to Eve").unwrap();
    let shown = timeline(&workspace, "/a.txt");
    expect![[r#"
        1 system: [first draft] [to Bob] "one\n"
        2 system: [to Eve] "two\n" now
    "#]]
    .assert_eq(&shown);
    let find = |which: VersionSelector| {
        workspace
            .history()
            .find_version(&at("/a.txt"), &which)
            .unwrap()
            .map(|version| version.number)
    };
    assert_eq!(find(VersionSelector::Name("to Bob".into())), Some(1));
    assert_eq!(find(VersionSelector::Name("to no actor".into())), None);
    assert_eq!(find(VersionSelector::Number(2)), Some(2));
    let times: Vec<_> = workspace
        .history()
        .versions(&at("/a.txt"))
        .unwrap()
        .iter()
        .map(|version| version.at)
        .collect();
    assert_eq!(find(VersionSelector::At(times[1])), Some(2));
    assert_eq!(find(VersionSelector::At(yfs_engine::time::Millis(times[0].0 - 1))), None);
    assert!(workspace.history().unname_version(&at("/a.txt"), "to Bob").unwrap());
    assert!(!workspace.history().unname_version(&at("/a.txt"), "to Bob").unwrap());
    assert_eq!(find(VersionSelector::Name("to Bob".into())), None);
    for name in ["", " ", "a\nb"] {
        assert!(workspace.history().name_version(&at("/a.txt"), name).is_err());
    }
    // Two consecutive names of one version make no version between them.
    assert_eq!(timeline(&workspace, "/a.txt"), shown.replace(" [to Bob]", ""));
}

#[test]
fn blame_survives_moves_compaction_and_reloads() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("w.db");
    let workspace = Workspace::create_at(&file, WorkspaceOptions::default()).unwrap();
    write_as(&workspace, "human:ada", "/a.txt", "first line\nsecond line\n\nthe end\n");
    write_as(&workspace, "agent:bot", "/a.txt", "first line\nsecond lines\n\nthe end\nand more\n");
    write_as(
        &workspace,
        "human:eve",
        "/a.txt",
        "first line\nsecond lines\n\nthis was written anew by eve, the end\nand more\n",
    );
    let shown = blame(&workspace, "/a.txt");
    expect![[r#"
        1 human:ada v1 first line
        2 agent:bot v2 second lines
        3 human:ada v1 
        4 human:eve v3 this was written anew by eve, the end
        5 agent:bot v2 and more
    "#]]
    .assert_eq(&shown);
    let lines = workspace.history().blame(&at("/a.txt")).unwrap();
    let shares: Vec<_> = lines[1].shares.iter().map(|share| share.n_chars).collect();
    // The end of the line is no text of it.
    assert_eq!(shares, [11, 1]);
    let before = timeline(&workspace, "/a.txt");
    now(workspace.fs().mv(&at("/a.txt"), &at("/b.txt"), &MoveOptions::default())).unwrap();
    workspace.maintenance().compact(&mut |_, _| ()).unwrap();
    assert_eq!(blame(&workspace, "/b.txt"), shown);
    workspace.close().unwrap();
    let workspace = Workspace::open_at(&file, WorkspaceOptions::reading()).unwrap();
    assert_eq!(blame(&workspace, "/b.txt"), shown);
    assert_eq!(timeline(&workspace, "/b.txt"), before);
}

#[test]
fn anchors_hold_across_edits_moves_and_restarts() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("w.db");
    let workspace = Workspace::create_at(&file, WorkspaceOptions::default()).unwrap();
    put(&workspace, "/a.txt", "one\ntwo\nthree\n");
    let two = workspace
        .history()
        .anchor(&at("/a.txt"), AnchorTarget::Line(2), AnchorSide::Right)
        .unwrap();
    let end = workspace
        .history()
        .anchor(&at("/a.txt"), AnchorTarget::Line(4), AnchorSide::Right)
        .unwrap();
    let text = two.to_string();
    assert!(text.len() <= 40, "{text}");
    put(&workspace, "/a.txt", "zero\none\ntwo\nthree\nfour\n");
    now(workspace.fs().mv(&at("/a.txt"), &at("/b.txt"), &MoveOptions::default())).unwrap();
    workspace.maintenance().compact(&mut |_, _| ()).unwrap();
    workspace.close().unwrap();
    let workspace = Workspace::open_at(&file, WorkspaceOptions::default()).unwrap();
    let place = workspace.history().resolve_anchor(&text.parse().unwrap()).unwrap();
    assert_eq!(
        (place.path.as_str(), place.line, place.offset, place.exact),
        ("/b.txt", 3, 9, true)
    );
    let place = workspace.history().resolve_anchor(&end).unwrap();
    assert_eq!((place.line, place.exact), (6, true));
    put(&workspace, "/b.txt", "zero\none\nthree\nfour\n");
    let place = workspace.history().resolve_anchor(&two).unwrap();
    assert_eq!((place.line, place.exact), (3, false));
    workspace.history().redact(&at("/b.txt"), RedactionScope::History, None).unwrap();
    let place = workspace.history().resolve_anchor(&two).unwrap();
    assert_eq!((place.line, place.offset, place.exact), (3, 9, false));
    put(&workspace, "/other.txt", "two\n");
    let other = workspace
        .history()
        .anchor(&at("/other.txt"), AnchorTarget::Line(1), AnchorSide::Left)
        .unwrap();
    assert!(
        workspace
            .history()
            .anchor(&at("/other.txt"), AnchorTarget::Offset(9), AnchorSide::Left)
            .is_err()
    );
    let wrong = yfs::workspace::anchors::FileAnchor { file: other.file, ..two };
    assert!(matches!(workspace.history().resolve_anchor(&wrong), Err(WorkspaceError::Anchor(_))));
    assert!("nonsense".parse::<yfs::workspace::anchors::FileAnchor>().is_err());
}

#[test]
fn what_is_redacted_is_gone_from_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("w.db");
    let workspace = Workspace::create_at(&file, WorkspaceOptions::default()).unwrap();
    write_as(&workspace, "human:ada", "/a.txt", "name: x\nkey: 7f3kSECRETd9\n");
    workspace.maintenance().compact(&mut |_, _| ()).unwrap();
    write_as(&workspace, "agent:bot", "/a.txt", "name: x\nkey: -\n");
    write_as(&workspace, "human:ada", "/a.txt", "name: y\nkey: -\n");
    write_as(&workspace, "human:eve", "/a.txt", "name: y\nkey: -\nmore\n");
    let looking = WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
    let second = Workspace::open(Arc::new(SqliteStore::open(&file).unwrap()), looking).unwrap();
    let held = second.documents().acquire(&at("/a.txt")).unwrap();
    assert_eq!(cat(&second, "/a.txt"), "name: y\nkey: -\nmore\n");
    assert!(is_in_files(directory.path(), "SECRET"));
    let is = |result: Result<_, WorkspaceError>, code| match result {
        Err(WorkspaceError::Fs(error)) => error.code == code,
        _ => false,
    };
    assert!(is(
        workspace.history().redact(&at("/a.txt"), RedactionScope::Version(4), None),
        FsCode::EPERM
    ));
    assert!(is(
        workspace.history().redact(&at("/a.txt"), RedactionScope::Version(9), None),
        FsCode::EINVAL
    ));
    let planned =
        workspace.history().redactable(&at("/a.txt"), RedactionScope::Version(1)).unwrap();
    assert_eq!(planned.pieces.concat().replace('x', ""), "7f3kSECRETd9");
    assert!(is_in_files(directory.path(), "SECRET"));
    let redacted = workspace
        .history()
        .redact(&at("/a.txt"), RedactionScope::Version(1), Some("leaked"))
        .unwrap();
    assert_eq!(redacted, planned);
    assert!(!is_in_files(directory.path(), "SECRET"));
    let shown = timeline(&workspace, "/a.txt");
    expect![[r#"
        1 human:ada redacted
        2 agent:bot redacted
        3 human:ada "name: y\nkey: -\n"
        4 human:eve "name: y\nkey: -\nmore\n" now
    "#]]
    .assert_eq(&shown);
    let records = workspace.history().redactions(&at("/a.txt")).unwrap();
    assert_eq!((records.len(), records[0].n_units), (1, 13));
    assert_eq!(records[0].author.label.as_deref(), Some("leaked"));
    // Another process that has the document open applies the redaction, and serves none of the
    // content.
    assert_eq!(timeline(&second, "/a.txt"), shown);
    let state = second.documents().port(held.id().as_str()).unwrap().diff(&[0]).unwrap();
    assert!(!state.windows(6).any(|bytes| bytes == b"SECRET"));
    write_as(&second, "human:eve", "/a.txt", "name: z\nkey: -\nmore\n");
    workspace.maintenance().compact(&mut |_, _| ()).unwrap();
    assert!(!is_in_files(directory.path(), "SECRET"));
    assert!(workspace.store().check().unwrap().problems.is_empty());
}

#[test]
fn who_comes_back_with_old_content_does_not_bring_it_back() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("w.db");
    let workspace = Workspace::create_at(&file, WorkspaceOptions::default()).unwrap();
    put(&workspace, "/a.txt", "key: SECRET1\n");
    let id = now(workspace.fs().stat(&at("/a.txt"))).unwrap().id;
    let port = workspace.documents().port(id.as_str()).unwrap();
    let old = port.diff(&[0]).unwrap();
    put(&workspace, "/a.txt", "key: -\n");
    workspace.history().redact(&at("/a.txt"), RedactionScope::History, None).unwrap();
    port.receive(&old).unwrap();
    assert!(!is_in_files(directory.path(), "SECRET1"));
    // Another workspace that has only the record, and receives the content last.
    let elsewhere = tempfile::tempdir().unwrap();
    let other =
        Workspace::create_at(&elsewhere.path().join("w.db"), WorkspaceOptions::default()).unwrap();
    let main = workspace.documents().port(workspace.id().as_str()).unwrap();
    other
        .documents()
        .port(other.id().as_str())
        .unwrap()
        .receive(&main.diff(&[0]).unwrap())
        .unwrap();
    let other_port = other.documents().port(id.as_str()).unwrap();
    other_port.receive(&port.diff(&[0]).unwrap()).unwrap();
    other_port.receive(&old).unwrap();
    assert_eq!(cat(&other, "/a.txt"), "key: -\n");
    assert!(!is_in_files(elsewhere.path(), "SECRET1"));
}

#[test]
fn a_peer_that_receives_a_redaction_erases_its_own_log() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = create();
    put(&workspace, "/a.txt", "key: SECRET2\n");
    let id = now(workspace.fs().stat(&at("/a.txt"))).unwrap().id;
    let port = workspace.documents().port(id.as_str()).unwrap();
    let file = directory.path().join("w.db");
    let other = Workspace::create_at(&file, WorkspaceOptions::default()).unwrap();
    let main = workspace.documents().port(workspace.id().as_str()).unwrap();
    other
        .documents()
        .port(other.id().as_str())
        .unwrap()
        .receive(&main.diff(&[0]).unwrap())
        .unwrap();
    let other_port = other.documents().port(id.as_str()).unwrap();
    other_port.receive(&port.diff(&[0]).unwrap()).unwrap();
    assert!(is_in_files(directory.path(), "SECRET2"));
    put(&workspace, "/a.txt", "key: -\n");
    workspace.history().redact(&at("/a.txt"), RedactionScope::History, None).unwrap();
    let known = other_port.state_vector().unwrap();
    other_port.receive(&port.diff(&known).unwrap()).unwrap();
    other.close().unwrap();
    assert!(!is_in_files(directory.path(), "SECRET2"));
}

#[test]
fn versions_by_reference_are_erased_unless_another_row_names_them() {
    let workspace = create();
    let bytes = |n: u8| vec![0xff, 0xfe, n, n];
    let write = |path: &str, n| {
        let options = WriteOptions::default();
        now(workspace.fs().write(&at(path), bytes(n).into(), &options)).unwrap();
    };
    write("/a.bin", 1);
    write("/a.bin", 2);
    write("/b.bin", 2);
    write("/a.bin", 3);
    workspace.history().name_version(&at("/a.bin"), "third").unwrap();
    let is_there = |number| workspace.history().version_content(&at("/a.bin"), number).is_ok();
    let redacted =
        workspace.history().redact(&at("/a.bin"), RedactionScope::History, None).unwrap();
    assert_eq!((redacted.blobs.len(), redacted.kept.len()), (2, 1));
    assert_eq!([1, 2, 3].map(is_there), [false, false, true]);
    assert_eq!(workspace.store().blobs().unwrap().len(), 2);
    let named = workspace
        .history()
        .find_version(&at("/a.bin"), &VersionSelector::Name("third".into()))
        .unwrap();
    assert_eq!(named.map(|version| version.number), Some(3));
    assert_eq!(now(workspace.fs().read(&at("/b.bin"))).unwrap().data, bytes(2));
    assert_eq!(now(workspace.fs().read(&at("/a.bin"))).unwrap().data, bytes(3));
    assert!(workspace.history().blame(&at("/a.bin")).is_err());
}

#[test]
fn rich_text_has_the_same_history() {
    let workspace = create();
    let first = "# Plan\n\nWe *start* here, see [the list](https://example.org/we-start).\n\n\
                 - one\n- two\n";
    let second = first.replace("- two\n", "- two\n- three words more\n");
    let third = second.replace("start* here", "begin* there, SECRET3 or not");
    let fourth = third.replace(", SECRET3 or not", "");
    write_as(&workspace, "human:ada", "/a.md", first);
    write_as(&workspace, "agent:bot", "/a.md", &second);
    write_as(&workspace, "human:eve", "/a.md", &third);
    let two =
        workspace.history().anchor(&at("/a.md"), AnchorTarget::Line(6), AnchorSide::Right).unwrap();
    let here = AnchorTarget::Offset(third.find("there").unwrap());
    let here = workspace.history().anchor(&at("/a.md"), here, AnchorSide::Right).unwrap();
    write_as(&workspace, "human:ada", "/a.md", &fourth.replace("# Plan\n", "# Plan\n\nNew.\n"));
    let shown = blame(&workspace, "/a.md");
    expect![[r#"
        1 human:ada v1 # Plan
        2 human:ada v1 
        3 human:ada v4 New.
        4 human:ada v4 
        5 human:ada v4 We *begin* there, see [the list](https://example.org/we-start).
        6 human:ada v1 
        7 human:ada v1 - one
        8 human:ada v1 - two
        9 agent:bot v2 - three words more
    "#]]
    .assert_eq(&shown);
    let lines = [&two, &here].map(|anchor| {
        let place = workspace.history().resolve_anchor(anchor).unwrap();
        (place.line, place.exact)
    });
    assert_eq!(lines, [(8, true), (5, true)]);
    let versions = workspace.history().versions(&at("/a.md")).unwrap();
    assert_eq!(versions.len(), 4);
    assert_eq!(workspace.history().version_content(&at("/a.md"), 3).unwrap(), third.as_bytes());
    let now_says = cat(&workspace, "/a.md");
    let erased =
        workspace.history().redact(&at("/a.md"), RedactionScope::Version(3), None).unwrap();
    assert!(erased.pieces.iter().any(|piece| piece.contains("SECRET3")));
    assert_eq!(cat(&workspace, "/a.md"), now_says);
    // What was deleted is erased, and with it the edit that deleted it.
    assert_eq!(blame(&workspace, "/a.md"), shown.replace("5 human:ada v4", "5 human:eve v3"));
    let readable =
        [1, 2, 3, 4].map(|n| workspace.history().version_content(&at("/a.md"), n).is_ok());
    // The older versions had the text as well that the third had and the last has no more.
    assert_eq!(readable, [false, false, false, true]);
    let id = now(workspace.fs().stat(&at("/a.md"))).unwrap().id;
    let state = workspace.documents().port(id.as_str()).unwrap().diff(&[0]).unwrap();
    assert!(!state.windows(7).any(|bytes| bytes == b"SECRET3"));
}

#[test]
fn what_a_conversion_left_behind_is_redacted_as_well() {
    for (from, to) in [("/a.txt", "/a.md"), ("/a.md", "/a.txt")] {
        let directory = tempfile::tempdir().unwrap();
        let workspace =
            Workspace::create_at(&directory.path().join("w.db"), WorkspaceOptions::default())
                .unwrap();
        let first = "---\npin: SECRET1\nname: x\n---\n# One\n\nSome *SECRET2* text.\n\n\
                     [two](https://example.org/SECRET3)\n\n```SECRET4\ncode\n```\n\n\
                      - SECRET5\n- last\n";
        write_as(&workspace, "human:ada", from, &first.replace("last", "SECRET6 last"));
        write_as(&workspace, "human:bob", from, first);
        now(workspace.fs().mv(&at(from), &at(to), &MoveOptions::default())).unwrap();
        let third = "---\nname: x\n---\n# One\n\nSome text.\n\n[two](https://example.org/)\n\n\
                     ```\ncode\n```\n\n- last\n";
        write_as(&workspace, "agent:bot", to, third);
        for n in 1..=6 {
            assert!(is_in_files(directory.path(), &format!("SECRET{n}")));
        }
        let planned = workspace.history().redactable(&at(to), RedactionScope::History).unwrap();
        let redacted = workspace.history().redact(&at(to), RedactionScope::History, None).unwrap();
        assert_eq!(redacted, planned);
        for n in 1..=6 {
            assert!(!is_in_files(directory.path(), &format!("SECRET{n}")), "{n} {to}");
        }
        assert_eq!(cat(&workspace, to), third);
        assert_eq!(workspace.conflicts().unwrap(), []);
        assert!(!workspace.maintenance().repair(&at(to)).unwrap());
        let readable: Vec<bool> = workspace
            .history()
            .versions(&at(to))
            .unwrap()
            .iter()
            .map(|version| {
                !version.redacted
                    && workspace.history().version_content(&at(to), version.number).is_ok()
            })
            .collect();
        assert_eq!(readable.last(), Some(&true));
        assert!(!readable[0]);
        // And back: none of it is found there.
        now(workspace.fs().mv(&at(to), &at(from), &MoveOptions::default())).unwrap();
        assert_eq!(cat(&workspace, from), third);
        assert!(workspace.store().check().unwrap().problems.is_empty());
    }
}

#[test]
fn an_anchor_in_a_block_that_is_gone_is_where_it_was() {
    let workspace = create();
    let file = "# One

Two two.

- three
- four

---

five
";
    put(&workspace, "/a.md", file);
    let anchors = ["Two", "three", "four", "five"].map(|word| {
        [(AnchorSide::Right, 1), (AnchorSide::Left, 1)].map(|(stick, skip)| {
            let spot = AnchorTarget::Offset(file.find(word).unwrap() + skip);
            workspace.history().anchor(&at("/a.md"), spot, stick).unwrap()
        })
    });
    let places = |words: [usize; 4]| {
        words.map(|n| {
            let found = anchors[n]
                .each_ref()
                .map(|anchor| workspace.history().resolve_anchor(anchor).unwrap());
            found.map(|anchor| (anchor.offset, anchor.exact))
        })
    };
    put(
        &workspace,
        "/a.md",
        "# One

- four

---

five
",
    );
    // At the beginning of the text after it, or the end of the text before it.
    let (one, four, five) = (5, 9, 20);
    assert_eq!(
        places([0, 1, 2, 3]),
        [
            [(four, false), (one, false)],
            [(four, false), (one, false)],
            [(four + 1, true), (four + 1, true)],
            [(five + 1, true), (five + 1, true)],
        ]
    );
    put(
        &workspace, "/a.md", "# One
",
    );
    assert_eq!(places([0, 1, 2, 3]), [[(one, false); 2]; 4]);
    put(&workspace, "/a.md", "");
    assert_eq!(places([0, 1, 2, 3]), [[(0, false); 2]; 4]);
}

#[test]
fn what_a_readable_version_holds_as_well_stays_and_that_is_said() {
    let workspace = create();
    let file = |pin: &str, text: &str| format!("---\n{pin}name: x\n---\nSome {text}.\n");
    write_as(&workspace, "human:ada", "/a.md", &file("pin: SECRET7\n", "words"));
    write_as(&workspace, "human:bob", "/a.md", &file("pin: SECRET7\n", "SECRET8 words"));
    write_as(&workspace, "human:eve", "/a.md", &file("", "words"));
    let redacted =
        workspace.history().redact(&at("/a.md"), RedactionScope::Version(2), None).unwrap();
    assert_eq!(redacted.held_by, [1]);
    assert!(redacted.pieces.concat().contains("SECRET8"));
    let said = workspace.history().version_content(&at("/a.md"), 1).unwrap();
    assert_eq!(said, file("pin: SECRET7\n", "words").as_bytes());
    assert!(workspace.history().version_content(&at("/a.md"), 2).is_err());
    let redacted =
        workspace.history().redact(&at("/a.md"), RedactionScope::Version(1), None).unwrap();
    assert_eq!(redacted.held_by, Vec::<u64>::new());
    let id = now(workspace.fs().stat(&at("/a.md"))).unwrap().id;
    let state = workspace.documents().port(id.as_str()).unwrap().diff(&[0]).unwrap();
    assert!(!state.windows(6).any(|bytes| bytes == b"SECRET"));
}

#[test]
fn what_was_a_text_before_it_was_bytes_is_a_version_and_the_reverse() {
    let workspace = create();
    let write = |data: &[u8]| {
        let options = WriteOptions::default();
        now(workspace.fs().write(&at("/a.txt"), data.to_vec().into(), &options)).unwrap();
    };
    let said = || {
        let versions = workspace.history().versions(&at("/a.txt")).unwrap();
        let contents = versions.iter().map(|version| {
            let content =
                workspace.history().version_content(&at("/a.txt"), version.number).unwrap();
            (String::from_utf8_lossy(&content).into_owned(), version.current)
        });
        contents.collect::<Vec<_>>()
    };
    write(b"a text\n");
    write(b"\xffbytes");
    assert_eq!(said(), [("a text\n".to_owned(), false), ("\u{fffd}bytes".to_owned(), true)]);
    workspace.history().restore_version(&at("/a.txt"), 1).unwrap();
    assert_eq!(cat(&workspace, "/a.txt"), "a text\n");
    let now_said = said();
    assert_eq!(now_said[0], ("\u{fffd}bytes".to_owned(), false));
    assert_eq!(now_said.last().unwrap(), &("a text\n".to_owned(), true));
    let blamed = workspace.history().blame(&at("/a.txt")).unwrap();
    assert_eq!(blamed[0].version, Some(now_said.len() as u64));
}

/// Each state of a file with its writer; what blame shows of the last one.
fn check_authors(path: &str, states: &[(&str, &str)], expected: expect_test::Expect) {
    let workspace = create();
    for (actor, text) in states {
        write_as(&workspace, actor, path, text);
    }
    let shown = authors(&workspace, path);
    expected.assert_eq(&shown);
    workspace.maintenance().compact(&mut |_, _| ()).unwrap();
    assert_eq!(authors(&workspace, path), shown);
}

/// blame named the writer of most characters: an agent's one number was the first writer's.
#[test]
fn the_last_writer_of_a_line_is_its_author() {
    let zoe = "timeout = 30\nretries = 3\nhost = a.example.org\nmode = slow\n";
    let bot = zoe.replace("30\n", "3000\n");
    let ben = bot.replace("= 3\n", "= 9\n").replace("a.example", "prod.example");
    check_authors(
        "/conf.ini",
        &[("human:zoe", zoe), ("agent:bot", &bot), ("human:ben", &ben)],
        expect![[r#"
            bot|timeout = 3000 zoe=10 bot=4
            ben|retries = 9 zoe=10 ben=1
            ben|host = prod.example.org zoe=19 ben=4
            zoe|mode = slow
        "#]],
    );
    check_authors(
        "/conf.md",
        &[("human:zoe", "The limit is 30 m.\n"), ("agent:bot", "The limit is 3000 m.\n")],
        expect![[r#"
            bot|The limit is 3000 m. zoe=16 bot=4
        "#]],
    );
}

#[test]
fn the_parts_of_a_line_are_in_the_order_of_its_text() {
    let workspace = create();
    write_as(&workspace, "human:zoe", "/conf.ini", "timeout = 30\nretries = 3\n");
    write_as(&workspace, "agent:bot", "/conf.ini", "timeout = 3000 s\nretries = 3\n\n");
    let lines = workspace.history().blame(&at("/conf.ini")).unwrap();
    let parts = lines.iter().map(|line| {
        let actor = |share: usize| line.shares[share].actor.as_ref().unwrap().name.to_string();
        let parts = line.parts.iter().map(|part| (part.share.map(actor), part.n_chars));
        parts.collect::<Vec<_>>()
    });
    let [zoe, bot] = ["zoe", "bot"].map(|name| Some(name.to_owned()));
    let expected = [vec![(zoe.clone(), 10), (bot, 6)], vec![(zoe, 11)], vec![]];
    assert_eq!(parts.collect::<Vec<_>>(), expected);
}

#[test]
fn a_deletion_within_a_line_makes_its_writer_the_last_one() {
    for path in ["/a.txt", "/a.md"] {
        check_authors(
            path,
            &[
                ("human:zoe", "do not delete it\n\nthe second one\n\nthe third one\n"),
                ("agent:bot", "do delete it\n\nthe second one\n\nthe third one\n"),
                ("human:ben", "do delete it\n\nthe second one\n\nthe third\n"),
            ],
            expect![[r#"
                bot|do delete it zoe=12 bot=0
                zoe|
                zoe|the second one
                zoe|
                ben|the third zoe=9 ben=0
            "#]],
        );
    }
}

#[test]
fn whole_lines_that_go_leave_the_lines_beside_them_alone() {
    let all = "foo one\nfoo two\nfoo three\nfoo four\n";
    for gone in ["foo one\n", "foo two\n", "foo two\nfoo three\n", "foo four\n"] {
        let workspace = create();
        write_as(&workspace, "human:zoe", "/a.txt", all);
        write_as(&workspace, "agent:bot", "/a.txt", &all.replace(gone, ""));
        let shown = authors(&workspace, "/a.txt");
        assert!(!shown.contains("bot"), "{gone:?}: {shown}");
    }
    // Two lines joined are one line that was edited.
    check_authors(
        "/a.txt",
        &[("human:zoe", "one\ntwo\nthree\n"), ("agent:bot", "one\ntwothree\n")],
        expect![[r#"
            zoe|one
            bot|twothree
        "#]],
    );
}

#[test]
fn a_line_that_is_appended_is_no_edit_of_the_line_before() {
    check_authors(
        "/a.md",
        &[("human:zoe", "One line.\n"), ("agent:bot", "One line.\n4. Another\n")],
        expect![[r#"
            zoe|One line.
            bot|4. Another
        "#]],
    );
    check_authors(
        "/a.txt",
        &[("human:zoe", "no end"), ("agent:bot", "no end\nmore\n")],
        expect![[r#"
            zoe|no end
            bot|more
        "#]],
    );
}

/// The blank line after a paragraph was of the one who edited the paragraph, front matter of none.
#[test]
fn the_marks_of_markdown_have_authors() {
    let zoe = "---\ntitle: Plan\nowner: zoe\n---\n# Plan\n\nThe first words.\n\n---\n\n- [ ] one\n\
               - [ ] two\n\n```js\nlet a = 1\n\nlet b = 2\n```\n\n\
               See [it](https://a.example) there.\n";
    let bot = zoe.replace("owner: zoe", "owner: bot").replace("first words", "first 3 words");
    let ben = bot
        .replace("[ ] two", "[x] two")
        .replace("b = 2", "b = 3")
        .replace("https://a.example", "https://b.example");
    check_authors(
        "/a.md",
        &[("human:zoe", zoe), ("agent:bot", &bot), ("human:ben", &ben)],
        expect![[r#"
            zoe|---
            zoe|title: Plan
            bot|owner: bot
            zoe|---
            zoe|# Plan
            zoe|
            bot|The first 3 words. zoe=16 bot=2
            zoe|
            zoe|---
            zoe|
            zoe|- [ ] one
            ben|- [x] two zoe=9 ben=0
            zoe|
            zoe|```js
            zoe|let a = 1
            zoe|
            ben|let b = 3 zoe=8 ben=1
            zoe|```
            zoe|
            ben|See [it](https://b.example) there. zoe=34 ben=0
        "#]],
    );
}

/// Changes of blocks that change no text of them.
#[test]
fn the_shape_of_a_block_has_an_author() {
    let zoe = "# Plan\n\nSome words.\n\n```js\nlet a = 1\n```\n\n- one\n- two\n\n![pic](x.png)\n\n\
               | k | v |\n| --- | --- |\n| 1 | 2 |\n";
    let bot = zoe
        .replace("# Plan", "## Plan")
        .replace("Some words", "**Some** words")
        .replace("```js", "```ts")
        .replace("x.png", "y.png")
        .replace("| 2 |", "| 3 |");
    check_authors(
        "/a.md",
        &[("human:zoe", zoe), ("agent:bot", &bot)],
        expect![[r#"
            bot|## Plan zoe=7 bot=0
            zoe|
            bot|**Some** words. zoe=15 bot=0
            zoe|
            bot|```ts zoe=5 bot=0
            zoe|let a = 1
            zoe|```
            zoe|
            zoe|- one
            zoe|- two
            zoe|
            bot|![pic](y.png) zoe=13 bot=0
            zoe|
            zoe|| k | v |
            zoe|| --- | --- |
            bot|| 1 | 3 | zoe=8 bot=1
        "#]],
    );
}
