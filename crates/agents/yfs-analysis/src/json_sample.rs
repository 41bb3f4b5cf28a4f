//! The beginning of a JSON document as a value: long arrays, objects and strings are cut.

use serde_json::{Map, Number, Value};

use crate::json_lexer::{JsonEvent, LexedText};

/// How much of each part a sample keeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SampleLimits {
    /// The elements of the outermost array.
    pub(crate) n_rows: usize,
    /// The elements of other arrays.
    pub(crate) n_elements: usize,
    /// The members of an object.
    pub(crate) n_members: usize,
    /// The characters of a string.
    pub(crate) n_chars: usize,
    /// The levels of nesting.
    pub(crate) depth: usize,
    /// The values in all.
    pub(crate) n_values: usize,
}

/// What a sample of a document keeps.
pub(crate) const SAMPLE_LIMITS: SampleLimits = SampleLimits {
    n_rows: 100,
    n_elements: 5,
    n_members: 64,
    n_chars: 120,
    depth: 6,
    n_values: 4_096,
};

/// Builds a sample from events.
#[derive(Debug)]
pub(crate) struct SampleBuilder {
    limits: SampleLimits,
    open: Vec<OpenValue>,
    /// The levels that are open inside a value that is left out.
    n_skipped_levels: usize,
    n_values: usize,
    /// The values at the top: several in JSON lines.
    finished: Vec<Value>,
}

#[derive(Debug)]
enum OpenValue {
    Array { elements: Vec<Value>, n_omitted: usize },
    Object { members: Map<String, Value>, key: String, n_omitted: usize },
}

impl SampleBuilder {
    pub(crate) fn new(limits: SampleLimits) -> Self {
        let (open, finished) = (Vec::new(), Vec::new());
        Self { limits, open, n_skipped_levels: 0, n_values: 0, finished }
    }

    pub(crate) fn add(&mut self, event: JsonEvent<'_>) {
        match event {
            JsonEvent::BeginArray | JsonEvent::BeginObject => {
                if self.n_skipped_levels > 0 || !self.has_room() {
                    self.n_skipped_levels += 1;
                    return;
                }
                self.n_values += 1;
                self.open.push(match event {
                    JsonEvent::BeginArray => {
                        OpenValue::Array { elements: Vec::new(), n_omitted: 0 }
                    }
                    _ => {
                        OpenValue::Object { members: Map::new(), key: String::new(), n_omitted: 0 }
                    }
                });
            }
            JsonEvent::EndArray | JsonEvent::EndObject if self.n_skipped_levels > 0 => {
                self.n_skipped_levels -= 1;
                if self.n_skipped_levels == 0 {
                    self.omit(1);
                }
            }
            JsonEvent::EndArray | JsonEvent::EndObject => {
                if let Some(value) = self.open.pop() {
                    self.put(close_value(value));
                }
            }
            JsonEvent::Key(name) => {
                if self.n_skipped_levels == 0
                    && let Some(OpenValue::Object { key, .. }) = self.open.last_mut()
                {
                    key.clear();
                    key.push_str(name.text);
                }
            }
            _ if self.n_skipped_levels > 0 => (),
            _ if !self.has_room() => self.omit(1),
            JsonEvent::String(text) => self.put_scalar(self.cut(text)),
            JsonEvent::Number(text) => self.put_scalar(number_value(text)),
            JsonEvent::Boolean(value) => self.put_scalar(Value::Bool(value)),
            JsonEvent::Null => self.put_scalar(Value::Null),
        }
    }

    /// Returns the values at the top; those still open are closed.
    pub(crate) fn finish(mut self) -> Vec<Value> {
        while let Some(value) = self.open.pop() {
            self.put(close_value(value));
        }
        self.finished
    }

    fn has_room(&self) -> bool {
        let has_place = match self.open.last() {
            None => self.finished.len() < self.limits.n_rows,
            Some(OpenValue::Array { elements, .. }) => {
                let is_outermost = self.open.len() == 1;
                let limit = if is_outermost { self.limits.n_rows } else { self.limits.n_elements };
                elements.len() < limit
            }
            Some(OpenValue::Object { members, .. }) => members.len() < self.limits.n_members,
        };
        has_place && self.n_values < self.limits.n_values && self.open.len() < self.limits.depth
    }

