//! Metadata of an application, the record of a removal, and the mark of a purge: three things that
//! different peers write to one row at the same time. Each is what its last writer made it,
//! whatever happens to the others.

use proptest::prelude::*;

use super::{peers::Peers, *};
use crate::table::PURGE_KEY;

#[derive(Debug, Clone)]
enum Step {
    /// A peer runs a command on `/f`.
    Run { peer: usize, command: &'static str },
    /// A peer receives what another has.
    Receive { to: usize, from: usize },
}

/// What the last writer of each part made it.
#[derive(Debug, Default, PartialEq)]
struct Expected {
    custom: Option<i64>,
    remover: Option<String>,
    is_purged: bool,
}

const NAMES: [&str; 3] = ["a", "b", "c"];
const COMMANDS: [&str; 6] = ["meta", "rm", "restore", "purge", "chmod", "touch"];

fn any_step() -> impl Strategy<Value = Step> {
    let peer = 0..NAMES.len();
    prop_oneof![
        3 => (peer.clone(), prop::sample::select(&COMMANDS[..]))
            .prop_map(|(peer, command)| Step::Run { peer, command }),
        1 => (peer.clone(), peer).prop_map(|(to, from)| Step::Receive { to, from }),
    ]
}

fn member(row: &FileRow, key: &str) -> Option<Any> {
    let Some(Any::Map(meta)) = &row.meta else { return None };
    meta.get(key).cloned()
}

fn parts_of(row: &FileRow) -> Expected {
    let custom = member(row, "custom").and_then(|value| match value {
        Any::Number(_) => crate::lib0::as_number(&value).map(|number| number as i64),
        _ => None,
    });
    let remover = trashed_by(row).map(|by| by.actor.to_string());
    assert_eq!(remover.is_some(), row.trashed_at.is_some(), "{row:?}");
    Expected { custom, remover, is_purged: member(row, PURGE_KEY).is_some() }
}

/// Runs a command of one peer, and notes what it wrote.
fn run(peers: &mut Peers, name: &str, command: &str, expected: &mut Expected) {
    let time = peers.now + 1;
    let line = match command {
        "meta" => format!("{name}: meta {{\"custom\":{time}}} /f"),
        "purge" => format!("{name}: purge /f p{time}"),
        "chmod" => format!("{name}: chmod {:o} /f", time % 0o777),
        "touch" => format!("{name}: touch {time} /f"),
        other => format!("{name}: {other} /f"),
    };
    let had_mark = parts_of(&peers.peers[name].row()).is_purged;
    if peers.step(&line).is_err() {
        return;
    }
    match command {
        "meta" => expected.custom = Some(time),
        "rm" => expected.remover = Some(format!("human:{name}")),
        "restore" => expected.remover = None,
        "purge" => expected.is_purged = true,
        _ => (),
    }
    if had_mark && matches!(command, "rm" | "restore") {
        expected.is_purged = false;
    }
}

proptest! {
    #[test]
    fn each_part_is_what_its_last_writer_made_it(
        steps in prop::collection::vec(any_step(), 1..30),
    ) {
        let mut peers = Peers::default();
        peers.step("a: create /f").unwrap();
        for name in NAMES {
            peers.step(&format!("{name}: mkdir -p /")).unwrap();
        }
        peers.step("sync").unwrap();
        let mut expected = Expected::default();
        for step in &steps {
            match *step {
                Step::Run { peer, command } => run(&mut peers, NAMES[peer], command, &mut expected),
                Step::Receive { to, from } => peers.receive(NAMES[to], NAMES[from]),
            }
        }
        peers.step("sync").unwrap();
        peers.check();
        for name in NAMES {
            prop_assert_eq!(&parts_of(&peers.peers[name].row()), &expected);
        }
    }
}
