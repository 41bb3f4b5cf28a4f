//! Random tests: people type while agents write whole files that they read some time ago.

use proptest::prelude::*;
use yfs_markdown::schema::{SchemaProfile, check};
use yrs::Text as _;

use super::{author, document, receive, replica, tree};
use crate::{
    content::{ContentBase, ContentDoc, Version},
    rich::{LiveChild, TextSlot, live},
};

/// An operation of an agent on the blocks of the file that it read.
#[derive(Debug, Clone)]
enum AgentOp {
    Delete(usize),
    Insert(usize, Block),
    Replace(usize, Block),
    Word(usize, String),
    Move(usize, usize),
    Append(Block),
}

#[derive(Debug, Clone)]
enum Step {
    /// A person types a mark into the text with this index, at such a place.
    Type { text: usize, at: usize },
    /// The agent reads.
    Read,
    /// The agent writes its version of the text that it read.
    Write(Vec<AgentOp>),
    /// All updates are exchanged.
    Sync,
}

type Block = String;

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{2,6}", Just("*some*".to_owned()), Just("`code`".to_owned())]
}

fn sentence() -> impl Strategy<Value = String> {
    proptest::collection::vec(word(), 1..8).prop_map(|words| words.join(" "))
}

fn block() -> impl Strategy<Value = Block> {
    prop_oneof![
        4 => sentence(),
        1 => sentence().prop_map(|text| format!("# {text}")),
        2 => proptest::collection::vec(sentence(), 1..4)
            .prop_map(|items| format!("- {}", items.join("\n- "))),
        1 => (sentence(), sentence()).prop_map(|(a, b)| format!("1. {a}\n   - {b}\n2. {a}")),
        1 => (sentence(), sentence()).prop_map(|(a, b)| format!("> {a}\n>\n> {b}")),
        1 => (word(), sentence())
            .prop_map(|(a, b)| format!("| {a} | b |\n| - | - |\n| {b} | c |\n| d | {a} |")),
        1 => sentence().prop_map(|text| format!("```rust\n{text}\n```")),
    ]
}

fn agent_op() -> impl Strategy<Value = AgentOp> {
    let at = 0..40_usize;
    prop_oneof![
        at.clone().prop_map(AgentOp::Delete),
        (at.clone(), block()).prop_map(|(at, block)| AgentOp::Insert(at, block)),
        (at.clone(), block()).prop_map(|(at, block)| AgentOp::Replace(at, block)),
        (at.clone(), "[a-z]{2,6}").prop_map(|(at, word)| AgentOp::Word(at, word)),
        (at.clone(), at).prop_map(|(from, to)| AgentOp::Move(from, to)),
        block().prop_map(AgentOp::Append),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..60_usize, 0..60_usize).prop_map(|(text, at)| Step::Type { text, at }),
        2 => Just(Step::Read),
        3 => proptest::collection::vec(agent_op(), 1..4).prop_map(Step::Write),
        2 => Just(Step::Sync),
    ]
}

fn edited(text: &str, ops: &[AgentOp]) -> String {
    let mut blocks: Vec<String> =
        text.split("\n\n").map(|block| block.trim_end().to_owned()).collect();
    for op in ops {
        let n = blocks.len().max(1);
        match op {
            AgentOp::Delete(at) if !blocks.is_empty() => drop(blocks.remove(at % n)),
            AgentOp::Delete(_) => {}
            AgentOp::Insert(at, block) => blocks.insert(at % n % (blocks.len() + 1), block.clone()),
            AgentOp::Replace(at, block) => {
                if let Some(chosen) = blocks.get_mut(at % n) {
                    *chosen = block.clone();
                }
            }
            AgentOp::Word(at, word) => {
                if let Some(chosen) = blocks.get_mut(at % n)
                    && let Some(place) = chosen.rfind(' ')
                {
                    chosen.insert_str(place, &format!(" {word}"));
                }
            }
            AgentOp::Move(from, to) if !blocks.is_empty() => {
                let block = blocks.remove(from % n);
                blocks.insert(to % (blocks.len() + 1), block);
            }
            AgentOp::Move(..) => {}
            AgentOp::Append(block) => blocks.push(block.clone()),
        }
    }
    blocks.join("\n\n") + "\n"
}

