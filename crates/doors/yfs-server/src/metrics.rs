//! The counters of the server, for Prometheus (`GET /metrics`).

use std::fmt;

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

/// The counters of one server.
#[derive(Debug)]
pub(crate) struct ServerMetrics {
    registry: Registry,
    /// Open WebSocket connections.
    pub(crate) connections: Gauge,
    /// Documents that are open on connections, counted once per connection.
    pub(crate) open_documents: Gauge,
    /// Updates from clients that the log has, new or known.
    pub(crate) updates: Counter,
    /// Frames sent over WebSockets.
    pub(crate) frames: Counter,
    /// Bytes sent over WebSockets, without the overhead of the protocol.
    pub(crate) sent_bytes: Counter,
    /// Bytes received over WebSockets.
    pub(crate) received_bytes: Counter,
    /// States that were computed for clients that joined.
    pub(crate) states: Counter,
    /// States that were sent again from the cache.
    pub(crate) shared_states: Counter,
    /// Connections and requests without a valid token.
    pub(crate) refused_callers: Counter,
    /// Connections that the server ended, by close code.
    pub(crate) endings: Family<CloseCodeLabel, Counter>,
    /// Requests that the server answered, by status.
    pub(crate) requests: Family<StatusLabel, Counter>,
    pub(crate) documents: Gauge,
    pub(crate) document_bytes: Gauge,
    /// What is known of each peer.
    pub(crate) peers: PeerMetrics,
    pub(crate) log_head: Gauge,
    pub(crate) store_bytes: Gauge,
}

/// The metrics of the peers of the workspace. They are read from the store, where another process
/// writes them, and may go back if that is restored: so all are gauges.
#[derive(Debug, Default)]
pub(crate) struct PeerMetrics {
    pub(crate) connected: Family<PeerLabel, Gauge>,
    pub(crate) in_step: Family<PeerLabel, Gauge>,
    pub(crate) behind: Family<PeerLabel, Gauge>,
    pub(crate) last_seen: Family<PeerLabel, Gauge>,
    pub(crate) sent_bytes: Family<PeerLabel, Gauge>,
    pub(crate) received_bytes: Family<PeerLabel, Gauge>,
    pub(crate) refused: Family<PeerLabel, Gauge>,
    pub(crate) forked: Family<PeerLabel, Gauge>,
    pub(crate) faults: Family<PeerLabel, Gauge>,
}

/// The id of a peer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct PeerLabel {
    pub(crate) peer: String,
}

/// A close code.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct CloseCodeLabel {
    pub(crate) code: u32,
}

/// The status class of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct StatusLabel {
    pub(crate) status: u32,
}

impl Default for ServerMetrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("yfs"),
            connections: Gauge::default(),
            open_documents: Gauge::default(),
            updates: Counter::default(),
            frames: Counter::default(),
            sent_bytes: Counter::default(),
            received_bytes: Counter::default(),
            states: Counter::default(),
            shared_states: Counter::default(),
            refused_callers: Counter::default(),
            endings: Family::default(),
            requests: Family::default(),
            documents: Gauge::default(),
            document_bytes: Gauge::default(),
            peers: PeerMetrics::default(),
            log_head: Gauge::default(),
            store_bytes: Gauge::default(),
        };
        metrics.register();
        metrics
    }
}

impl ServerMetrics {
    /// Returns all values in the text format of OpenMetrics 1.0.
    pub(crate) fn to_text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("connections", "Open WebSocket connections", self.connections.clone());
        registry.register("seats", "Documents open on connections", self.open_documents.clone());
        registry.register("updates", "Updates received from clients", self.updates.clone());
        registry.register("sent_frames", "Frames sent over WebSockets", self.frames.clone());
        registry.register("sent_bytes", "Bytes sent over WebSockets", self.sent_bytes.clone());
        let received = self.received_bytes.clone();
        registry.register("received_bytes", "Bytes received over WebSockets", received);
        registry.register("states", "States computed for joiners", self.states.clone());
        let shared = self.shared_states.clone();
        registry.register("shared_states", "States given to joiners once more", shared);
        let refused = self.refused_callers.clone();
        registry.register("refused_callers", "Requests without a valid token", refused);
        let endings = self.endings.clone();
        registry.register("endings", "WebSocket connections ended by the server", endings);
        registry.register("requests", "HTTP requests answered", self.requests.clone());
        registry.register("documents", "Content documents in memory", self.documents.clone());
        let bytes = self.document_bytes.clone();
        registry.register("document_bytes", "Their size in memory, estimated", bytes);
        self.peers.register(registry);
        registry.register("log_head", "Position of the last record", self.log_head.clone());
        registry.register("store_bytes", "Size of the store on disk", self.store_bytes.clone());
    }
}

impl PeerMetrics {
    fn all(&self) -> [(&'static str, &'static str, &Family<PeerLabel, Gauge>); 9] {
        [
            ("peer_connected", "Whether a peer is connected", &self.connected),
            ("peer_in_step", "Whether a peer and this store have the same", &self.in_step),
            ("peer_behind_documents", "Documents changed since a peer had all", &self.behind),
            ("peer_last_seen_seconds", "When a peer came or went, Unix time", &self.last_seen),
            ("peer_sent_bytes", "Bytes of messages sent to a peer", &self.sent_bytes),
            ("peer_received_bytes", "Bytes of messages from a peer", &self.received_bytes),
            ("peer_refused_updates", "Updates of a peer that were refused", &self.refused),
            ("peer_forked_files", "Files that a peer sent as others than here", &self.forked),
            ("peer_faults", "Violations of the protocol by a peer", &self.faults),
        ]
    }

    fn register(&self, registry: &mut Registry) {
        for (name, help, family) in self.all() {
            registry.register(name, help, family.clone());
        }
    }

    /// Removes the values of all peers.
    pub(crate) fn clear(&self) {
        for (_, _, family) in self.all() {
            family.clear();
        }
    }
}

pub(crate) fn to_gauge(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
