//! The check of what a client says of itself, which other clients parse and show.
//!
//! Stock clients parse a state without a check, resolve the positions of its cursor, write its name
//! into the page, and its color into a style. A state that would end such a client is refused.
//! Where a member can be left out, because clients have a default for it, it is left out.

use std::borrow::Cow;

use serde_json::{Map, Value};
use yfs_engine::id::ClientId;

use crate::presence::MAX_STATE_LEN;

/// The deepest nesting of a state. Those of editors have 5 levels.
const MAX_DEPTH: usize = 32;

/// The longest name that is shown, in characters.
const MAX_NAME_LEN: usize = 128;

/// The members that are colors, wherever they are.
const COLORS: [&str; 2] = ["color", "colorLight"];

/// The members in which editors send a selection.
const SELECTIONS: [&str; 2] = ["cursor", "selection"];

/// Returns a state as others may get it: as it is, or without what is unsafe to show. `None` if
/// it is not an object of JSON, is too large or too deep, or has numbers that JavaScript cannot
/// represent.
pub fn checked_state(state: &str) -> Option<Cow<'_, str>> {
    if state.len() > MAX_STATE_LEN {
        return None;
    }
    let Value::Object(mut members) = serde_json::from_str(state).ok()? else { return None };
    let mut is_changed = make_safe(&mut members, MAX_DEPTH)?;
    for name in SELECTIONS {
        let selection = members.get_mut(name).filter(|selection| !is_selection(selection));
        if let Some(selection) = selection {
            *selection = Value::Null;
            is_changed = true;
        }
    }
    let safe = || serde_json::to_string(&members).expect("values that were parsed are JSON");
    Some(if is_changed { safe().into() } else { state.into() })
}

/// Makes colors and names safe, at any depth. Returns whether any was changed; `None` if the state
/// is refused.
fn make_safe(members: &mut Map<String, Value>, depth: usize) -> Option<bool> {
    let n_before = members.len();
    members.retain(|name, value| !COLORS.contains(&name.as_str()) || is_color(value));
    let mut is_changed = members.len() < n_before;
    for (name, value) in members {
        if let (true, Value::String(text)) = (name == "name", &mut *value) {
            let shown = printable(text);
            is_changed |= shown != *text;
            *text = shown;
        }
        is_changed |= check_value(value, depth.checked_sub(1)?)?;
    }
    Some(is_changed)
}

fn check_value(value: &mut Value, depth: usize) -> Option<bool> {
    match value {
        Value::Object(members) => make_safe(members, depth),
        Value::Array(values) => {
            let mut is_changed = false;
            for value in values {
                is_changed |= check_value(value, depth.checked_sub(1)?)?;
            }
            Some(is_changed)
        }
        Value::Number(number) => {
            let is_finite = number.as_f64().is_some_and(|number| number.abs() <= f64::MAX);
            is_finite.then_some(false)
        }
        _ => Some(false),
    }
}

