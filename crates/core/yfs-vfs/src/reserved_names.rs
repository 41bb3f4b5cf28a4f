//! Names that belong to tools. They are neither mirrored nor reached by the spelling of another
//! name.

use smol_str::SmolStr;

/// Names that are never mirrored, at any depth, in either direction.
const NEVER: [&str; 2] = [".git", ".yfs"];

/// The prefix of the mirror's own temporary files.
pub const TEMPORARY: &str = ".yfs-tmp-";

/// Reports whether a name is excluded from mirroring, in either direction.
pub fn is_reserved(name: &str) -> bool {
    // Scans ask for each name: all that are excluded begin with a dot.
    if name.is_ascii() && !name.starts_with('.') {
        return false;
    }
    let plain = plain_name(name);
    NEVER.contains(&&*plain) || plain.starts_with(TEMPORARY)
}

/// Returns a name as the most lenient host reads it: without case, trailing dots and spaces,
/// invisible characters, and the part after a colon.
pub fn plain_name(name: &str) -> SmolStr {
    let is_visible = |char: &char| {
        !matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            && !matches!(char, '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let name = name.split(':').next().unwrap_or(name);
    let name: String = name.chars().filter(is_visible).flat_map(char::to_lowercase).collect();
    name.trim_end_matches(['.', ' ']).into()
}
