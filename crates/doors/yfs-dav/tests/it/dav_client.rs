//! A workspace, and clients of it.

use std::sync::Arc;

use futures::StreamExt;
use http::{HeaderMap, StatusCode};
use yfs::{Workspace, WorkspaceFs, WorkspaceOptions};
use yfs_dav::{DavBody, DavCaller, DavContent, DavError, DavResponse, DavService};
use yfs_store::MemoryStore;
use yfs_types::{id::FileId, path::VPath};
use yfs_vfs::{FileSystem, FileSystemExt};

/// A workspace that is open to WebDAV.
#[derive(Debug)]
pub(crate) struct SharedTree {
    pub(crate) fs: WorkspaceFs,
    workspace: Workspace,
    service: Arc<DavService>,
}

/// A client of WebDAV.
#[derive(Debug)]
pub(crate) struct DavTestClient {
    caller: DavCaller,
    service: Arc<DavService>,
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl SharedTree {
    /// Makes a workspace with these files.
    pub(crate) async fn with(files: &[(&str, &str)]) -> Self {
        let store = Arc::new(MemoryStore::new());
        let workspace = Workspace::create(store, WorkspaceOptions::default()).unwrap();
        let fs = workspace.fs();
        for (path, text) in files {
            fs.write_text(&path.parse().unwrap(), text).await.unwrap();
        }
        Self { fs, workspace, service: Arc::new(DavService::new("/dav")) }
    }

    /// Returns a client: a credential and a program.
    pub(crate) fn client(&self, credential: &str, program: &str) -> DavTestClient {
        let caller = DavCaller::new(Arc::new(self.fs.clone()), credential, program);
        DavTestClient { caller, service: self.service.clone() }
    }

    /// Returns a client that may only read.
    pub(crate) fn reader(&self) -> DavTestClient {
        let fs = Arc::new(yfs_vfs::ReadOnlyFs::wrap(Arc::new(self.fs.clone())));
        let caller = DavCaller::new(fs, "reader", "curl").read_only();
        DavTestClient { caller, service: self.service.clone() }
    }

    /// Returns the text of a file.
    pub(crate) async fn text(&self, path: &str) -> String {
        let content = self.fs.read(&path.parse().unwrap()).await.unwrap();
        String::from_utf8(content.data.to_vec()).unwrap()
    }

    /// Replaces a text in a file, as another way into the workspace does.
    pub(crate) async fn edit(&self, path: &str, old: &str, new: &str) {
        let edit = yfs_vfs::TextReplacement::once(old, new);
        self.fs.edit(&path.parse().unwrap(), &edit).await.unwrap();
    }

    pub(crate) async fn id(&self, path: &str) -> FileId {
        self.fs.stat(&path.parse().unwrap()).await.unwrap().id
    }

    pub(crate) async fn exists(&self, path: &str) -> bool {
        self.fs.exists(&path.parse::<VPath>().unwrap()).await
    }

    /// Returns the number of nodes in the trash.
    pub(crate) fn n_trashed(&self) -> usize {
        self.workspace.trash().list().unwrap().len()
    }
}

impl DavTestClient {
    /// Sends a request, such as `PUT /a.txt`, with headers.
    pub(crate) async fn send(&self, head: &str, headers: &[(&str, &str)], body: &str) -> Answered {
        let (method, path) = head.split_once(' ').unwrap();
        let mut request = http::Request::builder().method(method).uri(format!("/dav{path}"));
        request = request.header("host", "dav.example");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let parts = request.body(()).unwrap().into_parts().0;
        let content = DavContent::from(bytes::Bytes::copy_from_slice(body.as_bytes()));
        if DavService::takes_file(&parts.method)
            && let Err(error) = self.service.expect_content(&self.caller, &parts).await
        {
            return Answered::of(error.into_response()).await;
        }
        let answer = self.service.handle(&self.caller, &parts, content).await;
        Answered::of(answer.unwrap_or_else(DavError::into_response)).await
    }

    /// Sends a request without headers and returns the status.
    pub(crate) async fn status(&self, head: &str, body: &str) -> u16 {
        self.send(head, &[], body).await.status
    }

    /// Takes an exclusive lock, and returns its token.
    pub(crate) async fn lock(&self, path: &str) -> String {
        let locked = self.send(&format!("LOCK {path}"), &[("depth", "0")], LOCK).await;
        assert!([200, 201].contains(&locked.status), "{locked:?}");
        locked.header("lock-token").trim_matches(['<', '>']).to_owned()
    }
}

/// A request with its headers and its body, and the status that is expected.
pub(crate) type RequestRow<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, u16);

/// The body that asks for an exclusive lock.
pub(crate) const LOCK: &str = "<?xml version='1.0'?><D:lockinfo xmlns:D='DAV:'><D:lockscope>\
    <D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner>ana &amp; ben\
    </D:owner></D:lockinfo>";

impl Answered {
    async fn of(response: DavResponse) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = match body {
            DavBody::Bytes(bytes) => bytes.to_vec(),
            DavBody::Stream(pieces) => {
                let pieces: Vec<_> = pieces.map(Result::unwrap).collect().await;
                pieces.concat()
            }
        };
        let body = String::from_utf8(bytes).unwrap();
        Self { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    /// Returns a header, or nothing as the empty text.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// Sends requests in their order and compares the statuses.
pub(crate) async fn check(client: &DavTestClient, table: &[RequestRow<'_>]) {
    for (head, headers, body, expected) in table {
        let answer = client.send(head, headers, body).await;
        assert_eq!(answer.status, *expected, "{head} {headers:?}: {answer:?}");
        assert_ne!(answer.status, StatusCode::INTERNAL_SERVER_ERROR.as_u16());
    }
}
