//! Answers, and the reasons why a request is refused.

use bytes::Bytes;
use futures::stream::BoxStream;
use http::{HeaderValue, Response, StatusCode, header};
use yfs_vfs::{FsCode, FsError};

use crate::conditions::MalformedCondition;

/// The answer to a request.
pub type DavResponse = Response<DavBody>;

/// The body of an answer.
pub enum DavBody {
    /// All of it.
    Bytes(Bytes),
    /// Its pieces, as they are made. Polling them may block: they read the workspace.
    Stream(BoxStream<'static, Result<Bytes, FsError>>),
}

/// The reason why a request is refused. A refused request has changed nothing.
#[derive(Debug)]
pub enum DavError {
    /// The filesystem refuses the call.
    Fs(FsError),
    /// The request is refused here.
    Refused {
        /// The status of the answer.
        status: StatusCode,
        /// What is said to a person.
        detail: String,
        /// The precondition of RFC 4918, section 16, as XML.
        precondition: Option<String>,
    },
}

impl DavError {
    /// Makes a refusal.
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self::Refused { status, detail: detail.into(), precondition: None }
    }

    /// Makes the refusal of a malformed request.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// Makes a refusal that names a precondition.
    pub(crate) fn precondition(status: StatusCode, xml: impl Into<String>) -> Self {
        let xml = xml.into();
        Self::Refused { status, detail: String::new(), precondition: Some(xml) }
    }

    /// Returns the status of a refusal, and that of the failure of a call as far as it is known
    /// here.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Refused { status, .. } => *status,
            Self::Fs(error) => status_of(error.code),
        }
    }

    /// Returns the answer.
    pub fn into_response(self) -> DavResponse {
        let status = self.status();
        match self {
            Self::Refused { precondition: Some(xml), .. } => {
                let open = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:error xmlns:D=\"DAV:\">";
                xml_response(status, format!("{open}{xml}</D:error>\n"))
            }
            Self::Refused { detail, .. } => text_response(status, detail),
            Self::Fs(error) => text_response(status, error.to_string()),
        }
    }
}

impl From<FsError> for DavError {
    fn from(error: FsError) -> Self {
        Self::Fs(error)
    }
}

impl From<MalformedCondition> for DavError {
    fn from(error: MalformedCondition) -> Self {
        Self::bad_request(error.to_string())
    }
}

/// Returns an answer without a body.
pub(crate) fn empty_response(status: StatusCode) -> DavResponse {
    let mut response = Response::new(DavBody::Bytes(Bytes::new()));
    *response.status_mut() = status;
    response
}

/// Returns an answer of XML.
pub(crate) fn xml_response(status: StatusCode, xml: String) -> DavResponse {
    let mut response = empty_response(status);
    *response.body_mut() = DavBody::Bytes(xml.into());
    set_xml(&mut response);
    response
}

/// Says that the body of an answer is XML.
pub(crate) fn set_xml(response: &mut DavResponse) {
    let xml = HeaderValue::from_static("application/xml; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, xml);
}

/// Returns an answer of text.
pub(crate) fn text_response(status: StatusCode, mut text: String) -> DavResponse {
    if !text.is_empty() {
        text.push('\n');
    }
    let mut response = empty_response(status);
    *response.body_mut() = DavBody::Bytes(text.into());
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

/// Returns the status of an answer to a call that failed so: one for all doors of HTTP.
pub fn status_of(code: FsCode) -> StatusCode {
    match code {
        FsCode::ENOENT => StatusCode::NOT_FOUND,
        FsCode::EINVAL | FsCode::ENAMETOOLONG => StatusCode::BAD_REQUEST,
        FsCode::EACCES | FsCode::EPERM | FsCode::EROFS => StatusCode::FORBIDDEN,
        FsCode::ESTALE => StatusCode::PRECONDITION_FAILED,
        FsCode::EFBIG => StatusCode::PAYLOAD_TOO_LARGE,
        FsCode::ENOSPC => StatusCode::INSUFFICIENT_STORAGE,
        FsCode::ENOSYS => StatusCode::NOT_IMPLEMENTED,
        FsCode::EIO | FsCode::ECANCELED => StatusCode::INTERNAL_SERVER_ERROR,
        // EEXIST, ENOTDIR, EISDIR, ENOTEMPTY, ELOOP, EBUSY, EXDEV: they depend on the present
        // state.
        _ => StatusCode::CONFLICT,
    }
}

impl std::fmt::Debug for DavBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(bytes) => f.debug_tuple("Bytes").field(&bytes.len()).finish(),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}
