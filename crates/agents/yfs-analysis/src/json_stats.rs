//! The statistics of JSON, from its events.
//!
//! # Cost
//!
//! A record for each of the first [`MAX_PATHS`] paths, with one [`CardinalitySketch`] each: less
//! than 20 MiB. Levels below [`MAX_TRACKED_DEPTH`] are only counted.

use std::collections::HashMap;

use serde_json::Value;

use crate::{
    cardinality::CardinalitySketch,
    file_stats::{FileStats, JsonArrayStats, JsonSchema, JsonStats, JsonType},
    json_lexer::{JsonEvent, JsonLexer, LexedText},
    json_sample::{SAMPLE_LIMITS, SampleBuilder},
};

/// The most paths whose values are described.
const MAX_PATHS: usize = 4_096;

/// The most levels whose values are described.
const MAX_TRACKED_DEPTH: usize = 32;

/// The most different values that a field with samples has.
const MAX_UNIQUE_VALUES: usize = 20;

/// The most characters of a value that is a sample.
const MAX_SAMPLE_CHARS: usize = 80;

/// The most elements in [`JsonArrayStats::sample_elements`].
const N_SAMPLE_ELEMENTS: usize = 3;

/// The most keys in [`JsonStats::top_level_keys`].
const MAX_KEYS: usize = 1_024;

const N_TYPES: usize = 7;

/// The types, in the order of their counters.
const TYPES: [JsonType; N_TYPES] = [
    JsonType::Null,
    JsonType::Boolean,
    JsonType::Integer,
    JsonType::Number,
    JsonType::String,
    JsonType::Array,
    JsonType::Object,
];

const NULL: usize = 0;
const BOOLEAN: usize = 1;
const INTEGER: usize = 2;
const NUMBER: usize = 3;
const STRING: usize = 4;
const ARRAY: usize = 5;
const OBJECT: usize = 6;

/// The pass over a JSON text.
#[derive(Debug)]
pub(crate) struct JsonPass {
    lexer: JsonLexer,
    collector: JsonCollector,
}

/// The result of a [`JsonPass`].
pub(crate) struct JsonFindings {
    pub(crate) stats: FileStats,
    /// The beginning of the document, or of the array of the values of JSON lines.
    pub(crate) sample: Value,
    pub(crate) notes: Vec<String>,
}

#[derive(Debug)]
struct JsonCollector {
    /// The open arrays and objects, but for those below [`MAX_TRACKED_DEPTH`].
    frames: Vec<PathFrame>,
    depth: usize,
    max_depth: usize,
    n_documents: usize,
    /// The records of the paths; the first is the root.
    paths: Vec<PathRecord>,
    lacks_paths: bool,
    top_level_keys: Vec<String>,
    sample: SampleBuilder,
}

#[derive(Debug)]
struct PathFrame {
    /// The path of the values in this array or object.
    child: Option<usize>,
    path: Option<usize>,
    is_array: bool,
}

#[derive(Debug)]
struct PathRecord {
    /// The name of the path, as in [`JsonStats`].
    name: String,
    /// Whether values at this path repeat.
    is_repeated: bool,
    element: Option<usize>,
    members: HashMap<Box<str>, usize>,
    /// The members, in their order.
    member_names: Vec<Box<str>>,
    counts: [usize; N_TYPES],
    /// The number of elements of arrays.
    n_elements: usize,
    sketch: Option<Box<CardinalitySketch>>,
    /// The first different values.
    samples: Vec<String>,
}

impl PathRecord {
    fn new(name: String, is_repeated: bool) -> Self {
        Self {
            name,
            is_repeated,
            element: None,
            members: HashMap::new(),
            member_names: Vec::new(),
            counts: [0; N_TYPES],
            n_elements: 0,
            sketch: None,
            samples: Vec::new(),
        }
    }

