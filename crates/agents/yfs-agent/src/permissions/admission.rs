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
use yfs_vfs::{CallScope, FileSystemExt, FsCode, FsError, Op, WalkOptions};

use super::{
    broker::{ApprovalDecision, ApprovalRequest},
    lookup::{CheckedPath, rebased},
    object_places::GrantedObject,
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
        // Without a call to which it belongs, an approval is for this operation.
        let scope = self.call.clone().unwrap_or_default();
        for _ in 0..MAX_ATTEMPTS {
            let guard = if alone {
                PlaceGuard::Exclusive(self.lock.write().await)
            } else {
                PlaceGuard::Shared(self.lock.read().await)
            };
            let (paths, questions) = self.check_needs(op, needs, &scope).await?;
            if questions.is_empty() {
                return Ok(Admission { paths, _guard: guard });
            }
            drop(guard);
            for (request, checked) in questions {
                self.ask(&request, &checked, &scope).await?;
            }
        }
        Err(FsError::new(FsCode::EBUSY, op, needs.first().map_or("/", |need| need.path.as_str())))
    }

    /// Asks for an approval, and records the answer. What was refused in the call is not asked
    /// again.
    async fn ask(
        &self,
        request: &ApprovalRequest,
        checked: &CheckedPath,
        scope: &CallScope,
    ) -> Result<(), FsError> {
        let ApprovalRequest { access, op, .. } = *request;
        if self.search.is_some() {
            self.note_left_out(checked);
            return Err(self.refusal(access, op, &request.spelled));
        }
        let asked = self.broker.asked_object(request);
        let writes = |access: &AccessKind| *access == AccessKind::Write;
        let is_refused = |access| scope.is_refused(writes(access), asked.path);
        if asked.accesses.iter().any(is_refused) {
            return Err(self.refusal(access, op, &request.spelled));
        }
        let decision = self.broker.decide(request).await;
        if decision == ApprovalDecision::Refuse {
            for access in asked.accesses {
                scope.refuse(writes(access), asked.path);
            }
            return Err(self.refusal(access, op, &request.spelled));
        }
        for access in request.accesses() {
            if decision == ApprovalDecision::Session {
                self.places.grant(*access, checked.granted_object());
            }
            scope.approve(writes(access), &request.path);
        }
        Ok(())
    }

    /// Checks all needs. Returns the questions that must be answered first.
    async fn check_needs(
        &self,
        op: Op,
        needs: &[AccessNeed<'_>],
        scope: &CallScope,
    ) -> Result<(Vec<CheckedPath>, Vec<(ApprovalRequest, CheckedPath)>), FsError> {
        let mut paths: Vec<CheckedPath> = Vec::new();
        let mut questions: Vec<(ApprovalRequest, CheckedPath)> = Vec::new();
        for need in needs {
            let AccessNeed { access, path, .. } = *need;
            // Refused before the walk, so that the answer does not depend on what exists.
            if self.rules.mode_at(access, path) == RuleMode::Deny {
                return Err(self.refusal(access, op, path));
            }
            let checked = self.check_path(op, path, need.follow).await?;
            let own = self.mode_of(access, &checked);
            let below = self.mode_below(op, need, &checked, paths.first()).await?;
            match own.max(below) {
                RuleMode::Deny => return Err(self.refusal(access, op, path)),
                RuleMode::Interrupt if !self.is_granted(op, access, &checked, scope) => {
                    let request = self.request_for(op, need, &checked, scope);
                    add_question(&mut questions, request, &checked);
                }
                _ => (),
            }
            paths.push(checked);
        }
        Ok((paths, questions))
    }

    /// Reports whether an approval covers an access: of the object or of a directory above it, in
    /// this call, for the session, or as the broker knows.
    pub(super) fn is_granted(
        &self,
        op: Op,
        access: AccessKind,
        checked: &CheckedPath,
        scope: &CallScope,
    ) -> bool {
        let covers = |access: AccessKind| {
            let has_grant = |object| self.places.has_grant(access, &object);
            scope.is_approved(access == AccessKind::Write, &checked.real)
                || has_grant(checked.granted_object())
                || checked.above.iter().any(|id| has_grant(GrantedObject::Existing(id.clone())))
        };
        // An approval of what is in a directory covers that this directory is there.
        let is_described = matches!(op, Op::Stat | Op::Lstat) && checked.is_directory();
        if is_described && access == AccessKind::Read && scope.is_approved_below(&checked.real) {
            return true;
        }
        // The approval to move an object covers that it can be read at its new place.
        let is_move = op == Op::Rename && access == AccessKind::Read;
        if covers(access) || (is_move && covers(AccessKind::Write)) {
            return true;
        }
        let request = self.plain_request(op, access, &checked.real, checked);
        let is_approved = self.broker.is_approved(&request);
        if is_approved && self.search.is_none() {
            // It holds for the rest of the call, as one that was given in it.
            scope.approve(access == AccessKind::Write, &checked.real);
        }
        is_approved
    }

    fn plain_request(
        &self,
        op: Op,
        access: AccessKind,
        spelled: &VPath,
        checked: &CheckedPath,
    ) -> ApprovalRequest {
        let (path, is_subtree) = (checked.real.clone(), checked.is_directory());
        let holder = path.parent().filter(|holder| !self.rules.is_above_served(holder));
        let directory = holder.filter(|_| !is_subtree).unwrap_or_else(|| path.clone());
        let spelled = spelled.clone();
        ApprovalRequest { access, op, spelled, path, is_subtree, reads: false, directory }
    }

    /// Returns the question about a need. A call that changes what it reads asks for both at once.
    fn request_for(
        &self,
        op: Op,
        need: &AccessNeed<'_>,
        checked: &CheckedPath,
        scope: &CallScope,
    ) -> ApprovalRequest {
        let request = self.plain_request(op, need.access, need.path, checked);
        let changes = need.access == AccessKind::Read
            && scope.changes(need.path)
            && self.mode_of(AccessKind::Write, checked) == RuleMode::Interrupt
            && !self.is_granted(op, AccessKind::Write, checked, scope);
        match changes {
            true => ApprovalRequest { access: AccessKind::Write, reads: true, ..request },
            false => request,
        }
    }

    /// Returns the strictest mode of all rules about an object, and about the parents that a write
    /// would create.
    pub(super) fn mode_of(&self, access: AccessKind, checked: &CheckedPath) -> RuleMode {
        let places = checked.places.iter();
        let created = checked.missing_parents.iter().filter(|_| access == AccessKind::Write);
        let modes = places.chain(created).map(|place| self.rules.mode_at(access, place));
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
        let strictest = |place: &VPath| self.rules.strictest_below(access, place);
        let pattern = checked.places.iter().map(strictest).max().unwrap_or(RuleMode::Allow);
        let guarded = self.guarded_files().await;
        let may_be_bound = !self.places.is_empty() || !guarded.is_empty();
        if need.reach == AccessReach::Everything && pattern == RuleMode::Deny {
            return Ok(RuleMode::Deny);
        }
        if pattern == RuleMode::Allow && !may_be_bound {
            return Ok(RuleMode::Allow);
        }
        let entries = self.handle.walk(&source.real, &WalkOptions::default()).await;
        let entries = entries.map_err(|error| self.spell(error, op, need.path))?;
        let mut strictest = match need.reach {
            AccessReach::Everything => pattern,
            _ => RuleMode::Allow,
        };
        for found in entries {
            let as_place = |place: &VPath| rebased(&found.path, &source.real, place);
            let moved = self.places.of(&found.entry.id);
            let names = guarded.iter().filter(|(id, _)| *id == found.entry.id);
            let own = moved.iter().cloned().chain(names.map(|(_, path)| path.clone()));
            let modes = checked.places.iter().map(as_place).chain(own);
            let mode = modes.map(|place| self.rules.mode_at(access, &place)).max();
            strictest = strictest.max(mode.unwrap_or(RuleMode::Allow));
        }
        Ok(strictest)
    }

    /// Makes the error of a refused access. It names the path only as the caller spelled it, and
    /// the directories that the caller may use if the path is outside.
    pub(super) fn refusal(&self, access: AccessKind, op: Op, spelled: &VPath) -> FsError {
        let allowed = self.rules.served_besides(spelled);
        let refusal = PermissionRefusal { access, path: spelled.clone(), allowed };
        FsError::new(FsCode::EACCES, op, spelled).caused_by(refusal)
    }
}

/// Adds a question, or widens the one about the same object.
fn add_question(
    questions: &mut Vec<(ApprovalRequest, CheckedPath)>,
    request: ApprovalRequest,
    checked: &CheckedPath,
) {
    let asked = questions.iter_mut().find(|(asked, _)| asked.path == request.path);
    match asked {
        Some((asked, _)) if asked.access != request.access => {
            (asked.access, asked.reads) = (AccessKind::Write, true);
        }
        Some((asked, _)) => asked.reads |= request.reads,
        None => questions.push((request, checked.clone())),
    }
}
