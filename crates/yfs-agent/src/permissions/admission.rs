//! The decision about one call: every object that it needs, every rule about it, and the questions
//! that rules ask.
//!
//! # Locks
//!
//! A call holds the session's lock from its checks to the end of its operation: shared, or
//! exclusively if it may change where paths lead. The lock is released while a broker decides, and
//! everything is checked again afterwards.

use tokio::sync::{RwLockReadGuard, RwLockWriteGuard};
use yfs_types::path::VPath;
use yfs_vfs::{FsCode, FsError, Op, WalkOptions};

use super::{
    broker::{ApprovalDecision, ApprovalRequest},
    lookup::{CheckedPath, rebased},
    permitted_fs::{PermissionRefusal, PermittedFs},
    rules::{AccessKind, RuleMode},
};

/// The most times that a call starts over because a path led elsewhere after an answer.
const MAX_ATTEMPTS: usize = 16;

/// One object that a call needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct AccessNeed<'a> {
    pub(super) access: AccessKind,
    pub(super) path: &'a VPath,
    /// Whether a link at the end of the path is followed.
    pub(super) follow: bool,
    pub(super) reach: AccessReach,
}

/// The objects below a path that a call needs as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessReach {
    /// None.
    Object,
    /// All that may be there, now or at the moment of the operation.
    Everything,
    /// All that is there.
    Existing,
    /// The names of all that is below the first need's path, at this path.
    NamesOfFirst,
}

/// The guard of a session's lock.
#[derive(Debug)]
pub(super) enum PlaceGuard<'a> {
    Shared(#[expect(dead_code, reason = "held until it is dropped")] RwLockReadGuard<'a, ()>),
    Exclusive(#[expect(dead_code, reason = "held until it is dropped")] RwLockWriteGuard<'a, ()>),
}

/// A call that may proceed, while this value lives.
#[derive(Debug)]
pub(super) struct Admission<'a> {
    pub(super) paths: Vec<CheckedPath>,
    _guard: PlaceGuard<'a>,
}

/// The access that a broker approved during this call.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ApprovedAccess {
    access: AccessKind,
    path: VPath,
    is_subtree: bool,
}

impl<'a> AccessNeed<'a> {
    pub(super) fn read(path: &'a VPath) -> Self {
        Self { access: AccessKind::Read, path, follow: true, reach: AccessReach::Object }
    }

    pub(super) fn write(path: &'a VPath) -> Self {
        Self { access: AccessKind::Write, ..Self::read(path) }
    }

    /// Returns the need of the link itself, not of its target.
    pub(super) fn itself(self) -> Self {
        Self { follow: false, ..self }
    }

    pub(super) fn reaching(self, reach: AccessReach) -> Self {
        Self { reach, ..self }
    }
}

impl PermittedFs {
    /// Admits a call that does not change where paths lead.
    pub(super) async fn admit(
        &self,
        op: Op,
        needs: &[AccessNeed<'_>],
    ) -> Result<Admission<'_>, FsError> {
        self.admit_with(op, needs, false).await
    }

    /// Admits a call that may change where paths lead, alone.
    pub(super) async fn admit_alone(
        &self,
        op: Op,
        needs: &[AccessNeed<'_>],
    ) -> Result<Admission<'_>, FsError> {
        self.admit_with(op, needs, true).await
    }

    async fn admit_with(
        &self,
        op: Op,
        needs: &[AccessNeed<'_>],
        alone: bool,
    ) -> Result<Admission<'_>, FsError> {
        let mut approved = Vec::new();
        for _ in 0..MAX_ATTEMPTS {
            let guard = if alone {
                PlaceGuard::Exclusive(self.lock().write().await)
            } else {
                PlaceGuard::Shared(self.lock().read().await)
            };
            let (paths, questions) = self.check_needs(op, needs, &approved).await?;
            if questions.is_empty() {
                return Ok(Admission { paths, _guard: guard });
            }
            drop(guard);
            for (request, checked) in questions {
                let access = request.access;
                if self.purpose.is_some() {
                    return Err(Self::refusal(access, op, &request.spelled));
                }
                match self.broker().decide(&request).await {
                    ApprovalDecision::Refuse => {
                        return Err(Self::refusal(access, op, &request.spelled));
                    }
                    ApprovalDecision::Session => {
                        self.places().grant(access, checked.granted_object());
                    }
                    ApprovalDecision::Once => (),
                }
                let ApprovalRequest { path, is_subtree, .. } = request;
                approved.push(ApprovedAccess { access, path, is_subtree });
            }
        }
        Err(FsError::new(FsCode::EBUSY, op, needs.first().map_or("/", |need| need.path.as_str())))
    }

