//! The tables in which a vocabulary lists its tools, their arguments and their results.

/// Makes tools: `name "title" ANNOTATIONS: "description", settings;`. The function that runs a tool
/// has its name, or follows the name in parentheses.
macro_rules! tools {
    (@run $name:ident) => { $name };
    (@run $name:ident $run:expr) => { $run };
    ($report:expr; $(
        $name:ident $(($run:expr))? $title:literal $annotations:ident: $description:literal
        $(, $setting:ident($($value:expr)?))*;
    )*) => {
        vec![$({
            let (name, title) = (stringify!($name), $title);
            let (description, report) = ($description, $report);
            let words = $crate::registered_tool::ToolWords { name, title, description, report };
            $crate::registered_tool::RegisteredTool::new(
                words,
                $crate::tool::ToolAnnotations::$annotations,
                tools!(@run $name $($run)?),
            )$(.$setting($($value)?))*
        }),*]
    };
}

/// Declares the types of arguments, whose names are all known, or of results.
macro_rules! records {
    (arguments: $($records:tt)*) => {
        records!(@[derive(serde::Deserialize), serde(deny_unknown_fields)] $($records)*);
    };
    (open arguments: $($records:tt)*) => {
        records!(@[derive(serde::Deserialize)] $($records)*);
    };
    (results: $($records:tt)*) => {
        records!(@[derive(serde::Serialize)] $($records)*);
    };
    (@[$($of:meta),*] $(#[$own:meta])* $vis:vis $name:ident { $($fields:tt)* } $($more:tt)*) => {
        #[derive(Debug, schemars::JsonSchema)]
        $(#[$of])*
        $(#[$own])*
        $vis struct $name { $($fields)* }
        records!(@[$($of),*] $($more)*);
    };
    (@[$($of:meta),*]) => {};
}
