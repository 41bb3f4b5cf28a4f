//! `docs/reference/services.md` says which door offers which service. This compares it with the
//! sources: a door can neither lose a service that the page has, nor get one that it has not.

use std::{collections::BTreeSet, fs, path::Path};

use regex::Regex;
use serde_json::Value;
use yfs_mcp::McpProfile;
use yfs_tests::root;

/// The doors, in the order of the columns.
const DOORS: [&str; 5] = ["Command", "HTTP", "Tools", "Node", "Python"];

/// A row: the service, and for each door the calls in backticks, with the whole cell.
struct ServiceRow {
    service: String,
    cells: Vec<ServiceCell>,
}

struct ServiceCell {
    text: String,
    calls: Vec<String>,
}

#[test]
fn each_cell_names_calls_or_says_why_not() {
    let rows = rows();
    assert!(rows.len() > 40, "{}", rows.len());
    let mut services = BTreeSet::new();
    for row in &rows {
        assert!(services.insert(&row.service), "{} has two rows", row.service);
        assert_eq!(row.cells.len(), DOORS.len(), "{}", row.service);
        for (door, cell) in DOORS.iter().zip(&row.cells) {
            let says_why = cell.text.starts_with("no: ");
            assert!(says_why || !cell.calls.is_empty(), "{}: {door} has no reason", row.service);
        }
    }
}

#[test]
fn each_call_exists_and_none_is_missing() {
    let offered = [commands(), routes(), tools(), node_methods(), python_methods()];
    let mut faults = Vec::new();
    for (index, (door, offered)) in DOORS.iter().zip(&offered).enumerate() {
        assert!(offered.len() > 20, "{door}: only {} calls were found", offered.len());
        let named = named_calls(index);
        let is_named = |call: &String| {
            named.contains(call)
                || named.iter().any(|named| {
                    named.strip_suffix('*').is_some_and(|above| call.starts_with(above))
                })
        };
        for call in offered.iter().filter(|call| needs_row(door, call) && !is_named(call)) {
            faults.push(format!("{door} has `{call}`, which is in no row"));
        }
        for call in &named {
            let exists = match call.strip_suffix('*') {
                Some(above) => offered.iter().any(|call| call.starts_with(above)),
                None => offered.contains(call),
            };
            if !exists {
                faults.push(format!("{door} has no `{call}`"));
            }
        }
    }
    assert!(faults.is_empty(), "docs/reference/services.md:\n{}", faults.join("\n"));
}

/// Reports whether a call must be in a row: the commands of a group instead of the group.
/// Subcommands of other commands and options may be in one.
fn needs_row(door: &str, call: &str) -> bool {
    const GROUPS: [&str; 2] = ["admin", "peer"];
    match door {
        "Command" => match call.split_once(' ') {
            Some((group, _)) => GROUPS.contains(&group),
            None => !GROUPS.contains(&call),
        },
        "Tools" => !call.starts_with("--") && call != "mcp",
        "Python" => !call.contains('(') && !["yfs.deepagents", "yfs.memory"].contains(&call),
        _ => true,
    }
}

fn rows() -> Vec<ServiceRow> {
    let page = read("docs/reference/services.md");
    let call = Regex::new("`([^`]+)`").expect("a pattern");
    let lines = page.lines().filter(|line| line.starts_with("| ")).skip(1);
    let cell = |text: &str| {
        let text = text.trim().to_owned();
        let has_calls = !text.starts_with("no");
        let calls = call.captures_iter(&text).map(|found| found[1].to_owned());
        ServiceCell { calls: calls.filter(|_| has_calls).collect(), text }
    };
    let row = |line: &str| {
        let mut cells = line.trim_matches('|').split('|');
        let service = cells.next().expect("a row has a service").trim().to_owned();
        ServiceRow { service, cells: cells.map(cell).collect() }
    };
    lines.map(row).collect()
}

/// Returns the calls that a column names. `ws.files(rules, allow)` is `ws.files`, and the keywords
/// `ws.files(rules)` and `ws.files(allow)`.
fn named_calls(column: usize) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for call in rows().into_iter().flat_map(|mut row| row.cells.swap_remove(column).calls) {
        match call.split_once('(') {
            None => drop(named.insert(call)),
            Some((method, keywords)) => {
                named.insert(method.to_owned());
                for keyword in keywords.trim_end_matches(')').split(", ") {
                    named.insert(format!("{method}({keyword})"));
                }
            }
        }
    }
    named
}

