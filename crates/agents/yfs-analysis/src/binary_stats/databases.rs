//! The facts of databases: SQLite.

use super::{HeaderFacts, set, u16_be, u32_be};

/// Reads the header of an SQLite database.
pub(super) fn describe_sqlite(head: &[u8], size: u64, facts: &mut HeaderFacts) -> Option<()> {
    let page_size = match u16_be(head, 16)? {
        1 => 65_536,
        size => u64::from(size),
    };
    let encoding = match u32_be(head, 56)? {
        2 => "UTF-16LE",
        3 => "UTF-16BE",
        _ => "UTF-8",
    };
    set(facts, "page_size", page_size);
    set(facts, "pages", u32_be(head, 28)?);
    set(facts, "encoding", encoding);
    set(facts, "user_version", u32_be(head, 60)?);
    set(facts, "application_id", u32_be(head, 68)?);
    set(facts, "write_ahead_log", head.get(18) == Some(&2));
    if page_size > 0 && !size.is_multiple_of(page_size) {
        set(facts, "damaged", "the size is no multiple of the page size");
    }
    Some(())
}
