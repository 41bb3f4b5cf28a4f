//! Following a document: every update that was logged, in order, to whoever asked for them.
//!
//! Each follower has a queue of its own that takes memory only while something waits in it, since ten thousand
//! documents may be followed at once.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;

/// Whoever follows one document.
#[derive(Debug, Default)]
pub(crate) struct SubscriberList(Mutex<Vec<mpsc::Sender<Arc<[u8]>>>>);

/// The updates of a document since somebody began to follow it.
#[derive(Debug)]
pub struct Subscription(mpsc::Receiver<Arc<[u8]>>);

impl SubscriberList {
    /// Adds a follower, who may fall behind by so many updates.
    pub(crate) fn add(&self, backlog: usize) -> Subscription {
        let (sender, receiver) = mpsc::channel(backlog);
        self.0.lock().push(sender);
        Subscription(receiver)
    }

    /// Reports whether there are no followers.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Passes on an update that was logged. Who has fallen too far behind gets nothing more.
    pub(crate) fn publish(&self, update: &[u8]) {
        let mut followers = self.0.lock();
        if followers.is_empty() {
            return;
        }
        let update: Arc<[u8]> = update.into();
        followers.retain(|follower| follower.try_send(update.clone()).is_ok());
    }
}

impl Subscription {
    /// Waits for the next update. Nothing means that the document was closed, or that this follower fell too far
    /// behind: it must start over from a state.
    pub async fn recv(&mut self) -> Option<Arc<[u8]>> {
        self.0.recv().await
    }

    /// Returns the next update if it is there already.
    pub fn try_recv(&mut self) -> Option<Arc<[u8]>> {
        self.0.try_recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_follower_gets_all_in_order_or_is_let_go() {
        let followers = SubscriberList::default();
        let (mut fast, mut slow) = (followers.add(4), followers.add(2));
        for update in 0..4 {
            followers.publish(&[update]);
        }
        let all = |updates: &mut Subscription| -> Vec<u8> {
            std::iter::from_fn(|| updates.try_recv()).map(|update| update[0]).collect()
        };
        assert_eq!(all(&mut fast), [0, 1, 2, 3]);
        // What it did get has no gap, and then it is told.
        assert_eq!(all(&mut slow), [0, 1]);
        assert!(slow.0.is_closed() && !fast.0.is_closed());
        drop(fast);
        followers.publish(&[4]);
        assert!(followers.0.lock().is_empty());
    }
}
