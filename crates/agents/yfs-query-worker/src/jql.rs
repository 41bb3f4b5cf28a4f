//! The language JQL, evaluated over jaq's values.
//!
//! The crate jql-parser parses it. The crate jql-runner is not used: it needs the feature
//! `preserve_order` of serde_json, which would change the order of keys in the whole workspace. Its
//! results are the reference (decision 68).

use std::{fmt::Display, rc::Rc};

use jaq_json::{Map, Num, Val, write};
use jql_parser::{
    group::split,
    parser::parse,
    tokens::{Index, Lens, LensValue, Range, Token},
};

/// The longest value that an error shows, in characters.
const MAX_SHOWN: usize = 100;

type Result<T> = std::result::Result<T, String>;

/// Runs a query over one value: a result for each group, and an array of them if there are several.
pub(super) fn run_jql(query: &str, value: &Val) -> Result<Val> {
    if query.trim().is_empty() {
        return Err("the query is empty".to_owned());
    }
    let tokens = parse(query).map_err(|error| format!("the query is malformed: {error}"))?;
    let groups = split(&tokens);
    match groups.as_slice() {
        [group] => run_group(group, value),
        groups => {
            let results = groups.iter().map(|group| run_group(group, value));
            results.collect::<Result<Vec<Val>>>().map(array)
        }
    }
}

