//! Locks between clients.

use std::time::Duration;

use crate::dav_client::{LOCK, SharedTree, check};

#[tokio::test]
async fn a_lock_keeps_others_out_and_is_shown() {
    let tree = SharedTree::with(&[("/d/a.txt", "a"), ("/d/b.txt", "b"), ("/c.txt", "c")]).await;
    let (ana, ben) = (tree.client("ana", "curl"), tree.client("ben", "curl"));
    let token = ana.lock("/d/a.txt").await;
    let shown = ben.send("PROPFIND /d/a.txt", &[("depth", "0")], "").await.body;
    assert!(shown.contains(&token) && shown.contains("ana &amp; ben"), "{shown}");
    let set = "<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop><x>1</x></D:prop></D:set>\
               </D:propertyupdate>";
    check(
        &ben,
        &[
            ("PUT /d/a.txt", &[], "ben", 423),
            ("PROPPATCH /d/a.txt", &[], set, 423),
            ("DELETE /d/a.txt", &[], "", 423),
            ("DELETE /d", &[], "", 423),
            ("MOVE /d", &[("destination", "/dav/e")], "", 423),
            ("MOVE /d/a.txt", &[("destination", "/dav/e")], "", 423),
            ("MOVE /c.txt", &[("destination", "/dav/d/a.txt")], "", 423),
            ("COPY /c.txt", &[("destination", "/dav/d/a.txt")], "", 423),
            ("LOCK /d/a.txt", &[], LOCK, 423),
            ("LOCK /d", &[], LOCK, 423),
            ("LOCK /d", &[("depth", "0")], LOCK, 200),
            ("COPY /d/a.txt", &[("destination", "/dav/copy.txt")], "", 201),
            ("GET /d/a.txt", &[], "", 200),
            ("PUT /d/b.txt", &[], "ben", 204),
            ("UNLOCK /d/a.txt", &[("lock-token", &format!("<{token}>"))], "", 409),
            ("UNLOCK /d/a.txt", &[("lock-token", &token)], "", 400),
            ("UNLOCK /d/a.txt", &[], "", 400),
        ],
    )
    .await;
    // Ben's lock of the directory protects its names, not its contents.
    check(
        &ana,
        &[
            ("PUT /d/b.txt", &[], "ana", 204),
            ("PUT /d/new.txt", &[], "ana", 423),
            ("DELETE /d/b.txt", &[], "", 423),
            ("UNLOCK /d/a.txt", &[("lock-token", &format!("<{token}>"))], "", 204),
            ("UNLOCK /d/a.txt", &[("lock-token", &format!("<{token}>"))], "", 409),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_lock_lasts_as_long_as_it_is_refreshed() {
    let tree = SharedTree::with(&[("/a.txt", "a")]).await;
    let (ana, ben) = (tree.client("ana", "curl"), tree.client("ben", "curl"));
    let token = ana.lock("/a.txt").await;
    let held = format!("(<{token}>)");
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(500)).await;
        let refreshed = ana.send("LOCK /a.txt", &[("if", &held)], "").await;
        assert!(refreshed.status == 200 && refreshed.body.contains(&token), "{refreshed:?}");
        assert_eq!(ben.status("PUT /a.txt", "ben").await, 423);
    }
    tokio::time::sleep(Duration::from_secs(601)).await;
    assert_eq!(ana.send("LOCK /a.txt", &[("if", &held)], "").await.status, 412);
    assert_eq!(ben.status("PUT /a.txt", "ben").await, 204);
    assert_eq!(ana.status("LOCK /a.txt", "").await, 400);
}

#[tokio::test]
async fn a_lock_of_a_free_name_makes_an_empty_file_and_goes_with_it() {
    let tree = SharedTree::with(&[]).await;
    let (ana, ben) = (tree.client("ana", "curl"), tree.client("ben", "curl"));
    assert_eq!(ana.send("LOCK /none/new.txt", &[], LOCK).await.status, 409);
    let token = ana.lock("/new.txt").await;
    assert_eq!(tree.text("/new.txt").await, "");
    assert_eq!(ben.status("PUT /new.txt", "ben").await, 423);
    let held = format!("<http://dav.example/dav/new.txt> (<{token}>)");
    let to = [("if", held.as_str()), ("destination", "/dav/moved.txt")];
    assert_eq!(ana.send("MOVE /new.txt", &to, "").await.status, 201);
    // The lock was of the name, and is over.
    check(&ben, &[("PUT /moved.txt", &[], "x", 204), ("PUT /new.txt", &[], "x", 201)]).await;
}

#[tokio::test]
async fn if_headers_decide() {
    let tree = SharedTree::with(&[("/a.txt", "a"), ("/b.txt", "b")]).await;
    let ana = tree.client("ana", "curl");
    let token = ana.lock("/a.txt").await;
    let tag = ana.send("GET /a.txt", &[], "").await.header("etag").to_owned();
    let on_other = format!("<http://dav.example/dav/b.txt> (<{token}>)");
    let on_this = format!("<http://dav.example/dav/a.txt> (<{token}>)");
    check(
        &ana,
        &[
            ("PUT /a.txt", &[("if", &format!("(<{token}> [{tag}])"))], "a", 204),
            ("PUT /a.txt", &[("if", &format!("(<{token}> [\"x:y\"])"))], "1", 412),
            (
                "PUT /a.txt",
                &[("if", &format!("(<{token}> [\"x:y\"]) (Not <DAV:no-lock> <{token}>)"))],
                "2",
                204,
            ),
            ("PUT /a.txt", &[("if", "(<DAV:no-lock>)")], "3", 412),
            ("PUT /a.txt", &[("if", "(Not <DAV:no-lock>)")], "3", 423),
            ("PUT /a.txt", &[("if", &on_other)], "3", 412),
            ("PUT /b.txt", &[("if", &on_this)], "3", 204),
            ("DELETE /a.txt", &[("if", "<http://other.example/dav/a.txt> (<urn:x>)")], "", 412),
            ("DELETE /a.txt", &[("if", &on_this)], "", 204),
        ],
    )
    .await;
}
