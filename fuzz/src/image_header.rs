//! The size of an image from its header, and the address of an id from the name of a directory.

use yfs_threads::{ThreadId, detect_media_type, image_size};

use super::FuzzInput;

/// A name, and the first bytes of a file.
pub const SEEDS: &[&[u8]] = &[
    b"\x05\x00a.png\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\xff\xff\xff\xff\x00\x00\x00\x01\x08\x06",
    b"\x05\x00a.jpg\xff\xd8\xff\xe0\x00\x04JF\xff\xc0\x00\x0b\x08\xff\xff\xff\xff\x01",
    b"\x05\x00a.gifGIF89a\xff\xff\x01\x00",
    b"\x06\x00a.webpRIFF\x1a\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\
      \x01\x00\x00",
    b"\x05\x00a.bmpBM\x4e\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\x60\xea\
      \x00\x00\
      \x60\xea\x00\x00\x01\x00\x18\x00",
    b"\x06\x00a.avif\x00\x00\x00\x1cftypavif\x00\x00\x00\x00mif1\x00\x00\x00\x14ispe\x00\x00\
      \x00\x00\
      \x00\x00\x00\x10\x00\x00\x00\x08",
    b"\x05\x00a.svg<svg xmlns='http://www.w3.org/2000/svg' width='1e9px' viewBox='0 0 -1 NaN'/>",
    b"\x07\x00%2Ea%25",
];

/// Runs the case.
pub fn run(bytes: &[u8]) {
    let mut input = FuzzInput(bytes);
    let text = input.take_text();
    image_size(input.0);
    detect_media_type(&text, input.0);
    if let Ok(id) = ThreadId::new(&text) {
        assert_eq!(ThreadId::of_directory_name(&id.directory_name()), Some(id));
    }
    if let Some(id) = ThreadId::of_directory_name(&text) {
        assert_eq!(id.directory_name(), text);
    }
}
