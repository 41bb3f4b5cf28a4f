//! Tools on disk, programs with the library, people with the command, all at once on a folder and
//! its workspace, while the mirror between them is stopped, killed and started. Every other seed
//! has a server in the mirror's place, with programs that speak HTTP and a stock Yjs client that
//! types, online and offline.
//!
//! When all are done the folder is what the workspace is, byte for byte. Every text that was ever
//! written is found in a content, in a version or in the trash, and stands in no content twice;
//! what is not is counted by the kind of edit. `YFS_CHAOS_SEEDS` is the number of seeds to play,
//! `YFS_CHAOS_STEPS` the number of steps of each, `YFS_CHAOS_SEED` the first seed.

#![cfg(target_os = "linux")]

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng, seq::IndexedRandom};
use serde_json::{Value, json};
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::{
    actor::{Actor, ActorKind},
    id::FileId,
    path::VPath,
};
use yfs_tests::{
    command::{self, Server},
    disk_save::{DiskSaveKind, DiskSaved, HalfSave, with_line},
    editor::Editor,
    http::{Answer, Client},
    mirror::{MirrorProcess, Shown, mirror_once, shown_in_workspace, shown_on_disk},
    script::now,
};
use yfs_vfs::{FileKind, FileSystem, FileSystemExt, MoveOptions, WalkOptions, WriteOptions};

/// Who does a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// A tool that knows only the disk.
    Disk,
    /// A program with the workspace open.
    Library,
    /// The command, in a process of its own.
    Command,
    /// A program that speaks HTTP to the server.
    Http,
    /// A person who types, in a stock Yjs client.
    Editor,
}

/// What keeps folder and workspace in step.
enum Keeper {
    Mirror(MirrorProcess),
    Server(Server),
}

/// What belongs to a server.
struct Served {
    port: u16,
    person: Editor,
    /// The documents that the person has open, by guid.
    open: BTreeSet<String>,
    /// The document that each word was typed into, by guid, and what is typed there at the end.
    typed: Vec<(String, String)>,
    shown: BTreeMap<String, Value>,
}

struct World {
    rng: ChaCha8Rng,
    folder: PathBuf,
    file: PathBuf,
    workspace: Workspace,
    keeper: Option<Keeper>,
    served: Option<Served>,
    /// Each word that was written, and how. None is written twice.
    words: Vec<Word>,
    /// Saves on disk whose second part has not been written yet.
    halves: Vec<HalfSave>,
    log: Vec<String>,
}

/// A word that was written.
struct Word {
    text: String,
    /// The side and the kind of edit.
    kind: String,
}

#[test]
fn nothing_is_lost_and_both_sides_agree() {
    let (n_seeds, n_steps) = (number("YFS_CHAOS_SEEDS", 4), number("YFS_CHAOS_STEPS", 150));
    let first = number("YFS_CHAOS_SEED", 1);
    for seed in first..first + n_seeds {
        let dir = tempfile::tempdir().expect("a directory");
        let mut world = World::new(seed, dir.path());
        for _ in 0..n_steps {
            world.step();
        }
        world.check(seed);
    }
}

