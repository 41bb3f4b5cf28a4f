//! Several processes in one workspace at once, which is one SQLite file: creating is exclusive,
//! edits and appends all land, and each process soon sees what the others wrote.
//!
//! `YFS_RACES` says how often two processes race to create a file.

use std::{
    collections::BTreeSet,
    env,
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

use tempfile::TempDir;
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::actor::{Actor, ActorKind};
use yfs_tests::{
    process::{Process, checkpoint_after, options, read_line, role, write_line},
    script::{Player, now, path, show},
};
use yfs_vfs::FileSystemExt;

/// How many agents edit one file at once.
const N_AGENTS: usize = 20;

/// How often each of four processes appends.
const N_APPENDS: usize = 50;

/// How many writes are waited for by another process.
const N_PINGS: usize = 60;

fn workspace() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("workspace.db");
    Workspace::create_at(&file, options()).expect("a workspace").close().expect("closed");
    (dir, file)
}

/// Starts children, waits until all are ready, and lets them go.
fn start(role: &str, n_children: usize, file: &Path) -> Vec<Process> {
    let spawn = |number: usize| Process::spawn(module_path!(), role, &number.to_string(), file);
    let mut children: Vec<Process> = (0..n_children).map(spawn).collect();
    for child in &children {
        assert_eq!(child.read_line(), "ready");
    }
    for child in &mut children {
        child.write_line("go");
    }
    children
}

fn read(file: &Path, at: &str) -> String {
    let workspace = Workspace::open_at(file, options()).expect("it opens");
    let text = now(workspace.fs().read_to_string(&path(at))).expect("it reads");
    assert_eq!(workspace.store().check().expect("a check").problems, []);
    workspace.close().expect("it closes");
    text
}

#[test]
fn of_two_who_create_a_file_one_does() {
    let n_races: usize = env::var("YFS_RACES").map_or(100, |text| text.parse().expect("a number"));
    let (_dir, file) = workspace();
    let mut racers = start("racer", 2, &file);
    let mut n_won = [0; 2];
    for race in 0..n_races {
        for racer in &mut racers {
            racer.write_line(&race.to_string());
        }
        let won = [0, 1].map(|ix| racers[ix].read_line() == "won");
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "race {race}: {won:?}");
        n_won = [0, 1].map(|ix| n_won[ix] + usize::from(won[ix]));
    }
    racers.iter_mut().for_each(|racer| racer.write_line("stop"));
    for racer in racers {
        racer.finish();
    }
    let workspace = Workspace::open_at(&file, options()).expect("it opens");
    let shown = show(&workspace.fs());
    assert_eq!(shown.lines().count(), n_races + 1, "a file for each race, and their folder");
    println!("{n_races} races, won {n_won:?}");
}

#[test]
fn twenty_agents_edit_one_file_at_once_and_twenty_edits_are_kept() {
    let (_dir, file) = workspace();
    let text: String = (0..N_AGENTS).map(|agent| format!("agent {agent}: todo;\n")).collect();
    let workspace = Workspace::open_at(&file, options()).expect("it opens");
    now(workspace.fs().write_text(&path("/plan.md"), &text)).expect("it writes");
    workspace.close().expect("it closes");
    for agent in start("agent", N_AGENTS, &file) {
        agent.finish();
    }
    let text = read(&file, "/plan.md");
    let expected: String = (0..N_AGENTS).map(|agent| format!("agent {agent}: done;\n")).collect();
    assert_eq!(text, expected);
}

#[test]
fn appends_of_four_processes_all_land_in_one_piece_while_another_reads() {
    let (_dir, file) = workspace();
    let mut reader = start("reader", 1, &file).remove(0);
    for appender in start("appender", 4, &file) {
        appender.finish();
    }
    reader.write_line("stop");
    println!("{}", reader.finish().join(", "));
    let text = read(&file, "/log.txt");
    let lines: BTreeSet<&str> = text.lines().collect();
    let expected: Vec<String> =
        (0..4).flat_map(|who| (0..N_APPENDS).map(move |n| appended(&who.to_string(), n))).collect();
    assert_eq!(lines, expected.iter().map(|line| line.trim_end()).collect());
    assert_eq!(text.lines().count(), expected.len(), "none is there twice");
}

