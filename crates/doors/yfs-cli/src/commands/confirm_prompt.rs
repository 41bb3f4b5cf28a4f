//! The questions of `rm -i`, `mv -i` and `cp -i`, and names in their messages.

use std::io::{self, BufRead, Write};

use crate::{format_text::EscapedText, prelude::*};

/// Asks a question on standard error, and reads the answer from standard input. An answer that
/// begins with `y` or `Y` is yes; the end of the input is no.
pub(crate) fn confirm(context: &mut CommandContext, question: &str) -> Result<bool> {
    context.out.flush()?;
    let mut stderr = io::stderr().lock();
    // A closed standard error does not change the question: the answer decides.
    write!(stderr, "yfs: {}? ", EscapedText::new(question)).and_then(|()| stderr.flush()).ok();
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.starts_with(['y', 'Y']))
}

/// Returns a path as messages name it: `'src/a.c'`.
pub(crate) fn quoted(path: &TypedPath) -> String {
    format!("'{}'", path.typed)
}
