//! Properties.

use crate::dav_client::{SharedTree, check};

fn named(properties: &str) -> String {
    format!("<D:propfind xmlns:D='DAV:'><D:prop>{properties}</D:prop></D:propfind>")
}

fn set(properties: &str) -> String {
    format!(
        "<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop>{properties}</D:prop></D:set>\
         </D:propertyupdate>"
    )
}

#[tokio::test]
async fn objects_have_live_properties() {
    let tree = SharedTree::with(&[("/d/a b.md", "four")]).await;
    let ana = tree.client("ana", "curl");
    let all = ana.send("PROPFIND /d/", &[("depth", "1")], "").await;
    assert_eq!((all.status, all.header("content-type")), (207, "application/xml; charset=utf-8"));
    let tag = ana.send("HEAD /d/a%20b.md", &[], "").await.header("etag").replace('"', "&quot;");
    for expected in [
        "<D:href>/dav/d/</D:href>",
        "<D:resourcetype><D:collection/></D:resourcetype>",
        "<D:href>/dav/d/a%20b.md</D:href>",
        "<D:getcontentlength>4</D:getcontentlength>",
        "<D:getcontenttype>text/markdown</D:getcontenttype>",
        "<D:displayname>a b.md</D:displayname>",
        &format!("<D:getetag>{tag}</D:getetag>"),
        "<D:lockentry>",
        "<D:resourcetype></D:resourcetype>",
    ] {
        assert!(all.body.contains(expected), "{expected}: {}", all.body);
    }
    assert_eq!(all.body.matches("<D:response>").count(), 2);
    let asked = named("<D:getetag/><x xmlns='urn:x'/>");
    let one = ana.send("PROPFIND /d", &[("depth", "0")], &asked).await.body;
    assert!(one.contains("404 Not Found") && !one.contains("200 OK"), "{one}");
    let twice = named("<D:getcontentlength/><D:getcontentlength/>");
    let twice = ana.send("PROPFIND /d/a%20b.md", &[("depth", "0")], &twice).await.body;
    assert_eq!(twice.matches("<D:getcontentlength>").count(), 1, "{twice}");
    let names = "<D:propfind xmlns:D='DAV:'><D:propname/></D:propfind>";
    let names = ana.send("PROPFIND /d/a%20b.md", &[("depth", "0")], names).await.body;
    assert!(names.contains("<D:getetag></D:getetag>"), "{names}");
}

#[tokio::test]
async fn whole_trees_are_not_listed() {
    let tree = SharedTree::with(&[("/d/a.md", "a")]).await;
    let ana = tree.client("ana", "curl");
    for headers in [&[("depth", "infinity")][..], &[]] {
        let refused = ana.send("PROPFIND /d", headers, "").await;
        assert!(refused.status == 403 && refused.body.contains("<D:propfind-finite-depth/>"));
    }
    check(
        &ana,
        &[
            ("PROPFIND /d", &[("depth", "2")], "", 400),
            ("PROPFIND /d/a.md", &[("depth", "infinity")], "", 207),
            ("PROPFIND /none", &[("depth", "0")], "", 404),
            ("PROPFIND /d", &[("depth", "0")], "<a/>", 400),
            ("PROPFIND /d", &[("depth", "0")], "<propfind xmlns='DAV:'/>", 400),
        ],
    )
    .await;
}

#[tokio::test]
async fn dead_properties_stay_through_copies_and_moves() {
    let tree = SharedTree::with(&[("/a.txt", "a")]).await;
    let ana = tree.client("ana", "curl");
    let value = "<e:author xmlns:e='urn:e' xml:lang='de'>Ana &lt;<e:b n='1'/></e:author>";
    assert_eq!(ana.status("PROPPATCH /a.txt", &set(value)).await, 207);
    check(
        &ana,
        &[
            ("COPY /a.txt", &[("destination", "/dav/b.txt")], "", 201),
            ("MOVE /a.txt", &[("destination", "/dav/c.txt")], "", 201),
            ("PUT /c.txt", &[], "changed", 204),
        ],
    )
    .await;
    let expected = "<author xmlns=\"urn:e\" xml:lang=\"de\">Ana &lt;\
                    <b xmlns=\"urn:e\" n=\"1\"></b></author>";
    for path in ["/b.txt", "/c.txt"] {
        let (head, asked) = (format!("PROPFIND {path}"), named("<author xmlns='urn:e'/>"));
        let found = ana.send(&head, &[("depth", "0")], &asked).await.body;
        assert!(found.contains(expected), "{found}");
        let all = ana.send(&head, &[("depth", "0")], "").await.body;
        assert!(all.contains(expected), "{all}");
    }
    let remove = "<D:propertyupdate xmlns:D='DAV:'><D:remove><D:prop><author xmlns='urn:e'/>\
                  </D:prop></D:remove></D:propertyupdate>";
    assert_eq!(ana.status("PROPPATCH /b.txt", remove).await, 207);
    let stat = yfs_vfs::FileSystem::stat(&tree.fs, &"/b.txt".parse().unwrap()).await.unwrap();
    assert!(stat.metadata.is_empty());
}

#[tokio::test]
async fn a_refused_change_of_properties_changes_none() {
    let tree = SharedTree::with(&[("/a.txt", "a")]).await;
    let ana = tree.client("ana", "curl");
    let refused = ana.send("PROPPATCH /a.txt", &[], &set("<x>1</x><D:getetag>2</D:getetag>")).await;
    assert_eq!(refused.status, 207);
    assert!(refused.body.contains("403 Forbidden") && refused.body.contains("424 Failed"));
    let many: String = (0..300).map(|n| format!("<p{n}/>")).collect();
    let large = format!("<x>{}</x>", "x".repeat(40 << 10));
    check(
        &ana,
        &[
            ("PROPPATCH /a.txt", &[], &set(&many), 507),
            ("PROPPATCH /a.txt", &[], &set(&large), 507),
            ("PROPPATCH /a.txt", &[], "<a/>", 400),
            ("PROPPATCH /a.txt", &[], "", 400),
            ("PROPPATCH /none.txt", &[], &set("<x/>"), 404),
        ],
    )
    .await;
    let stat = yfs_vfs::FileSystem::stat(&tree.fs, &"/a.txt".parse().unwrap()).await.unwrap();
    assert!(stat.metadata.is_empty());
}
