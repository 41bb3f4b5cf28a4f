//! Estimates of the number of different values: within their stated error, for any number of values
//! in any order, and the same in pieces.

use std::fmt::Write;

use proptest::prelude::*;
use yfs_analysis::{ContentAnalyzer, FileStats, RELATIVE_ERROR, analyze};

fn cardinalities(stats: &FileStats) -> Vec<usize> {
    match stats {
        FileStats::Csv(stats) => stats.cardinality_per_column.clone(),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Five standard errors are exceeded once in three million estimates.
    #[test]
    fn estimates_are_within_five_standard_errors(
        n_different in 1_usize..60_000,
        n_repeats in 1_usize..4,
        salt in any::<u32>(),
        piece_len in 1_usize..5_000,
    ) {
        let mut table = String::from("key,word\n");
        for repeat in 0..n_repeats {
            for at in 0..n_different {
                // Each time from another key.
                let key = (at + repeat * 1_013) % n_different;
                writeln!(table, "{salt:x}-{key},w{}", key % 3).expect("text has no errors");
            }
        }
        let whole = analyze("t.csv", table.as_bytes());
        let found = cardinalities(&whole.stats);
        let bound = (n_different as f64 * 5.0 * RELATIVE_ERROR).max(1.0);
        let error = (found[0] as f64 - n_different as f64).abs();
        prop_assert!(error <= bound, "{} of {n_different}", found[0]);
        prop_assert!(found[1] <= 3);
        let mut analyzer = ContentAnalyzer::new("t.csv");
        for piece in table.as_bytes().chunks(piece_len) {
            analyzer.push(piece);
        }
        prop_assert_eq!(cardinalities(&analyzer.finish().stats), found);
    }
}
