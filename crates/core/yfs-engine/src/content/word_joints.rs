//! Words of two writers that a merge puts into one place.
//!
//! If two writers replace a word without knowing of each other, Yjs keeps both insertions, one
//! behind the other, and the text reads as a word that neither wrote: `45` and `60` become `4560`.
//! Such a *joint* is separated by a blank, or one of two equal words is deleted. The blank is an
//! item of a client id that is a hash of the two items around it, so all peers make the same item,
//! whatever else they know (decision 44). As long as it is there, the two words are in conflict.

use hashbrown::HashMap;
use yrs::IdSet;

use super::{
    ContentError, Version,
    diff::{first_word, last_word, reads_as_one_word},
    item_sets::holds,
    item_spans::{ItemSpan, spans_of},
    log::AuthorLog,
    replica::ContentReplica,
    rule_client::{is_rule_client, rule_client},
};
use crate::{
    gate::{IdRange, ItemOrigins, origins_of_items, write_delete_set},
    id::{ClientId, ItemId},
    lib0::{write_string, write_var_uint},
};

/// What the hash for the client id of a separator begins with; it must change with the rule.
const SEPARATOR: &str = "yfs separator 1";

/// The same for the end of a line that another writer deleted.
const LINE_END: &str = "yfs line end 1";

/// Words that two or more writers put into the place of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeparatedWords {
    /// Where the first of them begins in the text, in bytes.
    pub at: usize,
    /// The words, in the order of the text.
    pub words: Vec<String>,
}

/// An update that separates words.
pub(super) struct Separation {
    pub(super) update: Vec<u8>,
    /// Where the separators come, in bytes of the text without them.
    pub(super) places: Vec<usize>,
}

/// A place where the text of one writer meets that of another inside of what reads as one word.
struct WordJoint<'a> {
    left: &'a ItemSpan,
    right: &'a ItemSpan,
    /// Whether both writers inserted the same.
    is_equal: bool,
    /// Whether they are in two lines, whose end another writer deleted.
    is_line_end: bool,
}

impl WordJoint<'_> {
    fn items(&self) -> (ItemId, ItemId) {
        (self.left.item_behind(self.left.n_units - 1), self.right.item)
    }
}

/// Returns the update that separates the words of a document; `None` if none are to be separated.
pub(super) fn separate_words(
    replica: &mut ContentReplica,
    log: &AuthorLog,
    is_rich: bool,
) -> Result<Option<Vec<u8>>, ContentError> {
    replica.gate.health()?;
    let (text, spans) = spans_of(&mut replica.gate, is_rich);
    let spans = join_spans(&spans);
    let mut joints = candidates(&text, &spans, log);
    let mut idle = idle_blanks(&text, &spans);
    if joints.is_empty() && idle.is_empty() {
        return Ok(None);
    }
    let items = joints.iter().flat_map(|joint| <[ItemId; 2]>::from(joint.items()));
    let items = items.chain(idle.iter().copied());
    let origins = origins_of_items(&replica.gate.encode_state(), &replica.limits(), items)?;
    let version = replica.version();
    let deleted = &version.snapshot().delete_set;
    joints.retain_mut(|joint| {
        joint.is_line_end = deleted_line_end(joint, &origins, deleted).is_some();
        is_unknown_to_both(joint, &origins, deleted) && !was_separated(replica, joint)
    });
    idle.retain(|blank| is_separator(*blank, &origins));
    let is_empty = joints.is_empty() && idle.is_empty();
    Ok((!is_empty).then(|| encode(&joints, &idle)))
}

