//! The locks of all clients, in memory.
//!
//! A lock keeps other clients of WebDAV from writing. It is bound to the path, to the credential
//! that took it and to its time. A restart of the server ends all locks.
//!
//! # Cost
//!
//! A credential holds at most [`MAX_LOCKS_OF_ONE`] locks, all of them at most [`MAX_LOCKS`].

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use tokio::time::Instant;
use yfs_types::path::VPath;

/// The greatest number of locks, and of those of one credential.
const MAX_LOCKS: usize = 8_192;
pub(crate) const MAX_LOCKS_OF_ONE: usize = 1_024;

/// How long a lock lasts unless its client says it, and how long at most.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);
const MAX_TIMEOUT: Duration = Duration::from_secs(3_600);

/// A lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DavLock {
    /// Its token, a URI.
    pub(crate) token: Arc<str>,
    /// What it was taken on.
    pub(crate) root: VPath,
    /// Whether it covers all that is below.
    pub(crate) is_deep: bool,
    pub(crate) is_exclusive: bool,
    /// What the client says of its owner, as XML.
    pub(crate) owner: Arc<str>,
    /// The credential that took it.
    pub(crate) holder: Arc<str>,
    pub(crate) timeout: Duration,
    expires: Instant,
}

/// The wish for a lock.
#[derive(Debug, Clone)]
pub(crate) struct LockRequest {
    pub(crate) root: VPath,
    pub(crate) is_deep: bool,
    pub(crate) is_exclusive: bool,
    pub(crate) owner: Arc<str>,
    pub(crate) holder: Arc<str>,
    pub(crate) timeout: Duration,
}

/// The reason why a lock is not granted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LockRefusal {
    /// There is another lock, taken on this path.
    Conflict(VPath),
    /// There are too many.
    TooMany,
    /// No random numbers are to be had for a token.
    NoToken,
}

/// The locks, by the path that each was taken on.
#[derive(Debug, Default)]
pub(crate) struct LockTable {
    locks: BTreeMap<String, Vec<DavLock>>,
    n_locks: usize,
    n_by_holder: HashMap<Arc<str>, usize>,
}

impl LockTable {
    /// Grants a lock, unless another is in its way.
    pub(crate) fn lock(&mut self, wish: LockRequest, now: Instant) -> Result<DavLock, LockRefusal> {
        self.drop_expired(now);
        let others = self.covering(&wish.root, now);
        let below = if wish.is_deep { self.below(&wish.root, now) } else { Vec::new() };
        let conflict = others.iter().chain(&below).find(|o| o.is_exclusive || wish.is_exclusive);
        if let Some(lock) = conflict {
            return Err(LockRefusal::Conflict(lock.root.clone()));
        }
        let n_of_one = self.n_by_holder.get(&wish.holder).copied().unwrap_or(0);
        if self.n_locks >= MAX_LOCKS || n_of_one >= MAX_LOCKS_OF_ONE {
            return Err(LockRefusal::TooMany);
        }
        let LockRequest { root, is_deep, is_exclusive, owner, holder, timeout } = wish;
        let token = new_token().ok_or(LockRefusal::NoToken)?;
        let expires = now + timeout;
        let lock = DavLock { token, root, is_deep, is_exclusive, owner, holder, timeout, expires };
        self.locks.entry(lock.root.to_string()).or_default().push(lock.clone());
        self.n_locks += 1;
        *self.n_by_holder.entry(lock.holder.clone()).or_default() += 1;
        Ok(lock)
    }

    /// Returns the locks that cover a path.
    pub(crate) fn covering(&self, path: &VPath, now: Instant) -> Vec<DavLock> {
        let mut found = Vec::new();
        let mut at = Some(path.clone());
        while let Some(root) = at {
            let locks = self.locks.get(root.as_str()).into_iter().flatten();
            let covers = |lock: &&DavLock| lock.expires > now && (lock.is_deep || root == *path);
            found.extend(locks.filter(covers).cloned());
            at = root.parent();
        }
        found
    }

    /// Returns the locks on what is below a path.
    pub(crate) fn below(&self, path: &VPath, now: Instant) -> Vec<DavLock> {
        let below = self.locks_below(path);
        below.filter(|lock| lock.expires > now).cloned().collect()
    }

