//! Keeping the rules of the directory against those of other writers: before the applier writes
//! theirs, and when a person changes or accepts rules.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use yfs_engine::id::FileId;
use yfs_vfs::FileKind;

use super::{mirror_context::MirrorContext, sync_pass::SyncPass};
use crate::{
    error::Result,
    held_rules::RuleTexts,
    ignores::{self, DirectoryMove, IgnoreRules},
    options::TrustPolicy,
    pending_rules,
};

impl MirrorContext {
    /// Restores what the last mirror held back.
    pub(super) fn restore_held_rules(&mut self) -> Result<()> {
        if self.options.trust == TrustPolicy::AnyAuthor || self.options.accept_rules {
            self.directory.held.clear();
        } else if self.directory.held.is_applying() {
            self.directory.held.end(self.rule_texts());
        }
        self.save_held_rules()
    }

    /// Keeps the rules of the directory, because those of other writers are about to be written.
    pub(super) fn hold_rules(&mut self) -> Result<()> {
        if self.options.trust == TrustPolicy::AnyAuthor {
            return Ok(());
        }
        let ids: Vec<FileId> = self.state.nodes().map(|node| node.id.clone()).collect();
        let mut excluded = HashSet::new();
        for id in ids {
            let is_dir = self.state.get(&id).is_some_and(|node| node.kind == FileKind::Directory);
            if self.directory.is_ignored(&self.state.path(&id), is_dir) {
                excluded.insert(id);
            }
        }
        let texts = self.rule_texts();
        self.directory.held.begin(texts, excluded);
        self.save_held_rules()
    }

    /// Notes that the rules of other writers are in the directory, or could not be written.
    pub(super) fn finish_holding_rules(&mut self) -> Result<()> {
        if self.directory.held.is_applying() {
            self.directory.held.end(self.rule_texts());
        }
        self.save_held_rules()
    }

    /// Repeats what a person changed in the files of rules. Returns whether other paths may be
    /// excluded now.
    pub(super) fn note_local_rules(&mut self) -> Result<bool> {
        if self.directory.held.is_empty() {
            return Ok(false);
        }
        let texts = self.rule_texts();
        let Self { directory, state, .. } = self;
        let is_changed = directory.held.note_local(texts, |id| state.path(id));
        self.save_held_rules()?;
        Ok(is_changed)
    }

    /// Lets the rules of other writers count, if a person accepted them. Returns whether that is
    /// so.
    pub(super) fn accept_held_rules(&mut self) -> Result<bool> {
        let Some(fingerprint) = self.directory.held.fingerprint() else { return Ok(false) };
        if !pending_rules::is_accepted(&self.directory.path, &fingerprint)? {
            return Ok(false);
        }
        self.directory.held.clear();
        self.reporter.clear_held();
        self.save_held_rules()?;
        Ok(true)
    }

    fn save_held_rules(&mut self) -> Result<()> {
        if std::mem::take(&mut self.directory.held.is_changed) {
            self.database.write_held_rules(&self.directory.held)?;
            let fingerprint = self.directory.held.fingerprint();
            pending_rules::note(&self.directory.path, fingerprint.as_deref())?;
        }
        Ok(())
    }

    /// Returns the texts of all files of rules that count in the directory.
    fn rule_texts(&self) -> RuleTexts {
        let directories = self.state.nodes().filter(|node| node.kind == FileKind::Directory);
        let paths = directories.map(|node| self.state.path(&node.id));
        ignores::texts_of(&self.directory.root, paths.chain([PathBuf::new()]))
    }

    /// Reports whether a move of a directory that other writers made includes files in it that are
    /// excluded under the present name.
    pub(super) fn would_include(&mut self, id: &FileId, new: &Path) -> bool {
        let old = self.state.path(id);
        if self.options.trust == TrustPolicy::AnyAuthor || old == new {
            return false;
        }
        let step = DirectoryMove { old: &old, new };
        let dirs = self.state.below(Some(id)).into_iter().chain([id.clone()]);
        let dirs: Vec<FileId> = dirs.collect();
        dirs.iter().any(|dir| self.would_include_entry_of(dir, step))
    }

    fn would_include_entry_of(&mut self, dir: &FileId, step: DirectoryMove<'_>) -> bool {
        let path = self.state.path(dir);
        let is_directory = |id| self.state.get(id).map(|node| node.kind);
        if is_directory(dir) != Some(FileKind::Directory) {
            return false;
        }
        let Ok(handle) = self.directory.root.dir(&path) else { return false };
        let names = handle.names().unwrap_or_default();
        names.iter().any(|name| {
            let at = path.join(name);
            let Ok(Some(facts)) = handle.facts(name) else { return false };
            let is_dir = facts.kind == FileKind::Directory;
            let Ok(below) = at.strip_prefix(step.old) else { return false };
            let is_held = self.directory.held.excludes(&at, is_dir);
            if !is_held && !self.directory.is_ignored(&at, is_dir) {
                return false;
            }
            let directory = &mut self.directory;
            !directory.ignores.is_ignored_after(&directory.root, step, below, is_dir)
                && !directory.held.excludes(&step.new.join(below), is_dir)
        })
    }
}

impl SyncPass {
    /// Takes over what a person decided about rules: accepted those of other writers, or changed
    /// files of rules.
    pub(super) fn follow_person(&mut self, context: &mut MirrorContext) -> Result<()> {
        let is_accepted = context.accept_held_rules()?;
        if is_accepted || std::mem::take(&mut self.has_new_rules) && context.note_local_rules()? {
            self.reread_rules(context, Path::new(""));
        }
        Ok(())
    }

    /// Notes that a file of rules may have changed on disk.
    pub(super) fn note_rules(&mut self, path: &Path) {
        self.has_new_rules |= path.file_name().is_none_or(IgnoreRules::is_rules);
    }
}
