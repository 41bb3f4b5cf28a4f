//! Tests of the hooks.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use parking_lot::Mutex;
use yfs_conformance::file_system::{self as conformance, BackendCapabilities, script};
use yfs_types::path::VPath;
use yfs_vfs::{
    FileSystem, FileSystemExt, FsCode, FsError, MemoryFs, TextReplacement,
    guarded_fs::{FsGuard, GuardedCall, GuardedFs},
};

use super::*;

fn parse(path: &str) -> VPath {
    path.parse().expect("a path")
}

fn quota(max_bytes: u64, max_files: u64) -> Arc<dyn FileSystem> {
    let hook = Arc::new(StorageQuota { max_bytes, max_files }) as Arc<dyn WriteHook>;
    Arc::new(HookedFs::new(Arc::new(MemoryFs::new()), WriteHooks::new([hook])))
}

/// A guard that lets other tasks run between a check and the change.
#[derive(Debug)]
struct YieldingGuard;

#[async_trait]
impl FsGuard for YieldingGuard {
    async fn check_call(&self, call: &GuardedCall<'_>) -> Result<Option<FsError>, FsError> {
        if call.writes {
            tokio::task::yield_now().await;
        }
        Ok(None)
    }
}

fn no_secrets() -> Arc<dyn FileSystem> {
    let check = ContentCheck::new(|path, content| {
        let is_public = path.starts_with(&parse("/public"));
        let has_secret = content.windows(6).any(|window| window == b"SECRET");
        if is_public && has_secret { Err("it holds a secret".to_owned()) } else { Ok(()) }
    });
    let hooks = WriteHooks::new([Arc::new(check) as Arc<dyn WriteHook>]);
    Arc::new(HookedFs::new(Arc::new(MemoryFs::new()), hooks))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hooked_filesystem_conforms() {
    let make = async || {
        let hooks: [Arc<dyn WriteHook>; 2] = [
            Arc::new(StorageQuota { max_bytes: u64::MAX, max_files: u64::MAX }),
            Arc::new(ContentCheck::new(|_, _| Ok(()))),
        ];
        Arc::new(HookedFs::new(Arc::new(MemoryFs::new()), WriteHooks::new(hooks)))
            as Arc<dyn FileSystem>
    };
    conformance::run(make, BackendCapabilities::ALL).await.assert();
}

#[tokio::test]
async fn a_quota_refuses_what_exceeds_it_and_changes_nothing() {
    let script = "
        write /a 12345
        write /b 123456 !! ENOSPC
        write /b 12345
        append /b 1 !! ENOSPC
        edit /b 1 22 !! ENOSPC
        cp /a /c !! ENOSPC
        cp /a /b
        write /a 1
        append /b 1234
        edit /b 5 6
        write /c/d \"\" !! ENOSPC
        rm /a
        write /c/d 1
        mv /c/d /e
        write /f 1 !! ENOSPC";
    script::check(&quota(10, 2), script).await.unwrap();
    let error = quota(1, 9).write_text(&parse("/a"), "12").await.unwrap_err();
    assert_eq!(error.to_string(), "ENOSPC: no space left on device, open '/a'");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_quota_is_exact_under_concurrency() {
    let inner = GuardedFs::new(Arc::new(MemoryFs::new()), YieldingGuard);
    let hook = Arc::new(StorageQuota { max_bytes: 100, max_files: 50 }) as Arc<dyn WriteHook>;
    let fs: Arc<dyn FileSystem> = Arc::new(HookedFs::new(Arc::new(inner), WriteHooks::new([hook])));
    let tasks: Vec<_> = (0..40)
        .map(|number| {
            let fs = fs.clone();
            tokio::spawn(async move {
                let path = parse(&format!("/f{}", number % 20));
                fs.append(&path, "123456789".into(), &Default::default()).await.is_ok()
            })
        })
        .collect();
    let mut n_written = 0;
    for task in tasks {
        n_written += u64::from(task.await.unwrap());
    }
    let totals = fs.totals(&parse("/")).await.unwrap();
    // As many as fit, and each is whole.
    assert_eq!((n_written, totals.n_bytes), (11, 99));
}

#[tokio::test]
async fn a_content_check_sees_the_content_that_a_change_makes() {
    let script = "
        write /own SECRET
        write /public/a SECRET !! EACCES
        write /public/a SEC
        append /public/a RET !! EACCES
        edit /public/a SEC SECRET !! EACCES
        cp /own /public/b !! EACCES
        mv /own /public/b !! EACCES
        mkdir /dir
        mv /own /dir/own
        cp -r /dir /public/dir !! EACCES
        mv /dir /public/dir !! EACCES
        append /public/a URE
        cat /public/a => SECURE";
    script::check(&no_secrets(), script).await.unwrap();
    let error = no_secrets().write_text(&parse("/public/x"), "SECRET").await.unwrap_err();
    let cause = std::error::Error::source(&error).map(ToString::to_string);
    assert_eq!(cause.as_deref(), Some("the content is rejected: it holds a secret"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_edits_of_a_hooked_file_all_land() {
    let fs = no_secrets();
    let lines: Vec<String> = (0..20).map(|number| format!("<{number}>")).collect();
    fs.write_text(&parse("/public/f"), &lines.join("\n")).await.unwrap();
    let tasks: Vec<_> = lines
        .iter()
        .map(|line| {
            let (fs, line) = (fs.clone(), line.clone());
            tokio::spawn(async move {
                let edit = TextReplacement::once(line.clone(), line.replace('<', "<<"));
                fs.edit(&parse("/public/f"), &edit).await.unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let text = fs.read_to_string(&parse("/public/f")).await.unwrap();
    assert_eq!(text, lines.join("\n").replace('<', "<<"));
}

#[tokio::test]
async fn a_rate_limit_refills_with_its_clock() {
    let now = Arc::new(Mutex::new(Duration::ZERO));
    let clock = now.clone();
    let limit = CallRateLimit::new(2, 3, Arc::new(move || *clock.lock())).for_writes();
    let fs = GuardedFs::new(Arc::new(MemoryFs::new()), limit);
    let write = async || fs.write_text(&parse("/a"), "x").await.map(drop).map_err(|e| e.code);
    for _ in 0..3 {
        assert_eq!(write().await, Ok(()));
    }
    assert_eq!(write().await, Err(FsCode::EBUSY));
    assert!(fs.read(&parse("/a")).await.is_ok());
    *now.lock() = Duration::from_millis(499);
    let error = fs.write_text(&parse("/a"), "x").await.unwrap_err();
    let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref());
    assert_eq!(cause, Some(&RateExceeded { retry_after: Duration::from_millis(1) }));
    *now.lock() = Duration::from_millis(500);
    assert_eq!(write().await, Ok(()));
    assert_eq!(write().await, Err(FsCode::EBUSY));
    // The bucket holds no more than its size.
    *now.lock() = Duration::from_secs(1_000);
    for _ in 0..3 {
        assert_eq!(write().await, Ok(()));
    }
    assert_eq!(write().await, Err(FsCode::EBUSY));
}

#[tokio::test]
async fn an_auditor_sees_each_call() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let sink = calls.clone();
    let auditor = CallAuditor::new(move |call| {
        let dest = call.dest.map(|dest| format!(" {dest}")).unwrap_or_default();
        sink.lock().push(format!("{} {}{dest}", call.op, call.path.unwrap_or_default()));
    });
    let fs: Arc<dyn FileSystem> = Arc::new(GuardedFs::new(Arc::new(MemoryFs::new()), auditor));
    fs.write_text(&parse("/a"), "x").await.unwrap();
    fs.mv(&parse("/a"), &parse("/b"), &Default::default()).await.unwrap();
    assert!(fs.read(&parse("/a")).await.is_err());
    assert_eq!(*calls.lock(), ["write /a", "rename /a /b", "read /a"]);
}