#[test]
fn others_see_what_is_written() {
    let (_dir, file) = workspace();
    let mut watcher = start("watcher", 1, &file).remove(0);
    let workspace = Workspace::open_at(&file, options()).expect("it opens");
    let mut times = Vec::new();
    for number in 0..N_PINGS {
        let begun = Instant::now();
        let text = number.to_string();
        now(workspace.fs().write_text(&path("/ping"), &text)).expect("it writes");
        assert_eq!(watcher.read_line(), text);
        times.push(begun.elapsed());
    }
    watcher.write_line("stop");
    watcher.finish();
    times.sort();
    let (median, late) = (times[N_PINGS / 2], times[N_PINGS - 1]);
    println!("another process says what it saw: p50 {median:?}, p99 {late:?}");
}

/// Plays a role, if this process is a child.
#[test]
fn child() {
    let Some(role) = role() else { return };
    let actor = Actor::new(ActorKind::Agent, &role.name);
    let options = match role.what.as_str() {
        "watcher" => options(),
        "reader" => WorkspaceOptions::reading(),
        _ => WorkspaceOptions {
            checkpoint_after: checkpoint_after(),
            ..WorkspaceOptions::one_shot(actor)
        },
    };
    let workspace = Workspace::open_at(&role.place, options).expect("it opens");
    let mut player = Player::new(workspace);
    write_line("ready");
    assert_eq!(read_line(), "go");
    match role.what.as_str() {
        "racer" => race(&mut player),
        "agent" => {
            let line = format!("edit /plan.md = agent {0}: todo; -> agent {0}: done;", role.name);
            player.play(&line).expect("an edit lands");
        }
        "appender" => {
            for number in 0..N_APPENDS {
                let line = appended(&role.name, number);
                player.play(&format!("append /log.txt = {line}")).expect("an append lands");
            }
        }
        "reader" => read_on(&player),
        "watcher" => watch(&player),
        other => panic!("no role {other}"),
    }
    player.workspace.close().expect("it closes");
}

fn race(player: &mut Player) {
    loop {
        let race = read_line();
        if race == "stop" {
            return;
        }
        match player.play(&format!("create /races/{race} = mine")) {
            Ok(()) => write_line("won"),
            Err(error) if error.to_string().starts_with("EEXIST") => write_line("lost"),
            Err(error) => write_line(&error.to_string()),
        }
    }
}

/// Reads the log as it grows: it only ever grows, and by whole lines.
fn read_on(player: &Player) {
    let stop = thread::spawn(read_line);
    let (mut known, mut n_reads) = (String::new(), 0);
    while !stop.is_finished() {
        let read = now(player.workspace.fs().read_if_exists(&path("/log.txt"))).expect("it reads");
        let text = String::from_utf8(read.unwrap_or_default().to_vec()).expect("text");
        assert!(text.is_empty() || text.ends_with('\n'), "{text:?}");
        let lines: BTreeSet<&str> = text.lines().collect();
        assert!(known.lines().all(|line| lines.contains(line)), "a line went away");
        n_reads += usize::from(text != known);
        known = text;
    }
    write_line(&format!("{n_reads} states were read"));
}

/// Says what the pinged file holds whenever that has changed.
fn watch(player: &Player) {
    let stop = thread::spawn(read_line);
    let mut known = String::new();
    while !stop.is_finished() {
        let read = now(player.workspace.fs().read_if_exists(&path("/ping"))).expect("it reads");
        let text = String::from_utf8(read.unwrap_or_default().to_vec()).expect("text");
        if text == known {
            thread::yield_now();
        } else {
            write_line(&text);
            known = text;
        }
    }
}

fn appended(who: &str, number: usize) -> String {
    format!("process {who} appended line {number} in one piece\n")
}
