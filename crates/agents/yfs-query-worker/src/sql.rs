//! SQL over the rows of a document, by SQLite in memory (decision 68).
//!
//! # Invariants
//!
//! - One statement that begins with `SELECT`, `WITH` or `VALUES` and is read-only for SQLite: none
//!   attaches or writes a file.

use jaq_json::{Map, Num, Val, write};
use rusqlite::{Connection, params_from_iter, types::Value as SqlValue};

/// The name of the table.
const TABLE: &str = "data";

/// The column of rows that are not objects.
const VALUE_COLUMN: &str = "value";

/// The most columns of a table; SQLite has no more.
const MAX_COLUMNS: usize = 2_000;

/// Runs a statement over the values of a document, and passes each row of the result as an object.
/// An array is a table of its elements.
pub(super) fn run_sql<E: From<String>>(
    statement: &str,
    values: impl Iterator<Item = Result<Val, String>>,
    mut write_row: impl FnMut(&Val) -> Result<(), E>,
) -> Result<(), E> {
    let first_word = statement.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next();
    let first_word = first_word.unwrap_or_default().to_ascii_uppercase();
    if !matches!(first_word.as_str(), "SELECT" | "WITH" | "VALUES") {
        return Err("a query begins with SELECT, WITH or VALUES".to_owned().into());
    }
    let connection = Connection::open_in_memory().map_err(reason)?;
    let mut table = DocumentTable { connection: &connection, columns: Vec::new() };
    connection.execute_batch("BEGIN").map_err(reason)?;
    for value in values {
        match value? {
            Val::Arr(elements) => elements.iter().try_for_each(|row| table.insert(row))?,
            row => table.insert(&row)?,
        }
    }
    if table.columns.is_empty() {
        table.add_column(VALUE_COLUMN)?;
    }
    connection.execute_batch("COMMIT").map_err(reason)?;
    let mut statement = connection.prepare(statement).map_err(reason)?;
    if !statement.readonly() {
        return Err("a query does not change the table".to_owned().into());
    }
    let names: Vec<Val> = statement.column_names().map(text_value).collect();
    let mut rows = statement.query([]).map_err(reason)?;
    while let Some(row) = rows.next().map_err(reason)? {
        let mut result = Map::default();
        for (at, name) in names.iter().enumerate() {
            let value: SqlValue = row.get(at).map_err(reason)?;
            result.insert(name.clone(), result_value(value));
        }
        write_row(&Val::obj(result))?;
    }
    Ok(())
}

/// The table with the rows of a document.
struct DocumentTable<'a> {
    connection: &'a Connection,
    columns: Vec<String>,
}

impl DocumentTable<'_> {
    fn insert(&mut self, row: &Val) -> Result<(), String> {
        let mut cells = Vec::new();
        match row {
            Val::Obj(members) => {
                for (key, value) in members.iter() {
                    let name = match key {
                        Val::TStr(name) => String::from_utf8_lossy(name).into_owned(),
                        key => json_text(key),
                    };
                    cells.push((self.column(&name)?, cell(value)));
                }
            }
            value => cells.push((self.column(VALUE_COLUMN)?, cell(value))),
        }
        if cells.is_empty() {
            cells.push((self.column(VALUE_COLUMN)?, SqlValue::Null));
        }
        let names: Vec<String> = cells.iter().map(|(at, _)| quoted(&self.columns[*at])).collect();
        let marks = vec!["?"; cells.len()].join(",");
        let insert = format!("INSERT INTO {TABLE} ({}) VALUES ({marks})", names.join(","));
        let mut insert = self.connection.prepare_cached(&insert).map_err(reason)?;
        let cells = cells.into_iter().map(|(_, cell)| cell);
        insert.execute(params_from_iter(cells)).map_err(reason)?;
        Ok(())
    }

    /// Returns the position of a column, which is added if it is new. Names of SQLite have no case.
    fn column(&mut self, name: &str) -> Result<usize, String> {
        let known = self.columns.iter().position(|known| known.eq_ignore_ascii_case(name));
        match known {
            Some(at) => Ok(at),
            None => self.add_column(name),
        }
    }

    fn add_column(&mut self, name: &str) -> Result<usize, String> {
        if self.columns.len() == MAX_COLUMNS {
            return Err(format!("the table has more than {MAX_COLUMNS} columns"));
        }
        let column = quoted(name);
        let change = match self.columns.is_empty() {
            true => format!("CREATE TABLE {TABLE} ({column})"),
            false => format!("ALTER TABLE {TABLE} ADD COLUMN {column}"),
        };
        self.connection.execute_batch(&change).map_err(reason)?;
        self.columns.push(name.to_owned());
        Ok(self.columns.len() - 1)
    }
}

fn quoted(name: &str) -> String {
    // A name ends at a NUL.
    format!("\"{}\"", name.replace('"', "\"\"").replace('\0', " "))
}

/// Returns the cell of a value: arrays and objects are their JSON.
fn cell(value: &Val) -> SqlValue {
    match value {
        Val::Null => SqlValue::Null,
        Val::Bool(value) => SqlValue::Integer(i64::from(*value)),
        Val::Num(Num::Int(number)) => SqlValue::Integer(*number as i64),
        Val::Num(Num::Float(number)) => SqlValue::Real(*number),
        Val::Num(Num::Dec(digits)) => {
            digits.parse().map_or_else(|_| SqlValue::Text(digits.to_string()), SqlValue::Real)
        }
        Val::TStr(text) => SqlValue::Text(String::from_utf8_lossy(text).into_owned()),
        value => SqlValue::Text(json_text(value)),
    }
}

fn result_value(value: SqlValue) -> Val {
    match value {
        SqlValue::Null => Val::Null,
        SqlValue::Integer(number) => Val::Num(Num::Int(number as isize)),
        SqlValue::Real(number) => Val::Num(Num::Float(number)),
        SqlValue::Text(text) => text_value(&text),
        SqlValue::Blob(bytes) => text_value(&String::from_utf8_lossy(&bytes)),
    }
}

fn json_text(value: &Val) -> String {
    let mut bytes = Vec::new();
    // Memory has no errors.
    write::write(&mut bytes, &write::Pp::<String>::default(), 0, value).ok();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn text_value(text: &str) -> Val {
    Val::utf8_str(text.as_bytes().to_vec())
}

fn reason(error: rusqlite::Error) -> String {
    error.to_string()
}
