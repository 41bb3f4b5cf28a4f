//! Several processes in one directory of the host at once: the reading, the change and the
//! replacement of a file are one step for all of them, and a process that is killed holds no lock.

use std::{fs, fs::File, path::Path, thread};

use rustix::fs::{FlockOperation, flock};
use yfs_tests::{
    process::{Process, read_line, role, write_line},
    script::path,
};
use yfs_vfs::{FileSystem, HostFs, TextReplacement};

const N_EDITORS: usize = 20;
const N_ROUNDS: usize = 5;

fn lines(word: &str) -> String {
    (0..N_EDITORS).map(|editor| format!("<{editor}> {word}\n")).collect()
}

fn spawn(role: &str, name: &str, dir: &Path) -> Process {
    let child = Process::spawn(module_path!(), role, name, dir);
    assert_eq!(child.read_line(), "ready");
    child
}

#[test]
fn edits_of_twenty_processes_all_stay() {
    let dir = tempfile::tempdir().expect("a directory");
    let spawn = |editor: usize| spawn("editor", &editor.to_string(), dir.path());
    let mut editors: Vec<Process> = (0..N_EDITORS).map(spawn).collect();
    for round in 0..N_ROUNDS {
        let file = dir.path().join(round.to_string());
        fs::write(&file, lines("open")).expect("a file");
        for editor in &mut editors {
            editor.write_line(&format!("/{round}"));
        }
        for editor in &editors {
            assert_eq!(editor.read_line(), "done");
        }
        assert_eq!(fs::read_to_string(&file).expect("a file"), lines("done"), "round {round}");
    }
    for mut editor in editors {
        editor.write_line("stop");
        editor.finish();
    }
    let n_files = fs::read_dir(dir.path()).expect("a directory").count();
    assert_eq!(n_files, N_ROUNDS, "files were left behind");
}

#[test]
fn the_lock_of_a_killed_process_is_free() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("f"), lines("open")).expect("a file");
    let holder = spawn("holder", "holder", dir.path());
    let mut editor = spawn("editor", "0", dir.path());
    editor.write_line("/f");
    holder.kill();
    assert_eq!(editor.read_line(), "done");
    editor.write_line("stop");
    editor.finish();
}

/// Plays a role, if this process is a child.
#[test]
fn child() {
    let Some(role) = role() else { return };
    match role.what.as_str() {
        "editor" => edit_files(&role.place, &role.name),
        "holder" => {
            let dir = File::open(&role.place).expect("a directory");
            flock(&dir, FlockOperation::LockExclusive).expect("a lock");
            write_line("ready");
            loop {
                thread::park();
            }
        }
        other => panic!("no role {other}"),
    }
}

/// Edits the line of this process in each file that the parent names.
fn edit_files(dir: &Path, name: &str) {
    let fs = HostFs::open(dir).expect("a directory");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
    let runtime = runtime.expect("a runtime");
    let edit = TextReplacement::once(format!("<{name}> open\n"), format!("<{name}> done\n"));
    write_line("ready");
    loop {
        match read_line().as_str() {
            "stop" => return,
            file => {
                let edited = runtime.block_on(fs.edit(&path(file), &edit));
                write_line(&edited.map_or_else(|error| error.to_string(), |_| "done".to_owned()));
            }
        }
    }
}
