//! Blame: the author of each current line.
//!
//! The author of a line is the last writer that edited it: that typed in it, deleted within it, or
//! changed a format of it. The shares of all writers are returned as well
//! (`docs/decisions/0099-the-last-writer-of-a-line-is-its-author.md`).

use hashbrown::HashMap;
use smol_str::SmolStr;
use yfs_engine::{
    actor::Actor,
    content::{BlamedText, RunAuthor},
    id::ItemId,
    path::VPath,
    time::Millis,
};
use yfs_vfs::{FsCode, FsError, Op};

use super::versions::numbers_of_texts;
use crate::{
    History, WorkspaceFs,
    core::WorkspaceCore,
    error::Result,
    fs::{ContentLocation, ResolvedFile, fs_error},
};

/// One line of a file and its authors.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlameLine {
    /// Its number, counted from 1.
    pub number: usize,
    /// Its text, without its end.
    pub text: String,
    /// The last writer of the line; `None` if that was not recorded.
    pub actor: Option<Actor>,
    /// When the last run that edited the line began.
    pub at: Option<Millis>,
    /// The version that this run made.
    pub version: Option<u64>,
    /// The shares of all runs: in order of their first character, then those without one.
    pub shares: Vec<BlameShare>,
    /// The parts of the text, in order, without the end of the line.
    pub parts: Vec<BlamePart>,
}

/// A part of a line that one run of edits wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlamePart {
    /// The index of the run's share in the shares of the line; `None` if no run is recorded.
    pub share: Option<usize>,
    /// The number of characters.
    pub n_chars: usize,
}

/// The share of one run of edits in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlameShare {
    /// The author.
    pub actor: Option<Actor>,
    /// When the run began.
    pub at: Option<Millis>,
    /// The label of the run.
    pub label: Option<SmolStr>,
    /// The version that the run made.
    pub version: Option<u64>,
    /// The number of characters of the line from this run: 0 if it only deleted some of the line,
    /// or changed a format. The end of a line counts in an empty line only.
    pub n_chars: usize,
}

impl History<'_> {
    /// Returns the authors of each line of a file.
    ///
    /// # Errors
    ///
    /// Fails with `EPERM` if the file is not a text.
    pub fn blame(&self, path: &VPath) -> Result<Vec<BlameLine>> {
        blame(self.state, &self.resolve_target(path)?, path)
    }
}

impl WorkspaceFs {
    /// Returns the authors of each line of a file.
    ///
    /// # Errors
    ///
    /// Fails as reading the file does; with `EPERM` if the file is not a text; with `EACCES` if it
    /// is outside the scope.
    pub fn blame(&self, path: &VPath) -> Result<Vec<BlameLine>> {
        blame(self.state(), &self.resolve_at(Op::Read, path)?, path)
    }
}

/// Returns the authors of each line of a file, which errors name by `path`.
fn blame(core: &WorkspaceCore, found: &ResolvedFile, path: &VPath) -> Result<Vec<BlameLine>> {
    if found.location != ContentLocation::Text {
        return Err(FsError::new(FsCode::EPERM, Op::Read, path).into());
    }
    let handle = core.documents.acquire(&found.id);
    let (blamed, timeline, numbers) = handle.with(|loaded| {
        loaded.check_readable(&found.id).map_err(|error| fs_error(error, Op::Read, path))?;
        let blamed = loaded.doc.blame();
        let numbers = numbers_of_texts(&loaded.doc, found);
        Ok::<_, FsError>((blamed, loaded.doc.timeline().versions(), numbers))
    })??;
    let mut versions: HashMap<ItemId, u64> = HashMap::new();
    for (number, past) in numbers.into_iter().zip(&timeline) {
        versions.extend(past.runs.iter().map(|run| (*run, number)));
    }
    Ok(divide_pieces(&blamed, &versions))
}

