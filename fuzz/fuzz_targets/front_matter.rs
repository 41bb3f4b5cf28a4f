//! YAML to values and back into the text that it came from.

#![no_main]

use libfuzzer_sys::fuzz_target;
use yfs_markdown::front_matter::{patch, read, same_entries, split, write};

fuzz_target!(|text: &str| {
    let file = split(text);
    let front = file.front.map(|it| [it.open, it.yaml, it.close].concat()).unwrap_or_default();
    assert_eq!(front + file.body, text);
    if let Ok(mapping) = read(text) {
        assert_eq!(patch(text, &mapping.entries), text);
        let again = read(&write(&mapping.entries)).expect("what is written can be read");
        assert!(same_entries(&again.entries, &mapping.entries));
    }
});
