//! Tests are the entries of a tree, as in the tests of the tree, and commands like those of a
//! shell. The output is the rows that each would write, or its error.

mod cases;
mod peers;
mod random;
mod removal_parts;

use std::collections::BTreeMap;

use expect_test::Expect;
use yrs::Any;

use super::*;
use crate::{
    content::RunAuthor,
    table::{RowChanges, RowHistory, RowWrite},
    time::Millis,
    tree::tests::{build, id, parse},
};

/// A table in memory, with the tree of it.
#[derive(Debug, Clone)]
struct Table {
    rows: BTreeMap<FileId, RowHistory>,
    tree: TreeIndex,
    /// The number of ids that were assigned.
    n_ids: usize,
    now: i64,
}

impl RowSource for BTreeMap<FileId, RowHistory> {
    fn row(&self, id: &FileId) -> Option<FileRow> {
        self.get(id).map(|entry| entry.row.clone())
    }
}

/// Plans each command on the same tree, and shows the rows that it would write.
#[track_caller]
fn check(entries: &str, commands: &[&str], expected: Expect) {
    let lines = commands.iter().map(|command| {
        let mut table = Table::new(entries);
        match table.plan(command) {
            Ok(plan) => format!("{command}: {plan}"),
            Err(error) => format!("{command}: {error}"),
        }
    });
    expected.assert_eq(&lines.collect::<Vec<String>>().join("\n"));
}

/// Carries out the commands one after the other, and shows the tree at the end.
#[track_caller]
fn check_run(entries: &str, commands: &[&str], expected: Expect) {
    let mut table = Table::new(entries);
    for command in commands {
        table.run(command).unwrap_or_else(|error| panic!("{command}: {error}"));
    }
    expected.assert_eq(&table.show());
}

/// The effect of a command.
#[derive(Debug, Default)]
struct Planned {
    note: String,
    writes: Vec<RowWrite>,
}

impl Table {
    fn new(entries: &str) -> Self {
        let entries = parse(entries);
        let tree = build(&entries);
        let rows = entries.into_iter().map(|entry| (entry.row.id.clone(), entry)).collect();
        Self { rows, tree, n_ids: 0, now: 100 }
    }

    fn show(&self) -> String {
        show_tree(&self.tree)
    }

    fn run(&mut self, command: &str) -> Result<Planned, OpError> {
        let planned = self.plan(command)?;
        self.now += 1;
        for write in &planned.writes {
            self.write(write);
        }
        Ok(planned)
    }

    fn plan(&mut self, command: &str) -> Result<Planned, OpError> {
        let rows: &dyn RowSource = &self.rows;
        let (tree, now, n_ids) = (&self.tree, Millis(self.now), &mut self.n_ids);
        Planner { tree, rows, now, actor: "human:ada", prefix: "new", n_ids }.plan(command)
    }

    /// Writes a row as the table does.
    fn write(&mut self, write: &RowWrite) {
        match write {
            RowWrite::Create { row, .. } => {
                let mut entry = parse("file x").remove(0);
                entry.row = row.clone();
                assert!(self.rows.insert(row.id.clone(), entry).is_none(), "{} exists", row.id);
            }
            RowWrite::Update { id, changes } => self.change(id, changes.clone()),
            RowWrite::Delete { id } => drop(self.rows.remove(id).unwrap()),
        }
        match write {
            RowWrite::Delete { id } => self.tree.remove(id),
            RowWrite::Create { row: FileRow { id, .. }, .. } | RowWrite::Update { id, .. } => {
                self.tree.upsert(&self.rows[id]);
            }
        }
    }

