//! Several processes on one store; some of them are killed.
//!
//! The children run this test binary: [`child`] is a test that does nothing unless environment
//! variables name its role. They exchange lines with their parent.
#![expect(clippy::print_stdout, reason = "children report through their output")]

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yfs_store::{
    AppendBatch, DocName, LogRecord, MergeError, MergedSnapshot, OpenOptions, Seq, SqliteStore,
    Store, StoreError, StoredDocument, UnlockKey, UpdateLog,
};
use yfs_types::time::Millis;

const ROLE: &str = "YFS_STORE_TEST_ROLE";
const STORE: &str = "YFS_STORE_TEST_PATH";
const NAME: &str = "YFS_STORE_TEST_NAME";
const KEY: &str = "YFS_STORE_TEST_KEY";

/// The names that two processes try to create.
const N_NAMES: usize = 1000;

/// Documents that the writers of [`killed`] write to.
const DOCS: [&str; 3] = ["a", "b", "c"];

// ---- the parent's side

struct Process {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Process {
    fn spawn(role: &str, name: &str, store: &Path) -> Self {
        Self::spawn_with(role, name, store, "")
    }

    /// Spawns a child that opens the store with a key, if `key` is not empty.
    fn spawn_with(role: &str, name: &str, store: &Path, key: &str) -> Self {
        let mut child = Command::new(env::current_exe().expect("this binary"))
            .args(["--exact", "processes::child", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(NAME, name)
            .env(STORE, store)
            .env(KEY, key)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("spawn");
        let stdin = child.stdin.take().expect("it is piped");
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, lines) = channel();
        // Ends with the child's output; lines that nothing waits for are dropped.
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // The test harness prints its own lines, one of them without an end.
                if let Some((_, line)) = line.split_once("> ") {
                    sender.send(line.to_owned()).ok();
                }
            }
        });
        Self { child, stdin, lines }
    }

    fn write_line(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").expect("the child reads");
    }

    fn read_line(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(600)).expect("the child writes a line")
    }

    /// Kills the child at once and returns its remaining output.
    fn kill(mut self) -> Vec<String> {
        self.child.kill().expect("kill");
        self.child.wait().expect("wait");
        self.lines.iter().collect()
    }

    fn finish(mut self) -> Vec<String> {
        drop(self.stdin);
        assert!(self.child.wait().expect("wait").success(), "a child failed");
        self.lines.iter().collect()
    }
}

fn doc(name: &str) -> DocName {
    DocName::parse(name).expect("a name")
}

fn lines_of(loaded: &StoredDocument) -> Vec<String> {
    assert_eq!(loaded.damaged, []);
    let parts = loaded.updates.iter().map(|record| record.data.as_slice());
    let bytes: Vec<&[u8]> = loaded.snapshot.as_deref().into_iter().chain(parts).collect();
    lines_in(&bytes.concat())
}

/// Returns the lines of a text, without their padding.
fn lines_in(text: &[u8]) -> Vec<String> {
    let text = str::from_utf8(text).expect("text");
    text.lines().map(|line| line.trim_end_matches('.').to_owned()).collect()
}

/// Merges as a set of lines, as documents do: a repeated line counts once.
fn join(snapshot: Option<&[u8]>, records: &[LogRecord]) -> Result<MergedSnapshot, MergeError> {
    let mut state = snapshot.unwrap_or_default().to_vec();
    records.iter().for_each(|record| state.extend(&record.data));
    Ok(MergedSnapshot {
        state,
        absorbed: vec![true; records.len()],
        rewritten: Vec::new(),
        changes: Vec::new(),
    })
}

/// Returns the key that a text stands for; none for an empty one.
fn unlock_key(text: &str) -> Option<UnlockKey> {
    let bytes = text.repeat(32).into_bytes();
    (!text.is_empty()).then(|| UnlockKey::from_key_file(bytes).expect("a key"))
}

fn open_or_create(path: &Path, key: &str) -> Result<SqliteStore, StoreError> {
    let options = OpenOptions { create: true, ..OpenOptions::default() };
    SqliteStore::open_with_key(path, options, unlock_key(key).as_ref())
}

