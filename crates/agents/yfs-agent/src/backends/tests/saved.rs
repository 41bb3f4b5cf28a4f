//! Tests of saved states.

use serde_json::json;
use yfs_conformance::file_system::script::{self, tree};
use yfs_vfs::FileSystemExt;

use super::{
    super::{AgentBackend, StateBackend},
    parse,
};

#[tokio::test]
async fn a_state_is_saved_and_loaded() {
    let state = StateBackend::new();
    let script = "
        write /a/text \"one\\ntwo\"
        chmod 600 /a/text
        mkdir /empty
        ln ../a/text /empty/link
        chmod 700 /empty";
    script::check(&state.fs(), script).await.unwrap();
    state.fs().write(&parse("/bytes"), vec![0, 255].into(), &Default::default()).await.unwrap();
    let facts = json!({ "pages": 3 }).as_object().cloned().unwrap();
    state.fs().set_metadata(&parse("/bytes"), facts).await.unwrap();
    let saved = state.save().await.unwrap();
    let loaded = StateBackend::load(&saved).await.unwrap();
    assert_eq!(tree(&*loaded.fs()).await.unwrap(), tree(&*state.fs()).await.unwrap());
    assert_eq!(loaded.save().await.unwrap(), saved);
}

#[tokio::test]
async fn a_damaged_state_is_refused() {
    let entry = |path: &str, body: &str| {
        json!({ "version": 1, "entries": [
            { "path": path, body: "x", "mode": 420, "modified_ms": 0 }
        ]})
    };
    for saved in [
        json!(null),
        json!({ "version": 2, "entries": [] }),
        entry("/a/../b", "text"),
        entry("/none/a", "text"),
        entry("/", "text"),
        entry("/a", "base64"),
        entry("/a", "device"),
    ] {
        assert!(StateBackend::load(&saved).await.is_err(), "{saved}");
    }
}
