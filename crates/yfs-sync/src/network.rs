//! A bad network in memory, for tests: it loses, repeats and reorders what it carries, and cuts
//! connections, all as a seed decides.
//!
//! Nothing is delivered by itself: [`Network::deliver`] picks one frame among those on their way.

use std::{collections::BTreeMap, mem};

/// How badly a network treats its frames, in percent.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Faults {
    /// How many frames are lost.
    pub lost: u32,
    /// How many arrive, and are on their way once more.
    pub repeated: u32,
    /// How many arrive before one that was sent earlier.
    pub reordered: u32,
}

/// A connection between a hub and a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(u64);

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The hub's.
    Hub,
    /// The guest's.
    Guest,
}

/// What has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Over which connection.
    pub link: LinkId,
    /// At which of its ends.
    pub to: End,
    /// The bytes.
    pub frame: Vec<u8>,
}

/// Connections, and what is on its way over each.
#[derive(Debug)]
pub struct Network {
    /// By connection and receiving end. The queues of a connection that was cut are gone.
    queues: BTreeMap<(LinkId, End), Vec<Vec<u8>>>,
    faults: Faults,
    seed: u64,
    n_links: u64,
}

impl Network {
    /// Makes a network without connections.
    pub fn new(seed: u64, faults: Faults) -> Self {
        let seed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        Self { queues: BTreeMap::new(), faults, seed, n_links: 0 }
    }

    /// Changes how it treats what is delivered from now on, and returns how it did before.
    pub fn set_faults(&mut self, faults: Faults) -> Faults {
        mem::replace(&mut self.faults, faults)
    }

    /// Makes a connection.
    pub fn connect(&mut self) -> LinkId {
        self.n_links += 1;
        let link = LinkId(self.n_links);
        self.queues.insert((link, End::Hub), Vec::new());
        self.queues.insert((link, End::Guest), Vec::new());
        link
    }

    /// Cuts a connection: what is on its way is lost.
    pub fn cut(&mut self, link: LinkId) {
        self.queues.remove(&(link, End::Hub));
        self.queues.remove(&(link, End::Guest));
    }

    /// Sends a frame to an end. Over a connection that was cut, nothing is sent.
    pub fn send(&mut self, link: LinkId, to: End, frame: Vec<u8>) {
        if let Some(queue) = self.queues.get_mut(&(link, to)) {
            queue.push(frame);
        }
    }

    /// Returns a frame that arrives, unless none is on its way.
    pub fn deliver(&mut self) -> Option<Delivery> {
        loop {
            let filled = |(_, queue): &(&(LinkId, End), &Vec<_>)| !queue.is_empty();
            let busy: Vec<_> = self.queues.iter().filter(filled).map(|(at, _)| *at).collect();
            let (link, to) = *busy.get(self.below(busy.len())?)?;
            let len = self.queues.get(&(link, to))?.len();
            let at = if self.percent(self.faults.reordered) { self.below(len)? } else { 0 };
            let frame = self.queues.get_mut(&(link, to))?.remove(at);
            if self.percent(self.faults.lost) {
                continue;
            }
            if self.percent(self.faults.repeated) {
                self.send(link, to, frame.clone());
            }
            return Some(Delivery { link, to, frame });
        }
    }

    /// Returns a number below `limit`, unless that is 0.
    pub fn below(&mut self, limit: usize) -> Option<usize> {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11).checked_rem(limit as u64).map(|number| number as usize)
    }

    fn percent(&mut self, often: u32) -> bool {
        self.below(100).is_some_and(|drawn| drawn < often as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived(faults: Faults) -> Vec<u8> {
        let mut network = Network::new(7, faults);
        let link = network.connect();
        (0..100).for_each(|n| network.send(link, End::Hub, vec![n]));
        let mut arrived = Vec::new();
        while let Some(delivery) = network.deliver() {
            assert_eq!((delivery.link, delivery.to), (link, End::Hub));
            arrived.extend(delivery.frame);
        }
        arrived
    }

    #[test]
    fn it_does_what_it_is_told() {
        let all: Vec<u8> = (0..100).collect();
        assert_eq!(arrived(Faults::default()), all);
        let some = arrived(Faults { lost: 30, ..Faults::default() });
        assert!(some.is_sorted() && (40..90).contains(&some.len()), "{some:?}");
        let more = arrived(Faults { repeated: 30, ..Faults::default() });
        assert!(more.len() > 110, "{more:?}");
        let mut other = arrived(Faults { reordered: 50, ..Faults::default() });
        assert!(!other.is_sorted());
        other.sort_unstable();
        assert_eq!(other, all);
    }

    #[test]
    fn nothing_arrives_over_a_connection_that_was_cut() {
        let mut network = Network::new(1, Faults::default());
        let link = network.connect();
        network.send(link, End::Guest, vec![1]);
        network.cut(link);
        network.send(link, End::Guest, vec![2]);
        assert_eq!(network.deliver(), None);
    }
}
