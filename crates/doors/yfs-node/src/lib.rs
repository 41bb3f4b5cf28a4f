//! The workspace for Node: the native half of the npm package `yfs`.
//!
//! It is as thin as it can be. What only looks into memory answers at once, on the thread of the
//! event loop; everything else runs on other threads and answers with a promise. Values that are
//! more than a text, a number or bytes cross as JSON (`message`), errors as well (`error`); the
//! TypeScript of the package (`ts/`) gives them their shape.
//!
//! ```js
//! import { Workspace } from 'yfs'
//! const ws = await Workspace.open('plans.db', { actor: 'human:ada' })
//! await ws.files.writeFile('/docs/plan.md', '1. Listen\n')
//! await ws.close()
//! ```
//!
//! # Invariants
//!
//! - No call that waits for a long lock, a disk or a peer runs on the thread of the event loop,
//!   except the synchronous calls (`sync_calls`).
//! - A workspace is released when it is closed, even if JavaScript still holds its objects.
//! - A call that runs on another thread owns all that it touches (`promised`): the thread that
//!   asked may end first.

#![expect(unsafe_code, reason = "the macros of napi write the C interface of an addon")]

mod artifacts;
mod cancellation;
mod content;
mod descriptions;
mod document_port;
mod error;
mod files;
mod join_codes;
mod message;
mod owned_future;
mod pages;
mod peer_shares;
mod peers;
mod prelude;
mod sync_calls;
mod thread_files;
mod thread_streams;
mod threads;
mod watch;
mod workspace;
mod workspace_calls;
mod workspace_slot;
