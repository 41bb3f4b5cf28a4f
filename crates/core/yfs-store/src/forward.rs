//! Methods that a store leaves to one of its parts.

/// Implements methods by calls of the methods with the same names of a part.
macro_rules! forward_to {
    (
        $part:ident:
        $(fn $name:ident(&self $(, $arg:ident: $type:ty)* $(,)?) $(-> $result:ty)?;)*
    ) => {
        $(fn $name(&self $(, $arg: $type)*) $(-> $result)? {
            self.$part.$name($($arg),*)
        })*
    };
}

pub(crate) use forward_to;
