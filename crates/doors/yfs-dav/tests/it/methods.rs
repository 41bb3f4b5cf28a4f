//! The methods, one by one.

use crate::dav_client::{SharedTree, check};

#[tokio::test]
async fn options_names_the_classes() {
    let tree = SharedTree::with(&[]).await;
    let answer = tree.client("ana", "curl").send("OPTIONS /", &[], "").await;
    assert_eq!((answer.status, answer.header("dav")), (200, "1, 2, 3"));
    assert_eq!(answer.header("ms-author-via"), "DAV");
    assert!(answer.header("allow").contains("PROPPATCH"));
    assert_eq!(tree.client("ana", "curl").status("POST /a", "").await, 405);
}

#[tokio::test]
async fn contents_are_read_whole_in_part_and_if_they_changed() {
    let tree = SharedTree::with(&[("/a.md", "0123456789")]).await;
    let ana = tree.client("ana", "curl");
    let whole = ana.send("GET /a.md", &[], "").await;
    assert_eq!((whole.status, &*whole.body), (200, "0123456789"));
    assert_eq!(whole.header("content-type"), "text/markdown; charset=utf-8");
    assert!(whole.header("last-modified").ends_with(" GMT"));
    let tag = whole.header("etag").to_owned();
    let part = ana.send("GET /a.md", &[("range", "bytes=2-4")], "").await;
    assert_eq!((part.status, &*part.body), (206, "234"));
    assert_eq!(part.header("content-range"), "bytes 2-4/10");
    let beyond = ana.send("GET /a.md", &[("range", "bytes=10-")], "").await;
    assert_eq!((beyond.status, beyond.header("content-range")), (416, "bytes */10"));
    let same = ana.send("GET /a.md", &[("if-none-match", &tag)], "").await;
    assert_eq!((same.status, same.header("etag")), (304, &*tag));
    let head = ana.send("HEAD /a.md", &[], "").await;
    assert_eq!((head.header("content-length"), &*head.body), ("10", ""));
    assert_eq!(ana.status("GET /", "").await, 200);
    assert_eq!(ana.status("GET /none", "").await, 404);
}

/// A long file is a blob, which is read in pieces.
#[tokio::test]
async fn long_contents_come_in_pieces() {
    let tree = SharedTree::with(&[]).await;
    let ana = tree.client("ana", "curl");
    let content = "0123456789abcdef".repeat(400_000);
    assert_eq!(ana.status("PUT /long.bin", &content).await, 201);
    let whole = ana.send("GET /long.bin", &[], "").await;
    assert!(whole.body == content && whole.header("content-length") == "6400000");
    let part = ana.send("GET /long.bin", &[("range", "bytes=3-5000002")], "").await;
    assert!(part.status == 206 && part.body == content[3..5_000_003]);
}

