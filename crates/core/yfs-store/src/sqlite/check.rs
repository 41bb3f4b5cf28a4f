//! The check: reads the whole store and reports damage.

use std::io;

use rusqlite::Connection;

use super::{
    SqliteStore,
    log_scan::{ScannedLog, note_records_read, scan_log},
    store_error::store_error,
    transaction::SqliteTransaction,
};
use crate::{BlobInfo, CheckProblem, CheckReport, DocName, DocStats, StoreError};

const CHECK: &str = "check the store";

/// The most problems that are reported of any kind.
const MAX_PROBLEMS: usize = 1000;

impl SqliteStore {
    /// Checks everything. `progress` gets the number of documents and blobs that were read, and of
    /// all.
    pub(super) fn check_all(
        &self,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<CheckReport, StoreError> {
        let mut report = CheckReport::default();
        self.check_pages(&mut report)?;
        let blobs = self.blobs.blobs();
        let n_blobs = blobs.as_ref().map_or(0, |blobs| blobs.len() as u64);
        let mut n_docs = 0;
        self.check_docs(&mut report, &mut |done, all| {
            n_docs = all;
            progress(done, all + n_blobs);
        })?;
        match blobs {
            Ok(blobs) => self.check_blobs(blobs, &mut report, &mut |done| {
                progress(n_docs + done, n_docs + n_blobs);
            })?,
            Err(error) => collect_problem(Err(error), &mut report.problems)?,
        }
        report.problems.truncate(MAX_PROBLEMS);
        Ok(report)
    }

    pub(super) fn check_documents(&self) -> Result<CheckReport, StoreError> {
        let mut report = CheckReport::default();
        self.check_docs(&mut report, &mut |_, _| ())?;
        report.problems.truncate(MAX_PROBLEMS);
        Ok(report)
    }

    fn check_pages(&self, report: &mut CheckReport) -> Result<(), StoreError> {
        let found = page_problems(&*self.shared.reader()?, "PRAGMA quick_check(100)")?;
        report.problems.extend(found.into_iter().map(|description| CheckProblem {
            doc: None,
            blob: None,
            description,
        }));
        Ok(())
    }

    fn check_docs(
        &self,
        report: &mut CheckReport,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), StoreError> {
        let reader = self.shared.reader()?;
        let mut problems = Vec::new();
        let numbers = match self.document_names(&reader) {
            Ok((numbers, misnamed)) => {
                problems.extend(misnamed);
                numbers
            }
            Err(error) => {
                collect_problem(Err(error), &mut problems)?;
                Vec::new()
            }
        };
        let docs = self.log.documents();
        // Almost always all is sound, and then the log is read once.
        if let Ok(docs) = &docs
            && let Some(scanned) = self.scan_sound_log(&reader, docs, &numbers, progress)?
        {
            report.n_records += scanned.n_records;
            report.n_snapshots += scanned.n_snapshots;
            report.problems.extend(problems);
            return Ok(());
        }
        match count_strays(&reader) {
            Ok(0) => (),
            Ok(n) => {
                let description = format!("{n} records belong to no document");
                report.problems.push(CheckProblem { doc: None, blob: None, description });
            }
            Err(error) => collect_problem(Err(error), &mut report.problems)?,
        }
        report.problems.extend(problems);
        match docs {
            Ok(docs) => self.check_each_doc(docs, report, progress),
            Err(error) => collect_problem(Err(error), &mut report.problems),
        }
    }

    /// Reads all records and snapshots in one pass. Returns `None` if any is damaged, or if they
    /// are not those of `docs`, to which other processes may have appended. `numbers` are those of
    /// the documents, in order.
    fn scan_sound_log(
        &self,
        reader: &Connection,
        docs: &[DocStats],
        numbers: &[i64],
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Option<ScannedLog>, StoreError> {
        let expected = ScannedLog {
            n_records: docs.iter().map(|doc| doc.n_records).sum(),
            n_snapshots: docs.iter().filter(|doc| doc.snapshot_bytes > 0).count() as u64,
        };
        let n_docs = docs.len() as u64;
        let n_read = |n: u64| n * n_docs / expected.n_records.max(n);
        let tx = SqliteTransaction::read(reader).map_err(store_error(CHECK))?;
        let scanned =
            scan_log(&tx, &self.shared.seal, numbers, &mut |n| progress(n_read(n), n_docs));
        match scanned.map_err(store_error(CHECK)) {
            Ok(scanned) => Ok(scanned.filter(|scanned| *scanned == expected)),
            Err(StoreError::Corrupt { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn check_each_doc(
        &self,
        docs: Vec<DocStats>,
        report: &mut CheckReport,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), StoreError> {
        let n_docs = docs.len() as u64;
        for (done, doc) in docs.into_iter().enumerate() {
            progress(done as u64, n_docs);
            match self.log.load(&doc.doc) {
                Ok(loaded) => {
                    report.n_records += loaded.updates.len() as u64;
                    report.n_snapshots += u64::from(loaded.snapshot.is_some());
                    for damage in loaded.damaged {
                        let description = format!("record {}: {}", damage.seq, damage.reason);
                        report.problems.push(CheckProblem::of_doc(damage.doc, description));
                    }
                    if doc.snapshot_bytes > 0 && loaded.snapshot.is_none() {
                        let description = "its snapshot is missing or damaged".to_owned();
                        report.problems.push(CheckProblem::of_doc(doc.doc, description));
                    }
                }
                Err(StoreError::Corrupt { detail, .. }) => {
                    report.problems.push(CheckProblem::of_doc(doc.doc, detail));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns the numbers of the documents, in order, and the problems of those whose records
    /// cannot be reached because their name is damaged.
    fn document_names(
        &self,
        reader: &Connection,
    ) -> Result<(Vec<i64>, Vec<CheckProblem>), StoreError> {
        let read = || -> rusqlite::Result<Vec<(i64, String)>> {
            let mut statement = reader.prepare("SELECT n, guid FROM doc ORDER BY n")?;
            let rows = statement.query_map([], |row| {
                let guid = row.get_ref(1)?.as_bytes().unwrap_or_default();
                Ok((row.get(0)?, String::from_utf8_lossy(guid).into_owned()))
            })?;
            rows.collect()
        };
        let docs = read().map_err(store_error(CHECK))?;
        let misnamed = self.log.with_index(|index| {
            let mut misnamed = Vec::new();
            for (number, guid) in &docs {
                let name = DocName::parse(guid).ok();
                let known = name.map(|name| index.number_of(&name));
                if known.transpose()?.flatten().map(i64::from) != Some(*number) {
                    misnamed.push((*number, guid.clone()));
                }
            }
            Ok(misnamed)
        })?;
        let problem = |(number, guid)| {
            let description = format!("document {number} has a damaged name: {guid:?}");
            CheckProblem { doc: None, blob: None, description }
        };
        let misnamed = misnamed.into_iter().take(MAX_PROBLEMS).map(problem).collect();
        Ok((docs.into_iter().map(|(number, _)| number).collect(), misnamed))
    }

    fn check_blobs(
        &self,
        blobs: Vec<BlobInfo>,
        report: &mut CheckReport,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        for (done, blob) in blobs.into_iter().enumerate() {
            progress(done as u64);
            match self.blobs.copy_blob(&blob.hash, &mut io::sink()) {
                // The blob was removed since the list was read.
                Err(StoreError::NoBlob { .. }) => continue,
                read => collect_problem(read.map(|_| ()), &mut report.problems)?,
            }
            report.n_blobs += 1;
        }
        Ok(())
    }
}

/// Returns what SQLite finds wrong with pages. Its check does not depend on what a damaged page
/// happens to point to, as a query does.
pub(super) fn page_problems(
    reader: &Connection,
    check: &'static str,
) -> Result<Vec<String>, StoreError> {
    let mut problems = Vec::new();
    let mut read = || -> rusqlite::Result<()> {
        let mut statement = reader.prepare(check)?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
        for row in rows {
            problems.push(row?);
        }
        Ok(())
    };
    match read().map_err(store_error(CHECK)) {
        Err(StoreError::Corrupt { detail, .. }) => problems.push(detail),
        result => result?,
    }
    problems.retain(|problem| problem != "ok");
    Ok(problems)
}

/// Counts the records that belong to no document, or are of no kind.
fn count_strays(reader: &Connection) -> Result<u64, StoreError> {
    let sql = "SELECT count(*), count(CASE WHEN kind NOT IN (0, 1, 2)
               OR NOT EXISTS (SELECT 1 FROM doc WHERE n = log.doc) THEN 1 END) FROM log";
    let counted = reader.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
    let (n_read, n_strays): (i64, i64) = counted.map_err(store_error(CHECK))?;
    note_records_read(n_read.cast_unsigned());
    Ok(n_strays.cast_unsigned())
}

/// Turns an error that reports damage into a problem, and passes on other errors.
fn collect_problem(
    result: Result<(), StoreError>,
    problems: &mut Vec<CheckProblem>,
) -> Result<(), StoreError> {
    match result {
        Err(StoreError::Corrupt { detail, .. }) => {
            problems.push(CheckProblem { doc: None, blob: None, description: detail });
            Ok(())
        }
        Err(ref error @ StoreError::CorruptBlob { hash, .. }) => {
            let description = error.to_string();
            problems.push(CheckProblem { doc: None, blob: Some(hash), description });
            Ok(())
        }
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;
    use yfs_types::time::Millis;

    use super::{super::log_scan, *};
    use crate::{
        AppendBatch, LogRecord, MergedSnapshot, OpenOptions, SqliteStore, Store, UnlockKey,
        UpdateLog,
    };

    fn doc(number: usize) -> DocName {
        DocName::parse(&format!("doc{number}")).expect("a name")
    }

    /// A store with small and large records, documents that were compacted in part and as a whole,
    /// and one that was forgotten.
    fn sample(key: Option<&UnlockKey>) -> (TempDir, SqliteStore) {
        let directory = tempfile::tempdir().expect("a directory");
        let options = OpenOptions { create: true, create_new: true, ..OpenOptions::default() };
        let path = directory.path().join("store.db");
        let store = SqliteStore::open_with_key(&path, options, key).expect("create");
        for part in 0..6 {
            for number in 0..6 {
                let data = vec![7; if part % 2 == 0 { 40 } else { 2000 }];
                store.append(AppendBatch::one(doc(number), data, Millis(1))).expect("append");
            }
        }
        for (number, n_absorbed) in [(0, 6), (1, 4)] {
            let merge = |_: Option<&[u8]>, updates: &[LogRecord]| {
                let absorbed = (0..updates.len()).map(|at| at < n_absorbed).collect();
                let (rewritten, changes) = (Vec::new(), Vec::new());
                Ok(MergedSnapshot { state: vec![8; 3000], absorbed, rewritten, changes })
            };
            store.compact(&doc(number), &merge).expect("compact");
        }
        let head = store.doc_head(&doc(2)).expect("head").seq;
        store.forget(&doc(2), head).expect("forget");
        (directory, store)
    }

    fn keys() -> [Option<UnlockKey>; 2] {
        [None, Some(UnlockKey::from_key_file(vec![7; 32]).expect("a key"))]
    }

    fn scan(store: &SqliteStore) -> Option<ScannedLog> {
        let docs = store.documents().expect("documents");
        let reader = store.shared.reader().expect("a reader");
        let (numbers, _) = store.document_names(&reader).expect("names");
        store.scan_sound_log(&reader, &docs, &numbers, &mut |_, _| ()).expect("scan")
    }

    #[test]
    fn one_pass_shows_that_all_is_sound() {
        for key in keys() {
            let (_directory, store) = sample(key.as_ref());
            let expected = ScannedLog { n_records: 3 * 6 + 2, n_snapshots: 2 };
            assert_eq!(scan(&store), Some(expected));
            let report = store.check_log().expect("check");
            assert_eq!((report.n_records, report.n_snapshots), (20, 2));
            assert!(report.problems.is_empty(), "{:?}", report.problems);
        }
    }

    /// The start of a mirror or a server checks all records.
    #[test]
    fn a_sound_log_is_read_once() {
        for key in keys() {
            let (_directory, store) = sample(key.as_ref());
            let reader = store.shared.reader().expect("a reader");
            let sql = "SELECT count(*) FROM log";
            let n_stored: i64 = reader.query_row(sql, [], |row| row.get(0)).expect("counted");
            drop(reader);
            log_scan::N_RECORDS_READ.set(0);
            assert!(store.check_log().expect("check").problems.is_empty());
            assert_eq!(log_scan::N_RECORDS_READ.get(), n_stored.cast_unsigned());
        }
    }

    #[test]
    fn records_of_no_kind_or_document_are_found() {
        let strays =
            ["UPDATE log SET kind = 9 WHERE kind = 1", "UPDATE log SET doc = 99 WHERE kind = 1"];
        for (key, stray) in keys().iter().flat_map(|key| strays.map(|stray| (key, stray))) {
            let (directory, store) = sample(key.as_ref());
            let file = Connection::open(directory.path().join("store.db")).expect("open");
            let n_strays = file.execute(stray, []).expect("damage");
            assert!(n_strays > 0, "{stray}");
            assert_eq!(scan(&store), None, "{stray}");
            let report = store.check_log().expect("check");
            let expected = format!("{n_strays} records belong to no document");
            assert_eq!(report.problems[0].description, expected, "{stray}");
        }
    }

    const DAMAGE: [&str; 9] = [
        "UPDATE log SET data = x'00' WHERE seq = (SELECT max(seq) FROM log WHERE doc = 4
        AND data IS NOT NULL)",
        "UPDATE log SET crc = crc + 1 WHERE seq = (SELECT max(seq) FROM log WHERE doc = 4)",
        "UPDATE log SET len = len + 1 WHERE seq = (SELECT max(seq) FROM log WHERE doc = 4)",
        "UPDATE log SET at = at + 1 WHERE seq = (SELECT max(seq) FROM log WHERE doc = 4)",
        "UPDATE body SET data = x'00' WHERE seq = (SELECT max(seq) FROM body)",
        "DELETE FROM body WHERE seq = (SELECT min(seq) FROM body)",
        "UPDATE snapshot SET hash = x'00' WHERE doc = 1",
        "UPDATE snapshot_body SET data = x'00' WHERE doc = 1",
        "DELETE FROM snapshot_body WHERE doc = 1",
    ];

    #[test]
    fn damage_of_any_part_is_found_by_the_pass_and_named() {
        for (key, damage) in keys().iter().flat_map(|key| DAMAGE.map(|damage| (key, damage))) {
            let (directory, store) = sample(key.as_ref());
            let file = Connection::open(directory.path().join("store.db")).expect("open");
            assert_eq!(file.execute(damage, []).expect("damage"), 1, "{damage}");
            assert_eq!(scan(&store), None, "{damage}");
            let report = store.check_log().expect("check");
            assert!(!report.problems.is_empty(), "{damage}");
            let are_named = report.problems.iter().all(|problem| problem.doc.is_some());
            assert!(are_named, "{damage}: {:?}", report.problems);
        }
    }

    /// A change after which all checksums are right.
    #[test]
    fn the_pass_opens_sealed_values() {
        let [_, key] = keys();
        let (directory, store) = sample(key.as_ref());
        let file = Connection::open(directory.path().join("store.db")).expect("open");
        let swap = "UPDATE doc SET guid = 'other' WHERE n = 4";
        assert_eq!(file.execute(swap, []).expect("rename"), 1);
        assert_eq!(scan(&store), None);
        let (directory, store) = sample(key.as_ref());
        let file = Connection::open(directory.path().join("store.db")).expect("open");
        assert_eq!(file.execute("UPDATE snapshot SET upto = upto - 1", []).expect("move"), 2);
        assert_eq!(scan(&store), None);
    }
}
