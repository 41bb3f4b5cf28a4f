//! Long answers, page by page: an event loop that has to read all of one at once would stand still
//! for that long.

use std::{collections::VecDeque, sync::Mutex};

use napi_derive::napi;
use serde_json::Value;

/// How many items a page has: about a millisecond of reading.
const PAGE: usize = 256;

/// A long answer.
#[derive(Debug)]
#[napi]
pub struct NativePages {
    /// Arrays in JSON, taken one by one.
    pages: Mutex<VecDeque<String>>,
    rest: String,
}

impl NativePages {
    /// Writes items down, and what else there is to say as an object.
    pub(crate) fn new(items: impl Iterator<Item = Value>, rest: &Value) -> Self {
        let mut pages = VecDeque::new();
        let mut page = Vec::new();
        for item in items {
            page.push(item);
            if page.len() == PAGE {
                pages.push_back(Value::Array(std::mem::take(&mut page)).to_string());
            }
        }
        if !page.is_empty() {
            pages.push_back(Value::Array(page).to_string());
        }
        Self { pages: Mutex::new(pages), rest: rest.to_string() }
    }
}

#[napi]
impl NativePages {
    /// Returns the next page, as long as there is one.
    #[napi]
    pub fn next(&self) -> Option<String> {
        self.pages.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop_front()
    }

    /// What there is to say beside the items.
    #[napi(getter)]
    pub fn rest(&self) -> String {
        self.rest.clone()
    }
}
