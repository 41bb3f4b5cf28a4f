//! Filesystem operations and questions on both documents, whatever the one on a checkpoint has
//! read before.

use std::{cmp::Reverse, fmt::Debug};

use yrs::types::ToJson;

use super::*;
use crate::{
    actor::{Actor, ActorKind},
    content::RunAuthor,
    name::NodeName,
    ops,
    table::{needs_creation_record, record_changes, record_creation, row_records},
    tree::{FinalLink, NodeRef},
};

/// An operation on two paths and an id.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    kind: OperationKind,
    one: Vec<&'static str>,
    two: Vec<&'static str>,
    id: &'static str,
    flag: bool,
    now: i64,
}

#[derive(Debug, Clone, Copy)]
enum OperationKind {
    CreateFile,
    MakeDirectory,
    Link,
    Move,
    Copy,
    Trash,
    Restore,
    Purge,
    Expire,
    ChangeMode,
    Touch,
    SetMeta,
}

/// A question that is asked of a document in the middle of its life.
#[derive(Debug, Clone, Copy)]
pub(super) enum Question {
    Conflicts,
    PlaceOfId,
    Below,
    Hidden,
    Rows,
    Clocks,
    Resolved,
    DerivedId,
    State,
    List,
    Recorded,
}

const KINDS: [OperationKind; 12] = [
    OperationKind::CreateFile,
    OperationKind::MakeDirectory,
    OperationKind::Link,
    OperationKind::Move,
    OperationKind::Copy,
    OperationKind::Trash,
    OperationKind::Restore,
    OperationKind::Purge,
    OperationKind::Expire,
    OperationKind::ChangeMode,
    OperationKind::Touch,
    OperationKind::SetMeta,
];

const QUESTIONS: [Question; 11] = [
    Question::Conflicts,
    Question::PlaceOfId,
    Question::Below,
    Question::Hidden,
    Question::Rows,
    Question::Clocks,
    Question::Resolved,
    Question::DerivedId,
    Question::State,
    Question::List,
    Question::Recorded,
];

/// Returns the text of a value with the members of its objects in order: they come in any.
pub(super) fn in_order(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(begin) = rest.find("Map(") {
        let Some(open) = rest[begin..].find('{').map(|at| begin + at) else { break };
        let (mut depth, mut members, mut close) = (0, vec![String::new()], rest.len());
        for (at, symbol) in rest.char_indices().skip_while(|(at, _)| *at <= open) {
            match symbol {
                '}' if depth == 0 => {
                    close = at;
                    break;
                }
                '{' | '[' | '(' => depth += 1,
                '}' | ']' | ')' => depth -= 1,
                _ => {}
            }
            if symbol == ',' && depth == 0 {
                members.push(String::new());
            } else if let Some(last) = members.last_mut() {
                last.push(symbol);
            }
        }
        let mut members: Vec<_> = members.iter().map(|text| in_order(text.trim())).collect();
        members.sort();
        out += &format!("{}{}", &rest[..=open], members.join(","));
        rest = &rest[close..];
    }
    out + rest
}

#[test]
fn members_are_put_in_order() {
    let text = |members| format!("1 Map({{{members}}}) x (1) Map(\n{{ }})");
    let [one, two] =
        ["b: S(\"x\"), a: Map({d: [1, 2], c: 3})", "a: Map({c: 3, d: [1, 2]}), b: S(\"x\")"];
    assert_eq!(in_order(&text(one)), in_order(&text(two)));
    assert_ne!(in_order(&text(one)), in_order(&text("b: S(\"x\"), a: Map({d: [1], c: 3})")));
}

/// A plan as text, and its writes.
type ShownPlan = (String, Vec<RowWrite>);

pub(super) fn any_operation() -> impl Strategy<Value = Operation> {
    let names = || prop::collection::vec(any_name(), 1..4);
    let kind = prop::sample::select(&KINDS[..]);
    let parts = (kind, names(), names(), any_id(), any::<bool>(), 0..30_i64);
    parts.prop_map(|(kind, one, two, id, flag, now)| Operation { kind, one, two, id, flag, now })
}

pub(super) fn any_question() -> impl Strategy<Value = Question> {
    prop::sample::select(&QUESTIONS[..])
}

fn path_of(names: &[&str]) -> Option<VPath> {
    VPath::parse(&format!("/{}", names.join("/"))).ok()
}