/// Returns the update that separates the words that a save has just put beside words that its
/// writer had not read, or at the end of a line that others deleted, and where; `None` if there are
/// none.
///
/// The items of the save begin at `first`; `before` is the document before it.
pub(super) fn separate_saved_words(
    replica: &mut ContentReplica,
    first: ItemId,
    [read, before]: [&Version; 2],
    is_rich: bool,
) -> Result<Option<Separation>, ContentError> {
    let (text, spans) = spans_of(&mut replica.gate, is_rich);
    let spans = join_spans(&spans);
    let said = |span: &ItemSpan| &text[span.at..span.at + span.len];
    let is_saved = |item: ItemId| item.client == first.client && item.clock >= first.clock;
    let is_unread = |item: ItemId| !read.knows(item.client, item.clock + 1);
    let pairs = spans.windows(2).filter_map(|pair| {
        let [left, right] = pair else { return None };
        let joint = WordJoint { left, right, is_equal: false, is_line_end: false };
        let (before, behind) = joint.items();
        let meets = left.at + left.len == right.at
            && left.list == right.list
            && is_saved(before) != is_saved(behind);
        (meets && reads_as_one_word(said(left), said(right))).then_some(joint)
    });
    let mut joints: Vec<WordJoint<'_>> = pairs.collect();
    if joints.is_empty() {
        return Ok(None);
    }
    let items = joints.iter().flat_map(|joint| <[ItemId; 2]>::from(joint.items()));
    let origins = origins_of_items(&replica.gate.encode_state(), &replica.limits(), items)?;
    joints.retain_mut(|joint| {
        let (left, right) = joint.items();
        let deleted_by_others = |item: ItemId| {
            let was_there = !holds(&read.snapshot().delete_set, item);
            was_there && holds(&before.snapshot().delete_set, item)
        };
        let line_end = deleted_line_end(joint, &origins, &before.snapshot().delete_set);
        joint.is_line_end = line_end.is_some_and(deleted_by_others);
        let other = if is_saved(left) { right } else { left };
        (is_unread(other) || joint.is_line_end) && !was_separated(replica, joint)
    });
    let places = joints.iter().map(|joint| joint.right.at).collect();
    Ok((!joints.is_empty()).then(|| Separation { update: encode(&joints, &[]), places }))
}

/// Returns the end of the line between two words that meet, if it was deleted.
fn deleted_line_end(
    joint: &WordJoint<'_>,
    origins: &HashMap<ItemId, ItemOrigins>,
    deleted: &IdSet,
) -> Option<ItemId> {
    let (left, right) = joint.items();
    let (of_left, of_right) = (origins.get(&left)?, origins.get(&right)?);
    let behind = of_left.right.filter(|_| of_left.right_char == Some('\n'));
    let before = of_right.left.filter(|_| of_right.left_char == Some('\n'));
    [behind, before].into_iter().flatten().find(|item| holds(deleted, *item))
}

/// Returns the words of a document that were separated, and are still.
pub(super) fn separated_words(
    replica: &mut ContentReplica,
    is_rich: bool,
) -> Result<Vec<SeparatedWords>, ContentError> {
    replica.gate.health()?;
    if !replica.version().clocks().any(|(client, _)| is_rule_client(client)) {
        return Ok(Vec::new());
    }
    let (text, spans) = spans_of(&mut replica.gate, is_rich);
    let blanks = spans.iter().filter(|span| is_blank_of_rule(&text, span));
    let blanks: Vec<&ItemSpan> = blanks.collect();
    if blanks.is_empty() {
        return Ok(Vec::new());
    }
    let items = blanks.iter().map(|blank| blank.item);
    let origins = origins_of_items(&replica.gate.encode_state(), &replica.limits(), items)?;
    let version = replica.version();
    let deleted = &version.snapshot().delete_set;
    // Without one of the words, the blank is one like any other.
    let separates = |blank: &&ItemSpan| {
        let of_blank = origins.get(&blank.item);
        let sides = of_blank.into_iter().flat_map(|of_blank| [of_blank.left, of_blank.right]);
        is_separator(blank.item, &origins) && !sides.flatten().any(|item| holds(deleted, item))
    };
    Ok(words_around(&text, blanks.into_iter().filter(separates)))
}

