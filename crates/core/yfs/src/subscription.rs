//! Subscriptions to documents: every logged update, in order.
//!
//! Each subscription has a queue that takes memory only while it is not empty, because ten thousand
//! documents may have subscribers at once.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;

/// The subscribers of one document.
#[derive(Debug, Default)]
pub(crate) struct SubscriberList(Mutex<Vec<mpsc::Sender<Arc<[u8]>>>>);

/// The updates of a document since the subscription began.
#[derive(Debug)]
pub struct Subscription(mpsc::Receiver<Arc<[u8]>>);

impl SubscriberList {
    /// Adds a subscription that may fall behind by `backlog` updates.
    pub(crate) fn add(&self, backlog: usize) -> Subscription {
        let (sender, receiver) = mpsc::channel(backlog);
        self.0.lock().push(sender);
        Subscription(receiver)
    }

    /// Reports whether there are no subscribers.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Sends a logged update to all subscribers. A subscriber that has fallen too far behind is
    /// removed.
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
    /// Waits for the next update. `None` means that the document was closed, or that this
    /// subscription fell too far behind: the subscriber must start over from a state.
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
        // The received updates have no gap, and then the subscription ends.
        assert_eq!(all(&mut slow), [0, 1]);
        assert!(slow.0.is_closed() && !fast.0.is_closed());
        drop(fast);
        followers.publish(&[4]);
        assert!(followers.0.lock().is_empty());
    }
}
