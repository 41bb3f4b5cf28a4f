//! Splits updates that are too large for a message.

use yfs::replica::FeedPiece;
use yfs_engine::{
    gate::{DocRole, SplitSize, split},
    id::WorkspaceId,
};

/// The size of an update that is never split, in bytes. It is within all limits of a message.
const SMALL_UPDATE_LEN: usize = 1 << 20;

/// The size of the parts in which a larger update is sent. A message is at most 64 MiB and has at
/// most 2^20 structs (`docs/format/updates.md`).
const PART_SIZE: SplitSize = SplitSize { bytes: 16 << 20, structs: 1 << 19 };

/// Splits an update that is too large for a message.
pub(super) fn split_piece(workspace: &WorkspaceId, piece: FeedPiece) -> Vec<FeedPiece> {
    let FeedPiece::Update { doc, update, is_whole } = piece else { return vec![piece] };
    if update.len() <= SMALL_UPDATE_LEN {
        return vec![FeedPiece::Update { doc, update, is_whole }];
    }
    let role = if doc == *workspace { DocRole::Main } else { DocRole::Content };
    // An update that cannot be read is sent as it is: the peer rejects and reports it.
    let parts = split(role, &update, PART_SIZE).unwrap_or_else(|_| vec![update]);
    let to_piece = |update| FeedPiece::Update { doc: doc.clone(), update, is_whole };
    parts.into_iter().map(to_piece).collect()
}
