//! lib0 against yrs and against JavaScript's bytes.

use std::collections::HashMap;

use proptest::prelude::*;
use yrs::{
    Any,
    any::Number,
    encoding::read::{Cursor, Read as _},
};

use super::{
    AnyLimits, Lib0Error, Lib0Reader, ValueView, read_any, skip_any, write_any, write_string,
    write_var_int, write_var_uint,
};

fn bytes_of(value: &Any) -> Vec<u8> {
    let mut out = Vec::new();
    write_any(&mut out, value);
    out
}

fn values() -> impl Strategy<Value = Any> {
    let leaf = prop_oneof![
        Just(Any::Null),
        Just(Any::Undefined),
        any::<bool>().prop_map(Any::Bool),
        any::<i32>().prop_map(|number| Any::Number(Number::Int(number.into()))),
        any::<f64>()
            .prop_filter("NaN is not equal to itself", |number| !number.is_nan())
            .prop_map(|number| Any::Number(Number::Float(number))),
        ".{0,8}".prop_map(|text| Any::String(text.into())),
        proptest::collection::vec(any::<u8>(), 0..8).prop_map(|bytes| Any::Buffer(bytes.into())),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let map = proptest::collection::hash_map("[a-z]{0,3}", inner.clone(), 0..6);
        prop_oneof![
            proptest::collection::vec(inner, 0..6).prop_map(|values| Any::Array(values.into())),
            map.prop_map(|entries: HashMap<String, Any>| Any::Map(entries.into())),
        ]
    })
}

proptest! {
    #[test]
    fn values_are_read_as_they_were_written(value in values()) {
        let bytes = bytes_of(&value);
        let mut reader = Lib0Reader::new(&bytes);
        prop_assert_eq!(&read_any(&mut reader, AnyLimits::default()).unwrap(), &value);
        prop_assert!(reader.is_empty());
        let mut reader = Lib0Reader::new(&bytes);
        skip_any(&mut reader, AnyLimits::default()).unwrap();
        prop_assert!(reader.is_empty());
        prop_assert_eq!(Any::decode(&mut Cursor::new(&bytes)).unwrap(), value);
    }

    #[test]
    fn values_are_seen_where_they_stand(value in values()) {
        let bytes = bytes_of(&value);
        let view = ValueView::of(&bytes).unwrap();
        prop_assert_eq!(&view.to_any(), &value);
        match (view, &value) {
            (ValueView::Array(items), Any::Array(values)) => {
                let items: Vec<Any> = items.iter().map(ValueView::to_any).collect();
                prop_assert_eq!(&items[..], &values[..]);
            }
            (ValueView::Map(members), Any::Map(entries)) => {
                prop_assert_eq!(members.len(), entries.len());
                for (name, value) in entries.iter() {
                    prop_assert_eq!(&members.get(name).unwrap().to_any(), value);
                }
                prop_assert_eq!(members.get("absent"), None);
            }
            (ValueView::Array(_) | ValueView::Map(_), _) => prop_assert!(false, "another kind"),
            _ => {}
        }
    }

    #[test]
    fn whatever_comes_is_seen_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let Ok(view) = ValueView::of(&bytes) else { return Ok(()) };
        let mut reader = Lib0Reader::new(&bytes);
        let value = read_any(&mut reader, AnyLimits::default()).unwrap();
        // By their bytes, since NaN is not equal to itself.
        prop_assert_eq!(bytes_of(&view.to_any()), bytes_of(&value));
    }

    #[test]
    fn any_bytes_are_read_as_yrs_reads_them(
        bytes in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut reader = Lib0Reader::new(&bytes);
        let mut skipper = Lib0Reader::new(&bytes);
        let value = read_any(&mut reader, AnyLimits::default());
        let parts = skip_any(&mut skipper, AnyLimits::default());
        prop_assert_eq!(value.is_ok(), parts.is_ok());
        if let Ok(value) = value {
            prop_assert_eq!(reader.position(), skipper.position());
            let theirs = Any::decode(&mut Cursor::new(&bytes)).unwrap();
            prop_assert_eq!(bytes_of(&value), bytes_of(&theirs));
        }
    }

    #[test]
    fn numbers_are_read_as_they_were_written(
        unsigned in any::<u64>(),
        signed in -(1_i64 << 62)..1 << 62,
    ) {
        let mut bytes = Vec::new();
        write_var_uint(&mut bytes, unsigned);
        write_var_int(&mut bytes, signed);
        let mut reader = Lib0Reader::new(&bytes);
        prop_assert_eq!(reader.var_uint(), Ok(unsigned));
        prop_assert_eq!(reader.var_int(), Ok(signed));
        let mut cursor = Cursor::new(&bytes);
        prop_assert_eq!(cursor.read_var::<u64>().unwrap(), unsigned);
        prop_assert_eq!(cursor.read_var::<i64>().unwrap(), signed);
    }
}

