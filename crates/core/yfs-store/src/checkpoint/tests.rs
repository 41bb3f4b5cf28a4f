//! The map against one in memory, and with damaged files.

use std::{collections::BTreeMap, fs, path::Path};

use crate::encryption::{KeyRecord, SealedDirectory, UnlockKey};
use proptest::prelude::*;

use super::*;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Writes changes as a new version.
fn write(
    directory: &SealedDirectory,
    changes: &[(Vec<u8>, Option<Vec<u8>>)],
    label: &[u8],
    is_new: bool,
) {
    let base = CheckpointMap::open(directory, 1 << 20).unwrap().filter(|_| !is_new);
    let writer = match &base {
        Some(base) => CheckpointWriter::begin_from(directory, base),
        None => CheckpointWriter::begin(directory),
    };
    let mut writer = writer.unwrap().unwrap();
    for (key, value) in changes {
        writer.set(key, value.as_deref()).unwrap();
    }
    writer.finish(label).unwrap();
}

/// Returns a directory in which the blocks are plain, or sealed.
fn directory_at(path: &Path, is_sealed: bool) -> SealedDirectory {
    let key = UnlockKey::from_key_file(vec![1; 32]).unwrap();
    let (_, data_key) = KeyRecord::create(&key).unwrap();
    SealedDirectory::new(path, is_sealed.then_some(&data_key))
}

fn open(directory: &SealedDirectory) -> CheckpointMap {
    CheckpointMap::open(directory, 1 << 20).unwrap().unwrap()
}

fn apply(model: &mut Model, changes: &[(Vec<u8>, Option<Vec<u8>>)]) {
    for (key, value) in changes {
        match value {
            Some(value) => drop(model.insert(key.clone(), value.clone())),
            None => drop(model.remove(key)),
        }
    }
}

/// Returns all entries, read in pages.
fn all(map: &CheckpointMap, page: usize) -> Result<Model> {
    let (mut entries, mut from) = (Model::new(), Vec::new());
    loop {
        let read = map.scan(&from, &[0xff; 9], page)?;
        let Some((last, _)) = read.last() else { return Ok(entries) };
        from = [last.as_slice(), &[0]].concat();
        entries.extend(read);
    }
}

/// Returns the entries of a range, read in one pass.
fn range(map: &CheckpointMap, from: &[u8], to: &[u8]) -> Result<Model> {
    let mut entries = Model::new();
    map.for_each_entry(from, to, |key, value| {
        assert_eq!(entries.insert(key.to_vec(), value.to_vec()), None);
        Ok::<_, CheckpointError>(())
    })?;
    Ok(entries)
}

/// Asserts that ranges that are read in one pass have what the map has.
fn check_ranges(map: &CheckpointMap, model: &Model) {
    let ends = ["", "key 00700", "key 02", "key 04999", "\u{ff}"].map(str::as_bytes);
    for (at, from) in ends.iter().enumerate() {
        for to in &ends[at..] {
            let expected = model.range(from.to_vec()..to.to_vec());
            let expected: Model = expected.map(|(k, v)| (k.clone(), v.clone())).collect();
            assert_eq!(range(map, from, to).unwrap(), expected, "{from:?} {to:?}");
        }
    }
}

/// Asserts that values of ascending keys, near to each other and far apart, are those of the map.
fn check_ascending(map: &CheckpointMap, model: &Model) {
    for step in [1, 7, 100, 3000] {
        let there = model.keys().step_by(step).cloned();
        let absent = (0..5_000).step_by(step).map(|n| format!("key {n:05}").into_bytes());
        let mut keys: Vec<Vec<u8>> = there.chain(absent).collect();
        keys.sort_unstable();
        let mut read = Vec::new();
        map.get_ascending(&keys, |number, value| {
            assert_eq!(number, read.len());
            read.push(value.map(<[u8]>::to_vec));
            Ok::<_, CheckpointError>(())
        })
        .unwrap();
        let expected: Vec<_> = keys.iter().map(|key| model.get(key).cloned()).collect();
        assert_eq!(read, expected, "every {step}");
    }
}

