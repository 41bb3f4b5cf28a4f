//! The table of facts of documents.

use rusqlite::Row;
use yfs_types::hash::ContentHash;

use super::{
    check::page_problems, doc_values::write_fact, log::SqliteLog, schema::FACT_TABLE,
    seal::ValuePlace, store_error::store_error, transaction::SqliteTransaction, wipe::note_rewrite,
};
use crate::{DocFact, DocName, Seq, StoreError};

const FACTS: &str = "read facts of documents";
const REPAIR: &str = "repair the facts of documents";

/// The numbers of documents that are passed over to the next one whose facts are read.
const MAX_GAP: u32 = 16;

/// A document whose facts are read.
struct KnownDoc {
    number: u32,
    head: u64,
    /// Its place in the question.
    place: usize,
}

impl SqliteLog {
    pub(super) fn doc_facts(&self, docs: &[DocName]) -> Result<Vec<Option<DocFact>>, StoreError> {
        // The index has documents by name, and the table by number: each is read in its order.
        let mut places: Vec<usize> = (0..docs.len()).collect();
        places.sort_unstable_by_key(|place| docs[*place].as_str());
        let names: Vec<&DocName> = places.iter().map(|place| &docs[*place]).collect();
        let heads = self.with_index(|index| index.peek_heads(&names))?;
        let known = places.into_iter().zip(heads);
        let mut known: Vec<KnownDoc> = known
            .filter_map(|(place, head)| head.map(|(number, head)| KnownDoc { number, head, place }))
            .collect();
        known.sort_unstable_by_key(|doc| doc.number);
        let mut facts = vec![None; docs.len()];
        let reader = self.shared.reader()?;
        let tx = SqliteTransaction::read(&reader).map_err(store_error(FACTS))?;
        for run in known.chunk_by(|doc, next| next.number - doc.number <= MAX_GAP) {
            self.read_facts(&tx, docs, run, &mut facts)?;
        }
        Ok(facts)
    }

    /// Reads the facts of documents with ascending numbers, but those that are damaged: they can be
    /// computed again, and `check` reports the damage.
    fn read_facts(
        &self,
        tx: &SqliteTransaction<'_>,
        docs: &[DocName],
        run: &[KnownDoc],
        facts: &mut [Option<DocFact>],
    ) -> Result<(), StoreError> {
        const SQL: &str = "SELECT upto, size, hash, doc FROM fact WHERE doc BETWEEN ?1 AND ?2
                           ORDER BY doc";
        let ([first, ..], [.., last]) = (run, run) else { return Ok(()) };
        let mut read = || -> rusqlite::Result<()> {
            let mut find = tx.prepare_cached(SQL)?;
            let mut rows = find.query([first.number, last.number])?;
            let mut wanted = run.iter().peekable();
            while let Some(row) = rows.next()? {
                let number: u32 = row.get(3)?;
                while wanted.next_if(|doc| doc.number < number).is_some() {}
                while let Some(doc) = wanted.next_if(|doc| doc.number == number) {
                    let fact = self.read_fact(&docs[doc.place], row)?;
                    facts[doc.place] = fact.filter(|fact| fact.upto.0 >= doc.head);
                }
            }
            Ok(())
        };
        match read().map_err(store_error(FACTS)) {
            Err(StoreError::Corrupt { .. }) if run.len() > 1 => {
                let each = run.chunks(1);
                each.into_iter().try_for_each(|one| self.read_facts(tx, docs, one, facts))
            }
            Err(StoreError::Corrupt { .. }) => Ok(()),
            read => read,
        }
    }

    /// Reads a row of `upto, size, hash`; `None` if it is damaged.
    fn read_fact(&self, name: &DocName, row: &Row<'_>) -> rusqlite::Result<Option<DocFact>> {
        let upto = Seq(row.get::<_, i64>(0)?.cast_unsigned());
        let size = row.get::<_, i64>(1)?.cast_unsigned();
        let Some(hash) = row.get::<_, Option<Vec<u8>>>(2)? else {
            return Ok(Some(DocFact { upto, size, hash: None }));
        };
        let hash = self.shared.seal.open(ValuePlace::FactHash { doc: name, upto, size }, hash);
        let hash = hash.and_then(|hash| hash.try_into().ok()).map(ContentHash::from_bytes);
        Ok(hash.map(|hash| DocFact { upto, size, hash: Some(hash) }))
    }

    pub(super) fn set_doc_facts(&self, facts: &[(DocName, DocFact)]) -> Result<(), StoreError> {
        let known: Vec<Option<u32>> =
            self.with_index(|index| facts.iter().map(|(name, _)| index.find(name)).collect())?;
        self.shared.write("write facts of documents", |tx| {
            for ((name, fact), number) in facts.iter().zip(known) {
                if let Some(number) = number {
                    write_fact(tx, &self.shared.seal, number, name, fact)
                        .map_err(store_error(FACTS))?;
                }
            }
            Ok(())
        })
    }

    /// Makes the table of facts anew if it is damaged, and reports whether it was.
    pub(super) fn repair_facts(&self) -> Result<bool, StoreError> {
        if page_problems(&*self.shared.reader()?, "PRAGMA quick_check(fact)")?.is_empty() {
            return Ok(false);
        }
        // Dropping the table would read it. Its pages go when the file is rewritten.
        let forget = "PRAGMA writable_schema = ON;
                      DELETE FROM sqlite_schema WHERE name = 'fact';
                      PRAGMA writable_schema = RESET;";
        self.shared.write(REPAIR, |tx| {
            let made = tx.execute_batch(forget).and_then(|()| tx.execute_batch(FACT_TABLE));
            made.and_then(|()| note_rewrite(tx)).map_err(store_error(REPAIR))
        })?;
        self.shared.wipe()?;
        Ok(true)
    }
}
