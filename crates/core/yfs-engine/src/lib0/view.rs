//! Values of the type `any` as views of the bytes: nothing is copied until a caller reads it.

use yrs::{Any, any::Number};

use super::{AnyLimits, Lib0Error, Lib0Reader, any, read_any, skip_any};

/// A view of one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValueView<'a> {
    /// The value `undefined`.
    Undefined,
    /// Null.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number of any kind.
    Number(Number),
    /// Text.
    String(&'a str),
    /// Bytes.
    Buffer(&'a [u8]),
    /// An array.
    Array(ArrayItems<'a>),
    /// An object.
    Map(ObjectMembers<'a>),
}

/// The values of an array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArrayItems<'a> {
    bytes: &'a [u8],
}

/// The members of an object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObjectMembers<'a> {
    bytes: &'a [u8],
}

/// For values that were checked on receipt.
const CHECKED: AnyLimits = AnyLimits { depth: usize::MAX, parts: usize::MAX };

impl<'a> ValueView<'a> {
    /// Returns a view of the value that `bytes` begin with.
    ///
    /// # Errors
    ///
    /// If the bytes are not a value.
    pub fn of(bytes: &'a [u8]) -> Result<Self, Lib0Error> {
        Self::read(bytes, &mut Lib0Reader::new(bytes))
    }

    /// Returns a view of a value that takes up all of `bytes` and was checked on receipt.
    pub(crate) fn whole(bytes: &'a [u8]) -> Self {
        match bytes.first() {
            Some(&any::ARRAY) => Self::Array(ArrayItems { bytes }),
            Some(&any::MAP) => Self::Map(ObjectMembers { bytes }),
            _ => Self::of(bytes).unwrap_or(Self::Undefined),
        }
    }

    fn read(bytes: &'a [u8], reader: &mut Lib0Reader<'a>) -> Result<Self, Lib0Error> {
        Self::read_within(bytes, reader, CHECKED)
    }

    /// Reads the value at the position of `reader`, which reads `bytes`.
    fn read_within(
        bytes: &'a [u8],
        reader: &mut Lib0Reader<'a>,
        limits: AnyLimits,
    ) -> Result<Self, Lib0Error> {
        let start = reader.position();
        let tag = reader.u8()?;
        if tag != any::ARRAY && tag != any::MAP {
            return Self::leaf(reader, tag);
        }
        *reader = Lib0Reader::at(bytes, start);
        skip_any(reader, limits)?;
        let bytes = &bytes[start..reader.position()];
        Ok(if tag == any::ARRAY {
            Self::Array(ArrayItems { bytes })
        } else {
            Self::Map(ObjectMembers { bytes })
        })
    }

    fn leaf(reader: &mut Lib0Reader<'a>, tag: u8) -> Result<Self, Lib0Error> {
        Ok(match tag {
            any::STRING => Self::String(reader.string()?),
            any::BUFFER => Self::Buffer(reader.buffer()?),
            tag => match any::read_leaf(reader, tag)? {
                Any::Null => Self::Null,
                Any::Bool(value) => Self::Bool(value),
                Any::Number(number) => Self::Number(number),
                _ => Self::Undefined,
            },
        })
    }

    /// Converts the value to the type of yrs.
    pub(crate) fn to_any(self) -> Any {
        let of_bytes =
            |bytes| read_any(&mut Lib0Reader::new(bytes), CHECKED).unwrap_or(Any::Undefined);
        match self {
            Self::Undefined => Any::Undefined,
            Self::Null => Any::Null,
            Self::Bool(value) => Any::Bool(value),
            Self::Number(number) => Any::Number(number),
            Self::String(text) => Any::String(text.into()),
            Self::Buffer(bytes) => Any::Buffer(bytes.into()),
            Self::Array(items) => of_bytes(items.bytes),
            Self::Map(members) => of_bytes(members.bytes),
        }
    }

    /// Returns a number of any kind.
    pub fn as_number(self) -> Option<f64> {
        match self {
            Self::Number(Number::Int(number)) => Some(number as f64),
            Self::Number(Number::Float(number)) => Some(number),
            _ => None,
        }
    }
}

impl<'a> ArrayItems<'a> {
    /// Returns the values, from the first on.
    pub fn iter(self) -> impl Iterator<Item = ValueView<'a>> {
        let mut reader = Lib0Reader::at(self.bytes, 1);
        let n_values = reader.var_uint().unwrap_or(0);
        (0..n_values).map_while(move |_| ValueView::read(self.bytes, &mut reader).ok())
    }
}

impl<'a> ObjectMembers<'a> {
    /// Reads the object at the position of `reader`, which reads `bytes`, and calls `each` with
    /// its members as they were written. Unlike a view of the object, it reads them once, and they
    /// need not have been checked.
    ///
    /// # Errors
    ///
    /// If the bytes are no object, or a member is beyond the default limits.
    pub(crate) fn read_each(
        bytes: &'a [u8],
        reader: &mut Lib0Reader<'a>,
        mut each: impl FnMut(&'a str, ValueView<'a>),
    ) -> Result<(), Lib0Error> {
        if reader.u8()? != any::MAP {
            return Err(Lib0Error::Number);
        }
        for _ in 0..reader.var_uint()? {
            let name = reader.string()?;
            each(name, ValueView::read_within(bytes, reader, AnyLimits::default())?);
        }
        Ok(())
    }

    /// Returns the members as they were written. If a name occurs twice, the later counts.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, ValueView<'a>)> {
        let mut reader = Lib0Reader::at(self.bytes, 1);
        let n_members = reader.var_uint().unwrap_or(0);
        (0..n_members).map_while(move |_| {
            let name = reader.string().ok()?;
            Some((name, ValueView::read(self.bytes, &mut reader).ok()?))
        })
    }

    /// Returns the number of members; those that occur twice count twice.
    pub fn len(self) -> usize {
        Lib0Reader::at(self.bytes, 1).var_uint().unwrap_or(0) as usize
    }

    /// Reports whether there are no members.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns one member.
    pub fn get(self, name: &str) -> Option<ValueView<'a>> {
        self.iter().filter(|(member, _)| *member == name).map(|(_, value)| value).last()
    }
}
