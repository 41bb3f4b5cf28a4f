//! Tests of the files table, on real documents behind the gate.

mod bounds;
mod history;
mod javascript;
mod metadata;
mod peers;
mod residue;
mod rows;
mod scripts;
mod ties;
