//! Templates of namespaces, ids of threads, and URLs of external files: an address that is accepted
//! is printed as it was given, and its directory is below that of all threads.

use yfs_threads::{
    ExternalFile, NamespaceStrategy, NamespaceTemplate, ThreadContext, ThreadId, detect_media_type,
};
use yfs_types::path::VPath;

use super::FuzzInput;

/// A template, an id, and the rest.
pub const SEEDS: &[&[u8]] = &[
    b"\x13\x00{agent}/{thread_id}\x05\x00ana/1https://example.com/a?b=c",
    b"\x0f\x00run-{task_id}.d\x07\x00run-1.ds3://bucket/key",
    b"\x04\x00flat\x06\x00shared../../etc/passwd",
    b"\x09\x00thread_id\x03\x00%2ffile:///etc/passwd\x00",
];

/// Runs the case.
pub fn run(bytes: &[u8]) {
    let mut input = FuzzInput(bytes);
    let (template, id) = (input.take_text(), input.take_text());
    let context = ThreadContext::of_thread(id.clone()).with("task_id", input.rest_as_text());
    NamespaceTemplate::parse(&template).ok();
    if let Ok(strategy) = NamespaceStrategy::parse(&template) {
        for address in [strategy.parse_address(&id), strategy.address(&context)] {
            let Ok(address) = address else { continue };
            assert_eq!(strategy.parse_address(&address.to_string()).as_ref(), Ok(&address));
        }
    }
    if let Ok(id) = ThreadId::new(&id) {
        let name = id.directory_name();
        assert_eq!(ThreadId::of_directory_name(&name), Some(id));
        let directory = VPath::parse("/threads").expect("a path").join(&name);
        assert_eq!(directory.file_name(), Some(&*name));
    }
    ExternalFile::at(input.rest_as_text()).check().ok();
    detect_media_type(&id, input.0);
}
