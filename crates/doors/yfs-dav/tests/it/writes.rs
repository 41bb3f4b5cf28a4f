//! Writes beside other writers.

use crate::dav_client::SharedTree;

const TEXT: &str = "one\ntwo\nthree\n";
const MINE: &[u8] = b"one\ntwo\nTHREE\n";

fn mine() -> &'static str {
    std::str::from_utf8(MINE).unwrap()
}

#[tokio::test]
async fn a_write_with_a_tag_is_refused_or_merged() {
    let tree = SharedTree::with(&[("/a.txt", TEXT)]).await;
    let ana = tree.client("ana", "curl");
    let tag = ana.send("GET /a.txt", &[], "").await.header("etag").to_owned();
    tree.edit("/a.txt", "one", "ONE").await;
    let known = [("if-match", tag.as_str())];
    assert_eq!(ana.send("PUT /a.txt", &known, mine()).await.status, 412);
    assert_eq!(ana.send("PUT /a.txt", &[("if-match", "\"x\"")], mine()).await.status, 400);
    assert_eq!(ana.send("PUT /none.txt", &known, mine()).await.status, 412);
    assert_eq!(ana.send("PUT /a.txt", &[("if-none-match", "*")], mine()).await.status, 412);
    let merged = ana.send("PUT /a.txt?conflict=merge", &known, mine()).await;
    assert_eq!((merged.status, merged.header("etag")), (204, ""));
    assert_eq!(tree.text("/a.txt").await, "ONE\ntwo\nTHREE\n");
    assert_eq!(ana.send("PUT /b.txt", &[("if-none-match", "*")], "b").await.status, 201);
}

/// The client names no version, but has read one.
#[tokio::test]
async fn a_write_is_based_on_what_its_client_has_read() {
    let tree = SharedTree::with(&[("/a.txt", TEXT)]).await;
    let (ana, other) = (tree.client("ana", "vi"), tree.client("ana", "ed"));
    ana.send("GET /a.txt", &[], "").await;
    tree.edit("/a.txt", "one", "ONE").await;
    let merged = ana.send("PUT /a.txt", &[], mine()).await;
    assert_eq!((merged.status, merged.header("etag")), (204, ""));
    assert_eq!(tree.text("/a.txt").await, "ONE\ntwo\nTHREE\n");
    // The next save is based on the content of the one before, which was never stored alone.
    ana.send("PUT /a.txt", &[], "one\nTWO\nTHREE\n").await;
    assert_eq!(tree.text("/a.txt").await, "ONE\nTWO\nTHREE\n");
    // A client that has read nothing overwrites, as at `/api/files`.
    let written = other.send("PUT /a.txt", &[], "mine\n").await;
    assert!(!written.header("etag").is_empty());
    assert_eq!(tree.text("/a.txt").await, "mine\n");
}

/// What a client has moved over a file is no longer what it has read there.
#[tokio::test]
async fn a_write_after_a_move_is_the_whole_content() {
    let tree = SharedTree::with(&[("/a.txt", TEXT), ("/b.txt", "other words\n")]).await;
    let ana = tree.client("ana", "vi");
    ana.send("GET /a.txt", &[], "").await;
    let moved = ana.send("MOVE /b.txt", &[("destination", "/dav/a.txt")], "").await;
    assert_eq!(moved.status, 204);
    assert_eq!(ana.status("PUT /a.txt", mine()).await, 204);
    assert_eq!(tree.text("/a.txt").await, mine());
}

#[tokio::test]
async fn a_part_that_was_read_is_no_base() {
    let tree = SharedTree::with(&[("/a.txt", TEXT)]).await;
    let ana = tree.client("ana", "vi");
    ana.send("GET /a.txt", &[("range", "bytes=0-2")], "").await;
    ana.send("HEAD /a.txt", &[], "").await;
    tree.edit("/a.txt", "one", "ONE").await;
    ana.send("PUT /a.txt", &[], mine()).await;
    assert_eq!(tree.text("/a.txt").await, mine());
}

#[tokio::test]
async fn a_write_under_a_lock_keeps_what_others_type() {
    let tree = SharedTree::with(&[("/a.txt", TEXT)]).await;
    let (ana, ben) = (tree.client("ana", "Word"), tree.client("ben", "Word"));
    let token = ana.lock("/a.txt").await;
    ana.send("GET /a.txt", &[], "").await;
    tree.edit("/a.txt", "one", "ONE").await;
    let held = format!("(<{token}>)");
    assert_eq!(ben.send("PUT /a.txt", &[("if", &held)], "stolen").await.status, 423);
    assert_eq!(ana.status("PUT /a.txt", "without the token").await, 423);
    assert_eq!(ana.send("PUT /a.txt", &[("if", &held)], mine()).await.status, 204);
    assert_eq!(tree.text("/a.txt").await, "ONE\ntwo\nTHREE\n");
    // Others still type: another door knows no locks.
    tree.edit("/a.txt", "two", "two and a half").await;
    ana.send("PUT /a.txt", &[("if", &held)], "zero\none\ntwo\nTHREE\n").await;
    assert_eq!(tree.text("/a.txt").await, "zero\nONE\ntwo and a half\nTHREE\n");
}

