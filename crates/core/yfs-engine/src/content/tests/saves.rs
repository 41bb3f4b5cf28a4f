//! Every save is a version: what one save removes, another version still has.

use yrs::{
    ReadTxn as _, Text as _, Transact as _, Update, WriteTxn as _, updates::decoder::Decode as _,
};

use super::{at, doc, raw, replica, texts};
use crate::{
    content::ContentDoc,
    gate::{UpdateSource, writers},
};

#[test]
fn a_save_between_two_edits_of_another_writer_is_a_version() {
    // An agent edits; a person saves by way of another process; the agent, one second later, takes
    // the person's words out again.
    let mut agent = doc(1);
    agent.write("5\n6\n7\n", None, &at("agent", 0)).unwrap().update.unwrap();
    let mut person = replica(2, &agent);
    let saved = person.write("5\n6 IMPORTANT\n7\n", None, &at("person", 500)).unwrap();
    agent.receive(&saved.update.unwrap(), UpdateSource::Store).unwrap();
    agent.edit(" IMPORTANT", "", false, &at("agent", 1000)).unwrap().update.unwrap();
    assert_eq!(texts(&agent), ["5\n6\n7\n", "5\n6 IMPORTANT\n7\n", "5\n6\n7\n"]);
    let authors: Vec<_> =
        agent.timeline().versions().iter().map(|v| v.author.clone().unwrap()).collect();
    assert_eq!(authors, [at("agent", 0), at("person", 500), at("agent", 1000)]);
}

#[test]
fn each_of_a_hundred_saves_is_a_version_of_few_bytes() {
    let mut lines: Vec<String> = (0..100).map(|n| format!("line {n} of a text\n")).collect();
    let mut doc = doc(1);
    let mut saved = vec![lines.concat()];
    doc.write(&saved[0], None, &at("reviewer-3", 0)).unwrap().update.unwrap();
    let mut updates = 0;
    for n in 0..100 {
        lines[n * 37 % 100] = format!("line {n} was changed\n");
        saved.push(lines.concat());
        let author = at("reviewer-3", 100 * n as i64);
        let written = doc.write(&saved[n + 1], None, &author).unwrap();
        updates += written.update.unwrap().len();
    }
    let n_bytes = doc.gate().encode_state().len() - saved[0].len();
    println!("{} bytes a save logged, {} bytes a save in the state", updates / 100, n_bytes / 100);
    assert_eq!(texts(&doc), saved);
    assert!(updates / 100 < 230, "{updates}");
    // The number of a line changes apart from its words (decision 44).
    assert!(n_bytes / 100 < 220, "{n_bytes}");
}

/// An editor, whose keystrokes a server receives on behalf of an actor.
struct Editor {
    doc: yrs::Doc,
    actor: &'static str,
}

impl Editor {
    fn open(n: u64, actor: &'static str, server: &ContentDoc) -> Self {
        let editor = Self { doc: raw(n), actor };
        editor.pull(server);
        editor
    }

    fn pull(&self, server: &ContentDoc) {
        let mut txn = self.doc.transact_mut();
        let state = Update::decode_v1(&server.gate().encode_state()).unwrap();
        txn.apply_update(state).unwrap();
    }

    /// Makes an edit, and sends it to the server; returns how many bytes the mark took.
    fn key(
        &self,
        server: &mut ContentDoc,
        ms: i64,
        edit: impl FnOnce(&mut yrs::TransactionMut<'_>, &yrs::TextRef),
    ) -> usize {
        self.pull(server);
        let before = self.doc.transact().state_vector();
        {
            let mut txn = self.doc.transact_mut();
            let text = txn.get_or_insert_text("text");
            edit(&mut txn, &text);
        }
        let update = self.doc.transact().encode_diff_v1(&before);
        let first = writers(&update).unwrap().first().copied();
        let mark = server.edit_registers().plan_typing_mark(first, &at(self.actor, ms));
        assert!(server.receive(&update, UpdateSource::Wire).unwrap().changed);
        mark.map_or(0, |mark| {
            server.edit_registers().add_typing_mark(&mark).unwrap().unwrap().len()
        })
    }
}

#[test]
fn keystrokes_coalesce_and_a_save_between_them_is_a_version() {
    let mut server = doc(1);
    server.write("one\n", None, &at("agent", 0)).unwrap().update.unwrap();
    let ada = Editor::open(7, "ada", &server);
    let n_marked = (0..100)
        .filter(|n| ada.key(&mut server, 1000 + n, |txn, text| text.insert(txn, 0, "x")) > 0);
    assert_eq!(n_marked.count(), 1, "the keystrokes of a run");
    let mut person = replica(2, &server);
    let typed = person.text();
    let saved = format!("{typed}IMPORTANT\n");
    let update = person.write(&saved, None, &at("person", 2000)).unwrap().update.unwrap();
    server.receive(&update, UpdateSource::Store).unwrap();
    // The editor deletes what was saved; a deletion is no item, so no client wrote it.
    let marked = ada.key(&mut server, 3000, |txn, text| text.remove_range(txn, 104, 10));
    assert!(marked > 0 && server.text() == typed, "{marked} {}", server.text());
    assert_eq!(ada.key(&mut server, 3001, |txn, text| text.remove_range(txn, 0, 100)), 0);
    assert_eq!(texts(&server), ["one\n", &typed, &saved, "one\n"]);
    let actors: Vec<_> =
        server.timeline().versions().iter().map(|v| v.author.clone().unwrap().actor.name).collect();
    assert_eq!(actors, ["agent", "ada", "person", "ada"]);
}

#[test]
fn two_who_type_at_once_are_marked_once_in_ten_seconds() {
    let mut server = doc(1);
    server.write("one\n", None, &at("agent", 0)).unwrap().update.unwrap();
    let editors = [Editor::open(7, "ada", &server), Editor::open(8, "bob", &server)];
    let mut n_marks = 0;
    for n in 0..400 {
        let typed = editors[n % 2].key(&mut server, 100 * n as i64, |txn, text| {
            text.insert(txn, n as u32 / 2, "x");
        });
        n_marks += usize::from(typed > 0);
    }
    assert_eq!(n_marks, 8, "in 40 seconds");
}
