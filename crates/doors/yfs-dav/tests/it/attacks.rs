//! Requests that are meant to do harm.

use crate::dav_client::{LOCK, SharedTree, check};

#[tokio::test]
async fn paths_lead_nowhere_else() {
    let tree = SharedTree::with(&[("/d/a.txt", "a")]).await;
    let ana = tree.client("ana", "curl");
    let long = format!("PUT /{}", "x".repeat(300));
    let longer = format!("PUT /{}", "x/".repeat(3_000));
    let to = |url: &'static str| [("destination", url)];
    for head in [
        "GET /../d/a.txt",
        "GET /d/%2e%2e/d/a.txt",
        "GET /d%2fa.txt",
        "GET /d/a.txt%00",
        "GET /%ff",
        "PUT /d/..%2f..%2fx",
        "MKCOL /d/%00",
        "DELETE /d/..",
        "PROPFIND /./",
        &long,
        &longer,
    ] {
        assert_eq!(ana.status(head, "").await, 400, "{head}");
    }
    for (url, status) in [
        ("http://other.example/dav/x.txt", 502),
        ("https://dav.example:444/dav/x.txt", 502),
        ("/dav/../x.txt", 400),
        ("/dav/%2e%2e/x.txt", 400),
        ("/dav/x%2fy.txt", 400),
        ("/api/files/x.txt", 400),
        ("x.txt", 400),
        ("", 400),
    ] {
        for method in ["COPY", "MOVE"] {
            let answer = ana.send(&format!("{method} /d/a.txt"), &to(url), "").await;
            assert_eq!(answer.status, status, "{method} {url}: {answer:?}");
        }
    }
    assert_eq!(tree.text("/d/a.txt").await, "a");
}

#[tokio::test]
async fn bodies_do_not_expand() {
    let tree = SharedTree::with(&[("/a.txt", "a")]).await;
    let ana = tree.client("ana", "curl");
    let bomb = "<!DOCTYPE p [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">\
                ]><propfind xmlns=\"DAV:\"><prop>&b;</prop></propfind>";
    let file = "<!DOCTYPE p [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>\
                <propfind xmlns=\"DAV:\"><prop>&a;</prop></propfind>";
    let deep = "<a>".repeat(50_000);
    let many: String = (0..1_000).map(|n| format!("<p{n}/>")).collect();
    let many = format!("<propfind xmlns='DAV:'><prop>{many}</prop></propfind>");
    let owner = LOCK.replace("ana", &"a".repeat(10_000));
    check(
        &ana,
        &[
            ("PROPFIND /", &[("depth", "0")], bomb, 400),
            ("PROPFIND /", &[("depth", "0")], file, 400),
            ("PROPFIND /", &[("depth", "0")], &deep, 400),
            ("PROPFIND /", &[("depth", "0")], &many, 400),
            ("PROPPATCH /a.txt", &[], bomb, 400),
            ("LOCK /a.txt", &[], bomb, 400),
            ("LOCK /a.txt", &[], &owner, 400),
            ("LOCK /a.txt", &[], "<lockinfo xmlns='DAV:'/>", 400),
            ("LOCK /a.txt", &[("depth", "1")], LOCK, 400),
        ],
    )
    .await;
}

#[tokio::test]
async fn conditions_are_bounded() {
    let tree = SharedTree::with(&[("/a.txt", "a")]).await;
    let ana = tree.client("ana", "curl");
    let long = format!("(<{}>)", "x".repeat(1 << 20));
    let many = "(<a>)".repeat(2_000);
    for value in [long.as_str(), &many, "(", "()", "nonsense"] {
        let answer = ana.send("PUT /a.txt", &[("if", value)], "x").await;
        assert_eq!(answer.status, 400);
    }
    assert_eq!(tree.text("/a.txt").await, "a");
}

#[tokio::test]
async fn locks_are_bounded() {
    let tree = SharedTree::with(&[("/a.txt", "a")]).await;
    let ana = tree.client("ana", "curl");
    let shared = LOCK.replace("exclusive", "shared");
    for _ in 0..1_024 {
        assert_eq!(ana.status("LOCK /a.txt", &shared).await, 200);
    }
    assert_eq!(ana.status("LOCK /a.txt", &shared).await, 507);
    assert_eq!(ana.status("LOCK /new.txt", &shared).await, 507);
    assert!(!tree.exists("/new.txt").await, "a refused lock makes no file");
    assert_eq!(tree.client("ben", "curl").status("LOCK /a.txt", &shared).await, 200);
}
