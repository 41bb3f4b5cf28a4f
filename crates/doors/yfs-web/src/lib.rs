//! The web application that `yfs serve` has at `/`: its files, embedded in the program.
//!
//! The sources are in `app`; the build script builds them with npm and Vite if Node.js is there.
//!
//! ```
//! // Without Node.js at build time there is none.
//! if let Some(page) = yfs_web::file("index.html") {
//!     assert_eq!(page.content_type, "text/html; charset=utf-8");
//! }
//! ```

use std::{
    borrow::Cow,
    io::{Read, Write},
    sync::OnceLock,
};

use brotli_decompressor::Decompressor;
use flate2::{Compression, write::GzEncoder};

/// The embedded files by their names, with their entity tags.
const FILES: &[(&str, &str, EmbeddedContent)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The gzip forms of the files that were asked for in it, by their places in [`FILES`].
static GZIP_FORMS: [OnceLock<Vec<u8>>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];

/// The content of a file of the application, as the program holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddedContent {
    /// As it is.
    Plain(&'static [u8]),
    /// Compressed by Brotli (RFC 7932), which takes a fifth of the space.
    Brotli(&'static [u8]),
}

/// A file of the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebFile {
    /// The media type.
    pub content_type: &'static str,
    /// The content.
    pub content: EmbeddedContent,
    /// The entity tag of the content, which is weak: it counts for the compressed forms as well.
    pub etag: &'static str,
    /// Whether the name changes with the content, so that a browser may keep the file for ever.
    pub is_immutable: bool,
    gzip: &'static OnceLock<Vec<u8>>,
}

/// Returns a file of the application by its path below `/`.
pub fn file(path: &str) -> Option<WebFile> {
    let at = FILES.binary_search_by(|(name, ..)| (*name).cmp(path)).ok()?;
    let (_, etag, content) = FILES[at];
    let (content_type, is_immutable) = (content_type(path), has_hash(path));
    Some(WebFile { content_type, content, etag, is_immutable, gzip: &GZIP_FORMS[at] })
}

impl WebFile {
    /// Returns the content compressed by gzip (RFC 1952), if it can be compressed. Browsers accept
    /// Brotli over TLS and from this machine only, gzip everywhere. The program does not hold this
    /// form: the first call for a file makes it, in some milliseconds, and keeps it.
    pub fn gzip(&self) -> Option<&'static [u8]> {
        let EmbeddedContent::Brotli(_) = self.content else { return None };
        let gzip = self.gzip.get_or_init(|| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            let written = encoder.write_all(&self.content.plain());
            written.and_then(|()| encoder.finish()).expect("memory takes every write")
        });
        Some(gzip)
    }
}

impl EmbeddedContent {
    /// Returns the content itself, decompressed if need be.
    pub fn plain(self) -> Cow<'static, [u8]> {
        match self {
            Self::Plain(content) => Cow::Borrowed(content),
            Self::Brotli(brotli) => {
                let mut content = Vec::new();
                let read = Decompressor::new(brotli, 4096).read_to_end(&mut content);
                read.expect("the build script wrote it");
                Cow::Owned(content)
            }
        }
    }
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("webmanifest") => "application/manifest+json",
        Some("woff2") => "font/woff2",
        Some("png") => "image/png",
        _ => "application/octet-stream",
    }
}

/// Vite appends eight characters of a hash to the names of what it builds.
fn has_hash(path: &str) -> bool {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    stem.rsplit_once('-').is_some_and(|(_, hash)| hash.len() == 8)
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn a_build_without_a_change_builds_nothing_since_the_build_script_declares_inputs_only() {
        let out = Path::new(env!("OUT_DIR"));
        let build = out.parent().expect("Cargo makes it in a directory of the build script");
        let printed = fs::read_to_string(build.join("output")).expect("Cargo keeps what it said");
        let declared: Vec<_> = printed
            .lines()
            .filter_map(|line| line.split_once("rerun-if-changed=").map(|(_, path)| path))
            .collect();
        assert!(declared.contains(&"app/src"), "{declared:?}");
        for path in declared {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
            assert!(!path.ancestors().any(|above| above.ends_with(build)), "{path:?} is an output");
            assert!(path.exists(), "{path:?} is missing, which Cargo takes for a change");
        }
    }

    #[test]
    fn names_with_a_hash_are_kept_for_ever() {
        assert!(has_hash("assets/index-B1x_9aQz.js"));
        assert!(!has_hash("assets/icon.svg"));
        assert!(!has_hash("index.html"));
    }

    #[test]
    fn files_are_found_by_their_names() {
        assert!(FILES.is_sorted_by_key(|(name, ..)| name));
        assert_eq!(file("none"), None);
        for (name, etag, content) in FILES {
            let found = file(name).expect("it is embedded");
            assert_eq!((found.content, found.etag), (*content, *etag));
            assert_ne!(found.content_type, "application/octet-stream", "{name}");
        }
    }

    #[test]
    fn compressed_files_are_shorter_and_have_the_content_that_the_tag_is_of() {
        for (name, etag, content) in FILES {
            let plain = content.plain();
            if let EmbeddedContent::Brotli(brotli) = content {
                assert!(brotli.len() < plain.len(), "{name}");
                let gzip = file(name).and_then(|file| file.gzip()).expect("it can be compressed");
                let mut unpacked = Vec::new();
                GzDecoder::new(gzip).read_to_end(&mut unpacked).expect("gzip");
                assert!(unpacked == *plain, "{name}");
            }
            // As the build script makes it.
            let hash = plain.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
            assert_eq!(*etag, format!("W/\"{hash:016x}\""), "{name}");
        }
    }
}
