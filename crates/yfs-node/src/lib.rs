//! The workspace for Node: the native half of the npm package `yfs`.
//!
//! It is as thin as it can be. What only looks into memory answers at once, on the thread of the event loop;
//! everything else runs on other threads and answers with a promise. Values that are more than a
//! text, a number or bytes cross as JSON (`message`), errors as well (`error`); the TypeScript of the
//! package (`ts/`) gives them their shape.
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
//! - Nothing that waits for a lock of long, a disk or a peer runs on the thread of the event loop, except what
//!   is asked for synchronously (`at_once`).
//! - A workspace is let go when it is closed, whoever still holds an object of it.
//! - A call that runs on another thread owns all that it touches (`promised`): the thread that
//!   asked may end first.

#![expect(unsafe_code, reason = "the macros of napi write the C interface of an addon")]

mod content;
mod document_port;
mod error;
mod files;
mod maintenance;
mod message;
mod owned_future;
mod pages;
mod sync_calls;
mod watch;
mod workspace;
mod workspace_slot;
