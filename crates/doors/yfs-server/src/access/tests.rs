//! Tokens that are issued, changed and revoked; and a filesystem that is limited to its grant.

use std::sync::Arc;

use axum::http::HeaderValue;
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::{path::VPath, time::Millis};
use yfs_store::MemoryStore;
use yfs_vfs::{
    FileSystem, FileSystemExt, FsCode, FsError, GlobQuery, GrepQuery, MoveOptions, RemoveOptions,
    WriteOptions,
};

use super::*;

fn grant(path: &str, rights: GrantRights) -> AccessGrant {
    let actor = "agent:tester".parse().unwrap();
    AccessGrant { path: VPath::parse(path).unwrap(), rights, ..AccessGrant::owner(actor) }
}

fn keys() -> TokenKeys {
    TokenKeys::of(Arc::new(MemoryStore::new()))
}

#[test]
fn a_token_grants_what_it_states_only_in_its_own_store() {
    let (keys, others) = (keys(), keys());
    let grant = grant("/docs", GrantRights::Read);
    let token = keys.issue(&grant).unwrap();
    assert_eq!(keys.check(&token).unwrap(), grant);
    assert_eq!(keys.issue(&grant).unwrap(), token);
    assert!(matches!(others.check(&token), Err(TokenError::Invalid)));
    for bad in ["", "yfs_", "yfs_.", "yfs_e30.e30", &token[4..], &format!("{token}A")] {
        assert!(matches!(keys.check(bad), Err(TokenError::Invalid)), "{bad}");
    }
    // No byte of it can be changed.
    for at in 0..token.len() {
        let mut bytes = token.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        // The last character has bits without a meaning; strict decoding refuses them, too.
        assert!(keys.check(&changed).is_err(), "{at}: {changed}");
    }
}

#[test]
fn tokens_expire_and_are_revoked() {
    let keys = keys();
    let ending = |at| AccessGrant { expires: Some(Millis(at)), ..grant("/", GrantRights::Write) };
    let check = |grant: &AccessGrant| keys.check(&keys.issue(grant).unwrap());
    assert!(matches!(check(&ending(1)), Err(TokenError::Expired)));
    assert!(check(&ending(i64::MAX)).is_ok());
    let one = AccessGrant { id: "one".to_owned(), ..grant("/", GrantRights::Write) };
    keys.revoke("one").unwrap();
    assert!(matches!(check(&one), Err(TokenError::Revoked)));
    let owner = keys.issue(&grant("/", GrantRights::Write)).unwrap();
    keys.revoke_all().unwrap();
    assert!(matches!(keys.check(&owner), Err(TokenError::Invalid)));
}

#[test]
fn a_token_is_found_wherever_a_client_can_put_it() {
    let headers = |name: header::HeaderName, value: &'static str| {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    };
    let bearer = headers(header::AUTHORIZATION, "bearer yfs_a.b");
    let protocol = headers(header::SEC_WEBSOCKET_PROTOCOL, "other, yfs-token.yfs_a.b");
    let none = HeaderMap::new();
    for (headers, query) in [(&bearer, None), (&protocol, None), (&none, Some("a=1&token=yfs_a.b"))]
    {
        assert_eq!(token_of(headers, query).as_deref(), Some("yfs_a.b"));
    }
    assert_eq!(token_of(&none, Some("tokens=1&atoken=2")), None);
}

