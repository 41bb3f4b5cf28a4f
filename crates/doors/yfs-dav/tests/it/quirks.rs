//! The habits of the Finder, of the Explorer and of Office.

use std::time::Duration;

use crate::dav_client::{RequestRow, SharedTree, check};

const FINDER: &str = "WebDAVFS/3.0.0 (03008000) Darwin/22.6.0 (x86_64)";
const EXPLORER: &str = "Microsoft-WebDAV-MiniRedir/10.0.19045";

/// No empty version comes between, so that carets stay, and what others type meanwhile.
#[tokio::test(start_paused = true)]
async fn a_file_that_is_emptied_and_written_is_edited_once() {
    for program in [FINDER, EXPLORER, "curl"] {
        let tree = SharedTree::with(&[("/a.txt", "one\ntwo\n")]).await;
        let ana = tree.client("ana", program);
        ana.send("GET /a.txt", &[], "").await;
        assert_eq!(ana.status("PUT /a.txt", "").await, 204);
        assert_eq!(tree.text("/a.txt").await, "one\ntwo\n", "{program}");
        tree.edit("/a.txt", "one", "ONE").await;
        assert_eq!(ana.status("PUT /a.txt", "one\nTWO\n").await, 204);
        tokio::time::sleep(Duration::from_secs(7_200)).await;
        assert_eq!(tree.text("/a.txt").await, "ONE\nTWO\n", "{program}");
    }
}

/// The Finder and the Explorer always write the content after it. Where it does not come, the
/// client is gone, and the file stays as it was.
#[tokio::test(start_paused = true)]
async fn a_file_is_not_lost_if_the_content_never_comes() {
    for (program, left) in [(FINDER, "old"), (EXPLORER, "old"), ("curl", "")] {
        let tree = SharedTree::with(&[("/a.txt", "old")]).await;
        let ana = tree.client("ana", program);
        let token = ana.lock("/a.txt").await;
        let held = format!("(<{token}>)");
        assert_eq!(ana.send("PUT /a.txt", &[("if", &held)], "").await.status, 204);
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert_eq!(tree.text("/a.txt").await, "old", "{program}");
        tokio::time::sleep(Duration::from_secs(7_200)).await;
        assert_eq!(tree.text("/a.txt").await, left, "{program}");
    }
}

/// What came after it was refused, so the file stays as it was.
#[tokio::test(start_paused = true)]
async fn a_file_is_not_emptied_if_the_content_is_refused() {
    let tree = SharedTree::with(&[("/a.txt", "old")]).await;
    let ana = tree.client("ana", "curl");
    assert_eq!(ana.status("PUT /a.txt", "").await, 204);
    let stale = [("content-range", "bytes 0-2/3")];
    assert_eq!(ana.send("PUT /a.txt", &stale, "new").await.status, 400);
    tokio::time::sleep(Duration::from_secs(7_200)).await;
    assert_eq!(tree.text("/a.txt").await, "old");
}

#[tokio::test(start_paused = true)]
async fn a_file_that_stays_empty_is_emptied_when_it_is_closed_or_asked_for() {
    for (program, asks) in [
        (FINDER, "UNLOCK /a.txt"),
        ("curl", "GET /a.txt"),
        ("rclone/1.60", "PROPFIND /a.txt"),
        ("rclone/1.60", "PROPFIND /"),
    ] {
        let tree = SharedTree::with(&[("/a.txt", "old")]).await;
        let ana = tree.client("ana", program);
        let token = ana.lock("/a.txt").await;
        let held = format!("(<{token}>)");
        assert_eq!(ana.send("PUT /a.txt", &[("if", &held)], "").await.status, 204);
        assert_eq!(tree.text("/a.txt").await, "old");
        let headers = [("lock-token", &*format!("<{token}>")), ("depth", "1")];
        let answer = ana.send(asks, &headers, "").await;
        assert!([200, 204, 207].contains(&answer.status), "{answer:?}");
        assert_eq!(tree.text("/a.txt").await, "", "{asks}");
    }
    // A Finder asks between the two.
    let tree = SharedTree::with(&[("/a.txt", "old")]).await;
    let ana = tree.client("ana", FINDER);
    let token = ana.lock("/a.txt").await;
    ana.send("PUT /a.txt", &[("if", &format!("(<{token}>)"))], "").await;
    ana.send("PROPFIND /a.txt", &[("depth", "0")], "").await;
    assert_eq!(ana.send("GET /a.txt", &[], "").await.body, "old");
    ana.send("UNLOCK /a.txt", &[("lock-token", &format!("<{token}>"))], "").await;
    assert_eq!(tree.text("/a.txt").await, "");
}

