//! Damage of a store's file.

use std::{
    io::{self, Write},
    path::Path,
};

/// Flips a bit of each occurrence of `what` in the file of a closed store.
pub(crate) fn damage(file: &Path, what: &[u8]) {
    let mut bytes = std::fs::read(file).expect("a file");
    let wal = file.with_extension("db-wal");
    let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(what)).collect();
    assert!(!places.is_empty() && !wal.exists(), "closing left everything in one file");
    for place in places {
        bytes[place] ^= 1;
    }
    let mut file = io::BufWriter::new(std::fs::File::create(file).expect("a file"));
    file.write_all(&bytes).expect("written");
    file.flush().expect("written");
}