impl Operation {
    /// Plans the operation, with records of its author in the rows.
    fn plan(&self, main: &MainDoc) -> Option<ShownPlan> {
        let (text, mut writes) = self.writes(main)?;
        let by = RunAuthor {
            actor: Actor::new(ActorKind::Agent, "ana"),
            at: Millis(self.now),
            label: None,
            step: None,
        };
        for write in &mut writes {
            match write {
                RowWrite::Create { row, .. } if needs_creation_record(row, self.flag) => {
                    record_creation(row, &by);
                }
                RowWrite::Update { id, changes } => {
                    let row = main.files().get(id).map(|entry| entry.row);
                    row.iter().for_each(|row| record_changes(row, changes, &by));
                }
                _ => (),
            }
        }
        Some((text, writes))
    }

    fn writes(&self, main: &MainDoc) -> Option<ShownPlan> {
        let (one, two) = (path_of(&self.one)?, path_of(&self.two)?);
        let (tree, rows, now, flag) = (main.tree(), main.files(), Millis(self.now), self.flag);
        let by = RunAuthor::new(Actor::new(ActorKind::Agent, "ana"), now);
        let own = id(self.id);
        Some(match self.kind {
            OperationKind::CreateFile | OperationKind::MakeDirectory => self.plan_new(main, &one),
            OperationKind::Link => {
                let options = ops::CreateOptions { create_new: true, ..Default::default() };
                let plan = ops::plan_create_file(tree, &one, own, now, options);
                shown(plan, |mut plan| {
                    if let Some(RowWrite::Create { row, .. }) = plan.writes.last_mut() {
                        row.link = Some(two.as_ref().into());
                    }
                    plan.writes
                })
            }
            OperationKind::Move => {
                let options = ops::RenameOptions { replace: true, parents: flag };
                shown(ops::plan_move(tree, &one, &two, &by, options), |plan| match plan {
                    ops::MovePlan::Write(writes) => writes,
                    _ => Vec::new(),
                })
            }
            OperationKind::Copy => {
                let mut numbers = 0..;
                let mut new_id = || id(&format!("copy{}{:?}", self.id, numbers.next().unwrap()));
                let options = ops::TreeCopyOptions { recursive: true, parents: flag };
                let plan = ops::plan_copy(tree, rows, (&one, &two), now, &mut new_id, options);
                shown(plan, |plan| plan.writes)
            }
            OperationKind::Trash => shown(ops::plan_trash(tree, &one, flag, &by), |writes| writes),
            OperationKind::Restore => {
                shown(ops::plan_restore(tree, rows, &own, flag.then_some(&two)), |writes| writes)
            }
            OperationKind::Purge => shown(ops::plan_purge(tree, &own, "p"), |writes| writes),
            OperationKind::Expire => {
                let asked = IDS.map(id);
                let asked = asked.iter().take(if flag { IDS.len() } else { 3 });
                shown(Ok::<_, ()>(ops::plan_expire(tree, asked)), |plan| plan.writes)
            }
            OperationKind::ChangeMode => {
                shown(ops::plan_chmod(tree, rows, &one, 7), |writes| writes)
            }
            OperationKind::Touch => {
                let follow = if flag { FinalLink::Yes } else { FinalLink::No };
                shown(ops::plan_touch(tree, rows, &one, now, follow), |writes| writes)
            }
            OperationKind::SetMeta => {
                let patch = Any::from_json(r#"{"k":1}"#).unwrap();
                shown(ops::plan_meta(tree, &one, &patch), |writes| writes)
            }
        })
    }

    fn plan_new(&self, main: &MainDoc, path: &VPath) -> ShownPlan {
        let (tree, now) = (main.tree(), Millis(self.now));
        if matches!(self.kind, OperationKind::MakeDirectory) {
            let options = ops::DirectoryPlanOptions { recursive: self.flag, mode: None };
            let plan = ops::plan_mkdir(tree, path, now, options);
            return shown(plan, |plan| plan.map(|plan| plan.writes).unwrap_or_default());
        }
        let options = ops::CreateOptions { parents: self.flag, ..Default::default() };
        shown(ops::plan_create_file(tree, path, id(self.id), now, options), |plan| plan.writes)
    }
}

fn shown<T: Debug, E: Debug>(
    plan: Result<T, E>,
    writes: impl FnOnce(T) -> Vec<RowWrite>,
) -> ShownPlan {
    let text = in_order(&format!("{plan:?}"));
    (text, plan.map(writes).unwrap_or_default())
}

impl Twins {
    /// Plans an operation on both, and commits it.
    pub(super) fn operate(&mut self, operation: &Operation) {
        let [eager, lazy] = [&self.eager, &self.lazy].map(|main| operation.plan(main));
        assert_eq!(eager, lazy, "{operation:?}");
        let Some((_, writes)) = eager.filter(|(_, writes)| !writes.is_empty()) else { return };
        let [eager, lazy] =
            [&self.eager, &self.lazy].map(|main| main.plan(&writes, Millis(operation.now)));
        assert_eq!(eager, lazy, "{operation:?}");
        self.commit(eager.ok());
    }

