//! Circles of imports and types stay small enough to be held in one head, as `just house` counts
//! them.

use std::process::Command;

use serde_json::Value;
use yfs_tests::root;

/// The most files in a circle of imports of a crate.
const MAX_CIRCLE: u64 = 10;

/// The crates whose files all others would else be drawn into, with the most files in a circle.
const SMALLER: &[(&str, u64)] = &[("yfs", 6), ("yfs-server", 6)];

/// The most methods of a type.
const MAX_METHODS: u64 = 60;

fn report() -> Value {
    let script = root().join("tests/node/house.mjs");
    let output = Command::new("node").arg(script).arg("--json").output().expect("Node.js runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn no_type_has_too_many_methods() {
    let report = report();
    let crates = report["crates"].as_array().expect("a list of crates");
    let mut most = 0;
    for found in crates {
        let largest = &found["most_methods"];
        let n_methods = largest["methods"].as_u64().expect("a number");
        let (name, of) = (&largest["name"], &found["name"]);
        assert!(n_methods <= MAX_METHODS, "{of}: {name} has {n_methods} methods");
        most = most.max(n_methods);
    }
    assert!(most > 50, "types were not read: {report}");
}

#[test]
fn circles_of_imports_are_small() {
    let report = report();
    let crates = report["crates"].as_array().expect("a list of crates");
    let mut n_circles = 0;
    for found in crates {
        let name = found["name"].as_str().expect("a name");
        let n_files = found["largest_circle"].as_u64().expect("a number");
        let max = SMALLER.iter().find(|(crate_name, _)| *crate_name == name);
        let max = max.map_or(MAX_CIRCLE, |(_, max)| *max);
        assert!(n_files <= max, "{name}: {n_files} files import each other: {}", found["circle"]);
        n_circles += u64::from(n_files > 0);
    }
    assert!(n_circles > 3, "imports were not read: {report}");
}
