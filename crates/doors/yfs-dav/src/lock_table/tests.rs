//! Locks in each other's way, and their bounds.

use super::*;

fn wish(root: &str, is_deep: bool, is_exclusive: bool) -> LockRequest {
    LockRequest {
        root: VPath::parse(root).unwrap(),
        is_deep,
        is_exclusive,
        owner: "".into(),
        holder: "ana".into(),
        timeout: DEFAULT_TIMEOUT,
    }
}

#[test]
fn exclusive_locks_exclude_and_shared_ones_share() {
    let now = Instant::now();
    for (first, second, conflicts) in [
        (wish("/a", false, true), wish("/a", false, true), true),
        (wish("/a", false, true), wish("/a", false, false), true),
        (wish("/a", false, false), wish("/a", false, true), true),
        (wish("/a", false, false), wish("/a", false, false), false),
        (wish("/a", true, true), wish("/a/b/c", false, true), true),
        (wish("/a", false, true), wish("/a/b", false, true), false),
        (wish("/a/b", false, true), wish("/a", true, true), true),
        (wish("/a/b", false, true), wish("/a", false, true), false),
        (wish("/", true, false), wish("/a", false, true), true),
        (wish("/a", false, true), wish("/", true, true), true),
        (wish("/a-b", true, true), wish("/a", true, true), false),
    ] {
        let mut table = LockTable::default();
        table.lock(first.clone(), now).unwrap();
        let granted = table.lock(second.clone(), now);
        assert_eq!(granted.is_err(), conflicts, "{first:?} {second:?}");
    }
}

#[test]
fn a_lock_ends_with_its_time_its_holder_or_its_path() {
    let now = Instant::now();
    let mut table = LockTable::default();
    let path = VPath::parse("/a/b").unwrap();
    let lock = table.lock(wish("/a", true, true), now).unwrap();
    assert_eq!(table.covering(&path, now), std::slice::from_ref(&lock));
    assert!(table.unlock(&path, &lock.token, "bob", now).is_none());
    assert!(table.unlock(&path, "urn:x", "ana", now).is_none());
    let later = now + DEFAULT_TIMEOUT;
    assert!(table.covering(&path, later).is_empty());
    let longer = Some(MAX_TIMEOUT);
    assert!(table.refresh(&path, &lock.token, "ana", longer, now).is_some());
    assert_eq!(table.covering(&path, later).len(), 1);
    assert!(table.unlock(&path, &lock.token, "ana", later).is_some());
    table.lock(wish("/a/b", false, true), now).unwrap();
    table.lock(wish("/a/b/c", false, true), now).unwrap();
    table.lock(wish("/a/bc", false, true), now).unwrap();
    table.forget(&path);
    assert_eq!(table.below(&VPath::root(), now).len(), 1);
    table.forget(&VPath::root());
    assert!(table.locks.is_empty() && table.n_locks == 0 && table.n_by_holder.is_empty());
}

#[test]
fn locks_are_bounded_and_expired_ones_make_room() {
    let now = Instant::now();
    let mut table = LockTable::default();
    for n in 0..MAX_LOCKS_OF_ONE {
        table.lock(wish(&format!("/{n}"), false, true), now).unwrap();
    }
    let more = || wish("/more", false, true);
    assert_eq!(table.lock(more(), now), Err(LockRefusal::TooMany));
    let other = LockRequest { holder: "bob".into(), ..more() };
    let other = table.lock(other, now).unwrap();
    table.unlock(&other.root, &other.token, "bob", now).unwrap();
    assert!(table.lock(more(), now + DEFAULT_TIMEOUT).is_ok());
    assert_eq!(table.n_locks, 1);
}

#[test]
fn timeouts_are_read() {
    let seconds = |text| timeout_of(Some(text)).map(|time| time.as_secs());
    assert_eq!(seconds("Second-60"), Some(60));
    assert_eq!(seconds("Infinite, Second-4100000000"), Some(3_600));
    assert_eq!(seconds("Extend-1, second-18446744073709551615"), Some(3_600));
    assert_eq!(seconds("Second-0"), Some(1));
    for odd in ["", "Second-", "Second-x", "é-second", "Second--1"] {
        assert_eq!(seconds(odd), None, "{odd}");
    }
}
