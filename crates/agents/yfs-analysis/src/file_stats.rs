//! The statistics of a file, one shape for each kind of content: the types of
//! `docs/spec/artifacts.md`.
//!
//! All counts are of the whole file. Lists and maps are bounded, so the first values are in them;
//! [`ContentAnalysis::notes`](crate::ContentAnalysis) then says that there are more. Maps are
//! serialized in the order of their keys, so equal statistics are equal bytes.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// The statistics of a file, by the kind of its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FileStats {
    /// A JSON document: an object, a scalar, or an array of other than objects.
    Json(JsonStats),
    /// A JSON array of objects, or a file of JSON values one after the other.
    JsonArray(JsonArrayStats),
    /// A table of delimited text.
    Csv(CsvStats),
    /// An HTML page.
    Html(HtmlStats),
    /// A markdown document.
    Markdown(MarkdownStats),
    /// Any other text.
    Text(TextStats),
    /// Anything that is not text.
    Binary(BinaryStats),
}

/// The statistics of a JSON document.
///
/// A field's path names the keys from the root, with `*` for any element of an array.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct JsonStats {
    /// Whether the document is an array.
    pub is_array: bool,
    /// The number of elements, if it is an array.
    pub array_length: Option<usize>,
    /// The types of the members, if it is an object.
    pub schema: Option<JsonSchema>,
    /// The names of the members, in their order.
    pub top_level_keys: Vec<String>,
    /// The depth of objects and arrays: 0 for a scalar.
    pub nested_depth: usize,
    /// By path, the values of fields with few different ones.
    #[serde(serialize_with = "in_order")]
    pub unique_values_sample: HashMap<String, Vec<String>>,
    /// By path, the estimated number of different values.
    #[serde(serialize_with = "in_order")]
    pub cardinality_estimates: HashMap<String, usize>,
}

/// The statistics of a JSON array of objects.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct JsonArrayStats {
    /// The number of elements.
    pub length: usize,
    /// The types of the elements' members.
    pub element_schema: Option<JsonSchema>,
    /// The first elements; long values are cut.
    pub sample_elements: Vec<Value>,
    /// By member, the estimated number of different values.
    #[serde(serialize_with = "in_order")]
    pub cardinality_per_field: HashMap<String, usize>,
    /// By member, how many of its values have each type.
    #[serde(serialize_with = "in_order_twice")]
    pub data_types_distribution: HashMap<String, HashMap<String, usize>>,
}

/// The types of an object's members.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JsonSchema {
    /// By member.
    #[serde(serialize_with = "in_order")]
    pub properties: HashMap<String, JsonType>,
}

/// The type of a JSON value, or the types that the values of one field have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum JsonType {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number without fraction and exponent.
    Integer,
    /// Any number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
    /// A value or `null`, or a member that some objects lack.
    Nullable(Box<Self>),
    /// Values of several types, in the order of this enum.
    Union(Vec<Self>),
}

/// The statistics of a table of delimited text.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CsvStats {
    /// The number of records, without the headers.
    pub rows: usize,
    /// The number of columns, by the first record.
    pub columns: usize,
    /// The names of the columns, as [`TableDialect::column_names`](crate::TableDialect) makes them.
    pub headers: Vec<String>,
    /// The type of each column, inferred from all its values.
    pub data_types: Vec<CsvDataType>,
    /// The estimated number of different values of each column.
    pub cardinality_per_column: Vec<usize>,
    /// The first records.
    pub sample_values: Vec<Vec<String>>,
    /// The number of empty values of each column; in a column with a type, also of words for a
    /// missing value, such as `NA`.
    pub null_counts: Vec<usize>,
}

/// The type of a column: the narrowest one that all its values have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CsvDataType {
    /// The column has no values.
    Empty,
    /// `true`, `false`, `yes`, `no`.
    Boolean,
    /// Whole numbers.
    Integer,
    /// Numbers.
    Float,
    /// Dates as ISO 8601 writes them.
    Date,
    /// Dates with a time, as ISO 8601 writes them.
    DateTime,
    /// Anything.
    String,
}

