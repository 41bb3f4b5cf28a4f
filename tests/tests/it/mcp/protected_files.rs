//! The files that decide what an agent may do are out of its reach.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use yfs_tests::command::program as yfs;

/// A directory that is served with its own rules and approvals in it.
struct GuardedDirectory {
    _parent: tempfile::TempDir,
    dir: PathBuf,
}

const RULES: &str =
    r#"[{"operations": ["read", "write"], "paths": ["/**/secret"], "mode": "deny"}]"#;

impl GuardedDirectory {
    fn new() -> Self {
        let parent = tempfile::Builder::new().prefix("guarded").tempdir().expect("a directory");
        let dir = parent.path().join("served");
        fs::create_dir_all(dir.join("deep/er")).expect("made");
        fs::write(dir.join("deep/er/rules.json"), RULES).expect("written");
        fs::write(dir.join("secret"), "hunter2").expect("written");
        fs::write(dir.join("free.txt"), "free\n").expect("written");
        // Other names of the files: a link, a hard link, and a link on the way.
        symlink("deep/er/rules.json", dir.join("link.json")).expect("a link");
        fs::hard_link(dir.join("deep/er/rules.json"), dir.join("hard.json")).expect("a link");
        symlink("deep", dir.join("way")).expect("a link");
        Self { _parent: parent, dir }
    }

    fn at(&self, name: &str) -> String {
        self.dir.join(name).to_str().expect("UTF-8").to_owned()
    }

    /// Calls a tool, with the rules by the name through a link; returns whether it was done, and
    /// what it printed.
    fn call(&self, tool: &str, arguments: &Value) -> (bool, String) {
        self.call_with(["--rules", &self.at("way/er/rules.json")], tool, arguments)
    }

    fn call_with(&self, options: [&str; 2], tool: &str, arguments: &Value) -> (bool, String) {
        let mut command = Command::new(yfs());
        command.args(["tool", "--quiet", tool, &arguments.to_string()]).args(options);
        command.args(["--profile", "reference", "--dir", &self.at("")]);
        let output = command.output().expect("the command runs");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).expect("UTF-8"))
    }
}

#[test]
fn an_agent_neither_reads_nor_changes_its_own_rules() {
    let guarded = GuardedDirectory::new();
    let names = [
        "deep/er/rules.json",
        "way/er/rules.json",
        "link.json",
        "hard.json",
        "deep/er/rules.json.new",
        "deep/er/rules.json.lock",
    ];
    for name in names {
        let path = guarded.at(name);
        let edits = json!([{ "oldText": "deny", "newText": "allow" }]);
        let moved = guarded.at("moved.json");
        for (tool, arguments) in [
            ("read_text_file", json!({ "path": path })),
            ("read_media_file", json!({ "path": path })),
            ("get_file_info", json!({ "path": path })),
            ("write_file", json!({ "path": path, "content": "[]" })),
            ("edit_file", json!({ "path": path, "edits": edits })),
            ("move_file", json!({ "source": path, "destination": moved })),
            ("move_file", json!({ "source": guarded.at("free.txt"), "destination": path })),
        ] {
            if tool == "move_file" && name == "link.json" {
                // A link that no option leads through may be moved: the file stays.
                continue;
            }
            let (is_done, printed) = guarded.call(tool, &arguments);
            assert!(!is_done && !printed.contains("operations"), "{tool} {name}: {printed}");
        }
    }
    // Nor is a directory above moved away, so that others stand there.
    for name in ["deep", "deep/er", "way"] {
        let moved = json!({ "source": guarded.at(name), "destination": guarded.at("away") });
        let (is_done, printed) = guarded.call("move_file", &moved);
        assert!(!is_done, "{name}: {printed}");
    }
    let found = guarded.call("search_files", &json!({ "path": guarded.at(""), "pattern": "*" }));
    assert!(found.0 && !found.1.contains("er/rules.json"), "{}", found.1);
    assert_eq!(fs::read_to_string(guarded.dir.join("hard.json")).expect("there"), RULES);
    assert_eq!(
        fs::read_link(guarded.dir.join("link.json")).expect("a link"),
        Path::new("deep/er/rules.json")
    );
    let left: Vec<_> = fs::read_dir(guarded.dir.join("deep/er")).expect("there").collect();
    assert_eq!(left.len(), 1);
    // What the rules allow is done.
    let free = json!({ "path": guarded.at("free.txt") });
    assert_eq!(guarded.call("read_text_file", &free), (true, "free\n".to_owned()));
}

/// An agent that may use the whole directory approves nothing for itself.
#[test]
fn an_agent_neither_reads_nor_changes_its_own_approvals() {
    let guarded = GuardedDirectory::new();
    let file = guarded.at("approvals.json");
    let approved = json!({ "version": 1, "directories": [guarded.dir] }).to_string();
    fs::write(&file, &approved).expect("written");
    fs::hard_link(&file, guarded.dir.join("same.json")).expect("a link");
    let call =
        |tool: &str, arguments: Value| guarded.call_with(["--approvals", &file], tool, &arguments);
    for name in ["approvals.json", "same.json", "approvals.json.new", "approvals.json.lock"] {
        let path = guarded.at(name);
        let more = json!({ "version": 1, "directories": ["/"] }).to_string();
        for (tool, arguments) in [
            ("read_text_file", json!({ "path": path })),
            ("write_file", json!({ "path": path, "content": more })),
            ("move_file", json!({ "source": guarded.at("free.txt"), "destination": path })),
        ] {
            let (is_done, printed) = call(tool, arguments);
            assert!(!is_done, "{tool} {name}: {printed}");
        }
    }
    assert_eq!(fs::read_to_string(&file).expect("there"), approved);
    let written = json!({ "path": guarded.at("free.txt"), "content": "x" });
    let (is_done, printed) = call("write_file", written);
    assert!(is_done, "{printed}");
}
