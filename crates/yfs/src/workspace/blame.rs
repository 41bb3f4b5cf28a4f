//! Blame: the author of each current line.
//!
//! The main author of a line is the one who wrote most of its characters, its end included; of
//! equal ones, the latest. The shares of all authors are returned as well.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use smol_str::SmolStr;
use yfs_engine::{
    actor::Actor,
    content::{BlamePiece, RunAuthor},
    id::ItemId,
    path::VPath,
    time::Millis,
};
use yfs_vfs::{FsCode, FsError, Op};

use super::versions::numbers_of_texts;
use crate::{
    History, WorkspaceFs,
    error::Result,
    fs::{ContentLocation, ResolvedFile, fs_error},
    state::WorkspaceState,
};

/// One line of a file and its authors.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlameLine {
    /// Its number, counted from 1.
    pub number: usize,
    /// Its text, without its end.
    pub text: String,
    /// The main author; `None` if that was not recorded.
    pub actor: Option<Actor>,
    /// When the main author's latest run in the line began.
    pub at: Option<Millis>,
    /// The version that this run made.
    pub version: Option<u64>,
    /// The shares of all runs, in order of their first character.
    pub shares: Vec<BlameShare>,
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
    /// The number of characters of the line from this run, the end of the line included.
    pub n_chars: usize,
}

impl History<'_> {
    /// Returns the authors of each line of a file.
    ///
    /// # Errors
    ///
    /// Fails with `EPERM` if the file is not a text.
    pub fn blame(&self, path: &VPath) -> Result<Vec<BlameLine>> {
        self.state.blame(&self.resolve_target(path)?, path)
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
        self.state().blame(&self.resolve_at(Op::Read, path)?, path)
    }
}

impl WorkspaceState {
    /// Returns the authors of each line of a file, which errors name by `path`.
    fn blame(&self, found: &ResolvedFile, path: &VPath) -> Result<Vec<BlameLine>> {
        if found.location != ContentLocation::Text {
            return Err(FsError::new(FsCode::EPERM, Op::Read, path).into());
        }
        let handle = self.documents.acquire(&found.id);
        let (text, pieces, timeline, numbers) = handle.with(|loaded| {
            loaded.check_readable(&found.id).map_err(|error| fs_error(error, Op::Read, path))?;
            let (text, pieces) = loaded.doc.blame();
            let numbers = numbers_of_texts(&loaded.doc, found);
            Ok::<_, FsError>((text, pieces, loaded.doc.timeline().versions(), numbers))
        })??;
        let mut versions: HashMap<ItemId, u64> = HashMap::new();
        for (number, past) in numbers.into_iter().zip(&timeline) {
            versions.extend(past.runs.iter().map(|run| (*run, number)));
        }
        Ok(divide_pieces(&text, &pieces, &versions))
    }
}

/// Divides pieces among lines.
fn divide_pieces(
    text: &str,
    pieces: &[BlamePiece],
    versions: &HashMap<ItemId, u64>,
) -> Vec<BlameLine> {
    let mut lines = Vec::new();
    let (mut start, mut first) = (0, 0);
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let end = start + line.len();
        while pieces.get(first).is_some_and(|piece| piece.range.end <= start) {
            first += 1;
        }
        let mut shares: Vec<(Option<ItemId>, BlameShare)> = Vec::new();
        for piece in pieces[first..].iter().take_while(|piece| piece.range.start < end) {
            let part = piece.range.start.max(start)..piece.range.end.min(end);
            let n_chars = text[part].chars().count();
            match shares.iter_mut().find(|(run, _)| *run == piece.run) {
                Some((_, share)) => share.n_chars += n_chars,
                None => shares.push((piece.run, make_share(piece, n_chars, versions))),
            }
        }
        let shares: Vec<BlameShare> = shares.into_iter().map(|(_, share)| share).collect();
        let latest = main_share(&shares);
        lines.push(BlameLine {
            number,
            text: line.strip_suffix('\n').unwrap_or(line).to_owned(),
            actor: latest.and_then(|share| share.actor.clone()),
            at: latest.and_then(|share| share.at),
            version: latest.and_then(|share| share.version),
            shares,
        });
        start = end;
    }
    lines
}

fn make_share(piece: &BlamePiece, n_chars: usize, versions: &HashMap<ItemId, u64>) -> BlameShare {
    let author: Option<&RunAuthor> = piece.author.as_ref();
    BlameShare {
        actor: author.map(|author| author.actor.clone()),
        at: author.map(|author| author.at),
        label: author.and_then(|author| author.label.clone()),
        version: piece.run.and_then(|run| versions.get(&run).copied()),
        n_chars,
    }
}

/// Returns the latest share of the main author: the author of the most characters; of equal ones,
/// the latest.
fn main_share(shares: &[BlameShare]) -> Option<&BlameShare> {
    let mut by_actor: BTreeMap<Option<String>, (usize, &BlameShare)> = BTreeMap::new();
    for share in shares {
        let key = share.actor.as_ref().map(ToString::to_string);
        let (n_chars, latest) = by_actor.entry(key).or_insert((0, share));
        *n_chars += share.n_chars;
        if share.at > latest.at {
            *latest = share;
        }
    }
    let most = by_actor.into_values().max_by_key(|(n_chars, latest)| (*n_chars, latest.at));
    most.map(|(_, latest)| latest)
}
