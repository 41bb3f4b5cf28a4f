//! The tree as JSON: all files, with the guid under which each is synced.
//!
//! # Cost
//!
//! A client that has the listing of the present position of the log costs no walk.

use yfs::Workspace;
use yfs_dav::conditions::unchanged;
use yfs_engine::kind::profile_name;
use yfs_vfs::{FileKind, FileSystem, FileSystemExt, FsCode, WalkOptions};
use yfs_wire::{TreeEntryJson, TreeJson};

use crate::prelude::*;

/// Answers `GET /api/tree`. The entity tag is a hash of the answer, so that a client that has it
/// gets no second copy: of 10,000 files it is 1.2 MB.
pub(crate) async fn tree(caller: RequestCaller, headers: HeaderMap) -> Result {
    // Read before the listing: what changes meanwhile makes the next request list again.
    let position = apart(async { caller.confined().cursor().await }).await?;
    let known = caller.app.listings.at(&caller.grant.path, &position);
    if let Some(etag) = known.filter(|etag| unchanged(&headers, etag)) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, etag)]).into_response());
    }
    let tree = apart(async { list(&caller).await }).await?;
    let json = serde_json::to_vec(&tree).expect("strings and numbers are JSON");
    let etag = format!("\"{}\"", blake3::hash(&json).to_hex());
    caller.app.listings.insert(&caller.grant.path, position, &etag);
    if unchanged(&headers, &etag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, etag)]).into_response());
    }
    let fields = [(header::CONTENT_TYPE, "application/json".to_owned()), (header::ETAG, etag)];
    Ok((fields, json).into_response())
}

async fn list(caller: &RequestCaller) -> Result<TreeJson> {
    let workspace = &caller.app.workspace;
    let path = &caller.grant.path;
    let (files, (id, profile)) = (caller.confined(), identity_of(workspace));
    let found = match caller.fs().walk(path, &WalkOptions::default()).await {
        Ok(found) => found,
        // A token for one file lists it; what was removed since is in no list.
        Err(error) if error.code == FsCode::ENOTDIR => {
            return Ok(TreeJson {
                workspace: id,
                profile,
                entries: vec![list_file(caller).await?],
            });
        }
        Err(error) if error.code == FsCode::ENOENT && !path.is_root() => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let entries = found.into_iter().map(|found| {
        let info = match found.entry.kind {
            FileKind::File => workspace.documents().info_of(&found.entry.id),
            // The target of a link is found by its path.
            FileKind::Symlink => files.document(&found.path).ok(),
            _ => None,
        };
        TreeEntryJson {
            root: info.and_then(|info| info.root()),
            ..TreeEntryJson::new(&found.path, &found.entry)
        }
    });
    Ok(TreeJson { workspace: id, profile, entries: entries.collect() })
}

/// Describes the file that the token of the caller covers.
async fn list_file(caller: &RequestCaller) -> Result<TreeEntryJson> {
    let path = &caller.grant.path;
    let stat = caller.fs().stat(path).await?;
    let info = caller.confined().document(path).ok();
    Ok(TreeEntryJson {
        path: path.to_string(),
        guid: stat.id.to_string(),
        kind: stat.kind.into(),
        root: info.and_then(|info| info.root()),
        size: stat.size,
        mtime: stat.mtime.into(),
    })
}

fn identity_of(workspace: &Workspace) -> (String, &'static str) {
    (workspace.id().to_string(), profile_name(workspace.profile()))
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    use axum::http::HeaderValue;
    use yfs::WorkspaceOptions;
    use yfs_engine::{
        actor::{Actor, ActorKind},
        path::VPath,
    };
    use yfs_store::MemoryStore;
    use yfs_vfs::{
        WriteOptions,
        work_meter::{WorkMeter, metered},
    };

    use super::*;
    use crate::{access::AccessControl, document_access::tests::app};

    #[derive(Debug, Default)]
    struct ObjectCount(AtomicU64);

    impl WorkMeter for ObjectCount {
        fn count_objects(&self, n_objects: u64) {
            self.0.fetch_add(n_objects, Ordering::Relaxed);
        }
    }

    /// Asks for the tree; returns the status, the tag, and the number of objects that were listed.
    async fn ask(caller: RequestCaller, known: &str) -> (StatusCode, String, u64) {
        let (counted, mut headers) = (Arc::new(ObjectCount::default()), HeaderMap::new());
        headers.insert(header::IF_NONE_MATCH, HeaderValue::from_str(known).unwrap());
        let answer = metered(counted.clone(), tree(caller, headers)).await.unwrap();
        let etag = answer.headers()[header::ETAG].to_str().unwrap().to_owned();
        (answer.status(), etag, counted.0.load(Ordering::Relaxed))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_client_that_has_the_tree_costs_no_walk_until_it_changes() {
        let store = Arc::new(MemoryStore::new());
        let workspace = Workspace::create(store, WorkspaceOptions::default()).unwrap();
        let session = workspace.session(Actor::new(ActorKind::Agent, "ana"));
        let write = |name: &str, text: &str| {
            let path = VPath::parse(name).unwrap();
            session.write(&path, text.as_bytes(), &WriteOptions::default()).unwrap();
        };
        write("/a.txt", "one");
        write("/b.txt", "two");
        let app = app(&workspace, AccessControl::Open, 1);
        let caller = || {
            let grant = app.access.check("").unwrap();
            RequestCaller { grant, app: app.clone() }
        };
        let (status, etag, n_listed) = ask(caller(), "none").await;
        assert_eq!((status, n_listed), (StatusCode::OK, 2));
        assert_eq!(ask(caller(), &etag).await, (StatusCode::NOT_MODIFIED, etag.clone(), 0));
        write("/a.txt", "longer");
        let (status, changed, n_listed) = ask(caller(), &etag).await;
        assert_eq!((status, n_listed), (StatusCode::OK, 2));
        assert_ne!(changed, etag);
        assert_eq!(ask(caller(), &changed).await, (StatusCode::NOT_MODIFIED, changed, 0));
    }
}
