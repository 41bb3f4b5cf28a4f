//! Links that are swapped between the check and the use of a path.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use yfs::{Workspace, WorkspaceOptions};
use yfs_types::{
    actor::{Actor, ActorKind},
    path::VPath,
};
use yfs_vfs::{
    FileSystem, FileSystemExt, FsError, FsView, HostFs, MemoryFs, MoveOptions, RemoveOptions,
    TextReplacement,
    guarded_fs::{FsGuard, GuardedCall, GuardedFs},
};

use super::{
    super::{AccessLimits, RefusingBroker},
    PermissionRules, PermittedFs, compile, permitted,
};
use crate::{
    audit::{AuditOrigin, AuditRecord, AuditSink, AuditedFs, FileAudit},
    backends::CompositeFs,
    hooks::{HookedFs, WriteHooks},
};

fn parse(path: &str) -> VPath {
    path.parse().expect("a path")
}

/// A handle that follows no link does not reach through one, wherever it is on the path.
#[tokio::test]
async fn handles_without_links_do_not_follow() {
    let store = Arc::new(yfs_store::MemoryStore::new());
    let workspace = Workspace::create(store, WorkspaceOptions::default()).expect("a workspace");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let backends: [Arc<dyn FileSystem>; 3] = [
        Arc::new(MemoryFs::new()),
        Arc::new(workspace.fs()),
        Arc::new(HostFs::open(directory.path()).expect("the directory exists")),
    ];
    let identity: fn(Arc<dyn FileSystem>) -> Arc<dyn FileSystem> = |fs| fs;
    let writing = stacks().into_iter().filter(|(name, _)| !matches!(*name, "read only"));
    let writing = writing.filter(|(name, _)| !name.contains("allowed"));
    let wrappers: Vec<_> = writing.map(|(_, stack)| stack).chain([identity]).collect();
    for (backend, wrap) in backends.iter().flat_map(|fs| wrappers.iter().map(move |w| (fs, w))) {
        let fs = wrap(backend.clone());
        let tree = "write /d/f x\nln d /l\nln /d/f /k\nln /d/new /n\nmkdir /e";
        yfs_conformance::file_system::script::check(&fs, tree).await.unwrap();
        let handle = fs.view(FsView::WithoutLinks).expect("the backend has such a handle");
        let script = "
            cat /d/f => x
            cat /l/f !! ELOOP
            cat /k !! ELOOP
            stat /k !! ELOOP
            ls /l !! ELOOP
            write /l/f y !! ELOOP
            write /l/g y !! ELOOP
            write /k y !! ELOOP
            write /n y !! ELOOP
            append /k y !! ELOOP
            edit /k x y !! ELOOP
            chmod 600 /k !! ELOOP
            utimes 5 /l !! ELOOP
            mkdir /l/m !! ELOOP
            rm /l/f !! ELOOP
            mv /l/f /e/f !! ELOOP
            mv /d/f /l/g !! ELOOP
            cp /l/f /e/f !! ELOOP
            cp /d/f /l/g !! ELOOP
            ln x /l/m !! ELOOP
            readlink /k => /d/f
            rm /k
            mv /n /e/n
            cp /l /e/l
            write /d/g y
            cat /d/g => y";
        yfs_conformance::file_system::script::check(&handle, script).await.unwrap();
        for path in ["/d", "/e", "/l", "/k"] {
            let options = RemoveOptions { recursive: true, force: true };
            backend.rm(&parse(path), &options).await.unwrap();
        }
    }
}

/// A guard that swaps the directory `/pub/d` for a link to the secret before one call of the
/// backend, whichever that is: a check, or the use.
#[derive(Debug)]
struct SwapAtCall {
    backend: Arc<dyn FileSystem>,
    /// The calls that come before the swap.
    n_before: AtomicUsize,
    has_swapped: AtomicBool,
}

#[async_trait]
impl FsGuard for SwapAtCall {
    async fn check_call(&self, _: &GuardedCall<'_>) -> Result<Option<FsError>, FsError> {
        let is_due = self
            .n_before
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            .is_err();
        if is_due && !self.has_swapped.swap(true, Ordering::SeqCst) {
            let [own, aside] = [parse("/pub/d"), parse("/pub/aside")];
            self.backend.mv(&own, &aside, &MoveOptions::default()).await.unwrap();
            self.backend.symlink("/secret", &own).await.unwrap();
        }
        Ok(None)
    }
}