fn slots<'a>(kids: &'a [LiveChild], out: &mut Vec<&'a TextSlot>) {
    for kid in kids {
        match kid {
            LiveChild::Text(text) => out.extend(&text.slots),
            LiveChild::Element(element) => slots(&element.kids, out),
        }
    }
}

/// Types into the document as an editor does, and returns the update.
fn type_mark(
    doc: &mut ContentDoc,
    profile: SchemaProfile,
    text: usize,
    at: usize,
    mark: &str,
) -> Option<Vec<u8>> {
    let update = doc.replica.gate.edit(|txn| {
        let kids = live(txn, profile);
        let mut found = Vec::new();
        slots(&kids, &mut found);
        let slot = found.get(text % found.len().max(1))?;
        let places: Vec<u32> = (0..=slot.handle.len(txn)).collect();
        slot.handle.insert(txn, places[at % places.len()], mark);
        Some(())
    });
    doc.forget();
    update.0.and(update.1)
}

fn run(profile: SchemaProfile, blocks: &[Block], steps: &[Step]) -> Result<(), TestCaseError> {
    let mut agent = document(1, profile);
    let first = agent.write(&(blocks.join("\n\n") + "\n"), None, &author()).expect("a write");
    let mut human = document(2, profile);
    first.update.iter().for_each(|update| receive(&mut human, update));
    let mut third = replica(&agent, 3);
    let mut read: (Version, String) = (agent.version(), agent.text());
    let (mut from_human, mut from_agent) = (Vec::new(), Vec::new());
    let (mut marks, mut n_marks) = (Vec::new(), 0);
    for step in steps.iter().chain([&Step::Sync]) {
        match step {
            Step::Type { text, at } => {
                let mark = char::from_u32(0x1200 + n_marks).expect("a letter").to_string();
                if let Some(update) = type_mark(&mut human, profile, *text, *at, &mark) {
                    receive(&mut agent, &update);
                    from_human.push(update);
                    // Text that is typed into a block that is already deleted elsewhere is deleted
                    // with it.
                    let has_heard_all = from_agent.is_empty();
                    marks.extend(has_heard_all.then_some(mark));
                    n_marks += 1;
                }
            }
            Step::Read => read = (agent.version(), agent.text()),
            Step::Write(ops) => {
                let new = edited(&read.1, ops);
                // The agent may delete text that it had read.
                marks.retain(|mark: &String| !read.1.contains(mark) || new.contains(mark));
                let written = agent.write(&new, Some(ContentBase::Version(&read.0)), &author());
                from_agent.extend(written.expect("a write").update);
                read = (agent.version(), agent.text());
            }
            Step::Sync => {
                deliver_to_third(&mut third, &from_agent, &from_human);
                from_human.clear();
                from_agent.drain(..).for_each(|update| receive(&mut human, &update));
            }
        }
    }
    let text = agent.text();
    prop_assert_eq!(&human.text(), &text);
    prop_assert_eq!(&third.text(), &text);
    prop_assert!(check(&tree(&agent, profile), profile).is_ok(), "{}", tree(&agent, profile));
    let said = tree(&agent, profile).plain_text();
    for mark in marks {
        prop_assert!(said.contains(&mark), "{mark} is not in {said:?}");
    }
    Ok(())
}

fn deliver_to_third(third: &mut ContentDoc, from_agent: &[Vec<u8>], from_human: &[Vec<u8>]) {
    // In another order than the two.
    from_human.iter().rev().chain(from_agent).for_each(|update| receive(third, update));
}

proptest! {
    #[test]
    fn nothing_that_people_type_is_lost(
        blocks in proptest::collection::vec(block(), 1..12),
        steps in proptest::collection::vec(step(), 1..16),
    ) {
        run(SchemaProfile::Gfm, &blocks, &steps)?;
        run(SchemaProfile::CommonMark, &blocks, &steps)?;
    }
}
