//! PROPFIND, whose answer is made while it is sent.

use std::{collections::BTreeSet, fmt::Write, sync::Arc};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::StatusCode;
use tokio::time::Instant;
use yfs_types::path::VPath;
use yfs_vfs::{DirEntry, FileSystem, FsError, Stat};

use super::properties::{DeadProperties, LIVE, ON_REQUEST, Resource, empty_property, side_stat};
use crate::{
    answer::{DavBody, DavError, DavResponse, empty_response, set_xml},
    href::href,
    request::{DavClient, DavContent, DavQuota, Depth},
    service::{DavCall, DavService},
    xml::{DAV, XmlElement, XmlName, escape, parse},
};

/// The greatest number of properties that are asked for.
const MAX_NAMES: usize = 512;

/// The number of entries whose properties are in one piece of an answer.
const ENTRIES_OF_PIECE: usize = 64;

/// The beginning of an answer about several objects, and its end.
pub(super) const MULTISTATUS: &str =
    "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">\n";
pub(super) const MULTISTATUS_END: &str = "</D:multistatus>\n";

/// The properties that a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AskedProperties {
    /// All, and these.
    All(Vec<XmlName>),
    /// The names of all.
    Names,
    /// These.
    Named(Vec<XmlName>),
}

/// What the pieces of an answer are made of.
struct Listing {
    service: Arc<DavService>,
    fs: Arc<dyn FileSystem>,
    client: DavClient,
    asked: AskedProperties,
    quota: Option<DavQuota>,
    directory: VPath,
}

impl DavCall<'_> {
    /// Answers PROPFIND.
    pub(crate) async fn propfind(&self, content: &DavContent) -> Result<DavResponse, DavError> {
        let asked = AskedProperties::of(content)?;
        let depth = self.request.depth()?.unwrap_or(Depth::Infinity);
        let path = &self.request.path;
        self.write_holds(path).await?;
        let stat = match self.side_file(path).await? {
            Some(file) => side_stat(&file),
            None => self.caller.fs.stat(path).await?,
        };
        if depth == Depth::Infinity && stat.is_directory() {
            let xml = "<D:propfind-finite-depth/>";
            return Err(DavError::precondition(StatusCode::FORBIDDEN, xml));
        }
        let entries = match depth == Depth::One && stat.is_directory() {
            true => self.caller.fs.readdir(path).await?,
            false => Vec::new(),
        };
        let listing = Listing {
            service: self.service.clone(),
            fs: self.caller.fs.clone(),
            client: self.caller.client.clone(),
            quota: if asked.asks_for_quota() { self.caller.quota() } else { None },
            directory: path.clone(),
            asked,
        };
        let mut head = MULTISTATUS.to_owned();
        listing.write(&mut head, path.clone(), stat);
        let mut response = empty_response(StatusCode::MULTI_STATUS);
        *response.body_mut() = match entries.is_empty() {
            true => DavBody::Bytes((head + MULTISTATUS_END).into()),
            false => DavBody::Stream(listing.pieces(head, entries).boxed()),
        };
        set_xml(&mut response);
        Ok(response)
    }
}

impl AskedProperties {
    fn of(content: &DavContent) -> Result<Self, DavError> {
        let body = content.bytes().unwrap_or_default();
        if body.is_empty() {
            return Ok(Self::All(Vec::new()));
        }
        let root = parse(body)?;
        let malformed = || DavError::bad_request("the body is no propfind");
        if !root.name.is_dav("propfind") {
            return Err(malformed());
        }
        let names = |parent: &XmlElement| -> Result<Vec<XmlName>, DavError> {
            // One that is named twice is answered once.
            let names: BTreeSet<_> = parent.elements().map(|child| child.name.clone()).collect();
            if names.len() > MAX_NAMES { Err(malformed()) } else { Ok(names.into_iter().collect()) }
        };
        match (root.child("prop"), root.child("propname"), root.child("allprop")) {
            (Some(named), None, None) => Ok(Self::Named(names(named)?)),
            (None, Some(_), None) => Ok(Self::Names),
            (None, None, Some(_)) => {
                let included = root.child("include").map(names).transpose()?;
                Ok(Self::All(included.unwrap_or_default()))
            }
            _ => Err(malformed()),
        }
    }

