//! An unreliable network in memory, for tests: it loses, repeats and reorders frames, and cuts
//! connections.
//!
//! Frames are delivered only by [`SimulatedNetwork::deliver`], which picks one of the frames in
//! transit. The caller supplies the random numbers.

use std::{collections::BTreeMap, mem};

/// The rates of faults of a network, in percent.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NetworkFaults {
    /// The rate of frames that are lost.
    pub(crate) lost: u32,
    /// The rate of frames that arrive and stay in transit once more.
    pub(crate) repeated: u32,
    /// The rate of frames that arrive before one that was sent earlier.
    pub(crate) reordered: u32,
}

/// A connection between a hub and a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkId(u64);

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NetworkEnd {
    /// The hub's.
    Hub,
    /// The guest's.
    Guest,
}

/// A frame that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NetworkDelivery {
    /// The connection.
    pub(crate) link: LinkId,
    /// The end at which it arrived.
    pub(crate) to: NetworkEnd,
    /// The bytes.
    pub(crate) frame: Vec<u8>,
}

/// A set of connections, with the frames in transit over each.
#[derive(Debug)]
pub(crate) struct SimulatedNetwork {
    /// The queues by connection and receiving end. Cutting a connection removes its queues.
    queues: BTreeMap<(LinkId, NetworkEnd), Vec<Vec<u8>>>,
    faults: NetworkFaults,
    n_links: u64,
}

impl SimulatedNetwork {
    /// Makes a network without connections.
    pub(crate) fn new(faults: NetworkFaults) -> Self {
        Self { queues: BTreeMap::new(), faults, n_links: 0 }
    }

    /// Sets the faults of later deliveries, and returns the previous faults.
    pub(crate) fn set_faults(&mut self, faults: NetworkFaults) -> NetworkFaults {
        mem::replace(&mut self.faults, faults)
    }

    /// Opens a connection.
    pub(crate) fn connect(&mut self) -> LinkId {
        self.n_links += 1;
        let link = LinkId(self.n_links);
        self.queues.insert((link, NetworkEnd::Hub), Vec::new());
        self.queues.insert((link, NetworkEnd::Guest), Vec::new());
        link
    }

    /// Cuts a connection. Its frames in transit are lost.
    pub(crate) fn cut(&mut self, link: LinkId) {
        self.queues.remove(&(link, NetworkEnd::Hub));
        self.queues.remove(&(link, NetworkEnd::Guest));
    }

    /// Sends a frame to an end. Drops it if the connection was cut.
    pub(crate) fn send(&mut self, link: LinkId, to: NetworkEnd, frame: Vec<u8>) {
        if let Some(queue) = self.queues.get_mut(&(link, to)) {
            queue.push(frame);
        }
    }

    /// Delivers a frame; returns `None` if no frame is in transit.
    ///
    /// `random_below` returns a random number below its argument, which is at least 1.
    pub(crate) fn deliver(
        &mut self,
        random_below: &mut impl FnMut(usize) -> usize,
    ) -> Option<NetworkDelivery> {
        loop {
            let filled = |(_, queue): &(&(LinkId, NetworkEnd), &Vec<_>)| !queue.is_empty();
            let busy: Vec<_> = self.queues.iter().filter(filled).map(|(at, _)| *at).collect();
            if busy.is_empty() {
                return None;
            }
            let (link, to) = *busy.get(random_below(busy.len()))?;
            let queue = self.queues.get_mut(&(link, to))?;
            let is_reordered = random_below(100) < self.faults.reordered as usize;
            let at = if is_reordered { random_below(queue.len()) } else { 0 };
            let frame = queue.remove(at);
            if random_below(100) < self.faults.lost as usize {
                continue;
            }
            if random_below(100) < self.faults.repeated as usize {
                self.send(link, to, frame.clone());
            }
            return Some(NetworkDelivery { link, to, frame });
        }
    }
}

mod tests {
    use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

    use super::*;

    fn arrived(faults: NetworkFaults) -> Vec<u8> {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut random_below = |limit| rng.random_range(0..limit);
        let mut network = SimulatedNetwork::new(faults);
        let link = network.connect();
        (0..100).for_each(|n| network.send(link, NetworkEnd::Hub, vec![n]));
        let mut arrived = Vec::new();
        while let Some(delivery) = network.deliver(&mut random_below) {
            assert_eq!((delivery.link, delivery.to), (link, NetworkEnd::Hub));
            arrived.extend(delivery.frame);
        }
        arrived
    }

    #[test]
    fn it_does_what_it_is_told() {
        let all: Vec<u8> = (0..100).collect();
        assert_eq!(arrived(NetworkFaults::default()), all);
        let some = arrived(NetworkFaults { lost: 30, ..NetworkFaults::default() });
        assert!(some.is_sorted() && (40..90).contains(&some.len()), "{some:?}");
        let more = arrived(NetworkFaults { repeated: 30, ..NetworkFaults::default() });
        assert!(more.len() > 110, "{more:?}");
        let mut other = arrived(NetworkFaults { reordered: 50, ..NetworkFaults::default() });
        assert!(!other.is_sorted());
        other.sort_unstable();
        assert_eq!(other, all);
    }

    #[test]
    fn nothing_arrives_over_a_connection_that_was_cut() {
        let mut network = SimulatedNetwork::new(NetworkFaults::default());
        let link = network.connect();
        network.send(link, NetworkEnd::Guest, vec![1]);
        network.cut(link);
        network.send(link, NetworkEnd::Guest, vec![2]);
        assert_eq!(network.deliver(&mut |_| 0), None);
    }
}
