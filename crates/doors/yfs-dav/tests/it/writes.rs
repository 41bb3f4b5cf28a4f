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
