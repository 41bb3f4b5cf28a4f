//! Words that were typed into the text of a file which another writer replaced by bytes: the file
//! shows the bytes, and the words are only in its versions.

use yrs::StateVector;

use super::{ContentDoc, TEXT, rule_client::is_rule_client};
use crate::{
    gate::{GateRejection, IdRange, LivingContent, read_state_vector},
    rich::ROOT,
};

impl ContentDoc {
    /// Returns the words of the text that the writers of the present bytes did not know. It means
    /// nothing for a file whose content is text. If one of these writers did not record what it
    /// knew, there are none.
    ///
    /// # Errors
    ///
    /// [`GateRejection::Poisoned`].
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
        let (mut words, mut last) = (Vec::<String>::new(), None::<IdRange>);
        for live in self.gate().living_in(&[TEXT, ROOT])? {
            let IdRange { client, start, .. } = live.range;
            let seen = known.get(&yrs::ClientID::new(client.get()));
            let is_typed = live.content == LivingContent::Characters && !is_rule_client(client);
            if !is_typed || seen >= live.range.end() {
                continue;
            }
            let units: Vec<u16> =
                live.text.encode_utf16().skip(seen.saturating_sub(start) as usize).collect();
            let typed = String::from_utf16_lossy(&units);
            let goes_on = last.is_some_and(|last| last.client == client && last.end() == start);
            match words.last_mut().filter(|_| goes_on) {
                Some(word) => word.push_str(&typed),
                None => words.push(typed),
            }
            last = Some(live.range);
        }
        words.retain(|word| !word.trim().is_empty());
        Ok(words.iter().map(|word| word.trim().to_owned()).collect())
    }
}