    /// Asks both the same.
    pub(super) fn ask(&self, question: Question) {
        let [eager, lazy] = [&self.eager, &self.lazy].map(|main| in_order(&answer(main, question)));
        assert_eq!(eager, lazy, "{question:?}");
    }
}

/// Lists the rows with records page by page, and their records.
fn recorded(main: &MainDoc) -> String {
    let (mut listed, mut last) = (Vec::new(), None);
    loop {
        let page = main.recorded_rows(last.as_ref(), 2);
        let Some(row) = page.last() else { break };
        last = Some(row.clone());
        listed.extend(page);
    }
    assert!(listed.is_sorted_by(|a, b| (Reverse(a.at), &a.id) < (Reverse(b.at), &b.id)));
    let records = listed.iter().map(|row| {
        let row = main.files().get(&row.id).unwrap().row;
        row_records(row.meta.as_ref(), row.created_at)
    });
    let records: Vec<_> = records.collect();
    let latest: Vec<_> = records.iter().map(|records| records[0].at).collect();
    assert_eq!(latest, listed.iter().map(|row| row.at).collect::<Vec<_>>());
    format!("{listed:?} {records:?}")
}

/// Asks about each id.
fn each_node<T: Debug>(main: &MainDoc, ask: impl Fn(NodeRef<'_>) -> T) -> String {
    format!("{:?}", IDS.map(|text| main.tree().node(&id(text)).map(&ask)))
}

fn ids_of<'a>(nodes: impl Iterator<Item = NodeRef<'a>>) -> Vec<Option<FileId>> {
    let mut ids: Vec<_> = nodes.map(|node| node.id().cloned()).collect();
    ids.sort();
    ids
}

fn answer(main: &MainDoc, question: Question) -> String {
    let (tree, rows) = (main.tree(), main.files());
    match question {
        Question::Conflicts => format!("{:?}", tree.conflicts(Millis(10))),
        Question::PlaceOfId => each_node(main, |node| {
            let up: Vec<_> = node.ancestors().map(|node| node.id().cloned()).collect();
            let to = node.restore_destination().path();
            (node.path_in_trash(), to, up, node.is_displaced(), node.alias(), node.is_visible())
        }),
        Question::Below => each_node(main, |node| {
            let walked: Vec<_> = node.walk().map(|node| format!("{node:?}")).collect();
            (ids_of(node.descendants()), walked, node.n_children())
        }),
        Question::Hidden => each_node(main, |node| {
            let trashed = ids_of(node.trashed_children());
            (node.n_hidden(), node.stranded(), trashed, node.is_purged(), tree.n_trashed())
        }),
        Question::Rows => {
            let mut all: Vec<_> = rows.iter().map(|entry| format!("{:?}", entry.row)).collect();
            all.sort();
            format!("{all:?} {}", rows.len())
        }
        Question::Clocks => {
            let mut clocks = RowClocks::default();
            rows.add_clocks(&id("a"), &mut clocks);
            let kinds = IDS.map(|text| main.content_kind(&id(text)));
            format!("{kinds:?} {:?}", IDS.map(|text| rows.changes_beyond(&id(text), &clocks)))
        }
        Question::Resolved => {
            let paths = ["/x", "/x/y.md", "/x/x", "/y.md/x"].map(|text| {
                let path = VPath::parse(text).unwrap();
                let found = tree.resolve(&path, FinalLink::Yes).map(|node| node.id().cloned());
                (found, format!("{:?}", tree.place(&path, FinalLink::No)))
            });
            format!("{paths:?}")
        }
        Question::DerivedId => {
            let name = NodeName::new("x").unwrap();
            let ids = [None, Some(id("a"))].map(|parent| {
                let (found, node) = tree.directory_id_for_creation(parent.as_ref(), &name);
                (found, node.map(|node| node.id().cloned()))
            });
            format!("{ids:?}")
        }
        Question::State => {
            // What a peer reads that gets all of it: the bytes depend on random orders.
            let doc = Doc::new();
            let roots = ["table:files", "fs:cells"].map(|root| doc.get_or_insert_array(root));
            let mut txn = doc.transact_mut();
            txn.apply_update(Update::decode_v1(&main.encode_state()).unwrap()).unwrap();
            let read = roots.map(|root| root.to_json(&txn));
            format!("{read:?} {:?}", main.doc().clock_of(writer(1).rows))
        }
        Question::List => listing(main),
        Question::Recorded => recorded(main),
    }
}