#[tokio::test]
async fn structure_is_changed() {
    let tree = SharedTree::with(&[("/d/a.txt", "a"), ("/b.txt", "b"), ("/e/x.txt", "x")]).await;
    let ana = tree.client("ana", "curl");
    let keep: &[_] = &[("destination", "/dav/b.txt"), ("overwrite", "F")];
    check(
        &ana,
        &[
            ("MKCOL /new", &[], "", 201),
            ("MKCOL /new", &[], "", 405),
            ("MKCOL /", &[], "", 405),
            ("MKCOL /none/new", &[], "", 409),
            ("MKCOL /b.txt/new", &[], "", 409),
            ("MKCOL /other", &[], "<a/>", 415),
            ("PUT /new/c.txt", &[], "c", 201),
            ("PUT /none/c.txt", &[], "c", 409),
            ("PUT /new", &[], "c", 405),
            ("PUT /new/c.txt", &[("content-range", "bytes 0-1/2")], "c", 400),
            ("MOVE /d/a.txt", keep, "", 412),
            ("COPY /d/a.txt", keep, "", 412),
            ("MOVE /d/a.txt", &[], "", 400),
            ("MOVE /d/a.txt", &[("destination", "/dav/b.txt"), ("overwrite", "x")], "", 400),
            ("MOVE /d/a.txt", &[("destination", "/dav/none/b.txt")], "", 409),
            ("MOVE /d", &[("destination", "/dav/d/below")], "", 403),
            ("MOVE /d", &[("destination", "/dav/d")], "", 403),
            ("COPY /d/a.txt", &[("destination", "/dav/d")], "", 403),
            ("MOVE /none", &[("destination", "/dav/x")], "", 404),
            ("MOVE /d", &[("destination", "/dav/x"), ("depth", "0")], "", 400),
            ("COPY /d", &[("destination", "/dav/flat"), ("depth", "0")], "", 201),
            ("COPY /d", &[("destination", "http://dav.example/dav/deep/")], "", 201),
            ("COPY /d", &[("destination", "/dav/e")], "", 204),
            ("DELETE /d", &[("depth", "0")], "", 400),
            ("DELETE /d", &[("if-match", "\"other:tag\"")], "", 412),
            ("DELETE /none", &[], "", 404),
            ("DELETE /", &[], "", 409),
        ],
    )
    .await;
    assert!(!tree.exists("/flat/a.txt").await && tree.exists("/deep/a.txt").await);
    assert!(!tree.exists("/e/x.txt").await && tree.exists("/e/a.txt").await);
    // What a copy replaced is in the trash, and what is deleted.
    assert_eq!(tree.n_trashed(), 1);
    assert_eq!(ana.status("DELETE /d", "").await, 204);
    assert_eq!(tree.n_trashed(), 2);
    assert!(!tree.exists("/d").await);
}

#[tokio::test]
async fn a_file_that_another_takes_the_place_of_keeps_its_identity() {
    let tree = SharedTree::with(&[("/a.txt", "new"), ("/b.txt", "old"), ("/c.txt", "c")]).await;
    let ana = tree.client("ana", "curl");
    let id = tree.id("/b.txt").await;
    for (head, expected) in [("MOVE /a.txt", "new"), ("COPY /c.txt", "c")] {
        let to = [("destination", "/dav/b.txt"), ("overwrite", "T")];
        assert_eq!(ana.send(head, &to, "").await.status, 204);
        assert_eq!(
            (tree.text("/b.txt").await.as_str(), tree.id("/b.txt").await),
            (expected, id.clone())
        );
    }
}

#[tokio::test]
async fn a_reader_changes_nothing() {
    let tree = SharedTree::with(&[("/a.txt", "a"), ("/d/b.txt", "b")]).await;
    let set = "<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop><x>1</x></D:prop></D:set>\
               </D:propertyupdate>";
    let same = "<D:propertyupdate xmlns:D='DAV:'><D:remove><D:prop><x/></D:prop></D:remove>\
                </D:propertyupdate>";
    check(
        &tree.reader(),
        &[
            ("GET /a.txt", &[], "", 200),
            ("PROPFIND /", &[("depth", "1")], "", 207),
            ("PUT /a.txt", &[], "b", 403),
            ("PUT /a.txt", &[], "", 403),
            ("PUT /new.txt", &[], "b", 403),
            ("PUT /._a.txt", &[], "b", 403),
            ("DELETE /a.txt", &[], "", 403),
            ("MKCOL /new", &[], "", 403),
            ("MOVE /a.txt", &[("destination", "/dav/x.txt")], "", 403),
            ("COPY /a.txt", &[("destination", "/dav/x.txt")], "", 403),
            ("COPY /a.txt", &[("destination", "/dav/d")], "", 403),
            ("PROPPATCH /a.txt", &[], set, 403),
            ("PROPPATCH /a.txt", &[], same, 403),
            ("LOCK /a.txt", &[], crate::dav_client::LOCK, 403),
            ("LOCK /new.txt", &[], crate::dav_client::LOCK, 403),
        ],
    )
    .await;
    assert_eq!((tree.text("/a.txt").await.as_str(), tree.n_trashed()), ("a", 0));
    assert!(!tree.exists("/new.txt").await && !tree.exists("/new").await);
}
