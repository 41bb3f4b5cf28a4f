//! Who speaks in an update.

use super::{limits::Limits, parse::parse, refusal::Refusal};
use crate::id::ItemId;

/// Returns the first item of each client of which an update holds items.
///
/// # Errors
///
/// If it cannot be read.
pub fn writers(update: &[u8]) -> Result<Vec<ItemId>, Refusal> {
    let parsed = parse(update, &Limits::default(), false)?;
    let runs = parsed.runs.iter().filter(|run| run.first < run.end);
    Ok(runs.map(|run| ItemId::new(run.client, parsed.structs[run.first].clock)).collect())
}
