//! The index for searches of a workspace, and what it is made from.

use std::sync::Arc;

use super::SearchIndexHome;
use crate::{checkpoint::MainCheckpoints, texts::ContentTexts};

/// The index for searches, if there is one.
#[derive(Debug)]
pub(crate) struct SearchIndexes {
    pub(crate) home: Option<Arc<SearchIndexHome>>,
    pub(crate) checkpoint: Arc<MainCheckpoints>,
    pub(crate) texts: Arc<ContentTexts>,
}
