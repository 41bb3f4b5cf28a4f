//! Files that are larger than the limit, and files that grow over it.

use std::path::Path;

use yfs_mirror::NoticeReason;

use crate::support::Pair;

/// A pair whose mirror takes files of at most 1,000 bytes.
fn limited() -> Pair {
    let mut pair = Pair::apart();
    pair.options.max_file_len = 1_000;
    pair.start();
    pair
}

#[test]
fn a_file_that_grows_over_the_limit_is_reported_and_never_overwritten() {
    let mut pair = limited();
    pair.put("log.txt", "small\n");
    pair.check();
    let large = "large\n".repeat(500);
    pair.put("log.txt", &large);
    let is_outgrown = |report: yfs_mirror::MirrorReport| {
        report.skipped.get(Path::new("log.txt")) == Some(&NoticeReason::Outgrown)
    };
    assert!(is_outgrown(pair.settle()), "while it runs");
    assert_eq!(pair.read("/log.txt"), "small\n");
    // The workspace does not have the bytes of the disk, so it does not replace them.
    pair.write("/log.txt", "small, by another\n");
    assert!(is_outgrown(pair.settle()), "after a change in the workspace");
    assert_eq!(pair.text("log.txt"), large);
    pair.stop();
    pair.start();
    assert!(is_outgrown(pair.settle()), "after a restart");
    assert_eq!(pair.text("log.txt"), large);
    // With a greater limit both changes are merged.
    pair.stop();
    pair.options.max_file_len = 10_000;
    pair.start();
    let report = pair.check();
    assert!(report.skipped.is_empty(), "{report:?}");
    assert!(pair.text("log.txt").contains("large\nlarge\n"));
}

#[test]
fn a_large_file_of_one_side_is_reported() {
    let pair = limited();
    pair.put("disk.txt", "large\n".repeat(500));
    pair.write("/work.txt", "large\n".repeat(500));
    let report = pair.settle();
    assert_eq!(report.skipped.get(Path::new("disk.txt")), Some(&NoticeReason::TooLarge));
    assert!(!pair.tree().contains_key("disk.txt"));
    // Content of the workspace is written, or reported.
    let is_written = pair.disk().contains_key("work.txt");
    assert!(is_written || report.skipped.contains_key(Path::new("work.txt")), "{report:?}");
    // So are later changes.
    pair.write("/work.txt", "LARGE\n".repeat(500));
    let report = pair.settle();
    let is_reported = report.skipped.contains_key(Path::new("work.txt"));
    assert!(is_reported || pair.text("work.txt").starts_with("LARGE"), "{report:?}");
}
