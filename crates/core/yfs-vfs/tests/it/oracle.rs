//! Random scripts, run on [`MemoryFs`], on [`HostFs`] and with the host's own system calls: after
//! every step all three must return the same result and hold the same tree.
//!
//! The third, [`Oracle`], is `std::fs` on a directory, plus code for the differences between the
//! contract and POSIX: missing parents are created, and removed again on failure; `rm` removes
//! empty directories; the root is `EBUSY`; a missing source is reported before an impossible
//! destination; a file moved onto a directory that holds it is `EISDIR`, where Linux returns
//! `ENOTEMPTY`.
//!
//! Links whose target goes up with `..` are left out: in memory they stay at the root, on a host
//! they are rejected. A failure shrinks to the few lines that matter; `PROPTEST_CASES` runs more
//! scripts.

mod host;

use std::sync::Arc;

use proptest::prelude::*;
use tempfile::TempDir;
use yfs_conformance::file_system::script;
use yfs_vfs::{FileSystem, FsCode, HostFs, MemoryFs};

use self::host::Oracle;

/// A path of at most three components out of three names, so that paths often collide.
fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => Just("/".to_owned()),
        8 => "/[abc]",
        6 => "/[abc]/[abc]",
        3 => "/[abc]/[abc]/[abc]",
    ]
}

fn step() -> impl Strategy<Value = String> {
    let target =
        prop_oneof!["[abc]", "[abc]/[abc]", "/[abc]", "/[abc]/[abc]", Just(".".to_owned())];
    let two = || (path(), path());
    prop_oneof![
        6 => (path(), "[xyz]{1,3}").prop_map(|(at, text)| format!("write {at} {text}")),
        1 => (path(), "[xyz]").prop_map(|(at, text)| format!("write -new {at} {text}")),
        1 => (path(), "[xyz]").prop_map(|(at, text)| format!("write -existing {at} {text}")),
        2 => (path(), "[xyz]").prop_map(|(at, text)| format!("append {at} {text}")),
        4 => path().prop_map(|at| format!("mkdir {at}")),
        2 => path().prop_map(|at| format!("mkdir -p {at}")),
        2 => path().prop_map(|at| format!("rm {at}")),
        1 => path().prop_map(|at| format!("rm -r {at}")),
        1 => path().prop_map(|at| format!("rm -f {at}")),
        6 => two().prop_map(|(from, to)| format!("mv {from} {to}")),
        1 => two().prop_map(|(from, to)| format!("mv -noparents {from} {to}")),
        1 => two().prop_map(|(from, to)| format!("mv -n {from} {to}")),
        2 => two().prop_map(|(from, to)| format!("cp {from} {to}")),
        4 => two().prop_map(|(from, to)| format!("cp -r {from} {to}")),
        5 => (target, path()).prop_map(|(target, at)| format!("ln {target} {at}")),
        1 => path().prop_map(|at| format!("cat {at}")),
        1 => path().prop_map(|at| format!("ls {at}")),
        1 => path().prop_map(|at| format!("stat {at}")),
        1 => path().prop_map(|at| format!("lstat {at}")),
        1 => path().prop_map(|at| format!("readlink {at}")),
        1 => path().prop_map(|at| format!("realpath {at}")),
        1 => ("[67]00", path()).prop_map(|(mode, at)| format!("chmod {mode} {at}")),
    ]
}

/// A backend under test, which runs lines of a script.
struct Player {
    name: &'static str,
    session: script::ScriptRunner,
    fs: Arc<dyn FileSystem>,
}

impl Player {
    fn new(name: &'static str, fs: Arc<dyn FileSystem>) -> Self {
        Self { name, session: script::ScriptRunner::new(fs.clone()), fs }
    }

    async fn answer(&mut self, line: &str) -> Result<String, FsCode> {
        self.session.run(line).await.expect("a line of the script").map_err(|error| error.code)
    }
}

async fn compare(script: &[String]) -> Result<(), TestCaseError> {
    let (host_dir, oracle_dir) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let oracle = Oracle::new(oracle_dir.path());
    let oracle_fs = HostFs::open(oracle_dir.path()).unwrap();
    let mut players = [
        Player::new("memory", Arc::new(MemoryFs::new())),
        Player::new("host", Arc::new(HostFs::open(host_dir.path()).unwrap())),
    ];
    for line in script {
        let expected = oracle.run(line);
        let expected_tree = script::tree(&oracle_fs).await.unwrap();
        for player in &mut players {
            let answer = player.answer(line).await;
            prop_assert_eq!(&answer, &expected, "{}: `{}`", player.name, line);
            let tree = script::tree(&*player.fs).await.unwrap();
            prop_assert_eq!(&tree, &expected_tree, "{} after `{}`", player.name, line);
        }
    }
    Ok(())
}

/// Returns a configuration with `n_cases` cases, or with the number in `PROPTEST_CASES` if that
/// variable is set.
fn config(n_cases: u32) -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let is_set = std::env::var_os("PROPTEST_CASES").is_some();
    if is_set { config } else { ProptestConfig { cases: n_cases, ..config } }
}

proptest! {
    #![proptest_config(config(48))]

    #[test]
    fn random_scripts_agree_with_the_host(script in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(compare(&script))?;
    }
}
