//! The names that nearly every command uses.

pub(crate) use clap::{Args, Subcommand};
pub(crate) use serde_json::{Value, json};
pub(crate) use yfs::Workspace;
pub(crate) use yfs_engine::{path::VPath, time::Millis};
pub(crate) use yfs_vfs::{FileKind, FsCode, FsError, Op};

pub(crate) use crate::{
    context::{CommandContext, Fs},
    errors::{CommandError, Result},
    format_text::{counted, human_size, parse_size},
    json, parse_time,
    typed_path::TypedPath,
};
