//! Contexts: which files, within how many tokens; analyses that are kept.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use proptest::prelude::*;
use yfs_agent_workspace::WorkspaceShelf;
use yfs_analysis::FileStats;
use yfs_artifacts::{ContextRequest, DerivedShelf, FileSelection, KeptAnalyses, RenderedContext};
use yfs_conformance::fault_fs;
use yfs_types::path::VPath;
use yfs_vfs::{FileSystem, FileSystemExt, MemoryFs, Op};

fn path(text: &str) -> VPath {
    text.parse().expect("a path")
}

async fn tree() -> Arc<dyn FileSystem> {
    let fs: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
    for (name, content) in [
        (".gitignore", "*.tmp\n/build\n!keep.tmp\n"),
        ("a.json", "{\"a\": 1}"),
        ("b.tmp", "ignored"),
        ("keep.tmp", "kept"),
        ("build/out.txt", "ignored"),
        ("src/build/in.txt", "not ignored"),
        ("src/.yfsignore", "secret.txt\n"),
        ("src/secret.txt", "ignored"),
        ("src/main.rs", "fn main() {}\n"),
        (".hidden/x.txt", "hidden"),
        ("large.txt", "0123456789012345678901234567890123456789"),
    ] {
        fs.write_text(&path(&format!("/{name}")), content).await.expect("written");
    }
    fs
}

#[tokio::test]
async fn files_are_selected() {
    let fs = tree().await;
    let select = async |selection: FileSelection| {
        let selected = selection.select(&*fs).await.expect("a tree");
        let names = selected.iter().map(|file| match file.is_too_large {
            true => format!("({})", file.path),
            false => file.path.to_string(),
        });
        names.collect::<Vec<_>>().join(" ")
    };
    let all = FileSelection { max_file_size: 30, ..FileSelection::default() };
    assert_eq!(
        select(all.clone()).await,
        "/a.json /keep.tmp (/large.txt) /src/build/in.txt /src/main.rs"
    );
    let include = vec!["*.rs".to_owned(), "/a.*".to_owned()];
    assert_eq!(select(FileSelection { include, ..all.clone() }).await, "/a.json /src/main.rs");
    let exclude = vec!["src".to_owned(), "large*".to_owned()];
    assert_eq!(select(FileSelection { exclude, ..all.clone() }).await, "/a.json /keep.tmp");
    let paths = vec![path("/src"), path("/src/secret.txt"), path("/src/main.rs")];
    assert_eq!(
        select(FileSelection { paths, ..all.clone() }).await,
        "/src/build/in.txt /src/main.rs /src/secret.txt"
    );
    let everything = FileSelection { hidden: true, ignored: true, ..all };
    assert_eq!(select(everything).await.split(' ').count(), 11);
    let bad = FileSelection { include: vec!["{a".to_owned()], ..FileSelection::default() };
    assert!(bad.select(&*fs).await.is_err());
}

async fn context_of(fs: &Arc<dyn FileSystem>, max_tokens: usize) -> RenderedContext {
    let request = ContextRequest { max_tokens, ..ContextRequest::default() };
    KeptAnalyses::new(fs.clone()).render_context(&request).await.expect("a context")
}

#[tokio::test]
async fn what_does_not_fit_is_summed_up() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
    for at in 0..300 {
        let name = format!("/d{}/f{at:03}.json", at % 3);
        fs.write_text(&path(&name), &format!("{{\"value\": {at}}}")).await.expect("written");
    }
    let whole = context_of(&fs, 100_000).await;
    assert_eq!((whole.n_listed, whole.n_previewed), (300, 300));
    assert!(!whole.text.contains("not listed"));
    let part = context_of(&fs, 1_000).await;
    assert!(part.n_tokens <= 1_000 && part.n_tokens > 800, "{part:?}");
    assert!(part.n_listed > 20 && part.n_listed < 100, "{part:?}");
    assert!(part.n_previewed > 0, "{part:?}");
    let n_omitted = 300 - part.n_listed;
    assert!(part.text.contains(&format!("\n{n_omitted} more files (")), "{}", part.text);
    assert!(part.text.contains("\n- /d2 (100 files, 1.3KB)\n"), "{}", part.text);
    // The same files, the same bytes.
    assert_eq!(context_of(&fs, 1_000).await, part);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// The summary alone takes up to 200 tokens here; above, the limit holds.
    #[test]
    fn a_context_fits(n_files in 0_usize..200, max_tokens in 250_usize..4_000) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let context = runtime.block_on(async {
            let fs: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
            for at in 0..n_files {
                let name = format!("/d{}/e{}/f{at}.txt", at % 5, at % 2);
                fs.write_text(&path(&name), &"text ".repeat(at * 7 % 90)).await.unwrap();
            }
            context_of(&fs, max_tokens).await
        });
        prop_assert!(context.n_tokens <= max_tokens, "{context:?}");
        prop_assert_eq!(context.n_files, n_files);
    }
}

#[derive(Debug, Default)]
struct MapShelf(Mutex<HashMap<String, Vec<u8>>>);

impl DerivedShelf for MapShelf {
    fn fetch(&self, key: &str) -> Option<Vec<u8>> {
        self.0.lock().get(key).cloned()
    }

    fn put(&self, key: &str, value: &[u8]) {
        self.0.lock().insert(key.to_owned(), value.to_owned());
    }
}

#[tokio::test]
async fn an_analysis_is_kept_until_an_edit() {
    let counted = Arc::new(fault_fs(Arc::new(MemoryFs::new())));
    let fs: Arc<dyn FileSystem> = counted.clone();
    let file = path("/a.csv");
    fs.write_text(&file, "a,b\n1,2\n").await.expect("written");
    let n_reads = || counted.guard().calls().into_iter().filter(|op| *op == Op::Read).count();
    let rows = async |kept: &KeptAnalyses| match &kept.analysis_of(&file).await.expect("read").stats
    {
        FileStats::Csv(stats) => stats.rows,
        other => panic!("{other:?}"),
    };
    let shelf = Arc::new(MapShelf::default());
    let kept = KeptAnalyses::new(fs.clone()).with_shelf(shelf.clone());
    assert_eq!(rows(&kept).await, 1);
    let n_before = n_reads();
    assert_eq!(rows(&kept).await, 1);
    let of_another_process = KeptAnalyses::new(fs.clone()).with_shelf(shelf.clone());
    assert_eq!(rows(&of_another_process).await, 1);
    assert_eq!(n_reads(), n_before, "no further read");
    fs.write_text(&file, "a,b\n1,2\n3,4\n").await.expect("written");
    assert_eq!(rows(&kept).await, 2);
    assert_eq!(rows(&of_another_process).await, 2);
    // What the shelf has may be damaged.
    shelf.0.lock().values_mut().for_each(|value| value.truncate(10));
    assert_eq!(rows(&KeptAnalyses::new(fs).with_shelf(shelf)).await, 2);
}

#[test]
fn a_workspace_keeps_analyses() {
    let store = Arc::new(yfs_store::MemoryStore::new());
    let workspace = yfs::Workspace::create(store, yfs::WorkspaceOptions::default()).expect("made");
    let shelf = WorkspaceShelf::new(workspace);
    assert_eq!(shelf.fetch("a"), None);
    shelf.put("a", b"1");
    assert_eq!(shelf.fetch("a").as_deref(), Some(&b"1"[..]));
}