/// Reports whether the separator of a joint was there and an editor deleted it, which decides that
/// the words are one.
fn was_separated(replica: &ContentReplica, joint: &WordJoint<'_>) -> bool {
    let (left, right) = joint.items();
    let is_there = |rule| replica.gate.clock_of(separator_client(rule, left, right)) > 0;
    is_there(SEPARATOR) || is_there(LINE_END)
}

/// Reports whether an item is a separator: its client id says which items it separates.
fn is_separator(item: ItemId, origins: &HashMap<ItemId, ItemOrigins>) -> bool {
    match origins.get(&item) {
        Some(ItemOrigins { left: Some(left), right: Some(right), .. }) => {
            item == ItemId::new(separator_client(SEPARATOR, *left, *right), 0)
        }
        _ => false,
    }
}

/// Reports whether a span is a blank that a rule inserted.
fn is_blank_of_rule(text: &str, span: &ItemSpan) -> bool {
    is_rule_client(span.item.client) && &text[span.at..span.at + span.len] == " "
}

/// Returns the blanks of rules that separate nothing any more: where a third word came between two
/// that were separated, there are two blanks; where a word was deleted, one stands alone.
fn idle_blanks(text: &str, spans: &[ItemSpan]) -> Vec<ItemId> {
    let mut idle = Vec::new();
    for (at, span) in spans.iter().enumerate().filter(|(_, span)| is_blank_of_rule(text, span)) {
        let is_edge = |char: Option<char>| char.is_none_or(char::is_whitespace);
        let ends = is_edge(text[span.at + span.len..].chars().next());
        let before = at.checked_sub(1).map(|before| &spans[before]);
        let is_second = before.is_some_and(|before| {
            is_blank_of_rule(text, before) && before.at + before.len == span.at
        });
        let begins = !is_second && is_edge(text[..span.at].chars().next_back());
        if ends || begins {
            idle.push(span.item);
        }
    }
    idle
}

/// Joins spans of one client that follow each other in its list and in the text.
fn join_spans(spans: &[ItemSpan]) -> Vec<ItemSpan> {
    let mut joined: Vec<ItemSpan> = Vec::with_capacity(spans.len());
    for span in spans {
        match joined.last_mut() {
            Some(last)
                if last.item_behind(last.n_units) == span.item
                    && last.at + last.len == span.at
                    && last.list == span.list =>
            {
                last.len += span.len;
                last.n_units += span.n_units;
            }
            _ => joined.push(*span),
        }
    }
    joined
}

/// Returns the places where text of one author meets text of another inside of a word.
fn candidates<'a>(text: &str, spans: &'a [ItemSpan], log: &AuthorLog) -> Vec<WordJoint<'a>> {
    let said = |span: &ItemSpan| &text[span.at..span.at + span.len];
    let writers = log.writers();
    let mut joints = Vec::new();
    for pair in spans.windows(2) {
        let [left, right] = pair else { continue };
        let meets = left.at + left.len == right.at
            && left.list == right.list
            && left.item.client != right.item.client
            && writers.writer_of(left.item.client) != writers.writer_of(right.item.client);
        if meets
            && log.writes_entries(left.item.client)
            && log.writes_entries(right.item.client)
            && reads_as_one_word(said(left), said(right))
        {
            let is_equal = said(left) == said(right);
            joints.push(WordJoint { left, right, is_equal, is_line_end: false });
        }
    }
    joints
}

