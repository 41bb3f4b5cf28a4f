//! A name that was read is read again as itself, and its parts are all of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yfs_engine::name::{NodeName, split_extension};

fuzz_target!(|text: String| {
    let (stem, extension) = split_extension(&text);
    assert_eq!(format!("{stem}{extension}"), text);
    if let Ok(name) = NodeName::new(&text) {
        assert_eq!(NodeName::new(name.as_str()).as_ref(), Ok(&name));
    }
});
