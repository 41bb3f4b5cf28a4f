//! Several writers at once.

use yfs_markdown::schema::SchemaProfile;

use super::{document, receive, replica, write};
use crate::{
    content::{ByteClassification, ContentDoc, ContentError, DEFAULT_TEXT_BYTES, classify_as},
    kind::ContentRoot,
    steps,
};

/// Starts with `base`; one replica then writes `theirs`, and another, which has only read `base`,
/// `ours`. Returns the text that all replicas have in the end.
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

/// An editor makes a heading of a paragraph by deleting it and inserting another block. A save by a
/// writer who had read the paragraph goes into that block; otherwise all its words would be there
/// twice.
#[test]
fn a_change_in_a_block_that_others_made_another_kind_of_is_made_there() {
    let paragraph = "alpha beta gamma delta epsilon zeta eta theta.";
    let rest = "next paragraph kappa lambda.";
    let base = format!("# Title\n\n{paragraph}\n\n{rest}\n\n- item one mu\n- item two nu\n");
    let replace = |from: &str, to: &str| base.replace(from, to);
    let structures = [
        replace(paragraph, &format!("## {paragraph}")),
        replace(paragraph, &format!("> {paragraph}")),
        replace(paragraph, &format!("- {paragraph}")),
        replace(paragraph, &format!("> ## {paragraph}")),
        replace(&format!("{paragraph}\n\n{rest}"), &format!("{paragraph}{rest}")),
        replace("- item two nu\n", "\nitem two nu\n"),
        replace("- item one mu\n- item two nu\n", "1. item one mu\n2. item two nu\n"),
    ];
    let edits: [&[(&str, &str)]; 7] = [
        &[("beta", "TOK beta")],
        &[("zeta", "TOK zeta")],
        &[("theta.", "theta TOK.")],
        &[("beta", "TOK beta"), ("zeta", "TOL zeta")],
        &[("kappa", "TOK kappa")],
        &[("mu", "TOK mu")],
        &[("nu\n", "nu TOK\n")],
    ];
    for theirs in &structures {
        for edit in edits {
            let edited = |text: &str| {
                edit.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
            };
            let merged = both(&base, theirs, &edited(&base));
            assert_eq!(merged, edited(theirs), "{edit:?}");
        }
    }
}

/// Seed 1150 of the random replicas: the first line was written again in the text of the line above
/// it, so text that another replica typed in that line was lost when the line above it was removed.
#[test]
fn a_line_that_moves_down_keeps_what_others_type_in_it() {
    let mut first = document(1, SchemaProfile::Gfm);
    write(&mut first, "a word one\na word two\nof three\n", None);
    let mut second = replica(&first, 2);
    write(&mut first, "of zero\na word one more\na word two\na word four\n", None);
    write(&mut second, "a word one and X\na word two\nof three\n", None);
    write(&mut first, "a word one more\na word two\na word four\n", None);
    receive(&mut first, &second.gate().encode_state());
    receive(&mut second, &first.gate().encode_state());
    assert_eq!(first.text(), second.text());
    assert_eq!(first.text(), "a word one more and X\na word two\na word four\n");
}