fn number(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

impl World {
    fn new(seed: u64, dir: &Path) -> Self {
        let folder = dir.join("folder");
        let is_served = seed.is_multiple_of(2);
        let file =
            if is_served { folder.join(".yfs/workspace.db") } else { dir.join("workspace.db") };
        fs::create_dir(&folder).expect("a folder");
        fs::create_dir_all(file.parent().expect("it is in a folder")).expect("a folder");
        let actor = Actor::new(ActorKind::Agent, "library");
        let workspace =
            Workspace::create_at(&file, WorkspaceOptions::one_shot(actor)).expect("a workspace");
        let (rng, words, halves, log) =
            (ChaCha8Rng::seed_from_u64(seed), Vec::new(), Vec::new(), Vec::new());
        let (keeper, served) = (None, None);
        let mut world = Self { rng, folder, file, workspace, keeper, served, words, halves, log };
        if is_served {
            let server = Server::start(&world.folder, 0);
            let (port, person) = (server.port(), Editor::connect(server.port(), "typist"));
            let (open, typed, shown) = Default::default();
            world.served = Some(Served { port, person, open, typed, shown });
            world.keeper = Some(Keeper::Server(server));
        } else {
            world.start();
        }
        world
    }

    fn start(&mut self) {
        self.keeper = Some(match &self.served {
            Some(served) => Keeper::Server(Server::start(&self.folder, served.port)),
            None => Keeper::Mirror(MirrorProcess::start(&self.folder, &self.file)),
        });
    }

    /// Does one thing, on one side. What that side refuses is refused.
    fn step(&mut self) {
        if !self.halves.is_empty() && self.rng.random_ratio(30, 100) {
            self.finish_half(0);
        }
        match self.rng.random_range(0..100) {
            0..3 => {
                if let Some(keeper) = self.keeper.take() {
                    self.log.push("kill".into());
                    match keeper {
                        Keeper::Mirror(mirror) => mirror.kill(),
                        Keeper::Server(server) => server.kill(),
                    }
                }
            }
            3..4 => {
                if let Some(keeper) = self.keeper.take() {
                    self.log.push("stop".into());
                    match keeper {
                        Keeper::Mirror(mirror) => drop(mirror),
                        Keeper::Server(server) => drop(server.interrupt()),
                    }
                }
            }
            4..10 if self.keeper.is_none() => {
                self.log.push("start".into());
                self.start();
            }
            // What tools do has pauses: long ones, short ones and none.
            10..22 => thread::sleep(Duration::from_micros(self.rng.random_range(0..200_000))),
            22..58 => self.act(Side::Disk),
            58..70 if self.is_listening() => self.act(Side::Http),
            70..82 if self.served.is_some() => self.act(Side::Editor),
            58..95 => self.act(Side::Library),
            _ => self.act(Side::Command),
        }
    }

    /// Tells whether there is a server to speak to.
    fn is_listening(&self) -> bool {
        matches!(self.keeper, Some(Keeper::Server(_)))
    }

    fn act(&mut self, side: Side) {
        let (path, other) = (self.path(side), self.path(side));
        let what = self.rng.random_range(0..100);
        let word = format!("w{}.", self.log.len());
        let (kind, did) = match what {
            _ if side == Side::Editor => ("type", self.type_word(&path, &word)),
            0..22 => ("create", self.write_new(side, &path, &word)),
            22..60 if side == Side::Disk => return self.save_on_disk(&path, word),
            22..60 => ("insert", self.insert(side, &path, &word)),
            60..70 => ("rename", self.rename(side, &path, &other).map(|()| false)),
            70..78 => ("form", self.change_form(side, &path).map(|()| false)),
            78..88 => ("remove", self.remove(side, &path).map(|()| false)),
            88..94 => ("mkdir", self.mkdir(side, &path).map(|()| false)),
            94..97 => ("link", self.link(side, &path).map(|()| false)),
            _ => ("bytes", self.write_bytes(side, &path, &word).map(|()| false)),
        };
        let how = if did.is_some() { "did" } else { "refused" };
        self.log.push(format!("{side:?} {kind} {path} {other} {word} {how}"));
        if did == Some(true) {
            self.words.push(Word { text: word, kind: format!("{side:?} {kind}") });
        }
    }

    /// Saves a text on disk in one of all ways.
    fn save_on_disk(&mut self, path: &str, word: String) {
        let at = self.on_disk(path);
        let kind = *DiskSaveKind::ALL.choose(&mut self.rng).expect("there are some");
        // Programs do not write to what another one is writing.
        let is_free = !self.halves.iter().any(|half| half.is_at(&at));
        let saved = is_free.then(|| kind.save(&at, &word, &mut self.rng)).flatten();
        let how = match &saved {
            Some(DiskSaved::Whole) => "did",
            Some(DiskSaved::Half(_)) => "began",
            None => "refused",
        };
        self.log.push(format!("Disk {kind:?} {path} - {word} {how}"));
        match saved {
            Some(DiskSaved::Whole) => {
                self.words.push(Word { text: word, kind: format!("Disk {kind:?}") });
            }
            Some(DiskSaved::Half(half)) => self.halves.push(half),
            None => (),
        }
    }

    /// Writes the second part of a save that was begun earlier.
    fn finish_half(&mut self, at: usize) {
        let half = self.halves.swap_remove(at);
        let word = half.word.clone();
        let did = half.finish();
        self.log.push(format!("Disk finish - - {word} {}", if did { "did" } else { "refused" }));
        if did {
            self.words
                .push(Word { text: word, kind: format!("Disk {:?}", DiskSaveKind::TwoParts) });
        }
    }

    /// Renames a file from markdown to another text or back.
    fn change_form(&mut self, side: Side, path: &str) -> Option<()> {
        let other = match path.strip_suffix(".md") {
            Some(base) => format!("{base}.txt"),
            None => format!("{}.md", path.strip_suffix(".txt")?),
        };
        self.rename(side, path, &other)
    }

    /// Returns a path: often of an existing entry, else one of a few fixed paths.
    fn path(&mut self, side: Side) -> String {
        if self.rng.random_ratio(60, 100) {
            let there: Vec<String> = match side {
                // No writer opens the files that the mirror is about to put in place.
                Side::Disk => {
                    let shown = shown_on_disk(&self.folder).into_keys();
                    shown.filter(|path| !path.contains(".yfs-tmp-")).collect()
                }
                _ => {
                    let listed =
                        now(self.workspace.fs().walk(&VPath::root(), &WalkOptions::default()));
                    let listed = listed.expect("a tree");
                    let path = |path: &VPath| path.as_str().trim_start_matches('/').to_owned();
                    listed.iter().map(|item| path(&item.path)).collect()
                }
            };
            if let Some(path) = there.choose(&mut self.rng) {
                return path.clone();
            }
        }
        let dirs = ["", "a/", "b/", "a/c/", "d e/"];
        let names = ["one.txt", "two.md", "three.rs", "f\u{f6}ur.txt", "five"];
        format!(
            "{}{}",
            dirs[self.rng.random_range(0..dirs.len())],
            names[self.rng.random_range(0..names.len())]
        )
    }

    fn on_disk(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    fn run(&self, args: &[&str], stdin: &str) -> Option<()> {
        let file = self.file.to_string_lossy().into_owned();
        let args = [&["--workspace", &file], args].concat();
        (command::run(&self.folder, &args, stdin.as_bytes()).code == Some(0)).then_some(())
    }

    fn write_new(&mut self, side: Side, path: &str, word: &str) -> Option<bool> {
        let text = format!("{word}\n");
        match side {
            Side::Disk => {
                let at = self.on_disk(path);
                fs::create_dir_all(at.parent()?).ok()?;
                // Never over an existing file: that would rightly delete the words of others.
                let mut file = fs::File::options().write(true).create_new(true).open(at).ok()?;
                std::io::Write::write_all(&mut file, text.as_bytes()).ok()?;
            }
            Side::Library => {
                let data = text.into();
                now(self.workspace.fs().create_new(&v(path)?, data)).ok()?;
            }
            Side::Command => {
                self.run(&["write", "--create-new", &format!("/{path}"), "--content", &text], "")?;
            }
            Side::Http => {
                let new = [("If-None-Match", "*")];
                self.ask("PUT", &url(path), &new, text.as_bytes())?;
            }
            Side::Editor => return None,
        }
        Some(true)
    }

    /// Puts a word into a text, at some line, and takes nothing away.
    fn insert(&mut self, side: Side, path: &str, word: &str) -> Option<bool> {
        let at = self.rng.random_range(0..8);
        match side {
            Side::Disk | Side::Editor => return None,
            Side::Library => {
                let fs = self.workspace.fs();
                let read = now(fs.read(&v(path)?)).ok()?;
                let text = String::from_utf8(read.data.to_vec()).ok()?;
                let base = Some(yfs_vfs::VersionBase::Version(read.version));
                let options = WriteOptions { base, ..WriteOptions::default() };
                now(fs.write(&v(path)?, with_line(&text, at, word).into(), &options)).ok()?;
            }
            Side::Command => {
                self.run(&["append", &format!("/{path}"), "--content", &format!("{word}\n")], "")?;
            }
            Side::Http => {
                let read = self.ask("GET", &url(path), &[], b"")?;
                let known = [("If-Match", read.header("etag"))];
                let text = String::from_utf8(read.body.clone()).ok()?;
                let place = format!("{}?conflict=merge", url(path));
                self.ask("PUT", &place, &known, with_line(&text, at, word).as_bytes())?;
            }
        }
        Some(true)
    }

    fn rename(&mut self, side: Side, from: &str, to: &str) -> Option<()> {
        match side {
            Side::Disk => {
                let (from, to) = (self.on_disk(from), self.on_disk(to));
                // Over a file it would take away what others wrote to it.
                if to.symlink_metadata().is_ok() {
                    return None;
                }
                fs::create_dir_all(to.parent()?).ok()?;
                fs::rename(from, to).ok()
            }
            Side::Library => {
                let options = MoveOptions { replace: false, parents: true };
                now(self.workspace.fs().mv(&v(from)?, &v(to)?, &options)).ok()
            }
            Side::Command => {
                self.run(&["mv", "--no-clobber", &format!("/{from}"), &format!("/{to}")], "")
            }
            Side::Http => {
                let body = json!({ "from": format!("/{from}"), "to": format!("/{to}") });
                self.post("/api/move", &body)
            }
            Side::Editor => None,
        }
    }

    fn remove(&mut self, side: Side, path: &str) -> Option<()> {
        match side {
            Side::Disk => {
                // The second part of a save would be deleted with the first, unseen.
                if !self.halves.is_empty() {
                    return None;
                }
                let at = self.on_disk(path);
                self.excuse(path);
                match at.symlink_metadata().ok()?.is_dir() {
                    true => fs::remove_dir_all(at).ok(),
                    false => fs::remove_file(at).ok(),
                }
            }
            Side::Library => now(self.workspace.fs().rm_all(&v(path)?)).ok(),
            Side::Command => self.run(&["rm", "-r", &format!("/{path}")], ""),
            Side::Http => {
                let place = format!("{}?recursive=true", url(path));
                self.ask("DELETE", &place, &[], b"").map(drop)
            }
            Side::Editor => None,
        }
    }

    /// Removes words that their writer is about to delete on disk before any other process has seen
    /// them.
    fn excuse(&mut self, path: &str) {
        let is_within = |other: &str| other == path || other.starts_with(&format!("{path}/"));
        let all = shown_on_disk(&self.folder);
        let going: String =
            all.iter().filter(|(path, _)| is_within(path)).map(|(_, what)| &**what).collect();
        self.workspace.catch_up().expect("the log can be read");
        let seen = shown_in_workspace(&self.workspace.fs());
        let seen: String = seen.into_values().collect();
        let is_theirs = |word: &Word| going.contains(&word.text) && !seen.contains(&word.text);
        self.words.retain(|word| !is_theirs(word));
    }

    fn mkdir(&mut self, side: Side, path: &str) -> Option<()> {
        let path = path.trim_end_matches(".txt");
        match side {
            Side::Disk => fs::create_dir_all(self.on_disk(path)).ok(),
            Side::Http => {
                self.post("/api/mkdir", &json!({ "path": format!("/{path}"), "recursive": true }))
            }
            _ => now(self.workspace.fs().mkdir_all(&v(path)?)).ok(),
        }
    }

    fn link(&mut self, side: Side, path: &str) -> Option<()> {
        match side {
            Side::Disk => symlink("one.txt", self.on_disk(path)).ok(),
            _ => now(self.workspace.fs().symlink("two.md", &v(path)?)).ok(),
        }
    }

    fn write_bytes(&mut self, side: Side, path: &str, word: &str) -> Option<()> {
        // Under names that no text ever has: bytes over a text delete words that were not read yet.
        let above = path.rsplit_once('/').map_or("", |(above, _)| above);
        let path = format!("{above}/raw{}.bin", self.rng.random_range(0..3));
        let path = path.trim_start_matches('/').to_owned();
        let bytes = [word.as_bytes(), &[0, 255, 254]].concat();
        match side {
            Side::Disk => {
                let at = self.on_disk(&path);
                // Other programs append to such a file, too.
                self.excuse(&path);
                at.parent()?.is_dir().then(|| fs::write(at, bytes).ok())?
            }
            _ => {
                let options = WriteOptions::default();
                now(self.workspace.fs().write(&v(&path)?, bytes.into(), &options)).ok().map(drop)
            }
        }
    }

    /// Asks the server; nothing if it refuses.
    fn ask(
        &self,
        method: &str,
        place: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Option<Answer> {
        let client = Client { port: self.served.as_ref()?.port, token: None };
        Some(client.send(method, place, headers, body)).filter(|answer| answer.status < 300)
    }

    fn post(&self, place: &str, body: &Value) -> Option<()> {
        let json = [("Content-Type", "application/json")];
        self.ask("POST", place, &json, body.to_string().as_bytes()).map(drop)
    }

    /// Types a word at the beginning of a text, whether or not the server is there.
    fn type_word(&mut self, path: &str, word: &str) -> Option<bool> {
        let is_text = [".txt", ".rs"].iter().any(|end| path.ends_with(end));
        self.workspace.catch_up().expect("the log can be read");
        let info = self.workspace.documents().info(&v(path)?).ok().filter(|_| is_text)?;
        info.root().filter(|root| *root == "text")?;
        let (guid, served) = (info.guid.to_string(), self.served.as_mut()?);
        if served.open.insert(guid.clone()) {
            served.person.call(&json!({ "do": "open", "as": guid, "room": guid }));
        }
        let text = format!("{word}\n");
        served.person.call(&json!({ "do": "insert", "as": guid, "at": 0, "text": text }));
        served.typed.push((word.to_owned(), guid));
        Some(true)
    }

    /// Waits until what was typed, offline as well, is in the log.
    fn save_all(&mut self) {
        if self.served.is_some() && self.keeper.is_none() {
            self.start();
        }
        let Some(served) = &mut self.served else { return };
        for guid in &served.open {
            let wait = json!({ "do": "wait", "as": guid, "for": "saved" });
            let state = served.person.call(&wait);
            served.shown.insert(guid.clone(), state["documents"][guid].clone());
        }
    }

    /// Lets it come to rest, and looks for what must hold then.
    fn check(mut self, seed: u64) {
        while !self.halves.is_empty() {
            self.finish_half(0);
        }
        self.save_all();
        match self.keeper.take() {
            Some(Keeper::Server(server)) => assert_eq!(server.interrupt(), Some(0)),
            mirror => drop(mirror),
        }
        let mut shown: (Shown, Shown) = Default::default();
        for _ in 0..10 {
            assert!(mirror_once(&self.folder, &self.file, None), "seed {seed}: it ends well");
            self.workspace.catch_up().expect("the log can be read");
            shown = (shown_on_disk(&self.folder), shown_in_workspace(&self.workspace.fs()));
            if shown.0 == shown.1 {
                break;
            }
        }
        let story = || self.log.iter().rev().take(60).rev().cloned().collect::<Vec<_>>().join("\n");
        if shown.0 != shown.1 {
            let differs = |one: &Shown, other: &Shown| -> Vec<String> {
                let differs = one.iter().filter(|(path, what)| other.get(*path) != Some(what));
                differs.map(|(path, what)| format!("{path}: {what}")).collect()
            };
            panic!(
                "seed {seed}: on disk {:#?}, in the workspace {:#?}\n{}",
                differs(&shown.0, &shown.1),
                differs(&shown.1, &shown.0),
                story()
            );
        }
        let doubled: Vec<&Word> =
            self.words.iter().filter(|word| is_doubled(&shown.1, &word.text)).collect();
        let found = self.all_texts();
        // Two writers that begin a line at once share the equal parts, the dot and the end of the
        // line; so the numbers are compared.
        let found: BTreeSet<&str> = found.split(|char: char| !char.is_ascii_digit()).collect();
        let is_lost = |word: &&Word| !found.contains(number_of(&word.text));
        let lost: Vec<&Word> = self.words.iter().filter(is_lost).collect();
        let fates = lost.iter().chain(&doubled).map(|word| self.story_of(&word.text));
        let fates: Vec<String> = fates.collect();
        assert!(
            lost.is_empty() && doubled.is_empty(),
            "seed {seed}: lost {:?}, doubled {:?} of {:?}\n{}\n\n{}",
            by_kind(&lost),
            by_kind(&doubled),
            by_kind(&self.words.iter().collect::<Vec<_>>()),
            fates.join("\n\n"),
            self.evidence(&lost) + &texts_with(&shown.1, &doubled)
        );
        let strays: Vec<&String> =
            shown.0.keys().filter(|path| path.contains(".yfs-tmp-")).collect();
        assert!(strays.is_empty(), "seed {seed}: {strays:?}");
        self.workspace.close().expect("it closes");
    }

    /// Returns what was done where a word was written, and who died or began meanwhile.
    fn story_of(&self, word: &str) -> String {
        let from = self.log.iter().position(|line| line.contains(word)).unwrap_or_default();
        let path = self.log[from].split(' ').skip(2).take(1).collect::<String>();
        let is_about = |line: &&String| line.contains(&path) || !line.contains('w');
        let lines = self.log[from.saturating_sub(5)..].iter().filter(is_about).take(40);
        lines.cloned().collect::<Vec<_>>().join("\n")
    }

    /// Returns what explains a loss: all steps; for each document that a lost word was typed into,
    /// what the editor and the workspace hold; the conflicts; and the quarantine.
    fn evidence(&self, lost: &[&Word]) -> String {
        let mut lines = vec![format!("all steps:\n{}", self.log.join("\n"))];
        // Before a port is opened, which merges what is late.
        lines.push(format!("conflicts {:#?}", self.workspace.conflicts()));
        let typed = self.served.iter().flat_map(|served| &served.typed);
        let is_lost = |word: &str| lost.iter().any(|lost| lost.text == word);
        let guids = typed.filter(|(word, _)| is_lost(word)).map(|(_, guid)| guid);
        for guid in guids.collect::<BTreeSet<_>>() {
            let editor = self.served.as_ref().and_then(|served| served.shown.get(guid));
            let id = FileId::parse(guid).expect("a guid of a file");
            let node = self.workspace.nodes().get(&id).ok().flatten();
            let path = self.workspace.nodes().path_of(&id).ok().flatten();
            let text = path.as_ref().map(|path| now(self.workspace.fs().read(path)));
            let port = self.workspace.documents().port(guid);
            let updates = port.and_then(|port| Ok((port.diff(&[0])?, port.parked()?)));
            let updates = updates.map(|(logged, parked)| {
                let logged = String::from_utf8_lossy(&logged).into_owned();
                let has = |word: &&Word| logged.contains(&word.text);
                let logged: Vec<&String> =
                    lost.iter().copied().filter(has).map(|word| &word.text).collect();
                format!("words in its log {logged:?}, {} updates parked", parked.len())
            });
            lines.push(format!(
                "document {guid}:\nthe editor {editor:?}\nthe node {node:?}\n\
                 at {path:?}: {text:?}\n{updates:?}"
            ));
        }
        lines.push(format!("quarantine {:#?}", self.workspace.maintenance().quarantined()));
        lines.join("\n\n")
    }

    /// Returns every text of every version of every file, in the trash or not.
    fn all_texts(&self) -> String {
        let mut all = String::new();
        for item in self.workspace.trash().list().expect("a trash") {
            self.workspace.trash().restore(&item.id, None).expect("it can be restored");
        }
        let listed = now(self.workspace.fs().walk(&VPath::root(), &WalkOptions::default()));
        for item in listed.expect("a tree") {
            if item.entry.kind != FileKind::File {
                continue;
            }
            all.push_str(&read_all(&self.workspace, &item.path));
            for version in self.workspace.history().versions(&item.path).expect("versions") {
                let content = self.workspace.history().version_content(&item.path, version.number);
                all.push_str(&String::from_utf8_lossy(&content.expect("a version")));
            }
        }
        all
    }
}

fn read_all(workspace: &Workspace, path: &VPath) -> String {
    let read = now(workspace.fs().read(path)).expect("a file");
    String::from_utf8_lossy(&read.data).into_owned()
}

/// Returns where a file is on the server.
fn url(path: &str) -> String {
    let escaped = path.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'/' | b'-' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    });
    format!("/api/files/{}", escaped.collect::<String>())
}

fn v(path: &str) -> Option<VPath> {
    VPath::parse(&format!("/{path}")).ok()
}

/// Returns the number in a word.
fn number_of(word: &str) -> &str {
    &word[1..word.len() - 1]
}

/// Reports whether a word stands in a content more than once.
fn is_doubled(shown: &Shown, word: &str) -> bool {
    let is_it = |part: &&str| *part == number_of(word);
    let n_times =
        |text: &String| text.split(|char: char| !char.is_ascii_digit()).filter(is_it).count();
    shown.values().any(|text| n_times(text) > 1)
}

/// Returns the contents in which words stand more than once.
fn texts_with(shown: &Shown, doubled: &[&Word]) -> String {
    let mut found = String::new();
    for word in doubled {
        for (path, text) in shown.iter().filter(|(_, text)| text.contains(number_of(&word.text))) {
            found += &format!("\n\n{} in {path}:\n{text}", word.text);
        }
    }
    found
}

/// Counts words by the kind of edit that wrote them.
fn by_kind(words: &[&Word]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word.kind.clone()).or_default() += 1;
    }
    counts
}
