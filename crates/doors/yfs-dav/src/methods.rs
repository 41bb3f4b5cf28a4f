//! The methods. Each file has those of one purpose.

mod get;
mod hold;
mod lock;
mod properties;
mod propfind;
mod proppatch;
mod put;
mod save_by_rename;
mod structure;
mod transfer;