#[test]
fn what_others_typed_in_a_block_that_goes_stays() {
    let base = "First.\n\nA paragraph that goes.\n\nLast.\n";
    let theirs = base.replace("that goes", "that really goes");
    assert_eq!(both(base, &theirs, "First.\n\nLast.\n"), "First.\n\nreally\n\nLast.\n");
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
fn content_beyond_markdown_stays_where_no_writer_changed_it() {
    use yrs::{WriteTxn, XmlElementPrelim, XmlFragment};
    let mut doc: ContentDoc = document(1, SchemaProfile::Gfm);
    write(&mut doc, "First.\n\nLast.\n", None);
    let fragment = |txn: &mut yrs::TransactionMut<'_>| txn.get_or_insert_xml_fragment("richtext");
    doc.replica.gate.edit(|txn| fragment(txn).insert(txn, 1, XmlElementPrelim::empty("paragraph")));
    doc.forget();
    assert_eq!(doc.text(), "First.\n\nLast.\n");
    write(&mut doc, "First.\n\nLast, changed.\n", None);
    assert_eq!(doc.text(), "First.\n\nLast, changed.\n");
    let n_blocks = doc.replica.gate.edit(|txn| fragment(txn).len(txn)).0;
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
    let n_whole = reader.rich.blocks.n_whole();
    for at in 0..20 {
        let text = human.text();
        let place = text.find(&format!("Paragraph {at} of")).expect("it is there") + 9;
        let typed = human.replace_range(place..place, "s", &super::author()).expect("it is typed");
        receive(&mut reader, &typed.update.expect("it changes the text"));
        assert_eq!(reader.text(), human.text());
    }
    assert_eq!(reader.rich.blocks.n_whole(), n_whole);
}

/// A file that was written as a whole is known block by block when the next write needs it, not
/// only after a peer typed.
#[test]
fn writes_after_a_whole_write_compare_no_block_but_those_around() {
    for end in ["", "\n"] {
        let mut doc = document(1, SchemaProfile::Gfm);
        let blocks =
            (0..40).map(|at| format!("Paragraph {at} of *some* words.\n\n- one {at}\n- two\n\n"));
        let file = blocks.collect::<String>() + "The end." + end;
        write(&mut doc, &file, None);
        // The old end of the file is not written as before, and its memory is dropped first.
        drop(doc.append("\nMore.\n", &super::author()).expect("it is added"));
        let n_whole = [doc.rich.blocks.n_whole(), doc.rich.blocks.n_whole_writes()];
        for at in 0..20 {
            drop(doc.append(&format!("\nLine {at}.\n"), &super::author()).expect("it is added"));
            let (old, new) = (format!("Paragraph {at} of"), format!("Paragraph {at} with"));
            drop(doc.edit(&old, &new, false, &super::author()).expect("it is there"));
            let one = format!("one {at}\n");
            drop(doc.edit(&one, "another\n", false, &super::author()).expect("it is there"));
            assert_eq!(replica(&doc, 2).text(), doc.text());
        }
        assert_eq!(
            [doc.rich.blocks.n_whole(), doc.rich.blocks.n_whole_writes()],
            n_whole,
            "{end:?}"
        );
    }
}

/// A long file is neither weighed nor walked again for each line that is added to it.
#[test]
fn a_write_visits_the_blocks_around_it_only() {
    let mut doc = document(1, SchemaProfile::Gfm);
    let words = "some words of a long paragraph ".repeat(8);
    let blocks = (0..500).map(|at| format!("## Part {at}\n\nParagraph {at} of {words}.\n\n"));
    write(&mut doc, &(blocks.collect::<String>() + "The end.\n"), None);
    assert!(doc.text().len() > crate::content::MAX_RICH_WEIGHT, "{}", doc.text().len());
    drop(doc.append("\nMore.\n", &super::author()).expect("it is added"));
    let mut most = 0;
    for at in 0..10 {
        most = most.max(steps::of(|| {
            drop(doc.append(&format!("\nLine {at}.\n"), &super::author()).expect("it is added"));
        }));
        let (old, new) = (format!("Paragraph {at} of"), format!("Paragraph {at} with"));
        most = most.max(steps::of(|| {
            drop(doc.edit(&old, &new, false, &super::author()).expect("it is there"));
        }));
    }
    assert!(most < 40, "{most} steps for a file of 1,000 blocks");
    assert_eq!(replica(&doc, 2).text(), doc.text());
}

/// Short lines take 1,500 times their length as rich text.
#[test]
fn markdown_of_very_many_short_lines_is_no_rich_text() {
    let kind = ContentRoot::Rich(SchemaProfile::Gfm);
    for hostile in ["l\n", "- a\n", "> a\n\n", "|a|b|\n", "*a* ", "# h\n", "1. a\n", "`a` "] {
        let heavy = hostile.repeat(3_000_000 / hostile.len());
        assert_eq!(
            classify_as(heavy.as_bytes(), kind, DEFAULT_TEXT_BYTES),
            ByteClassification::Blob,
            "{hostile:?}"
        );
        assert!(matches!(
            classify_as(heavy.as_bytes(), ContentRoot::Text, DEFAULT_TEXT_BYTES),
            ByteClassification::Text(_)
        ));
        let mut doc = document(1, SchemaProfile::Gfm);
        write(&mut doc, "One line.\n", None);
        let before = doc.version();
        let refused = doc.append(&heavy, &super::author());
        assert_eq!(refused, Err(ContentError::TooHeavy), "{hostile:?}");
        assert_eq!((doc.version(), doc.text().as_str()), (before, "One line.\n"));
    }
    // A long file as people write it.
    let line = "A line of some eighty characters, as in a file that is wrapped by an editor, with \
                *marks*.\n";
    let long = line.repeat(1_500_000 / line.len());
    assert!(matches!(
        classify_as(long.as_bytes(), kind, DEFAULT_TEXT_BYTES),
        ByteClassification::Text(_)
    ));
}