fn n_kills() -> usize {
    env::var("YFS_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

/// Kills writers and compactors at random moments. Every acknowledged line must be there once,
/// every reopening must succeed, and the survivors must agree with the store.
#[test]
fn killed() {
    kill_at_random("");
}

#[test]
fn killed_while_they_encrypt() {
    kill_at_random("a key");
}

fn kill_at_random(key: &str) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let spawn = |slot: usize, n_spawned: usize| {
        let role = if slot == 0 { "compactor" } else { "writer" };
        Process::spawn_with(role, &format!("{slot}-{n_spawned}"), &path, key)
    };
    let mut processes: Vec<_> = (0..5).map(|slot| spawn(slot, 0)).collect();
    let mut acked = BTreeSet::new();
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for n_spawned in 1..=n_kills() {
        // Each pause ends at a random moment of the children's work.
        thread::sleep(Duration::from_micros(random.random_range(20_000..80_000)));
        let slot = random.random_range(0..processes.len());
        let killed = std::mem::replace(&mut processes[slot], spawn(slot, n_spawned));
        acked.extend(killed.kill());
    }
    drop(processes.remove(0).kill());
    for writer in &mut processes {
        writer.write_line("stop");
    }
    // All of them stop writing before any of them reads.
    for writer in &processes {
        loop {
            let line = writer.read_line();
            if line == "stopped" {
                break;
            }
            acked.insert(line);
        }
    }
    let mut views = Vec::new();
    for mut writer in processes {
        writer.write_line("look");
        views.push(writer.read_line());
        drop(writer.finish());
    }
    assert!(acked.iter().all(|line| !line.starts_with("error")), "{acked:?}");

    let store = open_or_create(&path, key).expect("open");
    let mut stored = BTreeMap::new();
    for name in DOCS {
        for line in lines_of(&store.load(&doc(name)).expect("load")) {
            assert_eq!(stored.insert(line.clone(), name), None, "{line} is there twice");
        }
    }
    let lost: Vec<_> = acked.iter().filter(|line| !stored.contains_key(*line)).collect();
    assert_eq!(lost, Vec::<&String>::new(), "acknowledged, but not there");
    let truth = format!("view {} {:016x}", stored.len(), digest(stored.keys()));
    assert!(views.iter().all(|view| *view == truth), "{views:?}, but the store has {truth}");
    assert_eq!(store.check().expect("check").problems, []);
    println!("{} kills, {} acknowledged, {} stored", n_kills(), acked.len(), stored.len());
}

/// Two processes create the same name at the same moment, a thousand times. Both have read that it
/// is not there before either may write, so one of them has to be refused.
#[test]
fn create_new_is_exclusive() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let mut racers = ["left", "right"].map(|name| Process::spawn("racer", name, &path));
    for number in 0..N_NAMES {
        for racer in &racers {
            assert_eq!(racer.read_line(), format!("ready {number}"));
        }
        for racer in &mut racers {
            racer.write_line("create");
        }
        let mut outcomes = racers.each_ref().map(Process::read_line);
        outcomes.sort_unstable();
        assert_eq!(outcomes, ["lost", "won"], "name {number}");
    }
    for racer in racers {
        racer.finish();
    }
    let store = SqliteStore::open(&path).expect("open");
    assert_eq!(lines_of(&store.load(&doc("names")).expect("load")).len(), N_NAMES);
}

/// One process sees what another appends. The delay is printed; `docs/performance.md` has figures.
#[test]
fn others_see_appends_soon() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let store = SqliteStore::open_or_create(&path).expect("open");
    let mut echo = Process::spawn("echo", "echo", &path);
    assert_eq!(echo.read_line(), "ready");
    let mut round_trips = Vec::new();
    for number in 0..100 {
        let start = Instant::now();
        let ping = AppendBatch::one(doc("ping"), format!("{number}").into_bytes(), Millis(1));
        let mut after = store.append(ping).expect("append").last;
        loop {
            assert!(store.wait(after, Duration::from_secs(600)).expect("wait"), "no echo");
            let tail = store.tail(after, &|name, _| *name == doc("pong")).expect("tail");
            after = tail.upto;
            if !tail.records.is_empty() {
                break;
            }
        }
        round_trips.push(start.elapsed());
    }
    echo.write_line("stop");
    echo.finish();
    round_trips.sort();
    println!("round trip: median {:?}, last but ten {:?}", round_trips[50], round_trips[89]);
}

/// From the moment an append returned, every call in every other process counts it.
#[test]
fn no_process_lags_behind_another() {
    const N_ROUNDS: u64 = 4000;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let store = SqliteStore::open_or_create(&path).expect("open");
    let mut partner = Process::spawn("partner", "partner", &path);
    assert_eq!(partner.read_line(), "ready");
    for round in 0..N_ROUNDS {
        let name = doc(DOCS[round as usize % DOCS.len()]);
        let ours = AppendBatch::one(name.clone(), vec![1], Millis(1));
        let written = store.append(ours).expect("append").last;
        partner.write_line(&format!("{name} {written}"));
        // The partner reads the head, appends, and reports the position.
        let theirs: u64 = partner.read_line().parse().expect("a position");
        assert_eq!(store.doc_head(&name).expect("head").seq, Seq(theirs), "round {round}");
        assert_eq!(store.head().expect("head"), Seq(theirs), "round {round}");
        let stats = store.doc_stats(&name).expect("stats").expect("it was written");
        assert_eq!(stats.head, Seq(theirs), "round {round}");
    }
    partner.finish();
}

