//! The cases of the fuzz targets, over their seeds and changes of these: they compile and hold with
//! the compiler of the other crates. `just fuzz` runs them under libFuzzer.

#[expect(unreachable_pub, reason = "the file is that of a crate")]
#[path = "../../../fuzz/src/lib.rs"]
mod fuzz;

use std::{fs, panic};

use yfs_tests::root;

use self::fuzz::{CASES, FuzzCase};

/// The changed inputs of each seed.
const N_ROUNDS: usize = 400;

/// The longest input, in bytes.
const MAX_LEN: usize = 8 << 10;

/// Bytes that often matter.
const BYTES: [u8; 16] = *b"\x00\x01\x7f\x80\xff\xfe\n\"\\{}[],:\x1f";

/// A source of numbers: the same for the same seed (splitmix64).
struct NumberSource(u64);

impl NumberSource {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }
}

/// Changes an input in one place.
fn mutate(input: &mut Vec<u8>, seeds: &[&[u8]], numbers: &mut NumberSource) {
    let at = numbers.below(input.len() + 1);
    let len = numbers.below(16).min(input.len() - at);
    match numbers.below(8) {
        0 if at < input.len() => input[at] ^= 1 << numbers.below(8),
        1 if at < input.len() => input[at] = BYTES[numbers.below(BYTES.len())],
        2 => input.insert(at, BYTES[numbers.below(BYTES.len())]),
        3 => drop(input.drain(at..at + len)),
        4 => input.truncate(at),
        5 => {
            let again = input[at..at + len].repeat(1 + numbers.below(20));
            input.splice(at..at, again);
        }
        6 => {
            let other = seeds[numbers.below(seeds.len())];
            let from = numbers.below(other.len() + 1);
            input.splice(at..at + len, other[from..].iter().copied());
        }
        _ => {
            let number = (numbers.below(usize::MAX) as u64) >> numbers.below(64);
            let bytes = number.to_le_bytes();
            input.splice(at..at + len, bytes[..1 + numbers.below(8)].iter().copied());
        }
    }
    input.truncate(MAX_LEN);
}

/// Runs a case over an input; if it panics, prints the input and goes on with the panic.
#[expect(clippy::print_stderr, reason = "the input of a failure, which is not in the message")]
fn run(case: &FuzzCase, input: &[u8]) {
    if let Err(failure) = panic::catch_unwind(|| (case.run)(input)) {
        eprintln!("case {}, input b\"{}\"", case.name, input.escape_ascii());
        panic::resume_unwind(failure);
    }
}

#[test]
fn every_case_holds_for_seeds_and_changes_of_them() {
    for case in CASES {
        assert!(!case.seeds.is_empty(), "{}", case.name);
        run(case, &[]);
        for (index, seed) in case.seeds.iter().enumerate() {
            run(case, seed);
            let mut numbers = NumberSource(index as u64);
            let mut input = seed.to_vec();
            for round in 0..N_ROUNDS {
                // From the seed again now and then: many changes leave nothing of it.
                if round % 8 == 0 {
                    input = seed[..seed.len().min(MAX_LEN)].to_vec();
                }
                mutate(&mut input, case.seeds, &mut numbers);
                run(case, &input);
            }
        }
    }
}

#[test]
fn every_case_is_a_target_and_every_target_a_case() {
    let fuzz = root().join("fuzz");
    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).expect("the manifest");
    let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
    for name in &names {
        let target = fuzz.join(format!("fuzz_targets/{name}.rs"));
        let target = fs::read_to_string(&target).expect("a target");
        assert!(target.contains(&format!("yfs_fuzz::{name}::run")), "{name}");
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
    let n_targets = fuzz.join("fuzz_targets").read_dir().expect("targets").count();
    assert_eq!(n_targets, names.len());
    assert_eq!(manifest.matches("[[bin]]").count(), names.len());
}