    fn n_values(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Returns the number of values that are no array and no object.
    fn n_scalars(&self) -> usize {
        self.counts[..ARRAY].iter().sum()
    }

    fn cardinality(&self) -> Option<usize> {
        let sketch = self.sketch.as_ref()?;
        Some(sketch.estimate(self.n_scalars()))
    }

    fn add_scalar(&mut self, kind: usize, lexed: LexedText<'_>) {
        self.counts[kind] += 1;
        // A value and its text as a string are two.
        let hash = lexed.hash ^ (kind as u64) << 56;
        self.sketch.get_or_insert_with(|| Box::new(CardinalitySketch::new())).add(hash);
        if kind == NULL || self.samples.len() > MAX_UNIQUE_VALUES {
            return;
        }
        let sample: String = lexed.text.chars().take(MAX_SAMPLE_CHARS).collect();
        if !self.samples.contains(&sample) {
            self.samples.push(sample);
        }
    }

    fn inferred_type(&self, n_parents: usize) -> JsonType {
        let mut counts = self.counts;
        if counts[NUMBER] > 0 {
            counts[INTEGER] = 0;
        }
        let n_nulls = std::mem::take(&mut counts[NULL]);
        let mut types: Vec<JsonType> =
            (0..N_TYPES).filter(|kind| counts[*kind] > 0).map(|kind| TYPES[kind].clone()).collect();
        let found = match types.len() {
            0 => return JsonType::Null,
            1 => types.remove(0),
            _ => JsonType::Union(types),
        };
        match n_nulls > 0 || self.n_values() < n_parents {
            true => JsonType::Nullable(Box::new(found)),
            false => found,
        }
    }
}

impl JsonPass {
    pub(crate) fn new() -> Self {
        let collector = JsonCollector {
            frames: Vec::new(),
            depth: 0,
            max_depth: 0,
            n_documents: 0,
            paths: vec![PathRecord::new(String::new(), true)],
            lacks_paths: false,
            top_level_keys: Vec::new(),
            sample: SampleBuilder::new(SAMPLE_LIMITS),
        };
        Self { lexer: JsonLexer::default(), collector }
    }

    pub(crate) fn push(&mut self, text: &str) {
        let collector = &mut self.collector;
        // The lexer keeps the error, which the end reports.
        self.lexer.push(text.as_bytes(), &mut |event| collector.add(event)).ok();
    }

    /// Ends the pass. `is_lines` says that the name is one of JSON lines.
    pub(crate) fn finish(mut self, is_lines: bool) -> JsonFindings {
        let collector = &mut self.collector;
        let ended = self.lexer.finish(&mut |event| collector.add(event));
        let mut notes = Vec::new();
        if let Err(error) = ended {
            notes.push(format!("{error}; the statistics are of what comes before"));
        }
        if collector.lacks_paths {
            notes.push(format!("only the first {MAX_PATHS} paths are described"));
        }
        if collector.max_depth > MAX_TRACKED_DEPTH {
            notes.push(format!("levels below {MAX_TRACKED_DEPTH} are only counted"));
        }
        self.collector.finish(is_lines, notes)
    }
}

impl JsonCollector {
    fn add(&mut self, event: JsonEvent<'_>) {
        self.sample.add(event);
        match event {
            JsonEvent::BeginArray => self.begin(true),
            JsonEvent::BeginObject => self.begin(false),
            JsonEvent::EndArray | JsonEvent::EndObject => {
                self.depth -= 1;
                if self.depth < self.frames.len() {
                    self.frames.pop();
                }
            }
            JsonEvent::Key(name) => self.begin_member(name.text),
            JsonEvent::String(text) => self.add_scalar(STRING, text),
            JsonEvent::Number(text) => {
                let is_whole = !text.text.contains(['.', 'e', 'E']);
                self.add_scalar(if is_whole { INTEGER } else { NUMBER }, text);
            }
            JsonEvent::Boolean(value) => {
                self.add_scalar(BOOLEAN, word(if value { "true" } else { "false" }));
            }
            JsonEvent::Null => self.add_scalar(NULL, word("null")),
        }
    }

    fn begin(&mut self, is_array: bool) {
        let path = self.path_of_value();
        if let Some(path) = path {
            self.paths[path].counts[if is_array { ARRAY } else { OBJECT }] += 1;
        }
        if self.depth == self.frames.len() && self.depth < MAX_TRACKED_DEPTH {
            let child = path.filter(|_| is_array).and_then(|path| self.element_of(path));
            self.frames.push(PathFrame { child, path, is_array });
        }
        self.depth += 1;
        self.max_depth = self.max_depth.max(self.depth);
    }

    fn begin_member(&mut self, name: &str) {
        if self.depth == 1 && self.n_documents == 1 && self.top_level_keys.len() < MAX_KEYS {
            self.top_level_keys.push(name.to_owned());
        }
        if self.depth == self.frames.len()
            && let Some(path) = self.frames.last().and_then(|frame| frame.path)
        {
            let child = self.member_of(path, name);
            if let Some(frame) = self.frames.last_mut() {
                frame.child = child;
            }
        }
    }

    fn add_scalar(&mut self, kind: usize, lexed: LexedText<'_>) {
        if let Some(path) = self.path_of_value() {
            self.paths[path].add_scalar(kind, lexed);
        }
    }

    /// Returns the path of the value that begins.
    fn path_of_value(&mut self) -> Option<usize> {
        if self.depth == 0 {
            self.n_documents += 1;
            return Some(0);
        }
        if self.depth > self.frames.len() {
            return None;
        }
        let frame = self.frames.last()?;
        if let (true, Some(path)) = (frame.is_array, frame.path) {
            self.paths[path].n_elements += 1;
        }
        frame.child
    }

