//! Values, byte for byte.

use serde_json::{Value, json};
use yfs_engine::lib0::{AnyLimits, Lib0Reader, read_any, write_any};
use yfs_tests::node::{Yjs, from_hex, to_hex};
use yrs::Any;

fn ours(value: &Value) -> Vec<u8> {
    let value: Any = serde_json::from_value(value.clone()).unwrap();
    let mut bytes = Vec::new();
    write_any(&mut bytes, &value);
    bytes
}

#[test]
fn values_are_written_as_javascript_writes_them() {
    let mut yjs = Yjs::start();
    let numbers = json!([
        0,
        1,
        -1,
        63,
        64,
        -64,
        127,
        8191,
        8192,
        2147483647i64,
        -2147483647i64,
        2147483648i64,
        -2147483648i64,
        4294967296i64,
        1795294664402i64,
        9007199254740991i64,
        -9007199254740991i64,
        0.5,
        -0.25,
        0.1,
        1e21,
        1e300,
        5e-324,
        1795294664402.5,
        16777217
    ]);
    let others = json!([
        null, true, false, "", "text", "naïve 😀 \u{0} \u{7f}", [], {}, [[[]]], { "": null },
        { "id": "bqgv4our9g7fvnt", "key": 1 }, [1, "two", { "a": [null, 3.5] }], "a".repeat(300)
    ]);
    for value in numbers.as_array().unwrap().iter().chain(others.as_array().unwrap()) {
        let theirs = yjs.call("any_bytes", json!({ "value": value }));
        let ours = ours(value);
        assert_eq!(theirs, to_hex(&ours), "{value}");
        let read = read_any(&mut Lib0Reader::new(&ours), AnyLimits::default()).unwrap();
        let mut again = Vec::new();
        write_any(&mut again, &read);
        assert_eq!(to_hex(&again), to_hex(&ours), "{value} survives being read");
        let returned = yjs.call("any_value", json!({ "bytes": to_hex(&ours) }));
        let as_floats = |value: &Value| value.as_f64().map_or(value.clone(), |float| json!(float));
        assert_eq!(as_floats(&returned), as_floats(value));
    }
}

/// A number that a Rust peer holds as an integer beyond 2^53 must reach JavaScript as a number.
#[test]
fn no_number_is_a_bigint() {
    let mut yjs = Yjs::start();
    for number in [i64::MAX, i64::MIN, 1 << 53, (1 << 53) + 1] {
        let mut bytes = Vec::new();
        write_any(&mut bytes, &Any::from(number));
        let returned = yjs.call("any_value", json!({ "bytes": to_hex(&bytes) }));
        assert_eq!(returned.as_f64(), Some(number as f64));
    }
    // The tool itself must notice one: tag 122, as stock yrs can write it.
    let error = yjs.try_call("any_value", json!({ "bytes": "7a0000000000000001" }));
    assert!(error.unwrap_err().contains("BigInt"));
    assert_eq!(from_hex("7a00"), [0x7a, 0]);
}