fn run_group(tokens: &[&Token<'_>], value: &Val) -> Result<Val> {
    let mut current = value.clone();
    // Between `|>` and `<|` a token applies to each element.
    let mut is_piped = false;
    for token in tokens {
        match token {
            Token::PipeInOperator if !is_piped => {
                elements(&current)?;
                is_piped = true;
            }
            Token::PipeOutOperator => {
                if !std::mem::take(&mut is_piped) {
                    return Err("there is no |> before <|".to_owned());
                }
            }
            token if is_piped => {
                let results = elements(&current)?.iter().map(|element| select(token, element));
                current = array(results.collect::<Result<_>>()?);
            }
            token => current = select(token, &current)?,
        }
    }
    Ok(current)
}

fn select(token: &Token<'_>, value: &Val) -> Result<Val> {
    match token {
        Token::KeySelector(key) => {
            let found = members(value)?.get(&text(key)).cloned();
            found.ok_or_else(|| format!("there is no key {key:?} in {}", shown(value)))
        }
        Token::MultiKeySelector(keys) => {
            let members = members(value)?;
            let found = keys.iter().map(|key| {
                let found = members.get(&text(key)).cloned();
                let missing = || format!("there is no key {key:?} in {}", shown(value));
                Ok((text(key), found.ok_or_else(missing)?))
            });
            found.collect::<Result<_>>().map(Val::obj)
        }
        Token::ArrayIndexSelector(indexes) => match indexes.as_slice() {
            [index] => element(value, *index),
            indexes => {
                let found = indexes.iter().map(|index| element(value, *index));
                found.collect::<Result<Vec<_>>>().map(array)
            }
        },
        Token::ArrayRangeSelector(range) => {
            let elements = elements(value)?;
            let order = range_of(range, elements.len(), value)?;
            Ok(array(order.into_iter().map(|at| elements[at].clone()).collect()))
        }
        Token::ObjectIndexSelector(indexes) => {
            let members = members(value)?;
            let order = indexes.iter().map(|index| (*index).into()).collect();
            pick_members(members, order, value)
        }
        Token::ObjectRangeSelector(range) => {
            let members = members(value)?;
            pick_members(members, range_of(range, members.len(), value)?, value)
        }
        Token::LensSelector(lenses) => {
            let elements = elements(value)?.iter();
            let kept = elements.filter(|element| lenses.iter().any(|lens| matches(lens, element)));
            Ok(array(kept.cloned().collect()))
        }
        Token::FlattenOperator => flatten(value),
        Token::KeyOperator => Ok(keys_of(value)),
        Token::TruncateOperator => Ok(match value {
            Val::Arr(_) => array(Vec::new()),
            Val::Obj(_) => Val::obj(Map::default()),
            scalar => scalar.clone(),
        }),
        Token::PipeInOperator => Err("there is a |> within a |>".to_owned()),
        Token::PipeOutOperator | Token::GroupSeparator => {
            Err("an operator is where none can be".to_owned())
        }
    }
}

/// Returns the positions of a range, which may run backwards. Both ends are included.
fn range_of(range: &Range, len: usize, value: &Val) -> Result<Vec<usize>> {
    let Some(non_zero) = std::num::NonZeroUsize::new(len) else { return Ok(Vec::new()) };
    let (begin, end) = range.to_boundaries(non_zero);
    if begin >= len || end >= len {
        return Err(format!("the range {begin}:{end} is not in {}", shown(value)));
    }
    Ok(if begin < end { (begin..=end).collect() } else { (end..=begin).rev().collect() })
}

fn pick_members(members: &Map, order: Vec<usize>, value: &Val) -> Result<Val> {
    if members.is_empty() {
        return Ok(Val::obj(Map::default()));
    }
    let picked = order.into_iter().map(|at| {
        let found = members.get_index(at).map(|(key, value)| (key.clone(), value.clone()));
        found.ok_or_else(|| format!("there is no member {at} in {}", shown(value)))
    });
    picked.collect::<Result<_>>().map(Val::obj)
}

fn element(value: &Val, index: Index) -> Result<Val> {
    let at: usize = index.into();
    let found = match value {
        Val::Arr(elements) => elements.get(at).cloned(),
        _ => None,
    };
    found.ok_or_else(|| format!("there is no element {at} in {}", shown(value)))
}

/// Reports whether a lens accepts an element: its path exists there, with its value if it has one.
fn matches(lens: &Lens<'_>, element: &Val) -> bool {
    let (tokens, expected) = lens.get_ref();
    let tokens: Vec<&Token<'_>> = tokens.iter().collect();
    let Ok(found) = run_group(&tokens, element) else { return false };
    match (expected, &found) {
        (None, _) | (Some(LensValue::Null), Val::Null) => true,
        (Some(LensValue::Bool(expected)), Val::Bool(found)) => expected == found,
        (Some(LensValue::Number(expected)), Val::Num(Num::Int(found))) => {
            usize::try_from(*found).is_ok_and(|found| found == *expected)
        }
        (Some(LensValue::String(expected)), found) => *found == text(expected),
        _ => false,
    }
}

fn flatten(value: &Val) -> Result<Val> {
    match value {
        Val::Arr(elements) => {
            let mut flat = Vec::new();
            flatten_array(elements, &mut flat);
            Ok(array(flat))
        }
        Val::Obj(members) => {
            let mut flat = Map::default();
            flatten_object(members, "", &mut flat);
            Ok(Val::obj(flat))
        }
        scalar => Err(format!("{} has nothing to flatten", shown(scalar))),
    }
}

fn flatten_array(elements: &[Val], flat: &mut Vec<Val>) {
    for element in elements {
        match element {
            Val::Arr(inner) => flatten_array(inner, flat),
            element => flat.push(element.clone()),
        }
    }
}

fn flatten_object(members: &Map, prefix: &str, flat: &mut Map) {
    for (key, value) in members {
        let path = format!("{prefix}{}", key_text(key));
        match value {
            Val::Obj(inner) => flatten_object(inner, &format!("{path}."), flat),
            value => drop(flat.insert(text(path), value.clone())),
        }
    }
}

fn keys_of(value: &Val) -> Val {
    match value {
        Val::Arr(elements) => array((0..elements.len()).map(Val::from).collect()),
        Val::Obj(members) => {
            let mut keys: Vec<Val> = members.keys().cloned().collect();
            keys.sort();
            array(keys)
        }
        scalar => scalar.clone(),
    }
}

fn elements(value: &Val) -> Result<&[Val]> {
    match value {
        Val::Arr(elements) => Ok(elements),
        other => Err(format!("{} is not an array", shown(other))),
    }
}

fn members(value: &Val) -> Result<&Map> {
    match value {
        Val::Obj(members) => Ok(members),
        other => Err(format!("{} is not an object", shown(other))),
    }
}

fn array(elements: Vec<Val>) -> Val {
    Val::Arr(Rc::new(elements))
}

fn text(text: impl Display) -> Val {
    Val::utf8_str(text.to_string().into_bytes())
}

fn key_text(key: &Val) -> String {
    match key {
        Val::TStr(text) => String::from_utf8_lossy(text).into_owned(),
        // Keys of YAML may be any values.
        key => key.to_string(),
    }
}

/// Returns a value for an error, cut.
fn shown(value: &Val) -> String {
    let mut bytes = Vec::new();
    // Memory has no errors.
    write::write(&mut bytes, &write::Pp::<String>::default(), 0, value).ok();
    let text = String::from_utf8_lossy(&bytes);
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}