/// Divides pieces and touches among lines.
fn divide_pieces(blamed: &BlamedText, versions: &HashMap<ItemId, u64>) -> Vec<BlameLine> {
    let BlamedText { text, pieces, touches } = blamed;
    let mut lines = Vec::new();
    let (mut start, mut first) = (0, 0);
    let mut touches = touches.iter().peekable();
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let end = start + line.len();
        // The end of a line is no text of it, but all that an empty line has.
        let said = line.trim_end_matches(['\r', '\n']);
        let counted = if said.is_empty() { end } else { start + said.len() };
        while pieces.get(first).is_some_and(|piece| piece.range.end <= start) {
            first += 1;
        }
        let mut shares = LineShares { versions, shares: Vec::new(), parts: Vec::new() };
        let mut done = start;
        for piece in pieces[first..].iter().take_while(|piece| piece.range.start < counted) {
            let part = piece.range.start.max(start)..piece.range.end.min(counted);
            shares.add_part(None, &text[done..part.start.max(done)]);
            shares.add_part(piece.run, &text[part.clone()]);
            done = part.end;
            shares.add(piece.run, piece.author.as_ref(), text[part].chars().count());
        }
        shares.add_part(None, &text[done..counted.max(done)]);
        let is_last = end == text.len() && !line.ends_with('\n');
        while let Some(touch) =
            touches.next_if(|touch| touch.at < end || is_last && touch.at == end)
        {
            shares.add(Some(touch.run), Some(&touch.author), 0);
        }
        lines.push(shares.into_line(number, line.strip_suffix('\n').unwrap_or(line)));
        start = end;
    }
    lines
}

/// The shares of one line, by their runs.
struct LineShares<'a> {
    versions: &'a HashMap<ItemId, u64>,
    shares: Vec<(Option<ItemId>, BlameShare)>,
    /// The run and the number of characters of each part of the text.
    parts: Vec<(Option<ItemId>, usize)>,
}

impl LineShares<'_> {
    fn add(&mut self, run: Option<ItemId>, author: Option<&RunAuthor>, n_chars: usize) {
        if let Some((_, share)) = self.shares.iter_mut().find(|(other, _)| *other == run) {
            share.n_chars += n_chars;
            return;
        }
        let share = BlameShare {
            actor: author.map(|author| author.actor.clone()),
            at: author.map(|author| author.at),
            label: author.and_then(|author| author.label.clone()),
            version: run.and_then(|run| self.versions.get(&run).copied()),
            n_chars,
        };
        self.shares.push((run, share));
    }

    fn add_part(&mut self, run: Option<ItemId>, text: &str) {
        let n_chars = text.trim_end_matches(['\r', '\n']).chars().count();
        match self.parts.last_mut() {
            _ if n_chars == 0 => {}
            Some(last) if last.0 == run => last.1 += n_chars,
            _ => self.parts.push((run, n_chars)),
        }
    }

    fn into_line(self, number: usize, text: &str) -> BlameLine {
        let (shares, parts) = (without_edits_before_the_text(self.shares), self.parts);
        let share_of = |run| shares.iter().position(|(other, _)| run == *other);
        let parts = parts.into_iter();
        let parts = parts.map(|(run, n_chars)| BlamePart { share: share_of(run), n_chars });
        let parts = parts.collect();
        let shares: Vec<BlameShare> = shares.into_iter().map(|(_, share)| share).collect();
        // Versions are in order of what their writers knew, so a wrong clock changes little.
        let last = shares.iter().max_by_key(|share| (share.version, share.at));
        BlameLine {
            number,
            text: text.to_owned(),
            actor: last.and_then(|share| share.actor.clone()),
            at: last.and_then(|share| share.at),
            version: last.and_then(|share| share.version),
            shares,
            parts,
        }
    }
}

/// Removes the edits that left no text and are older than all text of the line: what they edited is
/// gone as well.
fn without_edits_before_the_text(
    mut shares: Vec<(Option<ItemId>, BlameShare)>,
) -> Vec<(Option<ItemId>, BlameShare)> {
    let oldest = shares.iter().filter(|(_, share)| share.n_chars > 0);
    if let Some(oldest) = oldest.map(|(_, share)| (share.version, share.at)).min() {
        shares.retain(|(_, share)| share.n_chars > 0 || (share.version, share.at) > oldest);
    }
    shares
}

impl BlameLine {
    /// Reports whether several actors have a share in the line.
    pub fn is_shared(&self) -> bool {
        let mut shares = self.shares.iter();
        let first = shares.next();
        first.is_some_and(|first| shares.any(|share| share.actor != first.actor))
    }
}
