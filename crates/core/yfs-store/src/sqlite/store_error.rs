//! SQLite's errors as those of a store.

use std::{error::Error, sync::Arc};

use rusqlite::{ErrorCode, ffi};

use super::holder;
use crate::StoreError;

/// Returns a function that converts an SQLite error of an action to a store error.
pub(super) fn store_error(action: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreError {
    move |error| match error.sqlite_error_code() {
        // The index of the write-ahead log cannot grow.
        Some(ErrorCode::SystemIoFailure) if is_extended(&error, ffi::SQLITE_IOERR_SHMSIZE) => {
            StoreError::Full { action }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Locked { action, holder: holder::take_holder() }
        }
        Some(ErrorCode::DiskFull) => StoreError::Full { action },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly { action },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Corrupt { action, detail: error.to_string() }
        }
        _ => StoreError::Backend {
            action,
            source: Arc::<dyn Error + Send + Sync>::from(Box::from(error)),
        },
    }
}

/// Reports whether an error has an extended code of SQLite.
pub(super) fn is_extended(error: &rusqlite::Error, code: i32) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == code)
}