/// As `encoding.writeAny` of lib0 in JavaScript writes them.
#[test]
fn numbers_have_the_bytes_that_javascript_writes() {
    for (number, bytes) in [
        (0.0, &[125, 0][..]),
        (-0.0, &[124, 0x80, 0, 0, 0]),
        (1.0, &[125, 1]),
        (-1.0, &[125, 0x41]),
        (64.0, &[125, 0x80, 1]),
        (2_147_483_647.0, &[125, 0xbf, 0xff, 0xff, 0xff, 0x0f]),
        (2_147_483_648.0, &[124, 0x4f, 0, 0, 0]),
        (0.5, &[124, 0x3f, 0, 0, 0]),
        (0.1, &[123, 0x3f, 0xb9, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a]),
        (1_795_296_141_108.0, &[123, 0x42, 0x7a, 0x1f, 0xff, 0xd1, 0xf3, 0x40, 0]),
    ] {
        assert_eq!(bytes_of(&Any::Number(Number::Float(number))), bytes, "{number}");
    }
    let large = Any::Number(Number::Int(i64::MAX));
    assert_eq!(bytes_of(&large)[0], 124, "never a bigint");
}

#[test]
fn lengths_that_lie_are_refused_before_anything_is_allocated() {
    for (bytes, error) in [
        (&[117, 0xff, 0xff, 0xff, 0xff, 0x0f][..], Lib0Error::End),
        (&[118, 0xff, 0xff, 0xff, 0x1f, 0], Lib0Error::End),
        (&[119, 5, b'a'], Lib0Error::End),
        (&[119, 2, 0xc3, 0x28], Lib0Error::Utf8),
        (&[116, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02], Lib0Error::Number),
        (&[115], Lib0Error::Tag(115)),
        (&[], Lib0Error::End),
    ] {
        assert_eq!(skip_any(&mut Lib0Reader::new(bytes), AnyLimits::default()), Err(error.clone()));
        assert_eq!(read_any(&mut Lib0Reader::new(bytes), AnyLimits::default()), Err(error));
    }
}

#[test]
fn limits_are_exact() {
    let nested = |depth: usize| [[117, 1].repeat(depth), vec![126]].concat();
    let limits = AnyLimits { depth: 3, parts: 4 };
    for (depth, fits) in [(3, true), (4, false)] {
        assert_eq!(read_any(&mut Lib0Reader::new(&nested(depth)), limits).is_ok(), fits);
        assert_eq!(skip_any(&mut Lib0Reader::new(&nested(depth)), limits).is_ok(), fits);
    }
    let flat = |len: u8| [vec![117, len], vec![126; len.into()]].concat();
    for (len, fits) in [(3, true), (4, false)] {
        assert_eq!(read_any(&mut Lib0Reader::new(&flat(len)), limits).is_ok(), fits);
        assert_eq!(skip_any(&mut Lib0Reader::new(&flat(len)), limits).is_ok(), fits);
    }
    let mut text = Vec::new();
    write_string(&mut text, "é");
    assert_eq!(Lib0Reader::new(&text).string(), Ok("é"));
}
