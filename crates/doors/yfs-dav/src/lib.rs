//! WebDAV (RFC 4918, classes 1, 2 and 3) over any [`FileSystem`](yfs_vfs::FileSystem) of yfs.
//!
//! [`DavService`] answers requests; the server around it reads sockets and bodies, and knows who
//! asks. A write is the least edit with the content that its client read as the base, so that what
//! others write meanwhile is kept. Locks keep other WebDAV clients from writing; all other ways
//! into a workspace ignore them, because their changes merge.
//!
//! Modules in reading order: `service` and its vocabulary (`request`, `answer`, `href`,
//! [`conditions`], [`ranges`], `if_header`), then the state between requests (`lock_table`,
//! `client_memory`, `side_files`), XML (`xml`), and the methods (`methods`).
//!
//! ```
//! use std::sync::Arc;
//! use bytes::Bytes;
//! use yfs_dav::{DavCaller, DavContent, DavService};
//! use yfs_vfs::MemoryFs;
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let service = Arc::new(DavService::new("/dav"));
//! let caller = DavCaller::new(Arc::new(MemoryFs::new()), "ana", "curl/8");
//! let request = http::Request::put("/dav/a.txt").body(()).unwrap().into_parts().0;
//! let answer = service.handle(&caller, &request, DavContent::from(Bytes::from("text"))).await;
//! assert_eq!(answer.unwrap().status(), 201);
//! # });
//! ```

mod answer;
mod client_memory;
pub mod conditions;
mod href;
mod if_header;
mod lock_table;
mod methods;
pub mod ranges;
mod request;
mod service;
mod side_files;
mod time_format;
mod xml;

pub use crate::{
    answer::{DavBody, DavError, DavResponse, status_of},
    request::{DavCaller, DavContent, DavQuota, StoredContent},
    service::{DavService, MAX_XML_LEN},
};