/// Reports whether both texts came into the place of the same text, and neither writer had seen the
/// other's. A writer that inserts text beside known text names it as a neighbor.
fn is_unknown_to_both(
    joint: &WordJoint<'_>,
    origins: &HashMap<ItemId, ItemOrigins>,
    deleted: &IdSet,
) -> bool {
    let (left, right) = joint.items();
    let (Some(of_left), Some(of_right)) = (origins.get(&left), origins.get(&right)) else {
        return false;
    };
    let is_known = of_right.left == Some(left) || of_left.right == Some(right);
    let is_gone = |item: Option<ItemId>| item.is_some_and(|item| holds(deleted, item));
    // Text that was inserted behind the item before it is the rest of a word, not another word,
    // unless that item is no part of the word.
    let before = right.clock.checked_sub(1).map(|clock| ItemId::new(right.client, clock));
    let is_rest = of_right.left.is_some()
        && of_right.left == before
        && of_right.left_char.is_none_or(char::is_alphanumeric);
    !is_known && !is_rest && (is_gone(of_left.right) || is_gone(of_right.right))
}

/// Encodes the separators, and the deletion of words that are there twice and of idle blanks.
fn encode(joints: &[WordJoint<'_>], idle: &[ItemId]) -> Vec<u8> {
    let blanks = joints.iter().filter(|joint| !joint.is_equal).map(|joint| {
        let (left, right) = joint.items();
        let (rule, separator) = if joint.is_line_end { (LINE_END, "\n") } else { (SEPARATOR, " ") };
        (separator_client(rule, left, right), left, right, separator)
    });
    let mut blanks: Vec<(ClientId, ItemId, ItemId, &str)> = blanks.collect();
    blanks.sort_by_key(|(client, ..)| std::cmp::Reverse(*client));
    let mut out = Vec::new();
    write_var_uint(&mut out, blanks.len() as u64);
    for (client, left, right, separator) in blanks {
        // One struct of this client, from clock 0: a string with both neighbors.
        write_var_uint(&mut out, 1);
        write_var_uint(&mut out, client.get());
        write_var_uint(&mut out, 0);
        out.push(STRING | HAS_LEFT | HAS_RIGHT);
        for item in [left, right] {
            write_var_uint(&mut out, item.client.get());
            write_var_uint(&mut out, item.clock.into());
        }
        write_string(&mut out, separator);
    }
    let twice = joints.iter().filter(|joint| joint.is_equal);
    let twice = twice.map(|joint| (joint.right.item, joint.right.n_units));
    let twice = twice.chain(idle.iter().map(|blank| (*blank, 1)));
    let twice =
        twice.map(|(item, len)| IdRange { client: item.client, start: item.clock, len }).collect();
    write_delete_set(&mut out, twice);
    out
}

/// The bits of the first byte of a struct: the content is a string; the item names its neighbors.
const STRING: u8 = 4;
const HAS_LEFT: u8 = 0x80;
const HAS_RIGHT: u8 = 0x40;

/// Returns the client id that separates two items.
fn separator_client(rule: &str, left: ItemId, right: ItemId) -> ClientId {
    let mut bytes = Vec::new();
    write_string(&mut bytes, rule);
    for item in [left, right] {
        write_var_uint(&mut bytes, item.client.get());
        write_var_uint(&mut bytes, item.clock.into());
    }
    rule_client(&bytes)
}

/// Returns the words on both sides of each separator; words between two separators are of one
/// group.
fn words_around<'a>(
    text: &str,
    separators: impl Iterator<Item = &'a ItemSpan>,
) -> Vec<SeparatedWords> {
    let mut groups: Vec<SeparatedWords> = Vec::new();
    let mut end_of_last = None;
    for separator in separators {
        let start = separator.at - last_word(&text[..separator.at]).len();
        let behind = separator.at + separator.len;
        let len = first_word(&text[behind..]).len();
        let next = text[behind..behind + len].to_owned();
        match groups.last_mut() {
            Some(group) if end_of_last == Some(separator.at) => group.words.push(next),
            _ => {
                let first = text[start..separator.at].to_owned();
                groups.push(SeparatedWords { at: start, words: vec![first, next] });
            }
        }
        end_of_last = Some(behind + len);
    }
    groups
}

#[cfg(test)]
mod tests;