/// Returns how often this thread has slept: unlike a time, it grows with the tries of a call and
/// not with the load of the machine. 0 where the kernel does not count it.
#[cfg(target_os = "linux")]
fn n_pauses() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("it is there");
    let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    count.map_or(0, |count| count.trim().parse().expect("a number"))
}

/// A process that is stopped while it writes is named at once: waiting for it is useless.
#[cfg(target_os = "linux")]
#[test]
fn a_stopped_writer_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let store = SqliteStore::open_or_create(&path).expect("open");
    let mut holder = Process::spawn("holder", "holder", &path);
    assert_eq!(holder.read_line(), "holding");
    let pid = holder.child.id();
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &pid.to_string()]).status().expect("kill");
        assert!(sent.success());
    };
    let is_stopped = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
        stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
    };
    signal("-STOP");
    while !is_stopped() {
        thread::yield_now();
    }
    let batch = || AppendBatch::one(doc("a"), vec![1], Millis(1));
    let error = store.append(batch()).expect_err("the store is held");
    let StoreError::Locked { holder: Some(named), .. } = &error else { panic!("{error:?}") };
    assert_eq!((named.pid, named.is_stopped), (pid, true), "{error}");
    assert!(error.to_string().contains(&format!("process {pid} (")), "{error}");
    assert_eq!(store.load(&doc("a")).expect("reading goes on").updates.len(), 0);
    // Opening the store meets the same process. It tried again for 10 s, every 2 ms.
    let before = n_pauses();
    let error = SqliteStore::open(&path).expect_err("the store is held");
    let StoreError::Locked { holder: Some(named), .. } = &error else { panic!("{error:?}") };
    assert_eq!((named.pid, named.is_stopped), (pid, true), "{error}");
    assert!(n_pauses() - before < 1000, "it waited for a stopped process");
    signal("-CONT");
    holder.write_line("stop");
    store.append(batch()).expect("it goes on");
    holder.finish();
}

/// A store that two processes create at the same time is created once.
#[test]
fn made_once() {
    for key in ["", "a key"].repeat(6) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("store.db");
        let makers = [0; 4].map(|_| Process::spawn_with("maker", "maker", &path, key));
        let made: Vec<String> = makers.into_iter().flat_map(Process::finish).collect();
        assert_eq!(made.iter().filter(|line| *line == "made").count(), 1, "{made:?}");
        assert_eq!(made.iter().filter(|line| *line == "exists").count(), 3, "{made:?}");
    }
}

/// A process that has the store open goes on while another changes the key.
#[test]
fn a_key_is_changed_while_another_process_writes() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let store = open_or_create(&path, "old").expect("open");
    let mut partner = Process::spawn_with("partner", "partner", &path, "old");
    assert_eq!(partner.read_line(), "ready");
    let ask = |partner: &mut Process| {
        let ours = AppendBatch::one(doc("a"), vec![1], Millis(1));
        let written = store.append(ours).expect("append").last;
        partner.write_line(&format!("a {written}"));
        assert_eq!(partner.read_line(), (written.0 + 1).to_string());
    };
    ask(&mut partner);
    store.change_key(&unlock_key("new").expect("a key")).expect("change");
    ask(&mut partner);
    partner.finish();
    let refused = Process::spawn_with("partner", "partner", &path, "old").finish();
    assert!(refused[0].starts_with("error cannot open"), "{refused:?}");
    let again = open_or_create(&path, "new").expect("open");
    let loaded = again.load(&doc("a")).expect("load");
    let data: Vec<u8> = loaded.updates.into_iter().flat_map(|record| record.data).collect();
    assert_eq!((loaded.damaged, data), (Vec::new(), vec![1, 2, 1, 2]));
}

// ---- the children's side

/// Plays a role, if environment variables name one.
#[test]
fn child() {
    let Ok(role) = env::var(ROLE) else { return };
    let path = env::var(STORE).expect("the parent says where");
    let name = env::var(NAME).expect("the parent says who");
    let key = env::var(KEY).expect("the parent says whether there is a key");
    let path = Path::new(&path);
    println!();
    if role == "maker" {
        let options = OpenOptions { create: true, create_new: true, ..OpenOptions::default() };
        match SqliteStore::open_with_key(path, options, unlock_key(&key).as_ref()) {
            Ok(_) => println!("> made"),
            Err(StoreError::Exists { .. }) => println!("> exists"),
            Err(error) => println!("> {error}"),
        }
        return;
    }
    let store = match open_or_create(path, &key) {
        Ok(store) => store,
        Err(error) => {
            println!("> error {error} {error:?}");
            return;
        }
    };
    match role.as_str() {
        "writer" => write(&store, &name),
        "compactor" => compact(&store),
        "racer" => race(&store),
        "echo" => echo(&store),
        "holder" => hold(path),
        "partner" => answer_appends(&store),
        _ => panic!("no role {role}"),
    }
}

