//! Requests that arrive while another one is served.

use futures::future::join_all;

use crate::support::Pair;

#[test]
fn every_settle_request_is_answered() {
    let pair = Pair::new();
    for n in 0..200 {
        pair.put(&format!("{n}.txt"), "text\n");
    }
    let mirror = pair.mirror.as_ref().unwrap();
    let reports = pair.run(async { join_all((0..20).map(|_| mirror.settled())).await });
    assert!(reports.iter().all(Result::is_ok), "{reports:?}");
    assert_eq!(pair.tree().len(), 200);
}

#[test]
fn a_mirror_ends_while_it_settles() {
    for n_files in [0, 1, 50] {
        let mut pair = Pair::new();
        for n in 0..n_files {
            pair.put(&format!("{n}.txt"), "text\n");
        }
        let mirror = pair.mirror.take().unwrap();
        // Polled once, so that the request is sent before the one to end.
        let settled = pair.run(async { futures::poll!(std::pin::pin!(mirror.settled())) });
        drop(settled);
        mirror.stop().unwrap();
    }
}
