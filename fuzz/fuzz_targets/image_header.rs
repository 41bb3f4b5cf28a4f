//! The size of an image from its header, and the address of an id from the name of a directory.

#![no_main]

use libfuzzer_sys::fuzz_target;
use yfs_threads::{ThreadId, detect_media_type, image_size};

fuzz_target!(|input: (&str, &[u8])| {
    let (text, head) = input;
    image_size(head);
    detect_media_type(text, head);
    if let Ok(id) = ThreadId::new(text) {
        assert_eq!(ThreadId::of_directory_name(&id.directory_name()), Some(id));
    }
    if let Some(id) = ThreadId::of_directory_name(text) {
        assert_eq!(id.directory_name(), text);
    }
});