/// The statistics of an HTML page.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HtmlStats {
    /// The title.
    pub title: Option<String>,
    /// The description of the page's `meta` element.
    pub meta_description: Option<String>,
    /// The headings: text and level.
    pub headings: Vec<(String, usize)>,
    /// The number of `a` elements with a target.
    pub link_count: usize,
    /// The number of `img` elements.
    pub image_count: usize,
    /// The number of `script` elements.
    pub script_tags: usize,
    /// The number of characters of text outside scripts and styles, with runs of space as one.
    pub main_content_length: usize,
    /// The language that the `html` element names.
    pub language: Option<String>,
}

/// The statistics of a markdown document.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkdownStats {
    /// The headings: text and level.
    pub headings: Vec<(String, usize)>,
    /// The number of words outside code blocks and front matter.
    pub word_count: usize,
    /// The number of code blocks.
    pub code_blocks: usize,
    /// The number of links.
    pub links: usize,
    /// The number of images.
    pub images: usize,
    /// The number of tables.
    pub tables: usize,
    /// The number of lists, counting nested ones.
    pub lists: usize,
    /// `YAML` or `TOML`, if the document begins with such front matter.
    pub front_matter: Option<String>,
}

/// The statistics of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextStats {
    /// The number of lines; the last one counts without a newline as well.
    pub lines: usize,
    /// The number of words: runs without white space.
    pub words: usize,
    /// The number of characters.
    pub characters: usize,
    /// The encoding, by its name on the web, for example `UTF-8`.
    pub encoding: String,
    /// The language of the text, as an ISO 639-3 code, if it is prose in one.
    pub language: Option<String>,
    /// What the text is structured as.
    pub structure_hints: TextStructure,
}

/// The structure of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TextStructure {
    /// A log: lines with a level.
    LogFile {
        /// By level, the number of lines.
        #[serde(serialize_with = "in_order")]
        log_level_counts: HashMap<String, usize>,
    },
    /// A configuration.
    ConfigFile {
        /// Its format.
        format: ConfigFormat,
    },
    /// Source code.
    CodeFile {
        /// The programming language.
        language: String,
        /// The names of the first functions.
        functions: Vec<String>,
    },
    /// None of these.
    PlainText,
}

/// The format of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ConfigFormat {
    /// YAML.
    Yaml,
    /// TOML.
    Toml,
    /// Sections in brackets, and `key = value`.
    Ini,
    /// `NAME=value` for the environment of a process.
    Env,
    /// Java's properties.
    Properties,
    /// XML.
    Xml,
    /// JSON with comments.
    Json,
}

/// The statistics of a file that is not text.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinaryStats {
    /// The format, for example `PNG`; `unknown` if there is no sign of one.
    pub format: String,
    /// The facts that the format's headers state.
    #[serde(serialize_with = "in_order")]
    pub metadata: HashMap<String, String>,
}

impl FileStats {
    /// Returns the name of the kind, as serialized.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Json(_) => "Json",
            Self::JsonArray(_) => "JsonArray",
            Self::Csv(_) => "Csv",
            Self::Html(_) => "Html",
            Self::Markdown(_) => "Markdown",
            Self::Text(_) => "Text",
            Self::Binary(_) => "Binary",
        }
    }
}

impl JsonType {
    /// Returns the name under which a type is counted, for example `string`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
            Self::Nullable(_) => "nullable",
            Self::Union(_) => "union",
        }
    }
}

fn in_order<V: Serialize, S: Serializer>(
    map: &HashMap<String, V>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    map.iter().collect::<BTreeMap<_, _>>().serialize(serializer)
}

fn in_order_twice<S: Serializer>(
    map: &HashMap<String, HashMap<String, usize>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let ordered = map.iter().map(|(key, inner)| (key, inner.iter().collect::<BTreeMap<_, _>>()));
    ordered.collect::<BTreeMap<_, _>>().serialize(serializer)
}
