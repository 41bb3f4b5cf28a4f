//! A peer that knows only what `docs/spec/filesystem.md` says: whole rows, one clock for all, no
//! cells.

use std::collections::{BTreeMap, HashMap};

use rand::{RngExt, rngs::ChaCha8Rng, seq::IndexedRandom};
use yfs_engine::{Number, id::FileId};
use yrs::{
    Any, Array, ArrayRef, Doc, OffsetKind, Options, Out, ReadTxn, StateVector, Transact, Update,
    updates::decoder::Decode, updates::encoder::Encode,
};

/// The main document in the hands of an application that follows only the seed.
#[derive(Debug)]
pub struct Plain {
    doc: Doc,
    /// The greatest timestamp ever seen, for all keys together.
    clock: f64,
}

/// The winning elements by key: where they stand, their timestamps and values.
type Winners = BTreeMap<String, (u32, f64, Any)>;

impl Plain {
    /// Opens an empty document.
    pub fn new(client: u64) -> Self {
        let options = Options {
            client_id: yrs::ClientID::new(client),
            offset_kind: OffsetKind::Utf16,
            skip_gc: false,
            cleanup_formatting: false,
            ..Options::default()
        };
        Self { doc: Doc::with_options(options), clock: 0.0 }
    }

    /// Changes a random row as an application does.
    pub fn step(&mut self, rng: &mut ChaCha8Rng, now: i64) {
        let rows = self.rows();
        let keys: Vec<&String> = rows.keys().collect();
        let Some(key) = keys.choose(rng) else { return };
        let mut row = rows[*key].clone();
        let folders: Vec<&String> =
            keys.iter().copied().filter(|key| text(&rows[*key]["type"]) == "folder").collect();
        match rng.random_range(0..12) {
            0..3 => drop(
                row.insert("name".into(), Any::from(format!("plain{}", rng.random_range(0..9)))),
            ),
            3..6 => {
                let parent = folders.choose(rng).map_or(Any::Null, |id| Any::from(id.as_str()));
                row.insert("parentId".into(), parent);
            }
            6 => drop(row.insert("trashedAt".into(), Any::from(now as f64))),
            7 => drop(row.insert("trashedAt".into(), Any::Null)),
            8 => return self.delete(key),
            _ => drop(row.insert("updatedAt".into(), Any::from(now as f64))),
        }
        self.set(key, row, now);
    }

    /// Writes one member of the row that has this name.
    ///
    /// # Panics
    ///
    /// Panics if no row has the name.
    pub fn change(&mut self, name: &str, member: &str, value: Any, now: i64) {
        let mut rows = self.rows().into_iter();
        let found = rows.find(|(_, row)| text(&row["name"]) == name);
        let (key, mut row) = found.unwrap_or_else(|| panic!("no row is named {name}"));
        row.insert(member.to_owned(), value);
        self.set(&key, row, now);
    }

    /// Returns the rows that it sees.
    ///
    /// # Panics
    ///
    /// Panics if one is not what the seed allows (I7).
    pub fn rows(&self) -> BTreeMap<String, HashMap<String, Any>> {
        let winners = self.winners().into_iter();
        winners.map(|(key, (_, _, value))| (key.clone(), checked(&key, value))).collect()
    }

    /// Takes in an update, deletes the elements that lost, and follows the greatest clock.
    ///
    /// # Panics
    ///
    /// Panics if it is no update.
    pub fn receive(&mut self, update: &[u8]) {
        let update = Update::decode_v1(update).expect("an update");
        self.doc.transact_mut().apply_update(update).expect("an update applies");
        let array = self.doc.get_or_insert_array("table:files");
        let mut txn = self.doc.transact_mut();
        let winners = winners(&txn, &array);
        self.clock = winners.values().map(|(_, ts, _)| *ts).fold(self.clock, f64::max);
        let kept: Vec<u32> = winners.values().map(|(index, _, _)| *index).collect();
        for index in (0..array.len(&txn)).rev().filter(|index| !kept.contains(index)) {
            array.remove(&mut txn, index);
        }
    }

    /// Returns what it has, for others to compare.
    pub fn state_vector(&self) -> Vec<u8> {
        self.doc.transact().state_vector().encode_v1()
    }

    /// Returns the updates that a peer lacks.
    ///
    /// # Panics
    ///
    /// Panics if that is no state vector.
    pub fn diff(&self, state_vector: &[u8]) -> Vec<u8> {
        let state_vector = StateVector::decode_v1(state_vector).expect("a state vector");
        self.doc.transact().encode_diff_v1(&state_vector)
    }

    fn winners(&self) -> Winners {
        let array = self.doc.get_or_insert_array("table:files");
        winners(&self.doc.transact(), &array)
    }

    /// Writes a whole row: deletes the entry that it sees, and appends the new one.
    fn set(&mut self, key: &str, value: HashMap<String, Any>, now: i64) {
        self.clock = (now as f64).max(self.clock + 1.0);
        self.delete(key);
        let members =
            [("key", Any::from(key)), ("val", Any::from(value)), ("ts", Any::from(self.clock))];
        let members = HashMap::from(members.map(|(name, value)| (name.to_owned(), value)));
        let array = self.doc.get_or_insert_array("table:files");
        array.push_back(&mut self.doc.transact_mut(), Any::from(members));
    }

    fn delete(&mut self, key: &str) {
        let seen = self.winners().get(key).map(|(index, _, _)| *index);
        let array = self.doc.get_or_insert_array("table:files");
        if let Some(index) = seen {
            array.remove(&mut self.doc.transact_mut(), index);
        }
    }
}

fn winners(txn: &impl ReadTxn, array: &ArrayRef) -> Winners {
    let mut winners = Winners::new();
    for (index, out) in (0..).zip(array.iter(txn)) {
        let Out::Any(Any::Map(element)) = out else { panic!("a row that is no object") };
        let Some(Any::String(key)) = element.get("key") else { panic!("a row without a key") };
        let ts = element.get("ts").and_then(number).expect("a row without a time");
        let best = winners.get(key.as_ref()).map(|(_, ts, _)| *ts);
        if best.is_none_or(|best| ts >= best) {
            winners.insert(key.to_string(), (index, ts, element["val"].clone()));
        }
    }
    winners
}

/// Checks a row as the seed's schema would.
fn checked(key: &str, value: Any) -> HashMap<String, Any> {
    let Any::Map(row) = &value else { panic!("{key} has no row") };
    assert_eq!(text(&row["id"]), key);
    FileId::parse(key).unwrap_or_else(|error| panic!("{key}: {error}"));
    assert!(!text(&row["name"]).is_empty(), "{key} has no name");
    assert!(["file", "folder"].contains(&text(&row["type"]).as_str()), "{key} has no type");
    assert!(matches!(row["parentId"], Any::Null | Any::String(_)), "{key}: {:?}", row["parentId"]);
    for field in ["size", "createdAt", "updatedAt"] {
        assert!(number(&row[field]).is_some(), "{key}: {field} is {:?}", row[field]);
    }
    let trashed = &row["trashedAt"];
    assert!(*trashed == Any::Null || number(trashed).is_some(), "{key}: {trashed:?}");
    (**row).clone()
}

fn text(value: &Any) -> String {
    match value {
        Any::String(text) => text.to_string(),
        _ => String::new(),
    }
}

/// Returns a number, unless it came as a BigInt, which JavaScript cannot add to.
fn number(value: &Any) -> Option<f64> {
    match value {
        Any::Number(Number::Int(number)) => Some(*number as f64),
        Any::Number(Number::Float(number)) => Some(*number),
        _ => None,
    }
}
