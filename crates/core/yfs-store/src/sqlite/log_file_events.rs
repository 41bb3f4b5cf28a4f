//! Reports of the host that a write-ahead log was written, so that a waiting thread need not poll.
//!
//! Linux has inotify. Where there is nothing of the kind, and where reports do not arrive, threads
//! poll.

#[cfg(target_os = "linux")]
mod inotify;
#[cfg(not(target_os = "linux"))]
mod none;

#[cfg(target_os = "linux")]
pub(super) use inotify::LogFileEvents;
#[cfg(not(target_os = "linux"))]
pub(super) use none::LogFileEvents;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{
        fs,
        sync::Arc,
        thread,
        time::{Duration, Instant},
    };

    use super::{super::append_watch::Growth, LogFileEvents};

    /// Waits until there are more reports than `before`.
    fn expect_report(growth: &Growth, before: u64) {
        let begun = Instant::now();
        while growth.n_writes() == before {
            assert!(begun.elapsed() < Duration::from_secs(120), "no report");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn each_handle_of_a_file_gets_reports_until_it_is_dropped() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("log-wal");
        assert!(LogFileEvents::start(&file, &Arc::default()).is_none(), "there is no file");
        fs::write(&file, b"1").expect("written");
        let growths: [Arc<Growth>; 2] = Default::default();
        let mut events: Vec<_> = growths
            .iter()
            .map(|growth| LogFileEvents::start(&file, growth).expect("registered"))
            .collect();
        fs::write(&file, b"22").expect("written");
        growths.iter().for_each(|growth| expect_report(growth, 0));

        drop(events.pop());
        assert!(events[0].renew(&file));
        // A report that had begun before may still reach the dropped handle. Of two later ones the
        // second begins after it has ended.
        for content in [b"333", b"444"] {
            let before = growths[0].n_writes();
            fs::write(&file, content).expect("written");
            expect_report(&growths[0], before);
        }
        let [before, before_of_dropped] = [growths[0].n_writes(), growths[1].n_writes()];
        fs::write(&file, b"555").expect("written");
        expect_report(&growths[0], before);
        assert_eq!(growths[1].n_writes(), before_of_dropped);
    }

    #[test]
    fn a_file_in_the_place_of_another_is_found() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("log-wal");
        fs::write(&file, b"1").expect("written");
        let growth = Arc::default();
        let mut events = LogFileEvents::start(&file, &growth).expect("registered");
        fs::remove_file(&file).expect("removed");
        assert!(!events.renew(&file), "there is no file");
        fs::write(&file, b"1").expect("written");
        assert!(events.renew(&file));
        let before = growth.n_writes();
        fs::write(&file, b"22").expect("written");
        expect_report(&growth, before);
    }
}