fn any_key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(0..4_u8, 0..6),
        (0..5000_u32).prop_map(|number| format!("key {number:05}").into_bytes()),
    ]
}

fn any_changes() -> impl Strategy<Value = Vec<(Vec<u8>, Option<Vec<u8>>)>> {
    let value = prop_oneof![
        6 => (0..60_usize).prop_map(|len| vec![b'v'; len]),
        1 => (0..9000_usize).prop_map(|len| vec![b'w'; len]),
    ];
    prop::collection::vec((any_key(), prop::option::weighted(0.8, value)), 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each version is the map as it was, also while newer ones are written.
    #[test]
    fn versions_are_the_map(
        versions in prop::collection::vec((any_changes(), prop::bool::weighted(0.1)), 1..12),
        page in 1..300_usize,
        is_sealed: bool,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let directory = &directory_at(directory.path(), is_sealed);
        let mut model = Model::new();
        let mut held: Option<(CheckpointMap, Model)> = None;
        for (number, (changes, is_new)) in versions.iter().enumerate() {
            if *is_new {
                model.clear();
            }
            write(directory, changes, &[number as u8], *is_new);
            apply(&mut model, changes);
            let map = open(directory);
            prop_assert_eq!(map.label(), &[number as u8]);
            prop_assert_eq!(&all(&map, page).unwrap(), &model);
            check_ranges(&open(directory), &model);
            check_ascending(&open(directory), &model);
            for (key, _) in changes {
                prop_assert_eq!(map.get(key).unwrap(), model.get(key).cloned());
            }
            if let Some((map, model)) = &held {
                prop_assert_eq!(&all(map, page).unwrap(), model);
            }
            if number % 3 == 0 {
                held = Some((map, model.clone()));
            }
        }
    }
}

/// A map of several files, and its entries.
fn sample(directory: &SealedDirectory) -> Model {
    let mut model = Model::new();
    for version in 0..3_u32 {
        let entry = |number: u32| {
            let key = format!("key {:06}", number * 7 % 20_000).into_bytes();
            let value =
                (!number.is_multiple_of(9)).then(|| format!("{version} {number}").into_bytes());
            (key, value)
        };
        let changes: Vec<_> = (0..20_000 / 50_u32.pow(version)).map(entry).collect();
        write(directory, &changes, b"x", false);
        apply(&mut model, &changes);
    }
    assert!(fs::read_dir(directory.path()).unwrap().count() > 4, "there are several files");
    model
}

/// Asks a map whose files are damaged: no answer is wrong.
fn ask(directory: &SealedDirectory, model: &Model, seed: usize) -> bool {
    let Ok(opened) = CheckpointMap::open(directory, 1 << 20) else { return true };
    let map = opened.expect("a manifest is never missing");
    let keys = model.keys().skip(seed % 97).step_by(97);
    let mut is_noticed = false;
    for key in keys {
        match map.get(key) {
            Ok(value) => assert_eq!(value.as_ref(), model.get(key)),
            Err(_) => is_noticed = true,
        }
    }
    match all(&map, 1000) {
        Ok(all) => assert!(all == *model),
        Err(_) => is_noticed = true,
    }
    is_noticed
}

#[test]
fn a_flipped_bit_or_a_cut_is_noticed_or_changes_no_answer() {
    for is_sealed in [false, true] {
        flip_and_cut(is_sealed);
    }
}

fn flip_and_cut(is_sealed: bool) {
    let directory = tempfile::tempdir().unwrap();
    let directory = &directory_at(directory.path(), is_sealed);
    let model = sample(directory);
    let mut n_noticed = 0;
    for entry in fs::read_dir(directory.path()).unwrap() {
        let path = entry.unwrap().path();
        let sound = fs::read(&path).unwrap();
        let step = (sound.len() / 150).max(1);
        for at in (0..sound.len()).step_by(step) {
            let mut bytes = sound.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(&path, &bytes).unwrap();
            n_noticed += usize::from(ask(directory, &model, at));
            fs::write(&path, &sound[..at]).unwrap();
            assert!(ask(directory, &model, at), "a cut at {at} of {path:?}");
        }
        fs::write(&path, &sound).unwrap();
    }
    assert!(!ask(directory, &model, 0));
    assert!(n_noticed > 300, "{n_noticed}");
}

#[test]
fn blocks_of_other_versions_are_noticed() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (one, two) = (directory_at(one.path(), false), directory_at(two.path(), false));
    let model = sample(&one);
    sample(&two);
    let files = |directory: &Path| -> Vec<_> {
        let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        let mut levels: Vec<_> =
            paths.filter(|path| path.extension().is_some_and(|end| end == "level")).collect();
        levels.sort_by_key(|path| fs::metadata(path).unwrap().len());
        levels
    };
    for (mine, others) in files(one.path()).iter().zip(files(two.path())) {
        let (sound, others) = (fs::read(mine).unwrap(), fs::read(others).unwrap());
        for at in (0..sound.len().min(others.len())).step_by(4096) {
            let end = (at + 4096).min(sound.len()).min(others.len());
            let mut bytes = sound.clone();
            bytes[at..end].copy_from_slice(&others[at..end]);
            fs::write(mine, &bytes).unwrap();
            assert!(bytes == sound || ask(&one, &model, at), "{at}");
        }
        fs::write(mine, &sound).unwrap();
    }
}