    fn asks_for_quota(&self) -> bool {
        let (Self::Named(names) | Self::All(names)) = self else { return false };
        names.iter().any(|name| name.namespace == DAV && ON_REQUEST.contains(&&*name.local))
    }
}

impl Listing {
    /// Returns the answer in pieces: what is written already, then the entries.
    fn pieces(
        self,
        head: String,
        entries: Vec<DirEntry>,
    ) -> impl futures::Stream<Item = Result<Bytes, FsError>> + Send {
        let state = (self, head, Some(entries.into_iter()));
        stream::unfold(state, async |(listing, mut piece, entries)| {
            let mut entries = entries?;
            for entry in entries.by_ref().take(ENTRIES_OF_PIECE) {
                let path = listing.directory.join(&entry.name);
                // A link that leads nowhere, or out of what the caller may see, is not listed, nor
                // what has gone meanwhile.
                if let Ok(stat) = listing.fs.stat(&path).await {
                    listing.write(&mut piece, path, stat);
                }
            }
            let rest = (entries.len() > 0).then_some(entries);
            if rest.is_none() {
                piece.push_str(MULTISTATUS_END);
            }
            Some((Ok(piece.into()), (listing, String::new(), rest)))
        })
    }

    /// Writes what the answer says of one object.
    fn write(&self, out: &mut String, path: VPath, mut stat: Stat) {
        if self.service.memory.lock().has_unread(&self.client, &stat.id) {
            stat.version = None;
        }
        let prefix = &self.service.prefix();
        let locks = self.service.locks.lock().covering(&path, Instant::now());
        let dead = DeadProperties::of(&stat.metadata);
        let resource = Resource { path, stat, dead, locks, quota: self.quota };
        let (mut found, mut missing) = (String::new(), String::new());
        let live = || LIVE.iter().map(|local| XmlName::dav(local));
        match &self.asked {
            AskedProperties::Names => {
                for name in live().chain(resource.dead.names()) {
                    if resource.property(&name, prefix).is_some() {
                        found.push_str(&empty_property(&name));
                    }
                }
            }
            AskedProperties::All(included) => {
                let included = included.iter().filter(|name| !live().any(|live| live == **name));
                let dead = resource.dead.names().filter(|name| !live().any(|live| live == *name));
                for name in live().chain(dead).chain(included.cloned()) {
                    found.extend(resource.property(&name, prefix));
                }
            }
            AskedProperties::Named(names) => {
                for name in names {
                    match resource.property(name, prefix) {
                        Some(property) => found.push_str(&property),
                        None => missing.push_str(&empty_property(name)),
                    }
                }
            }
        }
        let href = href(prefix, &resource.path, resource.stat.is_directory());
        write_response(out, &href, &[(&found, "200 OK"), (&missing, "404 Not Found")]);
    }
}

/// Writes an element of a multistatus: properties with their statuses.
pub(super) fn write_response(out: &mut String, href: &str, parts: &[(&str, &str)]) {
    // Writing to a string does not fail.
    write!(out, "<D:response><D:href>{}</D:href>", escape(href)).ok();
    let is_empty = parts.iter().all(|(properties, _)| properties.is_empty());
    for (at, (properties, status)) in parts.iter().enumerate() {
        if !properties.is_empty() || is_empty && at == 0 {
            write!(
                out,
                "<D:propstat><D:prop>{properties}</D:prop>\
                 <D:status>HTTP/1.1 {status}</D:status></D:propstat>"
            )
            .ok();
        }
    }
    out.push_str("</D:response>\n");
}