    fn change(&mut self, id: &FileId, changes: RowChanges) {
        let now = self.now as f64;
        let entry = self.rows.get_mut(id).unwrap();
        let row = &mut entry.row;
        if let Some(parent) = changes.parent {
            entry.prev_parents.insert(0, std::mem::replace(&mut row.parent, parent));
            entry.prev_parents.truncate(3);
            (entry.parent_ts, entry.structural_ts) = (now, now);
        }
        if let Some(name) = changes.name {
            (row.name, entry.structural_ts) = (name, now);
        }
        if let Some(trashed_at) = changes.trashed_at {
            (row.trashed_at, entry.trashed_ts, entry.structural_ts) = (trashed_at, now, now);
        }
        row.updated_at = changes.updated_at.unwrap_or(row.updated_at);
        row.mode = changes.mode.unwrap_or(row.mode);
        row.link = changes.link.unwrap_or_else(|| row.link.clone());
        if let Some(Any::Map(patch)) = changes.meta {
            let kept = patch.iter().filter(|(_, value)| **value != Any::Null);
            let kept: std::collections::HashMap<String, Any> =
                kept.map(|(key, value)| (key.clone(), value.clone())).collect();
            row.meta = (!kept.is_empty()).then(|| Any::from(kept));
        }
    }
}

/// Returns an id, or that of the trashed node with a former path.
fn named(tree: &TreeIndex, text: &str) -> FileId {
    let mut trash = tree.trash().into_iter().filter(|item| item.original.as_str() == text);
    trash.next().map_or_else(|| id(&text.replace('/', "-")), |item| item.id)
}

fn show_tree(tree: &TreeIndex) -> String {
    let nodes = tree.root().walk().map(|node| {
        let slash = if node.is_directory() { "/" } else { "" };
        format!("{}{slash}", node.path())
    });
    let trash = tree.trash().into_iter().map(|item| format!("trash: {}", item.original));
    nodes.chain(trash).collect::<Vec<String>>().join("\n")
}

/// Plans commands.
struct Planner<'a> {
    tree: &'a TreeIndex,
    rows: &'a dyn RowSource,
    now: Millis,
    actor: &'a str,
    /// The prefix of new ids.
    prefix: &'a str,
    /// The number of assigned ids.
    n_ids: &'a mut usize,
}

impl Planner<'_> {
    /// Plans a command: its name, its options, its arguments.
    fn plan(&mut self, command: &str) -> Result<Planned, OpError> {
        let mut words = command.split_whitespace().peekable();
        let verb = words.next().unwrap();
        let options = words.next_if(|word| word.starts_with('-')).unwrap_or_default();
        let has = |option: char| options.contains(option);
        let arguments: Vec<String> = words.map(|word| word.replace('+', " ")).collect();
        let path = |at: usize| VPath::parse(&arguments[at]).unwrap();
        let (tree, rows, now) = (self.tree, self.rows, self.now);
        let mut new_id = || {
            *self.n_ids += 1;
            id(&format!("{}{}", self.prefix, self.n_ids))
        };
        let by = RunAuthor::new(self.actor.parse().unwrap(), now);
        let mut note = String::new();
        let writes = match verb {
            "create" => {
                let options =
                    CreateOptions { create_new: has('x'), parents: has('p'), mode: Some(0o600) };
                let plan = plan_create_file(tree, &path(0), new_id(), now, options)?;
                note = if plan.existed { format!("there is {}", plan.id) } else { note };
                plan.writes
            }
            "mkdir" => {
                let options = DirectoryPlanOptions { recursive: has('p'), mode: None };
                let plan = plan_mkdir(tree, &path(0), now, options)?;
                note = plan.as_ref().map_or("the root".to_owned(), |_| note);
                plan.map(|plan| plan.writes).unwrap_or_default()
            }
            "mv" => {
                let options = RenameOptions { replace: !has('n'), parents: has('p') };
                match plan_move(tree, &path(0), &path(1), &by, options)? {
                    MovePlan::Nothing => vec![],
                    MovePlan::Write(writes) => writes,
                    MovePlan::Replace { source, target } => {
                        note = format!("content of {source} into {target}");
                        vec![]
                    }
                }
            }
            "cp" => {
                let options = TreeCopyOptions { recursive: has('r'), parents: has('p') };
                let plan = plan_copy(tree, rows, (&path(0), &path(1)), now, &mut new_id, options)?;
                note = if plan.contents.is_empty() {
                    note
                } else {
                    format!("contents {:?}", plan.contents)
                };
                plan.writes
            }
            "rm" => plan_trash(tree, &path(0), has('r'), &by)?,
            "restore" => {
                let to = arguments.get(1).map(|to| VPath::parse(to).unwrap());
                plan_restore(tree, rows, &named(tree, &arguments[0]), to.as_ref())?
            }
            "purge" => plan_purge(tree, &named(tree, &arguments[0]), &arguments[1])?,
            "expire" => {
                let ids: Vec<FileId> = arguments.iter().map(|argument| id(argument)).collect();
                let plan = plan_expire(tree, &ids);
                note = if plan.kept.is_empty() { note } else { format!("keeps {:?}", plan.kept) };
                plan.writes
            }
            _ => plan_attribute((tree, rows), verb, options, &arguments)?,
        };
        Ok(Planned { note, writes })
    }
}

