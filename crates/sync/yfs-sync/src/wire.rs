//! The encoding of messages: how values are written, and which values a message has.
//!
//! [`wire_fields!`](crate::wire_fields) and [`wire_variants!`](crate::wire_variants) take a table
//! of fields in the order in which they are written, so that reading and writing cannot differ. A
//! field has the [`Usual`] encoding of its type, or the one that the table names.
//!
//! # Invariants
//!
//! - Reading is strict, and never allocates more than a small multiple of the frame.

use yfs_engine::{
    hash::ContentHash,
    id::FileId,
    lib0::{Lib0Error, Lib0Reader, write_buffer, write_string, write_var_uint},
    time::Millis,
};

/// The most values in a list.
const MAX_VALUES: u64 = 1 << 16;

/// An encoding of values of a type.
pub trait WireCodec<'a, T> {
    /// Reads a value.
    fn read(reader: &mut Lib0Reader<'a>) -> Result<T, Lib0Error>;

    /// Appends a value.
    fn write(value: &T, out: &mut Vec<u8>);
}

/// The usual encoding of a type.
#[derive(Debug)]
pub struct Usual;

/// The usual encoding of a text or of bytes, of at most so many bytes.
#[derive(Debug)]
pub struct AtMost<const N: usize>;

/// A flag at the end that earlier versions leave out.
#[derive(Debug)]
pub(crate) struct LastFlag;

/// A value that has an encoding, in a buffer of its own of at most so many bytes.
#[derive(Debug)]
pub struct InBuffer<C, const N: usize>(C);

/// A list of values that have an encoding.
#[derive(Debug)]
pub struct EachAs<C>(C);

/// A value that has an encoding, or none, after a flag.
#[derive(Debug)]
pub struct MaybeAs<C>(C);

/// A value that has an encoding, on the heap.
#[derive(Debug)]
pub struct BoxAs<C>(C);

/// Returns the bytes of a value.
pub fn wire_bytes<'a, T>(value: &T) -> Vec<u8>
where
    Usual: WireCodec<'a, T>,
{
    let mut out = Vec::new();
    Usual::write(value, &mut out);
    out
}

/// Reads the value that bytes consist of.
pub fn read_wire_bytes<'a, T>(bytes: &'a [u8]) -> Result<T, Lib0Error>
where
    Usual: WireCodec<'a, T>,
{
    let mut reader = Lib0Reader::new(bytes);
    let value = Usual::read(&mut reader)?;
    check(value, reader.is_empty())
}

fn check<T>(value: T, is_valid: bool) -> Result<T, Lib0Error> {
    if is_valid { Ok(value) } else { Err(Lib0Error::Parts) }
}

/// Defines an encoding of a type by how a value is read and written.
#[macro_export]
macro_rules! wire_codec {
    (
        $({$($param:tt)*})? $codec:ty, $value:ty:
        |$reader:ident| $read:expr, |$item:ident, $out:ident| $write:expr
    ) => {
        impl<'a, $($($param)*)?> $crate::wire::WireCodec<'a, $value> for $codec {
            fn read(
                $reader: &mut yfs_engine::lib0::Lib0Reader<'a>,
            ) -> Result<$value, yfs_engine::lib0::Lib0Error> {
                $read
            }

            fn write($item: &$value, $out: &mut Vec<u8>) {
                $write
            }
        }
    };
}

