//! Tests of stores, in one program.

mod composite;
mod conformance;
mod copies;
mod damage;
mod encrypted;
mod hostile_directory;
mod index;
mod private;
mod processes;
mod quarantine;
mod read_only;
mod wiped;
