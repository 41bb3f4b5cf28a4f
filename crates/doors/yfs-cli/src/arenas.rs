//! How many arenas the allocator of glibc makes.

#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "no library wraps mallopt")
)]

/// Makes the allocator use at most `n` arenas. It makes eight for each core otherwise, one for each
/// thread: each keeps pages that are partly used, which a process that is idle most of the time
/// does not need, and reserves 64 MB of addresses, which a process with a limit may not have.
///
/// Threads that have an arena keep it.
pub(crate) fn limit_arenas(n: u8) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the parameter only selects an arena for threads that have none.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, n.into());
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = n;
}
