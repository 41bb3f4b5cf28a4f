//! Words that were typed into the text of a file which another writer replaced by bytes: the file
//! shows the bytes, and the words are only in its versions.

use yrs::StateVector;

use super::{ContentDoc, TEXT, rich::RICH_ROOTS, rule_client::is_rule_client};
use crate::{
    gate::{GateRejection, LivingContent, read_state_vector},
    kind::ContentRoot,
};

impl ContentDoc {
    /// Returns the words of the text that the writer of the present bytes did not know, if the
    /// content is bytes.
    ///
    /// # Errors
    ///
    /// If the document is poisoned.
    pub fn typed_beside_bytes(&self) -> Result<Vec<String>, GateRejection> {
        let heads = self.blobs().heads();
        let mut known = StateVector::default();
        for head in &heads {
            let Some(knew) = head.knew.as_deref() else { return Ok(Vec::new()) };
            known.merge(read_state_vector(knew)?);
        }
        if heads.is_empty() {
            return Ok(Vec::new());
        }
        let roots = match self.conversion().current_root() {
            ContentRoot::Text => &[TEXT][..],
            ContentRoot::Rich(_) => &RICH_ROOTS[..1],
        };
        let mut words = Vec::new();
        for live in self.gate().living_in(roots)? {
            let client = live.range.client;
            if live.content != LivingContent::Characters || is_rule_client(client) {
                continue;
            }
            let seen = known.get(&yrs::ClientID::new(client.get()));
            let n_seen = seen.saturating_sub(live.range.start) as usize;
            let units: Vec<u16> = live.text.encode_utf16().skip(n_seen).collect();
            let text = String::from_utf16_lossy(&units);
            words.extend((!text.trim().is_empty()).then(|| text.trim().to_owned()));
        }
        Ok(words)
    }
}