#[derive(Debug)]
struct NoRecords;

impl AuditSink for NoRecords {
    fn record(&self, _: AuditRecord) {}
}

const DENY_SECRET: &str = "deny rw /secret\ndeny rw /secret/**";

fn limits(is_read_only: bool, rules: Vec<PermissionRules>) -> AccessLimits {
    let broker = Arc::new(RefusingBroker);
    AccessLimits { is_read_only, rules, guarded: Vec::new(), quota: None, broker }
}

/// Puts a stack of layers over a backend.
type StackOf = fn(Arc<dyn FileSystem>) -> Arc<dyn FileSystem>;

/// The stacks that the command makes, and those of programs that wrap the layers once more.
fn stacks() -> Vec<(&'static str, StackOf)> {
    vec![
        ("rules", |fs| limits(false, vec![compile(DENY_SECRET)]).apply(fs).unwrap()),
        ("allowed", |fs| limits(false, vec![only_below(&["/pub"])]).apply(fs).unwrap()),
        ("allowed, rules", |fs| {
            limits(false, vec![only_below(&["/pub"]), compile(DENY_SECRET)]).apply(fs).unwrap()
        }),
        ("directories, allowed, rules", |fs| {
            let rules = vec![only_below(&["/pub", "/secret"]), only_below(&["/pub"]), compile("")];
            limits(false, rules).apply(fs).unwrap()
        }),
        ("read only", |fs| limits(true, vec![compile(DENY_SECRET)]).apply(fs).unwrap()),
        ("two layers", |fs| permitted(permitted(fs, "deny rw /none/**"), DENY_SECRET)),
        ("two layers, the inner denies", |fs| permitted(permitted(fs, DENY_SECRET), "")),
        ("an audit between", |fs| {
            let origin = AuditOrigin {
                actor: Actor::new(ActorKind::Agent, "ada"),
                session: "s".into(),
                call_id: None,
                tool: None,
            };
            let audited =
                AuditedFs::new(permitted(fs, ""), FileAudit::new(Arc::new(NoRecords), origin));
            permitted(Arc::new(audited), DENY_SECRET)
        }),
        ("hooks between", |fs| {
            permitted(Arc::new(HookedFs::new(permitted(fs, ""), WriteHooks::new([]))), DENY_SECRET)
        }),
        ("a route", |fs| permitted(Arc::new(CompositeFs::new(fs, []).unwrap()), DENY_SECRET)),
    ]
}

fn only_below(paths: &[&str]) -> PermissionRules {
    let paths: Vec<VPath> = paths.iter().map(|path| parse(path)).collect();
    PermissionRules::only_below(&paths).unwrap()
}

/// Makes one call of several kinds through the directory that is swapped. Returns what it read.
async fn use_directory(fs: &Arc<dyn FileSystem>, kind: usize) -> Option<String> {
    let (file, new) = (parse("/pub/d/f"), parse("/pub/d/new"));
    let no_parents = yfs_vfs::WriteOptions { parents: false, ..Default::default() };
    let shown = |data: bytes::Bytes| String::from_utf8_lossy(&data).into_owned();
    match kind {
        0 => fs.read(&file).await.map(|read| shown(read.data)).ok(),
        1 => fs.write(&new, "evil".into(), &no_parents).await.ok().map(drop_it),
        2 => fs.write(&file, "evil".into(), &no_parents).await.ok().map(drop_it),
        3 => fs.append(&file, "evil".into(), &no_parents).await.ok().map(drop_it),
        4 => fs.edit(&file, &TextReplacement::once("S", "evil")).await.ok().map(drop_it),
        5 => fs.rm(&file, &RemoveOptions::default()).await.ok().map(drop_it),
        6 => {
            let copied = fs.cp(&file, &parse("/pub/copy"), &Default::default()).await;
            copied.ok()?;
            fs.read(&parse("/pub/copy")).await.map(|read| shown(read.data)).ok()
        }
        7 => fs.cp(&parse("/pub/x"), &new, &Default::default()).await.ok().map(drop_it),
        8 => fs.mv(&file, &parse("/pub/moved"), &Default::default()).await.ok().map(drop_it),
        9 => fs.mv(&parse("/pub/x"), &new, &Default::default()).await.ok().map(drop_it),
        10 => fs.readdir(&parse("/pub/d")).await.ok().map(|entries| format!("{entries:?}")),
        11 => fs.grep(&yfs_vfs::GrepQuery::new("S")).await.ok().map(|found| format!("{found:?}")),
        12 => fs.mkdir(&new, &Default::default()).await.ok().map(drop_it),
        13 => fs.read_range(&file, 0, 100).await.map(shown).ok(),
        14 => fs.chmod(&file, 0o777).await.ok().map(drop_it),
        _ => fs.symlink("x", &new).await.ok().map(drop_it),
    }
}

