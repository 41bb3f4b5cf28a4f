//! Live and dead properties.
//!
//! Dead properties are kept in the metadata of the object, under one member.

use std::fmt::Write;

use http::StatusCode;
use serde_json::{Map, Value};
use yfs_types::{id::FileId, path::VPath};
use yfs_vfs::{FileKind, Metadata, Stat, stat::mime_of};

use crate::{
    answer::DavError,
    conditions::entity_tag,
    href::href,
    lock_table::DavLock,
    request::DavQuota,
    side_files::SideFile,
    time_format::{http_date, iso_date},
    xml::{DAV, XmlElement, XmlName, escape},
};

/// The member of the metadata that holds dead properties.
const MEMBER: &str = "webdav";

/// The size of all dead properties of one object, in bytes, and their number.
const MAX_BYTES: usize = 32 << 10;
const MAX_PROPERTIES: usize = 256;

/// The properties of WebDAV's own that each object has, and those that are only there on request.
pub(super) const LIVE: [&str; 9] = [
    "creationdate",
    "displayname",
    "getcontentlength",
    "getcontenttype",
    "getetag",
    "getlastmodified",
    "lockdiscovery",
    "resourcetype",
    "supportedlock",
];
pub(super) const ON_REQUEST: [&str; 2] = ["quota-available-bytes", "quota-used-bytes"];

/// The locks that every object supports, as XML.
const SUPPORTED_LOCKS: &str = "<D:lockentry><D:lockscope><D:exclusive/></D:lockscope>\
    <D:locktype><D:write/></D:locktype></D:lockentry><D:lockentry><D:lockscope><D:shared/>\
    </D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>";

/// An object with what its properties are made of.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) path: VPath,
    pub(super) stat: Stat,
    pub(super) dead: DeadProperties,
    pub(super) locks: Vec<DavLock>,
    pub(super) quota: Option<DavQuota>,
}

/// The dead properties of an object.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct DeadProperties(Map<String, Value>);

impl Resource {
    /// Returns the value of a live property, as XML; `None` if the object does not have it.
    pub(super) fn live(&self, local: &str, prefix: &str) -> Option<String> {
        let stat = &self.stat;
        let file = stat.is_file();
        match local {
            "creationdate" => Some(iso_date(stat.created)),
            "displayname" => Some(escape(self.path.file_name().unwrap_or("/")).into_owned()),
            "getcontentlength" => file.then(|| stat.size.to_string()),
            "getcontenttype" if file => {
                let mime = stat.mime.clone();
                let mime = mime.unwrap_or_else(|| mime_of(self.path.file_name().unwrap_or("")));
                Some(escape(&mime).into_owned())
            }
            "getetag" => {
                let version = stat.version.as_ref().filter(|_| file)?;
                Some(escape(&entity_tag(&stat.id, version)).into_owned())
            }
            "getlastmodified" => Some(http_date(stat.mtime)),
            "lockdiscovery" => {
                Some(self.locks.iter().map(|lock| active_lock(lock, prefix)).collect())
            }
            "resourcetype" if stat.is_directory() => Some("<D:collection/>".to_owned()),
            "resourcetype" => Some(String::new()),
            "supportedlock" => Some(SUPPORTED_LOCKS.to_owned()),
            "quota-available-bytes" => self.quota.map(|quota| quota.available.to_string()),
            "quota-used-bytes" => self.quota.map(|quota| quota.used.to_string()),
            _ => None,
        }
    }

    /// Returns a property as XML; `None` if the object does not have it.
    pub(super) fn property(&self, name: &XmlName, prefix: &str) -> Option<String> {
        if let Some(dead) = self.dead.get(name) {
            return Some(dead);
        }
        let value = Some(name).filter(|name| name.namespace == DAV);
        let value = value.and_then(|name| self.live(&name.local, prefix))?;
        Some(with_value(name, None, &value))
    }
}

