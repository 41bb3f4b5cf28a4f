//! Tests of saved states and of namespaces.

use serde_json::json;
use yfs_vfs::{
    FileSystemExt, FsCode,
    conformance::script::{self, tree},
};

use super::{
    super::{AgentBackend, BadNamespace, StateBackend, StoreBackend, StoreNamespace},
    agent, new_workspace, parse,
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

#[test]
fn components_of_namespaces_are_checked() {
    for bad in ["", "*", "a?", "a/b", "a\\b", "\0", "a\nb", "e\u{301}"] {
        let namespace = StoreNamespace::new(["users", bad]);
        assert_eq!(namespace, Err(BadNamespace::Component(bad.to_owned())));
    }
    assert_eq!(StoreNamespace::new([""; 0]), Err(BadNamespace::Empty));
    // They become names with a prefix, so these are names like others.
    assert!(StoreNamespace::new(["..", ".", "files"]).is_ok());
}

#[tokio::test]
async fn no_namespace_reaches_another() {
    let workspace = new_workspace();
    let open = async |components: &[&str]| {
        let context = components.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let opened = StoreBackend::open_for(&workspace, agent(), &context, Clone::clone).await;
        opened.expect("a namespace").fs()
    };
    let victims = [&["b"][..], &["a", "b"], &["a", "files"], &["a", "b", "c"], &["n-a"], &[".."]];
    for components in victims {
        open(components).await.write_text(&parse("/s/secret"), "SECRET").await.unwrap();
    }
    let fs = open(&["a"]).await;
    let attempts = "
        ln / /top
        ln .. /up
        ln ../.. /upper
        ln ../../n-b/files/s /b
        ln ../n-b/files/s /ab
        ln /n-b/files/s /abs
        ln /../n-b/files/s/secret /file
        mkdir /d
        ln ../../../n-b/files /d/deep
        mv /d /e
        cp -r /up /copy
        cp /file /copied
        link /file /hard
        write /file HACKED
        write /b/secret HACKED
        append /upper/n-b/files/s/secret HACKED
        rm -r /up/../n-b
        rm -r /upper/n-b
        mv /upper/n-b /mine
        mv /e /upper/n-b/files/e
        cat /b/secret
        cat /ab/secret
        cat /abs/secret
        cat /file
        cat /copied
        cat /e/deep/s/secret
        cat /../../n-b/files/s/secret
        cat /top/n-b/files/s/secret
        ls /up
        ls /upper
        walk /
        glob -hidden **/secret
        grep SECRET";
    let mut runner = script::ScriptRunner::new(fs);
    for line in attempts.lines() {
        let outcome = runner.run(line).await.unwrap();
        let output = outcome.unwrap_or_default();
        assert!(!output.contains("SECRET"), "{line}: {output}");
        assert!(!output.contains("secret"), "{line}: {output}");
    }
    for components in victims {
        let text = open(components).await.read_to_string(&parse("/s/secret")).await;
        assert_eq!(text.ok().as_deref(), Some("SECRET"), "{components:?}");
    }
}

#[tokio::test]
async fn a_namespace_is_durable_and_its_root_stays() {
    let workspace = new_workspace();
    let open = async || {
        let namespace = StoreNamespace::new(["a"]).unwrap();
        StoreBackend::open(workspace.fs_for(agent()), namespace).await.unwrap().fs()
    };
    open().await.write_text(&parse("/f"), "kept").await.unwrap();
    let again = open().await;
    assert_eq!(again.read_to_string(&parse("/f")).await.unwrap(), "kept");
    let error = again.rm_all(&parse("/")).await.unwrap_err();
    assert_eq!(error.code, FsCode::EBUSY);
    let real = workspace.fs().read_to_string(&parse("/n-a/files/f")).await.unwrap();
    assert_eq!(real, "kept");
}
