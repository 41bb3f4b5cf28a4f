//! The state that all handles of one workspace share: the core, and the features on it.

use std::{
    ops::Deref,
    sync::{Arc, atomic::AtomicBool},
};

use parking_lot::{Mutex, RwLock};
use yfs_engine::main_doc::MainDoc;
use yfs_store::{Seq, Store, WriterClaim};

use crate::{
    change_replay::ChangeReplayer,
    checkpoint::{CheckpointHome, MainCheckpoints},
    core::WorkspaceCore,
    documents::DocumentPool,
    events::EventLog,
    feature::WorkspaceFeature,
    heavy_writes::HeavyWrites,
    options::WorkspaceOptions,
    replica::{OpenSettlements, ReplicaMarks, conversion_notes::ConversionNotes},
    search::{SearchIndexHome, SearchIndexes},
    stat_report::StatReports,
    store_keys::LOG_KEY,
    texts::ContentTexts,
    workspace::{log_compaction::LogCompaction, parked::ParkedUpdates},
};

/// The core of a workspace, which this dereferences to, and its features.
#[derive(Debug)]
pub(crate) struct WorkspaceState {
    core: Arc<WorkspaceCore>,
    pub(crate) texts: Arc<ContentTexts>,
    pub(crate) reports: Arc<StatReports>,
    pub(crate) marks: Arc<ReplicaMarks>,
    pub(crate) parked: Arc<ParkedUpdates>,
    pub(crate) checkpoint: Arc<MainCheckpoints>,
    pub(crate) search: Arc<SearchIndexes>,
    pub(crate) compaction: Arc<LogCompaction>,
    pub(crate) events: Arc<EventLog>,
    pub(crate) replay: ChangeReplayer,
    pub(crate) heavy_writes: HeavyWrites,
    /// The exchanges that wait for blobs.
    pub(crate) settlements: Mutex<OpenSettlements>,
    pub(crate) claim: Mutex<Option<WriterClaim>>,
    /// Whether the end leaves compaction and checkpoints to the next process.
    pub(crate) is_short_of_memory: AtomicBool,
}

/// Returns the name of a store's log; a store that was never written to has none.
fn log_name(store: &dyn Store) -> Option<String> {
    let name = store.get_meta(LOG_KEY).ok().flatten()?;
    String::from_utf8(name).ok()
}

impl WorkspaceState {
    /// Makes the features, and the core on a main document that has the records of the log up to a
    /// position.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        options: WorkspaceOptions,
        main: (Arc<RwLock<MainDoc>>, Seq),
        documents: Arc<DocumentPool>,
        claim: Option<WriterClaim>,
        checkpoint: Option<CheckpointHome>,
    ) -> Self {
        let must_replace = checkpoint.as_ref().map(|home| home.must_replace.clone());
        let index = SearchIndexHome::of(&store, &options).map(Arc::new);
        let texts = Arc::new(ContentTexts::new(options.text_budget, index.clone()));
        let reports = Arc::new(StatReports::new(texts.clone()));
        let marks = Arc::new(ReplicaMarks::default());
        let parked = Arc::new(ParkedUpdates::new(marks.clone()));
        let checkpoint = Arc::new(MainCheckpoints { home: checkpoint });
        let (of_search, texts_of_search) = (checkpoint.clone(), texts.clone());
        let search =
            Arc::new(SearchIndexes { home: index, checkpoint: of_search, texts: texts_of_search });
        let compaction =
            Arc::new(LogCompaction::new(parked.clone(), checkpoint.clone(), search.clone()));
        let events = Arc::new(EventLog::new(store.origin(), log_name(&*store)));
        let features: Vec<Arc<dyn WorkspaceFeature>> = vec![
            texts.clone(),
            Arc::new(ConversionNotes),
            reports.clone(),
            parked.clone(),
            checkpoint.clone(),
            search.clone(),
            compaction.clone(),
            events.clone(),
        ];
        let is_uncertain = must_replace.unwrap_or_default();
        let core = WorkspaceCore::new(store, options, main, documents, is_uncertain, features);
        Self {
            core: Arc::new(core),
            texts,
            reports,
            marks,
            parked,
            search,
            compaction,
            replay: ChangeReplayer::new(events.clone(), checkpoint.clone()),
            checkpoint,
            events,
            heavy_writes: HeavyWrites::default(),
            settlements: Mutex::default(),
            claim: Mutex::new(claim),
            is_short_of_memory: AtomicBool::new(false),
        }
    }

    pub(crate) fn core(&self) -> &Arc<WorkspaceCore> {
        &self.core
    }
}

impl Deref for WorkspaceState {
    type Target = WorkspaceCore;

    fn deref(&self) -> &WorkspaceCore {
        &self.core
    }
}
