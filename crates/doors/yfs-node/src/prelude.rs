//! The names that nearly every object of the addon uses.

pub(crate) use napi::bindgen_prelude::{Uint8Array, Uint8ArraySlice};
pub(crate) use napi_derive::napi;
pub(crate) use serde::Deserialize;
pub(crate) use yfs_vfs::Op;

pub(crate) use crate::{
    error, message,
    owned_future::OwnedFuture,
    workspace_slot::{WorkspaceSlot, at_once, lifted, path},
};
