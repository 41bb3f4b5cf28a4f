//! The check: reads the whole store and reports damage.

use std::io;

use rusqlite::Connection;

use super::{SqliteInner, schema::store_error};
use crate::{BlobInfo, CheckProblem, CheckReport, DocName, StoreError};

const CHECK: &str = "check the store";

/// The most problems that are reported of any kind.
const MAX_PROBLEMS: usize = 1000;

impl SqliteInner {
    /// Checks everything. `progress` gets the number of documents and blobs that were read, and of
    /// all.
    pub(super) fn check(
        &self,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<CheckReport, StoreError> {
        let mut report = CheckReport::default();
        self.check_pages(&mut report)?;
        let blobs = self.blobs();
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

    pub(super) fn check_log(&self) -> Result<CheckReport, StoreError> {
        let mut report = CheckReport::default();
        self.check_docs(&mut report, &mut |_, _| ())?;
        report.problems.truncate(MAX_PROBLEMS);
        Ok(report)
    }

    fn check_pages(&self, report: &mut CheckReport) -> Result<(), StoreError> {
        let reader = self.reader()?;
        let mut check = || -> rusqlite::Result<()> {
            let mut statement = reader.prepare("PRAGMA quick_check(100)")?;
            let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
            for row in rows {
                let description = row?;
                if description != "ok" {
                    report.problems.push(CheckProblem { doc: None, description });
                }
            }
            Ok(())
        };
        collect_problem(check().map_err(store_error(CHECK)), &mut report.problems)
    }

    fn check_docs(
        &self,
        report: &mut CheckReport,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), StoreError> {
        let reader = self.reader()?;
        let sql = "SELECT count(*) FROM log WHERE kind NOT IN (0, 1, 2)
                   OR NOT EXISTS (SELECT 1 FROM doc WHERE n = log.doc)";
        match reader.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(store_error(CHECK)) {
            Ok(0) => (),
            Ok(n) => {
                let description = format!("{n} records belong to no document");
                report.problems.push(CheckProblem { doc: None, description });
            }
            Err(error) => collect_problem(Err(error), &mut report.problems)?,
        }
        match self.misnamed_docs(&reader) {
            Ok(problems) => report.problems.extend(problems),
            Err(error) => collect_problem(Err(error), &mut report.problems)?,
        }
        let docs = match self.documents() {
            Ok(docs) => docs,
            Err(error) => return collect_problem(Err(error), &mut report.problems),
        };
        let n_docs = docs.len() as u64;
        for (done, doc) in docs.into_iter().enumerate() {
            progress(done as u64, n_docs);
            match self.load(&doc.doc) {
                Ok(loaded) => {
                    report.n_records += loaded.updates.len() as u64;
                    report.n_snapshots += u64::from(loaded.snapshot.is_some());
                    for damage in loaded.damaged {
                        let description = format!("record {}: {}", damage.seq, damage.reason);
                        report.problems.push(CheckProblem { doc: Some(damage.doc), description });
                    }
                    if doc.snapshot_bytes > 0 && loaded.snapshot.is_none() {
                        let description = "its snapshot is missing or damaged".to_owned();
                        report.problems.push(CheckProblem { doc: Some(doc.doc), description });
                    }
                }
                Err(StoreError::Corrupt { detail, .. }) => {
                    report.problems.push(CheckProblem { doc: Some(doc.doc), description: detail });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns the documents whose records cannot be reached because their name is damaged.
    fn misnamed_docs(&self, reader: &Connection) -> Result<Vec<CheckProblem>, StoreError> {
        let read = || -> rusqlite::Result<Vec<(i64, String)>> {
            let mut statement = reader.prepare("SELECT n, guid FROM doc")?;
            let rows = statement.query_map([], |row| {
                let guid = row.get_ref(1)?.as_bytes().unwrap_or_default();
                Ok((row.get(0)?, String::from_utf8_lossy(guid).into_owned()))
            })?;
            rows.collect()
        };
        let docs = read().map_err(store_error(CHECK))?;
        let misnamed = self.with_index(|index| {
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
            CheckProblem { doc: None, description }
        };
        Ok(misnamed.into_iter().take(MAX_PROBLEMS).map(problem).collect())
    }

    fn check_blobs(
        &self,
        blobs: Vec<BlobInfo>,
        report: &mut CheckReport,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        for (done, blob) in blobs.into_iter().enumerate() {
            progress(done as u64);
            match self.copy_blob(&blob.hash, &mut io::sink()) {
                // The blob was removed since the list was read.
                Err(StoreError::NoBlob { .. }) => continue,
                read => collect_problem(read.map(|_| ()), &mut report.problems)?,
            }
            report.n_blobs += 1;
        }
        Ok(())
    }
}

/// Turns an error that reports damage into a problem, and passes on other errors.
fn collect_problem(
    result: Result<(), StoreError>,
    problems: &mut Vec<CheckProblem>,
) -> Result<(), StoreError> {
    match result {
        Err(StoreError::Corrupt { detail, .. }) => {
            problems.push(CheckProblem { doc: None, description: detail });
            Ok(())
        }
        Err(error @ StoreError::CorruptBlob { .. }) => {
            problems.push(CheckProblem { doc: None, description: error.to_string() });
            Ok(())
        }
        result => result,
    }
}