/// davfs2 names the version that it has read, and takes the tag after a write for that of what it
/// wrote.
#[tokio::test]
async fn a_tag_that_was_not_read_deletes_nothing() {
    for locks in [true, false] {
        let tree = SharedTree::with(&[("/a.txt", TEXT)]).await;
        let ana = tree.client("ana", "davfs2/1.6.1");
        let tag = ana.send("GET /a.txt", &[], "").await.header("etag").to_owned();
        let held = match locks {
            true => format!("(<{}>)", ana.lock("/a.txt").await),
            false => "(Not <DAV:no-lock>)".to_owned(),
        };
        tree.edit("/a.txt", "one", "ONE").await;
        let path = if locks { "PUT /a.txt" } else { "PUT /a.txt?conflict=merge" };
        let headers = [("if", held.as_str()), ("if-match", &tag)];
        assert_eq!(ana.send(path, &headers, mine()).await.status, 204);
        assert_eq!(tree.text("/a.txt").await, "ONE\ntwo\nTHREE\n");
        // No tag is shown that it could take for that of its own content.
        assert_eq!(ana.send("HEAD /a.txt", &[], "").await.header("etag"), "");
        let listed = ana.send("PROPFIND /", &[("depth", "1")], "").await.body;
        assert!(!listed.contains("getetag"), "{listed}");
        let ben = tree.client("ben", "curl");
        let tag = ben.send("HEAD /a.txt", &[], "").await.header("etag").to_owned();
        let headers = [("if", held.as_str()), ("if-match", &tag)];
        let again = "one\nTWO\nTHREE\n";
        assert_eq!(ana.send("PUT /a.txt", &headers, again).await.status, 204, "{locks}");
        assert_eq!(tree.text("/a.txt").await, "ONE\nTWO\nTHREE\n", "{locks}");
        let tag = ben.send("HEAD /a.txt", &[], "").await.header("etag").to_owned();
        for (status, text) in [(200, "ONE\nTWO\nTHREE\n"), (304, "")] {
            let read = ana.send("GET /a.txt", &[("if-none-match", &tag)], "").await;
            assert_eq!((read.status, read.body.as_str()), (status, text));
        }
    }
}

/// Bytes do not merge. A client with a lock is not to lose what it has not read.
#[tokio::test]
async fn bytes_that_changed_under_a_lock_are_not_overwritten() {
    let tree = SharedTree::with(&[("/a.bin", "\0first")]).await;
    let ana = tree.client("ana", "Word");
    let token = ana.lock("/a.bin").await;
    let held = format!("(<{token}>)");
    ana.send("GET /a.bin", &[], "").await;
    assert_eq!(ana.send("PUT /a.bin", &[("if", &held)], "\0second").await.status, 204);
    assert_eq!(tree.client("ben", "vi").status("PUT /a.bin", "\0other").await, 423);
    yfs_vfs::FileSystemExt::write_text(&tree.fs, &"/a.bin".parse().unwrap(), "\0other")
        .await
        .unwrap();
    assert_eq!(ana.send("PUT /a.bin", &[("if", &held)], "\0third").await.status, 412);
    assert_eq!(tree.text("/a.bin").await, "\0other");
    ana.send("GET /a.bin", &[], "").await;
    assert_eq!(ana.send("PUT /a.bin", &[("if", &held)], "\0third").await.status, 204);
}

#[tokio::test]
async fn a_tag_in_an_if_header_is_a_base() {
    let tree = SharedTree::with(&[("/a.txt", TEXT)]).await;
    let (ana, ben) = (tree.client("ana", "vi"), tree.client("ben", "vi"));
    let tag = ben.send("GET /a.txt", &[], "").await.header("etag").to_owned();
    let condition = format!("([{tag}])");
    assert_eq!(ana.send("PUT /a.txt", &[("if", &condition)], mine()).await.status, 204);
    assert_eq!(ana.send("PUT /a.txt", &[("if", &condition)], "x").await.status, 412);
    assert_eq!(tree.text("/a.txt").await, mine());
}