/// Reports whether a value is `null` or a color as `#rrggbb`, perhaps with two digits of opacity.
fn is_color(value: &Value) -> bool {
    let Value::String(text) = value else { return value.is_null() };
    let digits = text.strip_prefix('#').unwrap_or_default();
    matches!(digits.len(), 6 | 8) && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Reports whether a name is shown as it is: all of it is visible, and it is not too long.
pub fn is_printable_name(name: &str) -> bool {
    printable(name) == name
}

/// Returns a name without characters that are not shown or that change the order of others.
fn printable(name: &str) -> String {
    let is_shown = |character: &char| !character.is_control() && !is_invisible(*character);
    name.chars().filter(is_shown).take(MAX_NAME_LEN).collect()
}

/// Reports whether a character has no glyph of its own: marks of direction, separators of lines,
/// tags, and those of no width. Joiners are parts of emoji and of several scripts.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Reports whether editors can resolve a selection: it has no two ends, or both are positions of
/// Yjs. Yjs throws at others.
fn is_selection(selection: &Value) -> bool {
    match (selection.get("anchor"), selection.get("head")) {
        (None, _) | (_, None) => true,
        (Some(anchor), Some(head)) => [anchor, head].into_iter().all(is_position),
    }
}

/// Reports whether a value is `null` or a relative position of Yjs as JSON.
fn is_position(position: &Value) -> bool {
    let Value::Object(members) = position else { return position.is_null() };
    let given = |name| members.get(name).filter(|value| !value.is_null());
    let (item, parent, name) = (given("item"), given("type"), given("tname"));
    let has_place = item.is_some() || parent.is_some() || name.is_some();
    let are_ids = [item, parent].into_iter().flatten().all(is_item_id);
    let is_assoc = given("assoc").is_none_or(Value::is_number);
    has_place && are_ids && name.is_none_or(Value::is_string) && is_assoc
}

fn is_item_id(id: &Value) -> bool {
    let is_number = |name| {
        let number = id.get(name).and_then(Value::as_u64);
        number.is_some_and(|number| number < ClientId::LIMIT)
    };
    is_number("client") && is_number("clock")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists states with what others get of them: `=` if that is the same, `-` if nothing.
    fn check(states: &[&str]) -> Vec<String> {
        let shown = states.iter().map(|state| match checked_state(state) {
            Some(Cow::Borrowed(same)) if same == *state => "=".to_owned(),
            Some(changed) => changed.into_owned(),
            None => "-".to_owned(),
        });
        shown.collect()
    }

    #[test]
    fn states_of_stock_editors_pass_as_they_are() {
        let states = [
            "{}",
            r##"{"user":{"name":"Ana María 🧑‍🚀","color":"#30bced","colorLight":"#30bced33"}}"##,
            r##"{"user":{"name":"ben","color":"#FFA500"},"cursor":{
                "anchor":{"type":null,"tname":"richtext","item":null,"assoc":0},
                "head":{"type":{"client":7,"clock":0},"tname":null,
                        "item":{"client":9007199254740990,"clock":41},"assoc":-1}}}"##,
            r#"{"cursor":null,"user":null}"#,
            r#"{"cursor":1,"mouse":{"x":-0.25,"y":1e3},"tool":["pen",2]}"#,
            r#"{"selection":{"index":3,"length":2},"data":{"name":"cy"}}"#,
            r#"{"selection":{"anchor":{"path":[0,1],"offset":2},"focus":{"path":[],"offset":0}}}"#,
        ];
        assert_eq!(check(&states), ["="; 7]);
    }

    #[test]
    fn states_that_end_stock_clients_are_refused() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(33), "]".repeat(33));
        let deeper = format!("{{\"a\":{}{}}}", "[".repeat(30_000), "]".repeat(30_000));
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_STATE_LEN));
        let states = [
            "",
            "this is not json",
            "{",
            "{}}",
            "7",
            "\"a\"",
            "[]",
            " null",
            "NaN",
            "{'a':1}",
            r#"{"a":1e999}"#,
            r#"{"a":NaN}"#,
            r#"{"a":"\ud800"}"#,
            "{\"a\":\"\u{1}\"}",
            &deep,
            &deeper,
            &long,
        ];
        assert_eq!(check(&states), ["-"; 17]);
    }

    #[test]
    fn colors_and_names_that_are_unsafe_to_show_are_left_out() {
        let states = [
            r#"{"user":{"color":"red;position:fixed;inset:0;z-index:9"}}"#,
            r##"{"user":{"color":"#30bced;}","colorLight":"url(//e.example)","name":"eve"}}"##,
            r##"{"user":{"color":{"x":1},"colorLight":7},"a":[{"color":"#12345g"}]}"##,
            r##"{"user":{"color":"#abc","name":"a\u202eb\u0007\u2066c\u0085"}}"##,
        ];
        let safe = [
            r#"{"user":{}}"#,
            r#"{"user":{"name":"eve"}}"#,
            r#"{"a":[{}],"user":{}}"#,
            r#"{"user":{"name":"abc"}}"#,
        ];
        // The order of members depends on a feature of the parser.
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        for (state, safe) in states.iter().zip(safe) {
            let checked = checked_state(state).unwrap();
            assert_eq!(parse(&checked), parse(safe), "{state}");
            assert_eq!(checked_state(&checked).unwrap(), checked, "a second check changes nothing");
        }
        let name = format!(r#"{{"name":"{}"}}"#, "é".repeat(1000));
        let shown = parse(&checked_state(&name).unwrap());
        assert_eq!(shown["name"].as_str().unwrap().chars().count(), MAX_NAME_LEN);
    }

    #[test]
    fn selections_at_which_yjs_throws_are_left_out() {
        let ends = [
            "{}",
            "5",
            "\"a\"",
            r#"{"item":{"client":1,"clock":-1}}"#,
            r#"{"item":{"client":1,"clock":0.5}}"#,
            r#"{"item":{"client":"1","clock":0}}"#,
            r#"{"item":{"client":1}}"#,
            r#"{"type":7}"#,
            r#"{"tname":7}"#,
            r#"{"tname":"text","assoc":"x"}"#,
            r#"{"item":{"client":1,"clock":9007199254740993}}"#,
        ];
        for end in ends {
            for selection in SELECTIONS {
                let fine = r#"{"tname":"text"}"#;
                let state = format!(r#"{{"{selection}":{{"anchor":{fine},"head":{end}}}}}"#);
                let safe = format!(r#"{{"{selection}":null}}"#);
                assert_eq!(checked_state(&state).unwrap(), safe, "{state}");
            }
        }
    }
}
