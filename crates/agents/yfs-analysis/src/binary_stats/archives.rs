//! The facts of archives: zip, tar, gzip.

use memchr::memmem;

use super::{HeaderFacts, clean_text, set, u16_le, u32_le, u64_le};

/// The most names of entries that are listed.
const MAX_NAMES: usize = 20;

/// Reads the directory at the end of a zip file.
pub(super) fn describe_zip(tail: &[u8], size: u64, facts: &mut HeaderFacts) -> Option<()> {
    let end = memmem::rfind(tail, b"PK\x05\x06")?;
    let mut n_entries = u64::from(u16_le(tail, end + 10)?);
    let mut directory_len = u64::from(u32_le(tail, end + 12)?);
    let comment_len = usize::from(u16_le(tail, end + 20)?);
    // The end of a larger archive has the same numbers in 64 bits.
    if n_entries == 0xFFFF || directory_len == 0xFFFF_FFFF {
        let large = memmem::rfind(&tail[..end], b"PK\x06\x06")?;
        n_entries = u64_le(tail, large + 32)?;
        directory_len = u64_le(tail, large + 40)?;
    }
    set(facts, "entries", n_entries);
    if comment_len > 0 {
        set(facts, "comment", clean_text(tail.get(end + 22..)?));
    }
    let start = usize::try_from(directory_len).ok().and_then(|len| end.checked_sub(len));
    // A directory that is longer than the tail is not read.
    let Some(mut at) = start.filter(|start| tail[*start..].starts_with(b"PK\x01\x02")) else {
        return Some(());
    };
    let (mut names, mut n_read, mut uncompressed, mut is_encrypted) = (Vec::new(), 0, 0_u64, false);
    while tail.get(at..at + 4) == Some(b"PK\x01\x02") {
        is_encrypted |= u16_le(tail, at + 8)? & 1 == 1;
        uncompressed = uncompressed.saturating_add(u64::from(u32_le(tail, at + 24)?));
        let name_len = usize::from(u16_le(tail, at + 28)?);
        let extra_len = usize::from(u16_le(tail, at + 30)?) + usize::from(u16_le(tail, at + 32)?);
        if names.len() < MAX_NAMES {
            names.push(clean_text(tail.get(at + 46..at + 46 + name_len)?));
        }
        n_read += 1;
        at += 46 + name_len + extra_len;
    }
    set(facts, "names", names.join(", "));
    set(facts, "encrypted", is_encrypted);
    if n_read == n_entries {
        set(facts, "uncompressed_size", uncompressed);
        if size > 0 {
            set(facts, "compression_ratio", format!("{:.1}", uncompressed as f64 / size as f64));
        }
    }
    Some(())
}

/// Reads the header and the last bytes of a gzip file.
pub(super) fn describe_gzip(head: &[u8], tail: &[u8], facts: &mut HeaderFacts) -> Option<()> {
    let flags = *head.get(3)?;
    let modified = u32_le(head, 4)?;
    if modified > 0 {
        set(facts, "modified", modified);
    }
    let mut at = 10;
    if flags & 4 != 0 {
        at += 2 + usize::from(u16_le(head, at)?);
    }
    if flags & 8 != 0 {
        set(facts, "name", clean_text(head.get(at..)?));
    }
    // Of the last member, modulo 4 GiB.
    set(facts, "uncompressed_size", u32_le(tail, tail.len().checked_sub(4)?)?);
    Some(())
}

/// Reads the headers of a tar file as it passes.
#[derive(Debug, Default)]
pub(super) struct TarScanner {
    header: Vec<u8>,
    /// The bytes of content and padding before the next header.
    n_to_skip: u64,
    n_files: u64,
    n_directories: u64,
    n_others: u64,
    n_bytes: u64,
    names: Vec<String>,
    is_ended: bool,
    is_damaged: bool,
}

impl TarScanner {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        const BLOCK_LEN: usize = 512;
        let mut rest = chunk;
        while !rest.is_empty() && !self.is_ended {
            let n_skipped = self.n_to_skip.min(rest.len() as u64);
            self.n_to_skip -= n_skipped;
            // It is at most the length of a slice.
            rest = &rest[n_skipped as usize..];
            let n_taken = (BLOCK_LEN - self.header.len()).min(rest.len());
            self.header.extend_from_slice(&rest[..n_taken]);
            rest = &rest[n_taken..];
            if self.header.len() == BLOCK_LEN {
                self.read_header();
                self.header.clear();
            }
        }
    }

    fn read_header(&mut self) {
        let header = &self.header;
        if header.iter().all(|byte| *byte == 0) {
            self.is_ended = true;
            return;
        }
        let sum: u32 = header
            .iter()
            .enumerate()
            .map(|(at, byte)| u32::from(if (148..156).contains(&at) { b' ' } else { *byte }))
            .sum();
        let stated = octal(&header[148..156]);
        let (Some(size), true) = (octal(&header[124..136]), stated == Some(u64::from(sum))) else {
            self.is_ended = true;
            self.is_damaged = true;
            return;
        };
        match header[156] {
            b'0' | 0 => {
                self.n_files += 1;
                self.n_bytes = self.n_bytes.saturating_add(size);
            }
            b'5' => self.n_directories += 1,
            // Headers of further attributes belong to the entry that follows.
            b'x' | b'g' | b'L' | b'K' => (),
            _ => self.n_others += 1,
        }
        if !matches!(header[156], b'x' | b'g' | b'L' | b'K') && self.names.len() < MAX_NAMES {
            self.names.push(clean_text(&header[..100]));
        }
        self.n_to_skip = size.div_ceil(512).saturating_mul(512);
    }

    pub(super) fn describe(self, facts: &mut HeaderFacts, notes: &mut Vec<String>) {
        set(facts, "files", self.n_files);
        set(facts, "directories", self.n_directories);
        set(facts, "others", self.n_others);
        set(facts, "uncompressed_size", self.n_bytes);
        set(facts, "names", self.names.join(", "));
        if self.is_damaged || self.n_to_skip > 0 || !self.header.is_empty() {
            notes.push("the archive is damaged or ends early".to_owned());
        }
    }
}

fn octal(field: &[u8]) -> Option<u64> {
    if field.first().is_some_and(|byte| byte & 0x80 != 0) {
        let bytes = field.get(field.len().checked_sub(8)?..)?;
        return Some(u64::from_be_bytes(bytes.try_into().ok()?));
    }
    let text = std::str::from_utf8(field).ok()?;
    let digits = text.trim_matches(|char| char == ' ' || char == '\0');
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}