#[tokio::test]
async fn a_scoped_filesystem_is_confined_to_its_directory() {
    let workspace =
        Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default()).unwrap();
    let path = |text: &str| VPath::parse(text).unwrap();
    let all = workspace.fs();
    for file in ["/in/a", "/out/b", "/inner/c"] {
        all.write(&path(file), "text".into(), &WriteOptions::default()).await.unwrap();
    }
    all.symlink("/out", &path("/in/away")).await.unwrap();
    all.symlink("../out/new", &path("/in/dangling")).await.unwrap();

    let fs = scoped(&workspace, &grant("/in", GrantRights::Write));
    fs.read(&path("/in/a")).await.unwrap();
    fs.write(&path("/in/deep/new"), "x".into(), &WriteOptions::default()).await.unwrap();
    let denied = |result: Result<(), FsError>| {
        assert_eq!(result.unwrap_err().code, FsCode::EACCES);
    };
    for file in ["/out/b", "/inner/c", "/in/../out/b", "/in/away/b", "/", "/none"] {
        denied(fs.read(&path(file)).await.map(drop));
    }
    for file in ["/out/new", "/in/away/new", "/in/dangling", "/in/away/deep/new"] {
        denied(fs.write(&path(file), "x".into(), &WriteOptions::default()).await.map(drop));
    }
    let options = MoveOptions::default();
    denied(fs.mv(&path("/in/a"), &path("/out/a"), &options).await);
    denied(fs.mv(&path("/out/b"), &path("/in/b"), &options).await);
    assert_eq!(all.readdir(&path("/out")).await.unwrap().len(), 1);

    let fs = scoped(&workspace, &grant("/", GrantRights::Read));
    fs.read(&path("/out/b")).await.unwrap();
    denied(fs.write(&path("/out/b"), "x".into(), &WriteOptions::default()).await.map(drop));
}

/// A token for a directory blinded an agent: it could not list the root, its searches from there
/// were refused, and `changes` listed the paths of all files.
#[tokio::test]
async fn an_agent_sees_the_way_to_its_directory() {
    let workspace =
        Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default()).unwrap();
    let path = |text: &str| VPath::parse(text).unwrap();
    let all = workspace.fs();
    let before = all.cursor().await.unwrap();
    for file in ["/team/in/a.txt", "/team/out/b.txt", "/c.txt"] {
        all.write(&path(file), "needle".into(), &WriteOptions::default()).await.unwrap();
    }
    for (grant, file) in [("/team/in", "/team/in/a.txt"), ("/team/in/a.txt", "/team/in/a.txt")] {
        let fs = for_agent(&workspace, &grant_of(grant), "label").unwrap();
        let names = async |at: &str| {
            let listed = fs.readdir(&path(at)).await.unwrap().into_iter();
            listed.map(|entry| entry.name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names("/").await, ["team"]);
        assert_eq!(names("/team").await, ["in"]);
        assert!(fs.stat(&path("/team")).await.unwrap().is_directory());
        let found = fs.grep(&GrepQuery::new("needle")).await.unwrap();
        let matching: Vec<&str> = found.files.iter().map(|found| found.path.as_str()).collect();
        assert_eq!(matching, [file]);
        let found = fs.glob(&GlobQuery::new("**/*.txt")).await.unwrap();
        let found: Vec<&str> = found.entries.iter().map(|found| found.path.as_str()).collect();
        assert_eq!(found, [file]);
        let walked = fs.walk(&VPath::root(), &Default::default()).await.unwrap();
        assert!(walked.iter().all(|found| path(file).starts_with(&found.path)), "{walked:?}");
        let changes = fs.changes(&before, &Default::default()).await.unwrap();
        let changed: Vec<&str> = changes.events.iter().map(|event| event.path.as_str()).collect();
        let is_seen =
            |changed: &&str| changed.starts_with(grant) || path(grant).starts_with(&path(changed));
        assert!(changed.iter().all(is_seen), "{changed:?}");
        assert!(changed.contains(&file), "{changed:?}");

        let refused = fs.read(&path("/c.txt")).await.unwrap_err();
        assert_eq!(refused.code, FsCode::EACCES);
        let reason = std::error::Error::source(&refused).unwrap().to_string();
        assert_eq!(
            reason,
            format!("permission denied for read on /c.txt; allowed is only {grant}")
        );
        // The way itself can neither be read nor changed, and the directory stays where it is.
        let denied = |result: Result<(), FsError>| {
            assert_eq!(result.unwrap_err().code, FsCode::EACCES);
        };
        denied(
            fs.rm(&path("/team"), &RemoveOptions { recursive: true, ..Default::default() }).await,
        );
        denied(fs.rm(&path(grant), &RemoveOptions { recursive: true, ..Default::default() }).await);
        denied(fs.mv(&path(grant), &path("/moved"), &MoveOptions::default()).await);
        let new = path("/team/new");
        denied(fs.write(&new, "x".into(), &WriteOptions::default()).await.map(drop));
    }
}

fn grant_of(directory: &str) -> AccessGrant {
    grant(directory, GrantRights::Write)
}
