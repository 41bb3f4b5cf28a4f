//! The text of a document that was written once, read from that update.

use crate::{
    gate::{GateLimits, ItemParent, StructKind, UpdateStruct, parse},
    lib0::Lib0Reader,
};

/// Returns the text of the document that consists of this update alone, without building it;
/// `None` if that takes more than reading the update.
///
/// It does for the text of a file that is not rich text and was written once, by this program.
pub fn single_text(update: &[u8]) -> Option<&str> {
    let parsed = parse(update, &GateLimits::default(), false).ok()?;
    let is_plain = !parsed.rewrite && !parsed.is_deep && parsed.deletes.is_empty();
    if !is_plain || parsed.runs.len() != 1 || parsed.structs.first()?.clock != 0 {
        return None;
    }
    let mut text = None;
    for item in &parsed.structs {
        if item.origin.is_some() || item.right.is_some() || item.key.is_some() {
            return None;
        }
        match (item.kind, item.parent) {
            (StructKind::Any, ItemParent::Root("fs:log")) => {}
            (StructKind::String, ItemParent::Root("text")) if text.is_none() => {
                text = Some(read_text(update, item)?);
            }
            _ => return None,
        }
    }
    text
}

fn read_text<'a>(update: &'a [u8], item: &UpdateStruct<'_>) -> Option<&'a str> {
    Lib0Reader::at(update, item.content_at).string().ok()
}
