//! The first records of a table.

use csv_core::ReadFieldResult;

use super::{MAX_RECORDS, TableDialect};

/// The bytes of a field that are read at once.
const FIELD_LEN: usize = 1_024;

/// The numbers of fields of the first records.
#[derive(Debug, Default)]
pub(super) struct RecordWidths {
    pub(super) widths: Vec<usize>,
    /// Whether the last field of nearly all records is empty.
    pub(super) is_open: bool,
}

/// Reads the first complete records. Without a complete one, the incomplete one is read.
pub(super) fn read_records(head: &str, dialect: &TableDialect, is_whole: bool) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), Vec::new());
    for_each_field(head, dialect, is_whole, |part, end| {
        field.extend_from_slice(part);
        let Some(record_end) = end else { return };
        record.push(String::from_utf8_lossy(&field).into_owned());
        field.clear();
        if record_end {
            records.push(std::mem::take(&mut record));
        }
    });
    if records.is_empty() && !record.is_empty() {
        records.push(record);
    }
    records
}

/// Counts the fields of the first complete records.
pub(super) fn record_widths(head: &str, dialect: &TableDialect, is_whole: bool) -> RecordWidths {
    let (mut found, mut width, mut len, mut n_open) = (RecordWidths::default(), 0, 0, 0);
    for_each_field(head, dialect, is_whole, |part, end| {
        len += part.len();
        let Some(record_end) = end else { return };
        width += 1;
        if record_end {
            n_open += usize::from(len == 0);
            found.widths.push(width);
            width = 0;
        }
        len = 0;
    });
    found.is_open = n_open + found.widths.len() / 10 >= found.widths.len();
    found
}

/// Passes on the parts of fields of the first records. With the last part of a field comes whether
/// its record ends with it.
fn for_each_field(
    head: &str,
    dialect: &TableDialect,
    is_whole: bool,
    mut receive: impl FnMut(&[u8], Option<bool>),
) {
    let (mut reader, mut buffer) = (dialect.reader(), [0; FIELD_LEN]);
    let (mut input, mut n_records) = (head.as_bytes(), 0);
    while n_records < MAX_RECORDS {
        let (result, n_read, n_written) = reader.read_field(input, &mut buffer);
        input = &input[n_read..];
        let part = &buffer[..n_written];
        match result {
            ReadFieldResult::Field { record_end } => {
                n_records += usize::from(record_end);
                receive(part, Some(record_end));
            }
            ReadFieldResult::OutputFull => receive(part, None),
            // Reading on without input ends the last record.
            ReadFieldResult::InputEmpty if is_whole => receive(part, None),
            ReadFieldResult::InputEmpty | ReadFieldResult::End => return,
        }
    }
}