#[tokio::test]
async fn side_files_of_macos_stay_out_of_the_workspace() {
    let tree = SharedTree::with(&[("/a.txt", "a")]).await;
    let (ana, ben) = (tree.client("ana", FINDER), tree.client("ben", FINDER));
    check(
        &ana,
        &[
            ("PROPFIND /._a.txt", &[("depth", "0")], "", 404),
            ("PUT /._a.txt", &[], "", 201),
            ("LOCK /._a.txt", &[], crate::dav_client::LOCK, 200),
            ("PROPFIND /._a.txt", &[("depth", "0")], "", 207),
            ("PUT /.DS_Store", &[], "Bud1", 201),
            ("GET /.DS_Store", &[], "", 200),
            ("COPY /.DS_Store", &[("destination", "/dav/._copy")], "", 201),
            ("MOVE /._copy", &[("destination", "/dav/._moved")], "", 201),
            ("GET /._copy", &[], "", 404),
            ("DELETE /._moved", &[], "", 204),
            ("DELETE /._moved", &[], "", 404),
            ("PUT /none/._x", &[], "x", 409),
            ("MKCOL /._d", &[], "", 403),
            ("MOVE /a.txt", &[("destination", "/dav/._b")], "", 403),
            ("LOCK /._new", &[], crate::dav_client::LOCK, 201),
        ],
    )
    .await;
    assert_eq!(ana.send("GET /.DS_Store", &[], "").await.body, "Bud1");
    assert_eq!(ben.status("GET /.DS_Store", "").await, 404);
    for path in ["/._a.txt", "/.DS_Store", "/._new", "/._copy"] {
        assert!(!tree.exists(path).await, "{path}");
    }
    assert_eq!(tree.n_trashed(), 0);
}

#[tokio::test]
async fn the_properties_of_windows_are_accepted() {
    let tree = SharedTree::with(&[("/a.txt", "a")]).await;
    let ana = tree.client("ana", EXPLORER);
    let body = "<?xml version=\"1.0\" encoding=\"utf-8\" ?><D:propertyupdate xmlns:D=\"DAV:\" \
        xmlns:Z=\"urn:schemas-microsoft-com:\"><D:set><D:prop>\
        <Z:Win32CreationTime>Sun, 06 Nov 1994 08:49:37 GMT</Z:Win32CreationTime>\
        <Z:Win32LastModifiedTime>Sun, 06 Nov 1994 08:49:37 GMT</Z:Win32LastModifiedTime>\
        <Z:Win32FileAttributes>00000020</Z:Win32FileAttributes></D:prop></D:set>\
        </D:propertyupdate>";
    let answer = ana.send("PROPPATCH /a.txt", &[("translate", "f")], body).await;
    assert!(answer.status == 207 && answer.body.contains("200 OK"), "{answer:?}");
    assert!(!answer.body.contains("403"), "{answer:?}");
    let read = ana.send("GET /a.txt", &[("translate", "f")], "").await;
    assert_eq!(read.header("last-modified"), "Sun, 06 Nov 1994 08:49:37 GMT");
    let stat = yfs_vfs::FileSystem::stat(&tree.fs, &"/a.txt".parse().unwrap()).await.unwrap();
    assert!(stat.metadata.is_empty(), "what is not kept takes no room");
}

