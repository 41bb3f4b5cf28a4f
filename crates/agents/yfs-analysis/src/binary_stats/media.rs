//! The facts of images, sounds and PDF.

use memchr::memmem;

use super::{HeaderFacts, clean_text, set, u16_le, u32_le};

/// Reads the size of an image, and a little more of a PNG or GIF.
pub(super) fn describe_image(media_type: &str, head: &[u8], facts: &mut HeaderFacts) -> Option<()> {
    let size = imagesize::blob_size(head).ok()?;
    set(facts, "width", size.width);
    set(facts, "height", size.height);
    match media_type {
        "image/png" => {
            let color = match head.get(25)? {
                0 => "grayscale",
                2 => "RGB",
                3 => "palette",
                4 => "grayscale with alpha",
                6 => "RGB with alpha",
                _ => "unknown",
            };
            set(facts, "bit_depth", head.get(24)?);
            set(facts, "color_type", color);
            set(facts, "animated", memmem::find(head, b"acTL").is_some());
        }
        "image/gif" => set(facts, "version", clean_text(head.get(3..6)?)),
        _ => (),
    }
    Some(())
}

/// Reads the header of a sound.
pub(super) fn describe_audio(
    media_type: &str,
    head: &[u8],
    size: u64,
    facts: &mut HeaderFacts,
) -> Option<()> {
    match media_type {
        "audio/x-wav" | "audio/wav" => describe_wav(head, facts),
        "audio/x-flac" | "audio/flac" => {
            let info = head.get(8..42)?;
            let packed = u64::from_be_bytes(info.get(10..18)?.try_into().ok()?);
            let (rate, n_samples) = (packed >> 44, packed & 0xF_FFFF_FFFF);
            set(facts, "sample_rate", rate);
            set(facts, "channels", (packed >> 41 & 7) + 1);
            set(facts, "bits_per_sample", (packed >> 36 & 31) + 1);
            set_duration(facts, n_samples, rate);
            Some(())
        }
        "audio/mpeg" => describe_mp3(head, size, facts),
        "audio/ogg" => {
            let vorbis = memmem::find(head, b"\x01vorbis")?;
            set(facts, "codec", "Vorbis");
            set(facts, "channels", head.get(vorbis + 11)?);
            set(facts, "sample_rate", u32_le(head, vorbis + 12)?);
            Some(())
        }
        _ => Some(()),
    }
}

fn describe_wav(head: &[u8], facts: &mut HeaderFacts) -> Option<()> {
    let mut at = 12;
    let mut byte_rate = 0;
    loop {
        let (name, len) = (head.get(at..at + 4)?, u32_le(head, at + 4)?);
        match name {
            b"fmt " => {
                set(facts, "channels", u16_le(head, at + 10)?);
                set(facts, "sample_rate", u32_le(head, at + 12)?);
                byte_rate = u32_le(head, at + 16)?;
                set(facts, "bits_per_sample", u16_le(head, at + 22)?);
            }
            b"data" => {
                set_duration(facts, u64::from(len), u64::from(byte_rate));
                return Some(());
            }
            _ => (),
        }
        at = at.checked_add(8)?.checked_add(len as usize)?.checked_add(len as usize % 2)?;
    }
}

fn describe_mp3(head: &[u8], size: u64, facts: &mut HeaderFacts) -> Option<()> {
    const BIT_RATES: [u64; 15] = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
    let mut at = 0;
    if head.starts_with(b"ID3") {
        set(facts, "tag", format!("ID3v2.{}", head.get(3)?));
        let len = head.get(6..10)?.iter().fold(0, |len, byte| len << 7 | usize::from(byte & 0x7F));
        at = 10 + len;
    }
    // A tag with a picture may be longer than what was kept.
    let Some([0xFF, second, third, fourth]) = head.get(at..at + 4) else { return Some(()) };
    // MPEG 1, layer III; others state the rates by other tables.
    if second & 0xFE == 0xFA {
        let bit_rate = *BIT_RATES.get(usize::from(third >> 4))?;
        let rate = [44_100, 48_000, 32_000].get(usize::from(third >> 2 & 3))?;
        set(facts, "bit_rate", bit_rate * 1_000);
        set(facts, "sample_rate", rate);
        set(facts, "channels", if fourth >> 6 == 3 { 1 } else { 2 });
        set_duration(facts, size.saturating_sub(at as u64) * 8, bit_rate * 1_000);
    }
    Some(())
}

fn set_duration(facts: &mut HeaderFacts, n_units: u64, per_second: u64) {
    if per_second > 0 {
        set(facts, "duration_seconds", format!("{:.2}", n_units as f64 / per_second as f64));
    }
}

/// Counts the pages of a PDF as it passes.
///
/// Pages in compressed object streams are not seen; the count is then left out.
#[derive(Debug, Default)]
pub(super) struct PdfScanner {
    /// The end of the last chunk, in which a word may begin.
    carry: Vec<u8>,
    n_pages: u64,
    is_encrypted: bool,
    title: Option<String>,
}

impl PdfScanner {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        /// More than the longest word, and than the title that follows one.
        const OVERLAP: usize = 256;
        let mut window = std::mem::take(&mut self.carry);
        let n_old = window.len();
        window.extend_from_slice(chunk);
        // A word that ends in the carry was counted with the chunk before.
        let is_new = |at: usize, len: usize| at + len > n_old;
        for at in memmem::find_iter(&window, b"/Type") {
            let rest = window[at + 5..].trim_ascii_start();
            let len = window.len() - at - rest.len();
            let is_page = rest.starts_with(b"/Page")
                && rest.get(5).is_some_and(|byte| !byte.is_ascii_alphanumeric());
            self.n_pages += u64::from(is_page && is_new(at, len + 6));
        }
        self.is_encrypted |= memmem::find(&window, b"/Encrypt").is_some();
        if self.title.is_none()
            && let Some(at) = memmem::find(&window, b"/Title")
        {
            let rest = window[at + 6..].trim_ascii_start();
            self.title = rest
                .strip_prefix(b"(")
                .and_then(|text| text.split(|byte| *byte == b')').next())
                .map(clean_text)
                .filter(|title| !title.is_empty());
        }
        window.drain(..window.len().saturating_sub(OVERLAP));
        self.carry = window;
    }

    pub(super) fn describe(self, head: &[u8], facts: &mut HeaderFacts) {
        if let Some(version) = head.get(5..8) {
            set(facts, "version", clean_text(version));
        }
        if self.n_pages > 0 {
            set(facts, "pages", self.n_pages);
        }
        set(facts, "encrypted", self.is_encrypted);
        if let Some(title) = self.title {
            set(facts, "title", title);
        }
        let linearized = head.get(..1_024.min(head.len()));
        let is_linearized =
            linearized.is_some_and(|head| memmem::find(head, b"/Linearized").is_some());
        set(facts, "linearized", is_linearized);
    }
}