/// Returns the commands and subcommands of `yfs`.
fn commands() -> BTreeSet<String> {
    let page = read("docs/reference/commands.md");
    let headings = page
        .lines()
        .filter_map(|line| line.strip_prefix("## yfs ").or_else(|| line.strip_prefix("### yfs ")));
    headings.map(str::to_owned).collect()
}

fn routes() -> BTreeSet<String> {
    let described: Value =
        serde_json::from_str(&read("crates/doors/yfs-server/src/openapi.json")).expect("JSON");
    let paths = described["paths"].as_object().expect("the description has paths");
    paths.keys().cloned().collect()
}

/// Returns the tools of the whole profile, the options of `yfs mcp`, and `mcp` itself.
fn tools() -> BTreeSet<String> {
    let catalog = McpProfile::Full.catalog();
    let names = catalog.definitions().map(|tool| tool.name.to_string());
    let page = read("docs/reference/commands.md");
    let section = page.split("\n## yfs mcp\n").nth(1).expect("the page has the command");
    let section = section.split("\n## ").next().unwrap_or_default();
    let option = Regex::new(r"(?m)^ +(?:-\w, )?(--[a-z-]+)").expect("a pattern");
    let options = option.captures_iter(section).map(|found| found[1].to_owned());
    names.chain(options).chain(["mcp".to_owned()]).collect()
}

/// Returns the public methods and getters of the classes of the npm package that a program gets
/// from a workspace.
fn node_methods() -> BTreeSet<String> {
    let mut methods = BTreeSet::new();
    let files = class_of("crates/doors/yfs-node/ts/files.ts", "export class Files ");
    methods.extend(members(&files, "files."));
    let workspace = class_of("crates/doors/yfs-node/ts/workspace.ts", "export class Workspace ");
    methods.extend(members(&workspace, "ws."));
    let statics = Regex::new(r"(?m)^  static (?:async )?(\w+)").expect("a pattern");
    for found in statics.captures_iter(&workspace) {
        methods.remove(&format!("ws.{}", &found[1]));
        methods.insert(format!("Workspace.{}", &found[1]));
    }
    methods
}

fn class_of(file: &str, head: &str) -> String {
    let source = read(file);
    let (_, body) = source.split_once(head).unwrap_or_else(|| panic!("{file} has no {head}"));
    body.split("\n}\n").next().unwrap_or_default().to_owned()
}

fn members(class: &str, prefix: &str) -> BTreeSet<String> {
    let method = r"(?m)^  (?:static )?(?:async )?(?:get )?\*?(\w+)(?:<[^\n(]*>)?\(";
    let field = r"(?m)^  readonly (\w+):";
    let mut names = BTreeSet::new();
    for pattern in [method, field] {
        let pattern = Regex::new(pattern).expect("a pattern");
        names.extend(pattern.captures_iter(class).map(|found| found[1].to_owned()));
    }
    names.retain(|name| name != "constructor");
    names.into_iter().map(|name| format!("{prefix}{name}")).collect()
}

/// Returns the functions and modules of the Python package, the methods of its two classes, and
/// their keywords.
fn python_methods() -> BTreeSet<String> {
    let stub = read("crates/doors/yfs-python/python/yfs/_native.pyi");
    let mut methods = BTreeSet::new();
    let function = Regex::new(r"(?m)^def (\w+)\(").expect("a pattern");
    methods.extend(function.captures_iter(&stub).map(|found| format!("yfs.{}", &found[1])));
    let method = Regex::new(r"(?ms)^    def (\w+)\((.*?)\) ->").expect("a pattern");
    let keyword = Regex::new(r"(\w+): ").expect("a pattern");
    let end = Regex::new(r"\n(?:\S)").expect("a pattern");
    let classes = [
        ("Artifacts", "artifacts."),
        ("FileSystem", "fs."),
        ("ThreadFiles", "thread."),
        ("Threads", "threads."),
        ("Workspace", "ws."),
    ];
    for (class, prefix) in classes {
        let (_, body) = stub.split_once(&format!("\nclass {class}:")).expect("the stub has it");
        let body = end.find(body).map_or(body, |end| &body[..end.start() + 1]);
        for found in method.captures_iter(body).filter(|found| !found[1].starts_with('_')) {
            methods.insert(format!("{prefix}{}", &found[1]));
            let keywords = keyword.captures_iter(&found[2]);
            methods.extend(keywords.map(|key| format!("{prefix}{}({})", &found[1], &key[1])));
        }
    }
    let package = root().join("crates/doors/yfs-python/python/yfs");
    for module in ["deepagents", "memory"] {
        if package.join(module).with_extension("py").exists() {
            methods.insert(format!("yfs.{module}"));
        }
    }
    methods
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
