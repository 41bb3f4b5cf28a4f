//! The size of an image from its header: nothing is decoded.

use std::panic::catch_unwind;

/// The bytes of a header that are read at first, and those that are read if these do not suffice: a
/// JPEG may have a preview before its size.
pub(crate) const HEADER_LENS: [u64; 2] = [64 << 10, 2 << 20];

/// Returns the width and height that the header of an image states, in pixels: of PNG, JPEG, GIF,
/// WebP, AVIF, BMP, SVG and others.
///
/// `head` is the beginning of the file. `None` if it has no size, or is no image.
pub fn image_size(head: &[u8]) -> Option<(u32, u32)> {
    // The parser reads bytes from outside, and has no reason to panic that is known.
    let size = catch_unwind(|| imagesize::blob_size(head)).ok()?;
    match size {
        Ok(size) => Some((u32::try_from(size.width).ok()?, u32::try_from(size.height).ok()?)),
        Err(_) => svg_size(head),
    }
}

/// Returns the size of an SVG image: its width and height, else those of its view box.
fn svg_size(head: &[u8]) -> Option<(u32, u32)> {
    let head = &head[..head.len().min(HEADER_LENS[0] as usize)];
    let text = String::from_utf8_lossy(head);
    let begin = find_svg(&text)?;
    let tag = &text[begin..begin + text[begin..].find('>')?];
    let side = |name| attribute(tag, name).and_then(pixels);
    let view = attribute(tag, "viewBox").map(|view| {
        let numbers = view.split([' ', ',', '\t', '\n']).filter(|part| !part.is_empty());
        numbers.map(|number| number.parse::<f64>().ok()).collect::<Vec<_>>()
    });
    let of_view = |at: usize| to_pixels(*view.as_ref()?.get(at)?.as_ref()?);
    match (side("width"), side("height")) {
        (Some(width), Some(height)) => Some((width, height)),
        // One side scales with the other.
        (width, height) => {
            let (view_width, view_height) = (of_view(2)?, of_view(3)?);
            let scaled = |known: u32, from: u32, to: u32| {
                to_pixels(f64::from(known) * f64::from(to) / f64::from(from.max(1)))
            };
            match (width, height) {
                (Some(width), None) => Some((width, scaled(width, view_width, view_height)?)),
                (None, Some(height)) => Some((scaled(height, view_height, view_width)?, height)),
                _ => Some((view_width, view_height)),
            }
        }
    }
}

/// Finds the element `svg` if it is the first one: before it are only declarations and comments.
fn find_svg(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text[at..].find('<')?;
        let rest = &text[at..];
        let end = if rest.starts_with("<!--") {
            "-->"
        } else if rest.starts_with("<?") || rest.starts_with("<!") {
            ">"
        } else {
            let name = rest.strip_prefix("<svg").or_else(|| rest.strip_prefix("<svg:svg"))?;
            return name.starts_with([' ', '\t', '\r', '\n', '>', '/']).then_some(at);
        };
        at += rest.find(end)? + end.len();
    }
}

/// Returns the value of an attribute of a tag.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = tag;
    loop {
        let at = rest.find(name)?;
        let is_begin = rest[..at].ends_with([' ', '\t', '\r', '\n']);
        let after = rest[at + name.len()..].trim_start();
        rest = &rest[at + name.len()..];
        let Some(value) = after.strip_prefix('=').filter(|_| is_begin) else { continue };
        let value = value.trim_start();
        let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        return value[1..].split(quote).next();
    }
}

/// Reads a length in pixels; other units depend on the device.
fn pixels(length: &str) -> Option<u32> {
    let length = length.trim();
    let number = length.strip_suffix("px").unwrap_or(length);
    to_pixels(number.trim().parse().ok()?)
}

fn to_pixels(number: f64) -> Option<u32> {
    let is_size = number.is_finite() && (0.0..=f64::from(u32::MAX)).contains(&number);
    is_size.then(|| number.round() as u32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn svg(attributes: &str) -> Option<(u32, u32)> {
        image_size(
            format!("<?xml version='1.0'?>\n<!-- <svg width='1'> -->\n<svg {attributes}>")
                .as_bytes(),
        )
    }

    #[test]
    fn svg_states_its_size_or_its_view_box() {
        assert_eq!(svg("width=\"100\" height='50px'"), Some((100, 50)));
        assert_eq!(svg("viewBox='0 0 24 12'"), Some((24, 12)));
        assert_eq!(svg("viewBox='0,0,24,12' width='48'"), Some((48, 24)));
        assert_eq!(svg("viewBox='0 0 24 12' height='24'"), Some((48, 24)));
        assert_eq!(svg("width='100%' height='100%' viewBox='0 0 3 4'"), Some((3, 4)));
        assert_eq!(svg("stroke-width='3' height='4'"), None);
        assert_eq!(image_size(b"<html><svg width='1' height='1'>"), None);
        assert_eq!(image_size(b"<svgx width='1' height='1'>"), None);
        assert_eq!(image_size(b""), None);
    }

    #[test]
    fn headers_of_formats_state_sizes() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x07\x80\0\0\x04\x38\x08\x02\0\0\0";
        assert_eq!(image_size(png), Some((1920, 1080)));
        let gif = b"GIF89a\x0a\0\x14\0\0\0\0;";
        assert_eq!(image_size(gif), Some((10, 20)));
        let mut bmp = b"BM".to_vec();
        bmp.extend([0; 12]);
        bmp.extend([40, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0]);
        bmp.extend([0; 32]);
        assert_eq!(image_size(&bmp), Some((7, 9)));
        let jpeg = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\
            \xff\xc0\0\x11\x08\0\x20\0\x30\x03";
        assert_eq!(image_size(jpeg), Some((48, 32)));
        let mut webp = b"RIFF\x24\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0".to_vec();
        webp.extend([0x3f, 0x06, 0, 0xb0, 0x04, 0]);
        webp.extend([0; 8]);
        assert_eq!(image_size(&webp), Some((1600, 1201)));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..400),
            format in 0..8_usize,
        ) {
            let magics: [&[u8]; 8] = [b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"BM", b"\xff\xd8\xff",
                b"RIFF\x24\0\0\0WEBP", b"\0\0\0\x1cftypavif", b"<svg viewBox='"];
            image_size(&[magics[format], &bytes].concat());
        }
    }
}