wire_codec!(Usual, u64: |reader| reader.var_uint(), |item, out| write_var_uint(out, *item));
wire_codec!(Usual, &'a str: |reader| reader.string(), |item, out| write_string(out, item));
wire_codec!(Usual, &'a [u8]: |reader| reader.buffer(), |item, out| write_buffer(out, item));
wire_codec!(Usual, bool:
    |reader| reader.u8().and_then(|flag| check(flag == 1, flag <= 1)),
    |item, out| out.push(u8::from(*item)));
wire_codec!({const N: usize} Usual, [u8; N]:
    |reader| Ok(reader.take(N)?.try_into().expect("as many as were asked for")),
    |item, out| out.extend_from_slice(item));
wire_codec!(Usual, FileId:
    |reader| FileId::parse(reader.string()?).map_err(|_| Lib0Error::Parts),
    |item, out| write_string(out, item.as_str()));
wire_codec!(Usual, ContentHash:
    |reader| Usual::read(reader).map(ContentHash::from_bytes),
    |item, out| out.extend_from_slice(item.as_bytes()));
wire_codec!(Usual, Millis:
    |reader| i64::try_from(reader.var_uint()?).map(Millis).map_err(|_| Lib0Error::Parts),
    |item, out| write_var_uint(out, u64::try_from(item.0).unwrap_or(0)));
wire_codec!({const N: usize} AtMost<N>, &'a str:
    |reader| Usual::read(reader).and_then(|text: &str| check(text, text.len() <= N)),
    |item, out| Usual::write(item, out));
wire_codec!({const N: usize} AtMost<N>, &'a [u8]:
    |reader| Usual::read(reader).and_then(|bytes: &[u8]| check(bytes, bytes.len() <= N)),
    |item, out| Usual::write(item, out));
wire_codec!(LastFlag, bool:
    |reader| if reader.is_empty() { Ok(false) } else { Usual::read(reader) },
    |item, out| Usual::write(item, out));
wire_codec!({T, C: WireCodec<'a, T>, const N: usize} InBuffer<C, N>, T:
|reader| {
    let bytes = reader.buffer()?;
    let mut inner = Lib0Reader::new(check(bytes, bytes.len() <= N)?);
    C::read(&mut inner).and_then(|value| check(value, inner.is_empty()))
},
|item, out| {
    let mut bytes = Vec::new();
    C::write(item, &mut bytes);
    write_buffer(out, &bytes);
});
wire_codec!({T, C: WireCodec<'a, T>} BoxAs<C>, Box<T>:
    |reader| C::read(reader).map(Box::new),
    |item, out| C::write(item, out));
wire_codec!({T, C: WireCodec<'a, T>} MaybeAs<C>, Option<T>:
|reader| if Usual::read(reader)? { C::read(reader).map(Some) } else { Ok(None) },
|item, out| {
    Usual::write(&item.is_some(), out);
    item.iter().for_each(|value| C::write(value, out));
});
wire_codec!({T, C: WireCodec<'a, T>} EachAs<C>, Vec<T>:
|reader| {
    let n_values = reader.var_uint()?;
    (0..check(n_values, n_values <= MAX_VALUES)?).map(|_| C::read(reader)).collect()
},
|item, out| {
    write_var_uint(out, item.len() as u64);
    item.iter().for_each(|value| C::write(value, out));
});

/// Defines the usual encoding of a type by its fields, in the order in which they are written. Each
/// has its usual encoding, or that after `as`.
#[macro_export]
macro_rules! wire_fields {
    ($type:ident $(<$life:lifetime>)? { $($field:tt $(as $codec:ty)?),* $(,)? }) => {
        $crate::wire_codec!($crate::wire::Usual, $type $(<$life>)?:
            |reader| Ok($type { $($field: $crate::wire_fields!(@read reader $($codec)?)),* }),
            |item, out| { $($crate::wire_fields!(@write (&item.$field) out $($codec)?);)* });
    };
    (@read $reader:ident) => { $crate::wire_fields!(@read $reader $crate::wire::Usual) };
    (@read $reader:ident $codec:ty) => {
        <$codec as $crate::wire::WireCodec<'a, _>>::read($reader)?
    };
    (@write $value:tt $out:ident) => {
        $crate::wire_fields!(@write $value $out $crate::wire::Usual)
    };
    (@write $value:tt $out:ident $codec:ty) => {
        <$codec as $crate::wire::WireCodec<'a, _>>::write($value, $out)
    };
}

/// Defines the encoding of the variants of a message: the number of each, and its fields as
/// [`wire_fields!`] has them. A variant is `Name()`, `Name(value)` or `Name { fields }`.
#[macro_export]
macro_rules! wire_variants {
    ($message:ident: $($number:tt => $variant:ident $fields:tt),* $(,)?) => {
        impl<'a> $message<'a> {
            /// Returns the number of the variant.
            fn number(&self) -> u64 {
                match self { $(Self::$variant { .. } => $number),* }
            }

            /// Reads the fields of the variant with a number; `None` if there is no such variant.
            fn read_fields(
                number: u64,
                reader: &mut yfs_engine::lib0::Lib0Reader<'a>,
            ) -> Result<Option<Self>, yfs_engine::lib0::Lib0Error> {
                Ok(Some(match number {
                    $($number => $crate::wire_variants!(@read reader $variant $fields),)*
                    _ => return Ok(None),
                }))
            }

            /// Appends the fields.
            fn write_fields(&self, out: &mut Vec<u8>) {
                match self { $($crate::wire_variants!(@pattern $variant $fields) => {
                    $crate::wire_variants!(@write out $fields)
                })* }
            }
        }
    };
    (@read $reader:ident $variant:ident ()) => { Self::$variant };
    (@read $reader:ident $variant:ident ($field:ident $(as $codec:ty)?)) => {
        Self::$variant($crate::wire_fields!(@read $reader $($codec)?))
    };
    (@read $reader:ident $variant:ident { $($field:ident $(as $codec:ty)?),* }) => {
        Self::$variant { $($field: $crate::wire_fields!(@read $reader $($codec)?)),* }
    };
    (@pattern $variant:ident ()) => { Self::$variant };
    (@pattern $variant:ident ($field:ident $(as $codec:ty)?)) => { Self::$variant($field) };
    (@pattern $variant:ident { $($field:ident $(as $codec:ty)?),* }) => {
        Self::$variant { $($field),* }
    };
    (@write $out:ident ()) => {{}};
    (@write $out:ident ($field:ident $(as $codec:ty)?)) => {
        $crate::wire_fields!(@write $field $out $($codec)?)
    };
    (@write $out:ident { $($field:ident $(as $codec:ty)?),* }) => {{
        $($crate::wire_fields!(@write $field $out $($codec)?);)*
    }};
}
