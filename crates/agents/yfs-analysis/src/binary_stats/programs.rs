//! The facts of programs: ELF and WebAssembly.

use super::{HeaderFacts, clean_text, set, u16_be, u16_le};

/// Reads the header of an ELF file.
pub(super) fn describe_elf(head: &[u8], facts: &mut HeaderFacts) -> Option<()> {
    let bits = match head.get(4)? {
        1 => 32,
        2 => 64,
        _ => return None,
    };
    let is_little = *head.get(5)? == 1;
    let number = |at| if is_little { u16_le(head, at) } else { u16_be(head, at) };
    let kind = match number(16)? {
        1 => "relocatable",
        2 => "executable",
        3 => "shared object",
        4 => "core",
        _ => "unknown",
    };
    let machine = match number(18)? {
        3 => "x86",
        8 => "MIPS",
        20 => "PowerPC",
        40 => "ARM",
        62 => "x86-64",
        183 => "AArch64",
        243 => "RISC-V",
        _ => "unknown",
    };
    set(facts, "bits", bits);
    set(facts, "byte_order", if is_little { "little endian" } else { "big endian" });
    set(facts, "type", kind);
    set(facts, "machine", machine);
    set(facts, "sections", number(if bits == 64 { 60 } else { 48 })?);
    Some(())
}

/// The names of the sections of a module, by their number.
const SECTIONS: [&str; 14] = [
    "custom",
    "type",
    "import",
    "function",
    "table",
    "memory",
    "global",
    "export",
    "start",
    "element",
    "code",
    "data",
    "data_count",
    "tag",
];

/// Reads the sections of a WebAssembly module as it passes.
#[derive(Debug, Default)]
pub(super) struct WasmScanner {
    /// The bytes of the header, or of the header of a section.
    header: Vec<u8>,
    is_begun: bool,
    n_to_skip: u64,
    version: u32,
    n_by_section: [u64; SECTIONS.len()],
    is_damaged: bool,
}

impl WasmScanner {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while !rest.is_empty() && !self.is_damaged {
            let n_skipped = self.n_to_skip.min(rest.len() as u64);
            self.n_to_skip -= n_skipped;
            // It is at most the length of a slice.
            rest = &rest[n_skipped as usize..];
            let Some((byte, after)) = rest.split_first() else { return };
            self.header.push(*byte);
            rest = after;
            if !self.is_begun {
                if let [_, _, _, _, version @ ..] = &self.header[..]
                    && let Ok(version) = version.try_into()
                {
                    self.version = u32::from_le_bytes(version);
                    self.is_begun = true;
                    self.header.clear();
                }
            } else if let [section, len @ ..] = &self.header[..]
                && !len.is_empty()
            {
                self.read_section(*section);
            }
        }
    }

    /// Reads the length of a section, if all of it has arrived.
    fn read_section(&mut self, section: u8) {
        let len = &self.header[1..];
        let is_complete = len.last().is_some_and(|byte| byte & 0x80 == 0);
        if !is_complete {
            self.is_damaged = len.len() > 5;
            return;
        }
        let add = |(len, shift): (u64, u32), byte: &u8| {
            (len | u64::from(byte & 0x7F) << shift, shift + 7)
        };
        self.n_to_skip = len.iter().fold((0, 0), add).0;
        match self.n_by_section.get_mut(usize::from(section)) {
            Some(count) => *count += 1,
            None => self.is_damaged = true,
        }
        self.header.clear();
    }

    pub(super) fn describe(self, facts: &mut HeaderFacts, notes: &mut Vec<String>) {
        set(facts, "version", self.version);
        let found = SECTIONS.iter().zip(self.n_by_section).filter(|(_, count)| *count > 0);
        let sections: Vec<String> = found
            .map(|(name, count)| match count {
                1 => (*name).to_owned(),
                _ => format!("{name} ({count})"),
            })
            .collect();
        set(facts, "sections", clean_text(sections.join(", ").as_bytes()));
        if self.is_damaged || self.n_to_skip > 0 || !self.header.is_empty() {
            notes.push("the module is damaged or ends early".to_owned());
        }
    }
}
