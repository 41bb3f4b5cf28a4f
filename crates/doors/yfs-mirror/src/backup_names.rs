//! The names under which editors put a file out of the way, or write its next content.
//!
//! An editor saves in several steps: it renames `plan.md` to `plan.md~` and creates `plan.md`, or
//! it writes `plan.md.tmp`, renames `plan.md` to `plan.md.old` and `plan.md.tmp` to `plan.md`. Such
//! names are made from the file's own name and a word for their purpose.

use std::ffi::OsStr;

/// The words that mark a name as that of a backup or a temporary file.
const MARKS: &[&str] = &[
    "backup", "bak", "bck", "bkp", "old", "orig", "prev", "sav", "save", "swap", "swp", "temp",
    "tmp",
];

/// Reports whether an editor that saves a file may give it the name `new`, or write its next
/// content under that name. Directories are not compared.
///
/// It is so if `new` is the file's name, or the name without its extension, with a mark before or
/// after it; or any name that ends in `.tmp`.
pub(crate) fn is_made_from(name: &OsStr, new: &OsStr) -> bool {
    let (name, new) = (name.to_string_lossy(), new.to_string_lossy());
    if name == new || name.is_empty() {
        return false;
    }
    let stem = name.rsplit_once('.').map_or("", |(stem, _)| stem);
    let is_temporary = new.len() > 4 && new.to_ascii_lowercase().ends_with(".tmp");
    is_temporary || [&*name, stem].iter().any(|part| has_marks_around(part, &new))
}

/// Reports whether a name has another one in it, and a mark beside that.
fn has_marks_around(part: &str, new: &str) -> bool {
    if part.is_empty() {
        return false;
    }
    new.match_indices(part).any(|(at, _)| {
        let (before, after) = (&new[..at], &new[at + part.len()..]);
        let is_start = !before.ends_with(char::is_alphanumeric);
        is_start && (has_mark(before) || has_mark_after(after))
    })
}

/// The length of the random word that programs join to a name, as in `plan.mdX1y2z3.bck`.
const RANDOM_LEN: usize = 6;

/// Reports whether what follows a name has a mark in it. A word that is joined to the name is part
/// of it: `folder` is no backup of `f`, and neither is `foo.bak`.
fn has_mark_after(after: &str) -> bool {
    let rest = after.trim_start_matches(char::is_alphanumeric);
    [0, RANDOM_LEN].contains(&(after.len() - rest.len())) && has_mark(rest)
}

fn has_mark(text: &str) -> bool {
    let mut words = text.split(|char: char| !char.is_alphanumeric());
    let is_mark = |word: &str| {
        let word = word.trim_end_matches(|char: char| char.is_ascii_digit()).to_ascii_lowercase();
        MARKS.contains(&&*word)
    };
    text.contains(['~', '#']) || words.any(is_mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_editors_are_made_from_the_name_of_the_file() {
        let yes = "f~ f.~3~ f.bak f.bak2 f.BAK f.orig f.old f_old f-tmp f.tmp.1234 .f.swp #f# .#f \
                   f___jb_old___ f___jb_tmp___ fX1y2z3.bck bak_f old-f 5A3B0C00.tmp .f.kak.swp";
        for new in yes.split_whitespace() {
            assert!(is_made_from(OsStr::new("f"), OsStr::new(new)), "{new}");
        }
        for new in "plan.bak plan.md.old plan-old.md plan~ plan.old.md .plan.md.swp".split(' ') {
            assert!(is_made_from(OsStr::new("plan.md"), OsStr::new(new)), "{new}");
        }
    }

    #[test]
    fn names_that_people_choose_are_not_made_from_it() {
        let no = "g fold f2 f.txt f.1 foo.bak older-f2 f-2025 folder.txt";
        for new in no.split_whitespace() {
            assert!(!is_made_from(OsStr::new("f"), OsStr::new(new)), "{new}");
        }
        for new in
            "plan.txt plan-2025.md plans.md golden.md old.md plan.md.gz my-plan.md".split(' ')
        {
            assert!(!is_made_from(OsStr::new("plan.md"), OsStr::new(new)), "{new}");
        }
        assert!(!is_made_from(OsStr::new(".env"), OsStr::new("x~")));
    }
}
