//! The upkeep of a workspace: repairing, converting, erasing, moving between workspaces.

#![expect(
    clippy::use_self,
    reason = "the macro of napi makes a function of a method, which has no Self"
)]

use napi_derive::napi;
use serde_json::Value;
use yfs::workspace::redact::RedactionScope;
use yfs_vfs::Op;

use crate::{
    error, message, owned_future::OwnedFuture, workspace::NativeWorkspace, workspace_slot::path,
};

#[napi]
impl NativeWorkspace {
    /// Puts a content where its file's name says; answers whether there was anything to do.
    #[napi]
    pub fn repair(&self, at: String) -> napi::Result<OwnedFuture<bool>> {
        let at = path(Op::Open, &at)?;
        self.ask(move |workspace| workspace.maintenance().repair(&at))
    }

    /// Makes the rich text of the workspace keep another schema.
    #[napi]
    pub fn convert_profile(&self, profile: String) -> napi::Result<OwnedFuture<String>> {
        let profile = message::profile(&profile)?;
        self.ask(move |workspace| {
            let report = workspace.maintenance().convert_profile(profile, &mut |_, _| ())?;
            Ok(message::converted(report).to_string())
        })
    }

    /// Tells what a redaction would erase: of one version, or of all that is history.
    #[napi]
    pub fn redactable(
        &self,
        at: String,
        version: Option<f64>,
    ) -> napi::Result<OwnedFuture<String>> {
        let (at, what) = (path(Op::Open, &at)?, what(version));
        self.ask(move |workspace| {
            Ok(message::redacted(&workspace.history().redactable(&at, what)?).to_string())
        })
    }

    /// Erases for good what a file held and holds no more.
    #[napi]
    pub fn redact(
        &self,
        at: String,
        version: Option<f64>,
        reason: Option<String>,
    ) -> napi::Result<OwnedFuture<String>> {
        let (at, what) = (path(Op::Open, &at)?, what(version));
        self.ask(move |workspace| {
            let redacted = workspace.history().redact(&at, what, reason.as_deref())?;
            Ok(message::redacted(&redacted).to_string())
        })
    }

    /// Lists what was erased of a file.
    #[napi]
    pub fn redactions(&self, at: String) -> napi::Result<OwnedFuture<String>> {
        let at = path(Op::Open, &at)?;
        self.ask(move |workspace| {
            let redactions = workspace.history().redactions(&at)?;
            Ok(redactions.iter().map(message::redaction).collect::<Value>().to_string())
        })
    }

    /// Lists the updates that the gate refused.
    #[napi]
    pub fn quarantined(&self) -> napi::Result<OwnedFuture<String>> {
        self.ask(|workspace| {
            let refused = workspace.maintenance().quarantined()?;
            Ok(refused.iter().map(message::quarantined).collect::<Value>().to_string())
        })
    }

    /// Moves what is at a path to another workspace.
    #[napi]
    pub fn move_to(
        &self,
        from: String,
        other: &NativeWorkspace,
        to: String,
    ) -> napi::Result<OwnedFuture<()>> {
        let (from, to) = (path(Op::Rename, &from)?, path(Op::Rename, &to)?);
        let (workspace, other) = (self.slot.get()?, other.slot.get()?);
        Ok(OwnedFuture::blocking(move || workspace.move_to(&from, &other, &to).map_err(error::of)))
    }
}

fn what(version: Option<f64>) -> RedactionScope {
    version.map_or(RedactionScope::History, |number| RedactionScope::Version(number as u64))
}
