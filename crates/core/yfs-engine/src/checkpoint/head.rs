//! The head of a checkpoint: what is read when a workspace is opened.

use super::CheckpointError;
use crate::{
    gate::GatedDoc,
    id::{FileId, WorkspaceId},
    lib0::{Lib0Error, Lib0Reader, write_string, write_var_uint},
    table::{BaseTableFacts, WorkspaceSettings},
    tree::BaseTreeFacts,
};

/// The version of the keys and values. A checkpoint of another version is not read.
const VERSION: u64 = 5;

/// What table and tree know without reading a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HeadFacts {
    pub(super) rows: BaseTableFacts,
    pub(super) tree: BaseTreeFacts,
}

/// Writes the head of a checkpoint.
pub(super) fn write_head(
    workspace: &WorkspaceId,
    facts: &HeadFacts,
    doc: &GatedDoc,
    settings: &WorkspaceSettings,
) -> Vec<u8> {
    let mut out = Vec::new();
    write_var_uint(&mut out, VERSION);
    write_string(&mut out, workspace.as_str());
    let tree = &facts.tree;
    for count in [facts.rows.n_rows, tree.n_files, tree.n_directories, tree.n_trashed] {
        write_var_uint(&mut out, count as u64);
    }
    write_var_uint(&mut out, facts.rows.n_links);
    write_var_uint(&mut out, facts.rows.n_bytes);
    out.extend(tree.latest_ts.to_le_bytes());
    write_var_uint(&mut out, tree.displaced.len() as u64);
    tree.displaced.iter().for_each(|id| write_string(&mut out, id.as_str()));
    doc.write_items(&mut out);
    settings.write_elements(&mut out);
    out
}

/// Reads the facts, which stand first.
pub(super) fn read_facts(
    reader: &mut Lib0Reader<'_>,
    workspace: &WorkspaceId,
) -> Result<HeadFacts, CheckpointError> {
    let version = reader.var_uint()?;
    if version != VERSION {
        return Err(CheckpointError::Unreadable(format!("it has version {version}")));
    }
    if reader.string()? != workspace.as_str() {
        return Err(CheckpointError::Unreadable("it is of another workspace".to_owned()));
    }
    let n_rows = read_count(reader)?;
    let mut tree = BaseTreeFacts {
        n_files: read_count(reader)?,
        n_directories: read_count(reader)?,
        n_trashed: read_count(reader)?,
        latest_ts: 0.0,
        displaced: Vec::new(),
    };
    let rows = BaseTableFacts { n_rows, n_links: reader.var_uint()?, n_bytes: reader.var_uint()? };
    let latest_ts = reader.take(8)?.try_into().map_err(|_| Lib0Error::End)?;
    tree.latest_ts = f64::from_le_bytes(latest_ts);
    for _ in 0..read_count(reader)? {
        let id = FileId::parse(reader.string()?).map_err(|_| Lib0Error::Number)?;
        tree.displaced.push(id);
    }
    Ok(HeadFacts { rows, tree })
}

fn read_count(reader: &mut Lib0Reader<'_>) -> Result<usize, Lib0Error> {
    usize::try_from(reader.var_uint()?).map_err(|_| Lib0Error::Number)
}