    fn element_of(&mut self, path: usize) -> Option<usize> {
        if let Some(element) = self.paths[path].element {
            return Some(element);
        }
        let element = self.new_path(path, "*", true)?;
        self.paths[path].element = Some(element);
        Some(element)
    }

    fn member_of(&mut self, path: usize, name: &str) -> Option<usize> {
        if let Some(member) = self.paths[path].members.get(name) {
            return Some(*member);
        }
        let is_repeated = path != 0 && self.paths[path].is_repeated;
        let member = self.new_path(path, name, is_repeated)?;
        let record = &mut self.paths[path];
        record.members.insert(name.into(), member);
        record.member_names.push(name.into());
        Some(member)
    }

    fn new_path(&mut self, parent: usize, part: &str, is_repeated: bool) -> Option<usize> {
        if self.paths.len() == MAX_PATHS {
            self.lacks_paths = true;
            return None;
        }
        let above = &self.paths[parent].name;
        let name = if parent == 0 { part.to_owned() } else { format!("{above}.{part}") };
        self.paths.push(PathRecord::new(name, is_repeated));
        Some(self.paths.len() - 1)
    }

    fn finish(self, is_lines: bool, notes: Vec<String>) -> JsonFindings {
        let mut values = self.sample.finish();
        let is_lines = is_lines || self.n_documents > 1;
        let root = &self.paths[0];
        let record_path = if is_lines { Some(0) } else { root.element };
        let has_records = record_path.is_some_and(|path| {
            let record = &self.paths[path];
            record.counts[OBJECT] > 0 && record.counts[OBJECT] == record.n_values()
        });
        let sample = match is_lines {
            true => Value::Array(values),
            false => values.pop().unwrap_or_default(),
        };
        let stats = match record_path {
            Some(path) if is_lines || has_records => {
                FileStats::JsonArray(array_stats(&self.paths, path, &sample))
            }
            _ => {
                let is_array = root.counts[ARRAY] > 0;
                let (unique_values_sample, cardinality_estimates) = values_by_path(&self.paths);
                FileStats::Json(JsonStats {
                    is_array,
                    array_length: is_array.then_some(root.n_elements),
                    schema: (root.counts[OBJECT] > 0).then(|| schema_of(&self.paths, 0)),
                    top_level_keys: self.top_level_keys,
                    nested_depth: self.max_depth,
                    unique_values_sample,
                    cardinality_estimates,
                })
            }
        };
        JsonFindings { stats, sample, notes }
    }
}

fn word(text: &'static str) -> LexedText<'static> {
    LexedText { text, is_cut: false, hash: text.len() as u64 }
}

fn schema_of(paths: &[PathRecord], path: usize) -> JsonSchema {
    let n_objects = paths[path].counts[OBJECT];
    let members = paths[path].members.iter();
    let properties =
        members.map(|(name, member)| (name.to_string(), paths[*member].inferred_type(n_objects)));
    JsonSchema { properties: properties.collect() }
}

fn array_stats(paths: &[PathRecord], path: usize, sample: &Value) -> JsonArrayStats {
    let record = &paths[path];
    let elements = sample.as_array().map(Vec::as_slice).unwrap_or_default();
    let fields = || record.members.iter().map(|(name, member)| (name.to_string(), &paths[*member]));
    let cardinalities =
        fields().filter_map(|(name, field)| field.cardinality().map(|count| (name, count)));
    let distributions = fields().map(|(name, field)| {
        let counts = TYPES.iter().zip(field.counts).filter(|(_, count)| *count > 0);
        (name, counts.map(|(kind, count)| (kind.name().to_owned(), count)).collect())
    });
    JsonArrayStats {
        length: record.n_values(),
        element_schema: (record.counts[OBJECT] > 0).then(|| schema_of(paths, path)),
        sample_elements: elements.iter().take(N_SAMPLE_ELEMENTS).cloned().collect(),
        cardinality_per_field: cardinalities.collect(),
        data_types_distribution: distributions.collect(),
    }
}

/// Returns the samples and the cardinalities of fields that repeat.
fn values_by_path(paths: &[PathRecord]) -> (HashMap<String, Vec<String>>, HashMap<String, usize>) {
    let (mut samples, mut cardinalities) = (HashMap::new(), HashMap::new());
    for record in paths.iter().skip(1).filter(|record| record.is_repeated) {
        let Some(cardinality) = record.cardinality() else { continue };
        cardinalities.insert(record.name.clone(), cardinality);
        if !record.samples.is_empty() && record.samples.len() <= MAX_UNIQUE_VALUES {
            samples.insert(record.name.clone(), record.samples.clone());
        }
    }
    (samples, cardinalities)
}