fn drop_it<T>(_: T) -> String {
    String::new()
}

/// A directory is swapped for a link to the secret before each call of the backend in turn, so also
/// between every check and the use that it is for. No stack of layers reaches the secret.
#[tokio::test]
async fn a_swapped_link_does_not_win() {
    let store = Arc::new(yfs_store::MemoryStore::new());
    let workspace = Workspace::create(store, WorkspaceOptions::default()).expect("a workspace");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let backends: [Arc<dyn FileSystem>; 3] = [
        Arc::new(MemoryFs::new()),
        Arc::new(workspace.fs()),
        Arc::new(HostFs::open(directory.path()).expect("the directory exists")),
    ];
    for (number, backend) in backends.into_iter().enumerate() {
        // The layers are the same over every backend, so all calls are made over one.
        let kinds = if number == 0 { (0..16).collect() } else { vec![0, 1, 7, 9] };
        for (name, stack) in stacks() {
            for kind in kinds.iter().copied() {
                for n_before in 0.. {
                    let tree = "write /secret/f SECRET\nwrite /pub/d/f public\nwrite /pub/x x";
                    yfs_conformance::file_system::script::check(&backend, tree).await.unwrap();
                    let guard = SwapAtCall {
                        backend: backend.clone(),
                        n_before: AtomicUsize::new(n_before),
                        has_swapped: AtomicBool::new(false),
                    };
                    let guarded = Arc::new(GuardedFs::new(backend.clone(), guard));
                    let read = use_directory(&stack(guarded.clone()), kind).await;
                    let case = format!("{backend:?}, {name}, call {kind}, swap at {n_before}");
                    let read = read.unwrap_or_default();
                    assert!(
                        !read.contains("SECRET") && !read.contains("/secret"),
                        "{case}: {read}"
                    );
                    let secret = yfs_conformance::file_system::script::check(
                        &backend,
                        "ls /secret => f\ncat /secret/f => SECRET",
                    );
                    secret.await.unwrap_or_else(|error| panic!("{case}: {error}"));
                    let options = RemoveOptions { recursive: true, force: true };
                    backend.rm(&parse("/pub"), &options).await.unwrap();
                    if !guarded.guard().has_swapped.load(Ordering::SeqCst) {
                        break;
                    }
                }
            }
        }
    }
}

/// A guard that counts calls.
#[derive(Debug, Default)]
struct CallCounter(AtomicUsize);

#[async_trait]
impl FsGuard for CallCounter {
    async fn check_call(&self, _: &GuardedCall<'_>) -> Result<Option<FsError>, FsError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(None)
    }
}

/// Returns how often the backend is called for a copy into a directory that is `depth` deep.
async fn n_calls_of_a_copy(depth: usize, rules: Vec<PermissionRules>) -> usize {
    let guarded = GuardedFs::new(Arc::new(MemoryFs::new()), CallCounter::default());
    let guarded = Arc::new(guarded);
    guarded.write_text(&parse("/pub/x"), "x").await.unwrap();
    let fs = limits(false, rules).apply(guarded.clone()).unwrap();
    let deep = format!("/pub{}/new", "/d".repeat(depth));
    guarded.guard().0.store(0, Ordering::SeqCst);
    fs.cp(&parse("/pub/x"), &parse(&deep), &Default::default()).await.unwrap();
    guarded.guard().0.load(Ordering::SeqCst)
}

