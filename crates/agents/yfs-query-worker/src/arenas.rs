//! The arenas of the allocator.

#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "no library wraps mallopt")
)]

/// Makes the allocator of glibc use one arena. A thread that allocates for the first time would
/// reserve 64 MB of addresses for another one, which may be all that the limit of a query allows.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn use_one_arena() {
    // SAFETY: the parameter only selects an arena for threads that have none.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn use_one_arena() {}
