//! A store that was written before there were checkpoints (`fixtures/stores`).

use std::fs;

use rand::{SeedableRng, rngs::ChaCha8Rng};
use yfs_tests::answers::{
    StoreCopy, answers_of, assert_derived_files_say_nothing_else, assert_same,
};

use super::{are_sound, open, play_some};

#[test]
fn a_store_of_before_checkpoints_opens_and_gains_them_by_itself() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("workspace.db");
    fs::copy(yfs_tests::fixture("stores/before-checkpoints.db"), &file).expect("copied");
    let before = answers_of(&file);
    for shown in ["/docs/plan.md", "/docs/notes.txt", "/readme.txt", "trash", "change"] {
        assert!(before.contains(shown), "{shown}");
    }
    let mut player = open(&file);
    player.play("mkdir -p /new").expect("it writes");
    player.workspace.close().expect("it closes");
    assert!(are_sound(&file), "it has checkpoints");
    assert_derived_files_say_nothing_else(&file, "first checkpoint");
    let after = answers_of(&StoreCopy::without_derived(&file).file());
    assert_same(&answers_of(&file), &after, "on the checkpoint");
    play_some(&file, &mut ChaCha8Rng::seed_from_u64(1), 40);
    assert_derived_files_say_nothing_else(&file, "later");
}