    /// Checks all needs. Returns the questions that must be answered first.
    async fn check_needs(
        &self,
        op: Op,
        needs: &[AccessNeed<'_>],
        approved: &[ApprovedAccess],
    ) -> Result<(Vec<CheckedPath>, Vec<(ApprovalRequest, CheckedPath)>), FsError> {
        let mut paths: Vec<CheckedPath> = Vec::new();
        let mut questions = Vec::new();
        for need in needs {
            let AccessNeed { access, path, .. } = *need;
            // Refused before the walk, so that the answer does not depend on what exists.
            if self.rules().mode_at(access, path) == RuleMode::Deny {
                return Err(Self::refusal(access, op, path));
            }
            let checked = self.check_path(op, path, need.follow).await?;
            let own = self.mode_of(access, &checked);
            let below = self.mode_below(op, need, &checked, paths.first()).await?;
            for (mode, is_subtree) in [(own, false), (below, true)] {
                let key = ApprovedAccess { access, path: checked.real.clone(), is_subtree };
                // The approval to move an object covers that it can be read at its new place.
                let is_asked = op == Op::Rename
                    && access == AccessKind::Read
                    && questions.iter().any(|(request, _): &(ApprovalRequest, _)| {
                        request.path == key.path && request.is_subtree == is_subtree
                    });
                let to_move = ApprovedAccess { access: AccessKind::Write, ..key.clone() };
                let is_granted = || {
                    is_asked
                        || approved.contains(&key)
                        || (op == Op::Rename && approved.contains(&to_move))
                        || (!is_subtree && self.granted_root() == Some(&checked.real))
                        || (!is_subtree
                            && self.places().has_grant(access, &checked.granted_object()))
                };
                match mode {
                    RuleMode::Deny => return Err(Self::refusal(access, op, path)),
                    RuleMode::Interrupt if !is_granted() => {
                        let (spelled, path) = (path.clone(), key.path);
                        let request = ApprovalRequest { access, op, spelled, path, is_subtree };
                        questions.push((request, checked.clone()));
                    }
                    _ => (),
                }
            }
            paths.push(checked);
        }
        Ok((paths, questions))
    }

    /// Returns the strictest mode of all rules about an object, and about the parents that a write
    /// would create.
    pub(super) fn mode_of(&self, access: AccessKind, checked: &CheckedPath) -> RuleMode {
        let places = checked.places.iter();
        let created = checked.missing_parents.iter().filter(|_| access == AccessKind::Write);
        let modes = places.chain(created).map(|place| self.rules().mode_at(access, place));
        modes.max().unwrap_or(RuleMode::Allow)
    }

    /// Returns the strictest mode of what a call needs below an object.
    async fn mode_below(
        &self,
        op: Op,
        need: &AccessNeed<'_>,
        checked: &CheckedPath,
        first: Option<&CheckedPath>,
    ) -> Result<RuleMode, FsError> {
        let access = need.access;
        let source = match need.reach {
            AccessReach::Object => return Ok(RuleMode::Allow),
            AccessReach::NamesOfFirst => first.unwrap_or(checked),
            AccessReach::Everything | AccessReach::Existing => checked,
        };
        if !source.is_directory() {
            return Ok(RuleMode::Allow);
        }
        let strictest = |place: &VPath| self.rules().strictest_below(access, place);
        let pattern = checked.places.iter().map(strictest).max().unwrap_or(RuleMode::Allow);
        let may_be_bound = !self.places().is_empty();
        if need.reach == AccessReach::Everything && pattern == RuleMode::Deny {
            return Ok(RuleMode::Deny);
        }
        if pattern == RuleMode::Allow && !may_be_bound {
            return Ok(RuleMode::Allow);
        }
        let entries = self.handle().walk(&source.real, &WalkOptions::default()).await;
        let entries = entries.map_err(|error| self.spell(error, op, need.path))?;
        let mut strictest = match need.reach {
            AccessReach::Everything => pattern,
            _ => RuleMode::Allow,
        };
        for found in entries {
            let as_place = |place: &VPath| rebased(&found.path, &source.real, place);
            let moved = self.places().of(&found.entry.id);
            let own = moved.iter().cloned();
            let modes = checked.places.iter().map(as_place).chain(own);
            let mode = modes.map(|place| self.rules().mode_at(access, &place)).max();
            strictest = strictest.max(mode.unwrap_or(RuleMode::Allow));
        }
        Ok(strictest)
    }

    /// Makes the error of a refused access. It names the path only as the caller spelled it.
    pub(super) fn refusal(access: AccessKind, op: Op, spelled: &VPath) -> FsError {
        let refusal = PermissionRefusal { access, path: spelled.clone() };
        FsError::new(FsCode::EACCES, op, spelled).caused_by(refusal)
    }
}
