//! Policies around any filesystem: audit, rate limit, quota, and checks of contents.
//!
//! All are guards for [`GuardedFs`](yfs_vfs::guarded_fs::GuardedFs): [`CallAuditor`] and
//! [`CallRateLimit`] see each call, and [`WriteHooks`] ask [`WriteHook`]s, which also see what a
//! change would make: [`StorageQuota`] and [`ContentCheck`]. The wrappers can be combined;
//! the outermost sees a call first.

mod call_guards;
mod hooked_fs;
mod write_hooks;

#[cfg(test)]
mod tests;

pub use self::{
    call_guards::{AuditedCall, CallAuditor, CallRateLimit, RateExceeded},
    hooked_fs::{HookedFs, PlannedChange, WriteHook, WriteHooks},
    write_hooks::{ContentCheck, QuotaExceeded, StorageQuota},
};
