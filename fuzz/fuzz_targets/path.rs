//! A path that was read is read again as itself, and resolving stays inside the tree.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yfs_engine::path::VPath;

fuzz_target!(|texts: (String, String)| {
    let Ok(path) = VPath::parse(&texts.0) else { return };
    assert_eq!(VPath::parse(path.as_str()).as_ref(), Ok(&path));
    if let Ok(resolved) = path.resolve(&texts.1) {
        assert!(resolved.as_str().starts_with('/'));
        assert!(!resolved.components().any(|name| name == "." || name == ".." || name.is_empty()));
    }
});