impl DeadProperties {
    /// Returns those in the metadata of an object.
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self(metadata.get(MEMBER).and_then(Value::as_object).cloned().unwrap_or_default())
    }

    /// Puts them into the metadata of an object.
    ///
    /// # Errors
    ///
    /// If they take too much.
    pub(super) fn put_into(self, metadata: &mut Metadata) -> Result<(), DavError> {
        let len = |(key, value): (&String, &Value)| key.len() + value.to_string().len();
        if self.0.len() > MAX_PROPERTIES || self.0.iter().map(len).sum::<usize>() > MAX_BYTES {
            let detail = "an object has at most 256 properties of 32 KiB in all";
            return Err(DavError::new(StatusCode::INSUFFICIENT_STORAGE, detail));
        }
        match self.0.is_empty() {
            true => drop(metadata.remove(MEMBER)),
            false => drop(metadata.insert(MEMBER.to_owned(), Value::Object(self.0))),
        }
        Ok(())
    }

    /// Returns a property as XML.
    fn get(&self, name: &XmlName) -> Option<String> {
        let (language, xml) = match self.0.get(&key(name))? {
            Value::String(xml) => (None, xml.as_str()),
            Value::Object(parts) => {
                (parts.get("lang")?.as_str(), parts.get("xml").and_then(Value::as_str)?)
            }
            _ => return None,
        };
        // Other writers of metadata may have put anything there.
        let shown = with_value(name, language, xml);
        let wrapped = format!("<D:prop xmlns:D=\"DAV:\">{shown}</D:prop>");
        let parsed = crate::xml::parse(wrapped.as_bytes()).ok()?;
        (parsed.elements().count() == 1).then_some(shown)
    }

    /// Returns the names.
    pub(super) fn names(&self) -> impl Iterator<Item = XmlName> {
        self.0.keys().filter_map(|key| {
            let (namespace, local) = key.strip_prefix('{')?.rsplit_once('}')?;
            Some(XmlName::new(namespace, local)).filter(|name| self.get(name).is_some())
        })
    }

    pub(super) fn set(&mut self, property: &XmlElement) {
        let xml = Value::String(property.inner_xml());
        let value = match property.language() {
            None => xml,
            Some(language) => {
                let language = Value::String(language.to_owned());
                Value::Object(Map::from_iter([
                    ("lang".to_owned(), language),
                    ("xml".to_owned(), xml),
                ]))
            }
        };
        self.0.insert(key(&property.name), value);
    }

    pub(super) fn remove(&mut self, name: &XmlName) {
        self.0.remove(&key(name));
    }
}

/// Describes a file that is held in memory.
pub(super) fn side_stat(file: &SideFile) -> Stat {
    let id = FileId::parse("side-file").expect("a valid id");
    let mut stat = Stat::new(id, FileKind::File);
    stat.size = file.content.len() as u64;
    (stat.mtime, stat.created) = (file.mtime, file.mtime);
    stat
}

/// Writes the name of a property, as an element without a value.
pub(super) fn empty_property(name: &XmlName) -> String {
    with_value(name, None, "")
}

/// Writes a property with its value.
fn with_value(name: &XmlName, language: Option<&str>, value: &str) -> String {
    let (local, mut out) = (&name.local, String::with_capacity(value.len() + 64));
    let language =
        language.map_or_else(String::new, |language| format!(" xml:lang=\"{}\"", escape(language)));
    // Writing to a string does not fail.
    match name.namespace == DAV {
        true => write!(out, "<D:{local}{language}>{value}</D:{local}>"),
        false => {
            let namespace = escape(&name.namespace);
            write!(out, "<{local} xmlns=\"{namespace}\"{language}>{value}</{local}>")
        }
    }
    .ok();
    out
}

/// Writes a lock as `lockdiscovery` has it.
pub(super) fn active_lock(lock: &DavLock, prefix: &str) -> String {
    let scope = if lock.is_exclusive { "exclusive" } else { "shared" };
    let depth = if lock.is_deep { "infinity" } else { "0" };
    let (root, token) = (href(prefix, &lock.root, false), escape(&lock.token));
    let owner = match lock.owner.is_empty() {
        true => String::new(),
        false => format!("<D:owner>{}</D:owner>", lock.owner),
    };
    format!(
        "<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope><D:{scope}/></D:lockscope>\
         <D:depth>{depth}</D:depth>{owner}<D:timeout>Second-{}</D:timeout>\
         <D:locktoken><D:href>{token}</D:href></D:locktoken>\
         <D:lockroot><D:href>{}</D:href></D:lockroot></D:activelock>",
        lock.timeout.as_secs(),
        escape(&root),
    )
}

fn key(name: &XmlName) -> String {
    format!("{{{}}}{}", name.namespace, name.local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_properties_come_back_and_are_bounded() {
        let set = |xml: &str| crate::xml::parse(xml.as_bytes()).unwrap();
        let mut dead = DeadProperties::default();
        dead.set(&set("<p:a xmlns:p='urn:}x' xml:lang='de'><b xmlns=''>1 &lt; 2</b></p:a>"));
        let mut metadata = Metadata::new();
        dead.put_into(&mut metadata).unwrap();
        let mut dead = DeadProperties::of(&metadata);
        let name = XmlName::new("urn:}x", "a");
        assert_eq!(dead.names().collect::<Vec<_>>(), std::slice::from_ref(&name));
        let shown = dead.get(&name).unwrap();
        assert_eq!(shown, "<a xmlns=\"urn:}x\" xml:lang=\"de\"><b xmlns=\"\">1 &lt; 2</b></a>");
        dead.remove(&name);
        dead.put_into(&mut metadata).unwrap();
        assert!(metadata.is_empty());
        let mut large = DeadProperties::default();
        large.set(&set(&format!("<a>{}</a>", "x".repeat(MAX_BYTES))));
        assert!(large.put_into(&mut metadata).is_err() && metadata.is_empty());
    }

    /// The metadata of a row is not only written here.
    #[test]
    fn values_that_are_no_xml_are_not_shown() {
        let member = serde_json::json!({ "{}a": "</a><b>", "{}b": 1, "c": "x", "{}d<": "x" });
        let metadata = Metadata::from_iter([(MEMBER.to_owned(), member)]);
        assert_eq!(DeadProperties::of(&metadata).names().count(), 0);
    }
}
