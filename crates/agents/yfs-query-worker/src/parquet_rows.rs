//! Rows of Parquet files as values.
//!
//! The library checks what it reads, and still panics at some damaged files: such a panic is an
//! error here. Its memory is limited by the process of the query.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use jaq_json::{Map, Val, read::parse_single};
use parquet::{
    file::serialized_reader::SerializedFileReader,
    record::{Field, Row, reader::RowIter},
};

type Result<T> = std::result::Result<T, String>;

/// Reads the rows of a file as objects: dates and times as text, binary values in base64, nested
/// values as JSON.
pub(super) struct ParquetRows {
    /// Absent after the last row, and after an error.
    rows: Option<RowIter<'static>>,
    failure: Option<String>,
}

impl ParquetRows {
    pub(super) fn new(document: &[u8]) -> Self {
        let document = Bytes::copy_from_slice(document);
        let opened = caught(|| {
            let reader = SerializedFileReader::new(document).map_err(damaged)?;
            Ok(RowIter::from_file_into(Box::new(reader)))
        });
        match opened {
            Ok(rows) => Self { rows: Some(rows), failure: None },
            Err(failure) => Self { rows: None, failure: Some(failure) },
        }
    }
}

impl Iterator for ParquetRows {
    type Item = Result<Val>;

    fn next(&mut self) -> Option<Result<Val>> {
        if let Some(failure) = self.failure.take() {
            return Some(Err(failure));
        }
        let rows = self.rows.as_mut()?;
        let next = caught(|| match rows.next() {
            None => Ok(None),
            Some(row) => object(&row.map_err(damaged)?).map(Some),
        });
        if !matches!(next, Ok(Some(_))) {
            self.rows = None;
        }
        next.transpose()
    }
}

fn object(row: &Row) -> Result<Val> {
    let mut members = Map::default();
    for (name, field) in row.get_column_iter() {
        members.insert(Val::utf8_str(name.clone().into_bytes()), value(field)?);
    }
    Ok(Val::obj(members))
}

fn value(field: &Field) -> Result<Val> {
    match field {
        Field::Null => Ok(Val::Null),
        Field::Bool(value) => Ok(Val::Bool(*value)),
        Field::Str(text) => Ok(Val::utf8_str(text.clone().into_bytes())),
        Field::Group(row) => object(row),
        field => parse_single(field.to_json_value().to_string().as_bytes())
            .map_err(|error| damaged(&error)),
    }
}

/// Runs a part of the reading. A panic of the library is an error.
fn caught<T>(part: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(part)).unwrap_or_else(|_| Err(damaged("its values are damaged")))
}

fn damaged(reason: impl std::fmt::Display) -> String {
    format!("the document is not Parquet: {reason}")
}
