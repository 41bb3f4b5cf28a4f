//! Random commands on a small tree: each has its documented effect, and a rejected command changes
//! nothing.

use proptest::prelude::*;

use super::*;

const ENTRIES: &str =
    "dir a; dir b in=a; file f in=b; file g in=a; file h; dir c; file l link=/a/b";

fn any_path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&["a", "b", "c", "f", "g", "l"][..]), 0..4)
        .prop_map(|names| format!("/{}", names.join("/")))
}

pub(super) fn any_command() -> impl Strategy<Value = String> {
    let verbs = [
        "mkdir",
        "mkdir -p",
        "create",
        "create -p",
        "create -x",
        "rm",
        "rm -r",
        "mv",
        "mv -n",
        "cp",
        "cp -r",
    ];
    (0..verbs.len() + 2, any_path(), any_path(), prop::sample::select(&["a", "b", "f", "new1"][..]))
        .prop_map(move |(verb, first, second, id)| match verbs.get(verb) {
            Some(verb) if verb.starts_with("mv") || verb.starts_with("cp") => {
                format!("{verb} {first} {second}")
            }
            Some(verb) => format!("{verb} {first}"),
            None if verb == verbs.len() => format!("restore {id}"),
            None => format!("purge {id} p"),
        })
}

/// Returns the node at a path without following a link at its end.
fn at(table: &Table, path: &str) -> Option<FileId> {
    let node = table.tree.resolve(&VPath::parse(path).unwrap(), FinalLink::No).ok()?;
    Some(node.id().cloned().unwrap_or_else(|| id("root")))
}

/// Checks the documented effect of a command.
fn check_promise(command: &str, before: &Table, after: &Table, planned: &Planned) {
    let words: Vec<&str> =
        command.split_whitespace().filter(|word| !word.starts_with('-')).collect();
    let (verb, path) = (words[0], words[1]);
    match verb {
        "mkdir" => {
            let node = after.tree.resolve(&VPath::parse(path).unwrap(), FinalLink::Yes).unwrap();
            assert!(node.is_directory());
        }
        "create" => {
            let node = after.tree.resolve(&VPath::parse(path).unwrap(), FinalLink::Yes).unwrap();
            assert!(!node.is_directory());
        }
        // Another of that name may be shown at the path now.
        "rm" => assert!(at(before, path).is_some() && at(after, path) != at(before, path)),
        // The path may have led through the moved node, if that is a link.
        "mv" if planned.note.is_empty() => {
            let moved = after.tree.node(&at(before, path).unwrap()).unwrap();
            let name = VPath::parse(words[2]).unwrap().file_name().map(str::to_owned);
            assert!(moved.is_visible() && Some(moved.name().to_owned()) == name);
            assert!(words[2].starts_with("/l/") || at(after, words[2]).as_ref() == moved.id());
        }
        "mv" => assert_eq!(at(after, words[2]), at(before, words[2])),
        "cp" => {
            // The copy of a link may point to where it itself is now, and lead nowhere.
            let find = |table: &Table, path: &str, follow| {
                let node = table.tree.resolve(&VPath::parse(path).unwrap(), follow);
                node.map(|node| node.walk().count())
            };
            let n_copied = find(before, path, FinalLink::No).unwrap();
            let there = find(after, words[2], FinalLink::Yes);
            let n_there = there.or_else(|_| find(after, words[2], FinalLink::No)).unwrap();
            assert!(n_there >= n_copied);
        }
        "restore" => assert!(after.tree.node(&id(path)).unwrap().is_visible()),
        "purge" => assert!(after.tree.trash().iter().all(|item| item.id != id(path))),
        other => panic!("no such command: {other}"),
    }
}

proptest! {
    #[test]
    fn operations_do_what_they_promise(commands in prop::collection::vec(any_command(), 1..25)) {
        let mut table = Table::new(ENTRIES);
        for command in commands {
            let before = table.clone();
            match table.run(&command) {
                Ok(planned) => check_promise(&command, &before, &table, &planned),
                Err(_) => prop_assert_eq!(table.show(), before.show()),
            }
            let rebuilt = build(&table.rows.values().cloned().collect::<Vec<RowHistory>>());
            prop_assert!(table.tree.conflicts(Millis(1000)) == rebuilt.conflicts(Millis(1000)));
            // One peer alone never makes a cycle or an orphan.
            prop_assert!(!table.tree.nodes().any(|node| node.is_displaced()));
        }
    }
}
