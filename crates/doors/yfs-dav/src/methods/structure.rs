//! DELETE and MKCOL.

use http::StatusCode;
use yfs_vfs::{FsCode, MkdirOptions, RemoveOptions};

use crate::{
    answer::{DavError, DavResponse, empty_response},
    request::{DavContent, Depth},
    service::{DavCall, LockedChange},
    side_files::is_side_file,
};

impl DavCall<'_> {
    /// Answers DELETE: moves what is there to the trash.
    pub(crate) async fn delete(&self) -> Result<DavResponse, DavError> {
        let path = &self.request.path;
        let stat = self.find(path).await?;
        let is_shallow = self.request.depth()?.is_some_and(|depth| depth != Depth::Infinity);
        if is_shallow && stat.is_some_and(|stat| stat.is_directory()) {
            return Err(DavError::bad_request("a collection is deleted with all in it"));
        }
        self.check_locks(path, LockedChange::Name)?;
        if self.side_file(path).await?.is_some() {
            self.service.sides.lock().remove(&self.caller.client.credential, path);
        } else {
            let options = RemoveOptions { recursive: true, force: false };
            self.caller.fs.rm(path, &options).await?;
        }
        self.service.locks.lock().forget(path);
        Ok(empty_response(StatusCode::NO_CONTENT))
    }

    /// Answers MKCOL.
    pub(crate) async fn mkcol(&self, content: &DavContent) -> Result<DavResponse, DavError> {
        let path = &self.request.path;
        self.request.needs_no_content(content)?;
        let stat = self.find(path).await?;
        self.check_locks(path, LockedChange::Name)?;
        if is_side_file(path) {
            return Err(DavError::new(StatusCode::FORBIDDEN, "the name is for files of macOS"));
        }
        if path.is_root() || stat.is_some() {
            return Err(DavError::new(StatusCode::METHOD_NOT_ALLOWED, "the path is taken"));
        }
        self.needs_parent(path).await?;
        match self.caller.fs.mkdir(path, &MkdirOptions::default()).await {
            Ok(()) => Ok(empty_response(StatusCode::CREATED)),
            Err(error) if error.code == FsCode::EEXIST => {
                Err(DavError::new(StatusCode::METHOD_NOT_ALLOWED, "the path is taken"))
            }
            Err(error) => Err(error.into()),
        }
    }
}