/// Office writes the new document beside the old one, and swaps the names.
#[tokio::test]
async fn a_save_by_renames_keeps_the_identity_of_the_file() {
    let saves: [&[RequestRow<'_>]; 5] = [
        // Word.
        &[
            ("PUT /~$x.docx", &[], "ana", 201),
            ("PUT /~WRD0001.tmp", &[], "new", 201),
            ("MOVE /x.docx", &[("destination", "/dav/~WRL0002.tmp")], "", 201),
            ("MOVE /~WRD0001.tmp", &[("destination", "/dav/x.docx"), ("overwrite", "F")], "", 201),
            ("DELETE /~WRL0002.tmp", &[], "", 204),
            ("DELETE /~$x.docx", &[], "", 204),
        ],
        // An editor that keeps a copy.
        &[
            ("MOVE /x.docx", &[("destination", "/dav/x.docx~")], "", 201),
            ("PUT /x.docx", &[], "new", 201),
            ("DELETE /x.docx~", &[], "", 204),
        ],
        &[
            ("MOVE /x.docx", &[("destination", "/dav/x.docx.bak")], "", 201),
            ("LOCK /x.docx", &[("depth", "0")], crate::dav_client::LOCK, 201),
            ("DELETE /x.docx.bak", &[], "", 204),
        ],
        // The same through the Finder.
        &[
            ("MOVE /x.docx", &[("destination", "/dav/~WRL0003.tmp")], "", 201),
            ("PUT /x.docx", &[], "", 201),
            ("PUT /x.docx", &[], "new", 204),
            ("DELETE /~WRL0003.tmp", &[], "", 204),
        ],
        // An editor that replaces the file at once.
        &[
            ("PUT /.x.docx.swp", &[], "new", 201),
            ("MOVE /.x.docx.swp", &[("destination", "/dav/x.docx")], "", 204),
        ],
    ];
    for (at, save) in saves.into_iter().enumerate() {
        let tree = SharedTree::with(&[("/x.docx", "old")]).await;
        let id = tree.id("/x.docx").await;
        let ana = tree.client("ana", "Word");
        check(&ana, save).await;
        assert_eq!(tree.id("/x.docx").await, id, "{at}");
        let expected = if at == 2 { "old" } else { "new" };
        assert_eq!(tree.text("/x.docx").await, expected, "{at}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_save_by_renames_through_the_finder_has_no_empty_version() {
    let tree = SharedTree::with(&[("/x.docx", "old")]).await;
    let ana = tree.client("ana", FINDER);
    let away = [("destination", "/dav/~WRL0003.tmp")];
    assert_eq!(ana.send("MOVE /x.docx", &away, "").await.status, 201);
    assert_eq!(ana.status("PUT /x.docx", "").await, 201);
    assert_eq!(tree.text("/x.docx").await, "old");
    assert_eq!(ana.status("PUT /x.docx", "new").await, 204);
    assert_eq!(tree.text("/x.docx").await, "new");
}

/// A person who names files anew means other files.
#[tokio::test]
async fn a_rename_is_a_rename() {
    let tree = SharedTree::with(&[("/x.txt", "old"), ("/y.txt", "other")]).await;
    let (id, other) = (tree.id("/x.txt").await, tree.id("/y.txt").await);
    check(
        &tree.client("ana", FINDER),
        &[
            (
                "MOVE /x.txt",
                &[("destination", "/dav/x old.txt".replace(' ', "%20").as_str())],
                "",
                201,
            ),
            ("PUT /x.txt", &[], "new", 201),
            ("MOVE /x.txt", &[("destination", "/dav/x.bak")], "", 201),
            ("MOVE /y.txt", &[("destination", "/dav/x.txt")], "", 201),
        ],
    )
    .await;
    assert_eq!((tree.id("/x old.txt").await, tree.id("/x.txt").await), (id, other));
    assert_eq!(tree.text("/x.bak").await, "new");
}