#[test]
fn sealed_files_have_no_key_or_value_and_open_only_with_their_cipher() {
    let directory = tempfile::tempdir().unwrap();
    let sealed = directory_at(directory.path(), true);
    let model = sample(&sealed);
    for entry in fs::read_dir(directory.path()).unwrap() {
        let content = fs::read(entry.unwrap().path()).unwrap();
        assert!(!content.windows(4).any(|bytes| bytes == b"key "));
    }
    assert!(all(&open(&sealed), 1000).unwrap() == model);
    for other in [directory_at(directory.path(), false), directory_at(directory.path(), true)] {
        let map = CheckpointMap::open(&other, 1 << 20).unwrap().unwrap();
        assert!(matches!(map.check(), Err(CheckpointError::Damaged(_))));
    }
}

#[test]
fn one_process_writes_at_a_time_and_changes_need_the_newest_version() {
    let directory = tempfile::tempdir().unwrap();
    let directory = &directory_at(directory.path(), false);
    assert!(CheckpointMap::open(directory, 0).unwrap().is_none());
    write(directory, &[(b"a".to_vec(), Some(b"1".to_vec()))], b"one", true);
    let old = open(directory);
    let writer = CheckpointWriter::begin(directory).unwrap().unwrap();
    assert!(CheckpointWriter::begin(directory).unwrap().is_none());
    drop(writer);
    assert_eq!(open(directory).label(), b"one", "a dropped writer changes nothing");
    write(directory, &[], b"two", false);
    let begun = CheckpointWriter::begin_from(directory, &old);
    assert!(matches!(begun, Err(CheckpointError::Stale)));
    assert_eq!(open(directory).get(b"a").unwrap(), Some(b"1".to_vec()));
}

#[test]
fn many_changes_are_written_in_bounded_memory_and_left_files_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let directory = &directory_at(directory.path(), false);
    let left = directory.path().join("0123.level");
    fs::write(&left, b"of a killed writer").unwrap();
    let mut writer = CheckpointWriter::begin(directory).unwrap().unwrap();
    assert!(!left.exists());
    let value = vec![7; 1000];
    for number in 0..100_000_u32 {
        let key = number.wrapping_mul(2_654_435_761).to_be_bytes();
        writer.set(&key, Some(&value)).unwrap();
    }
    writer.finish(b"").unwrap();
    let map = open(directory);
    for number in (0..100_000_u32).step_by(991) {
        let key = number.wrapping_mul(2_654_435_761).to_be_bytes();
        assert_eq!(map.get(&key).unwrap().map(|found| found.len()), Some(1000));
    }
    let n_files = fs::read_dir(directory.path()).unwrap().count();
    assert!(n_files <= 5, "{n_files} files");
}
