//! `yfs import --yjs`: documents that applications saved with real Yjs become files.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::Path};

use serde_json::{Value, json};
use yfs_tests::{
    command::{ok, run},
    node,
};

const PLAIN: &str = "/docs/plain.txt";
const RICH: &str = "/docs/rich.md";
const LATER: &str = "/later.md";

/// A directory with an empty workspace, and `saved` with the documents of an application.
struct Applications {
    dir: tempfile::TempDir,
    version: &'static str,
}

impl Applications {
    fn new(version: &'static str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        ok(dir.path(), &["init"]);
        let applications = Self { dir, version };
        applications.save();
        applications
    }

    /// Saves the documents; the second time with another day's work.
    fn save(&self) {
        node::ensure_installed("");
        let saved = self.saved();
        node::run_script("yjs-export.mjs", &[saved.to_str().unwrap(), self.version], &[]);
    }

    fn saved(&self) -> std::path::PathBuf {
        self.path().join("saved")
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn import(&self) -> Value {
        serde_json::from_str(&ok(self.path(), &["import", "--yjs", "saved", "--json"])).unwrap()
    }

    fn cat(&self, path: &str) -> String {
        ok(self.path(), &["cat", path])
    }
}

fn the_documents_of_a_workspace_are_imported(version: &'static str) {
    let applications = Applications::new(version);
    let report = applications.import();
    assert_eq!((&report["changed"], &report["skipped"]), (&json!(6), &json!([])), "{report}");
    assert_eq!(applications.cat(PLAIN), "one 😀\ntwo\n");
    assert_eq!(applications.cat(RICH), "---\ntitle: Tides\n---\nHigh water.\n");
    assert_eq!(applications.cat(LATER), "# One\n\ntwo\n");
    assert_eq!(applications.cat("/entries.txt"), "newer\n");
    let bytes = || run(applications.path(), &["cat", "/bytes.bin"], &[]).stdout;
    assert_eq!(bytes(), [255, 0, 1]);
    // A file keeps the guid that clients know it by.
    let stat: Value =
        serde_json::from_str(&ok(applications.path(), &["stat", "--json", PLAIN])).unwrap();
    assert_eq!(stat["id"], "plain0000000001");

    let again = applications.import();
    assert_eq!((&again["changed"], &again["unchanged"]), (&json!(0), &json!(6)), "{again}");

    // Work on both sides is merged when the documents are imported another day.
    for (path, old, new) in [
        (PLAIN, "two", "two here"),
        (RICH, "High", "Very high"),
        (LATER, "two", "two here"),
        ("/entries.txt", "newer", "newer here"),
    ] {
        ok(applications.path(), &["edit", path, "--old", old, "--new", new]);
    }
    applications.save();
    applications.import();
    assert_eq!(applications.cat(PLAIN), "zero\none 😀\ntwo here\n");
    let rich = applications.cat(RICH);
    assert_eq!(rich, "---\ntitle: Tides\n---\nVery high water.\n\nLow water.\n");
    assert_eq!(applications.cat(LATER), "# One\n\ntwo here\n\nthree\n");
    assert_eq!(applications.cat("/entries.txt"), "newest, newer here\n");
    assert_eq!(bytes(), [255, 0, 2]);
    assert_eq!(applications.cat("/new.txt"), "");
    assert_eq!(ok(applications.path(), &["conflicts"]), "");
    ok(applications.path(), &["admin", "fsck"]);
}

#[test]
fn the_documents_of_a_workspace_are_imported_as_version_1() {
    the_documents_of_a_workspace_are_imported("1");
}

#[test]
fn the_documents_of_a_workspace_are_imported_as_version_2() {
    the_documents_of_a_workspace_are_imported("2");
}

#[test]
fn the_documents_of_the_reference_implementation_are_imported() {
    let dir = tempfile::tempdir().unwrap();
    ok(dir.path(), &["init"]);
    let fixtures = yfs_tests::root().join("fixtures/reference-wire");
    let saved = dir.path().join("saved");
    fs::create_dir(&saved).unwrap();
    for (from, to) in [
        ("spec-era-main.v2.bin", "main.v2.bin"),
        ("spec-era-a.txt.v1.bin", "xh828wqsa2r5bid.v1.bin"),
        ("spec-era-b.md.v1.bin", "bqgv4our9g7fvnt.v1.bin"),
        ("spec-era-c.md.v1.bin", "0pvpappn8hn4dcp.v1.bin"),
    ] {
        fs::copy(fixtures.join(from), saved.join(to)).unwrap();
    }
    ok(dir.path(), &["import", "--yjs", "saved"]);
    let expected = fs::read(fixtures.join("spec-era.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let text = expected["docs"]["a.txt"]["text"].as_str().unwrap();
    assert_eq!(ok(dir.path(), &["cat", "/docs/a.txt"]), text);
    assert!(ok(dir.path(), &["cat", "/docs/b.md"]).contains("# Heading *em*"));
    assert_eq!(ok(dir.path(), &["find", "/docs", "-type", "f"]).lines().count(), 3);
}

#[test]
fn one_document_becomes_one_file() {
    let applications = Applications::new("1");
    let (dir, import) = (applications.path(), ["import", "--yjs"]);
    let go = |args: &[&str]| run(dir, &[&import[..], args].concat(), &[]);
    assert_eq!(go(&["saved/rich00000000001.bin", "/notes/tides.md"]).code, Some(0));
    assert_eq!(applications.cat("/notes/tides.md"), "---\ntitle: Tides\n---\nHigh water.\n");
    // Into a directory it goes under the name of its file.
    assert_eq!(go(&["saved/plain0000000001.bin", "/notes"]).code, Some(0));
    assert_eq!(applications.cat("/notes/plain0000000001"), "one 😀\ntwo\n");
    let named = go(&["saved/rich00000000001.bin", "/body.md", "--root", "richtext", "--json"]);
    assert_eq!(named.code, Some(0), "{}", named.stderr);
    assert_eq!(applications.cat("/body.md"), "High water.\n");
    let again =
        ok(dir, &["import", "--yjs", "saved/rich00000000001.bin", "/notes/tides.md", "--json"]);
    assert!(again.contains("\"unchanged\":1"), "{again}");
    let nothing = go(&["saved/main.bin", "/main.txt"]);
    assert_eq!(nothing.code, Some(1));
    assert!(nothing.stderr.contains("the document has: table:files"), "{}", nothing.stderr);
    assert!(nothing.stderr.contains("--root"), "{}", nothing.stderr);
}

#[test]
fn a_document_that_is_refused_changes_nothing() {
    let applications = Applications::new("1");
    let dir = applications.path();
    let file = applications.saved().join("plain0000000001.bin");
    let good = fs::read(&file).unwrap();
    let log = || ok(dir, &["admin", "info", "--json"]);
    let before = log();
    let hostile = yfs_tests::root().join("fixtures/hostile-updates");
    let hostile = fs::read_dir(hostile).unwrap().map(|entry| entry.unwrap().path());
    let mut bad: Vec<Vec<u8>> = hostile
        .filter(|path| path.extension().is_some_and(|extension| extension == "bin"))
        .map(|path| fs::read(path).unwrap())
        .collect();
    assert!(!bad.is_empty());
    bad.extend([b"not an update".to_vec(), good[..good.len() - 1].to_vec(), Vec::new()]);
    let (mut before, mut n_refused) = (before, 0);
    for bytes in bad {
        fs::write(&file, &bytes).unwrap();
        let ran = run(dir, &["import", "--yjs", "saved", "--json"], &[]);
        if ran.code == Some(1) {
            n_refused += 1;
            assert_eq!(log(), before, "{}", ran.stderr);
            assert!(ran.stderr.contains("plain0000000001.bin"), "{}", ran.stderr);
        } else {
            // What the gate carries is merged like any other work, and harms no reader.
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            ok(dir, &["cat", PLAIN]);
            before = log();
        }
    }
    assert!(n_refused > 3, "{n_refused}");
    fs::write(&file, &good).unwrap();
    fs::remove_file(applications.saved().join("main.bin")).unwrap();
    let ran = run(dir, &["import", "--yjs", "saved"], &[]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("rename the main document to main.bin"), "{}", ran.stderr);
    for args in [&["saved", "/here"][..], &["saved", "--root", "x"], &["saved", "--no-ignore"]] {
        assert_eq!(run(dir, &[&["import", "--yjs"], args].concat(), &[]).code, Some(2), "{args:?}");
    }
}
