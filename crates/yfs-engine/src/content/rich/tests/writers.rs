//! Several writers at once.

use yfs_markdown::schema::SchemaProfile;

use super::{document, receive, replica, write};
use crate::content::ContentDoc;

/// Starts with `base`; one replica then writes `theirs`, and another, who has only read `base`, `ours`. Returns what all
/// replicas hold in the end.
fn both(base: &str, theirs: &str, ours: &str) -> String {
    let mut first = document(1, SchemaProfile::Gfm);
    write(&mut first, base, None);
    let mut second = replica(&first, 2);
    let read = second.version();
    let update = write(&mut first, theirs, None);
    receive(&mut second, &update.expect("they changed it"));
    let update = write(&mut second, ours, Some(&read));
    update.iter().for_each(|update| receive(&mut first, update));
    assert_eq!(first.text(), second.text());
    assert_eq!(replica(&first, 3).text(), first.text());
    first.text()
}

#[test]
fn changes_in_different_blocks_are_both_made() {
    let base = "# Title\n\nOne two three.\n\n- a\n- b\n\nLast.\n";
    let theirs = base.replace("two", "2");
    assert_eq!(both(base, &theirs, &base.replace("- b", "- bee")), theirs.replace("- b", "- bee"));
    let ours = base.replace("Last.\n", "Last.\n\nMore.\n");
    assert_eq!(both(base, &theirs, &ours), theirs.replace("Last.\n", "Last.\n\nMore.\n"));
}

#[test]
fn changes_of_different_words_are_both_made() {
    let base = "One *two* three four five.\n";
    let theirs = "One *two* THREE four five.\n";
    assert_eq!(both(base, theirs, "1 **two** three four 5.\n"), "1 **two** THREE four 5.\n");
}

#[test]
fn what_others_typed_in_a_block_that_goes_stays() {
    let base = "First.\n\nA paragraph that goes.\n\nLast.\n";
    let theirs = base.replace("that goes", "that really goes");
    assert_eq!(both(base, &theirs, "First.\n\nLast.\n"), "First.\n\nreally&#32;\n\nLast.\n");
}

#[test]
fn a_block_that_others_deleted_comes_back_where_it_was_changed() {
    let base = "First.\n\nA paragraph that goes.\n\nLast.\n";
    let ours = base.replace("that goes", "that stays");
    assert_eq!(both(base, "First.\n\nLast.\n", &ours), ours);
}

#[test]
fn what_both_put_in_is_there_once() {
    let base = "First.\n\nLast.\n";
    let both_write = "First.\n\nMiddle.\n\nLast.\n";
    assert_eq!(both(base, both_write, both_write), both_write);
}

#[test]
fn front_matter_merges_key_by_key_and_member_by_member() {
    let base = "---\ntitle: One\nnested:\n  a: 1\n  b: 2\n---\nText\n";
    let theirs = base.replace("One", "Uno").replace("a: 1", "a: 3");
    let text = both(base, &theirs, &base.replace("b: 2", "b: 4"));
    assert!(
        text.contains("title: Uno") && text.contains("a: 3") && text.contains("b: 4"),
        "{text}"
    );
}

#[test]
fn what_markdown_cannot_say_stays_where_nobody_wrote() {
    use yrs::{WriteTxn, XmlElementPrelim, XmlFragment};
    let mut doc: ContentDoc = document(1, SchemaProfile::Gfm);
    write(&mut doc, "First.\n\nLast.\n", None);
    let fragment = |txn: &mut yrs::TransactionMut<'_>| txn.get_or_insert_xml_fragment("richtext");
    doc.gate.edit(|txn| fragment(txn).insert(txn, 1, XmlElementPrelim::empty("paragraph")));
    doc.forget();
    assert_eq!(doc.text(), "First.\n\nLast.\n");
    write(&mut doc, "First.\n\nLast, changed.\n", None);
    assert_eq!(doc.text(), "First.\n\nLast, changed.\n");
    let n_blocks = doc.gate.edit(|txn| fragment(txn).len(txn)).0;
    assert_eq!(n_blocks, 3);
}

#[test]
fn a_table_has_one_header_and_a_cell_one_paragraph() {
    let base = "> One\n\n| a | b |\n| - | - |\n| c | d |\n";
    let theirs = base.replace("| a |", "| typed a |").replace("| c |", "| typed c |");
    let ours = base.replace("| a | b |", "| x | y |").replace("| c | d |", "| v | w |\n| e | f |");
    let mut first = document(1, SchemaProfile::Gfm);
    write(&mut first, base, None);
    let read = first.version();
    write(&mut first, &theirs, None);
    write(&mut first, &ours, Some(&read));
    let text = first.text();
    assert!(text.contains("typed") && text.contains("x") && text.contains('e'), "{text}");
}

#[test]
fn typing_reads_no_block_but_those_around() {
    let mut server = document(1, SchemaProfile::Gfm);
    let blocks =
        (0..40).map(|at| format!("Paragraph {at} of *some* words.\n\n- one {at}\n- two\n\n"));
    write(&mut server, &blocks.collect::<String>(), None);
    let mut human = replica(&server, 2);
    let mut reader = replica(&server, 3);
    assert_eq!(reader.text(), server.text());
    let n_whole = reader.blocks.n_whole();
    for at in 0..20 {
        let text = human.text();
        let place = text.find(&format!("Paragraph {at} of")).expect("it is there") + 9;
        let typed = human.replace_range(place..place, "s", &super::author()).expect("it is typed");
        receive(&mut reader, &typed.update.expect("it changes something"));
        assert_eq!(reader.text(), human.text());
    }
    assert_eq!(reader.blocks.n_whole(), n_whole);
}