/// Returns the lines of the parent.
fn commands() -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        std::io::stdin().lines().map_while(Result::ok).for_each(|line| {
            sender.send(line).ok();
        });
    });
    receiver
}

fn write(store: &dyn Store, name: &str) {
    let commands = commands();
    let (mut view, mut after) = (BTreeSet::new(), Seq::ZERO);
    for number in 0.. {
        let line = format!("{name}:{number}");
        // Some lines are large enough for the table of large updates.
        let padding = if number % 17 == 0 { ".".repeat(2000) } else { String::new() };
        let data = format!("{line}{padding}\n").into_bytes();
        let mut batch = AppendBatch::one(doc(DOCS[number % DOCS.len()]), data, Millis(1));
        if number % 13 == 0 {
            batch = batch.synced();
        }
        match store.append(batch) {
            Ok(_) => println!("> {line}"),
            Err(error) => println!("> error {error} {error:?}"),
        }
        if number % 5 == 0 {
            follow(store, &mut after, &mut view);
        }
        if commands.recv_timeout(Duration::from_micros(500)).is_ok() {
            break;
        }
    }
    println!("> stopped");
    commands.recv().expect("the parent says when to look");
    follow(store, &mut after, &mut view);
    println!("> view {} {:016x}", view.len(), digest(&view));
}

/// Updates a set of all lines by the tail alone.
fn follow(store: &dyn Store, after: &mut Seq, view: &mut BTreeSet<String>) {
    loop {
        let tail = store.tail(*after, &|_, _| true).expect("tail");
        for reload in tail.reload {
            view.extend(lines_of(&store.load(&reload.doc).expect("load")));
        }
        for record in tail.records {
            view.extend(lines_in(&record.data));
        }
        *after = tail.upto;
        if !tail.more {
            return;
        }
    }
}

fn compact(store: &dyn Store) {
    for at in 0.. {
        let name = doc(DOCS[at % DOCS.len()]);
        let n_records = store.doc_stats(&name).expect("stats").map_or(0, |stats| stats.n_records);
        if n_records > 10 {
            store.compact(&name, &join).expect("compact");
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// For each name: reads that it is not there, and creates it when the parent says so.
fn race(store: &dyn Store) {
    let commands = commands();
    let names = doc("names");
    let (mut view, mut after) = (BTreeSet::new(), Seq::ZERO);
    for number in 0..N_NAMES {
        let wanted = format!("created {number}");
        follow(store, &mut after, &mut view);
        assert!(!view.contains(&wanted), "it is created when the parent says so");
        println!("> ready {number}");
        commands.recv().expect("the parent says when");
        let data = format!("{wanted}\n").into_bytes();
        let batch = AppendBatch::one(names.clone(), data, Millis(1));
        match store.append(batch.expecting(names.clone(), after)) {
            Ok(_) => println!("> won"),
            Err(StoreError::HeadMoved { .. }) => {
                follow(store, &mut after, &mut view);
                assert!(view.contains(&wanted), "only the other one has moved the head");
                println!("> lost");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn echo(store: &dyn Store) {
    let commands = commands();
    let mut after = store.head().expect("head");
    println!("> ready");
    while commands.try_recv().is_err() {
        if !store.wait(after, Duration::from_millis(50)).expect("wait") {
            continue;
        }
        let tail = store.tail(after, &|name, _| *name == doc("ping")).expect("tail");
        after = tail.upto;
        for record in tail.records {
            store.append(AppendBatch::one(doc("pong"), record.data, Millis(1))).expect("append");
        }
    }
}

/// Holds the writer lock until the parent sends a line.
fn hold(path: &Path) {
    let connection = rusqlite::Connection::open(path).expect("open");
    connection.execute_batch("BEGIN IMMEDIATE").expect("no other process writes");
    println!("> holding");
    std::io::stdin().lines().next();
    connection.execute_batch("ROLLBACK").expect("roll back");
}

/// For each append of the parent: checks that it is visible, appends too, and reports the position.
fn answer_appends(store: &dyn Store) {
    println!("> ready");
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let (name, written) = line.split_once(' ').expect("two words");
        let (name, written) = (doc(name), Seq(written.parse().expect("a position")));
        assert_eq!(store.doc_head(&name).expect("head").seq, written);
        assert_eq!(store.head().expect("head"), written);
        let answer = AppendBatch::one(name, vec![2], Millis(1));
        println!("> {}", store.append(answer).expect("append").last);
    }
}

/// Returns a hash of lines, the same in every process.
fn digest<'a>(lines: impl IntoIterator<Item = &'a String>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in lines.into_iter().flat_map(|line| line.bytes().chain([b'\n'])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}
