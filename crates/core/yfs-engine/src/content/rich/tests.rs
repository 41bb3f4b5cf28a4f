//! Tests of files of rich text: a read returns the written bytes, and text typed by others stays.

mod files;
mod properties;
mod random;
mod writers;

use yfs_markdown::{
    schema::{SchemaProfile, check},
    tree::TreeElement,
};

use crate::{
    actor::{Actor, ActorKind},
    content::{ContentBase, ContentDoc, RunAuthor, Version},
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    kind::ContentRoot,
    rich,
    time::Millis,
};

const PROFILES: [SchemaProfile; 2] = [SchemaProfile::CommonMark, SchemaProfile::Gfm];

fn document(client: u64, profile: SchemaProfile) -> ContentDoc {
    let id = FileId::parse("0pvpappn8hn4dcp").expect("an id");
    let client = ClientId::new(client).expect("53 bits");
    let mut doc = ContentDoc::new(&id, client, GateLimits::default());
    doc.set_kind(ContentRoot::Rich(profile));
    doc
}

fn author() -> RunAuthor {
    RunAuthor::new(Actor::new(ActorKind::Agent, "test"), Millis(1_000))
}

/// Writes a file, and checks that it can be opened in an editor.
fn write(doc: &mut ContentDoc, text: &str, base: Option<&Version>) -> Option<Vec<u8>> {
    let written =
        doc.write(text, base.map(ContentBase::Version), &author()).expect("it can be written");
    let ContentRoot::Rich(profile) = doc.kind() else { return written.update };
    check(&tree(doc, profile), profile).unwrap_or_else(|error| panic!("{error} in {text:?}"));
    written.update
}

fn tree(doc: &ContentDoc, profile: SchemaProfile) -> TreeElement {
    doc.gate().read(|txn| rich::read(txn, profile))
}

/// Returns another replica of a document.
fn replica(doc: &ContentDoc, client: u64) -> ContentDoc {
    let ContentRoot::Rich(profile) = doc.kind() else { panic!("no rich text") };
    let mut replica = document(client, profile);
    receive(&mut replica, &doc.gate().encode_state());
    replica
}

fn receive(doc: &mut ContentDoc, update: &[u8]) {
    doc.receive(update, UpdateSource::Store).expect("it is an update");
}