fn plan_attribute(
    (tree, rows): (&TreeIndex, &dyn RowSource),
    verb: &str,
    options: &str,
    arguments: &[String],
) -> Result<Vec<RowWrite>, OpError> {
    let (value, path) = (&arguments[0], VPath::parse(&arguments[1]).unwrap());
    match verb {
        "chmod" => plan_chmod(tree, rows, &path, u32::from_str_radix(value, 8).unwrap()),
        "touch" => {
            let follow = if options == "-h" { FinalLink::No } else { FinalLink::Yes };
            plan_touch(tree, rows, &path, Millis(value.parse().unwrap()), follow)
        }
        "meta" => plan_meta(tree, &path, &Any::from_json(value).unwrap()),
        other => panic!("no such command: {other}"),
    }
}

impl std::fmt::Display for Planned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Ids that are derived are shown by the name that they are derived from.
        let derived = self.writes.iter().filter_map(|write| match write {
            RowWrite::Create { row, derived: true } => {
                Some((row.id.clone(), format!("<{}>", row.name)))
            }
            _ => None,
        });
        let derived: BTreeMap<FileId, String> = derived.collect();
        let show = |id: &FileId| derived.get(id).cloned().unwrap_or_else(|| id.to_string());
        let mut lines: Vec<String> =
            self.writes.iter().map(|write| show_write(write, &show)).collect();
        if !self.note.is_empty() {
            lines.push(self.note.clone());
        }
        if lines.is_empty() { f.write_str("nothing") } else { f.write_str(&lines.join("; ")) }
    }
}

fn show_write(write: &RowWrite, show: &dyn Fn(&FileId) -> String) -> String {
    let place = |parent: &Option<FileId>| parent.as_ref().map_or("/".to_owned(), show);
    match write {
        RowWrite::Create { row, .. } => {
            let link = row.link.as_ref().map(|link| format!(" -> {link}")).unwrap_or_default();
            let mode = row.mode.map(|mode| format!(" {mode:o}")).unwrap_or_default();
            format!(
                "{:?} {} {:?} in {}{link}{mode}",
                row.kind,
                show(&row.id),
                row.name,
                place(&row.parent)
            )
        }
        RowWrite::Update { id, changes } => {
            let mut text = show(id);
            if let Some(name) = &changes.name {
                text += &format!(" name {name:?}");
            }
            if let Some(parent) = &changes.parent {
                text += &format!(" parent {}", place(parent));
            }
            if let Some(trashed) = &changes.trashed_at {
                text += if trashed.is_some() { " trashed" } else { " untrashed" };
            }
            if let Some(updated) = changes.updated_at {
                text += &format!(" updated {}", updated.0);
            }
            if let Some(Some(mode)) = changes.mode {
                text += &format!(" mode {mode:o}");
            }
            if let Some(Some(link)) = &changes.link {
                text += &format!(" link {link}");
            }
            if let Some(Any::Map(meta)) = &changes.meta {
                // A removal clears whatever an earlier one recorded.
                let is_removal = matches!(changes.trashed_at, Some(Some(_)));
                let is_shown = |value: &Any| !is_removal || *value != Any::Null;
                let members: std::collections::HashMap<String, Any> = meta
                    .iter()
                    .filter(|(_, value)| is_shown(value))
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect();
                text += &format!(" meta {}", Any::from(members));
            }
            text
        }
        RowWrite::Delete { id } => format!("delete {id}"),
    }
}