#[tokio::test]
async fn further_rules_cost_no_further_call_and_depth_costs_a_call_each() {
    let one = || vec![compile(DENY_SECRET)];
    let many = || vec![only_below(&["/pub"]), only_below(&["/pub", "/x"]), compile(DENY_SECRET)];
    let shallow = n_calls_of_a_copy(20, one()).await;
    let deep = n_calls_of_a_copy(80, one()).await;
    assert_eq!(n_calls_of_a_copy(20, many()).await, shallow);
    assert_eq!(n_calls_of_a_copy(80, many()).await, deep);
    assert!(deep <= 4 * shallow, "{shallow} calls for 20 directories, {deep} for 80");
}

/// A wrapper whose handle without links is missing is refused: what is checked might not be used.
#[tokio::test]
async fn a_backend_without_a_handle_that_follows_no_links_gets_no_permissions() {
    let store = Arc::new(yfs_store::MemoryStore::new());
    let workspace = Workspace::create(store, WorkspaceOptions::default()).expect("a workspace");
    let past = workspace.history().state_at(None).expect("the present is a past");
    let fs: Arc<dyn FileSystem> = Arc::new(past.into_fs());
    assert!(fs.view(FsView::WithoutLinks).is_none());
    assert!(PermittedFs::new(fs, compile(DENY_SECRET)).is_err());
}

/// Objects that other sessions move stay bound if they were bound before.
#[tokio::test]
async fn objects_bound_at_the_start_stay_bound() {
    let inner: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
    inner.write_text(&parse("/secret/f"), "SECRET").await.unwrap();
    let fs = permitted(inner.clone(), "deny r /secret/**");
    fs.bind_restricted().await.unwrap();
    inner.mv(&parse("/secret/f"), &parse("/pub/f"), &MoveOptions::default()).await.unwrap();
    assert!(fs.read(&parse("/pub/f")).await.is_err());
    assert!(fs.readdir(&parse("/pub")).await.unwrap().is_empty());
}

/// A workspace finds every object by its id, too.
#[tokio::test]
async fn the_second_path_of_an_object_is_no_way_around_a_rule() {
    let store = Arc::new(yfs_store::MemoryStore::new());
    let workspace = Workspace::create(store, WorkspaceOptions::default()).expect("a workspace");
    let inner: Arc<dyn FileSystem> = Arc::new(workspace.fs());
    inner.write_text(&parse("/secret/f"), "SECRET").await.unwrap();
    inner.write_text(&parse("/pub/f"), "public").await.unwrap();
    let id = async |path: &str| inner.stat(&parse(path)).await.unwrap().id;
    let (file, directory, public) =
        (id("/secret/f").await, id("/secret").await, id("/pub/f").await);
    let by_id = parse(&format!("/.id/{file}"));
    assert_eq!(inner.read_to_string(&by_id).await.unwrap(), "SECRET");
    let fs = permitted(inner.clone(), "deny rw /secret/**");
    for path in
        [by_id, parse(&format!("/.id/{directory}/f")), parse(&format!("/.id/{directory}/g"))]
    {
        assert!(fs.read(&path).await.is_err(), "{path}");
        assert!(fs.stat(&path).await.is_err(), "{path}");
        assert!(fs.write_text(&path, "HACKED").await.is_err(), "{path}");
        assert!(fs.append(&path, "HACKED".into(), &Default::default()).await.is_err(), "{path}");
        assert!(fs.mv(&path, &parse("/pub/x"), &MoveOptions::default()).await.is_err(), "{path}");
        assert!(fs.rm(&path, &RemoveOptions::default()).await.is_err(), "{path}");
        fs.symlink(path.as_str(), &parse("/pub/link")).await.unwrap();
        assert!(fs.read(&parse("/pub/link")).await.is_err(), "{path}");
        fs.rm(&parse("/pub/link"), &RemoveOptions::default()).await.unwrap();
    }
    let listed = fs.readdir(&parse(&format!("/.id/{directory}"))).await;
    assert!(listed.is_ok_and(|entries| entries.is_empty()));
    let text = fs.read_to_string(&parse(&format!("/.id/{public}"))).await;
    assert_eq!(text.unwrap(), "public");
    assert_eq!(inner.read_to_string(&parse("/secret/f")).await.unwrap(), "SECRET");
    assert!(!inner.exists(&parse("/secret/g")).await);
}