    fn omit(&mut self, n_more: usize) {
        if let Some(OpenValue::Array { n_omitted, .. } | OpenValue::Object { n_omitted, .. }) =
            self.open.last_mut()
        {
            *n_omitted += n_more;
        }
    }

    fn put_scalar(&mut self, value: Value) {
        self.n_values += 1;
        self.put(value);
    }

    fn put(&mut self, value: Value) {
        match self.open.last_mut() {
            None => self.finished.push(value),
            Some(OpenValue::Array { elements, .. }) => elements.push(value),
            Some(OpenValue::Object { members, key, .. }) => {
                members.insert(std::mem::take(key), value);
            }
        }
    }

    fn cut(&self, lexed: LexedText<'_>) -> Value {
        let end = lexed.text.char_indices().nth(self.limits.n_chars);
        match (end, lexed.is_cut) {
            (None, false) => Value::String(lexed.text.to_owned()),
            (None, true) => Value::String(format!("{}…", lexed.text)),
            (Some((end, _)), _) => Value::String(format!("{}…", &lexed.text[..end])),
        }
    }
}

/// The key of the member that says how many others were left out.
const OMITTED_KEY: &str = "…";

fn omission(n_omitted: usize) -> String {
    format!("… {n_omitted} more")
}

fn parse_omission(text: &str) -> Option<usize> {
    text.strip_prefix("… ")?.strip_suffix(" more")?.parse().ok()
}

fn close_value(value: OpenValue) -> Value {
    match value {
        OpenValue::Array { mut elements, n_omitted } => {
            if n_omitted > 0 {
                elements.push(Value::String(omission(n_omitted)));
            }
            Value::Array(elements)
        }
        OpenValue::Object { mut members, n_omitted, .. } => {
            if n_omitted > 0 {
                members.insert(OMITTED_KEY.to_owned(), Value::String(omission(n_omitted)));
            }
            Value::Object(members)
        }
    }
}

fn number_value(lexed: LexedText<'_>) -> Value {
    match lexed.text.parse::<Number>() {
        Ok(number) if !lexed.is_cut => Value::Number(number),
        // Numbers that no type of Rust holds stay as they are written.
        _ => Value::String(lexed.text.to_owned()),
    }
}

/// Returns a value with smaller limits; it was already bounded in depth.
pub(crate) fn prune(value: &Value, limits: SampleLimits) -> Value {
    let mut builder = SampleBuilder::new(limits);
    feed(value, &mut builder);
    builder.finish().pop().unwrap_or_default()
}

fn feed(value: &Value, builder: &mut SampleBuilder) {
    let lexed = |text| LexedText { text, is_cut: false, hash: 0 };
    match value {
        Value::Null => builder.add(JsonEvent::Null),
        Value::Bool(value) => builder.add(JsonEvent::Boolean(*value)),
        Value::Number(number) => builder.add(JsonEvent::Number(lexed(&number.to_string()))),
        Value::String(text) => builder.add(JsonEvent::String(lexed(text))),
        Value::Array(elements) => {
            builder.add(JsonEvent::BeginArray);
            let n_omitted = elements.last().and_then(Value::as_str).and_then(parse_omission);
            let n_values = elements.len() - usize::from(n_omitted.is_some());
            for element in &elements[..n_values] {
                feed(element, builder);
            }
            builder.omit(n_omitted.unwrap_or(0));
            builder.add(JsonEvent::EndArray);
        }
        Value::Object(members) => {
            builder.add(JsonEvent::BeginObject);
            for (key, value) in members {
                match value.as_str().and_then(parse_omission) {
                    Some(n_omitted) if key == OMITTED_KEY => builder.omit(n_omitted),
                    _ => {
                        builder.add(JsonEvent::Key(lexed(key)));
                        feed(value, builder);
                    }
                }
            }
            builder.add(JsonEvent::EndObject);
        }
    }
}
