//! PROPPATCH: all of its changes, or none.

use http::StatusCode;
use yfs_types::time::Millis;
use yfs_vfs::{FileAttribute, FsCode, FsError, Metadata, Op, Stat};

use super::{
    properties::{DeadProperties, LIVE, ON_REQUEST, empty_property},
    propfind::{MULTISTATUS, MULTISTATUS_END, write_response},
};
use crate::{
    answer::{DavError, DavResponse, xml_response},
    href::href,
    request::DavContent,
    service::{DavCall, LockedChange},
    time_format::parse_http_date,
    xml::{DAV, XmlElement, XmlName, parse},
};

/// The namespace of the properties that the Explorer sets.
const MICROSOFT: &str = "urn:schemas-microsoft-com:";

/// The properties that are accepted and not kept: times and attributes of Windows.
const WIN32: [&str; 4] =
    ["Win32CreationTime", "Win32LastAccessTime", "Win32LastModifiedTime", "Win32FileAttributes"];

/// A change of one property.
#[derive(Debug)]
struct PropertyChange<'a> {
    property: &'a XmlElement,
    is_removal: bool,
}

impl DavCall<'_> {
    /// Answers PROPPATCH.
    pub(crate) async fn proppatch(&self, content: &DavContent) -> Result<DavResponse, DavError> {
        let root = parse(content.bytes().unwrap_or_default())?;
        let changes = changes_of(&root)?;
        let path = &self.request.path;
        self.find(path).await?;
        self.check_locks(path, LockedChange::Content)?;
        let is_side_file = self.side_file(path).await?.is_some();
        let mut is_directory = false;
        let refused = changes.iter().any(|change| is_protected(&change.property.name));
        if !is_side_file {
            let stat = self.caller.fs.stat(path).await?;
            is_directory = stat.is_directory();
            if !refused {
                self.change_properties(&changes).await?;
            } else if !self.caller.may_write {
                return Err(FsError::new(FsCode::EACCES, Op::SetMetadata, path).into());
            }
        }
        let (mut done, mut protected, mut undone) = (String::new(), String::new(), String::new());
        for change in &changes {
            let name = &change.property.name;
            let out = match (refused, is_protected(name)) {
                (false, _) => &mut done,
                (true, true) => &mut protected,
                (true, false) => &mut undone,
            };
            out.push_str(&empty_property(name));
        }
        let mut out = MULTISTATUS.to_owned();
        let href = href(self.request.prefix, path, is_directory);
        let parts = [
            (&*done, "200 OK"),
            (&*protected, "403 Forbidden"),
            (&*undone, "424 Failed Dependency"),
        ];
        write_response(&mut out, &href, &parts);
        out.push_str(MULTISTATUS_END);
        Ok(xml_response(StatusCode::MULTI_STATUS, out))
    }

    /// Carries out changes that are all allowed.
    async fn change_properties(&self, changes: &[PropertyChange<'_>]) -> Result<(), DavError> {
        let (fs, path) = (&self.caller.fs, &self.request.path);
        // Two changes of the same object do not undo each other.
        let _turn = self.service.properties.lock().await;
        let stat: Stat = fs.stat(path).await?;
        let mut metadata: Metadata = stat.metadata.clone();
        let mut dead = DeadProperties::of(&metadata);
        let mut mtime: Option<Millis> = None;
        for change in changes {
            let PropertyChange { property, is_removal } = change;
            let name = &property.name;
            if name.namespace == MICROSOFT && WIN32.contains(&&*name.local) {
                if name.local == "Win32LastModifiedTime" && !is_removal {
                    mtime = parse_http_date(&property.text()).or(mtime);
                }
            } else if *is_removal {
                dead.remove(name);
            } else {
                dead.set(property);
            }
        }
        dead.put_into(&mut metadata)?;
        if metadata != stat.metadata {
            fs.set_attribute(path, FileAttribute::Metadata(metadata)).await?;
        } else if !self.caller.may_write {
            return Err(FsError::new(FsCode::EACCES, Op::SetMetadata, path).into());
        }
        if let Some(mtime) = mtime.filter(|mtime| *mtime != stat.mtime && !path.is_root()) {
            fs.set_attribute(path, FileAttribute::Mtime(mtime)).await?;
        }
        Ok(())
    }
}

/// Returns the changes in their order.
fn changes_of(root: &XmlElement) -> Result<Vec<PropertyChange<'_>>, DavError> {
    let malformed = || DavError::bad_request("the body is no propertyupdate");
    if !root.name.is_dav("propertyupdate") {
        return Err(malformed());
    }
    let mut changes = Vec::new();
    for step in root.elements() {
        let is_removal = step.name.is_dav("remove");
        if !is_removal && !step.name.is_dav("set") {
            continue;
        }
        let properties = step.child("prop").ok_or_else(malformed)?.elements();
        changes.extend(properties.map(|property| PropertyChange { property, is_removal }));
    }
    if changes.is_empty() { Err(malformed()) } else { Ok(changes) }
}

/// Reports whether only the server sets a property.
fn is_protected(name: &XmlName) -> bool {
    let mut live = LIVE.iter().chain(&ON_REQUEST).filter(|local| **local != "displayname");
    name.namespace == DAV && live.any(|local| *local == name.local)
}
