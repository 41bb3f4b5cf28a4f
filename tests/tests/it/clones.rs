//! Three clones and a server that edit offline, sync, and are killed while they do: in the end all
//! are equal byte for byte, and every text whose write succeeded is there exactly once.
//!
//! `YFS_CLONES` says how many histories to play, `YFS_CLONES_SEED` begins with another seed. A seed
//! gives the script and the moments at which processes are killed; what these moments hit depends
//! on the machine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng, seq::IndexedRandom};
use serde_json::Value;
use yfs_tests::command::{Server, command, ok, run};

/// How many steps a history has.
const N_STEPS: usize = 30;

/// How many rounds of syncing all clones may take until nothing is new. Each brings what the others
/// brought before.
const MAX_ROUNDS: usize = 6;

const OPTIONS: [&str; 1] = ["--no-mirror"];

/// A history while it is played.
struct World {
    seed: u64,
    rng: ChaCha8Rng,
    /// Holds what the workspaces are in.
    _dir: tempfile::TempDir,
    home: PathBuf,
    clones: Vec<PathBuf>,
    server: Option<Server>,
    port: u16,
    /// The texts whose writes succeeded.
    committed: Vec<String>,
    n_texts: usize,
}

#[test]
fn clones_that_are_killed_end_equal_and_keep_every_text_once() {
    let number = |name: &str, otherwise: u64| {
        env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (n_histories, first) = (number("YFS_CLONES", 3), number("YFS_CLONES_SEED", 1));
    let mut n_committed = 0;
    for seed in first..first + n_histories {
        let mut world = World::new(seed);
        for _ in 0..N_STEPS {
            world.step();
        }
        world.assert_equal();
        n_committed += world.committed.len();
    }
    println!("{n_histories} histories, {n_committed} texts");
}

impl World {
    fn new(seed: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        fs::create_dir_all(home.join("docs")).unwrap();
        for name in ["notes.txt", "docs/plan.md", "docs/log.txt"] {
            fs::write(home.join(name), format!("# {name}\n\nfirst line\n\nsecond line\n")).unwrap();
        }
        ok(&home, &["init", "."]);
        ok(&home, &["import", ".", "/"]);
        let server = Server::start_on(&home, 0, &OPTIONS);
        let port = server.port();
        let url = format!("http://127.0.0.1:{port}");
        let token = ok(&home, &["--quiet", "token", "owner"]).trim().to_owned();
        let clones: Vec<PathBuf> =
            ["one", "two", "three"].iter().map(|name| dir.path().join(name)).collect();
        for clone in &clones {
            ok(dir.path(), &["clone", &url, clone.to_str().unwrap(), "--token", &token]);
        }
        let (rng, server, committed) = (ChaCha8Rng::seed_from_u64(seed), Some(server), Vec::new());
        Self { seed, rng, _dir: dir, home, clones, server, port, committed, n_texts: 0 }
    }

    fn step(&mut self) {
        let place = match self.rng.random_range(0..4) {
            3 => self.home.clone(),
            number => self.clones[number].clone(),
        };
        let clone = self.clones[self.rng.random_range(0..3)].clone();
        match self.rng.random_range(0..100) {
            0..25 => self.append(&place),
            25..45 => self.edit(&place),
            45..55 => self.create(&place),
            55..63 => self.rename(&place),
            // It may end well or badly, and is finished by a later one.
            63..75 => drop(run(&clone, &["sync"], b"")),
            75..90 => {
                let mut syncing = start_sync(&clone);
                self.rest();
                syncing.kill().unwrap();
                syncing.wait().unwrap();
            }
            _ => {
                let mut syncing = start_sync(&clone);
                self.rest();
                self.server.take().unwrap().kill();
                syncing.wait().unwrap();
                self.server = Some(Server::start_on(&self.home, self.port, &OPTIONS));
            }
        }
    }

    /// Lets a process run for a while before it is killed: this is chance, and nothing waits for
    /// anything.
    fn rest(&mut self) {
        thread::sleep(Duration::from_micros(self.rng.random_range(0..400_000)));
    }

    fn append(&mut self, place: &Path) {
        let Some(path) = self.pick(place) else { return };
        let text = self.text();
        self.commit(place, &["append", &path, "--content", &format!("\n{text}\n")], b"", text);
    }

    fn edit(&mut self, place: &Path) {
        let Some(path) = self.pick(place) else { return };
        let content = ok(place, &["cat", &path]);
        let lines: Vec<&str> = content.lines().filter(|line| !line.is_empty()).collect();
        let Some(line) = lines.choose(&mut self.rng).copied() else { return };
        let text = self.text();
        let new = format!("{line} {text}");
        // A line that is there twice is refused, and nothing is committed.
        self.commit(place, &["edit", &path, "--old", line, "--new", &new], b"", text);
    }

    fn create(&mut self, place: &Path) {
        let text = self.text();
        let (extension, content) = match self.rng.random_range(0..3) {
            0 => ("md", format!("# New\n\n{text}\n").into_bytes()),
            1 => ("txt", format!("{text}\n").into_bytes()),
            _ => ("bin", [&[0xFF, 0, 0xFE], text.as_bytes()].concat()),
        };
        let path = format!("/docs/new-{}-{}.{extension}", self.seed, self.n_texts);
        self.commit(place, &["write", &path], &content, text);
    }

    fn rename(&mut self, place: &Path) {
        let Some(path) = self.pick(place) else { return };
        let (_, extension) = path.rsplit_once('.').unwrap();
        self.n_texts += 1;
        let to = format!("/renamed-{}.{extension}", self.n_texts);
        // Without the folder it may fail, and then nothing has changed.
        run(place, &["mv", &path, &to], b"");
    }

    /// Returns a text that is nowhere else, and that no other begins with.
    fn text(&mut self) -> String {
        self.n_texts += 1;
        format!("q{}q{}q", self.seed, self.n_texts)
    }

    /// Runs a command that writes a text, and notes it if it succeeded.
    fn commit(&mut self, place: &Path, args: &[&str], stdin: &[u8], text: String) {
        if run(place, args, stdin).code == Some(0) {
            self.committed.push(text);
        }
    }

    /// Picks a file with text.
    fn pick(&mut self, place: &Path) -> Option<String> {
        let found = ok(place, &["find", "/"]);
        let is_text = |path: &&str| path.ends_with(".txt") || path.ends_with(".md");
        let texts: Vec<&str> = found.lines().filter(is_text).collect();
        texts.choose(&mut self.rng).map(|path| (*path).to_owned())
    }

    /// Syncs all clones until nothing is new, and compares.
    fn assert_equal(&mut self) {
        for round in 0.. {
            assert!(round < MAX_ROUNDS, "seed {}: each round has a new update", self.seed);
            let mut is_new = false;
            for clone in &self.clones {
                let synced: Value = serde_json::from_str(&ok(clone, &["sync", "--json"])).unwrap();
                is_new |= synced["sent"] != 0 || synced["new"] != 0;
            }
            if !is_new {
                break;
            }
        }
        let expected = self.exported(&self.home);
        for clone in &self.clones {
            let (here, seed) = (self.exported(clone), self.seed);
            let names =
                |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(&here), names(&expected), "seed {seed}: {}", clone.display());
            for (name, content) in &here {
                let (here, there) = (shown(content), shown(&expected[name]));
                assert_eq!(here, there, "seed {seed}: {name} in {}", clone.display());
            }
            assert!(files_in(clone) == expected, "seed {seed}: the folder {}", clone.display());
            ok(clone, &["admin", "fsck"]);
        }
        let all: String = expected.values().map(|content| shown(content)).collect();
        for text in &self.committed {
            assert_eq!(all.matches(text.as_str()).count(), 1, "seed {}: {text}", self.seed);
        }
    }

    fn exported(&self, place: &Path) -> BTreeMap<String, Vec<u8>> {
        let dir = tempfile::tempdir().unwrap();
        ok(place, &["export", "/", dir.path().to_str().unwrap()]);
        files_in(dir.path())
    }
}

fn start_sync(clone: &Path) -> Child {
    let mut command = command();
    command.args(["sync", "--quiet"]).current_dir(clone).env_remove("YFS_WORKSPACE");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn shown(content: &[u8]) -> String {
    String::from_utf8_lossy(content).into_owned()
}

/// Reads all files of a folder of this machine but the workspace itself.
fn files_in(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.extend((!path.ends_with(".yfs")).then_some(path));
            } else {
                let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}