    /// Prolongs a lock that covers a path and that its holder names.
    pub(crate) fn refresh(
        &mut self,
        path: &VPath,
        token: &str,
        holder: &str,
        timeout: Option<Duration>,
        now: Instant,
    ) -> Option<DavLock> {
        let held = self.held(path, token, holder, now)?;
        let locks = self.locks.get_mut(held.root.as_str())?;
        let lock = locks.iter_mut().find(|lock| lock.token == held.token)?;
        lock.timeout = timeout.unwrap_or(lock.timeout);
        lock.expires = now + lock.timeout;
        Some(lock.clone())
    }

    /// Ends a lock that covers a path and that its holder names.
    pub(crate) fn unlock(
        &mut self,
        path: &VPath,
        token: &str,
        holder: &str,
        now: Instant,
    ) -> Option<DavLock> {
        let held = self.held(path, token, holder, now)?;
        self.retain(held.root.as_str().to_owned(), |lock| lock.token != held.token);
        Some(held)
    }

    /// Ends the locks on what is no longer at a path or below it.
    pub(crate) fn forget(&mut self, path: &VPath) {
        let gone: Vec<_> = self.locks_below(path).map(|lock| lock.root.to_string()).collect();
        for root in gone.into_iter().chain([path.to_string()]) {
            self.retain(root, |_| false);
        }
    }

    fn held(&self, path: &VPath, token: &str, holder: &str, now: Instant) -> Option<DavLock> {
        let mut covering = self.covering(path, now).into_iter();
        covering.find(|lock| *lock.token == *token && *lock.holder == *holder)
    }

    fn locks_below(&self, path: &VPath) -> impl Iterator<Item = &DavLock> {
        let prefix = if path.is_root() { "/".to_owned() } else { format!("{path}/") };
        let below = self.locks.range(prefix.clone()..);
        let below = below.take_while(move |(root, _)| root.starts_with(&prefix));
        below.flat_map(|(_, locks)| locks).filter(|lock| !lock.root.is_root())
    }

    fn retain(&mut self, root: String, keep: impl Fn(&DavLock) -> bool) {
        let Some(locks) = self.locks.get_mut(&root) else { return };
        let (kept, ended): (Vec<_>, Vec<_>) = locks.drain(..).partition(keep);
        self.n_locks -= ended.len();
        for lock in &ended {
            if let Some(n) = self.n_by_holder.get_mut(&lock.holder) {
                *n -= 1;
                if *n == 0 {
                    self.n_by_holder.remove(&lock.holder);
                }
            }
        }
        match kept.is_empty() {
            true => drop(self.locks.remove(&root)),
            false => *locks = kept,
        }
    }

    /// Ends the locks whose time is over. It walks all of them, but only once there are many.
    fn drop_expired(&mut self, now: Instant) {
        if self.n_locks < MAX_LOCKS_OF_ONE {
            return;
        }
        let expired = self.locks.iter();
        let expired = expired.filter(|(_, locks)| locks.iter().any(|lock| lock.expires <= now));
        let expired: Vec<_> = expired.map(|(root, _)| root.clone()).collect();
        for root in expired {
            self.retain(root, |lock| lock.expires > now);
        }
    }
}

/// Reads the `Timeout` header: the first of its times that is understood.
pub(crate) fn timeout_of(header: Option<&str>) -> Option<Duration> {
    header?.split(',').find_map(|time| {
        let time = time.trim();
        if time.eq_ignore_ascii_case("infinite") {
            return Some(MAX_TIMEOUT);
        }
        let seconds = time.get(..7).filter(|word| word.eq_ignore_ascii_case("second-"));
        let seconds = seconds.and_then(|_| time[7..].parse::<u64>().ok())?;
        Some(Duration::from_secs(seconds).clamp(Duration::from_secs(1), MAX_TIMEOUT))
    })
}

/// Returns how long a new lock lasts.
pub(crate) fn new_timeout(header: Option<&str>) -> Duration {
    timeout_of(header).unwrap_or(DEFAULT_TIMEOUT)
}

/// Returns a token that no other lock has, now or later: a random UUID.
fn new_token() -> Option<Arc<str>> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    Some(format!("urn:uuid:{}", parts.join("-")).into())
}

#[cfg(test)]
mod tests;
